//! The schema on MariaDB and PostgreSQL: equal to what the reference's own migrations make there, name by name.

use std::collections::BTreeSet;
use std::time::Duration;

use store::migrate::{MigrateError, check, current, facts, upgrade};
use store::{Options, Store};
use testkit::database::{Database, Kind, Server, fresh};

use crate::ALL;

async fn created(kind: Kind) -> (Database, Store) {
    let database = fresh(kind);
    let store = Store::open(Options::new(database.url())).await.unwrap();
    assert_eq!(upgrade(&store, ALL).await.unwrap(), ["0001-reference-2026.2"]);
    (database, store)
}

async fn is_the_reference(kind: Kind, wanted: &str) {
    let (database, store) = created(kind).await;
    let wanted: BTreeSet<String> = wanted.lines().map(str::to_owned).collect();
    let found = facts(&store).await.unwrap();
    let differing: Vec<&String> = found.symmetric_difference(&wanted).collect();
    assert!(differing.is_empty(), "{differing:#?}");
    let tables: BTreeSet<&str> =
        found.iter().filter_map(|fact| fact.split_once(" column ")).map(|(table, _)| table).collect();
    assert_eq!(tables.len(), 123);
    assert_eq!(current(&store).await.unwrap(), ["5c85685d616d", "c7f8d9e0f1a2"]);
    assert!(upgrade(&store, ALL).await.unwrap().is_empty(), "nothing to do the second time");
    assert!(check(&store, ALL).await.unwrap().is_empty());
    let sql =
        "SELECT count(*) FROM securitygroupdefaultrules r JOIN standardattributes s ON s.id = r.standard_attr_id;";
    assert_eq!(database.run(sql).trim(), "4");
    let mut txn = store.write().await.unwrap();
    let id = txn.insert_id("standardattributes", &[("resource_type", "x".into())]).await.unwrap();
    assert!(id > 4, "the next id does not meet those that are there: {id}");
    drop(txn);

    let drop = match kind {
        Kind::Mariadb => "DROP INDEX ix_agents_host ON agents;",
        Kind::Postgres => "DROP INDEX ix_agents_host;",
    };
    database.run(drop);
    database.run("ALTER TABLE ports ADD COLUMN colour VARCHAR(9); CREATE TABLE of_another_program (id INTEGER);");
    let found = check(&store, ALL).await.unwrap();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("missing: agents index ix_agents_host"), "{found:?}");
    assert!(found[1].starts_with("unexpected: ports column colour"), "{found:?}");

    database.run("UPDATE alembic_version SET version_num = 'fffffffffff0' WHERE version_num LIKE 'c7%';");
    let error = upgrade(&store, ALL).await.unwrap_err();
    assert!(matches!(&error, MigrateError::UnknownHeads { heads, .. } if heads.len() == 2));
    assert!(error.to_string().contains("5c85685d616d and fffffffffff0"), "{error}");
    store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_mariadb_every_table_is_that_of_the_reference() {
    is_the_reference(Kind::Mariadb, ALL[0].mysql_facts).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgresql_every_table_is_that_of_the_reference() {
    is_the_reference(Kind::Postgres, ALL[0].postgres_facts).await;
}

/// Servers that start at once on an empty database: one of them makes the tables, and all find them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_that_start_at_once_migrate_once() {
    for kind in [Kind::Mariadb, Kind::Postgres] {
        let database = fresh(kind);
        let mut programs = Vec::new();
        for _ in 0..4 {
            let store = Store::open(Options::new(database.url())).await.unwrap();
            programs.push(tokio::spawn(async move { upgrade(&store, ALL).await.map(|applied| applied.len()) }));
        }
        let mut applied = 0;
        for program in programs {
            applied += program.await.unwrap().unwrap();
        }
        assert_eq!(applied, 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_of_somebody_else_is_refused() {
    for kind in [Kind::Mariadb, Kind::Postgres] {
        let database = fresh(kind);
        database.run("CREATE TABLE songs (id INTEGER);");
        let store = Store::open(Options::new(database.url())).await.unwrap();
        assert!(matches!(upgrade(&store, ALL).await, Err(MigrateError::NotOurs)));
    }
}

/// MariaDB commits after each table, so a server that dies leaves some of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn db_rolling_upgrade_an_interrupted_creation_begins_again() {
    let server = Server::start(Kind::Mariadb);
    let database = server.database();
    let store = Store::open(Options::new(database.url())).await.unwrap();
    let attempt = tokio::spawn(async move { upgrade(&store, ALL).await });
    let sql = "SELECT count(*) FROM information_schema.tables WHERE table_schema = database()";
    testkit::until(Duration::from_secs(60), || {
        database.run(sql).trim().parse::<u32>().is_ok_and(|tables| tables >= 10).then_some(())
    });
    server.kill();
    assert!(attempt.await.unwrap().is_err());
    server.restart();
    let tables: u32 = database.run(sql).trim().parse().unwrap();
    assert!((10..124).contains(&tables), "{tables}");
    let store = Store::open(Options::new(database.url())).await.unwrap();
    assert_eq!(upgrade(&store, ALL).await.unwrap(), ["0001-reference-2026.2"]);
    assert_eq!(check(&store, ALL).await.unwrap(), [""; 0]);
    assert!(!facts(&store).await.unwrap().iter().any(|fact| fact.starts_with("neutrino_")));
}
