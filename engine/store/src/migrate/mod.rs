//! Bringing a database to the schema that the program needs.
//!
//! A migration leads from one set of heads to the next; the heads stand in `alembic_version`, as the tools of OpenStack
//! expect. Several heads are one state: expand and contract branches end apart.

mod facts;

use std::collections::BTreeSet;

use crate::backend::Dialect;
use crate::{Error, Options, Store, Txn, Value};

pub use facts::facts;

/// Is there while tables are made on MariaDB and MySQL, where a transaction does not undo that.
const MARK: &str = "neutrino_creation";

/// One step. The first one of a list starts from no heads, that is, from an empty database.
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    /// Directory name, for logs and messages.
    pub name: &'static str,
    pub from_heads: &'static [&'static str],
    pub to_heads: &'static [&'static str],
    /// Statements for SQLite; they must not touch the table of heads.
    pub sqlite: &'static str,
    /// The same for MariaDB and MySQL, which commit after each of them.
    pub mysql: &'static str,
    /// The same for PostgreSQL.
    pub postgres: &'static str,
    /// What [`facts`] finds after this migration on MariaDB and MySQL, a line each.
    pub mysql_facts: &'static str,
    /// What [`facts`] finds after this migration on PostgreSQL, a line each.
    pub postgres_facts: &'static str,
}

/// Why a database cannot be brought up to date.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    #[error(
        "the database is at {}, this program works with {}; if it is of an older release, bring it up to date with the tools of \
         the release that this program replaces, if of a newer one, use a newer program", heads.join(" and "), wanted.join(" and ")
    )]
    UnknownHeads { heads: Vec<String>, wanted: Vec<String> },
    #[error("the database has tables but no recorded version; it was not created by this program or by its reference")]
    NotOurs,
    #[error("migration {name} failed")]
    Failed {
        name: &'static str,
        #[source]
        source: Error,
    },
    #[error("cannot read the version of the database")]
    Database(#[from] Error),
}

/// The recorded heads in alphabetical order; none for an empty database.
pub async fn current(store: &Store) -> Result<Vec<String>, Error> {
    heads(&mut store.read().await?).await
}

async fn heads(txn: &mut Txn) -> Result<Vec<String>, Error> {
    if !tables(txn).await?.iter().any(|table| table == "alembic_version") {
        return Ok(Vec::new());
    }
    let rows = txn.query("SELECT version_num FROM alembic_version ORDER BY version_num", &[]).await?;
    Ok(rows.iter().map(|row| row.text(0)).collect())
}

async fn tables(txn: &mut Txn) -> Result<Vec<String>, Error> {
    let sql = match txn.dialect() {
        Dialect::Sqlite => {
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        }
        Dialect::Mysql => {
            "SELECT table_name FROM information_schema.tables WHERE table_schema = database() \
             AND table_type = 'BASE TABLE' ORDER BY table_name"
        }
        Dialect::Postgres => "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename",
    };
    Ok(txn.query(sql, &[]).await?.iter().map(|row| row.text(0)).collect())
}

/// Makes programs that start at once migrate one after the other, where the transaction does not do it already.
async fn lock(txn: &mut Txn) -> Result<(), Error> {
    match txn.dialect() {
        Dialect::Sqlite => Ok(()),
        Dialect::Mysql => {
            let row = txn.query_one("SELECT GET_LOCK(concat('neutrino.', md5(database())), 120)", &[]).await?;
            if row.is_some_and(|row| row.bool(0)) {
                return Ok(());
            }
            Err(Error::Retry("another program is bringing the database to its schema".to_owned()))
        }
        // Of the transaction: released with it. The number is one that nobody else uses.
        Dialect::Postgres => txn.query("SELECT pg_advisory_xact_lock(7310586902)", &[]).await.map(drop),
    }
}

async fn unlock(txn: &mut Txn) -> Result<(), Error> {
    match txn.dialect() {
        Dialect::Mysql => txn.query("SELECT RELEASE_LOCK(concat('neutrino.', md5(database())))", &[]).await.map(drop),
        Dialect::Sqlite | Dialect::Postgres => Ok(()),
    }
}

/// Applies what is missing, each migration in a transaction of its own; the names of those applied.
///
/// # Errors
///
/// Heads that no migration leads to or from, naming them; nothing is changed then.
pub async fn upgrade(store: &Store, all: &[Migration]) -> Result<Vec<&'static str>, MigrateError> {
    let mut applied = Vec::new();
    loop {
        // Read within the transaction that writes, so that two programs starting at once do not both migrate.
        let mut txn = store.write().await?;
        lock(&mut txn).await?;
        let outcome = step(&mut txn, all).await;
        // The lock is the connection's and would stay with it.
        let unlocked = unlock(&mut txn).await;
        if unlocked.is_err() {
            // It ends with the connection.
            txn.abandon();
            outcome?;
            unlocked?;
            continue;
        }
        match outcome? {
            Some(name) => {
                txn.commit().await.map_err(|source| MigrateError::Failed { name, source })?;
                tracing::info!(migration = name, "database migrated");
                applied.push(name);
            }
            None => return Ok(applied),
        }
    }
}

