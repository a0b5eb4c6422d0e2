//! Bringing a database to the schema that the program needs.
//!
//! A migration leads from one set of heads to the next; the heads stand in `alembic_version`, as the tools of OpenStack
//! expect. Several heads are one state: expand and contract branches end apart.

use crate::{Error, Options, Store, Txn, Value};

/// One step. The first one of a list starts from no heads, that is, from an empty database.
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    /// Directory name, for logs and messages.
    pub name: &'static str,
    pub from_heads: &'static [&'static str],
    pub to_heads: &'static [&'static str],
    /// Statements for SQLite; they must not touch the table of heads.
    pub sqlite: &'static str,
}

/// Why a database cannot be brought up to date.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    #[error(
        "the database is at {}, which this program does not know; use the program that wrote it, \
         or restore a backup", heads.join(" and ")
    )]
    UnknownHeads { heads: Vec<String> },
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
    let sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name";
    Ok(txn.query(sql, &[]).await?.iter().map(|row| row.text(0)).collect())
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
        let heads = heads(&mut txn).await?;
        if all.last().is_some_and(|last| same(&heads, last.to_heads)) {
            return Ok(applied);
        }
        let Some(next) = all.iter().find(|migration| same(&heads, migration.from_heads)) else {
            return Err(MigrateError::UnknownHeads { heads });
        };
        if heads.is_empty() && !tables(&mut txn).await?.is_empty() {
            return Err(MigrateError::NotOurs);
        }
        let name = next.name;
        apply(txn, next).await.map_err(|source| MigrateError::Failed { name, source })?;
        tracing::info!(migration = name, "database migrated");
        applied.push(name);
    }
}

async fn apply(mut txn: Txn, migration: &Migration) -> Result<(), Error> {
    txn.script(migration.sqlite).await?;
    txn.execute("DELETE FROM alembic_version", &[]).await?;
    let rows = migration.to_heads.iter().map(|head| vec![Value::from(*head)]).collect();
    txn.insert_many("alembic_version", &["version_num"], rows).await?;
    txn.commit().await
}

fn same(heads: &[String], wanted: &[&str]) -> bool {
    heads.len() == wanted.len() && wanted.iter().all(|wanted| heads.iter().any(|head| head == wanted))
}

/// Differences between the database and a freshly created one, one per line; none when they are the same.
///
/// Order of columns and names of automatic indexes do not count; extra tables do not either, since other programs may
/// keep theirs in the same database.
pub async fn check(store: &Store, all: &[Migration]) -> Result<Vec<String>, MigrateError> {
    let fresh = Store::open(Options::default()).await?;
    upgrade(&fresh, all).await?;
    let (is, wanted) = (facts(store).await?, facts(&fresh).await?);
    let (mut differences, heads) = (Vec::new(), current(store).await?);
    if let Some(last) = all.last()
        && !same(&heads, last.to_heads)
    {
        let now = if heads.is_empty() { "nothing".to_owned() } else { heads.join(" and ") };
        differences.push(format!("version: is {now}, wanted {}", last.to_heads.join(" and ")));
    }
    let known: std::collections::BTreeSet<&str> = wanted.iter().map(|fact| table_of(fact)).collect();
    differences.extend(wanted.difference(&is).map(|fact| format!("missing: {fact}")));
    let extra = is.difference(&wanted).filter(|fact| known.contains(table_of(fact)));
    differences.extend(extra.map(|fact| format!("unexpected: {fact}")));
    Ok(differences)
}

fn table_of(fact: &str) -> &str {
    fact.split(' ').next().unwrap_or_default()
}

/// Columns, keys, indexes and references as lines that begin with the table's name.
async fn facts(store: &Store) -> Result<std::collections::BTreeSet<String>, Error> {
    let mut txn = store.read().await?;
    let mut facts = std::collections::BTreeSet::new();
    for table in tables(&mut txn).await? {
        let args = [Value::from(&table)];
        let sql = "SELECT name, type, \"notnull\", dflt_value, pk FROM pragma_table_info(?)";
        for row in txn.query(sql, &args).await? {
            let (name, kind) = (row.text(0), row.text(1));
            let null = if row.bool(2) { " not null" } else { "" };
            let default = row.opt_text(3).map(|text| format!(" default {text}")).unwrap_or_default();
            let key = if row.int(4) > 0 { format!(" key {}", row.int(4)) } else { String::new() };
            facts.insert(format!("{table} column {name} {kind}{null}{default}{key}"));
        }
        let sql = "SELECT l.name, l.\"unique\", l.origin, group_concat(i.name, ', ') FROM pragma_index_list(?) l, \
                   pragma_index_info(l.name) i GROUP BY l.name, l.\"unique\", l.origin";
        for row in txn.query(sql, &args).await? {
            let kind = if row.bool(1) { "unique" } else { "index" };
            let name = if row.str(2) == "c" { format!(" {}", row.str(0)) } else { String::new() };
            facts.insert(format!("{table} {kind}{name} ({})", row.str(3)));
        }
        let sql = "SELECT id, \"table\", group_concat(\"from\", ', '), group_concat(\"to\", ', '), on_delete \
                   FROM pragma_foreign_key_list(?) GROUP BY id, \"table\", on_delete";
        for row in txn.query(sql, &args).await? {
            let (to, from, columns) = (row.str(1), row.str(2), row.str(3));
            facts.insert(format!("{table} reference ({from}) to {to} ({columns}) on delete {}", row.str(4)));
        }
    }
    Ok(facts)
}
