use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use network::port::{ADMIN_STATE_UP, DEVICE_OWNER, FIXED_IPS, provisioning};
use policy::Context;
use resource::{Behaviour, Condition, Given, Op, System};
use rpc::dhcp::{
    DhcpNotifier, NetworkEvent, NetworkGone, NetworkHint, PortEvent, PortGone, SubnetEvent, SubnetGone, priority,
};
use schema::{Fault, Record, Value};

use super::schedule::zones;
use super::{DhcpAgent, Scheduler};
use crate::faults;
use crate::view::{rpc_context, to_json};

/// Tells DHCP agents what changed in the networks that they serve, and schedules networks when there is something to serve. Reacts to
/// networks, subnets and ports.
pub struct News {
    pub scheduler: Arc<Scheduler>,
    pub notifier: DhcpNotifier,
    pub of: Of,
}

/// Which resource this one reacts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    Networks,
    Subnets,
    Ports,
}

/// When to look for more agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Schedule {
    No,
    /// When fewer serve the network than one place of it needs; more is not worth a look at every port.
    IfFew,
    Yes,
}

/// Attributes of a port that a DHCP server answers with.
const SERVED: [&str; 6] = ["fixed_ips", "mac_address", "extra_dhcp_opts", "dns_name", "dns_assignment", "dns_domain"];

/// Attributes of a network that its agents act on.
const NETWORK_SERVED: [&str; 2] = ["admin_state_up", "mtu"];

/// Ports that agents are reminded of at once, the newest first.
const MOST_REMINDED: usize = 500;

macro_rules! after_commit {
    ($self:ident, $op:ident, $host:expr, $method:ident, $payload:expr) => {{
        let notifier = $self.notifier.server($host);
        let context = rpc_context($op.context);
        let payload = $payload;
        $op.txn.after_commit(stringify!($method), async move {
            if let Err(error) = notifier.$method(&context, payload).await {
                tracing::warn!(%error, method = stringify!($method), "a DHCP agent could not be told; it hears of it at its next sync");
            }
        });
    }};
}

fn decode<T: serde::de::DeserializeOwned>(record: &Record) -> Result<T, Fault> {
    serde_json::from_value(to_json(record)).map_err(Fault::internal)
}

impl News {
    fn network_created(&self, op: &mut Op<'_>, network: &str, agents: &[DhcpAgent]) {
        for agent in agents {
            let hint = NetworkHint { id: network.into(), admin_state_up: None, extra: Default::default() };
            let payload = NetworkEvent { network: hint, priority: Some(priority::NETWORK_CREATE) };
            after_commit!(self, op, &agent.host, network_create_end, payload);
        }
    }

    /// The agents to tell, after scheduling the network to more if it lacks some: those that had it, and those that are new to it.
    async fn hosting(
        &self,
        op: &mut Op<'_>,
        network: &str,
        schedule: Schedule,
    ) -> Result<(Vec<DhcpAgent>, Vec<DhcpAgent>), Fault> {
        let mut hosting = self.scheduler.hosting(op, network).await?;
        let schedule = match schedule {
            Schedule::No => false,
            Schedule::IfFew => hosting.len() < self.scheduler.settings.dhcp_agents_per_network,
            Schedule::Yes => true,
        };
        let new = if schedule { self.scheduler.schedule(op, network, &hosting).await? } else { Vec::new() };
        if !self.scheduler.settings.serve_with_admin_state_down {
            hosting.retain(|agent| agent.enabled);
        }
        self.network_created(op, network, &new);
        Ok((hosting, new))
    }

    async fn subnet_created(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        let (hosting, _) = self.hosting(op, record.text("network_id"), Schedule::Yes).await?;
        for agent in &hosting {
            let payload = SubnetEvent { subnet: decode(record)?, priority: Some(priority::SUBNET_UPDATE) };
            after_commit!(self, op, &agent.host, subnet_create_end, payload);
        }
        Ok(())
    }

    async fn port_created(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        let reserved = record.text("device_id") == super::RESERVED_PORT;
        let schedule = if reserved { Schedule::No } else { Schedule::IfFew };
        let (mut hosting, new) = self.hosting(op, record.text("network_id"), schedule).await?;
        if hosting.is_empty() && new.is_empty() {
            return Ok(());
        }
        self.block(op, record).await?;
        // One of them is to be quick about it.
        let first = if hosting.is_empty() { 0 } else { rand::random_range(0..hosting.len()) };
        for (index, agent) in hosting.drain(..).enumerate() {
            let urgency = if index == first { priority::PORT_CREATE_HIGH } else { priority::PORT_CREATE_LOW };
            let payload = PortEvent { port: decode(record)?, priority: Some(urgency) };
            after_commit!(self, op, &agent.host, port_create_end, payload);
        }
        Ok(())
    }

