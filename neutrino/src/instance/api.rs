//! The few calls of the REST API that the compute service makes for an instance.

use std::time::Duration;

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use ureq::{Agent, http::Method};

/// Longest wait for one answer.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Who asks.
#[derive(Debug, Clone, Default)]
pub struct Identity {
    /// Sent as `X-Auth-Token`.
    pub token: Option<String>,
    /// Sent as `X-Project-Id`.
    pub project: Option<String>,
}

/// A client of the network service. Plain HTTP.
#[derive(Debug)]
pub struct Api {
    agent: Agent,
    base: String,
    identity: Identity,
}

/// A refused or failed call.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The service has not answered.
    #[error("the network service at {base} does not answer; start it with `make run`, or name it with --endpoint")]
    Unreachable {
        /// Where it was looked for.
        base: String,
        /// Why.
        #[source]
        source: Box<ureq::Error>,
    },
    /// The service refused.
    #[error("{method} {path}: {status} {kind}: {message}")]
    Refused {
        /// Method of the request.
        method: Method,
        /// Path of the request.
        path: String,
        /// HTTP status.
        status: u16,
        /// Type of the fault.
        kind: String,
        /// What the service says.
        message: String,
    },
    /// The answer is not what it should be.
    #[error("{method} {path}: the answer cannot be read")]
    Answer {
        /// Method of the request.
        method: Method,
        /// Path of the request.
        path: String,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// The address of the service cannot be used.
    #[error("{0} cannot be the address of the network service; write it as http://HOST:PORT")]
    Endpoint(String),
}

impl ApiError {
    /// Whether the object is not there.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { status: 404, .. })
    }
}

/// A network, as far as it matters here.
#[derive(Debug, Clone, Deserialize)]
pub struct Network {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
}

/// A subnet, as far as it matters here.
#[derive(Debug, Clone, Deserialize)]
pub struct Subnet {
    /// Its prefix.
    pub cidr: types::IpNet,
    /// Whether a DHCP server gives its addresses.
    pub enable_dhcp: bool,
    /// How IPv6 addresses are got.
    #[serde(default)]
    pub ipv6_address_mode: Option<String>,
}

/// A port, as far as it matters here.
#[derive(Debug, Clone, Deserialize)]
pub struct Port {
    /// Its id.
    pub id: String,
    /// Its MAC address.
    pub mac_address: types::Mac,
    /// Its addresses.
    pub fixed_ips: Vec<FixedIp>,
    /// ACTIVE, DOWN or BUILD.
    pub status: String,
    /// How it is to be plugged in, for who may see it.
    #[serde(default)]
    pub network_id: String,
    #[serde(rename = "binding:vif_type", default)]
    pub vif_type: Option<String>,
}

/// An address of a port.
#[derive(Debug, Clone, Deserialize)]
pub struct FixedIp {
    /// The subnet it is of.
    pub subnet_id: String,
    /// The address.
    pub ip_address: std::net::IpAddr,
}

