//! The five verbs. Each opens a transaction, runs the same steps for every resource, and runs again when the store says that
//! another transaction was in the way.

use std::sync::Arc;
use std::time::Duration;

use policy::{Context, Target};
use schema::body::Given;
use schema::{Fault, Place, Record, Value};

use crate::query::column;
use crate::select::Selection;
use crate::{Condition, Direction, Entity, Op, Query, Sort, System, column_value, new_id, write};

/// How often a transaction is run before its conflict is told to the user as 503.
pub const MAX_ATTEMPTS: usize = 10;

/// Whether the fault ends the attempts; waits a short random time if it does not.
pub async fn is_last_attempt(fault: &Fault, attempt: usize) -> bool {
    if !fault.is_retriable() || attempt + 1 >= MAX_ATTEMPTS {
        return true;
    }
    let jitter = uuid::Uuid::new_v4().as_u128() as u64 % (1 << attempt.min(6));
    tokio::time::sleep(Duration::from_millis(1 + jitter)).await;
    false
}

/// A record with attributes of other objects beside it.
struct Beside<'a> {
    record: &'a Record,
    more: Vec<(String, Value)>,
}

impl Target for Beside<'_> {
    fn value(&self, name: &str) -> Option<&Value> {
        if let Some((_, value)) = self.more.iter().find(|(key, _)| key == name) {
            return Some(value);
        }
        Target::value(self.record, name)
    }
}

impl Op<'_> {
    /// Whether the policy lets the context do that to an object, as it does for the verbs: with the attributes of other objects
    /// that the resource's rules look at.
    pub async fn allows(&mut self, rule: &str, record: &Record) -> Result<bool, Fault> {
        let entity = self.system.entity(record.model().resource.name)?;
        let target = beside(self, &entity, record).await?;
        Ok(self.system.policy.allows(rule, self.context, &target))
    }
}

async fn beside<'a>(op: &mut Op<'_>, entity: &Entity, record: &'a Record) -> Result<Beside<'a>, Fault> {
    let mut more = Vec::new();
    for behaviour in &entity.behaviours {
        more.extend(behaviour.target(op, record).await?);
    }
    Ok(Beside { record, more })
}

/// Index into the rules of an attribute.
#[derive(Clone, Copy)]
enum Verb {
    Create = 0,
    Update = 1,
    Get = 2,
}

/// The rule of the verb and of each attribute that the request sets to something else than its default; the name of the first that forbids.
fn forbidden(op: &Op<'_>, entity: &Entity, verb: Verb, given: &Given, target: &dyn Target) -> Option<String> {
    let policy = &op.system.policy;
    let rule = match verb {
        Verb::Create => &entity.rules.create,
        Verb::Update => &entity.rules.update,
        Verb::Get => &entity.rules.get,
    };
    let mut broken: Vec<String> = Vec::new();
    if !policy.allows(rule, op.context, target) {
        broken.push(rule.clone());
    }
    for position in &given.explicit {
        let attr = &entity.model.attrs[*position];
        let (Some(rules), Some(value)) = (&entity.rules.attrs[*position], given.record.at(*position)) else { continue };
        let is_default = matches!(verb, Verb::Create) && attr.default.value().as_ref() == Some(value);
        if is_default {
            continue;
        }
        if attr.enforce && !policy.allows(&rules[verb as usize], op.context, target) {
            broken.push(rules[verb as usize].clone());
        }
        for member in attr.enforce_members {
            let has = match value {
                Value::Array(items) => items.iter().any(|item| item.get(member).is_some()),
                Value::Object(object) => object.contains_key(*member),
                _ => false,
            };
            let rule = format!("{}:{member}", rules[verb as usize]);
            if has && !policy.allows(&rule, op.context, target) {
                broken.push(rule);
            }
        }
    }
    (!broken.is_empty()).then(|| broken.join(", "))
}

/// An object that is there, but that the policy hides. As in the reference, the type is not that of an absent id.
fn hidden(id: &str) -> Fault {
    Fault::not_found("HTTPNotFound", format!("The resource {id} could not be found."))
}

/// Takes out attributes that the context may not see.
fn hide(system: &System, context: &Context, entity: &Entity, records: &mut [Record]) {
    for (position, rules) in entity.rules.attrs.iter().enumerate() {
        let Some(rules) = rules else { continue };
        if !entity.model.attrs[position].enforce_get {
            continue;
        }
        let rule = &rules[Verb::Get as usize];
        if system.policy.looks_at_target(rule) {
            for record in records.iter_mut() {
                if !system.policy.allows(rule, context, record) {
                    record.set_at(position, None);
                }
            }
        } else if !system.policy.allows(rule, context, &policy::Nothing) {
            for record in records.iter_mut() {
                record.set_at(position, None);
            }
        }
    }
}

