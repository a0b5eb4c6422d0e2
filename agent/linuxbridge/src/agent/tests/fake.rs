//! A server of a few ports, and agents against it, over the in-process bus.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use async_trait::async_trait;
use config::Config;
use messaging::{Bus, Context, Dispatcher, InProcess, ListenOptions, Listener, RemoteFault, Target};
use rpc::{
    api::{Encoded, Nothing},
    l2::{
        BoundPort, Device, DeviceDetails, DeviceDown, DeviceList, DeviceState, DevicesDetails, L2Notifier, L2Plugin,
        L2PluginEndpoint, NetworkNews, PortNews, Tunnels,
    },
    l2pop::{Entries, FdbEntries, L2popNotifier, PortInfo},
    state::{AgentState, AgentStatus, Report, StatePlugin, StatePluginEndpoint},
    topics,
    view::{NetworkView, PortView},
};
use serde_json::{Map, json};
use testkit::lab::Host;
use tokio::{runtime::Runtime, task::JoinHandle};
use types::Mac;

use crate::names;

pub const SOON: Duration = Duration::from_secs(20);

/// A port of the fake server.
#[derive(Debug, Clone)]
pub struct Port {
    pub id: String,
    pub host: String,
    pub network: String,
    pub network_type: &'static str,
    pub physical: Option<&'static str>,
    pub segmentation_id: Option<u32>,
    pub mtu: Option<u32>,
    pub admin_up: bool,
    pub owner: &'static str,
    pub mac: Mac,
    pub ip: IpAddr,
    /// Its active binding is elsewhere.
    pub inactive: bool,
}

impl Port {
    pub fn tap(&self) -> String {
        names::tap(&self.id)
    }

    pub fn bridge(&self) -> String {
        names::bridge(&self.network)
    }
}

/// A network's id by a small number.
pub fn network(n: u32) -> String {
    format!("{n:08x}-0000-4000-8000-000000000000")
}

/// A VXLAN port on `host`; refine by struct update.
pub fn port(n: u8, host: &str) -> Port {
    Port {
        id: format!("{n:08x}-1111-4000-8000-000000000000"),
        host: host.to_owned(),
        network: network(1),
        network_type: "vxlan",
        physical: None,
        segmentation_id: Some(1001),
        mtu: Some(1450),
        admin_up: true,
        owner: "network:test",
        mac: crate::testing::mac(n),
        ip: IpAddr::from([10, 0, 0, n]),
        inactive: false,
    }
}

#[derive(Default)]
pub struct Book {
    pub ports: BTreeMap<String, Port>,
    /// By port id: `BUILD`, `ACTIVE`, `DOWN`, with every change.
    pub history: BTreeMap<String, Vec<&'static str>>,
    pub questions: Vec<Vec<String>>,
    pub reports: Vec<(Vec<String>, Vec<String>, bool)>,
    pub states: Vec<AgentState>,
    /// Calls fail.
    pub broken: bool,
    /// Devices whose details or reports fail.
    pub failing: BTreeSet<String>,
    pub networks_gone: BTreeSet<String>,
    /// The next report of state is answered with "revived".
    pub revive: bool,
    /// Tunnel address of each host; with it, the server does l2 population.
    pub tunnels: BTreeMap<String, IpAddr>,
}

impl Book {
    pub fn status(&self, port: &Port) -> &'static str {
        self.history.get(&port.id).and_then(|statuses| statuses.last()).copied().unwrap_or("none")
    }

    fn find(&self, device: &Device) -> Option<Port> {
        self.ports.values().find(|port| port.tap() == device.name()).cloned()
    }
}

type Hook = Box<dyn Fn(&[String]) + Send + Sync>;

/// The server.
pub struct Plugin {
    book: Mutex<Book>,
    bus: Bus,
    /// Called with each question, before it is answered.
    hook: Mutex<Option<Hook>>,
}

