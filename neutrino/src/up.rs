//! `neutrino up`: the whole service on this machine, in the foreground.

use std::path::PathBuf;

use anyhow::Context as _;
use config::DefaultFiles;
use linux::Netns;
use neutrino::embedded::{self, Embedded};
use runtime::options;

#[derive(clap::Args)]
pub struct Args {
    /// Directory for the database, the state of DHCP servers and instances.
    #[arg(long, env = "NEUTRINO_STATE", default_value = "./var")]
    state_dir: PathBuf,
    /// Serve the API only, also as root.
    #[arg(long)]
    no_agents: bool,
    /// Options as the services take them: --config-file, --config-dir, --bind_port 9697…
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
    options: Vec<String>,
}

/// Reads the built-in defaults, then what the command line names.
fn configuration(args: &Args) -> anyhow::Result<config::Config> {
    std::fs::create_dir_all(&args.state_dir).with_context(|| format!("--state-dir {}", args.state_dir.display()))?;
    let state = std::path::absolute(&args.state_dir)?;
    let config = embedded::loader(&state).arguments(&args.options, &DefaultFiles::default())?.load()?;
    crate::service::check(&config)?;
    Ok(config)
}

fn is_root() -> bool {
    linux::is_root()
}

/// Says how to use it.
fn greet(address: std::net::SocketAddr, agents: bool) {
    let endpoint = format!("http://{address}");
    println!("neutrino serves the network API on {endpoint}");
    if agents {
        println!("  with a DHCP agent and a Linux bridge agent for this machine");
    } else {
        println!("  without agents: they need root. Networks can be made, but nothing is wired.");
    }
    println!();
    println!("Use it with the openstack client (pip install python-openstackclient):");
    println!("  export OS_AUTH_TYPE=none OS_ENDPOINT={endpoint}");
    println!("  openstack network create net1");
    println!("  openstack subnet create --network net1 --subnet-range 192.0.2.0/24 sub1");
    if agents {
        println!("Boot a stand-in instance on it, and look into it:");
        println!("  neutrino instance create --network net1");
        println!("  neutrino instance exec vm1 -- ip address");
        println!();
        println!("Ctrl-C stops this process; networks and DHCP go on. `neutrino cleanup` removes everything.");
    } else {
        println!();
        println!("Ctrl-C stops it.");
    }
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let config = configuration(args)?;
    crate::logging::start(config.get(&options::DEBUG)?, config.get(&options::USE_JSON)?);
    let agents = is_root() && !args.no_agents;
    let host = if agents { Some(Netns::current()?) } else { None };
    crate::service::block_on(async {
        let mut embedded = Embedded::start(&config, host).await?;
        greet(embedded.address(), agents);
        let failed = tokio::select! {
            () = crate::service::asked_to_stop() => None,
            error = embedded.failed() => Some(error),
        };
        embedded.stop().await?;
        match failed {
            Some(error) => Err(error),
            None => Ok(()),
        }
    })
}

/// Removes everything that `up` and `instance` made on this machine, and the state directory's database.
pub fn cleanup(args: &Args) -> anyhow::Result<()> {
    if !is_root() {
        anyhow::bail!(
            "removing namespaces and bridges needs root: sudo neutrino cleanup --state-dir {}",
            args.state_dir.display()
        );
    }
    let config = configuration(args)?;
    crate::logging::start(config.get(&options::DEBUG)?, config.get(&options::USE_JSON)?);
    let host = Netns::current()?;
    let instances = neutrino::instance::cleanup(&neutrino::instance::Store::new(&args.state_dir))?;
    let mut problems = dhcp::cleanup(&config, &host)?;
    problems.extend(linuxbridge::cleanup(&config, &host)?);
    for name in ["neutrino.sqlite", "neutrino.sqlite-wal", "neutrino.sqlite-shm"] {
        let path = args.state_dir.join(name);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| path.display().to_string());
            }
            _ => {}
        }
    }
    println!("removed {instances} instances, all DHCP servers, bridges and tunnels of the agents, and the database");
    if !problems.is_empty() {
        anyhow::bail!("some things could not be removed:\n  {}", problems.join("\n  "));
    }
    Ok(())
}
