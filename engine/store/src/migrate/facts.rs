//! What the catalogues of the databases tell of a schema.

use std::collections::BTreeSet;

use super::tables;
use crate::backend::Dialect;
use crate::{Error, Store, Txn, Value};

/// Columns, keys, indexes and references as lines that begin with the table's name. Lines of two databases of the same kind
/// can be compared; the order of columns does not count.
pub async fn facts(store: &Store) -> Result<BTreeSet<String>, Error> {
    let mut txn = store.read().await?;
    match txn.dialect() {
        Dialect::Sqlite => sqlite(&mut txn).await,
        Dialect::Mysql => mysql(&mut txn).await,
        Dialect::Postgres => postgres(&mut txn).await,
    }
}

async fn sqlite(txn: &mut Txn) -> Result<BTreeSet<String>, Error> {
    let mut facts = BTreeSet::new();
    for table in tables(txn).await? {
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

/// Names of indexes and references count: other programs' migrations drop by them.
async fn mysql(txn: &mut Txn) -> Result<BTreeSet<String>, Error> {
    let mut facts = BTreeSet::new();
    let sql = "SELECT table_name, column_name, column_type, is_nullable, column_default, extra \
               FROM information_schema.columns WHERE table_schema = database()";
    for row in txn.query(sql, &[]).await? {
        let null = if row.str(3) == "NO" { " not null" } else { "" };
        // MariaDB quotes texts and writes NULL where MySQL has nothing.
        let default = row.opt_text(4).filter(|text| text != "NULL");
        let default = default.map(|text| format!(" default {}", text.trim_matches('\''))).unwrap_or_default();
        let extra = if row.str(5).contains("auto_increment") { " auto_increment" } else { "" };
        let kind = width_of_integers(row.str(2));
        facts.insert(format!("{} column {} {kind}{null}{default}{extra}", row.str(0), row.str(1)));
    }
    let sql = "SELECT table_name, index_name, non_unique, group_concat(column_name ORDER BY seq_in_index SEPARATOR ', ') \
               FROM information_schema.statistics WHERE table_schema = database() \
               GROUP BY table_name, index_name, non_unique";
    for row in txn.query(sql, &[]).await? {
        let kind = if row.bool(2) { "index" } else { "unique" };
        facts.insert(format!("{} {kind} {} ({})", row.str(0), row.str(1), row.str(3)));
    }
    let sql = "SELECT k.table_name, k.constraint_name, k.referenced_table_name, r.delete_rule, \
               group_concat(k.column_name ORDER BY k.ordinal_position SEPARATOR ', '), \
               group_concat(k.referenced_column_name ORDER BY k.ordinal_position SEPARATOR ', ') \
               FROM information_schema.key_column_usage k JOIN information_schema.referential_constraints r \
               ON r.constraint_schema = k.constraint_schema AND r.constraint_name = k.constraint_name \
               AND r.table_name = k.table_name WHERE k.table_schema = database() \
               GROUP BY k.table_name, k.constraint_name, k.referenced_table_name, r.delete_rule";
    for row in txn.query(sql, &[]).await? {
        // The same in the standard, and told differently by versions.
        let delete = row.text(3).replace("NO ACTION", "RESTRICT");
        let (table, name, to, from, columns) = (row.str(0), row.str(1), row.str(2), row.str(4), row.str(5));
        facts.insert(format!("{table} reference {name} ({from}) to {to} ({columns}) on delete {delete}"));
    }
    Ok(facts)
}

/// MySQL 8 shows no width of integers, but for `tinyint(1)`.
fn width_of_integers(kind: &str) -> String {
    match kind.split_once("int(") {
        Some((name @ ("" | "big" | "small" | "medium"), rest)) => {
            format!("{name}int{}", rest.split_once(')').map_or("", |(_, rest)| rest))
        }
        _ => kind.to_owned(),
    }
}

async fn postgres(txn: &mut Txn) -> Result<BTreeSet<String>, Error> {
    let mut facts = BTreeSet::new();
    let sql = "SELECT CAST(c.relname AS text), CAST(a.attname AS text), format_type(a.atttypid, a.atttypmod), a.attnotnull, \
               pg_get_expr(d.adbin, d.adrelid) FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid \
               LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum \
               WHERE c.relkind = 'r' AND c.relnamespace = to_regnamespace(CAST(current_schema() AS text)) \
               AND a.attnum > 0 AND NOT a.attisdropped";
    for row in txn.query(sql, &[]).await? {
        let null = if row.bool(3) { " not null" } else { "" };
        let default = row.opt_text(4).map(|text| format!(" default {text}")).unwrap_or_default();
        facts.insert(format!("{} column {} {}{null}{default}", row.str(0), row.str(1), row.str(2)));
    }
    let sql = "SELECT CAST(t.relname AS text), CAST(i.relname AS text), x.indisunique, pg_get_indexdef(x.indexrelid) \
               FROM pg_index x JOIN pg_class t ON t.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid \
               WHERE t.relnamespace = to_regnamespace(CAST(current_schema() AS text)) AND t.relkind = 'r'";
    for row in txn.query(sql, &[]).await? {
        let kind = if row.bool(2) { "unique" } else { "index" };
        let columns = row.str(3).split_once('(').map_or("", |(_, columns)| columns);
        facts.insert(format!("{} {kind} {} ({columns}", row.str(0), row.str(1)));
    }
    let sql = "SELECT CAST(t.relname AS text), CAST(c.conname AS text), pg_get_constraintdef(c.oid) FROM pg_constraint c \
               JOIN pg_class t ON t.oid = c.conrelid WHERE c.contype IN ('f', 'c') \
               AND t.relnamespace = to_regnamespace(CAST(current_schema() AS text))";
    for row in txn.query(sql, &[]).await? {
        facts.insert(format!("{} reference {} {}", row.str(0), row.str(1), row.str(2)));
    }
    let sql = "SELECT CAST(t.typname AS text), CAST(e.enumlabel AS text) FROM pg_type t JOIN pg_enum e ON e.enumtypid = t.oid \
               WHERE t.typnamespace = to_regnamespace(CAST(current_schema() AS text))";
    for row in txn.query(sql, &[]).await? {
        facts.insert(format!("{} value {}", row.str(0), row.str(1)));
    }
    Ok(facts)
}
