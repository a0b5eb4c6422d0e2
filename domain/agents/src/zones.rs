//! Availability zones: groups of agents, by the name that they report. `GET /availability_zones`, and the hints of networks.
//!
//! Reproduces neutron/db/agents_db.py (availability zones) and the availability_zone extensions.

use std::sync::Arc;

use async_trait::async_trait;
use policy::{Context, Nothing};
use resource::{Action, Answer, Method, Op, Request, Route, System};
use schema::{Attr, Default, Extend, Extension, Fault, Kind, Value};
use serde_json::json;

use crate::faults;
use crate::settings::Settings;

const NAME: Kind = Kind::Text { max: 255 };

/// Zones of a network: those it should be served in, and those it is.
pub static OF_NETWORK: Extend = Extend {
    to: "network",
    extension: Some(&NETWORK_ZONES),
    attrs: &[
        Attr::new("availability_zone_hints", Kind::JsonList(&NAME)).post().default(Default::EmptyList).no_filter(),
        Attr::new("availability_zones", Kind::List { of: &NAME, unique: false }).computed().no_filter(),
    ],
};

static NETWORK_ZONES: Extension = Extension {
    alias: "network_availability_zone",
    name: "Network Availability Zone",
    description: "Zones in which a network is served",
    updated: "2015-01-01T10:00:00-00:00",
};

/// Announced with [`Zones`].
pub static EXTENSIONS: &[&Extension] = &[
    &Extension {
        alias: "availability_zone",
        name: "Availability Zone",
        description: "Groups of agents",
        updated: "2015-01-01T10:00:00-00:00",
    },
    &Extension {
        alias: "availability_zone_filter",
        name: "Availability Zone Filter Extension",
        description: "Availability zones can be listed by their attributes",
        updated: "2018-06-22T10:00:00-00:00",
    },
];

/// 404 for a hint that names no zone of a DHCP agent.
pub async fn check_hints(op: &mut Op<'_>, hints: Option<&Value>) -> Result<(), Fault> {
    let hints = hints.and_then(Value::as_array).cloned().unwrap_or_default();
    if hints.is_empty() {
        return Ok(());
    }
    let sql = "SELECT DISTINCT availability_zone FROM agents WHERE agent_type = 'DHCP agent' AND admin_state_up = ?";
    let known: Vec<String> =
        op.txn.query(sql, &[true.into()]).await?.iter().filter_map(|row| row.opt_text(0)).collect();
    for hint in hints.iter().filter_map(Value::as_str) {
        if !known.iter().any(|zone| zone == hint) {
            return Err(faults::zone_not_found(hint));
        }
    }
    Ok(())
}

/// Lists the zones: available if one of its agents is enabled.
pub struct Zones {
    pub settings: Arc<Settings>,
}

const ROUTES: &[Route] = &[Route { method: Method::Get, path: "/availability_zones" }];

#[async_trait]
impl Action for Zones {
    fn routes(&self) -> &[Route] {
        ROUTES
    }

    async fn call(&self, system: &System, context: &Context, request: Request) -> Result<Answer, Fault> {
        if !system.policy.allows("get_availability_zone", context, &Nothing) {
            return Err(Fault::forbidden("get_availability_zone"));
        }
        let mut txn = system.store.read().await?;
        let sql = "SELECT agent_type, availability_zone, MAX(CASE WHEN admin_state_up = ? THEN 1 ELSE 0 END) FROM agents \
                   WHERE agent_type IN ('DHCP agent', 'L3 agent') AND availability_zone IS NOT NULL \
                   GROUP BY agent_type, availability_zone ORDER BY agent_type, availability_zone";
        let mut zones = Vec::new();
        for row in txn.query(sql, &[true.into()]).await? {
            let resource = if row.text(0) == "DHCP agent" { "network" } else { "router" };
            let state = if row.bool(2) { "available" } else { "unavailable" };
            zones.push(json!({"state": state, "name": row.text(1), "resource": resource}));
        }
        for name in ["name", "state", "resource"] {
            let wanted: Vec<&str> =
                request.query.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str()).collect();
            if !wanted.is_empty() {
                zones.retain(|zone| zone[name].as_str().is_some_and(|value| wanted.contains(&value)));
            }
        }
        let known = ["name", "state", "resource", "fields", "limit", "marker", "page_reverse", "sort_key", "sort_dir"];
        if let Some((name, _)) = request.query.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            return Err(Fault::bad_request(format!("['{name}'] is invalid attribute for filtering")));
        }
        Ok(Answer::ok(json!({"availability_zones": zones})))
    }
}
