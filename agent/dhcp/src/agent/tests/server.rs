//! A server that is not there: it plays the plugin over the bus, as far as DHCP agents see it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use messaging::{
    Bus, Client, Context, Dispatcher, Endpoint, FakeBus, ListenOptions, Listener, RemoteFault, Target, Version,
};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;
use types::Mac;

use crate::model::{Id, id};

pub(crate) const HOST: &str = "net1";

#[derive(Clone)]
pub(crate) struct FakeServer {
    pub bus: FakeBus,
    state: Arc<Mutex<State>>,
    changed: Arc<Notify>,
}

#[derive(Default)]
struct State {
    networks: BTreeMap<String, Value>,
    ports: BTreeMap<String, Value>,
    by_network: BTreeMap<String, BTreeSet<String>>,
    next: u32,
    ready: BTreeSet<String>,
    ready_order: Vec<String>,
    calls: BTreeMap<String, usize>,
    /// Networks of other agents.
    foreign: BTreeSet<String>,
    /// Whether it answers as the reference.
    knows_no_pages: bool,
    /// Methods that raise this class.
    raise: BTreeMap<String, String>,
}

impl FakeServer {
    pub async fn start() -> (FakeServer, Listener) {
        let server = FakeServer { bus: FakeBus::new(), state: Arc::default(), changed: Arc::default() };
        let dispatcher = Arc::new(Dispatcher::new().with(Arc::new(server.clone())));
        let target = Target::topic(rpc::topics::PLUGIN).server("server");
        let listener = server.bus().listen(&target, dispatcher, ListenOptions::default()).await.unwrap();
        (server, listener)
    }

    pub fn bus(&self) -> Bus {
        Arc::new(self.bus.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn uuid(state: &mut State, kind: &str) -> String {
        state.next += 1;
        // The beginning differs: devices are named by it.
        format!("{:08x}-0000-4000-8000-0000{kind}", state.next)
    }

    pub fn network(&self) -> Id {
        let mut state = self.state();
        let name = Self::uuid(&mut state, "0d000000");
        let network = json!({
            "id": name, "project_id": "p", "admin_state_up": true, "mtu": 1450, "subnets": [], "non_local_subnets": [],
        });
        state.networks.insert(name.clone(), network);
        id(&name).unwrap()
    }

    pub fn set_network(&self, network: &Id, key: &str, value: Value) {
        self.state().networks.get_mut(&**network).unwrap()[key] = value;
    }

    /// A subnet; `rest` overrides its attributes.
    pub fn subnet(&self, network: &Id, cidr: &str, rest: Value) -> String {
        let net: ipnet::IpNet = cidr.parse().unwrap();
        let gateway = net.hosts().next().unwrap();
        let mut state = self.state();
        let subnet_id = Self::uuid(&mut state, "51000000");
        let mut subnet = json!({
            "id": subnet_id, "network_id": &**network, "cidr": cidr, "ip_version": if gateway.is_ipv4() { 4 } else { 6 },
            "enable_dhcp": true, "gateway_ip": gateway.to_string(), "host_routes": [], "dns_nameservers": [],
            "ipv6_address_mode": null, "ipv6_ra_mode": null, "subnetpool_id": null, "segment_id": null,
        });
        for (key, value) in rest.as_object().unwrap() {
            subnet[key] = value.clone();
        }
        state.networks.get_mut(&**network).unwrap()["subnets"].as_array_mut().unwrap().push(subnet);
        subnet_id
    }

    pub fn delete_subnet(&self, network: &Id, subnet: &str) {
        let mut state = self.state();
        state.networks.get_mut(&**network).unwrap()["subnets"].as_array_mut().unwrap().retain(|s| s["id"] != *subnet);
        for port in state.ports.values_mut().filter(|port| port["network_id"] == **network) {
            port["fixed_ips"].as_array_mut().unwrap().retain(|ip| ip["subnet_id"] != *subnet);
        }
    }

    /// A guest's port with an address on each subnet; returns it. Nobody is told.
    pub fn port(&self, network: &Id, rest: Value) -> Value {
        let mut state = self.state();
        let fixed_ips =
            Self::subnets_of(&state, network).into_iter().map(|subnet| json!({"subnet_id": subnet})).collect();
        Self::make_port(&mut state, network, fixed_ips, rest)
    }

    fn subnets_of(state: &State, network: &str) -> Vec<String> {
        let subnets = state.networks[network]["subnets"].as_array().unwrap();
        subnets.iter().map(|subnet| subnet["id"].as_str().unwrap().to_owned()).collect()
    }

    fn make_port(state: &mut State, network: &str, fixed_ips: Vec<Value>, rest: Value) -> Value {
        let port_id = Self::uuid(state, "b0000000");
        let n = state.next;
        let mac = Mac([0xfa, 0x16, 0x3e, (n >> 16) as u8, (n >> 8) as u8, n as u8]);
        let mut port = json!({
            "id": port_id, "network_id": network, "project_id": "p", "name": "", "mac_address": mac.to_string(),
            "admin_state_up": true, "status": "DOWN", "device_id": "d", "device_owner": "compute:nova",
            "extra_dhcp_opts": [], "dns_assignment": [], "revision_number": 1, "binding:host_id": "hv1",
        });
        for (key, value) in rest.as_object().unwrap() {
            port[key] = value.clone();
        }
        if port.get("fixed_ips").is_none() {
            port["fixed_ips"] = Self::allocate(state, network, fixed_ips).into();
        }
        state.by_network.entry(network.to_owned()).or_default().insert(port_id.clone());
        state.ports.insert(port_id, port.clone());
        port
    }

    fn ports_of<'a>(state: &'a State, network: &str) -> impl Iterator<Item = &'a Value> {
        let ids = state.by_network.get(network).into_iter().flatten();
        ids.filter_map(|id| state.ports.get(id))
    }

