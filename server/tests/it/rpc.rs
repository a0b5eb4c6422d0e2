//! What agents of other releases send, over a bus to the composed server.

use std::time::{Duration, Instant};

use messaging::{Bus, CallError, Client, Context, Listener, Target, Version};
use serde_json::{Value, json};

use crate::support::TestServer;

const VXLAN: &str = "[ml2]\ntenant_network_types = vxlan\nmechanism_drivers = openvswitch,l2population\n\
                     [ml2_type_vxlan]\nvni_ranges = 1:5000\n";

struct Lab {
    server: TestServer,
    plugin: Client,
    _listeners: Vec<Listener>,
}

impl Lab {
    async fn start(options: &str) -> Lab {
        let server = TestServer::start(options).await;
        let bus: Bus = server.bus.clone();
        let listeners = server::serve_rpc(&server.wired, &bus, "ctl").await.unwrap();
        for host in ["one", "two"] {
            let configurations = json!({"tunnel_types": ["vxlan"], "bridge_mappings": {}, "tunneling_ip": "192.0.2.1", "l2_population": true});
            server.agent("Open vSwitch agent", "neutron-openvswitch-agent", host, configurations).await;
        }
        let plugin = Client::new(bus, Target::topic(rpc::topics::PLUGIN)).timeout(Duration::from_secs(60));
        Lab { server, plugin, _listeners: listeners }
    }

    async fn asks(&self, version: (u16, u16), method: &str, args: Value) -> Result<Value, CallError> {
        self.plugin.call(&Context::admin(), Version::new(version.0, version.1), method, &args).await
    }

    async fn status(&self, port: &str) -> Value {
        self.server.admin().get(&format!("/ports/{port}")).await.expect(200)["port"]["status"].clone()
    }

    /// A port bound to host one.
    async fn port(&self) -> (String, String) {
        let admin = self.server.admin();
        let network = admin.make("network", json!({})).await["id"].clone();
        admin
            .make(
                "subnet",
                json!({"network_id": network, "ip_version": 4, "cidr": "192.0.2.0/24", "enable_dhcp": false}),
            )
            .await;
        let port =
            json!({"network_id": network, "binding:host_id": "one", "device_id": "i", "device_owner": "compute:nova"});
        let port = admin.make("port", port).await;
        (port["id"].as_str().unwrap().to_owned(), port["mac_address"].as_str().unwrap().to_owned())
    }
}

#[tokio::test]
async fn rpc_version_skew_names_of_devices() {
    let lab = Lab::start(VXLAN).await;
    let (port, mac) = lab.port().await;
    let tap = format!("tap{}", &port[..11]);
    let ways = [json!(port), json!(tap), json!(mac), json!([mac, "0000:03:00.1"]), json!([mac, null])];
    for device in &ways {
        for host in [json!({"host": "one"}), json!({})] {
            let mut args = json!({"device": device, "agent_id": "a", "of_the_future": {"x": 1}});
            args.as_object_mut().unwrap().extend(host.as_object().unwrap().clone());
            let details = lab.asks((1, 9), "get_device_details", args).await.unwrap();
            assert_eq!(details["port_id"], port, "{device} {host}");
            assert!(details["device"].is_string(), "answers name it by a text: {details}");
        }
    }
    let devices = json!({"devices": ways, "agent_id": "a", "host": "one", "of_the_future": true});
    let list = lab.asks((1, 3), "get_devices_details_list", devices.clone()).await.unwrap();
    assert!(list.as_array().unwrap().iter().all(|details| details["port_id"] == port), "{list}");
    let both = lab.asks((1, 5), "get_devices_details_list_and_failed_devices", devices).await.unwrap();
    assert_eq!((both["devices"].as_array().unwrap().len(), both["failed_devices"].clone()), (5, json!([])));
    // What nobody knows is no fault.
    let unknown = json!({"device": ["fa:16:3e:ff:ff:ff", "0000:03:00.9"], "agent_id": "a", "host": "one"});
    let details = lab.asks((1, 9), "get_device_details", unknown).await.unwrap();
    assert_eq!(details, json!({"device": "fa:16:3e:ff:ff:ff"}));
}

