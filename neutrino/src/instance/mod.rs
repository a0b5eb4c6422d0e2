//! `neutrino instance`: stand-in instances, to see a network work without a hypervisor.
//!
//! An instance is a network namespace `instance-<name>` with a card `eth0` behind a host device `tap<first 11 of the
//! port's id>`, as a hypervisor would name it; the agent of the host wires that device. Real DHCP clients run inside.
//! Its port is made and deleted through the REST API, as the compute service does it. What is needed to take an
//! instance away again stands in a file per instance under the state directory, written before anything is made.

mod api;
mod create;
mod state;
#[cfg(test)]
mod tests;

use std::{io::Write, path::PathBuf, time::Duration};

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use linux::Program;

pub use self::{
    api::{Api, ApiError, Identity, Port},
    create::{Created, Request, create},
    state::{Instance, Store, netns_name},
};

/// `neutrino instance …`.
#[derive(Debug, Args)]
pub struct InstanceArgs {
    /// Address of the network service.
    #[arg(long, env = "OS_ENDPOINT", default_value = "http://127.0.0.1:9696", global = true)]
    pub endpoint: String,
    /// Project that owns the ports; the administrator's without it.
    #[arg(long, env = "OS_PROJECT_ID", global = true)]
    pub project: Option<String>,
    /// Identity token, where the service wants one.
    #[arg(long, env = "OS_TOKEN", hide_env_values = true, global = true)]
    pub token: Option<String>,
    /// Directory that remembers the instances.
    #[arg(long, env = "NEUTRINO_STATE", default_value = "./var", global = true)]
    pub state_dir: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Boot an instance on a network: make its port, plug it in, and get its addresses by DHCP.
    Create {
        /// Name or id of the network.
        #[arg(long)]
        network: String,
        /// Name of the instance; vm1, vm2… without it.
        #[arg(long)]
        name: Option<String>,
        /// Name of this host as its agents report it; its host name without it.
        #[arg(long)]
        host: Option<String>,
        /// Seconds that the port may take to become active, and again a DHCP server to answer.
        #[arg(long, default_value_t = 30)]
        timeout: u64,
        /// Leave the port and the namespace in place when it fails, to look at them.
        #[arg(long)]
        keep: bool,
    },
    /// List the instances of this host.
    List,
    /// Run a program in an instance.
    Exec {
        /// Name of the instance.
        name: String,
        /// The program and its arguments, after `--`.
        #[arg(last = true, required = true)]
        program: Vec<String>,
    },
    /// Delete instances with their ports.
    Delete {
        /// Names of the instances.
        #[arg(required = true)]
        names: Vec<String>,
    },
}

/// Runs the subcommand. Its results go to standard output; an error says what to do.
pub fn run(args: InstanceArgs) -> Result<()> {
    let api = Api::new(&args.endpoint, Identity { token: args.token, project: args.project })?;
    let store = Store::new(&args.state_dir);
    let mut out = std::io::stdout().lock();
    match args.command {
        Command::Create { network, name, host, timeout, keep } => {
            need_root("create")?;
            let request = Request { network, name, host, timeout: Duration::from_secs(timeout), keep };
            let created = create(&api, &store, &request, &mut |after, step| {
                // Progress is a courtesy: where nobody reads it the work goes on.
                let _ = writeln!(out, "{:>8.3} s  {step}", after.as_secs_f64());
            })?;
            writeln!(out, "{created}")?;
        }
        Command::List => list(&api, &store, &mut out)?,
        Command::Exec { name, program } => {
            need_root("exec")?;
            let instance = store.get(&name)?;
            let (program, arguments) = program.split_first().context("no program given")?;
            let namespace = instance.netns().with_context(|| format!("instance {name} is not running"))?;
            return Err(Program::new(program).args(arguments).netns(&namespace).exec().into());
        }
        Command::Delete { names } => {
            need_root("delete")?;
            let mut failed = 0;
            for name in &names {
                match delete(&api, &store, name) {
                    Ok(()) => writeln!(out, "instance {name} is deleted")?,
                    Err(error) => {
                        failed += 1;
                        writeln!(std::io::stderr(), "instance {name}: {error:#}")?;
                    }
                }
            }
            if failed > 0 {
                bail!("{failed} of {} instances are not deleted", names.len());
            }
        }
    }
    Ok(())
}

/// Takes an instance away: first its part on the host, then its port. Can be repeated until it succeeds.
pub fn delete(api: &Api, store: &Store, name: &str) -> Result<()> {
    let instance = store.get(name)?;
    instance.unplug(store)?;
    if let Some(port) = &instance.port {
        api.delete_port(port).with_context(|| {
            format!("it is unplugged, but its port {port} remains; delete again when the service answers")
        })?;
    }
    store.forget(name)
}

/// Takes away the parts of all instances that are on this host, and forgets them. Their ports are not deleted.
///
/// How many there were.
pub fn cleanup(store: &Store) -> Result<usize> {
    let instances = store.list()?;
    for instance in &instances {
        instance.unplug(store)?;
        store.forget(&instance.name)?;
    }
    Ok(instances.len())
}

fn list(api: &Api, store: &Store, out: &mut impl Write) -> Result<()> {
    let instances = store.list()?;
    if instances.is_empty() {
        writeln!(out, "no instances; boot one with `neutrino instance create --network NAME`")?;
        return Ok(());
    }
    let mut rows = vec![["NAME", "NETWORK", "MAC", "ADDRESSES", "DEVICE", "PORT"].map(str::to_owned)];
    for instance in instances {
        let status = match instance.port.as_deref().map(|port| api.port(port)) {
            Some(Ok(port)) => port.status,
            Some(Err(error)) if error.is_not_found() => "deleted".to_owned(),
            Some(Err(_)) => "unknown".to_owned(),
            None => "none".to_owned(),
        };
        let device = if instance.netns().is_ok() { instance.tap.clone() } else { "not running".to_owned() };
        let addresses = instance.addresses().join(", ");
        rows.push([instance.name, instance.network_name, instance.mac, addresses, device, status]);
    }
    write!(out, "{}", table(&rows))?;
    Ok(())
}

/// Columns as wide as their widest cell.
fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let widths: [usize; N] = std::array::from_fn(|i| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or(0));
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            line += &format!("{cell:width$}  ");
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

fn need_root(command: &str) -> Result<()> {
    // An effective user of 0, as /proc tells it; the owner of /proc/self is that user.
    use std::os::unix::fs::MetadataExt;
    let root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    if !root {
        bail!("making namespaces and devices needs root; run: sudo -E neutrino instance {command} …");
    }
    Ok(())
}
