//! `/<collection>/<id>/tags`.

use std::collections::BTreeSet;

use async_trait::async_trait;
use policy::Context;
use resource::{Action, Answer, Method, Op, Request, Route, System, is_last_attempt};
use schema::{Fault, Kind, Record, Value};
use serde_json::json;

use super::{LIST, MAX_COUNT, MAX_LENGTH, OWNER, TABLE, TAGGABLE, Taggable, faults};

const REVISION: &str = "revision_number";

/// The endpoints of all taggable resources that a system has.
pub struct Api {
    routes: Vec<Route>,
}

/// What is done to the tags of an object.
enum Change {
    /// Exactly these from now on.
    Replace(BTreeSet<String>),
    /// These beside the others.
    Add(BTreeSet<String>),
    Remove(String),
    RemoveAll,
}

impl Change {
    /// First word of the rule's name.
    fn verb(&self, method: Method) -> &'static str {
        match (self, method) {
            (Change::Remove(_) | Change::RemoveAll, _) => "delete",
            (_, Method::Post) => "create",
            _ => "update",
        }
    }
}

fn checked_tag(tag: &str) -> Result<String, Fault> {
    let kind = Kind::Text { max: MAX_LENGTH };
    kind.convert(Value::from(tag)).map_err(|why| faults::invalid(&why))?;
    Ok(tag.to_owned())
}

