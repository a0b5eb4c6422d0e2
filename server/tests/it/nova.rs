//! What Nova hears of ports, from the request or the agent's report to its endpoint.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use identity::testing::{Asked, FakeKeystone, Peer, Reply};
use rpc::l2::{Device, L2Plugin};
use serde_json::json;

use crate::support::TestServer;

const SERVER: &str = "7a6bdc33-8b5c-4d2b-b9c6-1d7a1b0f3c11";

struct Lab {
    server: TestServer,
    /// Names of events with the port's name, in the order in which Nova took them.
    heard: Arc<Mutex<Vec<String>>>,
    network: String,
    keystone: FakeKeystone,
    _nova: Peer,
}

/// Takes all events.
fn ears(heard: Arc<Mutex<Vec<String>>>) -> impl Fn(&Asked) -> Reply + Send + Sync + 'static {
    move |asked| {
        let mut events = asked.body["events"].clone();
        for event in events.as_array_mut().unwrap() {
            assert_eq!(event["server_uuid"], SERVER);
            let status = event["status"].as_str().map(|status| format!(" {status}")).unwrap_or_default();
            heard.lock().unwrap().push(format!("{}{status}", event["name"].as_str().unwrap()));
            event["code"] = json!(200);
        }
        Reply::new(200, json!({ "events": events }))
    }
}

fn catalog(url: &str) -> serde_json::Value {
    json!([{"type": "compute", "name": "nova", "endpoints": [
        {"interface": "public", "region_id": "One", "region": "One", "url": url},
    ]}])
}

impl Lab {
    async fn start() -> Lab {
        let keystone = FakeKeystone::start().await.unwrap();
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        let nova = Peer::start(ears(heard.clone())).await.unwrap();
        keystone.known().catalog = catalog(&nova.url());
        let server = TestServer::start(&format!(
            "[DEFAULT]\nsend_events_interval = 1\n[ml2]\ntenant_network_types = vxlan\nmechanism_drivers = openvswitch\n\
             [ml2_type_vxlan]\nvni_ranges = 1:100\n[nova]\nauth_url = {}\nauth_type = password\nusername = neutron\n\
             password = secret\nuser_domain_name = Default\nproject_name = service\nproject_domain_name = Default\n\
             region_name = One\n",
            keystone.url()
        ))
        .await;
        for host in ["one", "two"] {
            let configurations = json!({"tunnel_types": ["vxlan"], "bridge_mappings": {}});
            server.agent("Open vSwitch agent", "neutron-openvswitch-agent", host, configurations).await;
        }
        let network = server.admin().make("network", json!({})).await["id"].as_str().unwrap().to_owned();
        Lab { server, heard, network, keystone, _nova: nova }
    }

    async fn port(&self) -> String {
        let port = json!({"network_id": self.network, "binding:host_id": "one", "device_id": SERVER, "device_owner": "compute:nova"});
        self.server.admin().make("port", port).await["id"].as_str().unwrap().to_owned()
    }

    /// The agent of a host reports a device wired, or gone.
    async fn report(&self, port: &str, host: &str, up: bool) {
        let device = Device::from(port);
        let (ups, downs) = if up { (vec![device], vec![]) } else { (vec![], vec![device]) };
        let context = messaging::Context::admin();
        self.server.wired.l2.update_device_list(&context, ups, downs, None, Some(host.into()), false).await.unwrap();
    }

    /// What Nova has heard, once it has heard as much.
    async fn hears(&self, expected: &[&str]) {
        let there = async {
            while self.heard.lock().unwrap().len() < expected.len() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(20), there).await;
        assert_eq!(*self.heard.lock().unwrap(), expected);
    }
}

#[tokio::test]
async fn nova_hears_of_the_life_of_a_port() {
    let lab = Lab::start().await;
    let port = lab.port().await;
    lab.report(&port, "one", true).await;
    lab.hears(&["network-vif-plugged completed"]).await;
    lab.server.admin().put(&format!("/ports/{port}"), json!({"port": {"name": "new"}})).await.expect(200);
    lab.hears(&["network-vif-plugged completed", "network-changed"]).await;
    lab.report(&port, "one", false).await;
    let three = ["network-vif-plugged completed", "network-changed", "network-vif-unplugged completed"];
    lab.hears(&three).await;
    lab.server.admin().delete(&format!("/ports/{port}")).await.expect(204);
    lab.hears(&[&three[..], &["network-vif-deleted"]].concat()).await;
}

#[tokio::test]
async fn nova_api_unavailable_does_not_hold_up_ports() {
    let lab = Lab::start().await;
    let logins = async |count: usize| {
        let there = async {
            while lab.keystone.known().logins.len() < count {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), there).await.expect("another session");
    };
    // Nobody listens there yet.
    let place = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    lab.keystone.known().catalog = json!([]);
    let port = lab.port().await;
    lab.report(&port, "one", true).await;
    logins(1).await;
    lab.keystone.known().catalog = catalog(&format!("http://{place}"));
    let admin = lab.server.admin();
    admin.put(&format!("/ports/{port}"), json!({"port": {"name": "new"}})).await.expect(200);
    // The session is made anew, since it knew no endpoint.
    logins(2).await;
    lab.report(&port, "one", false).await;
    let status = admin.get(&format!("/ports/{port}")).await.expect(200);
    assert_eq!(status["port"]["status"], "DOWN", "{status}");
    let _nova = Peer::at(&place, ears(lab.heard.clone())).await.unwrap();
    lab.hears(&["network-vif-plugged completed", "network-changed", "network-vif-unplugged completed"]).await;
}

#[tokio::test]
async fn ports_of_others_are_no_news_for_nova() {
    let lab = Lab::start().await;
    let admin = lab.server.admin();
    for (id, owner) in [("x", "compute:nova"), (SERVER, "network:dhcp"), (SERVER, "")] {
        let port = json!({"network_id": lab.network, "binding:host_id": "one", "device_id": id, "device_owner": owner});
        let port = admin.make("port", port).await["id"].as_str().unwrap().to_owned();
        lab.report(&port, "one", true).await;
        admin.delete(&format!("/ports/{port}")).await.expect(204);
    }
    let port = lab.port().await;
    lab.report(&port, "one", true).await;
    lab.hears(&["network-vif-plugged completed"]).await;
}

// Case live-migration-no-gap.
#[tokio::test]
async fn in_a_live_migration_nova_hears_once_of_the_target() {
    let lab = Lab::start().await;
    let port = lab.port().await;
    lab.report(&port, "one", true).await;
    lab.hears(&["network-vif-plugged completed"]).await;
    let compute = lab.server.service();
    let bindings = format!("/ports/{port}/bindings");
    compute.post(&bindings, json!({"binding": {"host": "two"}})).await.expect(201);
    // The target wires it while its binding is inactive, and says so twice.
    lab.report(&port, "two", true).await;
    lab.report(&port, "two", true).await;
    let two = ["network-vif-plugged completed", "network-vif-plugged completed"];
    lab.hears(&two).await;
    compute.send("PUT", &format!("{bindings}/two/activate"), None).await.expect(200);
    lab.report(&port, "two", true).await;
    let status = lab.server.admin().get(&format!("/ports/{port}")).await.expect(200);
    assert_eq!(status["port"]["status"], "ACTIVE", "{status}");
    compute.delete(&format!("{bindings}/one")).await.expect(204);
    // The change of the binding itself is one, and nothing else comes before the next real news.
    lab.report(&port, "two", false).await;
    lab.hears(&[&two[..], &["network-changed", "network-vif-unplugged completed"]].concat()).await;
}