fn settle_owner(op: &Op<'_>, entity: &Entity, given: &mut Given) -> Result<(), Fault> {
    let Some(owner) = entity.model.resource.owner else { return Ok(()) };
    if !given.record.has(owner) {
        given.record.set(owner, op.context.project_id.as_str());
    } else if given.record.text(owner) != op.context.project_id && !op.context.may_name_owner() {
        let message =
            "Specifying 'project_id' other than the authenticated project in request requires admin privileges";
        return Err(Fault::bad_request(message));
    }
    Ok(())
}

/// Whether a create is held to the project's quota. What the server makes by its own decision is only counted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    Held,
    Counted,
}

pub(crate) async fn create_in_txn(
    op: &mut Op<'_>,
    entity: &Arc<Entity>,
    mut objects: Vec<Given>,
    limit: Limit,
) -> Result<Vec<Record>, Fault> {
    let resource = entity.model.resource;
    for given in &mut objects {
        if !given.record.has(resource.key) {
            given.record.set(resource.key, new_id());
        }
        settle_owner(op, entity, given)?;
    }
    if let (Some(quota), Some(name)) = (op.system.quota.clone(), resource.quota) {
        let mut owners: Vec<(String, usize)> = Vec::new();
        for given in &objects {
            match owners.iter_mut().find(|(owner, _)| owner == given.record.project()) {
                Some((_, count)) => *count += 1,
                None => owners.push((given.record.project().to_owned(), 1)),
            }
        }
        for (owner, count) in owners {
            match limit {
                Limit::Held => quota.take(op, name, &owner, count).await?,
                Limit::Counted => quota.note(op, name, &owner, count).await?,
            }
        }
    }
    for behaviour in &entity.behaviours {
        behaviour.creating_all(op, &mut objects).await?;
    }
    let mut ids: Vec<String> = Vec::with_capacity(objects.len());
    for mut given in objects {
        for behaviour in &entity.behaviours {
            behaviour.creating(op, &mut given).await?;
        }
        let mut record = given.record;
        write::insert(op, entity, &mut record).await?;
        for behaviour in &entity.behaviours {
            behaviour.inserted(op, &mut record).await?;
        }
        ids.push(record.id().to_owned());
    }
    let column = format!("{}.\"{}\"", resource.table, resource.key);
    let values = ids.iter().map(|id| id.as_str().into()).collect();
    let fields = op.fields.take();
    let selection = Selection { conditions: vec![Condition::one_of(&column, values)], ..Selection::default() };
    let mut records = selection.run(op, entity).await?;
    op.fields = fields;
    // In the order of the request.
    if ids.len() > 1 {
        let order: std::collections::HashMap<&str, usize> =
            ids.iter().enumerate().map(|(i, id)| (id.as_str(), i)).collect();
        records.sort_by_key(|record| order.get(record.id()).copied());
    }
    for record in &records {
        for behaviour in &entity.behaviours {
            behaviour.created(op, record).await?;
        }
    }
    for behaviour in &entity.behaviours {
        behaviour.created_all(op, &records).await?;
    }
    Ok(records)
}

pub(crate) async fn update_in_txn(
    op: &mut Op<'_>,
    entity: &Arc<Entity>,
    old: Record,
    given: &Given,
    if_match: Option<i64>,
) -> Result<Record, Fault> {
    let resource = entity.model.resource;
    check_revision(op, &old, if_match)?;
    let mut new = old.clone();
    for position in &given.explicit {
        new.set_at(*position, given.record.at(*position).cloned());
    }
    for behaviour in &entity.behaviours {
        behaviour.updating(op, &old, &mut new, given).await?;
    }
    let changed = write::update(op, entity, &old, &new).await?;
    if changed && resource.shared.is_some() && !write::touch(op, old.shared_id, if_match).await? {
        return Err(stale(&old, if_match));
    }
    let record = op.get(resource.name, old.id()).await?;
    if changed {
        for behaviour in &entity.behaviours {
            behaviour.updated(op, &old, &record).await?;
        }
    }
    Ok(record)
}

pub(crate) async fn delete_in_txn(
    op: &mut Op<'_>,
    entity: &Arc<Entity>,
    record: &Record,
    if_match: Option<i64>,
) -> Result<(), Fault> {
    check_revision(op, record, if_match)?;
    for behaviour in &entity.behaviours {
        behaviour.deleting(op, record).await?;
    }
    write::delete(op, entity, record).await?;
    if let (Some(quota), Some(name)) = (op.system.quota.clone(), entity.model.resource.quota) {
        quota.give_back(op, name, record.project(), 1).await?;
    }
    for behaviour in &entity.behaviours {
        behaviour.deleted(op, record).await?;
    }
    Ok(())
}

