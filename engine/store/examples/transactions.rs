//! How many transactions a second, and what each costs:
//! `cargo run --release -p store --example transactions [DIR [durable|memory [WRITERS]]]`.
//!
//! A transaction stores one object over five tables with eight indexes, as a create of the API does: one generated id,
//! four rows that refer to it or to each other. DIR is where the durable database lies (default: the current directory);
//! the other runs are in memory. CPU is that of the whole process, user and system.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use store::{Error, Options, Store, Synchronous, Value};

const SCHEMA: &[&str] = &[
    "CREATE TABLE attribute (id INTEGER NOT NULL PRIMARY KEY, kind VARCHAR(255) NOT NULL, created_at DATETIME,
     updated_at DATETIME, description VARCHAR(255), revision BIGINT NOT NULL DEFAULT 0)",
    "CREATE TABLE thing (id VARCHAR(36) NOT NULL PRIMARY KEY, owner VARCHAR(255), name VARCHAR(255),
     place_id VARCHAR(36) NOT NULL, mark VARCHAR(32) NOT NULL, state VARCHAR(16), attribute_id BIGINT NOT NULL UNIQUE,
     UNIQUE (place_id, mark), FOREIGN KEY (attribute_id) REFERENCES attribute (id) ON DELETE CASCADE) WITHOUT ROWID",
    "CREATE INDEX ix_thing_owner ON thing (owner)",
    "CREATE TABLE claim (value VARCHAR(64) NOT NULL, scope_id VARCHAR(36) NOT NULL, state VARCHAR(36),
     PRIMARY KEY (value, scope_id)) WITHOUT ROWID",
    "CREATE TABLE holding (thing_id VARCHAR(36) NOT NULL, value VARCHAR(64) NOT NULL, scope_id VARCHAR(36) NOT NULL,
     PRIMARY KEY (value, scope_id), FOREIGN KEY (thing_id) REFERENCES thing (id) ON DELETE CASCADE) WITHOUT ROWID",
    "CREATE INDEX ix_holding_thing ON holding (thing_id)",
    "CREATE TABLE binding (thing_id VARCHAR(36) NOT NULL, host VARCHAR(255) NOT NULL, kind VARCHAR(64), detail VARCHAR(4095),
     PRIMARY KEY (thing_id, host), FOREIGN KEY (thing_id) REFERENCES thing (id) ON DELETE CASCADE) WITHOUT ROWID",
];

#[tokio::main]
async fn main() -> Result<(), Error> {
    let mut args = std::env::args().skip(1);
    let dir = args.next().unwrap_or_else(|| ".".to_owned());
    let (only, count) = (args.next(), args.next().and_then(|text| text.parse().ok()));
    let dir = std::path::absolute(dir).expect("the directory's path can be read");
    let file = dir.join(format!("store-bench-{}.db", std::process::id()));
    let seconds = std::env::var("SECONDS_EACH").ok().and_then(|text| text.parse().ok()).unwrap_or(2.0);
    for (name, synchronous) in [("durable", Synchronous::Full), ("memory", Synchronous::Off)] {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let url = match synchronous {
            Synchronous::Full => format!("sqlite://{}", file.display()),
            _ => "sqlite://".to_owned(),
        };
        let store = Store::open(Options { synchronous: Some(synchronous), ..Options::new(url) }).await?;
        let mut txn = store.write().await?;
        for sql in SCHEMA {
            txn.execute(sql, &[]).await?;
        }
        txn.commit().await?;
        for writers in count.map_or(vec![1, 4, 16, 64], |count| vec![count]) {
            report(name, writers, run(&store, writers, Duration::from_secs_f64(seconds)).await?);
        }
        reads(&store).await?;
        store.close().await?;
    }
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{end}", file.display()));
    }
    Ok(())
}

struct Figures {
    transactions: u64,
    elapsed: Duration,
    cpu: Duration,
    latencies: Vec<Duration>,
}

