//! `/ports/{id}/bindings`: the bindings of a port to several hosts, of which one is active. A compute service makes an inactive
//! one on the target of a live migration, has it wired there, and activates it at the switch-over.
//!
//! Reproduces the port bindings of neutron/plugins/ml2/plugin.py (extension `binding-extended`).

use std::sync::Arc;

use async_trait::async_trait;
use policy::{Context, Nothing};
use resource::{Action, Answer, Method, Op, Request, Route, System, is_last_attempt};
use schema::{Fault, Kind, Record, Value};
use serde_json::{Map, json};
use store::Row;

use super::{DEVICE_OWNER, VNIC_TYPES, binding, faults, provisioning};
use crate::ml2::Ml2;

const ALL: &str = "/ports/{port_id}/bindings";
const ONE: &str = "/ports/{port_id}/bindings/{host}";
const ACTIVATE: &str = "/ports/{port_id}/bindings/{host}/activate";

const ROUTES: &[Route] = &[
    Route { method: Method::Get, path: ALL },
    Route { method: Method::Post, path: ALL },
    Route { method: Method::Get, path: ONE },
    Route { method: Method::Put, path: ONE },
    Route { method: Method::Delete, path: ONE },
    Route { method: Method::Put, path: ACTIVATE },
];

/// Owners of ports that may be bound to several hosts.
const MOVABLE: [&str; 2] = ["compute:", "manila:"];

/// Who tells the agents that a port is active on another host now.
#[async_trait]
pub trait Moves: Send + Sync {
    async fn moved(&self, op: &mut Op<'_>, port: &Record, from: &str, to: &str) -> Result<(), Fault>;
}

pub struct Bindings {
    pub ml2: Arc<Ml2>,
    pub moves: Arc<dyn Moves>,
}

/// A row of `ml2_port_bindings`.
struct Binding {
    host: String,
    vif_type: String,
    vnic_type: String,
    status: String,
    profile: Value,
    vif_details: Value,
}

const COLUMNS: &str = "host, vif_type, vnic_type, status, profile, vif_details";

fn object(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::Object(Map::new()))
}

impl Binding {
    fn of(row: &Row) -> Binding {
        Binding {
            host: row.text(0),
            vif_type: row.text(1),
            vnic_type: row.text(2),
            status: row.text(3),
            profile: object(&row.text(4)),
            vif_details: object(&row.text(5)),
        }
    }

    fn show(&self) -> Value {
        let mut details = self.vif_details.clone();
        if let Some(details) = details.as_object_mut() {
            details.remove("bound_drivers");
        }
        json!({
            "host": self.host, "vif_type": self.vif_type, "vnic_type": self.vnic_type, "status": self.status,
            "profile": self.profile, "vif_details": details,
        })
    }
}

async fn of_port(op: &mut Op<'_>, port: &str) -> Result<Vec<Binding>, Fault> {
    let sql = format!("SELECT {COLUMNS} FROM ml2_port_bindings WHERE port_id = ? ORDER BY host");
    Ok(op.txn.query(&sql, &[port.into()]).await?.iter().map(Binding::of).collect())
}

fn by_host(bindings: Vec<Binding>, port: &str, host: &str) -> Result<Binding, Fault> {
    bindings.into_iter().find(|binding| binding.host == host).ok_or_else(|| faults::binding_not_found(port, host))
}

async fn movable(op: &mut Op<'_>, port: &str) -> Result<Record, Fault> {
    let record = op.get_visible("port", port).await?;
    let owner = record.get(DEVICE_OWNER).unwrap_or_default();
    if MOVABLE.iter().any(|prefix| owner.starts_with(prefix)) { Ok(record) } else { Err(faults::one_binding(port)) }
}

fn permit(system: &System, context: &Context, rule: &str) -> Result<(), Fault> {
    if system.policy.allows(rule, context, &Nothing) { Ok(()) } else { Err(Fault::forbidden(rule)) }
}

/// What a request says of a binding. A host of null is that of no host.
#[derive(Default)]
struct Wanted {
    host: Option<String>,
    vnic_type: Option<String>,
    profile: Option<Value>,
}