    /// The port is not ACTIVE before DHCP serves one of its addresses.
    async fn block(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        let owner = record.get(DEVICE_OWNER).unwrap_or_default();
        // The service's own ports wait for nobody, but for those of distributed routers (`NO_PBLOCKS_TYPES` of the reference).
        if owner.starts_with("network:") && owner != "network:distributed" || record.get(ADMIN_STATE_UP) != Some(true) {
            return Ok(());
        }
        let subnets: Vec<store::Value> = record
            .get(FIXED_IPS)
            .unwrap_or_default()
            .iter()
            .filter_map(|fixed| fixed["subnet_id"].as_str().map(Into::into))
            .collect();
        if subnets.is_empty() {
            return Ok(());
        }
        let condition = resource::Condition::one_of("id", subnets);
        let sql = format!("SELECT 1 FROM subnets WHERE enable_dhcp = ? AND {} LIMIT 1", condition.sql);
        let mut args = vec![true.into()];
        args.extend(condition.args);
        if op.txn.query_one(&sql, &args).await?.is_some() {
            provisioning::add(op, record.shared_id, provisioning::DHCP).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl Behaviour for News {
    async fn creating(&self, op: &mut Op<'_>, given: &mut Given) -> Result<(), Fault> {
        if self.of == Of::Networks {
            crate::zones::check_hints(op, given.record.value("availability_zone_hints")).await?;
        }
        Ok(())
    }

    async fn created(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        match self.of {
            // An administrator may still want to pick the agents of a network without subnets.
            Of::Networks => Ok(()),
            Of::Subnets => self.subnet_created(op, record).await,
            Of::Ports => self.port_created(op, record).await,
        }
    }

    async fn updated(&self, op: &mut Op<'_>, old: &Record, new: &Record) -> Result<(), Fault> {
        let differ = |names: &[&str]| names.iter().any(|name| old.value(name) != new.value(name));
        match self.of {
            Of::Networks if differ(&NETWORK_SERVED) => {
                let (hosting, _) = self.hosting(op, new.id(), Schedule::No).await?;
                for agent in &hosting {
                    let payload = NetworkEvent { network: decode(new)?, priority: Some(priority::NETWORK_UPDATE) };
                    after_commit!(self, op, &agent.host, network_update_end, payload);
                }
            }
            Of::Subnets => {
                let place = differ(&["enable_dhcp", "segment_id"]);
                let schedule = match place && new.value("enable_dhcp") == Some(&Value::Bool(true)) {
                    true => Schedule::Yes,
                    false => Schedule::No,
                };
                let (hosting, _) = self.hosting(op, new.text("network_id"), schedule).await?;
                for agent in &hosting {
                    let payload = SubnetEvent { subnet: decode(new)?, priority: Some(priority::SUBNET_UPDATE) };
                    after_commit!(self, op, &agent.host, subnet_update_end, payload);
                }
            }
            Of::Ports if differ(&SERVED) => {
                let (hosting, _) = self.hosting(op, new.text("network_id"), Schedule::No).await?;
                for agent in &hosting {
                    let payload = PortEvent { port: decode(new)?, priority: Some(priority::PORT_UPDATE) };
                    after_commit!(self, op, &agent.host, port_update_end, payload);
                }
            }
            _ => {}
        }
        Ok(())
    }

    async fn deleting(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        // Who serves it is not known any more once it is gone.
        match self.of {
            Of::Networks => {
                let notifier = self.notifier.everyone();
                let context = rpc_context(op.context);
                let payload = NetworkGone { network_id: record.id().into(), priority: Some(priority::NETWORK_DELETE) };
                op.txn.after_commit("network_delete_end", async move {
                    if let Err(error) = notifier.network_delete_end(&context, payload).await {
                        tracing::warn!(%error, "the DHCP agents could not be told that a network is gone");
                    }
                });
            }
            Of::Subnets => {
                let (hosting, _) = self.hosting(op, record.text("network_id"), Schedule::No).await?;
                for agent in &hosting {
                    let payload = SubnetGone {
                        subnet_id: record.id().into(),
                        network_id: Some(record.text("network_id").into()),
                        priority: Some(priority::SUBNET_DELETE),
                    };
                    after_commit!(self, op, &agent.host, subnet_delete_end, payload);
                }
            }
            Of::Ports => {
                let (hosting, _) = self.hosting(op, record.text("network_id"), Schedule::No).await?;
                for agent in &hosting {
                    let fixed_ips = record.value("fixed_ips").cloned().unwrap_or_else(|| Value::Array(Vec::new()));
                    let payload = PortGone {
                        port_id: record.id().into(),
                        network_id: Some(record.text("network_id").into()),
                        fixed_ips: serde_json::from_value(fixed_ips).map_err(Fault::internal)?,
                        priority: Some(priority::PORT_DELETE),
                    };
                    after_commit!(self, op, &agent.host, port_delete_end, payload);
                }
            }
        }
        Ok(())
    }

    async fn load(&self, op: &mut Op<'_>, records: &mut [Record]) -> Result<(), Fault> {
        if self.of == Of::Networks && op.wants("availability_zones") {
            zones(op, records).await?;
        }
        Ok(())
    }
}

impl News {
    /// Tells one agent that a network is its own now, or no more.
    pub fn moved(&self, op: &mut Op<'_>, network: &str, host: &str, to_it: bool) {
        if to_it {
            let hint = NetworkHint { id: network.into(), admin_state_up: None, extra: Default::default() };
            let payload = NetworkEvent { network: hint, priority: Some(priority::NETWORK_CREATE) };
            after_commit!(self, op, host, network_create_end, payload);
        } else {
            let payload = NetworkGone { network_id: network.into(), priority: Some(priority::NETWORK_DELETE) };
            after_commit!(self, op, host, network_delete_end, payload);
        }
    }

    /// Schedules networks with DHCP on these segments, which more hosts reach than before.
    pub async fn reached(&self, op: &mut Op<'_>, segments: &[String]) -> Result<(), Fault> {
        if segments.is_empty() {
            return Ok(());
        }
        let condition = Condition::one_of("segment_id", segments.iter().map(|id| id.as_str().into()).collect());
        let sql =
            format!("SELECT DISTINCT network_id FROM subnets WHERE enable_dhcp = ? AND {} ORDER BY 1", condition.sql);
        let mut args = vec![true.into()];
        args.extend(condition.args);
        for row in op.txn.query(&sql, &args).await? {
            self.hosting(op, &row.text(0), Schedule::Yes).await?;
        }
        Ok(())
    }

    /// Tells living agents once more of the ports that wait for them: a server that dies after a commit takes its news along, and nobody
    /// else would ever name the port to its agents.
    pub async fn remind(&self, system: &System) -> Result<(), Fault> {
        let context = Context::internal();
        let mut txn = system.store.write().await?;
        let mut op = Op::new(&mut txn, &context, system);
        let sql = format!(
            "SELECT ports.id FROM provisioningblocks JOIN ports ON ports.standard_attr_id = provisioningblocks.standard_attr_id \
             WHERE provisioningblocks.entity = '{}' ORDER BY ports.standard_attr_id DESC LIMIT {MOST_REMINDED}",
            provisioning::DHCP
        );
        let ids: Vec<store::Value> = op.txn.query(&sql, &[]).await?.iter().map(|row| row.text(0).into()).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let mut serving: HashMap<String, Vec<DhcpAgent>> = HashMap::new();
        for port in op.find("port", Condition::one_of("ports.id", ids)).await? {
            let network = port.text("network_id");
            if !serving.contains_key(network) {
                let (mut agents, _) = self.hosting(&mut op, network, Schedule::No).await?;
                agents.retain(|agent| agent.alive);
                serving.insert(network.to_owned(), agents);
            }
            for agent in &serving[network] {
                let payload = PortEvent { port: decode(&port)?, priority: Some(priority::PORT_CREATE_LOW) };
                after_commit!(self, op, &agent.host, port_create_end, payload);
            }
        }
        Ok(txn.commit().await?)
    }

    /// The agent if it may take networks.
    pub async fn eligible(&self, op: &mut Op<'_>, id: &str) -> Result<DhcpAgent, Fault> {
        let agents = self.scheduler.agents(op).await?;
        let agent = agents.into_iter().find(|agent| agent.id == id);
        match agent {
            Some(agent) if agent.enabled => Ok(agent),
            _ => Err(faults::invalid_dhcp_agent(id)),
        }
    }
}
