//! `onboard_network_subnets`, `add_prefixes` and `remove_prefixes` of a pool.

use async_trait::async_trait;
use policy::Context;
use resource::{Action, Answer, Method, Op, Request, Route, System, is_last_attempt};
use schema::{Fault, Kind, Record, Value};
use serde_json::json;
use types::{IpNet, cidr};

use super::behaviour::prefixes_of;
use super::faults;
use super::pool::Pool;
use super::prefixes::{Space, merge};
use crate::subnet::{CIDR, IP_VERSION};

const ONBOARD: &str = "/subnetpools/{id}/onboard_network_subnets";
const ADD: &str = "/subnetpools/{id}/add_prefixes";
const REMOVE: &str = "/subnetpools/{id}/remove_prefixes";

const ROUTES: &[Route] = &[
    Route { method: Method::Put, path: ONBOARD },
    Route { method: Method::Put, path: ADD },
    Route { method: Method::Put, path: REMOVE },
];

pub struct PoolActions;

#[async_trait]
impl Action for PoolActions {
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

async fn once(system: &System, context: &Context, request: &Request) -> Result<Value, Fault> {
    let mut txn = system.store.write().await?;
    let mut op = Op::new(&mut txn, context, system);
    let record = op.get_visible("subnetpool", request.param("id")).await?;
    let rule = match request.route.path {
        ONBOARD => "onboard_network_subnets",
        ADD => "add_prefixes",
        _ => "remove_prefixes",
    };
    if !system.policy.allows(rule, context, &record) {
        return Err(Fault::forbidden(rule));
    }
    let body = request.body.as_ref().unwrap_or(&Value::Null);
    let answer = match rule {
        "onboard_network_subnets" => onboard(&mut op, &record, body).await?,
        "add_prefixes" => {
            let nets = prefixes_in(body)?;
            let all: Vec<IpNet> = prefixes_of(&record).into_iter().chain(nets).collect();
            json!({"prefixes": grow(&mut op, &record, &all).await?})
        }
        _ => json!({"prefixes": remove(&mut op, &record, &prefixes_in(body)?).await?}),
    };
    txn.commit().await?;
    Ok(answer)
}

/// `{"prefixes": […]}`.
fn prefixes_in(body: &Value) -> Result<Vec<IpNet>, Fault> {
    let invalid = |why: String| Fault::bad_request(format!("Invalid input for prefixes. Reason: {why}."));
    let list = body.get("prefixes").cloned().ok_or_else(|| invalid("the body has no 'prefixes'".into()))?;
    let list = Kind::List { of: &Kind::Cidr, unique: true }.convert(list).map_err(invalid)?;
    let texts = list.as_array().map(Vec::as_slice).unwrap_or_default().iter().filter_map(Value::as_str);
    if texts.clone().next().is_none() {
        return Err(invalid("it must name at least one prefix".into()));
    }
    Ok(texts.filter_map(cidr::parse).collect())
}

/// The pool with these prefixes, by the same rules as an update.
async fn grow(op: &mut Op<'_>, record: &Record, nets: &[IpNet]) -> Result<Value, Fault> {
    let mut texts: Vec<String> = nets.iter().map(IpNet::to_string).collect();
    texts.sort();
    texts.dedup();
    let given = op.given_update("subnetpool", json!({"prefixes": texts}))?;
    let record = op.update("subnetpool", record.id(), &given).await?;
    Ok(record.value("prefixes").cloned().unwrap_or_default())
}

async fn remove(op: &mut Op<'_>, record: &Record, nets: &[IpNet]) -> Result<Value, Fault> {
    let unchanged = record.value("prefixes").cloned().unwrap_or_default();
    let before = prefixes_of(record);
    let (all, removed) = (Space::new(&before), Space::new(nets));
    let same_family =
        nets.iter().chain(&before).map(cidr::version).collect::<std::collections::HashSet<_>>().len() == 1;
    let Some(like) = before.first().filter(|_| same_family && all.meets(&removed)) else { return Ok(unchanged) };
    let pool = Pool::visible(op, record.id()).await?;
    pool.claim(op).await?;
    let taken: Vec<IpNet> = pool.taken(op).await?.into_iter().map(|(net, _)| net).collect();
    if Space::new(&taken).meets(&removed) {
        return Err(faults::prefix_update("One or more of the prefixes to be removed is in use by a subnet"));
    }
    let left = merge(&all.without(&removed).nets(like));
    op.txn.execute("DELETE FROM subnetpoolprefixes WHERE subnetpool_id = ?", &[record.id().into()]).await?;
    let rows = left.iter().map(|net| vec![net.to_string().into(), record.id().into()]).collect();
    op.txn.insert_many("subnetpoolprefixes", &["cidr", "subnetpool_id"], rows).await?;
    op.touch(record.shared_id).await?;
    Ok(left.iter().map(IpNet::to_string).collect())
}

/// Moves the subnets of a network that are of the pool's family into the pool, prefixes included.
async fn onboard(op: &mut Op<'_>, record: &Record, body: &Value) -> Result<Value, Fault> {
    let Some(network_id) = body.get("network_id").and_then(Value::as_str) else {
        return Err(Fault::invalid_input("Invalid input for operation: network_id must be specified."));
    };
    let owner = op.get_visible("network", network_id).await?.project().to_owned();
    // Whoever only sees a network must not move the subnets of others into a pool of his own.
    if !op.context.is_admin && owner != op.context.project_id {
        return Err(Fault::forbidden("onboard_network_subnets"));
    }
    let pool = Pool::visible(op, record.id()).await?;
    pool.claim(op).await?;
    let condition = resource::Condition::new(
        "subnets.network_id = ? AND subnets.ip_version = ?",
        vec![network_id.into(), pool.ip_version.into()],
    );
    let subnets = op.find("subnet", condition).await?;
    let taken: Vec<IpNet> = pool.taken(op).await?.into_iter().map(|(net, _)| net).collect();
    let taken = Space::new(&taken);
    let mut nets = prefixes_of(record);
    for subnet in &subnets {
        let Some(net) = subnet.get(CIDR).and_then(cidr::parse) else { continue };
        if taken.meets(&Space::new([&net])) {
            return Err(faults::update(format!(
                "Onboarding subnet {}: {net} conflicts with allocated prefixes in subnet pool {}",
                subnet.id(),
                record.id()
            )));
        }
        nets.push(net);
    }
    grow(op, record, &nets).await?;
    let mut moved = Vec::new();
    for subnet in &subnets {
        debug_assert_eq!(subnet.get(IP_VERSION), Some(pool.ip_version));
        let sql = "UPDATE subnets SET subnetpool_id = ? WHERE id = ?";
        op.txn.execute(sql, &[record.id().into(), subnet.id().into()]).await?;
        op.touch(subnet.shared_id).await?;
        moved.push(json!({"id": subnet.id(), "cidr": subnet.text("cidr")}));
    }
    Ok(Value::Array(moved))
}
