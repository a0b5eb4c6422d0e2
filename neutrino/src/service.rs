//! Runs parts of the service in the foreground, until a signal.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use config::{Config, default_files};
use linux::Netns;
use messaging::{Bus, InProcess};
use runtime::transport;
use runtime::{Common, options};
use server::{Roles, Server, Setup};

use neutrino::reference::{OPTIONS, RPC_WORKERS};

/// Sections that other programs sharing these files read.
const FOREIGN: &[&str] = &[
    "oslo_concurrency",
    "oslo_messaging_notifications",
    "placement",
    "cors",
    "ssl",
    "quotas",
    "database",
    "experimental",
    "ovs",
    "agent",
    "securitygroup",
];

/// Sections that only the server reads, which agents meet in neutron.conf.
const OF_SERVERS: &[&str] = &["keystone_authtoken", "nova", "oslo_policy", "neutrino"];

/// Reads the configuration files and arguments of a service, and warns of what nobody reads.
pub fn configuration(program: &str, arguments: &[String], declared: &[config::Options]) -> anyhow::Result<Config> {
    let loader = declared.iter().fold(options::loader(), |loader, options| loader.declare(options));
    let home = std::env::var_os("HOME").map(std::path::PathBuf::from);
    let defaults = default_files(Path::new("/"), home.as_deref(), "neutron", program);
    let config = loader.arguments(arguments, &defaults)?.load()?;
    check(&config)?;
    crate::logging::start(config.get(&options::DEBUG)?, config.get(&options::USE_JSON)?);
    let mut foreign = FOREIGN.to_vec();
    if !declared.iter().any(|options| std::ptr::eq(*options, server::OPTIONS)) {
        foreign.extend(OF_SERVERS);
    }
    config.warn_unknown(&foreign);
    Ok(config)
}

/// Fails with every option that cannot be used.
pub fn check(config: &Config) -> anyhow::Result<()> {
    let wrong: Vec<String> = config.check().iter().map(ToString::to_string).collect();
    if wrong.is_empty() { Ok(()) } else { anyhow::bail!("the configuration cannot be used:\n  {}", wrong.join("\n  ")) }
}

/// Ends when the process is asked to: Ctrl-C or SIGTERM.
pub async fn asked_to_stop() {
    let mut terminate = match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        Ok(signal) => signal,
        Err(_) => return,
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}

pub fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().context("the runtime cannot start")?.block_on(work)
}

/// API and RPC server. Agents of other processes are reached over the broker of `transport_url`; without one, there are none.
pub fn server(arguments: &[String]) -> anyhow::Result<()> {
    let config = configuration("neutron-server", arguments, &[server::OPTIONS, transport::OPTIONS, OPTIONS])?;
    block_on(async {
        let bus = match transport::bus(&config, "neutron-server")? {
            Some(bus) => bus,
            None => Arc::new(InProcess::new()) as Bus,
        };
        // Agents are then answered by processes of their own.
        let rpc = config.get(&RPC_WORKERS)? != Some(0);
        serve(&config, bus, true, rpc).await
    })
}

/// The part of the server that agents talk to, without the API.
pub fn rpc_server(arguments: &[String]) -> anyhow::Result<()> {
    let config = configuration("neutron-rpc-server", arguments, &[server::OPTIONS, transport::OPTIONS, OPTIONS])?;
    block_on(async {
        let bus = transport::bus_or_local(&config, "neutron-rpc-server")?;
        serve(&config, bus, false, true).await
    })
}

async fn serve(config: &Config, bus: Bus, api: bool, rpc: bool) -> anyhow::Result<()> {
    let common = Common::read(config)?;
    let setup = Setup::read(config)?;
    let store = server::open_store(&setup, &common.state_path).await?;
    let roles = Roles { api, rpc, host: common.host.clone() };
    let started = tokio::select! {
        started = Server::start_as(&roles, &setup, store, bus) => Some(started?),
        // The broker may be away; a stop is obeyed meanwhile.
        () = asked_to_stop() => None,
    };
    let Some(server) = started else { return Ok(()) };
    if api {
        tracing::info!(address = %server.address, rpc, "the API is served");
    } else {
        tracing::info!("agents are answered");
    }
    server.run(asked_to_stop()).await
}

/// An agent in a process of its own, for the network namespace that it is started in.
fn agent<F, E>(
    program: &str,
    arguments: &[String],
    options: config::Options,
    run: impl FnOnce(Config, Bus, Netns) -> F,
) -> anyhow::Result<()>
where
    F: Future<Output = Result<(), E>>,
    E: std::error::Error + Send + Sync + 'static,
{
    let config = configuration(program, arguments, &[options, transport::OPTIONS])?;
    if !linux::is_root() {
        anyhow::bail!("{program} works on the host's network and has to be started by root");
    }
    let host = Netns::current()?;
    block_on(async {
        let bus = transport::bus_or_local(&config, program)?;
        Ok(run(config, bus, host).await?)
    })
}

pub fn dhcp_agent(arguments: &[String]) -> anyhow::Result<()> {
    let run = |config: Config, bus, host| async move { dhcp::run(&config, bus, host, asked_to_stop()).await };
    agent("neutron-dhcp-agent", arguments, dhcp::OPTIONS, run)
}

pub fn linuxbridge_agent(arguments: &[String]) -> anyhow::Result<()> {
    let run = |config: Config, bus, host| async move { linuxbridge::run(&config, bus, host, asked_to_stop()).await };
    agent("neutron-linuxbridge-agent", arguments, linuxbridge::OPTIONS, run)
}

/// Prints what holds for all programs of the service.
pub fn show_configuration(arguments: &[String]) -> anyhow::Result<()> {
    let declared = neutrino::reference::READERS.iter().flat_map(|(_, lists)| lists.iter());
    let loader = declared.fold(options::loader(), |loader, options| loader.declare(options));
    let home = std::env::var_os("HOME").map(std::path::PathBuf::from);
    let mut files = config::DefaultFiles::default();
    for program in ["neutron-server", "neutron-rpc-server", "neutron-dhcp-agent", "neutron-linuxbridge-agent"] {
        let of_one = default_files(Path::new("/"), home.as_deref(), "neutron", program);
        // neutron.conf is everybody's.
        files.files.extend(of_one.files.into_iter().filter(|file| !files.files.contains(file)).collect::<Vec<_>>());
        files.dirs.extend(of_one.dirs.into_iter().filter(|dir| !files.dirs.contains(dir)).collect::<Vec<_>>());
    }
    let config = loader.arguments(arguments, &files)?.load()?;
    print!("{}", config.effective());
    check(&config)
}