/// Applies the next migration, if there is one; its name.
async fn step(txn: &mut Txn, all: &[Migration]) -> Result<Option<&'static str>, MigrateError> {
    let heads = heads(txn).await?;
    if all.last().is_some_and(|last| same(&heads, last.to_heads)) {
        return Ok(None);
    }
    let Some(next) = all.iter().find(|migration| same(&heads, migration.from_heads)) else {
        let wanted = all.last().map_or(&[][..], |last| last.to_heads).iter().map(|head| (*head).to_owned()).collect();
        return Err(MigrateError::UnknownHeads { heads, wanted });
    };
    let there = tables(txn).await?;
    if heads.is_empty() && there.iter().any(|table| table == MARK) {
        clear(txn, &there).await?;
    } else if heads.is_empty() && !there.is_empty() {
        return Err(MigrateError::NotOurs);
    }
    let name = next.name;
    apply(txn, next).await.map_err(|source| MigrateError::Failed { name, source })?;
    Ok(Some(name))
}

/// Takes away what a creation of ours left that did not come to its end.
async fn clear(txn: &mut Txn, tables: &[String]) -> Result<(), Error> {
    tracing::warn!("the creation of the database was interrupted; it begins again");
    txn.execute("SET SESSION foreign_key_checks = 0", &[]).await?;
    for table in tables {
        txn.execute(&format!("DROP TABLE `{}`", table.replace('`', "``")), &[]).await?;
    }
    txn.execute("SET SESSION foreign_key_checks = 1", &[]).await.map(drop)
}

async fn apply(txn: &mut Txn, migration: &Migration) -> Result<(), Error> {
    let is_marked = txn.dialect() == Dialect::Mysql && migration.from_heads.is_empty();
    if is_marked {
        txn.execute(&format!("CREATE TABLE {MARK} (name VARCHAR(255))"), &[]).await?;
    }
    let script = match txn.dialect() {
        Dialect::Sqlite => migration.sqlite,
        Dialect::Mysql => migration.mysql,
        Dialect::Postgres => migration.postgres,
    };
    txn.script(script).await?;
    txn.execute("DELETE FROM alembic_version", &[]).await?;
    let rows = migration.to_heads.iter().map(|head| vec![Value::from(*head)]).collect();
    txn.insert_many("alembic_version", &["version_num"], rows).await?;
    if is_marked {
        txn.execute(&format!("DROP TABLE {MARK}"), &[]).await?;
    }
    Ok(())
}

fn same(heads: &[String], wanted: &[&str]) -> bool {
    heads.len() == wanted.len() && wanted.iter().all(|wanted| heads.iter().any(|head| head == wanted))
}

/// Differences between the database and a freshly created one, one per line; none when they are the same.
///
/// Order of columns and names of automatic indexes do not count; extra tables do not either, since other programs may
/// keep theirs in the same database.
pub async fn check(store: &Store, all: &[Migration]) -> Result<Vec<String>, MigrateError> {
    let is = facts(store).await?;
    let listed = |text: &'static str| text.lines().map(str::to_owned).collect();
    let wanted: BTreeSet<String> = match (store.dialect(), all.last()) {
        (Dialect::Mysql, Some(last)) => listed(last.mysql_facts),
        (Dialect::Postgres, Some(last)) => listed(last.postgres_facts),
        _ => {
            let fresh = Store::open(Options::default()).await?;
            upgrade(&fresh, all).await?;
            facts(&fresh).await?
        }
    };
    let (mut differences, heads) = (Vec::new(), current(store).await?);
    if let Some(last) = all.last()
        && !same(&heads, last.to_heads)
    {
        let now = if heads.is_empty() { "nothing".to_owned() } else { heads.join(" and ") };
        differences.push(format!("version: is {now}, wanted {}", last.to_heads.join(" and ")));
    }
    let known: BTreeSet<&str> = wanted.iter().map(|fact| table_of(fact)).collect();
    differences.extend(wanted.difference(&is).map(|fact| format!("missing: {fact}")));
    let extra = is.difference(&wanted).filter(|fact| known.contains(table_of(fact)));
    differences.extend(extra.map(|fact| format!("unexpected: {fact}")));
    Ok(differences)
}

fn table_of(fact: &str) -> &str {
    fact.split(' ').next().unwrap_or_default()
}
