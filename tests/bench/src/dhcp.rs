//! The way from the API to the host: ports to ACTIVE, and DHCP for many networks. In a host made of namespaces, with the
//! whole service in this process.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use linux::{Netns, Process};
use neutrino::embedded::{self, Embedded};
use neutrino::instance::{self, Api, Request, Store};
use serde_json::{Value, json};
use testkit::lab::Lab;

use crate::client::Client;
use crate::row;

const PATIENCE: Duration = Duration::from_secs(300);

async fn up(state: &Path) -> anyhow::Result<Embedded> {
    let config = embedded::loader(state)
        .text("bench", "[DEFAULT]\nbind_port = 0\n[quotas]\nquota_port = -1\nquota_network = -1\nquota_subnet = -1\n")
        .load()?;
    Embedded::start(&config, Some(Netns::current()?)).await
}

async fn until(what: &str, mut done: impl AsyncFnMut() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    let start = Instant::now();
    while !done().await? {
        if start.elapsed() > PATIENCE {
            bail!("{what}: not within {PATIENCE:?}");
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

async fn active_dhcp_ports(client: &mut Client) -> anyhow::Result<usize> {
    let path = "/v2.0/ports?device_owner=network:dhcp&status=ACTIVE&fields=id";
    let answer = client.send("GET", path, "").await?.expect(200)?;
    Ok(answer["ports"].as_array().map_or(0, Vec::len))
}

fn dnsmasqs(state: &Path) -> Vec<i32> {
    let marker = state.display().to_string();
    let ours = |arguments: &[String]| {
        arguments.first().is_some_and(|program| program.ends_with("dnsmasq"))
            && arguments.iter().any(|argument| argument.contains(&marker))
    };
    let mut pids: Vec<i32> = linux::proc::find(ours).unwrap_or_default().iter().map(Process::pid).collect();
    pids.sort_unstable();
    pids
}

async fn networks(state: &Path, count: usize) -> anyhow::Result<()> {
    let embedded = up(state).await?;
    until("the agents report", async || {
        let mut client = Client::connect(&embedded.address().to_string()).await?;
        let agents = client.send("GET", "/v2.0/agents", "").await?.expect(200)?;
        Ok(agents["agents"].as_array().is_some_and(|list| list.len() == 2))
    })
    .await?;
    let mut client = Client::connect(&embedded.address().to_string()).await?;
    let start = Instant::now();
    for i in 0..count {
        let network = client.send("POST", "/v2.0/networks", r#"{"network":{"name":"bench"}}"#).await?.expect(201)?;
        let cidr = format!("10.{}.{}.0/24", 100 + i / 250, i % 250);
        let subnet = json!({"subnet": {"network_id": network["network"]["id"], "ip_version": 4, "cidr": cidr}});
        client.send("POST", "/v2.0/subnets", &subnet.to_string()).await?.expect(201)?;
    }
    until("DHCP serves the networks", async || Ok(active_dhcp_ports(&mut client).await? >= count)).await?;
    until("dnsmasq runs for each", async || Ok(dnsmasqs(state).len() >= count)).await?;
    row(
        &format!("{count} DHCP networks, cold (from the first request)"),
        &format!("{:.2} s", start.elapsed().as_secs_f64()),
    );
    let before = dnsmasqs(state);
    drop(client);
    embedded.stop().await?;

    let start = Instant::now();
    let embedded = up(state).await?;
    let mut client = Client::connect(&embedded.address().to_string()).await?;
    let list = client.send("GET", "/v2.0/networks?fields=id&limit=1", "").await?.expect(200)?;
    let network = list["networks"][0]["id"].as_str().context("there is a network")?.to_owned();
    // Served while the sync of all others runs.
    let api = Api::new(&format!("http://{}", embedded.address()), instance::Identity::default())?;
    let request = Request { network, name: Some("warm".into()), host: None, timeout: PATIENCE, keep: false };
    let store = Store::new(state);
    let created =
        tokio::task::spawn_blocking(move || instance::create(&api, &store, &request, &mut |_, _| {})).await??;
    row(
        "  restart with them: start to a new port's lease",
        &format!(
            "{:.2} s (create to ACTIVE {:.3} s)",
            start.elapsed().as_secs_f64(),
            created.active_after.as_secs_f64()
        ),
    );
    let kept = dnsmasqs(state).iter().filter(|pid| before.contains(pid)).count();
    row("  DHCP servers that the restart left running", &format!("{kept} of {}", before.len()));
    drop(client);
    embedded.stop().await
}

async fn ports(state: &Path, rounds: usize) -> anyhow::Result<()> {
    let embedded = up(state).await?;
    let mut client = Client::connect(&embedded.address().to_string()).await?;
    until("the agents report", async || {
        let agents = client.send("GET", "/v2.0/agents", "").await?.expect(200)?;
        Ok(agents["agents"].as_array().is_some_and(|list| list.len() == 2))
    })
    .await?;
    let network: Value = client.send("POST", "/v2.0/networks", r#"{"network":{"name":"ports"}}"#).await?.expect(201)?;
    let subnet = json!({"subnet": {"network_id": network["network"]["id"], "ip_version": 4, "cidr": "192.0.2.0/24"}});
    client.send("POST", "/v2.0/subnets", &subnet.to_string()).await?.expect(201)?;
    until("DHCP serves the network", async || Ok(active_dhcp_ports(&mut client).await? == 1)).await?;
    let address = format!("http://{}", embedded.address());
    let store = Store::new(state);
    let times = tokio::task::spawn_blocking(move || -> anyhow::Result<Vec<(f64, f64)>> {
        let api = Api::new(&address, instance::Identity::default())?;
        (0..rounds)
            .map(|i| {
                let name = format!("p{i}");
                let request = Request {
                    network: "ports".into(),
                    name: Some(name.clone()),
                    host: None,
                    timeout: PATIENCE,
                    keep: false,
                };
                let created = instance::create(&api, &store, &request, &mut |_, _| {})?;
                instance::delete(&api, &store, &name)?;
                Ok((created.active_after.as_secs_f64() * 1000.0, created.leased_after.as_secs_f64() * 1000.0))
            })
            .collect()
    })
    .await??;
    for (what, values) in [
        ("port create to ACTIVE", times.iter().map(|(active, _)| *active).collect::<Vec<f64>>()),
        ("port create to an address by DHCP", times.iter().map(|(_, leased)| *leased).collect()),
    ] {
        let mut values = values;
        values.sort_by(f64::total_cmp);
        let at = |share: f64| values[((values.len() as f64 * share) as usize).min(values.len() - 1)];
        row(what, &format!("p50 {:.0} ms   p99 {:.0} ms   ({rounds} instances)", at(0.5), at(0.99)));
    }
    embedded.stop().await
}

pub fn run(count: usize) -> anyhow::Result<()> {
    for (name, what) in [("ports", 0), ("networks", count)] {
        let lab = Lab::new();
        let host = lab.host(name);
        let state = std::env::temp_dir().join(format!("neutrino-bench-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&state)?;
        let at = state.clone();
        let done = host.run(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
            runtime.block_on(async { if what == 0 { ports(&at, 40).await } else { networks(&at, what).await } })
        });
        std::fs::remove_dir_all(&state)?;
        done?;
    }
    Ok(())
}
