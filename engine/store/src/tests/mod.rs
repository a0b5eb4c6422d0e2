//! Tests of the store on SQLite.

mod basics;
mod crash;
mod errors;
mod writers;

use crate::{Options, Store, Synchronous, Value};

pub(crate) const SCHEMA: &str = "
    CREATE TABLE shelf (id INTEGER NOT NULL PRIMARY KEY, label VARCHAR(36), UNIQUE (label));
    CREATE TABLE item (
        id VARCHAR(36) NOT NULL PRIMARY KEY, place VARCHAR(36), slot INTEGER, shelf_id BIGINT, kind VARCHAR(9),
        seen DATETIME, gone TINYINT(1),
        CONSTRAINT uniq_item0place0slot UNIQUE (place, slot),
        CHECK (kind IN ('a', 'b')),
        FOREIGN KEY (shelf_id) REFERENCES shelf (id) ON DELETE RESTRICT
    );";

/// A private store with the tables above.
pub(crate) async fn private() -> Store {
    let store = Store::private().await.unwrap();
    prepare(&store).await;
    store
}

/// A store in a file, durable, with the tables above.
pub(crate) async fn on_disk(dir: &tempfile::TempDir) -> Store {
    let mut options = Options::new(format!("sqlite://{}/db", dir.path().display()));
    options.synchronous = Some(Synchronous::Full);
    let store = Store::open(options).await.unwrap();
    prepare(&store).await;
    store
}

async fn prepare(store: &Store) {
    let mut txn = store.write().await.unwrap();
    txn.script(SCHEMA).await.unwrap();
    txn.commit().await.unwrap();
}

pub(crate) fn item(id: &str, place: &str, slot: i64) -> Vec<(&'static str, Value)> {
    vec![("id", id.into()), ("place", place.into()), ("slot", slot.into())]
}

/// Ids of all items in a new read transaction.
pub(crate) async fn ids(store: &Store) -> Vec<String> {
    let mut txn = store.read().await.unwrap();
    let rows = txn.query("SELECT id FROM item ORDER BY id", &[]).await.unwrap();
    rows.iter().map(|row| row.text(0)).collect()
}