#[tokio::test]
async fn rpc_version_skew_devices_up_and_down() {
    let lab = Lab::start(VXLAN).await;
    let (port, mac) = lab.port().await;
    for (device, host) in [(json!(port), Some("one")), (json!(mac), None), (json!([mac, "0000:03:00.1"]), Some("one"))]
    {
        let mut args = json!({"device": device, "agent_id": "a", "of_the_future": 1});
        if let Some(host) = host {
            args["host"] = json!(host);
        }
        lab.asks((1, 1), "update_device_up", args.clone()).await.unwrap();
        assert_eq!(lab.status(&port).await, "ACTIVE", "{device}");
        let down = lab.asks((1, 0), "update_device_down", args).await.unwrap();
        assert_eq!(down["exists"], true, "{down}");
        assert_eq!(lab.status(&port).await, "DOWN", "{device}");
    }
    // Agents of before called it a restart; those of today ask for tunnels.
    for flag in ["agent_restarted", "refresh_tunnels"] {
        let args =
            json!({"devices_up": [port], "devices_down": [], "agent_id": "a", "host": "one", flag: true, "x": null});
        let list = lab.asks((1, 5), "update_device_list", args).await.unwrap();
        assert_eq!(list["devices_up"], json!([port]), "{list}");
        assert_eq!(list["failed_devices_up"], json!([]), "{list}");
        let args = json!({"devices_up": [], "devices_down": [[mac, null]], "agent_id": "a"});
        let list = lab.asks((1, 5), "update_device_list", args).await.unwrap();
        assert_eq!(list["devices_down"][0]["exists"], true, "{list}");
        assert_eq!(lab.status(&port).await, "DOWN");
    }
}

#[tokio::test]
async fn rpc_version_skew_tunnels() {
    let lab = Lab::start(VXLAN).await;
    let old = json!({"tunnel_ip": "203.0.113.9", "tunnel_type": "vxlan", "of_the_future": 1});
    let tunnels = lab.asks((1, 0), "tunnel_sync", old).await.unwrap();
    assert_eq!(tunnels["tunnels"][0]["ip_address"], "203.0.113.9", "{tunnels}");
    let new = json!({"tunnel_ip": "203.0.113.9", "tunnel_type": "vxlan", "host": "one"});
    let tunnels = lab.asks((1, 9), "tunnel_sync", new).await.unwrap();
    assert_eq!(tunnels["tunnels"].as_array().unwrap().len(), 1, "it is the same endpoint: {tunnels}");
    let wrong = json!({"tunnel_ip": "203.0.113.9", "tunnel_type": "stt"});
    assert!(matches!(lab.asks((1, 9), "tunnel_sync", wrong).await, Err(CallError::Remote { .. })));
}

#[tokio::test]
async fn rpc_version_skew_versions_of_the_future() {
    let lab = Lab::start(VXLAN).await;
    let (port, _) = lab.port().await;
    let started = Instant::now();
    for version in [(1, 10), (1, 99), (2, 0), (0, 9)] {
        let device = json!({"device": port, "agent_id": "a", "host": "one"});
        let refused = lab.asks(version, "get_device_details", device).await;
        assert!(matches!(refused, Err(CallError::UnsupportedVersion { .. })), "{version:?} {refused:?}");
    }
    let unknown = lab.asks((1, 9), "get_device_weather", json!({})).await;
    assert!(matches!(unknown, Err(CallError::NoSuchMethod { .. })), "{unknown:?}");
    assert!(started.elapsed() < Duration::from_secs(30), "at once");
    // The other minors are served.
    for minor in 0..=9 {
        lab.asks((1, minor), "get_device_details", json!({"device": port, "host": "one"})).await.unwrap();
    }
}