    fn allocate(state: &State, network: &str, wanted: Vec<Value>) -> Vec<Value> {
        let mut used: BTreeSet<IpAddr> = BTreeSet::new();
        for port in Self::ports_of(state, network) {
            let ips = port["fixed_ips"].as_array().unwrap().iter();
            used.extend(ips.filter_map(|ip| ip["ip_address"].as_str()?.parse::<IpAddr>().ok()));
        }
        wanted
            .into_iter()
            .map(|wanted| {
                if wanted.get("ip_address").is_some() {
                    return wanted;
                }
                let subnets = state.networks[network]["subnets"].as_array().unwrap();
                let subnet = subnets.iter().find(|subnet| subnet["id"] == wanted["subnet_id"]).unwrap();
                let cidr: ipnet::IpNet = subnet["cidr"].as_str().unwrap().parse().unwrap();
                // The first is the gateway.
                let ip = cidr.hosts().skip(1).find(|ip| !used.contains(ip)).unwrap();
                used.insert(ip);
                json!({"subnet_id": wanted["subnet_id"], "ip_address": ip.to_string()})
            })
            .collect()
    }

    pub fn set_port(&self, port: &str, key: &str, value: Value) -> Value {
        let mut state = self.state();
        let port = state.ports.get_mut(port).unwrap();
        port[key] = value;
        port["revision_number"] = json!(port["revision_number"].as_i64().unwrap() + 1);
        port.clone()
    }

    pub fn delete_port(&self, port: &str) -> Value {
        self.state().ports.remove(port).unwrap()
    }

    pub fn delete_network(&self, network: &Id) {
        let mut state = self.state();
        state.networks.remove(&**network);
        state.ports.retain(|_, port| port["network_id"] != **network);
    }

    /// The network is another agent's, or this one's again.
    pub fn set_foreign(&self, network: &Id, foreign: bool) {
        let mut state = self.state();
        if foreign {
            state.foreign.insert(network.to_string())
        } else {
            state.foreign.remove(&**network)
        };
    }