impl Plugin {
    pub fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap()
    }

    pub fn on_question(&self, hook: impl Fn(&[String]) + Send + Sync + 'static) {
        *self.hook.lock().unwrap() = Some(Box::new(hook));
    }

    fn fails(&self) -> Result<(), RemoteFault> {
        if self.book().broken { Err(RemoteFault::internal("the database is away")) } else { Ok(()) }
    }

    /// What the l2population driver sends when a port came up.
    async fn populate(&self, port: &Port) {
        let (mine, others) = {
            let book = self.book();
            let Some(agent) = book.tunnels.get(&port.host) else { return };
            let entry = |port: &Port| PortInfo(port.mac, port.ip);
            let entries = |ports| Entries { segment_id: port.segmentation_id, network_type: "vxlan".into(), ports };
            let mine = BTreeMap::from([(*agent, vec![PortInfo::FLOOD, entry(port)])]);
            let mut others: BTreeMap<IpAddr, Vec<PortInfo>> = BTreeMap::new();
            for other in book.ports.values().filter(|o| o.network == port.network && o.host != port.host) {
                if book.status(other) == "ACTIVE" {
                    let known = others.entry(book.tunnels[&other.host]).or_insert_with(|| vec![PortInfo::FLOOD]);
                    known.push(entry(other));
                }
            }
            let wrap = |ports| FdbEntries::from([(port.network.clone(), entries(ports))]);
            (wrap(mine), (!others.is_empty()).then(|| wrap(others)))
        };
        let notifier = L2popNotifier::new(Bus::clone(&self.bus));
        if let Some(others) = others {
            notifier.server(&port.host).add_fdb_entries(&Context::admin(), others, None).await.unwrap();
        }
        notifier.everyone().add_fdb_entries(&Context::admin(), mine, None).await.unwrap();
    }
}

#[async_trait]
impl L2Plugin for Plugin {
    async fn get_device_details(
        &self,
        _: &Context,
        _: Device,
        _: Option<String>,
        _: Option<String>,
    ) -> Result<DeviceDetails, RemoteFault> {
        Err(RemoteFault::no_such_method("get_device_details"))
    }

    async fn get_devices_details_list(
        &self,
        _: &Context,
        _: Vec<Device>,
        _: Option<String>,
        _: Option<String>,
    ) -> Result<Vec<DeviceDetails>, RemoteFault> {
        Err(RemoteFault::no_such_method("get_devices_details_list"))
    }

    async fn get_devices_details_list_and_failed_devices(
        &self,
        _: &Context,
        devices: Vec<Device>,
        _: Option<String>,
        _: Option<String>,
    ) -> Result<DevicesDetails, RemoteFault> {
        self.fails()?;
        let names: Vec<String> = devices.iter().map(|device| device.name().to_owned()).collect();
        if let Some(hook) = &*self.hook.lock().unwrap() {
            hook(&names);
        }
        let mut book = self.book();
        book.questions.push(names);
        let mut answer = DevicesDetails::default();
        for device in devices {
            if book.failing.contains(device.name()) {
                answer.failed_devices.push(device);
                continue;
            }
            let state = match book.find(&device) {
                None => DeviceState::Unknown,
                Some(port) if port.inactive => DeviceState::NoActiveBinding,
                Some(port) => {
                    let building = if port.admin_up { "BUILD" } else { "DOWN" };
                    if book.status(&port) != building {
                        book.history.entry(port.id.clone()).or_default().push(building);
                    }
                    DeviceState::Bound(Box::new(BoundPort {
                        port_id: port.id,
                        network_id: port.network,
                        mac_address: port.mac,
                        admin_state_up: port.admin_up,
                        network_type: port.network_type.to_owned(),
                        segmentation_id: port.segmentation_id,
                        physical_network: port.physical.map(str::to_owned),
                        mtu: port.mtu,
                        fixed_ips: Vec::new(),
                        device_owner: port.owner.to_owned(),
                        allowed_address_pairs: Vec::new(),
                        port_security_enabled: true,
                        qos_policy_id: None,
                        qos_network_policy_id: None,
                        propagate_uplink_status: None,
                        extra: Map::new(),
                    }))
                }
            };
            answer.devices.push(DeviceDetails { device: device.name().to_owned(), state });
        }
        Ok(answer)
    }

