//! A small system over the real schema, for tests: networks and ports with nothing but their own rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use policy::{Context, Enforcer};
use resource::{Action, Answer, Behaviour, Entity, Given, Method, Op, Query, Request, SharedTable, System};
use schema::{Attr, Default, Fault, Kind, Model, Record, Resource, Value, Verbs};
use serde_json::json;
use store::{Options, Store};

use crate::quota::{self, Limits, Quotas};
use crate::tag;

static SHARED: SharedTable = SharedTable {
    table: "standardattributes",
    key: "id",
    reference: "standard_attr_id",
    kind: "resource_type",
    created: "created_at",
    updated: "updated_at",
    revision: "revision_number",
    revision_attr: "revision_number",
};

const ID: Attr = Attr::new("id", Kind::Uuid);
const PROJECT: Attr = Attr::new("project_id", Kind::Text { max: 255 }).post();
const NAME: Attr = Attr::new("name", Kind::Text { max: 255 }).post().put().default(Default::Text(""));
const REVISION: Attr = Attr::new("revision_number", Kind::Int { min: 0, max: i64::MAX }).shared("revision_number");

pub static NETWORK: Resource = Resource {
    name: "network",
    plural: "networks",
    path: "networks",
    table: "networks",
    key: "id",
    shared: Some("networks"),
    not_found: "NetworkNotFound",
    owner: Some("project_id"),
    verbs: Verbs::ALL,
    quota: Some("network"),
    extension: None,
    attrs: &[
        ID,
        NAME,
        PROJECT,
        Attr::new("mtu", Kind::Int { min: 0, max: 9000 }).post().default(Default::Int(1500)),
        REVISION,
    ],
};

pub static PORT: Resource = Resource {
    name: "port",
    plural: "ports",
    path: "ports",
    table: "ports",
    key: "id",
    shared: Some("ports"),
    not_found: "PortNotFound",
    owner: Some("project_id"),
    verbs: Verbs::ALL,
    quota: Some("port"),
    extension: None,
    attrs: &[
        ID,
        NAME,
        PROJECT,
        Attr::new("network_id", Kind::Uuid).required(),
        Attr::new("mac_address", Kind::Mac),
        Attr::new("admin_state_up", Kind::Bool).post().default(Default::Bool(true)),
        Attr::new("status", Kind::Text { max: 16 }).post().default(Default::Text("DOWN")),
        Attr::new("device_id", Kind::Text { max: 255 }).post().default(Default::Text("")),
        Attr::new("device_owner", Kind::Text { max: 255 }).post().default(Default::Text("")),
        REVISION,
    ],
};

/// Gives each port another MAC address.
struct Macs(AtomicU64);

#[async_trait]
impl Behaviour for Macs {
    async fn creating(&self, _op: &mut Op<'_>, given: &mut Given) -> Result<(), Fault> {
        let number = self.0.fetch_add(1, Ordering::Relaxed);
        given.record.set(
            "mac_address",
            format!("fa:16:3e:{:02x}:{:02x}:{:02x}", number >> 16, number >> 8 & 255, number & 255),
        );
        Ok(())
    }
}

static RULES: &[(&str, &str)] = &[
    ("admin_only", "role:admin"),
    ("default", "role:admin or project_id:%(project_id)s"),
    ("shared", "role:admin or (role:member and project_id:%(project_id)s)"),
    ("update_network:tags", "role:admin or (role:member and project_id:%(project_id)s)"),
    ("create_network:tags", "role:admin or (role:member and project_id:%(project_id)s)"),
    ("delete_network:tags", "role:admin or (role:member and project_id:%(project_id)s)"),
    ("get_quota", "role:admin or (role:manager and project_id:%(project_id)s)"),
    ("update_quota", "rule:admin_only"),
    ("delete_quota", "rule:admin_only"),
];

