//! `neutrino demo`: instances get their networks, end to end, in throw-away namespaces.
//!
//! The program runs itself again inside [`linux::sandbox`], where it is the first process: nothing of the machine's network is touched,
//! and however it ends, the kernel takes everything away. Inside runs what `neutrino up` runs ([`crate::embedded`]), and instances as
//! `neutrino instance` boots them.

mod checks;
mod guest;
mod paper;
mod scenario;

use std::{
    fs::File,
    io::IsTerminal,
    path::{Path, PathBuf},
    sync::Mutex,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use linux::{Netns, sandbox};

use self::{checks::Checks, paper::Paper};
use crate::embedded::{self, Embedded};

/// Set inside, to the process outside.
const INSIDE: &str = "NEUTRINO_DEMO_INSIDE";
/// In memory, and gone with the inside.
const STATE: &str = "/run/neutrino";
/// The names of the host and of the physical network are for readers only.
const HOST: &str = "demo";
/// On top of the defaults of `neutrino up`.
const OPTIONS: &str = "\
[DEFAULT]
host = demo
[linux_bridge]
physical_interface_mappings = datacentre:uplink
";

/// `neutrino demo`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Keep everything up at the end, until Ctrl-C.
    #[arg(long, env = "DEMO_STAY", value_parser = clap::builder::FalseyValueParser::new())]
    stay: bool,
    /// Boot a real guest under QEMU instead: a directory with `kernel` and `initrd`, as `make demo-vm` makes it.
    #[arg(long, value_name = "DIRECTORY")]
    guest: Option<PathBuf>,
}

/// Runs the demonstration; an error when a check failed.
pub fn run(args: &Args) -> Result<()> {
    match std::env::var(INSIDE) {
        Ok(outside) => inside(args, &outside),
        Err(_) => outside(args),
    }
}

fn outside(args: &Args) -> Result<()> {
    if !linux::is_root() {
        bail!("making namespaces needs root; run: sudo --preserve-env=HOME,PATH make demo");
    }
    let missing = missing_programs(args.guest.is_some());
    if !missing.is_empty() {
        bail!("programs are missing; run: apt-get install {}", missing.join(" "));
    }
    let program = std::env::current_exe().context("the path of this program")?;
    let mut arguments = vec!["demo".to_owned()];
    if args.stay {
        arguments.push("--stay".to_owned());
    }
    if let Some(guest) = &args.guest {
        arguments.extend(["--guest".to_owned(), std::path::absolute(guest)?.display().to_string()]);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let own = std::process::id().to_string();
    Err(sandbox::exec(program, &arguments, &[(INSIDE, &own)]).into())
}

/// Packages of programs that the demonstration needs and that are not there.
fn missing_programs(with_guest: bool) -> Vec<&'static str> {
    const NEEDED: &[(&str, &str)] = &[
        ("dnsmasq", "dnsmasq-base"),
        ("udhcpc", "udhcpc"),
        ("dhclient", "isc-dhcp-client"),
        ("ping", "iputils-ping"),
        ("unshare", "util-linux"),
    ];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |program: &str| std::env::split_paths(&path).any(|dir| dir.join(program).exists());
    let of_guest = with_guest.then_some(&("qemu-system-x86_64", "qemu-system-x86"));
    let needed = NEEDED.iter().chain(of_guest);
    needed.filter(|(program, _)| !is_there(program)).map(|(_, package)| *package).collect()
}

fn inside(args: &Args, outside: &str) -> Result<()> {
    let start = Instant::now();
    sandbox::settle()?;
    std::fs::create_dir_all(STATE)?;
    let log = Path::new(STATE).join("log");
    log_to(&log)?;
    let paper = Paper::new(start, std::io::stdout().is_terminal());
    let mut checks = Checks::default();
    let played = play(&paper, &mut checks, args, outside);
    if let Err(error) = &played {
        checks.failed += 1;
        paper.error(&format!("{error:#}"));
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        for line in lines.iter().skip(lines.len().saturating_sub(20)) {
            paper.line(&format!("log: {line}"));
        }
    }
    println!("demo: {} checks passed, {} failed", checks.passed, checks.failed);
    if checks.failed > 0 { std::process::exit(1) } else { Ok(()) }
}

/// The parts' own logs would be in the way; they are shown when something fails.
fn log_to(path: &Path) -> Result<()> {
    let file = File::create(path).with_context(|| path.display().to_string())?;
    let filter = tracing_subscriber::EnvFilter::try_from_env("NEUTRINO_LOG").unwrap_or_else(|_| "info".into());
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_target(false);
    let _ = log.with_writer(Mutex::new(file)).try_init();
    Ok(())
}

fn play(paper: &Paper, checks: &mut Checks, args: &Args, outside: &str) -> Result<()> {
    paper.title(match args.guest {
        Some(_) => "Neutrino: a real guest gets its network, in throw-away namespaces.",
        None => "Neutrino: three instances get their networks, in throw-away namespaces.",
    });
    scenario::build_datacentre()?;
    let config = embedded::loader(Path::new(STATE)).text("the demonstration", OPTIONS).load()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let host = Netns::current()?;
    let embedded = runtime.block_on(Embedded::start(&config, Some(host)))?;
    let endpoint = format!("http://{}", embedded.address());
    let mut played = match &args.guest {
        Some(image) => guest::play(paper, checks, &endpoint, image),
        None => scenario::play(paper, checks, &endpoint),
    };
    if played.is_ok() && args.stay {
        paper.invite(&endpoint, STATE, outside);
        played = runtime.block_on(stop_asked());
    }
    // dnsmasq and the DHCP clients end with this process; the parts of the service are asked to, since that must work too.
    let stopped = runtime.block_on(async { tokio::time::timeout(Duration::from_secs(10), embedded.stop()).await });
    runtime.shutdown_timeout(Duration::from_secs(1));
    played?;
    stopped.context("the service did not stop")?
}

async fn stop_asked() -> Result<()> {
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        done = tokio::signal::ctrl_c() => done?,
        _ = terminate.recv() => {}
    }
    Ok(())
}