async fn run(store: &Store, writers: u64, length: Duration) -> Result<Figures, Error> {
    let next = Arc::new(AtomicU64::new(store.statements()));
    let (started, cpu) = (Instant::now(), cpu());
    let tasks: Vec<_> = (0..writers)
        .map(|_| {
            let (store, next) = (store.clone(), next.clone());
            tokio::spawn(async move {
                let mut latencies = Vec::new();
                while started.elapsed() < length {
                    let begun = Instant::now();
                    create(&store, next.fetch_add(1, Ordering::Relaxed)).await?;
                    latencies.push(begun.elapsed());
                }
                Ok::<_, Error>(latencies)
            })
        })
        .collect();
    let mut latencies = Vec::new();
    for task in tasks {
        latencies.extend(task.await.map_err(|error| Error::Invalid(error.to_string()))??);
    }
    latencies.sort();
    let cpu = self::cpu().saturating_sub(cpu);
    Ok(Figures { transactions: latencies.len() as u64, elapsed: started.elapsed(), cpu, latencies })
}

async fn create(store: &Store, number: u64) -> Result<(), Error> {
    let id = id(number);
    let mut txn = store.write().await?;
    let now = txn.now();
    let attribute = txn
        .insert_id("attribute", &[("kind", "thing".into()), ("created_at", now.into()), ("updated_at", now.into())])
        .await?;
    let mark = format!("fa:16:3e:{:02x}:{:02x}:{:02x}", number >> 16 & 255, number >> 8 & 255, number & 255);
    let values = [
        ("id", Value::from(&id)),
        ("owner", "0123456789abcdef0123456789abcdef".into()),
        ("name", "a thing".into()),
        ("place_id", "11111111-2222-4333-8444-555555555555".into()),
        ("mark", format!("{mark}-{number}").into()),
        ("state", "DOWN".into()),
        ("attribute_id", attribute.into()),
    ];
    txn.insert("thing", &values).await?;
    let address = format!("10.{}.{}.{}-{number}", number >> 16 & 255, number >> 8 & 255, number & 255);
    let scope = Value::from("66666666-7777-4888-8999-aaaaaaaaaaaa");
    let claim = [("value", Value::from(&address)), ("scope_id", scope.clone()), ("state", "ALLOCATED".into())];
    txn.insert("claim", &claim).await?;
    let holding = [("thing_id", Value::from(&id)), ("value", address.into()), ("scope_id", scope)];
    txn.insert("holding", &holding).await?;
    let binding = [
        ("thing_id", Value::from(&id)),
        ("host", "compute-1".into()),
        ("kind", "normal".into()),
        ("detail", "{}".into()),
    ];
    txn.insert("binding", &binding).await?;
    txn.commit().await
}

async fn reads(store: &Store) -> Result<(), Error> {
    const SQL: &str = "SELECT t.*, a.*, h.value, b.host FROM thing t JOIN attribute a ON a.id = t.attribute_id \
         JOIN holding h ON h.thing_id = t.id JOIN binding b ON b.thing_id = t.id";
    let mut txn = store.read().await?;
    let rows = txn.query("SELECT id FROM thing LIMIT 1000", &[]).await?;
    let ids: Vec<Value> = rows.iter().map(|row| row.value(0)).collect();
    drop(txn);
    let (one, cpu) = (format!("{SQL} WHERE t.id = ?"), cpu());
    for i in 0..20_000 {
        let mut txn = store.read().await?;
        let row = txn.query_one(&one, std::slice::from_ref(&ids[i % ids.len()])).await?;
        assert!(row.is_some_and(|row| !row.str(0).is_empty()), "a stored row is found");
    }
    println!(
        "{:>44.1} us CPU for one joined row by key, in a transaction of its own",
        (self::cpu() - cpu).as_secs_f64() * 50.0
    );
    let cpu = self::cpu();
    let rows = store.read().await?.query(&format!("{SQL} ORDER BY t.id LIMIT 10000"), &[]).await?;
    println!("{:>44.1} ms CPU for {} joined rows in order", (self::cpu() - cpu).as_secs_f64() * 1e3, rows.len());
    Ok(())
}

fn report(name: &str, writers: u64, figures: Figures) {
    let at = |part: f64| figures.latencies[(figures.latencies.len() as f64 * part) as usize].as_secs_f64() * 1e3;
    println!(
        "{name:8} {writers:>3} writers {:>8.0} tx/s  p50 {:>6.2} ms  p99 {:>6.2} ms  {:>5.0} us CPU each",
        figures.transactions as f64 / figures.elapsed.as_secs_f64(),
        at(0.5),
        at(0.99),
        figures.cpu.as_secs_f64() * 1e6 / figures.transactions as f64,
    );
}

/// An id that looks and sorts like a random UUID, and is the same in every run.
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

/// CPU time of the process, from the kernel's count in nanoseconds.
fn cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = text.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let ticks: u64 = after.split(' ').skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}
