//! The database server is killed and started again under load: every request is answered, with what it asked for or with 503,
//! what was acknowledged is there, and nothing is there by halves.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use api::Api;
use serde_json::json;
use testkit::database::{Kind, Server};

const CLIENTS: usize = 6;
const KILLS: usize = 3;

struct Stopper<'a>(&'a AtomicBool);

impl Drop for Stopper<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn under_load(kind: Kind) {
    let server = Server::start(kind);
    let database = server.database();
    let api = Api::with(&format!("[database]\nconnection = {}\n[quotas]\nquota_port = -1\n", database.url()));
    let network = api.create("network", json!({"name": "n"}));
    let subnet = json!({"network_id": network.id(), "ip_version": 4, "cidr": "10.0.0.0/16"});
    api.create("subnet", subnet);
    let (stop, made, unavailable) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let acknowledged = std::thread::scope(|scope| {
        // Also when something below fails: the clients would go on for ever.
        let _stopper = Stopper(&stop);
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (api, network) = (api.clone(), network.id().to_owned());
                let (stop, made, unavailable) = (&stop, &made, &unavailable);
                scope.spawn(move || {
                    let (mut kept, mut deleted, mut round) = (Vec::new(), Vec::new(), 0);
                    while !stop.load(Ordering::SeqCst) {
                        round += 1;
                        let body = json!({"network_id": network, "name": format!("p{client}-{round}")});
                        let answer = api.try_create("port", body);
                        match answer.status {
                            201 => {
                                made.fetch_add(1, Ordering::SeqCst);
                                let port = answer.object(201);
                                if round % 3 != 0 {
                                    kept.push(port.id().to_owned());
                                    continue;
                                }
                                match api.delete(&port).status {
                                    204 => deleted.push(port.id().to_owned()),
                                    503 => {
                                        unavailable.fetch_add(1, Ordering::SeqCst);
                                    }
                                    other => panic!("a delete ended with {other}"),
                                }
                            }
                            503 => {
                                unavailable.fetch_add(1, Ordering::SeqCst);
                            }
                            _ => panic!("{}", answer.summary()),
                        }
                    }
                    (kept, deleted)
                })
            })
            .collect();
        for _ in 0..KILLS {
            let before = made.load(Ordering::SeqCst);
            testkit::eventually(std::time::Duration::from_secs(120), || made.load(Ordering::SeqCst) >= before + 20);
            server.kill();
            server.restart();
        }
        let before = made.load(Ordering::SeqCst);
        testkit::eventually(std::time::Duration::from_secs(120), || made.load(Ordering::SeqCst) >= before + 20);
        stop.store(true, Ordering::SeqCst);
        clients.into_iter().map(|client| client.join().expect("a client met only answers it knows")).collect::<Vec<_>>()
    });
    let ports = api.list("/ports");
    let there: HashSet<&str> = ports.iter().map(|port| port.id()).collect();
    for (kept, deleted) in &acknowledged {
        assert!(kept.iter().all(|id| there.contains(id.as_str())), "a port that was acknowledged is lost");
        assert!(!deleted.iter().any(|id| there.contains(id.as_str())), "a port that was deleted is back");
    }
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    for port in &ports {
        let [address] = port.addresses()[..] else { panic!("{} has not one address", port.id()) };
        if let Some(other) = owners.insert(address, port.id()) {
            panic!("{address} is that of {other} and of {}", port.id());
        }
    }
    let count = |sql: &str| api.server().count(sql);
    let rows = ports.len() as i64;
    assert_eq!(count("SELECT COUNT(*) FROM ipallocations"), rows);
    assert_eq!(count("SELECT COUNT(*) FROM ipamallocations"), rows);
    assert_eq!(count("SELECT COUNT(*) FROM standardattributes WHERE resource_type = 'ports'"), rows);
    assert_eq!(count("SELECT COUNT(*) FROM ml2_port_bindings"), rows);
    println!("{} made, {} times 503", made.load(Ordering::SeqCst), unavailable.load(Ordering::SeqCst));
}

#[test]
fn db_connection_loss_mariadb_restarts_under_load() {
    under_load(Kind::Mariadb);
}

#[test]
fn db_connection_loss_postgresql_restarts_under_load() {
    under_load(Kind::Postgres);
}