pub struct Lab {
    pub system: Arc<System>,
    pub quotas: Arc<Quotas>,
    pub actions: [Arc<dyn Action>; 2],
    /// Dropped last: nothing is connected to it any more.
    pub _database: Option<testkit::database::Database>,
}

/// Somebody who sends requests.
pub struct As<'a> {
    lab: &'a Lab,
    pub context: Context,
}

impl Lab {
    pub async fn new(limits: Limits) -> Lab {
        Lab::with(Options::default(), limits).await
    }

    pub async fn with(mut options: Options, limits: Limits) -> Lab {
        let database = if options.url == "sqlite://" { testkit::database::fresh_chosen() } else { None };
        if let Some(database) = &database {
            options.url = database.url();
            // Statements that make tables end transactions on some servers: a fault in between would leave half of them.
            let plain = Store::open(Options::new(database.url())).await.unwrap();
            store::migrate::upgrade(&plain, migrations::ALL).await.unwrap();
        }
        let store = Store::open(options).await.unwrap();
        // With injected faults it may take a few attempts.
        let mut upgraded = store::migrate::upgrade(&store, migrations::ALL).await;
        for _ in 0..20 {
            if upgraded.is_ok() {
                break;
            }
            upgraded = store::migrate::upgrade(&store, migrations::ALL).await;
        }
        upgraded.unwrap();
        let mut lab = Lab::on(store, limits);
        lab._database = database;
        lab
    }

    /// Another server on the same database.
    pub fn on(store: Store, limits: Limits) -> Lab {
        let quotas = Arc::new(Quotas::new(limits));
        let policy = Enforcer::new(RULES.iter().copied()).unwrap();
        let mut system = System::new(store, Arc::new(policy), &SHARED);
        for resource in [&NETWORK, &PORT] {
            let model = Model::new(resource, tag::extends()).unwrap();
            let macs = Arc::new(Macs(AtomicU64::new(0)));
            let own: Arc<dyn Behaviour> = if resource.name == "port" { macs } else { Arc::new(resource::Plain) };
            system.add(Entity::new(model, vec![own, Arc::new(tag::Tagged { of: resource })]));
        }
        system.quota = Some(quotas.clone());
        let actions: [Arc<dyn Action>; 2] =
            [Arc::new(tag::Api::of(&system)), Arc::new(quota::Api { quotas: quotas.clone() })];
        Lab { system: Arc::new(system), quotas, actions, _database: None }
    }

    /// As a new process would start on the database.
    pub async fn start(&self) {
        let mut txn = self.system.store.write().await.unwrap();
        self.quotas.start(&mut txn).await.unwrap();
        txn.commit().await.unwrap();
    }

    fn with_roles(&self, project: &str, roles: &[&str]) -> As<'_> {
        let roles: Vec<String> = roles.iter().map(|role| (*role).to_owned()).collect();
        let is_admin = roles.iter().any(|role| role == "admin");
        As { lab: self, context: Context { project_id: project.into(), roles, is_admin, ..Context::default() } }
    }

    pub fn admin(&self) -> As<'_> {
        self.with_roles("admin", &["admin"])
    }

    pub fn manager(&self, project: &str) -> As<'_> {
        self.with_roles(project, &["manager", "member", "reader"])
    }

    pub fn member(&self, project: &str) -> As<'_> {
        self.with_roles(project, &["member", "reader"])
    }

    pub fn reader(&self, project: &str) -> As<'_> {
        self.with_roles(project, &["reader"])
    }

    /// The first cell of an answer of the database, as text.
    pub async fn sql(&self, sql: &str) -> String {
        let mut txn = self.system.store.read().await.unwrap();
        txn.query_one(sql, &[]).await.unwrap().map(|row| row.text(0)).unwrap_or_default()
    }

    pub async fn number(&self, sql: &str) -> i64 {
        let mut txn = self.system.store.read().await.unwrap();
        txn.query_one(sql, &[]).await.unwrap().and_then(|row| row.opt_int(0)).unwrap_or(i64::MIN)
    }

    pub async fn execute(&self, sql: &str) {
        let mut txn = self.system.store.write().await.unwrap();
        txn.execute(sql, &[]).await.unwrap();
        txn.commit().await.unwrap();
    }

    /// Statements that an action needs.
    pub async fn statements<T>(&self, action: impl Future<Output = T>) -> (u64, T) {
        let before = self.system.store.statements();
        let value = action.await;
        (self.system.store.statements() - before, value)
    }
}

