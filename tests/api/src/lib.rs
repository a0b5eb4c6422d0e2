//! The API from outside, over HTTP: helpers for tests that read as prose.
//!
//! ```ignore
//! let api = Api::start();
//! let net = api.create("network", json!({"name": "blue"}));
//! api.member("p1").show(&net).fault(404, "NetworkNotFound");
//! api.delete(&net).expect(204);
//! ```
//!
//! Each test has a server of its own in this process, with an empty database in memory. With `TARGET=http://host:port` tests
//! speak to that server instead, which must take identity headers.

mod answer;
mod server;

use std::sync::Arc;

use serde_json::{Value, json};
use ureq::http::{Method, Request};

pub use answer::{Answer, Object};
pub use server::{Agent, Server};

/// A client of a server, with the identity that it acts under. Without one it is an administrator of the project `admin`.
#[derive(Clone)]
pub struct Api {
    client: ureq::Agent,
    base: String,
    headers: Vec<(String, String)>,
    server: Option<Arc<Server>>,
}

impl Api {
    /// A fresh server with the options that the reference's answers were recorded with.
    pub fn start() -> Api {
        Api::with("")
    }

    /// The same with options of `neutron.conf` that go before those.
    pub fn with(options: &str) -> Api {
        Api::made(options, None)
    }

    /// A server whose database meets deadlocks and lost connections.
    pub fn with_faults(faults: store::Faults) -> Api {
        Api::made("", Some(faults))
    }

    fn made(options: &str, faults: Option<store::Faults>) -> Api {
        let client = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .allow_non_standard_methods(true)
            .max_redirects(0)
            .user_agent("api-tests")
            .build()
            .new_agent();
        let target = std::env::var("TARGET").ok();
        let server = target.is_none().then(|| Arc::new(Server::start(options, faults)));
        let base = target.or_else(|| server.as_ref().map(|server| server.base())).unwrap_or_default();
        Api { client, base: base.trim_end_matches('/').to_owned(), headers: Vec::new(), server }
    }

    /// Address of the server.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// The server behind, when it runs in this process; the test cannot run against a target.
    pub fn server(&self) -> &Server {
        self.server.as_ref().expect("this test looks inside the server, so it runs without TARGET")
    }

    /// The same server with one more header in every request.
    pub fn header(&self, name: &str, value: &str) -> Api {
        let mut api = self.clone();
        api.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        api.headers.push((name.to_owned(), value.to_owned()));
        api
    }

    fn role(&self, project: &str, roles: &str) -> Api {
        self.header("X-Project-Id", project).header("X-User-Id", &format!("{project}-user")).header("X-Roles", roles)
    }

    /// As an ordinary user of a project.
    pub fn member(&self, project: &str) -> Api {
        self.role(project, "member,reader")
    }

    pub fn reader(&self, project: &str) -> Api {
        self.role(project, "reader")
    }

    /// As an administrator who works in that project.
    pub fn admin(&self, project: &str) -> Api {
        self.role(project, "admin,member,reader")
    }

    pub fn send(&self, method: &str, path: &str, body: impl AsRef<[u8]>) -> Answer {
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.base));
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let body = body.as_ref();
        let request = request.body(body).expect("a request that HTTP allows");
        let response = if body.is_empty() && !matches!(request.method(), &Method::POST | &Method::PUT | &Method::PATCH)
        {
            self.client.run(request.map(|_| ()))
        } else {
            self.client.run(request)
        };
        let asked = format!("{} {path}", String::from_utf8_lossy(body));
        Answer::read(response.unwrap_or_else(|error| panic!("{asked}: {error}")), asked)
    }

    /// GET of a path below `/v2.0/`.
    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", &below(path), "")
    }

    /// POST of a JSON body to a path below `/v2.0/`.
    pub fn post(&self, path: &str, body: Value) -> Answer {
        self.send("POST", &below(path), body.to_string())
    }

    pub fn put(&self, path: &str, body: Value) -> Answer {
        self.send("PUT", &below(path), body.to_string())
    }

    /// Tries to create an object of that type.
    pub fn try_create(&self, kind: &str, object: Value) -> Answer {
        self.post(collection(kind), json!({ kind: object }))
    }

    /// Creates an object.
    #[track_caller]
    pub fn create(&self, kind: &str, object: Value) -> Object {
        self.try_create(kind, object).object(201)
    }

    /// Creates several in one request.
    pub fn try_create_all(&self, kind: &str, objects: Value) -> Answer {
        self.post(collection(kind), json!({ plural(kind): objects }))
    }

    pub fn show(&self, object: &Object) -> Answer {
        self.get(&object.path())
    }

    /// The object as it is now.
    #[track_caller]
    pub fn read(&self, object: &Object) -> Object {
        self.show(object).object(200)
    }

    /// Tries to change an object.
    pub fn try_update(&self, object: &Object, change: Value) -> Answer {
        self.put(&object.path(), json!({ object.kind(): change }))
    }

    #[track_caller]
    pub fn update(&self, object: &Object, change: Value) -> Object {
        self.try_update(object, change).object(200)
    }

    pub fn delete(&self, object: &Object) -> Answer {
        self.send("DELETE", &below(&object.path()), "")
    }

    /// Objects of a list, with whatever query: `networks?name=blue`.
    #[track_caller]
    pub fn list(&self, path: &str) -> Vec<Object> {
        self.get(path).objects(200)
    }
}

/// Several requests at once; answers in the order of the numbers from 0 on that they were made with.
pub fn together<T: Send>(count: usize, request: impl Fn(usize) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let request = &request;
        let threads: Vec<_> = (0..count).map(|number| scope.spawn(move || request(number))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a request that does not panic")).collect()
    })
}

/// A text as it stands in a query.
pub fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b'-' | b'~' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

fn below(path: &str) -> String {
    format!("/v2.0/{}", path.trim_start_matches('/'))
}

fn plural(kind: &str) -> String {
    match kind.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None => format!("{kind}s"),
    }
}

/// The collection of a type in paths.
fn collection(kind: &str) -> &str {
    match kind {
        "network" => "networks",
        "subnet" => "subnets",
        "port" => "ports",
        "subnetpool" => "subnetpools",
        "address_scope" => "address-scopes",
        "network_segment_range" => "network_segment_ranges",
        "segment" => "segments",
        "agent" => "agents",
        other => panic!("say in tests/api which collection has objects of type {other}"),
    }
}