    /// Ports of owner network:dhcp.
    pub fn dhcp_ports(&self, network: &Id) -> Vec<Value> {
        let state = self.state();
        Self::ports_of(&state, network).filter(|port| port["device_owner"] == "network:dhcp").cloned().collect()
    }

    /// Has calls of a method raise an exception of this class; none to stop that.
    pub fn raise(&self, method: &str, class: Option<&str>) {
        let mut state = self.state();
        match class {
            Some(class) => state.raise.insert(method.to_owned(), class.to_owned()),
            None => state.raise.remove(method),
        };
    }

    /// From now on it answers everything at once, as the reference.
    pub fn knows_no_pages(&self) {
        self.state().knows_no_pages = true;
    }

    pub fn calls(&self, method: &str) -> usize {
        self.state().calls.get(method).copied().unwrap_or(0)
    }

    pub fn is_ready(&self, port: &Value) -> bool {
        self.state().ready.contains(port["id"].as_str().unwrap())
    }

    pub fn ready_order(&self) -> Vec<String> {
        self.state().ready_order.clone()
    }

    /// Waits until these ports were reported ready, at most 30 s.
    pub async fn until_ready(&self, ports: &[&Value]) {
        self.until_ready_within(Duration::from_secs(30), ports).await;
    }

    pub async fn until_ready_within(&self, limit: Duration, ports: &[&Value]) {
        let waiting = async {
            loop {
                let changed = self.changed.notified();
                if ports.iter().all(|port| self.is_ready(port)) {
                    return;
                }
                let _ = tokio::time::timeout(Duration::from_millis(50), changed).await;
            }
        };
        let missing = || ports.iter().filter(|port| !self.is_ready(port)).map(|p| p["id"].clone()).collect::<Vec<_>>();
        if tokio::time::timeout(limit, waiting).await.is_err() {
            panic!("ports not ready in time: {:?}", missing());
        }
    }

    /// Tells the agent.
    pub async fn cast(&self, method: &str, payload: Value) {
        let client = Client::new(self.bus(), Target::topic(rpc::topics::DHCP_AGENT)).server(HOST);
        let args = json!({"payload": payload});
        client.cast(&Context::admin(), Version::new(1, 0), method, &args).await.unwrap();
    }

    pub async fn tell_network(&self, network: &Id) {
        self.cast("network_create_end", json!({"network": {"id": &**network}, "priority": 0})).await;
    }

    pub async fn tell_subnet(&self, network: &Id, subnet: &str) {
        let subnet = json!({"id": subnet, "network_id": &**network});
        self.cast("subnet_create_end", json!({"subnet": subnet, "priority": 3})).await;
    }

    pub async fn tell_port(&self, port: &Value) {
        self.cast("port_create_end", json!({"port": port, "priority": 5})).await;
    }

    pub async fn tell_port_gone(&self, port: &Value) {
        let payload = json!({
            "port_id": port["id"], "network_id": port["network_id"], "fixed_ips": port["fixed_ips"], "priority": 6,
        });
        self.cast("port_delete_end", payload).await;
    }

    /// Creates a guest's port and tells the agent.
    pub async fn boot(&self, network: &Id) -> Value {
        let port = self.port(network, json!({}));
        self.tell_port(&port).await;
        port
    }

    fn info(state: &State, network: &str) -> Value {
        let Some(known) = state.networks.get(network) else { return Value::Null };
        let mut info = known.clone();
        info["ports"] = Self::ports_of(state, network).cloned().collect();
        info
    }
}

#[async_trait]
impl Endpoint for FakeServer {
    fn version(&self) -> Version {
        Version::new(1, 10)
    }

    fn methods(&self) -> &[&'static str] {
        &[
            "get_active_networks_info",
            "get_network_info",
            "create_dhcp_port",
            "update_dhcp_port",
            "release_dhcp_port",
            "get_dhcp_port",
            "dhcp_ready_on_ports",
        ]
    }

