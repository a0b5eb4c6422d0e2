//! Runs parts of the service in the foreground, until a signal.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use config::{Config, default_files};
use messaging::{Bus, InProcess};
use runtime::{Common, options};
use server::{Server, Setup};

/// Sections that other programs sharing these files read.
const FOREIGN: &[&str] = &[
    "oslo_concurrency",
    "oslo_messaging_rabbit",
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

pub fn server(arguments: &[String]) -> anyhow::Result<()> {
    let config = configuration("neutron-server", arguments, &[server::OPTIONS])?;
    block_on(async {
        let common = Common::read(&config)?;
        let setup = Setup::read(&config)?;
        let store = server::open_store(&setup, &common.state_path).await?;
        let bus: Bus = Arc::new(InProcess::new());
        let server = Server::start(&setup, store, bus).await?;
        tracing::info!(address = %server.address, "the API is served");
        server.run(asked_to_stop()).await
    })
}

/// Prints what holds for all programs of the service.
pub fn show_configuration(arguments: &[String]) -> anyhow::Result<()> {
    let declared = neutrino::reference::READERS.iter().flat_map(|(_, lists)| lists.iter());
    let loader = declared.fold(options::loader(), |loader, options| loader.declare(options));
    let home = std::env::var_os("HOME").map(std::path::PathBuf::from);
    let mut files = config::DefaultFiles::default();
    for program in ["neutron-server", "neutron-dhcp-agent", "neutron-linuxbridge-agent"] {
        let of_one = default_files(Path::new("/"), home.as_deref(), "neutron", program);
        // neutron.conf is everybody's.
        files.files.extend(of_one.files.into_iter().filter(|file| !files.files.contains(file)).collect::<Vec<_>>());
        files.dirs.extend(of_one.dirs.into_iter().filter(|dir| !files.dirs.contains(dir)).collect::<Vec<_>>());
    }
    let config = loader.arguments(arguments, &files)?.load()?;
    print!("{}", config.effective());
    check(&config)
}