fn check_revision(op: &Op<'_>, record: &Record, if_match: Option<i64>) -> Result<(), Fault> {
    let now = record.value(op.system.shared.revision_attr).and_then(Value::as_i64);
    match if_match {
        Some(expected) if now != Some(expected) => Err(stale(record, if_match)),
        _ => Ok(()),
    }
}

fn stale(record: &Record, if_match: Option<i64>) -> Fault {
    let message = format!(
        "Constrained to {}, but the revision of {} is another by now; read it again and repeat the change.",
        if_match.unwrap_or_default(),
        record.id()
    );
    Fault::new(412, "RevisionNumberConstraintFailed", message)
}

fn sort_columns(op: &Op<'_>, entity: &Entity, sorts: &[Sort]) -> Result<Vec<(String, Sort)>, Fault> {
    let model = &entity.model;
    sorts
        .iter()
        .map(|sort| {
            let attr = model.attr(&sort.key).filter(|attr| attr.sort && attr.visible);
            let column = attr.and_then(|attr| column(model, op.system.shared.table, attr));
            column.map(|column| (column, sort.clone())).ok_or_else(|| {
                Fault::new(400, "HTTPBadRequest", format!("['{}'] is invalid attribute for sort_keys", sort.key))
            })
        })
        .collect()
}

/// Rows after the marker in the order of the sort keys; nulls come first in ascending order.
fn after(marker: &Record, columns: &[(String, Sort)], key: &str, reverse: bool) -> Condition {
    let mut alternatives = Vec::new();
    let mut equal: Vec<Condition> = Vec::new();
    for (column, sort) in columns {
        let attr = marker.model().attr(&sort.key);
        let value = attr
            .and_then(|attr| marker.value(attr.name).map(|value| (attr, value)))
            .map_or(store::Value::Null, |(attr, value)| marker_value(attr, value));
        let ascending = (sort.direction == Direction::Ascending) != reverse;
        let null = matches!(value, store::Value::Null);
        let beyond = match (ascending, null) {
            (true, true) => Some(Condition::new(format!("{column} IS NOT NULL"), vec![])),
            (true, false) => Some(Condition::new(format!("{column} > ?"), vec![value.clone()])),
            (false, true) => None,
            (false, false) => Some(Condition::new(format!("({column} < ? OR {column} IS NULL)"), vec![value.clone()])),
        };
        if let Some(beyond) = beyond {
            let mut parts = equal.clone();
            parts.push(beyond);
            alternatives.push(Condition::all(parts));
        }
        equal.push(if null {
            Condition::new(format!("{column} IS NULL"), vec![])
        } else {
            Condition::new(format!("{column} = ?"), vec![value])
        });
    }
    let sign = if reverse { "<" } else { ">" };
    equal.push(Condition::new(format!("{key} {sign} ?"), vec![marker.id().into()]));
    alternatives.push(Condition::all(equal));
    Condition::any(alternatives)
}

fn marker_value(attr: &schema::Attr, value: &Value) -> store::Value {
    match attr.kind {
        // Back to the form of the column.
        schema::Kind::Time => value.as_str().map_or(store::Value::Null, |text| {
            chrono::NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%SZ")
                .map_or(store::Value::Null, store::Value::Time)
        }),
        _ => crate::to_store(&attr.kind, value),
    }
}

fn unknown_filters(names: &[&str]) -> Fault {
    let list: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    Fault::new(400, "HTTPBadRequest", format!("[{}] is invalid attribute for filtering", list.join(", ")))
}

