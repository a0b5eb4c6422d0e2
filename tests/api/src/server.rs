//! A server in this process, on a port that the system chooses.

use std::net::SocketAddr;
use std::sync::Arc;

use config::Loader;
use messaging::{Bus, FakeBus, Recorded};
use rpc::state::{AgentState, Report, StateClient};
use serde_json::{Map, Value};
use server::Setup;
use store::{Faults, Store};
use testkit::database::{self, Database};
use tokio::runtime::Runtime;

/// Those of the reference whose answers were recorded; sections of a later text go over them.
const OPTIONS: &str = "\
[DEFAULT]
auth_strategy = noauth
bind_port = 0
dns_domain = openstackgate.local.
[database]
connection = sqlite://
[ml2]
type_drivers = flat,vlan,vxlan,gre,geneve,local
tenant_network_types = vxlan
mechanism_drivers = openvswitch,linuxbridge,l2population
[ml2_type_flat]
flat_networks = public,physnet1
[ml2_type_vlan]
network_vlan_ranges = physnet1:100:199,physnet2
[ml2_type_vxlan]
vni_ranges = 1:10000
[ml2_type_gre]
tunnel_id_ranges = 1:1000
[ml2_type_geneve]
vni_ranges = 1:1000
";

pub struct Server {
    runtime: Option<Runtime>,
    running: Option<server::Server>,
    address: SocketAddr,
    bus: FakeBus,
    store: Store,
    /// Dropped last: nothing is connected to it any more.
    _database: Option<Database>,
}

/// An agent as it would report itself.
pub struct Agent {
    pub agent_type: &'static str,
    pub binary: &'static str,
    pub topic: &'static str,
    pub host: String,
    pub configurations: Value,
}

impl Server {
    pub(crate) fn start(options: &str, faults: Option<Faults>) -> Server {
        // So that a failed test shows what the server had to say; a second server of the process finds it done.
        let _ = tracing_subscriber::fmt()
            .with_max_level(tracing_subscriber::filter::LevelFilter::WARN)
            .with_test_writer()
            .try_init();
        let loader = Loader::new().declare(server::OPTIONS).text("test", OPTIONS).text("more", options);
        let config = loader.load().unwrap_or_else(|error| panic!("{options}: {error}"));
        let setup = Setup::read(&config).unwrap_or_else(|error| panic!("{options}: {error:#}"));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("threads for a server");
        let bus = FakeBus::new();
        // Unless the test has a database of its own.
        let database = if setup.database.url == "sqlite://" { database::fresh_chosen() } else { None };
        let (store, running) = runtime.block_on(async {
            let url = database.as_ref().map_or_else(|| setup.database.url.clone(), Database::url);
            if database.is_some() {
                // Statements that make tables end transactions on some servers: a fault in between would leave half of them.
                let plain = Store::open(store::Options::new(&url)).await.expect("a database");
                store::migrate::upgrade(&plain, migrations::ALL).await.expect("the schema");
            }
            let store = Store::open(store::Options { faults, ..store::Options::new(url) }).await.expect("a database");
            // With faults it takes several attempts.
            while let Err(error) = store::migrate::upgrade(&store, migrations::ALL).await {
                assert!(faults.is_some(), "the schema: {error}");
            }
            let running = server::Server::start(&setup, store.clone(), Arc::new(bus.clone())).await;
            (store, running.unwrap_or_else(|error| panic!("the server does not start: {error:#}")))
        });
        let address = running.address;
        Server { runtime: Some(runtime), running: Some(running), address, bus, store, _database: database }
    }

    pub(crate) fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The bus between the server and its agents, for clients of the RPC.
    pub fn bus(&self) -> Bus {
        Arc::new(self.bus.clone())
    }

    /// The same with its eyes and faults.
    pub fn fake_bus(&self) -> &FakeBus {
        &self.bus
    }

    /// Casts and fanouts to agents that `change` led to, when all effects of it have run.
    pub fn sent_by(&self, change: impl FnOnce()) -> Vec<Recorded> {
        self.wait(self.store.settled());
        self.bus.clear();
        change();
        self.wait(self.store.settled());
        self.bus.sent()
    }

    /// What the server is composed of.
    pub fn wired(&self) -> &server::wiring::Wired {
        &self.running.as_ref().expect("it runs until it is dropped").wired
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Runs something that waits, on the server's threads.
    pub fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.as_ref().expect("it runs until it is dropped").block_on(future)
    }

    /// Has an agent report, so that it is known and alive.
    pub fn report(&self, agent: &Agent) {
        let configurations: Map<String, Value> = agent.configurations.as_object().cloned().unwrap_or_default();
        let state = AgentState {
            agent_type: agent.agent_type.to_owned(),
            binary: agent.binary.to_owned(),
            host: agent.host.clone(),
            topic: agent.topic.to_owned(),
            availability_zone: Some("nova".to_owned()),
            configurations,
            start_flag: true,
            resource_versions: None,
            uuid: None,
            extra: Map::new(),
        };
        let time = chrono::Utc::now().naive_utc().format("%Y-%m-%dT%H:%M:%S%.6f").to_string();
        let client = StateClient::new(self.bus());
        let context = messaging::Context::admin();
        let reported = self.wait(client.report_state(&context, Report { agent_state: state }, time));
        reported.unwrap_or_else(|error| panic!("the report of {} failed: {error}", agent.host));
    }

    /// Rows of a query, as text; for what the API does not show.
    pub fn count(&self, sql: &str) -> i64 {
        self.wait(async {
            let mut txn = self.store.read().await.expect("a transaction");
            txn.query_one(sql, &[]).await.expect("a query").expect("a row").int(0)
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let (Some(runtime), Some(running)) = (self.runtime.take(), self.running.take()) {
            if let Err(error) = runtime.block_on(running.stop()) {
                eprintln!("the server did not stop in order: {error:#}");
            }
            runtime.shutdown_background();
        }
    }
}
