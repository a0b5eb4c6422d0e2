//! `add_addresses` and `remove_addresses` of a group.

use async_trait::async_trait;
use policy::Context;
use resource::{Action, Answer, Condition, Method, Op, Request, Route, System, is_last_attempt};
use schema::{Fault, Record, Value};
use serde_json::Map;

use crate::faults;
use crate::values::address_and_length;

const ADD: &str = "/address-groups/{id}/add_addresses";
const REMOVE: &str = "/address-groups/{id}/remove_addresses";

const ROUTES: &[Route] = &[Route { method: Method::Put, path: ADD }, Route { method: Method::Put, path: REMOVE }];

pub struct AddressActions;

#[async_trait]
impl Action for AddressActions {
    fn routes(&self) -> &[Route] {
        ROUTES
    }

    async fn call(&self, system: &System, context: &Context, request: Request) -> Result<Answer, Fault> {
        let mut attempt = 0;
        loop {
            match once(system, context, &request).await {
                Err(fault) if !is_last_attempt(&fault, attempt).await => attempt += 1,
                outcome => return outcome.map(Answer::ok),
            }
        }
    }
}

/// The networks of `{"addresses": […]}`, each once.
fn given(body: Option<&Value>) -> Result<Vec<String>, Fault> {
    let list = match body.and_then(|body| body.get("addresses")) {
        Some(Value::Array(list)) => list,
        Some(other) => return Err(faults::address(other)),
        None => return Err(Fault::bad_request("The body has no list 'addresses'.")),
    };
    let mut networks = Vec::new();
    for item in list {
        let network = item.as_str().and_then(address_and_length).ok_or_else(|| faults::address(item))?;
        let network = network.trunc().to_string();
        if !networks.contains(&network) {
            networks.push(network);
        }
    }
    Ok(networks)
}

async fn once(system: &System, context: &Context, request: &Request) -> Result<Value, Fault> {
    let mut txn = system.store.write().await?;
    let mut op = Op::new(&mut txn, context, system);
    let old = op.get_visible("address_group", request.param("id")).await?;
    let rule = if request.route.path == ADD { "add_addresses" } else { "remove_addresses" };
    if !system.policy.allows(rule, context, &old) {
        return Err(Fault::forbidden(rule));
    }
    let networks = given(request.body.as_ref())?;
    let has = |network: &String| {
        old.value("addresses").and_then(Value::as_array).is_some_and(|all| all.iter().any(|one| *one == **network))
    };
    let (known, unknown): (Vec<String>, Vec<String>) = networks.iter().cloned().partition(has);
    if rule == "add_addresses" {
        if !known.is_empty() {
            return Err(faults::addresses_exist(&known, old.id()));
        }
        let rows = unknown.iter().map(|network| vec![old.id().into(), network.as_str().into()]).collect();
        if let Err(error) = op.txn.insert_many("address_associations", &["address_group_id", "address"], rows).await {
            // Somebody added it since: look again, and say so.
            return Err(if error.is_duplicate() { Fault::retry(error) } else { error.into() });
        }
    } else {
        if !unknown.is_empty() {
            return Err(faults::addresses_not_found(&unknown, old.id()));
        }
        let of = Condition::one_of("address", known.iter().map(|network| network.as_str().into()).collect());
        let sql = format!("DELETE FROM address_associations WHERE address_group_id = ? AND {}", of.sql);
        let mut args = vec![old.id().into()];
        args.extend(of.args);
        op.txn.execute(&sql, &args).await?;
    }
    if !networks.is_empty() {
        op.touch(old.shared_id).await?;
    }
    let new = op.get("address_group", old.id()).await?;
    if !networks.is_empty() {
        let entity = system.entity("address_group")?;
        for behaviour in &entity.behaviours {
            behaviour.updated(&mut op, &old, &new).await?;
        }
    }
    let answer = shown(&new);
    txn.commit().await?;
    Ok(answer)
}

fn shown(record: &Record) -> Value {
    let mut group = Map::new();
    for (position, attr) in record.model().attrs.iter().enumerate() {
        if let Some(value) = record.at(position) {
            group.insert(attr.name.to_owned(), value.clone());
        }
    }
    group.insert("tenant_id".into(), Value::from(record.project()));
    let mut body = Map::new();
    body.insert("address_group".into(), Value::Object(group));
    Value::Object(body)
}