fn filters(op: &Op<'_>, entity: &Entity, query: &Query) -> Result<Vec<Condition>, Fault> {
    let model = &entity.model;
    let mut conditions = Vec::new();
    let mut unknown = Vec::new();
    'filters: for (name, values) in &query.filters {
        for behaviour in &entity.behaviours {
            if let Some(condition) = behaviour.filter(op.context, name, values) {
                conditions.push(condition?);
                continue 'filters;
            }
        }
        let Some(attr) = model.attr(name).filter(|attr| attr.filter) else {
            unknown.push(name.as_str());
            continue;
        };
        if let Place::Child { table, key, by, columns: [("", item)], .. } = attr.place {
            let resource = model.resource;
            let owner = match by {
                schema::By::Id => format!("{}.\"{}\"", resource.table, resource.key),
                schema::By::Shared => format!("{}.\"{}\"", resource.table, op.system.shared.reference),
            };
            let values = values.iter().map(|value| value.as_str().into()).collect();
            let inner = Condition::one_of(&format!("{table}.\"{item}\""), values);
            let sql = format!("EXISTS (SELECT 1 FROM {table} WHERE {table}.\"{key}\" = {owner} AND {})", inner.sql);
            conditions.push(Condition::new(sql, inner.args));
            continue;
        }
        let Some(column) = column(model, op.system.shared.table, attr) else {
            unknown.push(name.as_str());
            continue;
        };
        let mut wanted = Vec::new();
        let mut null = false;
        for value in values {
            if attr.nullable && value == "None" {
                null = true;
                continue;
            }
            // An empty value asks for an empty text, which is not the same as none; no number or flag is empty.
            if value.is_empty()
                && !matches!(attr.kind, schema::Kind::Bool | schema::Kind::Int { .. } | schema::Kind::OneOfInts(_))
            {
                wanted.push(store::Value::Text(String::new()));
                continue;
            }
            let value = column_value(&attr.kind, value)
                .map_err(|why| Fault::invalid_input(format!("Invalid input for operation: {name}: {why}.")))?;
            wanted.push(value);
        }
        let mut alternatives = Vec::new();
        // The value of an absent row of a side table.
        if let Place::Side { absent, .. } = attr.place
            && let Some(absent) = absent.value().filter(|absent| !absent.is_null())
            && wanted.contains(&crate::to_store(&attr.kind, &absent))
        {
            alternatives.push(Condition::new(format!("{column} IS NULL"), vec![]));
        }
        if !wanted.is_empty() {
            alternatives.push(Condition::one_of(&column, wanted));
        }
        if null {
            alternatives.push(Condition::new(format!("{column} IS NULL"), vec![]));
        }
        conditions.push(Condition::any(alternatives));
    }
    if unknown.is_empty() { Ok(conditions) } else { Err(unknown_filters(&unknown)) }
}

pub(crate) async fn list_in_txn(op: &mut Op<'_>, entity: &Arc<Entity>, query: &Query) -> Result<Vec<Record>, Fault> {
    let resource = entity.model.resource;
    let mut conditions = filters(op, entity, query)?;
    conditions.extend(entity.scope(op.context));
    let columns = sort_columns(op, entity, &query.sorts)?;
    let key = format!("{}.\"{}\"", resource.table, resource.key);
    if let Some(marker) = &query.marker {
        let fields = op.fields.take();
        let marker = op.load_visible(entity, marker).await?;
        op.fields = fields;
        conditions.push(after(&marker, &columns, &key, query.reverse));
    }
    let order = columns
        .iter()
        .filter(|(column, _)| *column != key)
        .map(|(column, sort)| {
            let ascending = (sort.direction == Direction::Ascending) != query.reverse;
            if ascending { column.clone() } else { format!("{column} DESC") }
        })
        .collect();
    // A sort by the key itself decides its direction.
    let mut descending_key = query.reverse;
    if let Some((_, sort)) = columns.iter().find(|(column, _)| *column == key) {
        descending_key = (sort.direction == Direction::Descending) != query.reverse;
    }
    let selection = Selection { conditions, order, descending_key, limit: query.limit };
    let mut records = selection.run(op, entity).await?;
    if query.reverse {
        records.reverse();
    }
    Ok(records)
}

impl System {
    /// Lists what the context may see. Attributes it may not see are unset.
    pub async fn list(&self, context: &Context, entity: &Arc<Entity>, query: &Query) -> Result<Vec<Record>, Fault> {
        for behaviour in &entity.behaviours {
            behaviour.listing(self, context, query).await?;
        }
        let mut txn = self.store.read().await?;
        let mut op = Op::new(&mut txn, context, self);
        // Rules may look at any attribute, so only an administrator's list can leave some out.
        if context.is_admin && !query.fields.is_empty() {
            op.fields = Some(query.fields.clone().into());
        }
        let mut records = list_in_txn(&mut op, entity, query).await?;
        if !context.is_admin {
            records.retain(|record| self.policy.allows(&entity.rules.get, context, record));
        }
        hide(self, context, entity, &mut records);
        Ok(records)
    }

    /// One object as the context may see it.
    pub async fn get(&self, context: &Context, entity: &Arc<Entity>, id: &str) -> Result<Record, Fault> {
        let mut txn = self.store.read().await?;
        let mut op = Op::new(&mut txn, context, self);
        let mut record = op.load_visible(entity, id).await?;
        if !context.is_admin && !self.policy.allows(&entity.rules.get, context, &record) {
            return Err(hidden(id));
        }
        hide(self, context, entity, std::slice::from_mut(&mut record));
        Ok(record)
    }

