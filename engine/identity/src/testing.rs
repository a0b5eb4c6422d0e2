//! Servers for tests: [`Peer`] answers HTTP as a closure says, [`FakeKeystone`] gives and checks tokens.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{TimeDelta, Utc};
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::keystone::{Interface, Login, Named, Options, Scope, Tls};

/// A request as a [`Peer`] got it.
#[derive(Clone, Debug)]
pub struct Asked {
    pub method: Method,
    /// With its query.
    pub path: String,
    pub headers: HeaderMap,
    /// Null if there was none.
    pub body: Value,
}

impl Asked {
    /// The text of a header; empty if it was not sent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// What a [`Peer`] answers.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Value,
    /// How long the answer takes.
    pub after: Duration,
}

impl Reply {
    pub fn new(status: u16, body: Value) -> Reply {
        Reply { status, headers: Vec::new(), body, after: Duration::ZERO }
    }
}

type Handler = Arc<dyn Fn(&Asked) -> Reply + Send + Sync>;

/// An HTTP server on a free port of the loopback. Gone, with its connections, when dropped.
pub struct Peer {
    pub address: SocketAddr,
    serving: JoinHandle<()>,
}

impl Peer {
    pub async fn start(handler: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> std::io::Result<Peer> {
        Peer::at("127.0.0.1:0", handler).await
    }

    /// On an address, for example that of one that was dropped.
    pub async fn at(address: &str, handler: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> std::io::Result<Peer> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let handler: Handler = Arc::new(handler);
        let serving = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let handler = handler.clone();
                connections.spawn(async move {
                    let service = service_fn(move |request| answer(handler.clone(), request));
                    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Ok(Peer { address, serving })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn answer(handler: Handler, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let path = parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let reply = handler(&Asked { method: parts.method, path, headers: parts.headers, body });
    tokio::time::sleep(reply.after).await;
    let mut response = Response::builder().status(reply.status).header("Content-Type", "application/json");
    for (name, value) in reply.headers {
        response = response.header(name, value);
    }
    let body = Full::new(Bytes::from(reply.body.to_string()));
    Ok(response.body(body).unwrap_or_default())
}

/// What a [`FakeKeystone`] knows and has seen.
#[derive(Default)]
pub struct Known {
    /// By token: the object that Keystone calls `token`.
    pub tokens: HashMap<String, Value>,
    /// How long our own tokens live, seconds.
    pub life: i64,
    pub catalog: Value,
    /// Answers everything with this status.
    pub broken: Option<u16>,
    /// How long looking at a token takes.
    pub slow: Duration,
    /// Logins and looks so far.
    pub logins: Vec<Value>,
    pub looks: Vec<Asked>,
}

/// Keystone's two requests about tokens. The user `neutron` has the password `secret`.
pub struct FakeKeystone {
    known: Arc<Mutex<Known>>,
    address: SocketAddr,
    peer: Option<Peer>,
}

fn expires(seconds: i64) -> String {
    (Utc::now() + TimeDelta::seconds(seconds)).format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

/// A token of a user in a project, as Keystone describes it.
pub fn token(user: &str, project: &str, roles: &[&str], seconds: i64) -> Value {
    let roles: Vec<Value> = roles.iter().map(|role| json!({"id": format!("{role}-id"), "name": role})).collect();
    let domain = json!({"id": "default", "name": "Default"});
    json!({
        "methods": ["password"], "audit_ids": ["x"], "issued_at": expires(0), "expires_at": expires(seconds),
        "user": {"id": user, "name": format!("{user} name"), "domain": domain, "password_expires_at": null},
        "project": {"id": project, "name": format!("{project} name"), "domain": domain},
        "roles": roles, "is_domain": false,
    })
}

fn reply(known: &mut Known, asked: &Asked) -> Reply {
    if let Some(status) = known.broken {
        return Reply::new(status, json!({"error": {"code": status}}));
    }
    let path = asked.path.split('?').next().unwrap_or_default();
    match (&asked.method, path) {
        (&Method::POST, "/v3/auth/tokens") => {
            known.logins.push(asked.body.clone());
            let user = &asked.body["auth"]["identity"]["password"]["user"];
            if user["name"] != "neutron" || user["password"] != "secret" {
                return Reply::new(401, json!({"error": {"code": 401}}));
            }
            let id = format!("own-{}", known.logins.len());
            let mut body = token("neutron", "service", &["admin", "service"], known.life);
            known.tokens.insert(id.clone(), body.clone());
            body["catalog"] = known.catalog.clone();
            Reply { headers: vec![("X-Subject-Token", id)], ..Reply::new(201, json!({ "token": body })) }
        }
        (&Method::GET, "/v3/auth/tokens") => {
            known.looks.push(asked.clone());
            if !known.tokens.contains_key(asked.header("X-Auth-Token")) {
                return Reply::new(401, json!({"error": {"code": 401}}));
            }
            let expired_too = asked.path.contains("allow_expired=1");
            let found = known.tokens.get(asked.header("X-Subject-Token"));
            let found = found.filter(|token| expired_too || token["expires_at"].as_str() > Some(&expires(0)));
            let answer = found.map_or_else(
                || Reply::new(404, json!({"error": {"code": 404}})),
                |token| Reply::new(200, json!({ "token": token })),
            );
            Reply { after: known.slow, ..answer }
        }
        _ => Reply::new(404, json!({"error": {"code": 404}})),
    }
}

fn serve(known: &Arc<Mutex<Known>>) -> impl Fn(&Asked) -> Reply + Send + Sync + 'static {
    let known = known.clone();
    move |asked| reply(&mut known.lock().unwrap_or_else(PoisonError::into_inner), asked)
}

impl FakeKeystone {
    pub async fn start() -> std::io::Result<FakeKeystone> {
        let known = Arc::new(Mutex::new(Known { life: 3600, catalog: json!([]), ..Known::default() }));
        let peer = Peer::start(serve(&known)).await?;
        Ok(FakeKeystone { known, address: peer.address, peer: Some(peer) })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// To look at, or to change what it knows. Not to be held while it is asked.
    pub fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a token.
    pub fn grant(&self, id: &str, token: Value) {
        self.known().tokens.insert(id.to_owned(), token);
    }

    pub fn stop(&mut self) {
        self.peer = None;
    }

    /// On the same address as before.
    pub async fn resume(&mut self) -> std::io::Result<()> {
        // The port is free once the aborted task has let go of it.
        for _ in 0..1000 {
            if let Ok(peer) = Peer::at(&self.address.to_string(), serve(&self.known)).await {
                self.peer = Some(peer);
                return Ok(());
            }
            tokio::task::yield_now().await;
        }
        self.peer = Some(Peer::at(&self.address.to_string(), serve(&self.known)).await?);
        Ok(())
    }

    /// How to log in here.
    pub fn options(&self) -> Options {
        Options {
            auth_url: self.url(),
            login: Login::Password {
                user: Named::Name("neutron".into()),
                domain: Some(Named::Id("default".into())),
                password: "secret".into(),
                scope: Scope::Project {
                    project: Named::Name("service".into()),
                    domain: Some(Named::Id("default".into())),
                },
            },
            www_authenticate_uri: None,
            interface: Interface::Internal,
            region: None,
            tls: Tls::default(),
            timeout: Duration::from_secs(10),
            retries: 0,
            cache_time: Some(Duration::from_secs(300)),
            grace: Duration::from_secs(600),
            service_roles: vec!["service".into()],
            service_roles_required: true,
            service_type: None,
        }
    }
}