fn wanted(body: Option<Value>) -> Result<Wanted, Fault> {
    let missing = || Fault::bad_request("Unable to find 'binding' in request body.");
    let Some(Value::Object(mut body)) = body else { return Err(missing()) };
    let Value::Object(given) = body.remove("binding").ok_or_else(missing)? else {
        return Err(Fault::bad_request("Object 'binding' contains invalid data."));
    };
    let mut wanted = Wanted::default();
    for (name, value) in given {
        let invalid = |why: String| Fault::bad_request(format!("Invalid input for {name}. Reason: {why}."));
        match name.as_str() {
            "host" if value.is_null() => wanted.host = Some(String::new()),
            "host" => {
                let text = Kind::Text { max: 255 }.convert(value).map_err(invalid)?;
                wanted.host = text.as_str().map(str::to_owned);
            }
            "vnic_type" => {
                let text = Kind::OneOf(VNIC_TYPES).convert(value).map_err(invalid)?;
                wanted.vnic_type = text.as_str().map(str::to_owned);
            }
            "profile" if value.is_null() => wanted.profile = Some(Value::Object(Map::new())),
            "profile" => wanted.profile = Some(Kind::Dict.convert(value).map_err(invalid)?),
            // Who owns the port is known.
            "project_id" | "tenant_id" => {}
            _ => return Err(Fault::bad_request(format!("Unrecognized attribute(s) '{name}' of a binding."))),
        }
    }
    Ok(wanted)
}

impl Bindings {
    async fn list(&self, op: &mut Op<'_>, port: &str, query: &[(String, String)]) -> Result<Value, Fault> {
        for (name, _) in query.iter().filter(|(name, _)| name != "fields") {
            if !["host", "status", "vif_type", "vnic_type"].contains(&name.as_str()) {
                return Err(Fault::bad_request(format!("['{name}'] is invalid attribute for filtering")));
            }
        }
        movable(op, port).await?;
        if !op.system.policy.allows("get_port_binding", op.context, &Nothing) {
            return Ok(json!({"bindings": []}));
        }
        let mut shown: Vec<Value> = of_port(op, port).await?.iter().map(Binding::show).collect();
        for (name, _) in query.iter().filter(|(name, _)| name != "fields") {
            shown.retain(|binding| query.iter().any(|(key, value)| key == name && binding[name] == value.as_str()));
        }
        Ok(json!({"bindings": shown}))
    }

    async fn show(&self, op: &mut Op<'_>, port: &str, host: &str) -> Result<Value, Fault> {
        movable(op, port).await?;
        let found = by_host(of_port(op, port).await?, port, host)?;
        if !op.system.policy.allows("get_port_binding", op.context, &Nothing) {
            let message = format!("The binding of port {port} to {host} could not be found.");
            return Err(Fault::not_found("HTTPNotFound", message));
        }
        Ok(json!({"binding": found.show()}))
    }

    /// Binds the port to the host as a driver offers, in a row of that status.
    async fn bind(&self, op: &mut Op<'_>, port: &Record, wanted: &Wanted, status: &str) -> Result<Binding, Fault> {
        let host = wanted.host.clone().unwrap_or_default();
        let mut there = port.clone();
        there.set("binding:host_id", host.as_str());
        there.set("binding:vnic_type", wanted.vnic_type.as_deref().unwrap_or("normal"));
        there.set("binding:profile", wanted.profile.clone().unwrap_or_else(|| Value::Object(Map::new())));
        let outcome = binding::decide(op, &self.ml2, &there, &host).await?;
        if outcome.vif_type == binding::FAILED {
            return Err(faults::binding_failed(port.id(), &host));
        }
        binding::insert(op, &there, &outcome, status).await?;
        by_host(of_port(op, port.id()).await?, port.id(), &host)
    }

    async fn create(&self, op: &mut Op<'_>, port: &str, wanted: &Wanted) -> Result<Value, Fault> {
        let record = movable(op, port).await?;
        let host = wanted.host.as_deref().unwrap_or_default();
        let bindings = of_port(op, port).await?;
        if bindings.iter().any(|binding| binding.host == host) {
            return Err(faults::binding_exists(port, host));
        }
        let status = if bindings.iter().any(|binding| binding.status == "ACTIVE") { "INACTIVE" } else { "ACTIVE" };
        let made = self.bind(op, &record, wanted, status).await?;
        if status == "ACTIVE" {
            self.settle(op, &record).await?;
        }
        Ok(json!({"binding": made.show()}))
    }

    /// Profile and card of one binding; what is bound is bound anew.
    async fn change(&self, op: &mut Op<'_>, port: &str, host: &str, mut wanted: Wanted) -> Result<Value, Fault> {
        let record = movable(op, port).await?;
        let old = by_host(of_port(op, port).await?, port, host)?;
        if wanted.host.as_deref().is_some_and(|other| other != host) {
            let why = format!("the binding is that to {host}; make another for another host");
            return Err(Fault::bad_request(format!("Invalid input for host. Reason: {why}.")));
        }
        wanted.host = Some(host.to_owned());
        wanted.vnic_type.get_or_insert(old.vnic_type);
        wanted.profile.get_or_insert(old.profile);
        binding::remove(op, port, host).await?;
        let new = self.bind(op, &record, &wanted, &old.status).await?;
        if old.status == "ACTIVE" {
            self.settle(op, &record).await?;
        }
        Ok(json!({"binding": new.show()}))
    }

