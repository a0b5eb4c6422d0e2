//! What the database's share of an API call costs on the real schema:
//! `cargo run --release -p migrations --example database [PORTS]` (default 30000).
//!
//! Times to create and to open the database, then the rows of a port (10 statements over 9 tables with their indexes) into an
//! empty and a filled subnet, reads, a list, and deletes. CPU is that of the process, user and system.

use std::time::{Duration, Instant};

use store::{Error, Options, Store, Value, migrate};

const NETWORK: &str = "11111111-2222-4333-8444-555555555555";
const SUBNET: &str = "22222222-2222-4333-8444-555555555555";
const GROUP: &str = "33333333-2222-4333-8444-555555555555";
const SEGMENT: &str = "44444444-2222-4333-8444-555555555555";
const IPAM: &str = "55555555-2222-4333-8444-555555555555";

const JOINED: &str = "SELECT p.*, s.*, b.*, d.port_security_enabled, l.driver FROM ports p \
    JOIN standardattributes s ON s.id = p.standard_attr_id LEFT JOIN ml2_port_bindings b ON b.port_id = p.id \
    LEFT JOIN portsecuritybindings d ON d.port_id = p.id LEFT JOIN ml2_port_binding_levels l ON l.port_id = p.id";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ports: u64 = std::env::args().nth(1).map_or(Ok(30_000), |text| text.parse())?;
    let dir = std::env::current_dir()?.join(format!("database-bench-{}", std::process::id()));
    std::fs::create_dir(&dir)?;
    let outcome = measure(&dir, ports).await;
    std::fs::remove_dir_all(&dir)?;
    outcome
}

async fn measure(dir: &std::path::Path, ports: u64) -> Result<(), Box<dyn std::error::Error>> {
    let options = Options::new(format!("sqlite://{}/db", dir.display()));
    let started = Instant::now();
    let store = Store::open(options.clone()).await?;
    migrate::upgrade(&store, migrations::ALL).await?;
    println!("created in {:.1} ms", ms(started));
    store.close().await?;
    let started = Instant::now();
    let store = Store::open(options).await?;
    migrate::upgrade(&store, migrations::ALL).await?;
    println!("opened in {:.1} ms", ms(started));

    frame(&store).await?;
    let (scanned, statements) = (store.scanned(), store.statements());
    let few = 2_000.min(ports);
    run("create, empty subnet", &store, 0..few, Work::Create).await?;
    println!(
        "  {} statements each, {} rows scanned",
        (store.statements() - statements) / few,
        store.scanned() - scanned
    );
    run("create, filling", &store, few..ports, Work::Create).await?;
    run("create, full subnet", &store, ports..ports + few, Work::Create).await?;
    run("read one by id", &store, 0..few, Work::Read).await?;
    let (started, cpu) = (Instant::now(), cpu());
    let sql = format!("{JOINED} WHERE p.network_id = ? LIMIT 10000");
    let rows = store.read().await?.query(&sql, &[NETWORK.into()]).await?;
    println!("list of {}: {:.0} ms, {:.0} ms CPU", rows.len(), ms(started), (self::cpu() - cpu).as_secs_f64() * 1e3);
    run("delete", &store, 0..few, Work::Delete).await?;
    store.close().await?;
    println!("file {:.0} MB", std::fs::metadata(dir.join("db"))?.len() as f64 / 1e6);
    Ok(())
}

#[derive(Clone, Copy)]
enum Work {
    Create,
    Read,
    Delete,
}

/// Sixteen tasks share the numbers.
async fn run(name: &str, store: &Store, numbers: std::ops::Range<u64>, work: Work) -> Result<(), Error> {
    let (started, cpu, count) = (Instant::now(), cpu(), numbers.end - numbers.start);
    let tasks: Vec<_> = (0..16)
        .map(|task| {
            let (store, numbers) = (store.clone(), numbers.clone());
            tokio::spawn(async move {
                for number in numbers.skip(task).step_by(16) {
                    match work {
                        Work::Create => create(&store, number).await?,
                        Work::Delete => delete(&store, number).await?,
                        Work::Read => read(&store, number).await?,
                    }
                }
                Ok::<_, Error>(())
            })
        })
        .collect();
    for task in tasks {
        task.await.map_err(|error| Error::Invalid(error.to_string()))??;
    }
    let each = (self::cpu() - cpu).as_secs_f64() * 1e6 / count.max(1) as f64;
    println!("{name}: {:.0}/s, {each:.0} us CPU each", count as f64 / started.elapsed().as_secs_f64());
    Ok(())
}

