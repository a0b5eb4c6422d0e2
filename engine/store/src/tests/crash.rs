//! kill -9 and crash points: what was acknowledged is there after the restart, and nothing is there by halves.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::{SCHEMA, item};
use crate::{Options, Store, Synchronous};

const CHILD: &str = "STORE_TEST_CHILD_DIR";

async fn open(dir: &Path) -> Store {
    let mut options = Options::new(format!("sqlite://{}/db", dir.display()));
    options.synchronous = Some(Synchronous::Full);
    let store = Store::open(options).await.unwrap();
    let mut txn = store.write().await.unwrap();
    if txn.query("SELECT name FROM sqlite_master WHERE name = 'item'", &[]).await.unwrap().is_empty() {
        txn.script(SCHEMA).await.unwrap();
    }
    txn.commit().await.unwrap();
    store
}

/// The program that is killed: 16 tasks store pairs of rows for ever and print each pair when it is acknowledged.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn child() {
    let Some(dir) = std::env::var_os(CHILD) else { return };
    let store = open(Path::new(&dir)).await;
    let seed: u64 = rand::random();
    let tasks: Vec<_> = (0..16)
        .map(|task| {
            let store = store.clone();
            tokio::spawn(async move {
                for round in 0.. {
                    let name = format!("{seed:016x}-{task}-{round}");
                    let mut txn = store.write().await.unwrap();
                    for half in ["a", "b"] {
                        txn.insert("item", &item(&format!("{name}{half}"), &format!("{name}{half}"), round))
                            .await
                            .unwrap();
                    }
                    txn.after_commit("nothing", async {});
                    txn.commit().await.unwrap();
                    let mut out = std::io::stdout().lock();
                    writeln!(out, "stored {name}").unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

#[allow(clippy::disallowed_methods, reason = "the test kills its own program, which host/ is not for")]
fn start(dir: &Path, crash_point: Option<&str>) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "tests::crash::child", "--nocapture"]).env(CHILD, dir);
    if let Some(point) = crash_point {
        command.env("NEUTRINO_CRASH_POINT", point);
    }
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

/// Reads what the child acknowledges, kills it after `most`, and gives all that it said before it died.
fn acknowledged(mut child: Child, most: usize) -> Vec<String> {
    let mut names = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        // The last line may be cut, and then was not acknowledged to anybody.
        let Ok(line) = line else { break };
        // libtest prints the name of the test before the first line, without a newline.
        if let Some((_, name)) = line.split_once("stored ") {
            names.push(name.to_owned());
            if names.len() == most {
                child.kill().unwrap();
            }
        }
    }
    child.wait().unwrap();
    names
}

async fn verify(dir: &Path, names: &[String]) {
    let store = open(dir).await;
    let stored: HashSet<String> = super::ids(&store).await.into_iter().collect();
    for name in names {
        assert!(stored.contains(&format!("{name}a")), "{name} was acknowledged and is lost");
    }
    for id in &stored {
        let (name, half) = id.split_at(id.len() - 1);
        let other = format!("{name}{}", if half == "a" { "b" } else { "a" });
        assert!(stored.contains(&other), "{id} is stored without its other half");
    }
    let mut txn = store.read().await.unwrap();
    assert_eq!(txn.query("PRAGMA integrity_check", &[]).await.unwrap()[0].str(0), "ok");
}

#[tokio::test]
async fn what_was_acknowledged_survives_kill_9() {
    let dir = tempfile::tempdir().unwrap();
    let mut names = Vec::new();
    for round in 0..8 {
        names.extend(acknowledged(start(dir.path(), None), 20 + round * 37));
        verify(dir.path(), &names).await;
    }
    assert!(names.len() >= 8 * 20);
}

#[tokio::test]
async fn what_was_acknowledged_survives_every_crash_point() {
    let dir = tempfile::tempdir().unwrap();
    let mut names = Vec::new();
    for point in ["store.commit.before", "store.commit.after", "outbox.before", "outbox.after"] {
        for count in [1, 2, 7] {
            let child = start(dir.path(), Some(&format!("{point}:{count}")));
            // Without the crash the child would run into this bound, and say far more than that.
            let said = acknowledged(child, 5_000);
            assert!(said.len() < 5_000, "{point} was not reached {count} times");
            names.extend(said);
            verify(dir.path(), &names).await;
        }
    }
    assert!(!names.is_empty());
}
