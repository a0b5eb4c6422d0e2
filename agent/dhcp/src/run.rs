//! The agent as a service: configuration in, state reports out.

use std::sync::Arc;

use config::Config;
use linux::Netns;
use messaging::Bus;
use rpc::state::{AgentState, StateClient, agent_type, binary};
use runtime::{Common, Reporter, ReporterOptions, Signal, Started, Stop};
use serde_json::{Map, Value, json};

use crate::agent::{Agent, AgentError};
use crate::host::{Host, HostError, LinuxBridge, LinuxHost, Target};
use crate::plan::plan;
use crate::plugin::Plugin;
use crate::settings::{self, Settings, SettingsError};

/// Why the agent does not run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The configuration cannot be served.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// An option that all agents have is wrong.
    #[error(transparent)]
    Config(#[from] config::ConfigError),
    /// The host cannot be worked on, mostly for lack of rights.
    #[error(transparent)]
    Host(#[from] linux::Error),
    /// The server cannot reach it.
    #[error(transparent)]
    Agent(#[from] AgentError),
}

/// Runs the agent for one host until `shutdown` ends. Namespaces and dnsmasq stay.
///
/// `host` is the network namespace that has the switch, mostly the process's own.
pub async fn run(
    config: &Config,
    bus: Bus,
    host: Netns,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), RunError> {
    let common = Common::read(config)?;
    let (mut settings, tuning) = settings::read(config, &common)?;
    settings.as_root = settings::needs_root(&settings.confs);
    if settings.as_root {
        tracing::warn!(dir = %settings.confs.display(),
            "Only root can read the state directory, so dnsmasq stays root; open its parents to others to avoid that");
    }
    let driver = LinuxBridge::new(&host)?;
    tracing::info!(agent.host = common.host, "The DHCP agent starts");
    let plugin = Plugin::new(Bus::clone(&bus), &common.host, Arc::clone(&common.timeouts));
    let lease_duration = settings.lease_duration;
    let machine = Arc::new(LinuxHost::new(settings.clone(), Arc::new(driver)));
    let agent = Agent::new(settings, tuning, plugin, machine);
    let stop = Stop::new();
    let reporter = reporter(&common, &bus, &agent, lease_duration, stop.clone());
    let again = Arc::clone(&agent);
    let _reconnects = runtime::transport::on_reconnect(&bus, move || again.request_sync());
    let result = agent.run(&bus, shutdown).await;
    stop.ask();
    drop(reporter);
    tracing::info!("The DHCP agent ends; namespaces and dnsmasq stay");
    Ok(result?)
}

fn reporter(common: &Common, bus: &Bus, agent: &Arc<Agent>, lease_duration: i64, stop: Stop) -> Option<Reporter> {
    let interval = common.report_interval?;
    let configurations = json!({
        "dhcp_driver": "neutron.agent.linux.dhcp.Dnsmasq",
        "dhcp_lease_duration": lease_duration,
        "log_agent_heartbeats": common.log_agent_heartbeats,
    });
    let Value::Object(configurations) = configurations else { return None };
    let state = AgentState {
        agent_type: agent_type::DHCP.to_owned(),
        binary: binary::DHCP.to_owned(),
        host: common.host.clone(),
        topic: rpc::topics::DHCP_AGENT.to_owned(),
        availability_zone: Some(common.availability_zone.clone()),
        configurations,
        start_flag: true,
        resource_versions: None,
        uuid: None,
        extra: Map::new(),
    };
    let counted = Arc::clone(agent);
    let refresh = Box::new(move |configurations: &mut Map<String, Value>| {
        let counts = counted.counts();
        for (name, count) in [("networks", counts.networks), ("subnets", counts.subnets), ("ports", counts.ports)] {
            configurations.insert(name.to_owned(), count.into());
        }
    });
    let told = Arc::clone(agent);
    let signal = move |signal| match signal {
        // The agent was unknown to the server when it asked first, and so had no networks; or its messages were lost.
        Signal::Connected | Signal::Revived => told.request_sync(),
        Signal::Lost | Signal::Recovered => {}
    };
    let options = ReporterOptions { interval, started: Started::WithFirstReport };
    let client = StateClient::new(Bus::clone(bus));
    Some(Reporter::spawn(client, state, options, refresh, signal, stop))
}

/// Removes everything of every network from the host. What could not be removed is told, and does not hold up the rest.
pub fn cleanup(config: &Config, host: &Netns) -> Result<Vec<String>, RunError> {
    let common = Common::read(config)?;
    let (settings, _): (Settings, _) = settings::read(config, &common)?;
    let machine = LinuxHost::new(settings, Arc::new(LinuxBridge::new(host)?));
    let mut failures = Vec::new();
    let traces = machine.traces().unwrap_or_else(|error| {
        failures.push(runtime::log::chain(&error));
        Default::default()
    });
    for network in traces {
        let remove = || -> Result<(), HostError> {
            let observed = machine.observe(&network, None)?;
            let target = Target { id: &network, network: None, desired: None };
            plan(None, &observed).iter().try_for_each(|op| machine.apply(target, op))
        };
        if let Err(error) = remove() {
            failures.push(format!("network {network}: {}", runtime::log::chain(&error)));
        }
    }
    Ok(failures)
}
