use std::sync::{Arc, Mutex};

use super::{ids, item, private};
use crate::{Store, Value};

fn assert_send<T: Send>(value: T) -> T {
    value
}

#[tokio::test]
async fn a_row_comes_back_as_it_was_stored() {
    let store = private().await;
    let mut txn = assert_send(store.write()).await.unwrap();
    let now = txn.now();
    let mut row = item("x", "p", 1);
    row.extend([("seen", now.into()), ("gone", true.into()), ("kind", Option::<&str>::None.into())]);
    assert_send(txn.insert("item", &row)).await.unwrap();
    assert_send(txn.commit()).await.unwrap();

    let mut txn = store.read().await.unwrap();
    let sql = "SELECT id, slot, seen, gone, kind FROM item WHERE place = ?";
    let row = assert_send(txn.query_one(sql, &["p".into()])).await.unwrap().unwrap();
    assert_eq!((row.str(0), row.int(1), row.time(2), row.bool(3)), ("x", 1, now, true));
    assert!(row.is_null(4) && row.opt_text(4).is_none() && row.text(4).is_empty());
    assert_eq!(row.json(2), serde_json::json!(now.format("%Y-%m-%d %H:%M:%S").to_string()));
    assert_eq!(row.value(1), Value::Int(1));
}

#[tokio::test]
async fn dropping_rolls_back_and_lets_the_next_writer_in() {
    let store = private().await;
    let mut txn = store.write().await.unwrap();
    txn.insert("item", &item("x", "p", 1)).await.unwrap();
    drop(txn);
    assert!(ids(&store).await.is_empty());
    let mut txn = store.write().await.unwrap();
    txn.insert("item", &item("x", "p", 1)).await.unwrap();
    txn.commit().await.unwrap();
    assert_eq!(ids(&store).await, ["x"]);
}

#[tokio::test]
async fn a_read_transaction_sees_one_state() {
    let store = private().await;
    let mut reader = store.read().await.unwrap();
    assert!(reader.query("SELECT id FROM item", &[]).await.unwrap().is_empty());
    let mut txn = store.write().await.unwrap();
    txn.insert("item", &item("x", "p", 1)).await.unwrap();
    txn.commit().await.unwrap();
    assert!(reader.query("SELECT id FROM item", &[]).await.unwrap().is_empty());
    assert_eq!(ids(&store).await, ["x"]);
}

#[tokio::test]
async fn sets_of_any_size_are_one_argument() {
    let store = private().await;
    let mut txn = store.write().await.unwrap();
    for i in 0..100 {
        txn.insert("item", &item(&format!("i{i:02}"), "p", i)).await.unwrap();
    }
    let sql = "SELECT id FROM item WHERE id IN (??) AND slot IN (??) AND place = ? ORDER BY id";
    for size in [0, 1, 2, 100, 40_000] {
        let names = Value::set((0..size).map(|i| format!("i{i:02}")));
        let slots = Value::set(0..size.min(50));
        let rows = txn.query(sql, &[names, slots, "p".into()]).await.unwrap();
        assert_eq!(rows.len() as i64, i64::from(size).min(50), "size {size}");
    }
    let gone = txn.execute("DELETE FROM item WHERE id IN (??)", &[Value::set(["i00", "i00", "i01", "none"])]).await;
    assert_eq!(gone.unwrap(), 2);
}

#[tokio::test]
async fn a_set_of_ids_uses_the_key() {
    let dir = tempfile::tempdir().unwrap();
    let store = super::in_file(&dir).await;
    let mut txn = store.read().await.unwrap();
    let sql = "EXPLAIN QUERY PLAN SELECT * FROM item WHERE id IN (??)";
    let rows = txn.query(sql, &[Value::set(["a"])]).await.unwrap();
    assert!(rows[0].text(3).contains("SEARCH item USING INDEX"), "{}", rows[0].text(3));
}

#[tokio::test]
async fn helpers_insert() {
    let store = private().await;
    let mut txn = store.write().await.unwrap();
    let first = txn.insert_id("shelf", &[("label", "a".into())]).await.unwrap();
    let second = txn.insert_id("shelf", &[("label", "b".into())]).await.unwrap();
    assert!(second > first);
    assert!(!txn.insert_if_absent("shelf", &[("label", "a".into())]).await.unwrap());
    assert!(txn.insert_if_absent("shelf", &[("label", "c".into())]).await.unwrap());
    txn.insert("item", &item("x", "p", 1)).await.unwrap();
    txn.upsert("item", &["id"], &item("x", "q", 2)).await.unwrap();
    txn.upsert("item", &["id"], &item("y", "q", 3)).await.unwrap();
    let rows = txn.query("SELECT place, slot FROM item ORDER BY id", &[]).await.unwrap();
    let rows: Vec<_> = rows.iter().map(|row| (row.text(0), row.int(1))).collect();
    assert_eq!(rows, [("q".to_owned(), 2), ("q".to_owned(), 3)]);
}

#[tokio::test]
async fn many_rows_cost_few_statements() {
    let store = private().await;
    let mut txn = store.write().await.unwrap();
    let before = store.statements();
    let rows = (0..1000i64).map(|i| vec![Value::from(format!("i{i}")), "p".into(), i.into()]).collect();
    txn.insert_many("item", &["id", "place", "slot"], rows).await.unwrap();
    assert_eq!(store.statements() - before, 10, "7 of 128, then 64, 32 and 8");
    let count = txn.query_one("SELECT count(*) FROM item", &[]).await.unwrap().unwrap();
    assert_eq!(count.int(0), 1000);
    let short = txn.insert_many("item", &["id", "place"], vec![vec!["a".into()]]).await;
    assert!(short.is_err());
    txn.insert_many("item", &["id", "place"], vec![]).await.unwrap();
}

