//! Records into rows, where the attribute table says that the engine writes them.

use schema::{By, Fault, Model, Place, Record, Value};

use crate::condition::to_store;
use crate::{Entity, Op};

/// Inserts the row of the shared table, the own row, and the one-row and child tables that the engine writes.
pub async fn insert(op: &mut Op<'_>, entity: &Entity, record: &mut Record) -> Result<(), Fault> {
    let model = entity.model.clone();
    let resource = model.resource;
    let shared = op.system.shared;
    let mut own: Vec<(&str, store::Value)> = vec![(resource.key, record.id().into())];
    if let Some(kind) = resource.shared {
        let now = op.txn.now();
        // The first revision is 1, unless the attribute's default says otherwise.
        let first = model.attr(shared.revision_attr).and_then(|attr| attr.default.value()?.as_i64()).unwrap_or(1);
        let mut row: Vec<(&str, store::Value)> = vec![
            (shared.kind, kind.into()),
            (shared.created, store::Value::Time(now)),
            (shared.updated, store::Value::Time(now)),
            (shared.revision, first.into()),
        ];
        for (position, attr) in model.attrs.iter().enumerate() {
            if let Place::Shared(column) = attr.place
                && attr.post
                && let Some(value) = record.at(position)
            {
                row.push((column, to_store(&attr.kind, value)));
            }
        }
        record.shared_id = op.txn.insert_id(shared.table, &row).await?;
        own.push((shared.reference, record.shared_id.into()));
    }
    for (position, attr) in model.attrs.iter().enumerate() {
        if let Place::Own(column) = attr.place
            && column != resource.key
            && let Some(value) = record.at(position)
        {
            own.push((column, to_store(&attr.kind, value)));
        }
    }
    op.txn.insert(entity.table(record), &own).await.map_err(|error| entity.duplicate(record, error))?;
    for (position, attr) in model.attrs.iter().enumerate() {
        let Some(value) = record.at(position).cloned() else { continue };
        match attr.place {
            Place::Side { write: true, table, key, column, absent, .. }
                if absent.value().as_ref() != Some(&value) && !value.is_null() =>
            {
                let row = [(key, record.id().into()), (column, to_store(&attr.kind, &value))];
                op.txn.insert(table, &row).await.map_err(|error| entity.duplicate(record, error))?;
            }
            Place::Child { write: true, .. } => insert_children(op, &model, position, record, &value).await?,
            _ => {}
        }
    }
    Ok(())
}

async fn insert_children(
    op: &mut Op<'_>,
    model: &Model,
    position: usize,
    record: &Record,
    value: &Value,
) -> Result<(), Fault> {
    let Place::Child { table, key, by, columns, .. } = model.attrs[position].place else { return Ok(()) };
    let Some(items) = value.as_array().filter(|items| !items.is_empty()) else { return Ok(()) };
    let owner: store::Value = match by {
        By::Id => record.id().into(),
        By::Shared => record.shared_id.into(),
    };
    let mut names = vec![key];
    names.extend(columns.iter().map(|(_, column)| *column));
    let rows = items
        .iter()
        .map(|item| {
            let mut row = vec![owner.clone()];
            for (name, _) in columns {
                let member = if name.is_empty() { Some(item) } else { item.get(name) };
                row.push(member.map_or(store::Value::Null, scalar));
            }
            row
        })
        .collect();
    op.txn.insert_many(table, &names, rows).await?;
    Ok(())
}

fn scalar(value: &Value) -> store::Value {
    match value {
        Value::Null => store::Value::Null,
        Value::Bool(flag) => store::Value::Bool(*flag),
        Value::Number(number) => number.as_i64().map_or(store::Value::Null, store::Value::Int),
        Value::String(text) => store::Value::Text(text.clone()),
        other => store::Value::Text(other.to_string()),
    }
}