    async fn get_network_details(
        &self,
        _: &Context,
        network: String,
        _: Option<String>,
        _: Option<String>,
    ) -> Result<Encoded<NetworkView>, RemoteFault> {
        self.fails()?;
        if self.book().networks_gone.contains(&network) {
            return Err(RemoteFault::neutron("NetworkNotFound", format!("network {network} is gone"), Map::new()));
        }
        Ok(Encoded::json(json!({"id": network})))
    }

    async fn update_device_down(
        &self,
        _: &Context,
        _: Device,
        _: Option<String>,
        _: Option<String>,
    ) -> Result<DeviceDown, RemoteFault> {
        Err(RemoteFault::no_such_method("update_device_down"))
    }

    async fn update_device_up(
        &self,
        _: &Context,
        _: Device,
        _: Option<String>,
        _: Option<String>,
    ) -> Result<Nothing, RemoteFault> {
        Err(RemoteFault::no_such_method("update_device_up"))
    }

    async fn update_device_list(
        &self,
        _: &Context,
        devices_up: Vec<Device>,
        devices_down: Vec<Device>,
        _: Option<String>,
        _: Option<String>,
        refresh_tunnels: bool,
    ) -> Result<DeviceList, RemoteFault> {
        self.fails()?;
        let mut taken = DeviceList::default();
        let mut up = Vec::new();
        {
            let mut book = self.book();
            let names = |devices: &[Device]| devices.iter().map(|device| device.name().to_owned()).collect();
            book.reports.push((names(&devices_up), names(&devices_down), refresh_tunnels));
            for (devices, status) in [(devices_up, "ACTIVE"), (devices_down, "DOWN")] {
                for device in devices {
                    let failing = book.failing.contains(device.name());
                    let port = book.find(&device);
                    if let Some(port) = port.clone().filter(|_| !failing) {
                        book.history.entry(port.id.clone()).or_default().push(status);
                    }
                    match (status, failing) {
                        ("ACTIVE", true) => taken.failed_devices_up.push(device),
                        ("ACTIVE", false) => {
                            up.extend(port);
                            taken.devices_up.push(device);
                        }
                        (_, true) => taken.failed_devices_down.push(device),
                        (_, false) => {
                            let device = device.name().to_owned();
                            taken.devices_down.push(DeviceDown { device, exists: port.is_some() });
                        }
                    }
                }
            }
        }
        for port in up {
            self.populate(&port).await;
        }
        Ok(taken)
    }

    async fn tunnel_sync(&self, _: &Context, _: IpAddr, _: String, _: Option<String>) -> Result<Tunnels, RemoteFault> {
        Ok(Tunnels::default())
    }

    async fn get_ports_by_vnic_type_and_host(
        &self,
        _: &Context,
        _: String,
        _: String,
    ) -> Result<Encoded<Vec<PortView>>, RemoteFault> {
        Ok(Encoded::json(json!([])))
    }
}

#[async_trait]
impl StatePlugin for Plugin {
    async fn report_state(&self, _: &Context, report: Report, _: String) -> Result<Option<AgentStatus>, RemoteFault> {
        self.fails()?;
        let mut book = self.book();
        book.states.push(report.agent_state);
        let revived = std::mem::take(&mut book.revive);
        Ok(Some(if revived { AgentStatus::Revived } else { AgentStatus::Alive }))
    }

    async fn has_alive_neutron_server(&self, _: &Context) -> Result<bool, RemoteFault> {
        Ok(true)
    }
}

/// A server and a runtime for agents.
pub struct World {
    pub runtime: Runtime,
    pub plugin: Arc<Plugin>,
    pub bus: Bus,
    listeners: Mutex<Vec<Listener>>,
}

impl World {
    /// With a server that listens.
    pub fn new() -> Self {
        let world = Self::without_server();
        world.serve();
        world
    }

