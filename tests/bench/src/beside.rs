//! `make bench-reference`: ours and the reference, one after the other on this machine, on one database of a MariaDB that keeps its promises
//! (every commit is on the disk), with one RabbitMQ, the same configuration files and the same identities. The reference makes the database;
//! the 10,000 ports of the list are made by ours, since that is quicker, and listed by both.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::json;
use testkit::broker;
use testkit::database::{Kind, Server};
use testkit::reference::{Deployment, Reference, family};

use crate::client::{Client, Load, load};
use crate::server::Process;
use crate::{fill, network};

/// Ports in the list.
const PORTS: usize = 10_000;

/// As small deployments have it, with both logs on the disk at every commit.
const DURABLE: [&str; 2] = ["--innodb-flush-log-at-trx-commit=1", "--innodb-buffer-pool-size=512M"];

/// What is measured of one of the two. Rates in answers a second, times in milliseconds, memory in MB.
struct Figures {
    start: f64,
    idle: (f64, f64),
    creates: Vec<(usize, Load)>,
    reads: Vec<(usize, Load)>,
    list: f64,
    list_bytes: usize,
    after: (f64, f64),
}

/// Resident and proportional set size of processes, MB: the second counts shared pages once.
fn memory(pids: &[i32]) -> anyhow::Result<(f64, f64)> {
    let (mut rss, mut pss) = (0.0, 0.0);
    for pid in pids {
        let Ok(text) = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")) else { continue };
        let of = |name: &str| -> anyhow::Result<f64> {
            let line = text.lines().find(|line| line.starts_with(name)).with_context(|| format!("no {name}"))?;
            Ok(line.split_whitespace().nth(1).context("no number")?.parse::<f64>()? / 1024.0)
        };
        rss += of("Rss:")?;
        pss += of("Pss:")?;
    }
    Ok((rss, pss))
}

/// Everything but the list, on a server with an empty network of its own.
async fn measure(address: &str, cidr: &str, seconds: f64, figures: &mut Figures) -> anyhow::Result<()> {
    let mut client = Client::connect(address).await?;
    let network = network(&mut client, cidr).await?;
    let body = json!({"port": {"network_id": network}}).to_string();
    let time = Duration::from_secs_f64(seconds);
    // The first request of every process finds things out.
    load(address, "POST", "/v2.0/ports", &body, 4, Duration::from_secs(1)).await?;
    for connections in [1, 4, 16] {
        let done = load(address, "POST", "/v2.0/ports", &body, connections, time).await?;
        anyhow::ensure!(done.failed == 0, "{} of the creates failed", done.failed);
        figures.creates.push((connections, done));
    }
    let one =
        client.send("GET", &format!("/v2.0/ports?limit=1&fields=id&network_id={network}"), "").await?.expect(200)?;
    let path = format!("/v2.0/ports/{}", one["ports"][0]["id"].as_str().context("there is a port")?);
    for connections in [1, 4, 16] {
        let done = load(address, "GET", &path, "", connections, time).await?;
        anyhow::ensure!(done.failed == 0, "{} of the reads failed", done.failed);
        figures.reads.push((connections, done));
    }
    Ok(())
}

async fn list(address: &str, network: &str, figures: &mut Figures) -> anyhow::Result<()> {
    let mut client = Client::connect(address).await?;
    let mut times = Vec::new();
    for _ in 0..3 {
        let start = Instant::now();
        let answer = client.send("GET", &format!("/v2.0/ports?network_id={network}"), "").await?;
        anyhow::ensure!(answer.status == 200, "the list: {}", answer.status);
        times.push(start.elapsed().as_secs_f64() * 1000.0);
        figures.list_bytes = answer.body.len();
        let list: serde_json::Value = serde_json::from_slice(&answer.body)?;
        let count = list["ports"].as_array().map_or(0, Vec::len);
        anyhow::ensure!(count >= PORTS, "{count} ports in the list");
    }
    times.sort_by(f64::total_cmp);
    figures.list = times[1];
    Ok(())
}

fn none() -> Figures {
    Figures {
        start: 0.0,
        idle: (0.0, 0.0),
        creates: Vec::new(),
        reads: Vec::new(),
        list: 0.0,
        list_bytes: 0,
        after: (0.0, 0.0),
    }
}

