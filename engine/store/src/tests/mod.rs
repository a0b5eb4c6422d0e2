//! Tests of the store, on the database that `NEUTRINO_TEST_DATABASE` names; `servers` and `faults` on all servers always.

mod basics;
mod crash;
mod errors;
mod servers;
mod writers;

use testkit::database::{self, Kind};

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

/// The tables above as another database says them.
fn schema(kind: Option<Kind>) -> String {
    match kind {
        None => SCHEMA.to_owned(),
        Some(Kind::Mariadb) => {
            SCHEMA.replace("id INTEGER NOT NULL PRIMARY KEY", "id BIGINT NOT NULL PRIMARY KEY AUTO_INCREMENT")
        }
        Some(Kind::Postgres) => SCHEMA
            .replace("id INTEGER NOT NULL PRIMARY KEY", "id BIGSERIAL NOT NULL PRIMARY KEY")
            .replace("DATETIME", "TIMESTAMP WITHOUT TIME ZONE")
            .replace("TINYINT(1)", "BOOLEAN"),
    }
}

/// The address of an empty database on a server, which is there until the server that the tests share is stopped.
pub(crate) fn on_server(kind: Kind) -> String {
    let database = database::fresh(kind);
    let url = database.url();
    std::mem::forget(database);
    url
}

/// A private store with the tables above, on the database that the tests run on.
pub(crate) async fn private() -> Store {
    let kind = database::chosen();
    let store = match kind {
        None => Store::private().await,
        Some(kind) => Store::open(Options::new(on_server(kind))).await,
    };
    let store = store.unwrap();
    prepare(&store, kind).await;
    store
}

/// A store in a file, durable, with the tables above; or on the server that the tests run on.
pub(crate) async fn on_disk(dir: &tempfile::TempDir) -> Store {
    if database::chosen().is_some() { private().await } else { in_file(dir).await }
}

/// A store in a file of SQLite.
pub(crate) async fn in_file(dir: &tempfile::TempDir) -> Store {
    let mut options = Options::new(format!("sqlite://{}/db", dir.path().display()));
    options.synchronous = Some(Synchronous::Full);
    let store = Store::open(options).await.unwrap();
    prepare(&store, None).await;
    store
}

pub(crate) async fn prepare(store: &Store, kind: Option<Kind>) {
    let mut txn = store.write().await.unwrap();
    txn.script(&schema(kind)).await.unwrap();
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