    pub fn without_server() -> Self {
        // With RUST_LOG set, a failing test shows what the agent did.
        let filter = tracing_subscriber::EnvFilter::from_default_env();
        _ = tracing_subscriber::fmt().with_env_filter(filter).with_test_writer().try_init();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let bus: Bus = Arc::new(InProcess::new());
        let plugin = Arc::new(Plugin { book: Mutex::default(), bus: Arc::clone(&bus), hook: Mutex::default() });
        Self { runtime, plugin, bus, listeners: Mutex::default() }
    }

    pub fn serve(&self) {
        let endpoints: [(&str, Dispatcher); 2] = [
            (topics::PLUGIN, Dispatcher::new().with(Arc::new(L2PluginEndpoint(Arc::clone(&self.plugin))))),
            (topics::REPORTS, Dispatcher::new().with(Arc::new(StatePluginEndpoint(Arc::clone(&self.plugin))))),
        ];
        for (topic, dispatcher) in endpoints {
            let target = Target::topic(topic).server("server");
            let options = ListenOptions::concurrent(4);
            let listening = self.bus.listen(&target, Arc::new(dispatcher), options);
            self.listeners.lock().unwrap().push(self.runtime.block_on(listening).unwrap());
        }
    }

    pub fn book(&self) -> MutexGuard<'_, Book> {
        self.plugin.book()
    }

    /// Creates or changes a port, without a word to the agents.
    pub fn put(&self, port: &Port) {
        self.book().ports.insert(port.id.clone(), port.clone());
    }

    /// Waits until a port has a status.
    #[track_caller]
    pub fn wait(&self, port: &Port, status: &str) {
        testkit::eventually(SOON, || {
            let now = self.book().status(port);
            if now == status { Ok(()) } else { Err(format!("{} is {now}", port.tap())) }
        });
    }

    pub fn notify(&self) -> L2Notifier {
        L2Notifier::new(Arc::clone(&self.bus))
    }

    pub fn port_updated(&self, port: &Port) {
        let news = PortNews { id: port.id.clone(), extra: Map::new() };
        self.runtime.block_on(self.notify().port_update(&Context::admin(), news, None, None, None)).unwrap();
    }

    pub fn network_updated(&self, id: &str) {
        let news = NetworkNews { id: id.to_owned(), extra: Map::new() };
        self.runtime.block_on(self.notify().network_update(&Context::admin(), news)).unwrap();
    }

    pub fn network_deleted(&self, id: &str) {
        self.book().ports.retain(|_, port| port.network != id);
        self.runtime.block_on(self.notify().network_delete(&Context::admin(), id.to_owned())).unwrap();
    }

    pub fn populate(&self, entries: FdbEntries) {
        let notifier = L2popNotifier::new(Arc::clone(&self.bus)).everyone();
        self.runtime.block_on(notifier.add_fdb_entries(&Context::admin(), entries, None)).unwrap();
    }

    /// Starts an agent for a host.
    pub fn agent(&self, host: &Host, ini: &str) -> Running {
        let config = options(host.name(), ini);
        let (bus, netns, stop) = (Arc::clone(&self.bus), host.netns().clone(), runtime::Stop::new());
        let asked = stop.clone();
        let task = self.runtime.spawn(async move { crate::run(&config, bus, netns, asked.wait()).await });
        Running { stop, task }
    }

    pub fn stop(&self, agent: Running) {
        agent.stop.ask();
        self.runtime.block_on(agent.task).unwrap().unwrap();
    }
}

pub fn options(host: &str, ini: &str) -> Config {
    let text = format!("[DEFAULT]\nhost = {host}\n[AGENT]\nreport_interval = 1\n{ini}");
    runtime::options::loader().declare(crate::OPTIONS).text("agent.ini", &text).load().unwrap()
}

/// An agent that runs.
pub struct Running {
    pub stop: runtime::Stop,
    pub task: JoinHandle<Result<(), crate::AgentError>>,
}