impl Api {
    /// A client of the service at `endpoint`, such as `http://127.0.0.1:9696`; a final `/` or `/v2.0` is dropped.
    pub fn new(endpoint: &str, identity: Identity) -> Result<Self, ApiError> {
        let base = endpoint.trim_end_matches('/').trim_end_matches("/v2.0").trim_end_matches('/').to_owned();
        if base.strip_prefix("http://").is_none_or(str::is_empty) {
            return Err(ApiError::Endpoint(endpoint.to_owned()));
        }
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(TIMEOUT))
            // A proxy of the environment is for the outer world.
            .proxy(None)
            .build();
        Ok(Self { agent: config.new_agent(), base, identity })
    }

    /// The networks of that name or, when it is an id, that one.
    pub fn networks(&self, name_or_id: &str) -> Result<Vec<Network>, ApiError> {
        let by = |key: &str| self.list::<Network>("networks", &format!("?{key}={}", encode(name_or_id)));
        let found = by("name")?;
        if found.is_empty() && uuid::Uuid::parse_str(name_or_id).is_ok() {
            return by("id");
        }
        Ok(found)
    }

    /// A subnet.
    pub fn subnet(&self, id: &str) -> Result<Subnet, ApiError> {
        self.one(Method::GET, "subnet", &format!("/v2.0/subnets/{id}"), None)
    }

    /// Makes an object of any kind, such as a `network` under `networks`, and returns it as the service shows it.
    pub fn create(&self, name: &str, plural: &str, object: Value) -> Result<Value, ApiError> {
        self.one(Method::POST, name, &format!("/v2.0/{plural}"), Some(json!({ name: object })))
    }

    /// Makes a port of an instance, bound to a host.
    pub fn create_port(&self, network: &str, name: &str, device: &str, host: &str) -> Result<Port, ApiError> {
        let body = json!({ "port": {
            "network_id": network,
            "name": name,
            "admin_state_up": true,
            "device_id": device,
            "device_owner": "compute:nova",
            "binding:host_id": host,
        }});
        self.one(Method::POST, "port", "/v2.0/ports", Some(body))
    }

    /// A port.
    pub fn port(&self, id: &str) -> Result<Port, ApiError> {
        self.one(Method::GET, "port", &format!("/v2.0/ports/{id}"), None)
    }

    /// The agents that the service counts on a host: type and whether they are alive.
    pub fn agents(&self, host: &str) -> Result<Vec<(String, bool)>, ApiError> {
        #[derive(Deserialize)]
        struct Agent {
            agent_type: String,
            alive: bool,
        }
        let found = self.list::<Agent>("agents", &format!("?host={}", encode(host)))?;
        Ok(found.into_iter().map(|agent| (agent.agent_type, agent.alive)).collect())
    }

    /// Addresses that the DHCP servers of a network have themselves.
    pub fn dhcp_addresses(&self, network: &str) -> Result<Vec<std::net::IpAddr>, ApiError> {
        let query = format!("?network_id={}&device_owner=network:dhcp", encode(network));
        let ports = self.list::<Port>("ports", &query)?;
        Ok(ports.iter().flat_map(|port| port.fixed_ips.iter().map(|fixed| fixed.ip_address)).collect())
    }

    /// Deletes a port; one that is not there counts as deleted.
    pub fn delete_port(&self, id: &str) -> Result<(), ApiError> {
        match self.send(Method::DELETE, &format!("/v2.0/ports/{id}"), None) {
            Err(error) if error.is_not_found() => Ok(()),
            other => other.map(drop),
        }
    }

    fn one<T: DeserializeOwned>(
        &self,
        method: Method,
        name: &str,
        path: &str,
        body: Option<Value>,
    ) -> Result<T, ApiError> {
        let text = self.send(method.clone(), path, body)?;
        read(&text, name).map_err(|source| ApiError::Answer { method, path: path.to_owned(), source })
    }

    fn list<T: DeserializeOwned>(&self, plural: &str, query: &str) -> Result<Vec<T>, ApiError> {
        self.one(Method::GET, plural, &format!("/v2.0/{plural}{query}"), None)
    }

    fn send(&self, method: Method, path: &str, body: Option<Value>) -> Result<String, ApiError> {
        let unreachable = |e| ApiError::Unreachable { base: self.base.clone(), source: Box::new(e) };
        let mut request = ureq::http::Request::builder()
            .method(method.clone())
            .uri(format!("{}{path}", self.base))
            .header("Accept", "application/json");
        if let Some(token) = &self.identity.token {
            request = request.header("X-Auth-Token", token);
        }
        if let Some(project) = &self.identity.project {
            // Binding a port to a host is the administrator's.
            request = request.header("X-Project-Id", project).header("X-Roles", "admin,member");
        }
        let answer = match body {
            Some(body) => request
                .header("Content-Type", "application/json")
                .body(body.to_string())
                .map_err(|e| unreachable(e.into()))
                .and_then(|request| self.agent.run(request).map_err(unreachable)),
            None => request
                .body(())
                .map_err(|e| unreachable(e.into()))
                .and_then(|request| self.agent.run(request).map_err(unreachable)),
        };
        let mut answer = answer?;
        let status = answer.status();
        let text = answer.body_mut().read_to_string().map_err(unreachable)?;
        if status.is_success() {
            return Ok(text);
        }
        let fault: Value = serde_json::from_str(&text).unwrap_or_default();
        let part = |name: &str| fault["NeutronError"][name].as_str().map(str::to_owned);
        let message = part("message").unwrap_or_else(|| text.chars().take(500).collect());
        let kind = part("type").unwrap_or_default();
        Err(ApiError::Refused { method, path: path.to_owned(), status: status.as_u16(), kind, message })
    }
}

fn read<T: DeserializeOwned>(text: &str, name: &str) -> serde_json::Result<T> {
    let mut whole: Value = serde_json::from_str(text)?;
    serde_json::from_value(whole[name].take())
}

/// Percent-encoding of a query's value (RFC 3986, everything but unreserved characters).
fn encode(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    text.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}