fn params(pattern: &str, path: &str) -> Option<Vec<(String, String)>> {
    let (pattern, path): (Vec<&str>, Vec<&str>) = (pattern.split('/').collect(), path.split('/').collect());
    if pattern.len() != path.len() {
        return None;
    }
    let mut params = Vec::new();
    for (part, given) in pattern.iter().zip(path) {
        match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
            Some(name) => params.push((name.to_owned(), given.to_owned())),
            None if *part != given => return None,
            None => {}
        }
    }
    Some(params)
}

impl As<'_> {
    /// Calls the endpoint of an action.
    pub async fn send(&self, method: Method, path: &str, body: Option<Value>) -> Result<Answer, Fault> {
        self.send_if(method, path, body, None).await
    }

    pub async fn send_if(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
        if_match: Option<i64>,
    ) -> Result<Answer, Fault> {
        for action in &self.lab.actions {
            for route in action.routes().iter().filter(|route| route.method == method) {
                if let Some(params) = params(route.path, path) {
                    let request = Request { route: *route, params, query: Vec::new(), body, if_match };
                    return action.call(&self.lab.system, &self.context, request).await;
                }
            }
        }
        panic!("{method:?} {path} has no endpoint");
    }

    pub async fn get(&self, path: &str) -> Value {
        self.send(Method::Get, path, None).await.unwrap().body.unwrap_or_default()
    }

    pub async fn put(&self, path: &str, body: Value) -> Result<Value, Fault> {
        Ok(self.send(Method::Put, path, Some(body)).await?.body.unwrap_or_default())
    }

    pub async fn create_all(&self, name: &str, bodies: Vec<Value>) -> Result<Vec<Record>, Fault> {
        let entity = self.lab.system.entity(name)?;
        let objects = bodies
            .into_iter()
            .map(|body| schema::body::create(&entity.model, body.as_object().unwrap().clone()))
            .collect::<Result<Vec<_>, _>>()?;
        self.lab.system.create(&self.context, &entity, objects).await
    }

    pub async fn create(&self, name: &str, body: Value) -> Result<Record, Fault> {
        Ok(self.create_all(name, vec![body]).await?.remove(0))
    }

    /// A new network's id.
    pub async fn network(&self) -> String {
        self.create("network", json!({})).await.unwrap().id().to_owned()
    }

    pub async fn show(&self, name: &str, id: &str) -> Result<Record, Fault> {
        self.lab.system.get(&self.context, &self.lab.system.entity(name)?, id).await
    }

    pub async fn rename(&self, name: &str, id: &str, to: &str) -> Result<Record, Fault> {
        let entity = self.lab.system.entity(name)?;
        let given = schema::body::update(&entity.model, json!({"name": to}).as_object().unwrap().clone())?;
        self.lab.system.update(&self.context, &entity, id, &given, None).await
    }

    pub async fn delete(&self, name: &str, id: &str) -> Result<(), Fault> {
        self.lab.system.delete(&self.context, &self.lab.system.entity(name)?, id, None).await
    }

    /// Names of the objects that a query finds, sorted.
    pub async fn names(&self, name: &str, query: &[(&str, &str)]) -> Result<Vec<String>, Fault> {
        let pairs: Vec<(String, String)> = query.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        let entity = self.lab.system.entity(name)?;
        let found = self.lab.system.list(&self.context, &entity, &Query::parse(&pairs)?).await?;
        let mut names: Vec<String> = found.iter().map(|record| record.text("name").to_owned()).collect();
        names.sort();
        Ok(names)
    }
}