/// Writes what differs between `old` and `new`. True if anything did, also attributes that behaviours keep.
pub async fn update(op: &mut Op<'_>, entity: &Entity, old: &Record, new: &Record) -> Result<bool, Fault> {
    let model = &entity.model;
    let resource = model.resource;
    let shared = op.system.shared;
    let mut changed = false;
    let mut own: Vec<(&str, store::Value)> = Vec::new();
    let mut common: Vec<(&str, store::Value)> = Vec::new();
    for (position, attr) in model.attrs.iter().enumerate() {
        let (Some(value), before) = (new.at(position), old.at(position)) else { continue };
        if before == Some(value) {
            continue;
        }
        changed = true;
        match attr.place {
            Place::Own(column) => own.push((column, to_store(&attr.kind, value))),
            Place::Shared(column) => common.push((column, to_store(&attr.kind, value))),
            Place::Side { write: true, table, key, column, absent, .. } => {
                let stored = to_store(&attr.kind, value);
                let sql = format!("UPDATE {table} SET \"{column}\" = ? WHERE \"{key}\" = ?");
                let touched = op.txn.execute(&sql, &[stored.clone(), new.id().into()]).await?;
                if touched == 0 && absent.value().as_ref() != Some(value) && !value.is_null() {
                    op.txn.insert(table, &[(key, new.id().into()), (column, stored)]).await?;
                }
            }
            Place::Child { write: true, table, key, by, .. } => {
                let owner: store::Value = match by {
                    By::Id => new.id().into(),
                    By::Shared => new.shared_id.into(),
                };
                op.txn.execute(&format!("DELETE FROM {table} WHERE \"{key}\" = ?"), &[owner]).await?;
                insert_children(op, model, position, new, value).await?;
            }
            Place::Side { .. } | Place::Child { .. } | Place::Computed => {}
        }
    }
    for (table, key, id, columns) in [
        (entity.table(new), resource.key, store::Value::from(new.id()), own),
        (shared.table, shared.key, store::Value::from(new.shared_id), common),
    ] {
        if columns.is_empty() {
            continue;
        }
        let set: Vec<String> = columns.iter().map(|(column, _)| format!("\"{column}\" = ?")).collect();
        let sql = format!("UPDATE {table} SET {} WHERE \"{key}\" = ?", set.join(", "));
        let mut args: Vec<store::Value> = columns.into_iter().map(|(_, value)| value).collect();
        args.push(id);
        if op.txn.execute(&sql, &args).await.map_err(|error| entity.duplicate(new, error))? == 0 {
            return Err(went(entity, new));
        }
    }
    Ok(changed)
}

/// Raises the revision; with `expected`, only if it still is that one. False if it was not.
pub async fn touch(op: &mut Op<'_>, shared_id: i64, expected: Option<i64>) -> Result<bool, Fault> {
    let shared = op.system.shared;
    let mut sql = format!(
        "UPDATE {} SET \"{revision}\" = \"{revision}\" + 1, \"{}\" = ? WHERE \"{}\" = ?",
        shared.table,
        shared.updated,
        shared.key,
        revision = shared.revision
    );
    let mut args = vec![store::Value::Time(op.txn.now()), shared_id.into()];
    if let Some(expected) = expected {
        sql.push_str(&format!(" AND \"{}\" = ?", shared.revision));
        args.push(expected.into());
    }
    Ok(op.txn.execute(&sql, &args).await? > 0)
}

/// The object was there when this transaction read it. It may be one that the request does not name, as a port that goes with its
/// network: the next run no longer finds it there, and only a user who named it is told.
fn went(entity: &Entity, record: &Record) -> Fault {
    entity.not_found(record.id()).or_again()
}

/// Removes the own row and the shared row; rows of other tables go by their foreign keys.
pub async fn delete(op: &mut Op<'_>, entity: &Entity, record: &Record) -> Result<(), Fault> {
    let resource = entity.model.resource;
    let shared = op.system.shared;
    let sql = format!("DELETE FROM {} WHERE \"{}\" = ?", entity.table(record), resource.key);
    if op.txn.execute(&sql, &[record.id().into()]).await? == 0 {
        return Err(went(entity, record));
    }
    if resource.shared.is_some() {
        let sql = format!("DELETE FROM {} WHERE \"{}\" = ?", shared.table, shared.key);
        op.txn.execute(&sql, &[record.shared_id.into()]).await?;
    }
    Ok(())
}