    /// Creates all of the objects or none.
    pub async fn create(
        &self,
        context: &Context,
        entity: &Arc<Entity>,
        objects: Vec<Given>,
    ) -> Result<Vec<Record>, Fault> {
        let mut attempt = 0;
        loop {
            let result = self.create_once(context, entity, objects.clone()).await;
            match result {
                Err(fault) if !is_last_attempt(&fault, attempt).await => attempt += 1,
                result => return result,
            }
        }
    }

    async fn create_once(
        &self,
        context: &Context,
        entity: &Arc<Entity>,
        mut objects: Vec<Given>,
    ) -> Result<Vec<Record>, Fault> {
        let mut txn = self.store.write().await?;
        let mut op = Op::new(&mut txn, context, self);
        for given in &mut objects {
            settle_owner(&op, entity, given)?;
            let target = beside(&mut op, entity, &given.record).await?;
            if let Some(rules) = forbidden(&op, entity, Verb::Create, given, &target) {
                return Err(Fault::forbidden(&rules));
            }
        }
        let mut records = create_in_txn(&mut op, entity, objects, Limit::Held).await?;
        txn.commit().await?;
        hide(self, context, entity, &mut records);
        Ok(records)
    }

    /// Changes one object. `if_match` is the revision that the caller has seen.
    pub async fn update(
        &self,
        context: &Context,
        entity: &Arc<Entity>,
        id: &str,
        given: &Given,
        if_match: Option<i64>,
    ) -> Result<Record, Fault> {
        let mut attempt = 0;
        loop {
            let result = self.update_once(context, entity, id, given, if_match).await;
            match result {
                Err(fault) if !is_last_attempt(&fault, attempt).await => attempt += 1,
                result => return result,
            }
        }
    }

    async fn update_once(
        &self,
        context: &Context,
        entity: &Arc<Entity>,
        id: &str,
        given: &Given,
        if_match: Option<i64>,
    ) -> Result<Record, Fault> {
        let mut txn = self.store.write().await?;
        let mut op = Op::new(&mut txn, context, self);
        let old = self.for_change(&mut op, entity, id, Verb::Update, Some(given)).await?;
        let mut record = update_in_txn(&mut op, entity, old, given, if_match).await?;
        txn.commit().await?;
        hide(self, context, entity, std::slice::from_mut(&mut record));
        Ok(record)
    }

    /// Loads an object that the context wants to change, or refuses: 404 if it may not even see it.
    async fn for_change(
        &self,
        op: &mut Op<'_>,
        entity: &Arc<Entity>,
        id: &str,
        verb: Verb,
        given: Option<&Given>,
    ) -> Result<Record, Fault> {
        let record = op.load_visible(entity, id).await?;
        let more = beside(op, entity, &record).await?.more;
        let target = Beside { record: &record, more };
        let broken = match given {
            Some(given) => {
                // Rules on what an attribute may be look at what it would become.
                let mut merged = record.clone();
                for position in &given.explicit {
                    merged.set_at(*position, given.record.at(*position).cloned());
                }
                let wanted = Beside { record: &merged, more: target.more.clone() };
                forbidden(op, entity, verb, given, &wanted)
            }
            None => {
                let allowed = self.policy.allows(&entity.rules.delete, op.context, &target);
                (!allowed).then(|| entity.rules.delete.clone())
            }
        };
        match broken {
            None => Ok(record),
            Some(_) if !self.policy.allows(&entity.rules.get, op.context, &target) => Err(hidden(id)),
            Some(rules) => Err(Fault::forbidden(&rules)),
        }
    }

    /// Removes one object.
    pub async fn delete(
        &self,
        context: &Context,
        entity: &Arc<Entity>,
        id: &str,
        if_match: Option<i64>,
    ) -> Result<(), Fault> {
        let mut attempt = 0;
        loop {
            let result = self.delete_once(context, entity, id, if_match).await;
            match result {
                Err(fault) if !is_last_attempt(&fault, attempt).await => attempt += 1,
                result => return result,
            }
        }
    }

    async fn delete_once(
        &self,
        context: &Context,
        entity: &Arc<Entity>,
        id: &str,
        if_match: Option<i64>,
    ) -> Result<(), Fault> {
        let mut txn = self.store.write().await?;
        let mut op = Op::new(&mut txn, context, self);
        let record = self.for_change(&mut op, entity, id, Verb::Update, None).await?;
        delete_in_txn(&mut op, entity, &record, if_match).await?;
        txn.commit().await?;
        Ok(())
    }
}
