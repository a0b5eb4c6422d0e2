//! Rows into records: one statement for the resource with all its one-row tables, one per child table, whatever the number of rows.

use std::fmt::Write;

use rustc_hash::FxHashMap;
use schema::Fault;
use schema::{Attr, By, Model, Place, Record, Resource, Value};

use crate::condition::from_store;
use crate::{Condition, Entity, Op, SharedTable};

/// Which rows, in which order.
#[derive(Default)]
pub struct Selection {
    pub conditions: Vec<Condition>,
    /// Columns with DESC where wanted; the key is always added last.
    pub order: Vec<String>,
    pub descending_key: bool,
    pub limit: Option<usize>,
}

/// The one-row table that an attribute is in.
fn side_of(attr: &Attr) -> Option<&'static str> {
    match attr.place {
        Place::Side { table, .. } => Some(table),
        _ => None,
    }
}

fn join_shared(resource: &Resource, shared: &SharedTable, sql: &mut String) {
    let _ = write!(
        sql,
        " JOIN {} ON {}.\"{}\" = {}.\"{}\"",
        shared.table, shared.table, shared.key, resource.table, shared.reference
    );
}

/// One-row tables are joined once, however many of their columns are wanted.
fn joins<'a>(resource: &Resource, sql: &mut String, attrs: impl Iterator<Item = &'a Attr>) {
    let mut joined: Vec<&str> = Vec::new();
    for attr in attrs {
        if let Place::Side { table, key, only, .. } = attr.place
            && !joined.contains(&table)
        {
            joined.push(table);
            let _ = write!(sql, " LEFT JOIN {table} ON {table}.\"{key}\" = {}.\"{}\"", resource.table, resource.key);
            if !only.is_empty() {
                let _ = write!(sql, " AND {only}");
            }
        }
    }
}

impl Selection {
    /// The WHERE clause, empty if everything is wanted, and its arguments.
    fn wanted(&self) -> (String, Vec<store::Value>) {
        let mut sql = String::new();
        let mut args = Vec::new();
        for condition in &self.conditions {
            sql.push_str(if sql.is_empty() { " WHERE " } else { " AND " });
            sql.push_str(&condition.sql);
            args.extend(condition.args.iter().cloned());
        }
        (sql, args)
    }

    fn order_by(&self, resource: &Resource) -> String {
        let mut sql = String::from(" ORDER BY ");
        for column in &self.order {
            sql.push_str(column);
            sql.push_str(", ");
        }
        let direction = if self.descending_key { " DESC" } else { "" };
        let _ = write!(sql, "{}.\"{}\"{direction}", resource.table, resource.key);
        sql
    }

    pub async fn run(self, op: &mut Op<'_>, entity: &Entity) -> Result<Vec<Record>, Fault> {
        let model = &entity.model;
        let resource = model.resource;
        let shared = op.system.shared;
        let mut columns: Vec<usize> = Vec::new();
        let mut sql = String::with_capacity(1024);
        let _ = write!(sql, "SELECT {}.\"{}\"", resource.table, resource.key);
        match resource.shared {
            Some(_) => {
                let _ = write!(sql, ", {}.\"{}\"", resource.table, shared.reference);
            }
            None => sql.push_str(", 0"),
        }
        for (position, attr) in model.attrs.iter().enumerate() {
            let (table, column) = match attr.place {
                Place::Own(column) => (resource.table, column),
                Place::Shared(column) => (shared.table, column),
                Place::Side { table, column, .. } => (table, column),
                Place::Child { .. } | Place::Computed => continue,
            };
            let _ = write!(sql, ", {table}.\"{column}\"");
            columns.push(position);
        }
        let source = entity.source();
        let by_key_alone = self.order.is_empty();
        let (wanted, args) = self.wanted();
        let order = self.order_by(resource);
        match self.limit {
            // The keys of the page are found and sorted alone: the rows are wide, and all but a page of them are thrown away.
            Some(limit) => {
                let (table, key) = (resource.table, resource.key);
                let _ = write!(sql, " FROM (SELECT {table}.\"{key}\" AS page_key FROM {source}");
                let looks_at =
                    |other: &str| wanted.contains(&format!("{other}.")) || order.contains(&format!("{other}."));
                if resource.shared.is_some() && looks_at(shared.table) {
                    join_shared(resource, shared, &mut sql);
                }
                joins(resource, &mut sql, model.attrs.iter().filter(|attr| side_of(attr).is_some_and(looks_at)));
                let _ = write!(
                    sql,
                    "{wanted}{order} LIMIT {limit}) page JOIN {source} ON {table}.\"{key}\" = page.page_key"
                );
            }
            None => {
                let _ = write!(sql, " FROM {source}");
            }
        }
        if resource.shared.is_some() {
            join_shared(resource, shared, &mut sql);
        }
        joins(resource, &mut sql, model.attrs.iter());
        if self.limit.is_none() {
            sql.push_str(&wanted);
        }
        // In the order of the key alone rows are sorted here: a database may sort wide rows in a temporary tree.
        if !by_key_alone {
            sql.push_str(&order);
        }

        let mut rows = op.txn.query(&sql, &args).await?;
        if by_key_alone {
            rows.sort_unstable_by(|one, other| one.str(0).cmp(other.str(0)));
            if self.descending_key {
                rows.reverse();
            }
        }
        let key = model.position(resource.key);
        let mut records = Vec::with_capacity(rows.len());
        for row in &rows {
            let mut record = Record::new(model);
            record.shared_id = row.opt_int(1).unwrap_or(0);
            if let Some(key) = key {
                record.set_at(key, Some(Value::String(row.text(0))));
            }
            for (index, position) in columns.iter().enumerate() {
                let attr = &model.attrs[*position];
                let mut value = from_store(&attr.kind, row.value(index + 2));
                if value.is_null()
                    && let Place::Side { absent, .. } = attr.place
                    && let Some(absent) = absent.value()
                {
                    value = absent;
                }
                record.set_at(*position, Some(value));
            }
            records.push(record);
        }
        drop(rows);
        if records.is_empty() {
            return Ok(records);
        }
        load_children(op, model, &mut records).await?;
        for behaviour in &entity.behaviours {
            behaviour.load(op, &mut records).await?;
        }
        Ok(records)
    }
}

