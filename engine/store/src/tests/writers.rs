//! Concurrent writers and group commit.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use super::{ids, item, on_disk, private};
use crate::{Error, Options, Store, Synchronous};

/// 64 tasks race for 61 slots: each slot goes to exactly one, by the key alone.
async fn race(store: &Store) {
    let tasks: Vec<_> = (0..64)
        .map(|task| {
            let store = store.clone();
            tokio::spawn(async move {
                for slot in 0..61 {
                    let mut txn = store.write().await.unwrap();
                    match txn.insert("item", &item(&format!("t{task}"), "p", slot)).await {
                        Ok(()) => {
                            txn.commit().await.unwrap();
                            // Own writes are visible as soon as the commit returned.
                            let mut txn = store.read().await.unwrap();
                            let found =
                                txn.query("SELECT id FROM item WHERE id = ?", &[format!("t{task}").into()]).await;
                            assert_eq!(found.unwrap().len(), 1);
                            return true;
                        }
                        Err(Error::Duplicate { columns, .. }) => assert_eq!(columns, ["place", "slot"]),
                        Err(error) => panic!("{error:?}"),
                    }
                }
                false
            })
        })
        .collect();
    let mut won = 0;
    for task in tasks {
        won += usize::from(task.await.unwrap());
    }
    assert_eq!((won, ids(store).await.len()), (61, 61));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixty_four_writers_in_memory() {
    race(&private().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixty_four_writers_on_disk() {
    let dir = tempfile::tempdir().unwrap();
    race(&on_disk(&dir).await).await;
}

#[tokio::test]
async fn sixty_four_writers_on_one_thread() {
    let dir = tempfile::tempdir().unwrap();
    race(&on_disk(&dir).await).await;
}

/// Transactions that fail, are dropped or panic in the middle of a batch take back only their own rows.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_batch_keeps_exactly_those_that_committed() {
    let dir = tempfile::tempdir().unwrap();
    let store = on_disk(&dir).await;
    let acknowledged = Arc::new(Mutex::new(HashSet::new()));
    let tasks: Vec<_> = (0..48i64)
        .map(|task| {
            let (store, acknowledged) = (store.clone(), acknowledged.clone());
            tokio::spawn(async move {
                for round in 0..20i64 {
                    let id = format!("{task}-{round}");
                    let mut txn = store.write().await.unwrap();
                    txn.insert("item", &item(&id, &format!("{task}"), round)).await.unwrap();
                    if task == 47 && round == 19 {
                        panic!("on purpose");
                    }
                    if (task + round) % 3 == 0 {
                        continue;
                    }
                    txn.commit().await.unwrap();
                    acknowledged.lock().unwrap().insert(id);
                }
            })
        })
        .collect();
    for (task, outcome) in tasks.into_iter().enumerate() {
        let outcome = outcome.await;
        assert_eq!(outcome.is_err(), task == 47);
    }
    let stored: HashSet<String> = ids(&store).await.into_iter().collect();
    assert_eq!(stored, *acknowledged.lock().unwrap());
}

/// Callers that stop waiting, at any await, neither block the others nor lose an acknowledged row.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn cancelled_callers_do_not_stop_the_queue() {
    let dir = tempfile::tempdir().unwrap();
    let store = on_disk(&dir).await;
    let acknowledged = Arc::new(Mutex::new(HashSet::new()));
    let tasks: Vec<_> = (0..200i64)
        .map(|task| {
            let (store, acknowledged) = (store.clone(), acknowledged.clone());
            tokio::spawn(async move {
                let id = format!("{task}");
                let mut txn = store.write().await.unwrap();
                txn.insert("item", &item(&id, "p", task)).await.unwrap();
                txn.commit().await.unwrap();
                acknowledged.lock().unwrap().insert(id);
            })
        })
        .collect();
    for (i, task) in tasks.iter().enumerate() {
        if i % 2 == 0 {
            task.abort();
        }
        tokio::task::yield_now().await;
    }
    for task in tasks {
        let _ = task.await;
    }
    let mut txn = store.write().await.unwrap();
    txn.insert("item", &item("last", "q", 1)).await.unwrap();
    txn.commit().await.unwrap();
    let stored: HashSet<String> = ids(&store).await.into_iter().collect();
    let acknowledged = acknowledged.lock().unwrap();
    assert!(acknowledged.len() >= 100 && acknowledged.is_subset(&stored), "{} acknowledged", acknowledged.len());
}

/// Effects of concurrent transactions run in the order in which they changed the same row.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn effects_keep_the_order_of_commits() {
    let dir = tempfile::tempdir().unwrap();
    let store = on_disk(&dir).await;
    let mut txn = store.write().await.unwrap();
    txn.insert("item", &item("counter", "c", 0)).await.unwrap();
    txn.commit().await.unwrap();
    let ran = Arc::new(Mutex::new(Vec::new()));
    let tasks: Vec<_> = (0..32)
        .map(|task| {
            let (store, ran) = (store.clone(), ran.clone());
            tokio::spawn(async move {
                for round in 0..10 {
                    let mut txn = store.write().await.unwrap();
                    txn.execute("UPDATE item SET slot = slot + 1 WHERE id = 'counter'", &[]).await.unwrap();
                    let sql = "SELECT slot FROM item WHERE id = 'counter'";
                    let number = txn.query_one(sql, &[]).await.unwrap().unwrap().int(0);
                    txn.insert("item", &item(&format!("{task}-{round}"), &format!("{task}"), round)).await.unwrap();
                    let ran = ran.clone();
                    txn.after_commit("note", async move { ran.lock().unwrap().push(number) });
                    txn.commit().await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    store.settled().await;
    let ran = ran.lock().unwrap();
    assert_eq!(*ran, (1..=320).collect::<Vec<_>>(), "effects out of order");
}

/// Readers see whole transactions only, however commits are grouped.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn readers_see_whole_transactions() {
    let dir = tempfile::tempdir().unwrap();
    let store = on_disk(&dir).await;
    let writers: Vec<_> = (0..16)
        .map(|task| {
            let store = store.clone();
            tokio::spawn(async move {
                for round in 0..20 {
                    let mut txn = store.write().await.unwrap();
                    for half in ["a", "b"] {
                        let (id, place) = (format!("{half}-{task}-{round}"), format!("{half}-{task}"));
                        txn.insert("item", &item(&id, &place, round)).await.unwrap();
                        tokio::task::yield_now().await;
                    }
                    txn.commit().await.unwrap();
                }
            })
        })
        .collect();
    while !writers.iter().all(tokio::task::JoinHandle::is_finished) {
        let rows = ids(&store).await;
        let (first, second): (Vec<_>, Vec<_>) = rows.iter().partition(|id| id.starts_with("a-"));
        assert_eq!(first.len(), second.len());
        tokio::task::yield_now().await;
    }
    assert_eq!(ids(&store).await.len(), 640);
}

/// Under writers and readers that never pause, the log is begun again and again instead of growing.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_log_stays_bounded_under_load() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = Options::new(format!("sqlite://{}/db", dir.path().display()));
    options.checkpoint_pages = 50;
    options.synchronous = Some(Synchronous::Full);
    let store = Store::open(options).await.unwrap();
    super::prepare(&store, None).await;
    let writers: Vec<_> = (0..8)
        .map(|task| {
            let store = store.clone();
            tokio::spawn(async move {
                for round in 0..400 {
                    let mut txn = store.write().await.unwrap();
                    txn.insert("item", &item(&format!("{task}-{round}"), &format!("{task}"), round)).await.unwrap();
                    txn.commit().await.unwrap();
                }
            })
        })
        .collect();
    while !writers.iter().all(tokio::task::JoinHandle::is_finished) {
        ids(&store).await;
        tokio::task::yield_now().await;
    }
    assert_eq!(ids(&store).await.len(), 3200);
    let log = std::fs::metadata(dir.path().join("db-wal")).unwrap().len();
    // 3,200 transactions of some 4 pages write 26 MB; a log that is begun again stays at a fraction of that.
    assert!(log < 3 << 20, "{log} bytes of log");
}