#[tokio::test]
async fn rpc_state_report_path_is_not_behind_other_calls() {
    let lab = Lab::start(VXLAN).await;
    let (port, _) = lab.port().await;
    let devices: Vec<String> = (0..100).map(|n| format!("tap{n:08x}-00")).chain([port]).collect();
    let calls: Vec<_> = (0..200)
        .map(|n| {
            let (plugin, devices) = (lab.plugin.clone().timeout(Duration::from_secs(300)), devices.clone());
            tokio::spawn(async move {
                let args = json!({"devices": devices, "agent_id": format!("a{n}"), "host": "one"});
                let method = "get_devices_details_list_and_failed_devices";
                plugin.call::<_, Value>(&Context::admin(), Version::new(1, 5), method, &args).await
            })
        })
        .collect();
    let reports =
        Client::new(lab.server.bus.clone(), Target::topic(rpc::topics::REPORTS)).timeout(Duration::from_secs(30));
    for n in 0..5 {
        let state = json!({"agent_type": "DHCP agent", "binary": "neutron-dhcp-agent", "host": format!("h{n}"),
                           "topic": "dhcp_agent", "configurations": {}, "start_flag": true});
        let args = json!({"agent_state": {"agent_state": state}, "time": "2026-11-30T12:00:00.000000"});
        let said: Value = reports.call(&Context::admin(), Version::new(1, 1), "report_state", &args).await.unwrap();
        assert_eq!(said, "new");
        let waiting = calls.iter().filter(|call| !call.is_finished()).count();
        assert!(n > 0 || waiting > 100, "{waiting} calls wait, and the report did not");
    }
    for call in calls {
        call.await.unwrap().unwrap();
    }
}

/// What `/healthcheck` says of the roles of a server.
async fn roles_of(server: &server::Server) -> Value {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = tokio::net::TcpStream::connect(server.address).await.unwrap();
    let request =
        "GET /healthcheck HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let body = answer.split("\r\n\r\n").nth(1).unwrap();
    let body: Value = serde_json::from_str(&body[body.find('{').unwrap()..=body.rfind('}').unwrap()]).unwrap();
    body["roles"].clone()
}

#[tokio::test]
async fn rpc_api_and_rpc_processes_are_what_their_roles_say() {
    let of_tests = TestServer::start(VXLAN).await;
    let mut setup = TestServer::setup(VXLAN);
    setup.bind = "127.0.0.1:0".to_owned();
    let bus: Bus = std::sync::Arc::new(messaging::InProcess::new());
    let start = async |api: bool, rpc: bool, host: &str| {
        let roles = server::Roles { api, rpc, host: host.to_owned() };
        server::Server::start_as(&roles, &setup, of_tests.store().clone(), bus.clone()).await.unwrap()
    };
    let plugin = Client::new(bus.clone(), Target::topic(rpc::topics::PLUGIN)).timeout(Duration::from_secs(30));
    let reports = plugin.topic(rpc::topics::REPORTS);
    let asks = async |client: &Client, method: &str| {
        let args = json!({"device": "tap00000000-00"});
        client.call::<_, Value>(&Context::admin(), Version::new(1, 0), method, &args).await
    };
    // Several of the API alone: no queue is declared.
    let apis = [start(true, false, "a").await, start(true, false, "b").await];
    for api in &apis {
        assert_eq!(roles_of(api).await, json!(["api"]));
    }
    for client in [&plugin, &reports] {
        let nobody = asks(client, "get_device_details").await;
        assert!(matches!(nobody, Err(CallError::Transport { .. })), "{nobody:?}");
    }
    // One of both kinds, and one that agents alone talk to.
    let both = start(true, true, "c").await;
    assert_eq!(roles_of(&both).await, json!(["api", "rpc"]));
    let alone = start(false, true, "d").await;
    for host in ["c", "d"] {
        asks(&plugin.server(host), "get_device_details").await.unwrap();
        asks(&reports.server(host), "has_alive_neutron_server").await.unwrap();
    }
    for server in [both, alone].into_iter().chain(apis) {
        drop(server);
    }
}