async fn load_children(op: &mut Op<'_>, model: &Model, records: &mut [Record]) -> Result<(), Fault> {
    let mut by_id: FxHashMap<String, usize> = FxHashMap::default();
    let mut by_shared: FxHashMap<i64, usize> = FxHashMap::default();
    for (position, attr) in model.attrs.iter().enumerate() {
        let Place::Child { table, key, by, columns, order, .. } = attr.place else { continue };
        if !op.wants(attr.name) {
            continue;
        }
        let mut sql = format!("SELECT \"{key}\"");
        for (_, column) in columns {
            let _ = write!(sql, ", \"{column}\"");
        }
        // A set of one takes the plain form, which every engine plans best.
        let ids: Vec<store::Value> = match by {
            By::Id => records.iter().map(|record| record.id().into()).collect(),
            By::Shared => records.iter().map(|record| record.shared_id.into()).collect(),
        };
        let condition = Condition::one_of(&format!("\"{key}\""), ids);
        let _ = write!(sql, " FROM {table} WHERE {}", condition.sql);
        if !order.is_empty() {
            let _ = write!(sql, " ORDER BY {order}");
        }
        let rows = op.txn.query(&sql, &condition.args).await?;
        for record in records.iter_mut() {
            record.set_at(position, Some(Value::Array(Vec::new())));
        }
        if rows.is_empty() {
            continue;
        }
        match by {
            By::Id if by_id.is_empty() => {
                by_id = records.iter().enumerate().map(|(index, record)| (record.id().to_owned(), index)).collect();
            }
            By::Shared if by_shared.is_empty() => {
                by_shared = records.iter().enumerate().map(|(index, record)| (record.shared_id, index)).collect();
            }
            _ => {}
        }
        let mut lists: FxHashMap<usize, Vec<Value>> = FxHashMap::default();
        for row in &rows {
            let index = match by {
                By::Id => by_id.get(row.str(0)),
                By::Shared => by_shared.get(&row.int(0)),
            };
            let Some(index) = index else { continue };
            let item = match columns {
                [("", _)] => plain(row.value(1)),
                _ => {
                    let mut object = serde_json::Map::new();
                    for (i, (name, _)) in columns.iter().enumerate() {
                        object.insert((*name).to_owned(), plain(row.value(i + 1)));
                    }
                    Value::Object(object)
                }
            };
            lists.entry(*index).or_default().push(item);
        }
        for (index, list) in lists {
            records[index].set_at(position, Some(Value::Array(list)));
        }
    }
    Ok(())
}

fn plain(value: store::Value) -> Value {
    match value {
        store::Value::Null | store::Value::Set(_) => Value::Null,
        store::Value::Bool(flag) => Value::Bool(flag),
        store::Value::Int(number) => Value::from(number),
        store::Value::Text(text) => Value::String(text),
        store::Value::Time(time) => Value::String(time.format("%Y-%m-%dT%H:%M:%SZ").to_string()),
    }
}
