//! The domain as a system on a private database, for tests that read like requests.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use policy::{Context, Enforce, Target};
use resource::{Behaviour, Entity, Op, Query, System};
use schema::{Extend, Fault, Model, Record, Resource, Value};
use serde_json::json;
use store::{Options, Store};

use crate::address_scope::{ADDRESS_SCOPE, AddressScopes, NetworkScopes, ON_NETWORK};
use crate::ipam::Ipam;
use crate::ml2::{Ml2, Pool, Ranges, Segment, TypeDriver};
use crate::network::{NETWORK, Networks};
use crate::port::{PORT, Ports};
use crate::settings::Settings;
use crate::standard::SHARED;
use crate::subnet::{SUBNET, Subnets};
use crate::subnetpool::{SUBNETPOOL, SubnetPools};

/// Segments of type `local`, which have no number, and of type `vlan`, whose number the test chooses.
struct Plain(&'static str);

#[async_trait]
impl TypeDriver for Plain {
    fn network_type(&self) -> &'static str {
        self.0
    }
    fn is_partial(&self, _segment: &Segment) -> bool {
        false
    }
    fn validate(&self, _segment: &Segment, _pools: &[Pool]) -> Result<(), Fault> {
        Ok(())
    }
    async fn reserve(&self, _op: &mut Op<'_>, segment: &Segment) -> Result<Segment, Fault> {
        Ok(segment.clone())
    }
    async fn allocate(&self, _op: &mut Op<'_>, _on: Option<&str>, _pools: &[Pool]) -> Result<Option<Segment>, Fault> {
        let network_type = self.0.to_owned();
        Ok(Some(Segment { id: String::new(), network_type, physical_network: None, segmentation_id: None }))
    }
    async fn release(&self, _op: &mut Op<'_>, _segment: &Segment, _pools: &[Pool]) -> Result<(), Fault> {
        Ok(())
    }
    fn mtu(&self, _physical_network: Option<&str>) -> Option<i64> {
        None
    }
}

/// Administrators may do everything, owners what has no rule of its own, owners of a network what they like with its subnets.
struct Rules;

impl Enforce for Rules {
    fn allows(&self, rule: &str, context: &Context, target: &dyn Target) -> bool {
        let is_mine = |name: &str| target.value(name).and_then(Value::as_str) == Some(context.project_id.as_str());
        let holds = |name: &str| target.value(name) == Some(&Value::Bool(true));
        context.is_admin
            || match rule {
                "create_subnet" => is_mine("network:project_id"),
                "get_network_ip_availability" => false,
                _ if rule.contains(':') => {
                    rule.starts_with("create_port:fixed_ips") || rule.starts_with("update_port:fixed_ips")
                }
                _ if rule.starts_with("get_") => {
                    is_mine("project_id")
                        || is_mine("network:project_id")
                        || holds("shared")
                        || holds("router:external")
                }
                _ => is_mine("project_id") || is_mine("network:project_id"),
            }
    }

    fn looks_at_target(&self, _rule: &str) -> bool {
        true
    }
}

/// Notes which ports changed, as those do who tell agents.
struct Listener(Arc<Mutex<Vec<String>>>);

#[async_trait]
impl Behaviour for Listener {
    async fn updated(&self, _op: &mut Op<'_>, _old: &Record, new: &Record) -> Result<(), Fault> {
        self.0.lock().unwrap().push(new.id().to_owned());
        Ok(())
    }
}

pub struct Lab {
    pub system: Arc<System>,
    heard: Arc<Mutex<Vec<String>>>,
    /// Dropped last: nothing is connected to it any more.
    pub _database: Option<testkit::database::Database>,
}

fn entity(resource: &'static Resource, extends: &[&'static Extend], behaviours: Vec<Arc<dyn Behaviour>>) -> Entity {
    Entity::new(Model::new(resource, extends.iter().copied()).unwrap(), behaviours)
}

impl Lab {
    pub async fn new() -> Lab {
        Lab::with(Options::default(), Settings::default()).await
    }

