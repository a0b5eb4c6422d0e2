//! One program for the whole service. `neutrino server`, `neutrino dhcp-agent`… run one part of it as the Python programs
//! do, also when called by their names (`neutron-server`, `neutron-dhcp-agent`…); `neutrino up` runs all of them in one
//! process.

mod database;
mod logging;
mod policy;
mod service;
mod up;

use std::process::ExitCode;

/// Half of a create and a third of a list are allocations. Against glibc's: 20 % less CPU, and the memory of a long answer goes
/// back to the system.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

use clap::{Parser, Subcommand};

/// OpenStack Networking in one program.
#[derive(Parser)]
#[command(name = "neutrino", version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run everything on this machine: API, DHCP agent and Linux bridge agent.
    Up(up::Args),
    /// Remove everything that `up` and `instance` made on this machine.
    Cleanup(up::Args),
    /// Watch instances get their networks, in throw-away namespaces.
    Demo(neutrino::demo::Args),
    /// Serve the API and RPC.
    #[command(visible_alias = "api")]
    Server(Options),
    /// Answer agents over RabbitMQ, without the API; as many of it as wanted.
    RpcServer(Options),
    /// Serve DHCP on the networks that the server gives this host.
    DhcpAgent(Options),
    /// Wire the ports of this host with Linux bridges.
    LinuxbridgeAgent(Options),
    /// Stand-in instances: namespaces with a DHCP client, to see networks work without a hypervisor.
    Instance(neutrino::instance::InstanceArgs),
    /// Print the options that hold, each with where its value comes from.
    Config(Options),
    /// The policy rules that hold, and what they say.
    Policy(policy::Args),
    /// Create or bring up to date the database, or look at it.
    Db(database::Args),
}

/// What the Python programs take: --config-file, --config-dir, and any option as --name value.
#[derive(clap::Args)]
struct Options {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
    options: Vec<String>,
}

/// Names of the Python programs, for unit files that keep theirs.
const PYTHON_NAMES: &[(&str, &str)] = &[
    ("neutron-server", "server"),
    ("neutron-rpc-server", "rpc-server"),
    ("neutron-dhcp-agent", "dhcp-agent"),
    ("neutron-linuxbridge-agent", "linuxbridge-agent"),
];

fn arguments() -> Vec<String> {
    let mut arguments: Vec<String> = std::env::args().collect();
    let name = arguments.first().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
    if let Some((_, command)) = PYTHON_NAMES.iter().find(|(python, _)| *python == name) {
        arguments.insert(1, (*command).to_owned());
    }
    arguments
}

fn main() -> ExitCode {
    let cli = Cli::parse_from(arguments());
    let done = match cli.command {
        Command::Server(options) => service::server(&options.options),
        Command::RpcServer(options) => service::rpc_server(&options.options),
        Command::DhcpAgent(options) => service::dhcp_agent(&options.options),
        Command::LinuxbridgeAgent(options) => service::linuxbridge_agent(&options.options),
        Command::Up(args) => up::run(&args),
        Command::Cleanup(args) => up::cleanup(&args),
        Command::Demo(args) => neutrino::demo::run(&args),
        Command::Instance(args) => neutrino::instance::run(args),
        Command::Config(options) => service::show_configuration(&options.options),
        Command::Policy(args) => policy::run(args),
        Command::Db(args) => database::run(args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("neutrino: {error:#}");
            ExitCode::FAILURE
        }
    }
}