async fn ours(program: &Path, deployment: &Deployment) -> anyhow::Result<Process> {
    let mut arguments = vec!["server".to_owned()];
    arguments.extend(deployment.files());
    arguments.extend(["--bind_host", "127.0.0.1", "--host", "neutrino"].map(str::to_owned));
    let directory = std::env::temp_dir().join(format!("neutrino-bench-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    Process::run(program, arguments, directory).await
}

fn line(what: &str, ours: &str, reference: &str, ratio: f64) {
    println!("{what:<44} {ours:>26} {reference:>26} {ratio:>8.1}x");
}

fn print(ours: &Figures, reference: &Figures) {
    println!("{:<44} {:>26} {:>26} {:>9}", "", "ours", "reference", "ratio");
    let seconds = |figures: &Figures| format!("{:.2} s", figures.start);
    line("start to first answer", &seconds(ours), &seconds(reference), reference.start / ours.start);
    for (what, of) in
        [("POST /ports", (&ours.creates, &reference.creates)), ("GET one port", (&ours.reads, &reference.reads))]
    {
        for ((connections, one), (_, other)) in of.0.iter().zip(of.1) {
            let text = |load: &Load| format!("{:.0}/s, p50 {:.1} ms", load.rate(), load.p50_ms());
            let what = format!("{what}, {connections} connection{}", if *connections == 1 { "" } else { "s" });
            line(&what, &text(one), &text(other), one.rate() / other.rate());
        }
    }
    let text = |figures: &Figures| format!("{:.0} ms, {:.1} MB", figures.list, figures.list_bytes as f64 / 1e6);
    line(&format!("list of {PORTS} ports"), &text(ours), &text(reference), reference.list / ours.list);
    let text = |(rss, pss): (f64, f64)| format!("{rss:.0} MB (PSS {pss:.0})");
    line("RSS of all processes, idle", &text(ours.idle), &text(reference.idle), reference.idle.0 / ours.idle.0);
    line(
        "RSS of all processes, after the load",
        &text(ours.after),
        &text(reference.after),
        reference.after.0 / ours.after.0,
    );
}

/// Measures both and prints a table.
pub fn run(program: &Path, seconds: f64) -> anyhow::Result<()> {
    let server = Server::start_in(Kind::Mariadb, &std::env::temp_dir(), &DURABLE);
    let database = server.database();
    let broker = broker::fresh();
    let more = "[quotas]\nquota_network = -1\nquota_subnet = -1\nquota_port = -1\n";
    let deployment = Deployment::new(&database.url(), &broker.url(), more);
    deployment.manage(&["upgrade", "heads"]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    println!(
        "neutrino beside neutron {}: one MariaDB (every commit on the disk), one RabbitMQ, {seconds} s a load; the reference with {} processes of its API",
        testkit::reference::RELEASE,
        testkit::reference::API_PROCESSES
    );
    let (mut mine, mut theirs) = (none(), none());
    let large = runtime.block_on(async {
        // The first start settles the segmentation ids.
        ours(program, &deployment).await?.stop().await?;
        let process = ours(program, &deployment).await?;
        mine.start = process.started.as_secs_f64();
        mine.idle = memory(&family(process.pid()))?;
        measure(&process.address, "10.1.0.0/16", seconds, &mut mine).await?;
        let mut client = Client::connect(&process.address).await?;
        let large = network(&mut client, "10.3.0.0/16").await?;
        fill(&mut client, &large, PORTS).await?;
        list(&process.address, &large, &mut mine).await?;
        mine.after = memory(&family(process.pid()))?;
        process.stop().await?;
        anyhow::Ok(large)
    })?;
    let reference: Reference<'_> = deployment.start();
    let address = reference.base().trim_start_matches("http://").to_owned();
    theirs.start = reference.started.as_secs_f64();
    theirs.idle = memory(&reference.pids())?;
    runtime.block_on(async {
        measure(&address, "10.2.0.0/16", seconds, &mut theirs).await?;
        list(&address, &large, &mut theirs).await
    })?;
    theirs.after = memory(&reference.pids())?;
    print(&mine, &theirs);
    Ok(())
}