    pub async fn with(mut options: Options, settings: Settings) -> Lab {
        let database = if options.url == "sqlite://" { testkit::database::fresh_chosen() } else { None };
        if let Some(database) = &database {
            options.url = database.url();
            // Statements that make tables end transactions on some servers: a fault in between would leave half of them.
            let plain = Store::open(Options::new(database.url())).await.unwrap();
            store::migrate::upgrade(&plain, migrations::ALL).await.unwrap();
        }
        let store = Store::open(options).await.unwrap();
        // Injected errors of the database are met here too.
        while store::migrate::upgrade(&store, migrations::ALL).await.is_err() {}
        let mut lab = Lab::on(store, settings);
        lab._database = database;
        lab
    }

    /// Another server on the same database.
    pub fn on(store: Store, settings: Settings) -> Lab {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let ipam = Ipam::new(&settings.ipam_driver).unwrap();
        let types: Vec<Arc<dyn TypeDriver>> = vec![Arc::new(Plain("local")), Arc::new(Plain("vlan"))];
        let ml2 =
            Arc::new(Ml2 { settings: Arc::new(settings), ranges: Ranges::Configured, types, mechanisms: Vec::new() });
        let mut system = System::new(store, Arc::new(Rules), &SHARED);
        system.add(entity(
            &NETWORK,
            &[&ON_NETWORK],
            vec![Arc::new(Networks { ml2: ml2.clone() }), Arc::new(NetworkScopes)],
        ));
        system.add(entity(&SUBNET, &[], vec![Arc::new(Subnets { ml2: ml2.clone(), ipam: ipam.clone() })]));
        system.add(entity(&PORT, &[], vec![Arc::new(Ports { ml2, ipam }), Arc::new(Listener(heard.clone()))]));
        system.add(entity(&SUBNETPOOL, &[], vec![Arc::new(SubnetPools)]));
        system.add(entity(&ADDRESS_SCOPE, &[], vec![Arc::new(AddressScopes)]));
        Lab { system: Arc::new(system), heard, _database: None }
    }

    pub fn admin(&self) -> As {
        let context = Context { project_id: "admin-project".into(), ..Context::internal() };
        As { system: self.system.clone(), context }
    }

    pub fn member(&self, project: &str) -> As {
        let context = Context { project_id: project.into(), roles: vec!["member".into()], ..Context::default() };
        As { system: self.system.clone(), context }
    }

    /// The ports that changed since the last call.
    pub fn heard(&self) -> Vec<String> {
        std::mem::take(&mut self.heard.lock().unwrap())
    }

    /// One cell of the database, as text.
    pub async fn sql(&self, sql: &str) -> String {
        let mut txn = self.system.store.read().await.unwrap();
        txn.query_one(sql, &[]).await.unwrap().map(|row| row.text(0)).unwrap_or_default()
    }

    pub async fn execute(&self, sql: &str) {
        let mut txn = self.system.store.write().await.unwrap();
        txn.execute(sql, &[]).await.unwrap();
        txn.commit().await.unwrap();
    }

    /// Invariant I1: no address twice, the tables of ports and of the driver agree, every address lies in its subnet, and none is
    /// the gateway's.
    pub async fn check_addresses(&self) {
        let mut txn = self.system.store.read().await.unwrap();
        let sql = "SELECT a.subnet_id, a.ip_address, s.cidr, s.gateway_ip FROM ipallocations a JOIN subnets s ON s.id = a.subnet_id";
        let rows = txn.query(sql, &[]).await.unwrap();
        let mut ports = HashSet::new();
        for row in &rows {
            let (subnet, ip) = (row.text(0), row.text(1));
            let net = types::cidr::parse(row.str(2)).unwrap();
            assert!(net.contains(&ip.parse::<std::net::IpAddr>().unwrap()), "{ip} is not in {net}");
            assert_ne!(row.str(3), ip, "a port has the gateway's address");
            assert!(ports.insert((subnet.clone(), ip.clone())), "{ip} twice in {subnet}");
        }
        let sql = "SELECT s.neutron_subnet_id, a.ip_address FROM ipamallocations a JOIN ipamsubnets s ON s.id = a.ipam_subnet_id";
        let driver: HashSet<(String, String)> =
            txn.query(sql, &[]).await.unwrap().iter().map(|row| (row.text(0), row.text(1))).collect();
        assert_eq!(ports, driver, "both tables hold the same addresses");
    }
}