    async fn activate(&self, op: &mut Op<'_>, port: &str, host: &str) -> Result<Value, Fault> {
        let record = movable(op, port).await?;
        let bindings = of_port(op, port).await?;
        let from = bindings.iter().find(|binding| binding.status == "ACTIVE").map(|binding| binding.host.clone());
        let next = by_host(bindings, port, host)?;
        permit(op.system, op.context, "activate")?;
        if from.as_deref() == Some(host) {
            return Err(faults::binding_active(port, host));
        }
        let lost = || Fault::retry(format!("another request activates a binding of port {port}"));
        if let Some(from) = &from {
            // The host that the port leaves has nothing to wire any more, and its segment is free to go.
            let sql = "UPDATE ml2_port_bindings SET status = ?, vif_type = ?, vif_details = ? \
                       WHERE port_id = ? AND host = ? AND status = 'ACTIVE'";
            let args = ["INACTIVE".into(), binding::UNBOUND.into(), "".into(), port.into(), from.as_str().into()];
            if op.txn.execute(sql, &args).await? == 0 {
                return Err(lost());
            }
            let sql = "DELETE FROM ml2_port_binding_levels WHERE port_id = ? AND host = ?";
            op.txn.execute(sql, &[port.into(), from.as_str().into()]).await?;
        }
        if next.vif_type == binding::UNBOUND && !host.is_empty() {
            // The port comes back to a host that it left before.
            let wanted =
                Wanted { host: Some(host.to_owned()), vnic_type: Some(next.vnic_type), profile: Some(next.profile) };
            binding::remove(op, port, host).await?;
            self.bind(op, &record, &wanted, "ACTIVE").await?;
        } else {
            let sql = "UPDATE ml2_port_bindings SET status = ? WHERE port_id = ? AND host = ? AND status = 'INACTIVE'";
            if op.txn.execute(sql, &["ACTIVE".into(), port.into(), host.into()]).await? == 0 {
                return Err(lost());
            }
        }
        self.settle(op, &record).await?;
        self.moves.moved(op, &record, from.as_deref().unwrap_or_default(), host).await?;
        // The reference leaves out the usual key here.
        Ok(by_host(of_port(op, port).await?, port, host)?.show())
    }

    /// The port waits for the host of its new active binding, and everybody hears of it.
    async fn settle(&self, op: &mut Op<'_>, old: &Record) -> Result<(), Fault> {
        provisioning::add(op, old.shared_id, provisioning::L2).await?;
        op.touch(old.shared_id).await?;
        let new = op.get("port", old.id()).await?;
        let new = provisioning::set_status(op, &new, "DOWN").await?;
        let entity = op.system.entity("port")?;
        for behaviour in &entity.behaviours {
            behaviour.updated(op, old, &new).await?;
        }
        Ok(())
    }

    async fn once(&self, system: &System, context: &Context, request: &Request) -> Result<Answer, Fault> {
        let (port, host) = (request.param("port_id"), request.param("host"));
        let reads = request.route.method == Method::Get;
        let mut txn = if reads { system.store.read().await? } else { system.store.write().await? };
        let mut op = Op::new(&mut txn, context, system);
        let answer = match (request.route.method, request.route.path) {
            (Method::Get, ALL) => Answer::ok(self.list(&mut op, port, &request.query).await?),
            (Method::Get, _) => Answer::ok(self.show(&mut op, port, host).await?),
            (Method::Post, _) => {
                let wanted = wanted(request.body.clone())?;
                if wanted.host.is_none() {
                    return Err(Fault::bad_request("Failed to parse request. Required attribute 'host' not specified"));
                }
                permit(system, context, "create_port_binding")?;
                Answer::created(self.create(&mut op, port, &wanted).await?)
            }
            (Method::Put, ACTIVATE) => Answer::ok(self.activate(&mut op, port, host).await?),
            (Method::Put, _) => {
                permit(system, context, "create_port_binding")?;
                Answer::ok(self.change(&mut op, port, host, wanted(request.body.clone())?).await?)
            }
            (Method::Delete, _) => {
                movable(&mut op, port).await?;
                by_host(of_port(&mut op, port).await?, port, host)?;
                permit(system, context, "delete_port_binding")?;
                if binding::remove(&mut op, port, host).await? == 0 {
                    return Err(faults::binding_not_found(port, host));
                }
                Answer::no_content()
            }
        };
        txn.commit().await?;
        Ok(answer)
    }
}

#[async_trait]
impl Action for Bindings {
    fn routes(&self) -> &[Route] {
        ROUTES
    }

    async fn call(&self, system: &System, context: &Context, request: Request) -> Result<Answer, Fault> {
        let mut attempt = 0;
        loop {
            match self.once(system, context, &request).await {
                Err(fault) if !is_last_attempt(&fault, attempt).await => attempt += 1,
                outcome => return outcome,
            }
        }
    }
}