#[tokio::test]
async fn statements_are_counted() {
    let store = private().await;
    let before = store.statements();
    let mut txn = store.write().await.unwrap();
    txn.insert("item", &item("x", "p", 1)).await.unwrap();
    txn.query("SELECT 1", &[]).await.unwrap();
    txn.execute("UPDATE item SET slot = 2", &[]).await.unwrap();
    assert_eq!(txn.statements(), 3);
    txn.commit().await.unwrap();
    assert_eq!(store.statements() - before, 3, "begin and commit do not count");
}

#[tokio::test]
async fn scans_are_counted_and_indexes_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let store = super::in_file(&dir).await;
    let mut txn = store.write().await.unwrap();
    let rows = (0..300i64).map(|i| vec![Value::from(format!("i{i}")), "p".into(), i.into()]).collect();
    txn.insert_many("item", &["id", "place", "slot"], rows).await.unwrap();
    let before = store.scanned();
    txn.query("SELECT * FROM item WHERE id IN (??) AND place = ?", &[Value::set(["i1", "i2"]), "p".into()])
        .await
        .unwrap();
    txn.query("SELECT * FROM item WHERE place = ? AND slot = ?", &["p".into(), 7.into()]).await.unwrap();
    txn.execute("UPDATE item SET kind = ? WHERE id = ?", &["a".into(), "i3".into()]).await.unwrap();
    assert_eq!(store.scanned() - before, 0);
    txn.query("SELECT id FROM item WHERE kind = ?", &["a".into()]).await.unwrap();
    assert!(store.scanned() - before >= 299);
}

#[tokio::test]
async fn savepoints_undo_rows_and_effects() {
    let store = private().await;
    let ran = Arc::new(Mutex::new(Vec::new()));
    let note = |name: &'static str| {
        let ran = ran.clone();
        async move { ran.lock().unwrap().push(name) }
    };
    let mut txn = store.write().await.unwrap();
    txn.insert("item", &item("kept", "p", 1)).await.unwrap();
    txn.after_commit("kept", note("kept"));
    txn.savepoint().await.unwrap();
    txn.insert("item", &item("undone", "p", 2)).await.unwrap();
    txn.after_commit("undone", note("undone"));
    txn.savepoint().await.unwrap();
    txn.insert("item", &item("inner", "p", 3)).await.unwrap();
    txn.release().await.unwrap();
    txn.rollback_to().await.unwrap();
    txn.savepoint().await.unwrap();
    txn.insert("item", &item("released", "p", 2)).await.unwrap();
    txn.after_commit("released", note("released"));
    txn.release().await.unwrap();
    assert!(txn.release().await.is_err());
    txn.commit().await.unwrap();
    store.settled().await;
    assert_eq!(ids(&store).await, ["kept", "released"]);
    assert_eq!(*ran.lock().unwrap(), ["kept", "released"]);
}

#[tokio::test]
async fn effects_run_after_the_commit_and_only_then() {
    let store = private().await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    for (name, commits) in [("a", true), ("b", false), ("c", true)] {
        let mut txn = store.write().await.unwrap();
        txn.insert("item", &item(name, "p", i64::from(name.as_bytes()[0]))).await.unwrap();
        let (effect_store, seen) = (store.clone(), seen.clone());
        txn.after_commit("look", async move {
            let found = ids(&effect_store).await.contains(&name.to_owned());
            seen.lock().unwrap().push((name, found));
        });
        if commits {
            txn.commit().await.unwrap();
        }
    }
    store.settled().await;
    assert_eq!(*seen.lock().unwrap(), [("a", true), ("c", true)]);
}

#[tokio::test]
async fn an_effect_that_panics_does_not_stop_the_next() {
    let store = private().await;
    let ran = Arc::new(Mutex::new(false));
    let mut txn = store.write().await.unwrap();
    txn.after_commit("bad", async { panic!("on purpose") });
    let flag = ran.clone();
    txn.after_commit("good", async move { *flag.lock().unwrap() = true });
    txn.commit().await.unwrap();
    store.settled().await;
    assert!(*ran.lock().unwrap());
    assert_eq!(store.pending_effects(), 0);
}

#[tokio::test]
async fn a_private_store_leaves_nothing_behind() {
    let store = Store::private().await.unwrap();
    let names = || -> Vec<String> {
        let entries = std::fs::read_dir("/dev/shm").into_iter().flatten().flatten();
        let mine = format!("neutrino-store-{}-", std::process::id());
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).filter(|n| n.starts_with(&mine)).collect()
    };
    let with = names();
    drop(store);
    assert!(with.is_empty() || names().len() < with.len() || names() != with);
}

#[tokio::test]
async fn a_closed_store_refuses() {
    let dir = tempfile::tempdir().unwrap();
    let store = super::on_disk(&dir).await;
    store.close().await.unwrap();
    assert!(matches!(store.write().await, Err(crate::Error::Closed)));
    assert!(matches!(store.read().await, Err(crate::Error::Closed)));
    assert!(matches!(Store::open(crate::Options::new("oracle://h/db")).await, Err(crate::Error::Config(_))));
    assert!(matches!(Store::open(crate::Options::new("sqlite://rel/path")).await, Err(crate::Error::Config(_))));
}