async fn frame(store: &Store) -> Result<(), Error> {
    let mut txn = store.write().await?;
    let attribute = txn.insert_id("standardattributes", &[("resource_type", "networks".into())]).await?;
    txn.insert("networks", &[("id", NETWORK.into()), ("standard_attr_id", attribute.into()), ("mtu", 1500.into())])
        .await?;
    let attribute = txn.insert_id("standardattributes", &[("resource_type", "subnets".into())]).await?;
    let subnet = [
        ("id", Value::from(SUBNET)),
        ("network_id", NETWORK.into()),
        ("standard_attr_id", attribute.into()),
        ("ip_version", 4.into()),
        ("cidr", "10.0.0.0/8".into()),
    ];
    txn.insert("subnets", &subnet).await?;
    txn.insert("ipamsubnets", &[("id", IPAM.into()), ("neutron_subnet_id", SUBNET.into())]).await?;
    let attribute = txn.insert_id("standardattributes", &[("resource_type", "networksegments".into())]).await?;
    let segment = [
        ("id", Value::from(SEGMENT)),
        ("network_id", NETWORK.into()),
        ("network_type", "vxlan".into()),
        ("standard_attr_id", attribute.into()),
    ];
    txn.insert("networksegments", &segment).await?;
    let attribute = txn.insert_id("standardattributes", &[("resource_type", "securitygroups".into())]).await?;
    txn.insert("securitygroups", &[("id", GROUP.into()), ("standard_attr_id", attribute.into())]).await?;
    txn.commit().await
}

async fn create(store: &Store, number: u64) -> Result<(), Error> {
    let port = id(number);
    let [a, b, c] = [number >> 16 & 255, number >> 8 & 255, number & 255];
    let address = Value::from(format!("10.{a}.{b}.{c}"));
    let mut txn = store.write().await?;
    txn.query("SELECT id, mtu FROM networks WHERE id = ?", &[NETWORK.into()]).await?;
    let now = Value::from(txn.now());
    let attributes = [("resource_type", "ports".into()), ("created_at", now.clone()), ("updated_at", now)];
    let attribute = txn.insert_id("standardattributes", &attributes).await?;
    let values = [
        ("id", Value::from(&port)),
        ("project_id", "0123456789abcdef0123456789abcdef".into()),
        ("name", "a port".into()),
        ("network_id", NETWORK.into()),
        ("mac_address", format!("fa:16:3e:{a:02x}:{b:02x}:{c:02x}").into()),
        ("admin_state_up", true.into()),
        ("status", "DOWN".into()),
        ("device_id", id(number ^ 0x5555).into()),
        ("device_owner", "compute:nova".into()),
        ("standard_attr_id", attribute.into()),
        ("ip_allocation", "immediate".into()),
    ];
    txn.insert("ports", &values).await?;
    let claim = [("ip_address", address.clone()), ("status", "ALLOCATED".into()), ("ipam_subnet_id", IPAM.into())];
    txn.insert("ipamallocations", &claim).await?;
    let holding = [
        ("port_id", Value::from(&port)),
        ("ip_address", address),
        ("subnet_id", SUBNET.into()),
        ("network_id", NETWORK.into()),
    ];
    txn.insert("ipallocations", &holding).await?;
    let binding = [("port_id", Value::from(&port)), ("host", "compute-1".into()), ("vif_type", "bridge".into())];
    txn.insert("ml2_port_bindings", &binding).await?;
    let level = [
        ("port_id", Value::from(&port)),
        ("host", "compute-1".into()),
        ("level", 0.into()),
        ("driver", "linuxbridge".into()),
        ("segment_id", SEGMENT.into()),
    ];
    txn.insert("ml2_port_binding_levels", &level).await?;
    txn.insert("portsecuritybindings", &[("port_id", Value::from(&port)), ("port_security_enabled", true.into())])
        .await?;
    let group = [("port_id", Value::from(&port)), ("security_group_id", GROUP.into())];
    txn.insert("securitygroupportbindings", &group).await?;
    let uplink = [("port_id", Value::from(&port)), ("propagate_uplink_status", true.into())];
    txn.insert("portuplinkstatuspropagation", &uplink).await?;
    txn.commit().await
}

async fn read(store: &Store, number: u64) -> Result<(), Error> {
    let mut txn = store.read().await?;
    let found = txn.query_one(&format!("{JOINED} WHERE p.id = ?"), &[id(number).into()]).await?;
    txn.query("SELECT ip_address FROM ipallocations WHERE port_id = ?", &[id(number).into()]).await?;
    assert!(found.is_some(), "the port was stored");
    Ok(())
}

async fn delete(store: &Store, number: u64) -> Result<(), Error> {
    let mut txn = store.write().await?;
    let row = txn.query_one("SELECT standard_attr_id FROM ports WHERE id = ?", &[id(number).into()]).await?;
    let attribute = row.map(|row| row.int(0));
    txn.execute("DELETE FROM standardattributes WHERE id = ?", &[attribute.into()]).await?;
    txn.commit().await
}

/// An id that sorts like a random UUID and is the same in every run.
fn id(number: u64) -> String {
    let mix = |seed: u64| {
        let x = (number ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let x = (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        x ^ (x >> 32)
    };
    let (a, b) = (mix(1), mix(2));
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        a >> 32,
        a >> 16 & 0xffff,
        a & 0xfff,
        b >> 52,
        b & 0xffff_ffff_ffff
    )
}

fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

/// CPU time of the process, in steps of 10 ms.
fn cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = text.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let ticks: u64 = after.split(' ').skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}
