//! Rows into records: one statement for the resource with all its one-row tables, one per child table, whatever the number of rows.

use std::collections::HashMap;
use std::fmt::Write;

use schema::Fault;
use schema::{Attr, By, Model, Place, Record, Value};

use crate::condition::from_store;
use crate::{Condition, Entity, Op};

/// Which rows, in which order.
#[derive(Default)]
pub struct Selection {
    pub conditions: Vec<Condition>,
    /// Columns with DESC where wanted; the key is always added last.
    pub order: Vec<String>,
    pub descending_key: bool,
    pub limit: Option<usize>,
}

/// One-row tables are joined once, however many of their columns are wanted.
fn joins(model: &Model, sql: &mut String, attrs: impl Iterator<Item = Attr>) {
    let resource = model.resource;
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
        let _ = write!(sql, " FROM {}", entity.source());
        if resource.shared.is_some() {
            let _ = write!(
                sql,
                " JOIN {} ON {}.\"{}\" = {}.\"{}\"",
                shared.table, shared.table, shared.key, resource.table, shared.reference
            );
        }
        joins(model, &mut sql, model.attrs.iter().copied());
        let mut args = Vec::new();
        for (i, condition) in self.conditions.into_iter().enumerate() {
            sql.push_str(if i == 0 { " WHERE " } else { " AND " });
            sql.push_str(&condition.sql);
            args.extend(condition.args);
        }
        // Whole answers in the order of the key are sorted here: a database may sort wide rows in a temporary tree.
        let by_key_alone = self.order.is_empty() && self.limit.is_none();
        if !by_key_alone {
            sql.push_str(" ORDER BY ");
            for column in &self.order {
                sql.push_str(column);
                sql.push_str(", ");
            }
            let direction = if self.descending_key { " DESC" } else { "" };
            let _ = write!(sql, "{}.\"{}\"{direction}", resource.table, resource.key);
        }
        if let Some(limit) = self.limit {
            let _ = write!(sql, " LIMIT {limit}");
        }

        let rows = op.txn.query(&sql, &args).await?;
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
        if by_key_alone {
            records.sort_unstable_by(|one, other| one.id().cmp(other.id()));
            if self.descending_key {
                records.reverse();
            }
        }
        load_children(op, model, &mut records).await?;
        for behaviour in &entity.behaviours {
            behaviour.load(op, &mut records).await?;
        }
        Ok(records)
    }
}

async fn load_children(op: &mut Op<'_>, model: &Model, records: &mut [Record]) -> Result<(), Fault> {
    let mut by_id: HashMap<String, usize> = HashMap::new();
    let mut by_shared: HashMap<i64, usize> = HashMap::new();
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
        let mut lists: HashMap<usize, Vec<Value>> = HashMap::new();
        for row in &rows {
            let index = match by {
                By::Id => by_id.get(row.text(0).as_str()),
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
