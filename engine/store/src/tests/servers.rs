//! What is different on servers: addresses, connections that die, restarts.

use std::time::Duration;

use testkit::certificates::Certificates;
use testkit::database::{Kind, Server, fresh};

use super::{item, prepare};
use crate::address::{Address, masked};
use crate::{Error, Options, Store, Value};

const KINDS: [Kind; 2] = [Kind::Mariadb, Kind::Postgres];

#[test]
fn addresses_are_taken_apart() {
    let address =
        Address::parse("mysql+pymysql://neu%40tron:p%2Fa:s%25@[fd00::1]:3307/net?charset=utf8&ssl_ca=/a/b.pem");
    let address = address.unwrap();
    assert_eq!(address.user.as_deref(), Some("neu@tron"));
    assert_eq!(address.password.as_deref(), Some("p/a:s%"));
    assert_eq!((address.host.as_str(), address.port, address.database.as_str()), ("fd00::1", Some(3307), "net"));
    assert_eq!((address.option("ssl_ca"), address.option("none")), (Some("/a/b.pem"), None));
    let address = Address::parse("postgresql:///net?host=/run/postgresql").unwrap();
    assert_eq!((address.host.as_str(), address.port, &address.user), ("", None, &None));
    assert_eq!(address.option("host"), Some("/run/postgresql"));
    let error = Address::parse("mysql://u:secret@h:x/net").unwrap_err().to_string();
    assert!(error.contains("mysql://u:***@h:x/net") && !error.contains("secret"), "{error}");
    assert_eq!(masked("mysql://u:p@ss@h/d?charset=utf8"), "mysql://u:***@h/d?charset=utf8");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_address_is_named_without_its_password() {
    for kind in KINDS {
        let database = fresh(kind);
        let url = database.url();
        let (start, name) = url.split_once('?').unwrap_or((&url, "")).0.rsplit_once('/').unwrap();
        let nowhere = format!("{start}/no_{name}");
        let error = Store::open(Options::new(&nowhere)).await.unwrap_err();
        assert!(matches!(&error, Error::Config(why) if why.contains(&format!("no_{name}"))), "{error:?}");
        // Nobody listens there: that may change, and is said so.
        let closed = format!("{}//root:secret@127.0.0.1:1/{name}", start.split("//").next().unwrap());
        let error = Store::open(Options::new(&closed)).await.unwrap_err();
        assert!(error.is_retriable() && !error.to_string().contains("secret"), "{error:?}");
    }
}

/// Everything that the server ended meanwhile (a restart, its own time limit) is replaced without an error.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_connections_that_died_are_not_noticed() {
    for kind in KINDS {
        let database = fresh(kind);
        let store = Store::open(Options::new(database.url())).await.unwrap();
        prepare(&store, Some(kind)).await;
        let open: Vec<_> =
            [store.write().await.unwrap(), store.write().await.unwrap(), store.read().await.unwrap()].into();
        drop(open);
        end_connections(&database, kind);
        for i in 0..4 {
            let mut txn = store.write().await.unwrap();
            txn.insert("item", &item(&format!("i{i}"), "p", i)).await.unwrap();
            txn.commit().await.unwrap();
            assert_eq!(super::ids(&store).await.len() as i64, i + 1);
        }
    }
}

