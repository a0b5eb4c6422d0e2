//! Our server and the reference's on one database and one broker, at the same time: a random load to both, then both say the same of every
//! object, and the database holds what it must (`load.py`, `alike.py`, `invariants.sql`).
//!
//! Both read the same configuration files. The database is made by the one or the other.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use linux::Program;
use server::{Roles, Server, Setup};
use testkit::broker;
use testkit::database::{self, Database, Kind};
use testkit::reference::Deployment;

/// Longer than any load takes.
const LONG: Duration = Duration::from_secs(7200);

/// Who makes the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Maker {
    /// `neutron-db-manage upgrade heads`
    Reference,
    /// `neutrino db upgrade`
    Ours,
}

/// A load.
#[derive(Debug, Clone, clap::Args)]
pub struct Load {
    /// Requests in all.
    #[arg(long, default_value_t = 10_000)]
    pub operations: usize,
    /// Clients at once.
    #[arg(long, default_value_t = 8)]
    pub clients: usize,
    /// What the clients do follows from it, but for how their requests fall together.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    #[arg(long, value_enum, default_value = "reference")]
    pub made_by: Maker,
    /// A file for every request and answer.
    #[arg(long)]
    pub journal: Option<PathBuf>,
}

fn room(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Our server, with the reference's files, until the value goes.
struct Ours {
    runtime: tokio::runtime::Runtime,
    server: Option<Server>,
    base: String,
}

impl Ours {
    fn start(deployment: &Deployment) -> anyhow::Result<Ours> {
        let lists = [server::OPTIONS, runtime::transport::OPTIONS, neutrino::reference::OPTIONS];
        let loader = lists.iter().fold(runtime::options::loader(), |loader, options| loader.declare(options));
        let mut arguments = deployment.files();
        arguments.extend(["--bind_host", "127.0.0.1", "--bind_port", "0", "--host", "neutrino"].map(str::to_owned));
        let config = loader.arguments(&arguments, &config::DefaultFiles::default())?.load()?;
        let setup = Setup::read(&config)?;
        let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let server = threads.block_on(async {
            let bus = runtime::transport::bus_or_local(&config, "neutron-server")?;
            let store = server::open_store(&setup, Path::new("/nonexistent")).await?;
            let roles = Roles { api: true, rpc: true, host: "neutrino".to_owned() };
            Server::start_as(&roles, &setup, store, bus).await
        })?;
        let base = format!("http://{}", server.address);
        Ok(Ours { runtime: threads, server: Some(server), base })
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        if let Some(server) = self.server.take()
            && let Err(error) = self.runtime.block_on(server.stop())
        {
            eprintln!("our server did not stop in order: {error:#}");
        }
    }
}

/// Runs a load, prints what came of it, and fails when anything is wrong.
pub fn run(load: &Load) -> anyhow::Result<()> {
    let _ = tracing_subscriber::fmt()
        .with_env_filter("warn,lapin=off,network=error")
        .with_writer(std::io::stderr)
        .try_init();
    let start = Instant::now();
    let database = database::fresh(Kind::Mariadb);
    let broker = broker::fresh();
    let deployment = Deployment::new(&database.url(), &broker.url(), "");
    match load.made_by {
        Maker::Reference => drop(deployment.manage(&["upgrade", "heads"])),
        Maker::Ours => {
            let threads = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            threads.block_on(async {
                let store = store::Store::open(store::Options::new(database.url())).await?;
                store::migrate::upgrade(&store, migrations::ALL).await?;
                store.close().await?;
                anyhow::Ok(())
            })?;
        }
    }
    let agents = std::fs::read_to_string(room("../differential/agents.sql")).context("the agents")?;
    database.run(&format!("SET sql_mode = 'ANSI_QUOTES';\n{agents}"));
    println!("database made by {:?} after {:.0} s", load.made_by, start.elapsed().as_secs_f64());
    let reference = deployment.start();
    let ours = Ours::start(&deployment)?;
    println!("both serve after {:.0} s", start.elapsed().as_secs_f64());
    let refused = deployment.path("refused");
    let mut driver = Program::new("python3").arg(room("load.py")).env("PYTHONDONTWRITEBYTECODE", "1");
    driver = driver.args(["--ours", &ours.base, "--reference", &reference.base(), "--refused"]).arg(&refused);
    for (name, value) in [("operations", load.operations as u64), ("clients", load.clients as u64), ("seed", load.seed)]
    {
        driver = driver.arg(format!("--{name}={value}"));
    }
    if let Some(journal) = &load.journal {
        driver = driver.arg("--journal").arg(journal);
    }
    let done = driver.run(LONG).context("python3")?;
    print!("{}{}", done.stdout, done.stderr);
    let mut wrong = violations(&database)?;
    wrong.extend(traces(&database, &std::fs::read_to_string(&refused).unwrap_or_default()));
    // What a request of the reference that hangs has taken is not given back yet.
    if done.stdout.contains("gave no answer") {
        wrong.retain(|line| !line.starts_with("I1 what address management") && !line.starts_with("I3 no reservation"));
    }
    for line in &wrong {
        println!("WRONG: {line}");
    }
    println!("{} invariants broken; {:.0} s in all", wrong.len(), start.elapsed().as_secs_f64());
    if !done.success() || !wrong.is_empty() {
        if let Some(journal) = &load.journal {
            std::fs::write(journal.with_extension("log"), reference.log())?;
        }
        anyhow::bail!("the two do not agree, or the database holds what it must not");
    }
    Ok(())
}

/// What the queries of `invariants.sql` find.
fn violations(database: &Database) -> anyhow::Result<Vec<String>> {
    let text = std::fs::read_to_string(room("invariants.sql")).context("the invariants")?;
    let mut found = Vec::new();
    let mut name = "";
    for line in text.lines() {
        match line.strip_prefix("-- ") {
            Some(comment) => name = comment,
            None if line.is_empty() => {}
            None => found.extend(database.run(line).lines().map(|row| format!("{name}: {row}"))),
        }
    }
    Ok(found)
}

/// Objects that were made by requests that were refused.
fn traces(database: &Database, refused: &str) -> Vec<String> {
    let marks: Vec<String> = refused.lines().map(|mark| format!("'{mark}'")).collect();
    let mut found = Vec::new();
    for some in marks.chunks(500) {
        let list = some.join(", ");
        let sql = format!(
            "SELECT CONCAT(resource_type, ' ', description) FROM standardattributes WHERE description IN ({list})"
        );
        found.extend(database.run(&sql).lines().map(|row| format!("I8 a refused request left nothing: {row}")));
    }
    found
}
