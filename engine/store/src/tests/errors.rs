use super::{in_file, item, private};
use crate::{Error, Faults, Options, Retriable, Store, Value, retry};

#[tokio::test]
async fn constraints_are_told_apart_and_leave_the_transaction_open() {
    let store = private().await;
    let mut txn = store.write().await.unwrap();
    txn.insert("item", &item("x", "p", 1)).await.unwrap();
    let error = txn.insert("item", &item("x", "p", 2)).await.unwrap_err();
    assert!(error.is_duplicate_of("id") && !error.is_retriable(), "{error:?}");
    let error = txn.insert("item", &item("y", "p", 1)).await.unwrap_err();
    let Error::Duplicate { table, columns } = &error else { panic!("{error:?}") };
    assert_eq!((table.as_str(), &columns[..]), ("item", &["place".to_owned(), "slot".to_owned()][..]));
    let error = txn.execute("UPDATE item SET shelf_id = ?", &[77.into()]).await.unwrap_err();
    assert!(matches!(&error, Error::ForeignKey { table } if table == "item"), "{error:?}");
    let error = txn.execute("UPDATE item SET kind = ?", &["z".into()]).await.unwrap_err();
    assert!(matches!(error, Error::Invalid(_)), "{error:?}");
    let error = txn.execute("INSERT INTO item (id) VALUES (?)", &[Value::Null]).await.unwrap_err();
    assert!(matches!(error, Error::Invalid(_)), "{error:?}");
    let error = txn.query("SELECT nothing FROM nowhere", &[]).await.unwrap_err();
    assert!(matches!(error, Error::Invalid(_) | Error::Other(_)), "{error:?}");
    for args in [&[][..], &["a".into(), "b".into()]] {
        let error = txn.query("SELECT id FROM item WHERE id = ?", args).await.unwrap_err();
        assert!(matches!(error, Error::Invalid(_)), "{error:?}");
    }
    txn.commit().await.unwrap();
    assert_eq!(super::ids(&store).await, ["x"]);
}

#[tokio::test]
async fn a_row_that_is_referred_to_stays() {
    let store = private().await;
    let mut txn = store.write().await.unwrap();
    let shelf = txn.insert_id("shelf", &[("label", "a".into())]).await.unwrap();
    let mut row = item("x", "p", 1);
    row.push(("shelf_id", shelf.into()));
    txn.insert("item", &row).await.unwrap();
    let error = txn.execute("DELETE FROM shelf WHERE id = ?", &[shelf.into()]).await.unwrap_err();
    assert!(error.is_foreign_key(), "{error:?}");
    assert!(!txn.insert_if_absent("item", &row).await.unwrap());
    row[0].1 = "y".into();
    row[2].1 = 9.into();
    row[3].1 = 999.into();
    let error = txn.insert_if_absent("item", &row).await.unwrap_err();
    assert!(error.is_foreign_key(), "only keys are forgiven: {error:?}");
}

#[tokio::test]
async fn a_read_transaction_cannot_write() {
    let store = private().await;
    let mut txn = store.read().await.unwrap();
    let error = txn.insert("item", &item("x", "p", 1)).await.unwrap_err();
    assert!(matches!(error, Error::ReadOnly), "{error:?}");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_named_as_such() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("db"), vec![b'x'; 8192]).unwrap();
    let outcome = Store::open(Options::new(format!("sqlite://{}/db", dir.path().display()))).await;
    assert!(matches!(outcome, Err(Error::Corrupt(_))), "{outcome:?}");
}

#[tokio::test]
async fn another_process_that_holds_the_file_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let store = in_file(&dir).await;
    let other = rusqlite::Connection::open(dir.path().join("db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let waiting = tokio::spawn({
        let store = store.clone();
        async move { store.write().await.map(drop) }
    });
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    other.execute_batch("ROLLBACK").unwrap();
    waiting.await.unwrap().unwrap();
}

async fn with_faults(faults: Faults) -> Store {
    let store = Store::open(Options { faults: Some(faults), ..Options::default() }).await.unwrap();
    let prepared: Result<(), Error> = retry(|| async {
        let mut txn = store.write().await?;
        if txn.query("SELECT name FROM sqlite_master WHERE name = 'item'", &[]).await?.is_empty() {
            txn.script(super::SCHEMA).await?;
        }
        txn.commit().await
    })
    .await;
    prepared.unwrap();
    store
}

#[tokio::test]
async fn injected_deadlocks_leave_nothing_and_retries_get_through() {
    let store = with_faults(Faults { seed: 7, deadlock: 3, lost_before: 0, lost_after: 0 }).await;
    let mut failed = 0;
    for i in 0..60 {
        let id = format!("i{i:02}");
        let outcome: Result<(), Error> = retry(|| async {
            let mut txn = store.write().await?;
            let outcome = async {
                txn.insert("item", &item(&id, "p", i)).await?;
                txn.query("SELECT 1", &[]).await
            };
            if let Err(error) = outcome.await {
                // The transaction is gone: no statement works any more.
                assert!(txn.query("SELECT 1", &[]).await.is_err_and(|e| e.is_retriable()));
                return Err(error);
            }
            txn.commit().await
        })
        .await;
        failed += usize::from(outcome.is_err());
    }
    assert_eq!((super::ids(&store).await.len(), failed), (60, 0));
}

#[tokio::test]
async fn injected_losses_store_all_or_nothing() {
    let store = with_faults(Faults { seed: 1, deadlock: 0, lost_before: 4, lost_after: 4 }).await;
    let (mut stored, mut lost) = (Vec::new(), 0);
    for i in 0..80 {
        let id = format!("i{i:02}");
        let mut txn = store.write().await.unwrap();
        txn.insert("item", &item(&id, "p", i)).await.unwrap();
        match txn.commit().await {
            Ok(()) => stored.push(id),
            Err(error) => {
                assert!(matches!(error, Error::Lost(_)) && !Retriable::is_retriable(&error));
                lost += 1;
            }
        }
    }
    let there = super::ids(&store).await;
    assert!(stored.iter().all(|id| there.contains(id)));
    assert!(lost > 10 && there.len() > stored.len() && there.len() < 80, "{lost} lost, {} there", there.len());
}

#[tokio::test]
async fn retries_end() {
    let mut runs = 0;
    let outcome: Result<(), Error> = retry(|| {
        runs += 1;
        async { Err(Error::Retry("always".to_owned())) }
    })
    .await;
    assert!(outcome.is_err() && runs == 10);
    let mut runs = 0;
    let outcome: Result<(), Error> = retry(|| {
        runs += 1;
        async { Err(Error::ReadOnly) }
    })
    .await;
    assert!(outcome.is_err() && runs == 1);
}