/// Requests under one identity. Answers are the bodies that a user would see.
#[derive(Clone)]
pub struct As {
    pub system: Arc<System>,
    pub context: Context,
}

/// Status and type of a fault.
pub fn told(fault: &Fault) -> (u16, String) {
    (fault.status(), fault.kind().to_owned())
}

/// A record as an answer.
pub fn shown(record: &Record) -> Value {
    let attrs = &record.model().attrs;
    let visible = attrs.iter().enumerate().filter(|(_, attr)| attr.visible);
    visible
        .filter_map(|(i, attr)| Some((attr.name.to_owned(), record.at(i)?.clone())))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

impl As {
    pub async fn create(&self, name: &str, body: Value) -> Result<Value, Fault> {
        let entity = self.system.entity(name)?;
        let given = schema::body::create(&entity.model, body.as_object().unwrap().clone())?;
        let records = self.system.create(&self.context, &entity, vec![given]).await?;
        Ok(shown(&records[0]))
    }

    pub async fn update(&self, name: &str, id: &str, body: Value) -> Result<Value, Fault> {
        let entity = self.system.entity(name)?;
        let given = schema::body::update(&entity.model, body.as_object().unwrap().clone())?;
        self.system.update(&self.context, &entity, id, &given, None).await.map(|record| shown(&record))
    }

    pub async fn delete(&self, name: &str, id: &str) -> Result<(), Fault> {
        let entity = self.system.entity(name)?;
        self.system.delete(&self.context, &entity, id, None).await
    }

    pub async fn get(&self, name: &str, id: &str) -> Result<Value, Fault> {
        let entity = self.system.entity(name)?;
        self.system.get(&self.context, &entity, id).await.map(|record| shown(&record))
    }

    /// The filters are a query string without the question mark.
    pub async fn list(&self, name: &str, filters: &str) -> Result<Vec<Value>, Fault> {
        let entity = self.system.entity(name)?;
        let pairs: Vec<(String, String)> = filters
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        let query = Query::parse(&pairs)?;
        Ok(self.system.list(&self.context, &entity, &query).await?.iter().map(shown).collect())
    }

    /// Status and type of the fault that a create gets, or 201.
    pub async fn try_create(&self, name: &str, body: Value) -> (u16, String) {
        self.create(name, body).await.map_or_else(|fault| told(&fault), |_| (201, String::new()))
    }

    pub async fn network(&self) -> String {
        id(&self.create("network", json!({})).await.unwrap())
    }

    pub async fn subnet(&self, network: &str, body: Value) -> Value {
        self.create("subnet", merged(json!({"network_id": network, "ip_version": 4}), body)).await.unwrap()
    }

    pub async fn slaac(&self, network: &str, cidr: &str) -> Value {
        let body = json!({"ip_version": 6, "cidr": cidr, "ipv6_ra_mode": "slaac", "ipv6_address_mode": "slaac"});
        self.subnet(network, body).await
    }

    pub async fn port(&self, network: &str, body: Value) -> Result<Value, Fault> {
        self.create("port", merged(json!({"network_id": network}), body)).await
    }
}

/// `more` laid over `base`.
pub fn merged(mut base: Value, more: Value) -> Value {
    let object = base.as_object_mut().unwrap();
    object.extend(more.as_object().unwrap().clone());
    base
}

pub fn id(body: &Value) -> String {
    body["id"].as_str().unwrap().to_owned()
}

/// Addresses of a port in order, separated by blanks.
pub fn ips(port: &Value) -> String {
    let list = port["fixed_ips"].as_array().unwrap();
    let mut ips: Vec<std::net::IpAddr> =
        list.iter().map(|fixed| fixed["ip_address"].as_str().unwrap().parse().unwrap()).collect();
    ips.sort();
    ips.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}
