//! `make bench`: figures of a release build on this machine, on SQLite. Figures, not thresholds: nothing fails by being slow.
//!
//! The API is measured over loopback by keep-alive connections that send the next request when the last is answered, as
//! the reference was. The server is a process of its own; memory is its resident set.

mod beside;
mod client;
mod dhcp;
mod server;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Parser;
use serde_json::json;

use client::{Client, Load};
use server::Process;

#[derive(Parser)]
struct Args {
    /// The program to measure.
    #[arg(long)]
    program: PathBuf,
    /// Seconds of each load.
    #[arg(long, default_value_t = 4.0)]
    seconds: f64,
    /// Ports in the large subnet.
    #[arg(long, default_value_t = 30_000)]
    ports: usize,
    /// DHCP networks, cold and warm (needs root).
    #[arg(long, default_value_t = 300)]
    networks: usize,
    /// Only the API.
    #[arg(long)]
    no_dhcp: bool,
    /// Beside the reference, on one MariaDB.
    #[arg(long)]
    reference: bool,
}

fn row(what: &str, figures: &str) {
    println!("{what:<58} {figures}");
}

async fn create_ports(address: &str, body: &str, connections: usize, seconds: f64) -> anyhow::Result<Load> {
    client::load(address, "POST", "/v2.0/ports", body, connections, Duration::from_secs_f64(seconds)).await
}

/// Fills a network with ports, in bulk.
async fn fill(client: &mut Client, network: &str, count: usize) -> anyhow::Result<()> {
    let mut left = count;
    while left > 0 {
        let size = left.min(200);
        let ports: Vec<_> = (0..size).map(|_| json!({"network_id": network})).collect();
        client.send("POST", "/v2.0/ports", &json!({"ports": ports}).to_string()).await?.expect(201)?;
        left -= size;
    }
    Ok(())
}

async fn network(client: &mut Client, cidr: &str) -> anyhow::Result<String> {
    let network = client.send("POST", "/v2.0/networks", r#"{"network":{}}"#).await?.expect(201)?;
    let id = network["network"]["id"].as_str().context("a network has an id")?.to_owned();
    let subnet = json!({"subnet": {"network_id": id, "ip_version": 4, "cidr": cidr}}).to_string();
    client.send("POST", "/v2.0/subnets", &subnet).await?.expect(201)?;
    Ok(id)
}

async fn api(args: &Args) -> anyhow::Result<()> {
    let start = Instant::now();
    let server = Process::start(&args.program, &["server"]).await?;
    row(
        "start to first answer, empty directory (schema is created)",
        &format!("{:.3} s", start.elapsed().as_secs_f64()),
    );
    let server = server.restart().await?;
    row("start to first answer, existing database", &format!("{:.3} s", server.started.as_secs_f64()));
    let mut client = Client::connect(&server.address).await?;
    let quotas = json!({"quota": {"port": -1, "network": -1, "subnet": -1}}).to_string();
    let answer = client.send("PUT", "/v2.0/quotas/admin", &quotas).await?;
    if answer.status != 200 && answer.status != 404 {
        anyhow::bail!("quotas: {} {}", answer.status, String::from_utf8_lossy(&answer.body));
    }
    row("RSS idle", &format!("{:.1} MB", server.rss_mb()?));

    let small = network(&mut client, "10.1.0.0/16").await?;
    let body = json!({"port": {"network_id": small}}).to_string();
    let mut empty = 0.0;
    for connections in [1, 4, 16] {
        let load = create_ports(&server.address, &body, connections, args.seconds).await?;
        if connections == 1 {
            empty = load.p50_ms();
        }
        row(&format!("POST /ports, {connections} connections, small subnet"), &load.to_string());
    }
    let large = network(&mut client, "10.2.0.0/16").await?;
    fill(&mut client, &large, args.ports).await?;
    let body = json!({"port": {"network_id": large}}).to_string();
    for connections in [1, 16] {
        let load = create_ports(&server.address, &body, connections, args.seconds).await?;
        row(&format!("POST /ports, {connections} connections, {} ports in the subnet", args.ports), &load.to_string());
        if connections == 1 {
            row("  p50 against the small subnet", &format!("{:.2} times", load.p50_ms() / empty));
        }
    }
    let one = client.send("GET", "/v2.0/ports?limit=1&fields=id", "").await?.expect(200)?;
    let path = format!("/v2.0/ports/{}", one["ports"][0]["id"].as_str().context("there is a port")?);
    for connections in [1, 4, 16] {
        let load =
            client::load(&server.address, "GET", &path, "", connections, Duration::from_secs_f64(args.seconds)).await?;
        row(&format!("GET one port, {connections} connections"), &load.to_string());
    }
    let mut times = Vec::new();
    let mut length = 0;
    for _ in 0..5 {
        let start = Instant::now();
        let answer = client.send("GET", &format!("/v2.0/ports?limit=10000&network_id={large}"), "").await?;
        times.push(start.elapsed().as_secs_f64() * 1000.0);
        length = answer.body.len();
    }
    times.sort_by(f64::total_cmp);
    row("list of 10,000 ports", &format!("{:.0} ms (median of 5, {:.1} MB)", times[2], length as f64 / 1e6));
    let total =
        client.send("GET", "/v2.0/ports?fields=id", "").await?.expect(200)?["ports"].as_array().map_or(0, Vec::len);
    if total < 50_000 {
        fill(&mut client, &large, (50_000 - total).min(65_000usize.saturating_sub(args.ports))).await.ok();
    }
    let total =
        client.send("GET", "/v2.0/ports?fields=id", "").await?.expect(200)?["ports"].as_array().map_or(0, Vec::len);
    row(&format!("RSS with {total} ports, after the load above"), &format!("{:.1} MB", server.rss_mb()?));
    server.stop().await
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    if args.reference {
        return beside::run(&args.program, args.seconds);
    }
    println!("neutrino bench, SQLite, {} s a load", args.seconds);
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime()?.block_on(api(&args))?;
    if args.no_dhcp {
        return Ok(());
    }
    if !linux::is_root() {
        row("port create to ACTIVE, DHCP networks", "not measured: needs root (sudo make bench)");
        return Ok(());
    }
    dhcp::run(args.networks)
}
