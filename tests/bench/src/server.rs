//! The server as a process of its own, in a directory of its own.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use linux::{Process as Pid, Program};

use crate::client::Client;

pub struct Process {
    program: PathBuf,
    arguments: Vec<String>,
    directory: PathBuf,
    pid: Pid,
    pub address: String,
    /// From exec to the first answer.
    pub started: Duration,
}

/// A loopback port that nobody listens on now.
fn free_port() -> anyhow::Result<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

async fn launch(program: &Path, arguments: &[String], directory: &Path) -> anyhow::Result<(Pid, String, Duration)> {
    let port = free_port()?;
    let address = format!("127.0.0.1:{port}");
    let log = directory.join("log");
    let program =
        Program::new(program).args(arguments).arg("--bind_port").arg(port.to_string()).env("NEUTRINO_LOG", "warn");
    let start = Instant::now();
    let pid = program.detach_logging(&log)?;
    loop {
        if let Ok(mut client) = Client::connect(&address).await {
            client.send("GET", "/", "").await?;
            return Ok((pid, address, start.elapsed()));
        }
        if start.elapsed() > Duration::from_secs(60) {
            bail!("the server does not answer; see {}", log.display());
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

impl Process {
    /// Starts a subcommand with a configuration for measuring: unlimited VNIs enough for the load, state in a new directory.
    pub async fn start(program: &Path, subcommand: &[&str]) -> anyhow::Result<Process> {
        let program = std::path::absolute(program)?;
        let directory = std::env::temp_dir().join(format!("neutrino-bench-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory)?;
        let file = directory.join("neutron.conf");
        let text = format!(
            "[DEFAULT]\nstate_path = {}\nauth_strategy = noauth\n[ml2]\ntype_drivers = vxlan,flat,vlan,local\ntenant_network_types = vxlan\n\
             mechanism_drivers = linuxbridge,l2population\n[ml2_type_vxlan]\nvni_ranges = 1:1000\n[quotas]\nquota_port = -1\n\
             quota_network = -1\nquota_subnet = -1\n",
            directory.display()
        );
        std::fs::write(&file, text).with_context(|| file.display().to_string())?;
        let mut arguments: Vec<String> = subcommand.iter().map(|text| (*text).to_owned()).collect();
        arguments.extend(["--config-file".into(), file.display().to_string()]);
        Process::run(&program, arguments, directory).await
    }

    /// Starts it with those arguments; what it logs goes to a directory, which is removed by [`Process::stop`].
    pub async fn run(program: &Path, arguments: Vec<String>, directory: PathBuf) -> anyhow::Result<Process> {
        let program = std::path::absolute(program)?;
        let (pid, address, started) = launch(&program, &arguments, &directory).await?;
        Ok(Process { program, arguments, directory, pid, address, started })
    }

    pub fn pid(&self) -> i32 {
        self.pid.pid()
    }

    async fn end(&self) -> anyhow::Result<()> {
        self.pid.terminate(Duration::from_secs(15))?;
        Ok(())
    }

    /// Stops it, and starts it again on what it has stored.
    pub async fn restart(self) -> anyhow::Result<Process> {
        self.end().await?;
        let (pid, address, started) = launch(&self.program, &self.arguments, &self.directory).await?;
        Ok(Process { pid, address, started, ..self })
    }

    pub fn rss_mb(&self) -> anyhow::Result<f64> {
        let text = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", self.pid.pid()))?;
        let line = text.lines().find(|line| line.starts_with("Rss:")).context("no Rss in smaps_rollup")?;
        let kib: f64 = line.split_whitespace().nth(1).context("no number")?.parse()?;
        Ok(kib / 1024.0)
    }

    pub async fn stop(self) -> anyhow::Result<()> {
        self.end().await?;
        std::fs::remove_dir_all(&self.directory).with_context(|| self.directory.display().to_string())
    }
}
