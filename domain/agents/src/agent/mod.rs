//! Agents as the API shows them, and their reports.
//!
//! Reproduces neutron/db/agents_db.py.

mod clock;
mod report;

pub use clock::Clocks;
pub use report::Reports;

use std::sync::Arc;

use async_trait::async_trait;
use policy::Context;
use resource::{Behaviour, Condition, Given, Op};
use rpc::dhcp::DhcpNotifier;
use schema::{Attr, Extension, Fault, Key, Kind, Record, Resource, Value, Verbs};

use crate::settings::Settings;
use crate::view::rpc_context;

pub const HOST: Key<&str> = Key::new("host");
pub const AGENT_TYPE: Key<&str> = Key::new("agent_type");
pub const ADMIN_STATE_UP: Key<bool> = Key::new("admin_state_up");

const TEXT: Kind = Kind::Text { max: 255 };

pub static AGENT: Resource = Resource {
    name: "agent",
    plural: "agents",
    path: "agents",
    table: "agents",
    key: "id",
    shared: None,
    not_found: "AgentNotFound",
    owner: None,
    verbs: Verbs { create: false, ..Verbs::ALL },
    quota: None,
    extension: Some(&EXTENSION),
    attrs: &[
        Attr::new("id", Kind::Uuid),
        Attr::new("agent_type", TEXT),
        Attr::new("binary", TEXT),
        Attr::new("topic", TEXT),
        Attr::new("host", TEXT),
        Attr::new("admin_state_up", Kind::Bool).put(),
        Attr::new("created_at", TEXT).no_filter(),
        Attr::new("started_at", TEXT).no_filter(),
        Attr::new("heartbeat_timestamp", TEXT).no_filter(),
        Attr::new("description", TEXT).nullable().put(),
        Attr::new("resources_synced", Kind::Bool).nullable(),
        Attr::new("availability_zone", TEXT).nullable(),
        Attr::new("alive", Kind::Bool).computed(),
        Attr::new("configurations", Kind::Dict).no_filter().no_sort(),
    ],
};

static EXTENSION: Extension = Extension {
    alias: "agent",
    name: "agent",
    description: "The agents that report to this service",
    updated: "2013-02-03T10:00:00-00:00",
};

/// Announced with the resource.
pub static EXTENSIONS: &[&Extension] = &[
    &Extension {
        alias: "agent_sort_key",
        name: "Agents Sort Key",
        description: "Agents can be listed in order of their attributes",
        updated: "2013-02-03T10:00:00-00:00",
    },
    &Extension {
        alias: "agent-resources-synced",
        name: "Agent's Resource View Synced to Placement",
        description: "Whether what an agent offers is known to the placement service",
        updated: "2018-12-19T00:00:00-00:00",
    },
];

pub struct Agents {
    pub settings: Arc<Settings>,
    pub notifier: DhcpNotifier,
}

impl Agents {
    fn oldest(&self, now: chrono::NaiveDateTime) -> chrono::NaiveDateTime {
        now - chrono::TimeDelta::seconds(self.settings.agent_down_time)
    }
}

/// A point in time as the columns of this table read.
pub(crate) fn parse_time(text: &str) -> Option<chrono::NaiveDateTime> {
    let text = text.get(..19).unwrap_or(text);
    chrono::NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S").ok()
}

#[async_trait]
impl Behaviour for Agents {
    async fn updated(&self, op: &mut Op<'_>, old: &Record, new: &Record) -> Result<(), Fault> {
        if new.get(AGENT_TYPE) == Some(rpc::state::agent_type::DHCP)
            && old.get(ADMIN_STATE_UP) != new.get(ADMIN_STATE_UP)
        {
            let notifier = self.notifier.server(new.get(HOST).unwrap_or_default());
            let context = rpc_context(op.context);
            let payload = rpc::dhcp::AgentUpdated { admin_state_up: new.get(ADMIN_STATE_UP) == Some(true) };
            op.txn.after_commit("agent_updated", async move {
                if let Err(error) = notifier.agent_updated(&context, payload).await {
                    tracing::warn!(%error, "could not tell the DHCP agent that its admin state changed");
                }
            });
        }
        Ok(())
    }

    async fn load(&self, op: &mut Op<'_>, records: &mut [Record]) -> Result<(), Fault> {
        let oldest = self.oldest(op.txn.now());
        for record in records {
            let alive = parse_time(record.text("heartbeat_timestamp")).is_some_and(|beat| beat >= oldest);
            record.set("alive", alive);
        }
        Ok(())
    }

    fn scope(&self, _context: &Context) -> Option<Condition> {
        Some(Condition::never())
    }

    fn filter(&self, _context: &Context, name: &str, values: &[String]) -> Option<Result<Condition, Fault>> {
        if name == "agent_type" {
            // MySQL's collation compares without regard to case, and clients ask for "DHCP Agent" as well as "DHCP agent".
            let values = values.iter().map(|value| value.to_lowercase().into()).collect();
            return Some(Ok(Condition::one_of("LOWER(agents.agent_type)", values)));
        }
        if name != "alive" {
            return None;
        }
        let oldest: store::Value = store::Value::Time(self.oldest(chrono::Utc::now().naive_utc()));
        let mut conditions = Vec::new();
        for value in values {
            let sign = match Kind::Bool.convert(Value::String(value.clone())) {
                Ok(Value::Bool(true)) => ">=",
                Ok(_) => "<",
                Err(why) => {
                    return Some(Err(Fault::invalid_input(format!("Invalid input for operation: alive: {why}."))));
                }
            };
            conditions.push(Condition::new(format!("agents.heartbeat_timestamp {sign} ?"), vec![oldest.clone()]));
        }
        Some(Ok(Condition::any(conditions)))
    }

    async fn creating(&self, _op: &mut Op<'_>, _given: &mut Given) -> Result<(), Fault> {
        Err(Fault::bad_request("Agents come into being by their reports; none can be created."))
    }
}