    async fn handle(&self, _: &Context, method: &str, args: Map<String, Value>) -> Result<Value, RemoteFault> {
        let mut state = self.state();
        *state.calls.entry(method.to_owned()).or_default() += 1;
        self.changed.notify_waiters();
        if let Some(class) = state.raise.get(method) {
            return Err(RemoteFault::new("neutron_lib.exceptions", class, "made to fail"));
        }
        let text = |key: &str| args[key].as_str().unwrap().to_owned();
        Ok(match method {
            "get_active_networks_info" => {
                let ours = state.networks.keys().filter(|network| !state.foreign.contains(*network));
                let marker = args.get("marker").and_then(Value::as_str).filter(|_| !state.knows_no_pages);
                let mut infos: Vec<Value> = ours
                    .filter(|id| marker.is_none_or(|marker| id.as_str() > marker))
                    .map(|id| Self::info(&state, id))
                    .collect();
                let limit = args["limit"].as_u64().and_then(|limit| usize::try_from(limit).ok()).unwrap();
                if infos.len() > limit && !state.knows_no_pages {
                    infos.truncate(limit);
                    infos[limit - 1]["more"] = true.into();
                }
                infos.into()
            }
            "get_network_info" => Self::info(&state, &text("network_id")),
            "create_dhcp_port" => {
                let body = &args["port"]["port"];
                let network = body["network_id"].as_str().unwrap();
                if !state.networks.contains_key(network) {
                    return Ok(Value::Null);
                }
                let fixed_ips = body["fixed_ips"].as_array().unwrap().clone();
                let rest = json!({
                    "device_owner": "network:dhcp", "device_id": body["device_id"], "binding:host_id": text("host"),
                });
                Self::make_port(&mut state, network, fixed_ips, rest)
            }
            "update_dhcp_port" => {
                let body = args["port"]["port"].clone();
                let network = body["network_id"].as_str().unwrap().to_owned();
                if state.foreign.contains(&network) {
                    return Err(RemoteFault::new("neutron_lib.exceptions", "NetworkNotFound", network));
                }
                let port_id = text("port_id");
                let Some(known) = state.ports.get(&port_id) else { return Ok(Value::Null) };
                let ours = super::super::port::device_id(&text("host"), &network);
                if known["device_id"] != "reserved_dhcp_port" && known["device_id"] != *ours {
                    return Ok(Value::Null);
                }
                let fixed_ips = body["fixed_ips"].as_array().cloned();
                let fixed_ips = fixed_ips.map(|wanted| Self::allocate(&state, &network, wanted));
                let port = state.ports.get_mut(&port_id).unwrap();
                if let Some(fixed_ips) = fixed_ips {
                    port["fixed_ips"] = fixed_ips.into();
                }
                if body["device_id"].is_string() {
                    port["device_id"] = body["device_id"].clone();
                }
                port["binding:host_id"] = args["host"].clone();
                port["revision_number"] = json!(port["revision_number"].as_i64().unwrap() + 1);
                port.clone()
            }
            "release_dhcp_port" => {
                let (network, device) = (text("network_id"), text("device_id"));
                state.ports.retain(|_, port| port["network_id"] != *network || port["device_id"] != *device);
                Value::Null
            }
            "get_dhcp_port" => state.ports.get(&text("port_id")).cloned().unwrap_or(Value::Null),
            "dhcp_ready_on_ports" => {
                for port in args["port_ids"].as_array().unwrap() {
                    let port = port.as_str().unwrap().to_owned();
                    state.ready_order.push(port.clone());
                    state.ready.insert(port);
                }
                Value::Null
            }
            _ => return Err(RemoteFault::no_such_method(method)),
        })
    }
}

/// First address of a port.
pub(crate) fn ip_of(port: &Value) -> Ipv4Addr {
    port["fixed_ips"][0]["ip_address"].as_str().unwrap().parse().unwrap()
}
