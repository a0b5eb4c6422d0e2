//! A whole server on a private database, asked over HTTP without a socket.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use identity::Noauth;
use messaging::{Bus, FakeBus};
use rest::{Options, Rest};
use serde_json::{Value, json};
use server::wiring::{Wired, wire};
use server::{OPTIONS, Setup};
use store::Store;
use testkit::database::{Database, fresh_chosen};
use tower::ServiceExt;

pub struct TestServer {
    pub wired: Wired,
    /// Hears what is sent.
    pub bus: Arc<FakeBus>,
    router: Router,
    roles: &'static str,
    project: String,
    /// Dropped last: nothing is connected to it any more.
    _database: Option<Database>,
}

/// Status and body of an answer; the body is null if there is none.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub body: Value,
}

impl Answer {
    /// The body of an answer with that status.
    #[track_caller]
    pub fn expect(self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.body);
        self.body
    }

    #[track_caller]
    pub fn fault(self, status: u16, kind: &str) -> String {
        let body = self.expect(status);
        assert_eq!(body["NeutronError"]["type"], kind, "{body}");
        body["NeutronError"]["message"].as_str().unwrap().to_owned()
    }
}

impl TestServer {
    /// What this text as a configuration file comes to.
    pub fn setup(options: &str) -> Setup {
        let config = config::Loader::new()
            .declare(OPTIONS)
            .text("who asks", "[DEFAULT]\nauth_strategy = noauth\n")
            .text("neutron.conf", options)
            .load()
            .unwrap();
        Setup::read(&config).unwrap()
    }

    /// With this text as its configuration file.
    pub async fn start(options: &str) -> TestServer {
        let setup = Self::setup(options);
        let database = tokio::task::spawn_blocking(fresh_chosen).await.unwrap();
        let url = database.as_ref().map_or_else(|| "sqlite://".to_owned(), Database::url);
        let store = Store::open(store::Options::new(url)).await.unwrap();
        store::migrate::upgrade(&store, migrations::ALL).await.unwrap();
        let bus = Arc::new(FakeBus::new());
        let wired = wire(&setup, store, &(bus.clone() as Bus)).await.unwrap();
        let rest = Rest::new(wired.system.clone(), Arc::new(Noauth), Options::default()).unwrap();
        TestServer { wired, bus, router: rest.router(), roles: "admin", project: "admin".into(), _database: database }
    }

    /// The same server, asked by a member of a project.
    pub fn member(&self, project: &str) -> As<'_> {
        As { server: self, roles: "member,reader", project: project.into() }
    }

    pub fn admin(&self) -> As<'_> {
        As { server: self, roles: self.roles, project: self.project.clone() }
    }

    /// Another service of the cloud, which is an administrator too.
    pub fn service(&self) -> As<'_> {
        As { server: self, roles: "admin,service", project: "service".into() }
    }

    pub fn store(&self) -> &Store {
        &self.wired.system.store
    }

    pub async fn number(&self, sql: &str) -> i64 {
        let mut txn = self.store().read().await.unwrap();
        txn.query_one(sql, &[]).await.unwrap().map_or(0, |row| row.int(0))
    }

    /// An agent that has just reported.
    pub async fn agent(&self, kind: &str, binary: &str, host: &str, configurations: Value) {
        let mut txn = self.store().write().await.unwrap();
        let now = store::Value::Time(txn.now());
        let row = [
            ("id", resource::new_id().into()),
            ("agent_type", kind.into()),
            ("binary", binary.into()),
            ("topic", "N/A".into()),
            ("host", host.into()),
            ("admin_state_up", true.into()),
            ("created_at", now.clone()),
            ("started_at", now.clone()),
            ("heartbeat_timestamp", now),
            ("configurations", configurations.to_string().into()),
            ("load", 0.into()),
        ];
        txn.insert("agents", &row).await.unwrap();
        txn.commit().await.unwrap();
    }

    /// Statements of a request with all that happens after its commit.
    pub async fn statements<T>(&self, request: impl Future<Output = T>) -> (u64, T) {
        self.store().settled().await;
        let before = self.store().statements();
        let value = request.await;
        self.store().settled().await;
        (self.store().statements() - before, value)
    }
}

/// Somebody who asks.
#[derive(Clone)]
pub struct As<'a> {
    server: &'a TestServer,
    roles: &'static str,
    project: String,
}

impl As<'_> {
    pub async fn send(&self, method: &str, path: &str, body: Option<Value>) -> Answer {
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        self.send_text(method, path, body).await
    }

    pub async fn send_text(&self, method: &str, path: &str, body: impl Into<Body>) -> Answer {
        let request = Request::builder()
            .method(Method::from_bytes(method.as_bytes()).unwrap())
            .uri(format!("/v2.0{path}"))
            .header("host", "127.0.0.1:9696")
            .header("x-project-id", &self.project)
            .header("x-roles", self.roles)
            .body(body.into())
            .unwrap();
        let response = self.server.router.clone().oneshot(request).await.unwrap();
        let status = response.status();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        let body = if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes).unwrap() };
        Answer { status, body }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, None).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Answer {
        self.send("PUT", path, Some(body)).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.send("POST", path, Some(body)).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, None).await
    }

    /// Makes one and gives it.
    pub async fn make(&self, name: &str, body: Value) -> Value {
        self.post(&format!("/{name}s"), json!({name: body})).await.expect(201)[name].clone()
    }

    /// Makes many, a hundred with each request.
    pub async fn make_all(&self, name: &str, bodies: impl Iterator<Item = Value>) {
        self.make_all_at(&format!("/{name}s"), name, bodies).await;
    }

    /// The same, where the path is not the plural.
    pub async fn make_all_at(&self, path: &str, name: &str, bodies: impl Iterator<Item = Value>) {
        let bodies: Vec<Value> = bodies.collect();
        for chunk in bodies.chunks(100) {
            self.post(path, json!({format!("{name}s"): chunk})).await.expect(201);
        }
    }
}