fn end_connections(database: &testkit::database::Database, kind: Kind) {
    match kind {
        Kind::Mariadb => {
            let name = database.run("SELECT database();");
            let list = format!(
                "SELECT id FROM information_schema.processlist WHERE db = '{}' AND id <> connection_id();",
                name.trim()
            );
            for id in database.run(&list).lines() {
                database.run(&format!("KILL {id};"));
            }
        }
        Kind::Postgres => {
            database.run(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid();",
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_dies_in_a_transaction_stores_nothing() {
    for kind in KINDS {
        let database = fresh(kind);
        let store = Store::open(Options::new(database.url())).await.unwrap();
        prepare(&store, Some(kind)).await;
        let mut txn = store.write().await.unwrap();
        txn.insert("item", &item("x", "p", 1)).await.unwrap();
        end_connections(&database, kind);
        let error = txn.insert("item", &item("y", "p", 2)).await.unwrap_err();
        assert!(error.is_retriable(), "{error:?}");
        assert!(txn.commit().await.unwrap_err().is_retriable());
        let mut txn = store.write().await.unwrap();
        txn.insert("item", &item("z", "p", 1)).await.unwrap();
        end_connections(&database, kind);
        let error = txn.commit().await.unwrap_err();
        assert!(matches!(error, Error::Lost(_)), "{error:?}");
        assert!(super::ids(&store).await.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deadlocks_are_told_and_the_other_goes_on() {
    for kind in KINDS {
        let database = fresh(kind);
        let store = Store::open(Options::new(database.url())).await.unwrap();
        prepare(&store, Some(kind)).await;
        let mut txn = store.write().await.unwrap();
        for id in ["a", "b"] {
            txn.insert("item", &item(id, id, 0)).await.unwrap();
        }
        txn.commit().await.unwrap();
        let sql = "UPDATE item SET slot = slot + 1 WHERE id = ?";
        let (mut one, mut other) = (store.write().await.unwrap(), store.write().await.unwrap());
        assert_eq!(one.execute(sql, &["a".into()]).await.unwrap(), 1);
        assert_eq!(other.execute(sql, &["b".into()]).await.unwrap(), 1);
        let (b, a) = ([Value::from("b")], [Value::from("a")]);
        let outcomes = tokio::join!(one.execute(sql, &b), other.execute(sql, &a));
        let failed = [&outcomes.0, &outcomes.1].into_iter().filter(|outcome| outcome.is_err()).count();
        assert_eq!(failed, 1, "{outcomes:?}");
        let (lost, kept) = if outcomes.0.is_err() { (one, other) } else { (other, one) };
        assert!(outcomes.0.err().or(outcomes.1.err()).unwrap().is_retriable());
        assert!(lost.commit().await.unwrap_err().is_retriable());
        kept.commit().await.unwrap();
        let mut txn = store.read().await.unwrap();
        let sum = txn.query_one("SELECT sum(slot) FROM item", &[]).await.unwrap().unwrap();
        assert_eq!(sum.value(0), Value::Int(2));
    }
}

/// An UPDATE counts the rows that it matched, changed or not; and a write transaction sees what others have committed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn updates_count_what_they_match_and_reads_are_fresh() {
    for kind in KINDS {
        let database = fresh(kind);
        let store = Store::open(Options::new(database.url())).await.unwrap();
        prepare(&store, Some(kind)).await;
        let mut txn = store.write().await.unwrap();
        txn.insert("item", &item("a", "p", 1)).await.unwrap();
        txn.commit().await.unwrap();
        let mut early = store.write().await.unwrap();
        assert_eq!(early.query("SELECT id FROM item", &[]).await.unwrap().len(), 1);
        assert_eq!(early.execute("UPDATE item SET slot = 1 WHERE id = 'a'", &[]).await.unwrap(), 1);
        let mut late = store.write().await.unwrap();
        late.insert("item", &item("b", "p", 2)).await.unwrap();
        late.commit().await.unwrap();
        let error = early.insert("item", &item("c", "p", 2)).await.unwrap_err();
        assert!(error.is_duplicate_of("slot"), "{error:?}");
        assert_eq!(early.query("SELECT id FROM item WHERE slot = 2", &[]).await.unwrap().len(), 1);
        early.insert("item", &item("c", "p", 3)).await.unwrap();
        early.commit().await.unwrap();
        assert_eq!(super::ids(&store).await, ["a", "b", "c"]);
    }
}

/// Text of every sort comes back as it was given, quotes and backslashes among it, alone and in a large set.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn text_is_text() {
    for kind in KINDS {
        let database = fresh(kind);
        let store = Store::open(Options::new(database.url())).await.unwrap();
        prepare(&store, Some(kind)).await;
        let odd = ["it's", "a\\'b", "\"q\"", "?", "??", "%_", "ä€", "`x`", "--", "$1"];
        let mut txn = store.write().await.unwrap();
        for (i, text) in odd.iter().enumerate() {
            txn.insert("item", &item(text, text, i as i64)).await.unwrap();
        }
        txn.commit().await.unwrap();
        let mut all: Vec<String> = odd.iter().map(|text| (*text).to_owned()).collect();
        all.extend((0..1000).map(|i| format!("none{i}")));
        let mut txn = store.read().await.unwrap();
        for set in [&all[..odd.len()], &all[..]] {
            let args = [Value::set(set), "?".into()];
            let rows = txn.query("SELECT place FROM item WHERE id IN (??) AND '?' = ?", &args);
            let mut found: Vec<String> = rows.await.unwrap().iter().map(|row| row.text(0)).collect();
            let mut wanted: Vec<&str> = odd.to_vec();
            found.sort();
            wanted.sort();
            assert_eq!(found, wanted);
        }
        let none = txn.query("SELECT id FROM item WHERE id NOT IN (??)", &[Value::set(Vec::<String>::new())]).await;
        assert_eq!(none.unwrap().len(), odd.len());
    }
}

/// The certificate is for `localhost` and not for `127.0.0.1`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_are_encrypted_and_certificates_checked() {
    for kind in KINDS {
        let (server, certificates) = Server::start_with_tls(kind);
        let (stranger, dir) = (tempfile::tempdir().unwrap(), certificates.authority.parent().unwrap());
        let strange = Certificates::make(stranger.path()).authority;
        assert!(dir.join("server.pem").exists());
        let database = server.database();
        let plain = database.url().split_once('?').map_or(database.url(), |(start, _)| start.to_owned());
        let named = plain.replace("127.0.0.1", "localhost");
        let (own, strange) = (certificates.authority.display(), strange.display());
        let (accepted, refused) = match kind {
            Kind::Mariadb => (
                vec![
                    format!("{plain}?ssl=true"),
                    format!("{named}?charset=utf8&ssl_ca={own}"),
                    format!("{plain}?ssl_ca={own}&ssl_check_hostname=false"),
                ],
                vec![plain.clone(), format!("{plain}?ssl_ca={own}"), format!("{named}?ssl_ca={strange}")],
            ),
            Kind::Postgres => (
                vec![
                    plain.clone(),
                    format!("{plain}?sslmode=require"),
                    format!("{plain}?sslmode=verify-ca&sslrootcert={own}"),
                    format!("{named}?sslmode=verify-full&sslrootcert={own}"),
                ],
                vec![
                    format!("{plain}?sslmode=verify-full&sslrootcert={own}"),
                    format!("{named}?sslmode=verify-ca&sslrootcert={strange}"),
                    format!("{named}?sslmode=verify-full"),
                ],
            ),
        };
        for url in accepted {
            let store = Store::open(Options::new(&url)).await.unwrap_or_else(|error| panic!("{url}: {error}"));
            let mut txn = store.read().await.unwrap();
            let is_encrypted = match kind {
                Kind::Mariadb => !txn.query("SHOW STATUS LIKE 'Ssl_cipher'", &[]).await.unwrap()[0].text(1).is_empty(),
                Kind::Postgres => {
                    let sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
                    txn.query(sql, &[]).await.unwrap()[0].bool(0)
                }
            };
            assert!(is_encrypted, "{url}");
            drop(txn);
            store.close().await.unwrap();
        }
        for url in refused {
            let outcome = tokio::time::timeout(Duration::from_secs(60), Store::open(Options::new(&url))).await;
            let error = outcome.unwrap_or_else(|_| panic!("{url}: no end")).map(drop).expect_err(&url);
            println!("{url}: {error}");
            assert!(!matches!(error, Error::Lost(_)), "{url}: {error:?}");
        }
    }
}