/// The tags of a body.
fn checked(body: Option<&Value>) -> Result<BTreeSet<String>, Fault> {
    let tags = body.and_then(|body| body.get("tags")).ok_or_else(faults::invalid_body)?;
    let Value::Array(tags) = LIST.convert(tags.clone()).map_err(|why| faults::invalid(&why))? else {
        return Err(faults::invalid_body());
    };
    Ok(tags.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

fn tags_of(record: &Record) -> BTreeSet<String> {
    let tags = record.value("tags").and_then(Value::as_array);
    tags.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The object, if the context may see it and do that to its tags.
async fn permitted(op: &mut Op<'_>, taggable: &Taggable, id: &str, verb: &str) -> Result<Record, Fault> {
    let record = op.get_visible(taggable.name, id).await?;
    let rule = format!("{verb}_{}:tags", taggable.name);
    if op.allows(&rule, &record).await? {
        return Ok(record);
    }
    let entity = op.system.entity(taggable.name)?;
    if op.allows(&entity.rules.get, &record).await? { Err(Fault::forbidden(&rule)) } else { Err(entity.not_found(id)) }
}

/// Raises the revision if it still is the one that was read, so that two changes of one object never mix.
async fn touch(op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
    let shared = op.system.shared;
    let sql = format!(
        "UPDATE {} SET {revision} = {revision} + 1, {} = ? WHERE {} = ? AND {revision} = ?",
        shared.table,
        shared.updated,
        shared.key,
        revision = shared.revision
    );
    let revision = record.value(REVISION).and_then(Value::as_i64).unwrap_or(0);
    let args = [store::Value::Time(op.txn.now()), record.shared_id.into(), revision.into()];
    if op.txn.execute(&sql, &args).await? == 0 {
        return Err(Fault::retry(format!("{} is changed by another request", record.id())));
    }
    Ok(())
}

async fn store(op: &mut Op<'_>, record: &Record, old: &BTreeSet<String>, new: &BTreeSet<String>) -> Result<(), Fault> {
    if old == new {
        return Ok(());
    }
    touch(op, record).await?;
    let gone: Vec<store::Value> = old.difference(new).map(store::Value::from).collect();
    if !gone.is_empty() {
        let sql = format!("DELETE FROM {TABLE} WHERE {OWNER} = ? AND tag IN (??)");
        op.txn.execute(&sql, &[record.shared_id.into(), store::Value::Set(gone)]).await?;
    }
    let rows = new.difference(old).map(|tag| vec![record.shared_id.into(), tag.into()]).collect();
    op.txn.insert_many(TABLE, &[OWNER, "tag"], rows).await?;
    Ok(())
}

impl Api {
    /// The endpoints of those resources that the system has; called when all are in it.
    pub fn of(system: &System) -> Api {
        let known = |taggable: &&Taggable| system.entity(taggable.name).is_ok();
        Api { routes: TAGGABLE.iter().filter(known).flat_map(|taggable| taggable.routes).copied().collect() }
    }

    async fn change(
        &self,
        op: &mut Op<'_>,
        taggable: &Taggable,
        request: &Request,
        change: &Change,
        again: bool,
    ) -> Result<(), Fault> {
        let verb = change.verb(request.route.method);
        let mut record = permitted(op, taggable, request.param("id"), verb).await?;
        if again {
            // Many write at once. Waiting here for whoever has the row, and reading after him, ends what comparing alone may not.
            let shared = op.system.shared;
            let (table, key, revision) = (shared.table, shared.key, shared.revision);
            let sql = format!("UPDATE {table} SET {revision} = {revision} WHERE {key} = ?");
            op.txn.execute(&sql, &[record.shared_id.into()]).await?;
            record = permitted(op, taggable, request.param("id"), verb).await?;
        }
        if let Some(expected) = request.if_match
            && record.value(REVISION).and_then(Value::as_i64) != Some(expected)
        {
            return Err(faults::stale(record.id(), expected));
        }
        let old = tags_of(&record);
        let new = match change {
            Change::Replace(tags) => tags.clone(),
            Change::Add(tags) => old.union(tags).cloned().collect(),
            Change::Remove(tag) => {
                let mut new = old.clone();
                if !new.remove(tag) {
                    return Err(faults::not_found(tag));
                }
                new
            }
            Change::RemoveAll => BTreeSet::new(),
        };
        // One that has too many, from before the limit, may lose some.
        if new.len() > MAX_COUNT && new.len() > old.len() {
            return Err(faults::too_many(taggable.plural, MAX_COUNT));
        }
        store(op, &record, &old, &new).await
    }
}

#[async_trait]
impl Action for Api {
    fn routes(&self) -> &[Route] {
        &self.routes
    }

    async fn call(&self, system: &System, context: &Context, request: Request) -> Result<Answer, Fault> {
        let path = request.route.path;
        let taggable = TAGGABLE.iter().find(|taggable| taggable.routes.iter().any(|route| route.path == path));
        let taggable = taggable.ok_or_else(|| Fault::internal(format!("no taggable resource is at {path}")))?;
        let one = path.ends_with("{tag}");
        let tag = if one { checked_tag(request.param("tag"))? } else { String::new() };
        let change = match (request.route.method, one) {
            (Method::Get, _) => {
                let mut txn = system.store.read().await?;
                let mut op = Op::new(&mut txn, context, system);
                let tags = tags_of(&permitted(&mut op, taggable, request.param("id"), "get").await?);
                return match one {
                    false => Ok(Answer::ok(json!({"tags": tags}))),
                    true if tags.contains(&tag) => Ok(Answer::no_content()),
                    true => Err(faults::not_found(&tag)),
                };
            }
            (Method::Post, _) => Change::Add(checked(request.body.as_ref())?),
            (Method::Put, true) => Change::Add(BTreeSet::from([tag])),
            (Method::Put, false) => Change::Replace(checked(request.body.as_ref())?),
            (Method::Delete, true) => Change::Remove(tag),
            (Method::Delete, false) => Change::RemoveAll,
        };
        let mut attempt = 0;
        loop {
            let result: Result<(), Fault> = async {
                let mut txn = system.store.write().await?;
                let mut op = Op::new(&mut txn, context, system);
                self.change(&mut op, taggable, &request, &change, attempt > 0).await?;
                txn.commit().await?;
                Ok(())
            }
            .await;
            match result {
                Err(fault) if !is_last_attempt(&fault, attempt).await => attempt += 1,
                Err(fault) => return Err(fault),
                Ok(()) => break,
            }
        }
        Ok(match (request.route.method, one) {
            (Method::Delete, _) => Answer::no_content(),
            (_, true) => Answer { status: 201, body: Some(Value::Null) },
            // What was asked for, as the reference answers.
            _ => Answer { status: 200, body: request.body },
        })
    }
}
