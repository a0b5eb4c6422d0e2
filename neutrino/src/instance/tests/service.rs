//! The part of the network service, its agents included, that an instance meets.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use linux::Handle;
use serde_json::{Value, json};

/// A service that listens on loopback of the calling thread's namespace until the process ends.
pub struct Service {
    address: SocketAddr,
    ports: Arc<Mutex<Vec<Value>>>,
}

impl Service {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let ports: Arc<Mutex<Vec<Value>>> = Arc::default();
        let shared = Arc::clone(&ports);
        thread::spawn(move || {
            let host = Handle::new().unwrap();
            for stream in listener.incoming() {
                serve(stream.unwrap(), &shared, &host);
            }
        });
        Self { address, ports }
    }

    pub fn endpoint(&self) -> String {
        format!("http://{}/", self.address)
    }

    pub fn ports(&self) -> Vec<Value> {
        self.ports.lock().unwrap().clone()
    }
}

fn serve(stream: TcpStream, ports: &Mutex<Vec<Value>>, host: &Handle) {
    let mut reader = BufReader::new(&stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let (mut length, mut header) = (0, String::new());
    while reader.read_line(&mut header).unwrap() > 2 {
        let lower = header.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        header.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let mut words = line.split_whitespace();
    let (method, path) = (words.next().unwrap(), words.next().unwrap());
    let (status, answer) = answer(method, path, &body, &mut ports.lock().unwrap(), host);
    let text = if answer.is_null() { String::new() } else { answer.to_string() };
    let head = format!("HTTP/1.1 {status} x\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", text.len());
    (&stream).write_all((head + &text).as_bytes()).unwrap();
}

fn answer(method: &str, path: &str, body: &[u8], ports: &mut Vec<Value>, host: &Handle) -> (u16, Value) {
    let last = path.rsplit(['/', '=']).next().unwrap();
    match (method, path.split(['?', '/']).nth(2).unwrap()) {
        ("GET", "networks") => {
            let all = ["blue", "remote", "slow", "full"].map(|name| json!({ "id": name, "name": name }));
            let twins = ["bbbbbbbb-1", "bbbbbbbb-2"].map(|id| json!({ "id": id, "name": "twin" }));
            let found = all.into_iter().chain(twins).filter(|n| path.contains("?name=") && n["name"] == last);
            (200, json!({ "networks": found.collect::<Vec<_>>() }))
        }
        ("GET", "subnets") => {
            let v6 = json!({ "cidr": "2001:db8::/64", "enable_dhcp": true, "ipv6_address_mode": "dhcpv6-stateful" });
            let v4 = json!({ "cidr": "192.0.2.0/24", "enable_dhcp": true, "ipv6_address_mode": null });
            (200, json!({ "subnet": if last == "six" { v6 } else { v4 } }))
        }
        ("GET", "agents") => (200, json!({ "agents": [{ "agent_type": "Linux bridge agent", "alive": false }] })),
        ("POST", "ports") => {
            let mut port = serde_json::from_slice::<Value>(body).unwrap()["port"].take();
            if port["network_id"] == "full" {
                let fault =
                    json!({ "type": "IpAddressGenerationFailure", "message": "no more addresses", "detail": "" });
                return (409, json!({ "NeutronError": fault }));
            }
            port["id"] = "aaaaaaaa-0000-4000-8000-000000000007".into();
            port["mac_address"] = "fa:16:3e:00:00:07".into();
            port["fixed_ips"] = json!([
                { "subnet_id": "four", "ip_address": "192.0.2.77" },
                { "subnet_id": "six", "ip_address": "2001:db8::77" },
            ]);
            port["status"] = "DOWN".into();
            port["binding:vif_type"] = if port["network_id"] == "remote" { "binding_failed" } else { "bridge" }.into();
            ports.push(port.clone());
            (201, json!({ "port": port }))
        }
        ("GET", "ports") => match ports.iter_mut().find(|port| port["id"] == last) {
            Some(port) => {
                wire(port, host);
                (200, json!({ "port": port }))
            }
            None => (404, json!({ "NeutronError": { "type": "PortNotFound", "message": "gone", "detail": "" } })),
        },
        ("DELETE", "ports") => {
            ports.retain(|port| port["id"] != last);
            (204, Value::Null)
        }
        _ => (404, Value::Null),
    }
}

/// What an agent does when it sees the port's device.
fn wire(port: &mut Value, host: &Handle) {
    let tap = format!("tap{}", &port["id"].as_str().unwrap()[..11]);
    if port["network_id"] != "slow" && host.link_master(&tap, "br0").is_ok() {
        port["status"] = "ACTIVE".into();
    }
}