#[tokio::test]
async fn rpc_large_messages_come_in_pages() {
    let lab = Lab::start("[ml2]\ntenant_network_types = vxlan\n[ml2_type_vxlan]\nvni_ranges = 1:5000\n[DEFAULT]\ndhcp_load_type = networks\n[QUOTAS]\nquota_network = -1\nquota_port = -1\nquota_subnet = -1\n").await;
    lab.server.agent("DHCP agent", "neutron-dhcp-agent", "one", json!({})).await;
    let admin = lab.server.admin();
    admin.make_all("network", (0..60).map(|n| json!({"name": format!("n{n}")}))).await;
    let mut networks: Vec<String> = Vec::new();
    for network in admin.get("/networks").await.expect(200)["networks"].as_array().unwrap() {
        networks.push(network["id"].as_str().unwrap().to_owned());
    }
    networks.sort();
    let subnet = |id: &String| json!({"network_id": id, "ip_version": 4, "cidr": "10.0.0.0/16"});
    admin.make_all("subnet", networks.iter().map(subnet)).await;
    // Some have very many ports: 6,200 in all.
    for network in &networks[10..12] {
        admin.make_all("port", (0..3100).map(|_| json!({"network_id": network}))).await;
    }
    let mut pages: Vec<Vec<String>> = Vec::new();
    let mut marker = None;
    loop {
        let mut args = json!({"host": "one", "enable_dhcp_filter": false, "limit": 25});
        if let Some(marker) = &marker {
            args["marker"] = json!(marker);
        }
        let answer = lab.asks((1, 1), "get_active_networks_info", args).await.unwrap();
        assert!(answer.to_string().len() < 8_000_000, "{} bytes", answer.to_string().len());
        let page = answer.as_array().unwrap();
        pages.push(page.iter().map(|network| network["id"].as_str().unwrap().to_owned()).collect());
        let (last, others) = page.split_last().unwrap();
        assert!(others.iter().all(|network| network.get("more").is_none()));
        if last.get("more") != Some(&json!(true)) {
            break;
        }
        marker = pages.last().unwrap().last().cloned();
    }
    assert_eq!(pages.concat(), networks);
    let sizes: Vec<usize> = pages.iter().map(Vec::len).collect();
    assert_eq!(sizes, [11, 25, 24], "cut where the ports are too many, and at the limit");
    // Agents of others get all at once.
    let all = json!({"host": "one", "enable_dhcp_filter": false});
    let all = lab.asks((1, 1), "get_active_networks_info", all).await.unwrap();
    assert_eq!(all.as_array().unwrap().len(), 60);
    assert!(all.as_array().unwrap().iter().all(|network| network.get("more").is_none()));
}

#[tokio::test]
async fn rpc_large_messages_grow_with_members_not_with_devices() {
    let lab = Lab::start(&format!("{VXLAN}[QUOTAS]\nquota_port = -1\n")).await;
    let admin = lab.server.admin();
    let network = admin.make("network", json!({})).await["id"].clone();
    admin.make("subnet", json!({"network_id": network, "ip_version": 4, "cidr": "10.0.0.0/16"})).await;
    let mut size_of = Vec::new();
    let mut made: Vec<String> = Vec::new();
    for count in [200, 600] {
        let ports = (made.len()..count).map(|_| json!({"network_id": network, "binding:host_id": "one"}));
        admin.make_all("port", ports).await;
        made = admin.get("/ports?fields=id").await.expect(200)["ports"]
            .as_array()
            .unwrap()
            .iter()
            .map(|port| port["id"].as_str().unwrap().to_owned())
            .collect();
        for devices in [10, 100] {
            let args = json!({"devices": made[..devices], "call_version": "1.3"});
            let answer = lab.asks((1, 3), "security_group_info_for_devices", args).await.unwrap();
            let members: usize = answer["sg_member_ips"]
                .as_object()
                .unwrap()
                .values()
                .map(|families| families["IPv4"].as_array().map_or(0, Vec::len))
                .sum();
            assert_eq!(members, count, "the default group, once");
            size_of.push(answer.to_string().len());
        }
    }
    let [few, many, few_of_more, many_of_more] = size_of[..] else { panic!("{size_of:?}") };
    let (of_members, of_members_too) = (few_of_more - few, many_of_more - many);
    // But for the lengths of the devices' own addresses.
    let difference = of_members.abs_diff(of_members_too);
    assert!(difference < 400, "400 members cost the same for 10 devices and for 100: {size_of:?}");
    assert!(of_members / 400 < 60, "an address each: {of_members}");
}
