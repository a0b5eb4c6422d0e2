//! Our own token, and requests that it opens.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use http::{HeaderValue, Method, StatusCode};
use reqwest::{Client, RequestBuilder, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::{ClientProblem, client};
use super::options::{Login, Named, Scope};
use super::{Catalog, Interface, Options};

/// How long before its end our token is renewed, at most; shorter-lived ones are used for three quarters of their life.
const AHEAD: TimeDelta = TimeDelta::seconds(120);
/// The first pause before another attempt to connect; each following one is twice as long.
const PAUSE: Duration = Duration::from_millis(100);
/// For how long nobody asks a Keystone that has just not answered.
const REST: Duration = Duration::from_secs(1);
/// Largest answer that is read, bytes.
const MAX_ANSWER: usize = 4 << 20;

/// Why Keystone, or a service behind it, could not be asked.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SessionError {
    /// No connection, or no answer in time.
    #[error("{url} does not answer")]
    Unreachable {
        url: String,
        #[source]
        source: Arc<reqwest::Error>,
    },
    #[error("{url} did not answer a moment ago")]
    Resting { url: String },
    #[error("{url} does not accept our credentials (status {status})")]
    Login { url: String, status: u16 },
    #[error("{url} does not accept our own token, though it has just been made")]
    Rejected { url: String },
    #[error("{url} answered with status {status}")]
    Status { url: String, status: u16 },
    #[error("{url} answered with something that is no token")]
    Garbled { url: String },
    #[error("the catalog has no {interface:?} endpoint of the service {service}{}", region.as_ref().map(|name| format!(" in region {name}")).unwrap_or_default())]
    NoEndpoint { service: String, interface: Interface, region: Option<String> },
}

/// A request to a service of the catalog.
#[derive(Debug)]
pub struct Ask<'a> {
    /// Its type in the catalog, as `compute`.
    pub service: &'a str,
    pub interface: Interface,
    pub region: Option<&'a str>,
    pub method: Method,
    /// Below the endpoint, with a slash in front.
    pub path: &'a str,
    pub headers: &'a [(&'static str, String)],
    pub body: &'a Value,
}

/// An answer, whatever its status.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub body: Vec<u8>,
}

struct Own {
    token: HeaderValue,
    expires: DateTime<Utc>,
    renew: DateTime<Utc>,
    catalog: Catalog,
}

/// One identity at one Keystone. Its token is made when it is first needed, renewed before it ends and after somebody rejected it.
pub struct Session {
    client: Client,
    login: Login,
    /// With `/v3`.
    auth_url: String,
    interface: Interface,
    region: Option<String>,
    retries: usize,
    own: Mutex<Option<Arc<Own>>>,
    /// Held while a token is made, so that one is made for all that wait.
    making: tokio::sync::Mutex<()>,
    resting: Mutex<Option<Instant>>,
}

/// The address of the third version below any address of Keystone.
pub(super) fn versioned(url: &str) -> String {
    let url = url.trim_end_matches('/');
    match url.rsplit_once('/') {
        Some((_, "v3")) => url.to_owned(),
        Some((base, "v2.0")) => format!("{base}/v3"),
        _ => format!("{url}/v3"),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Session {
    /// A session that has not asked Keystone anything yet. Fails if the certificates cannot be read.
    pub fn new(options: &Options) -> Result<Session, ClientProblem> {
        Ok(Session {
            client: client(&options.tls, options.timeout)?,
            login: options.login.clone(),
            auth_url: versioned(&options.auth_url),
            interface: options.interface,
            region: options.region.clone(),
            retries: options.retries,
            own: Mutex::default(),
            making: tokio::sync::Mutex::default(),
            resting: Mutex::default(),
        })
    }

    fn usable(&self) -> Option<Arc<Own>> {
        lock(&self.own).clone().filter(|own| own.renew > Utc::now())
    }

    async fn own(&self) -> Result<Arc<Own>, SessionError> {
        if let Some(own) = self.usable() {
            return Ok(own);
        }
        let _making = self.making.lock().await;
        if let Some(own) = self.usable() {
            return Ok(own);
        }
        match self.make().await {
            Ok(own) => {
                let own = Arc::new(own);
                *lock(&self.own) = Some(own.clone());
                Ok(own)
            }
            // The one that should have been renewed may last until Keystone is back.
            Err(error) => match lock(&self.own).clone().filter(|own| own.expires > Utc::now()) {
                Some(own) => Ok(own),
                None => Err(error),
            },
        }
    }

    /// Drops our token, if it is still that one.
    fn forget(&self, rejected: &Arc<Own>) {
        let mut own = lock(&self.own);
        if own.as_ref().is_some_and(|own| Arc::ptr_eq(own, rejected)) {
            *own = None;
        }
    }

    async fn make(&self) -> Result<Own, SessionError> {
        let url = format!("{}/auth/tokens", self.auth_url);
        let response = self.send(&url, || self.client.post(&url).json(&request(&self.login))).await?;
        let status = response.status();
        if status == StatusCode::UNAUTHORIZED || status == StatusCode::FORBIDDEN || status == StatusCode::BAD_REQUEST {
            return Err(SessionError::Login { url, status: status.as_u16() });
        }
        if status != StatusCode::CREATED && status != StatusCode::OK {
            return Err(SessionError::Status { url, status: status.as_u16() });
        }
        let mut token = response
            .headers()
            .get("X-Subject-Token")
            .cloned()
            .ok_or_else(|| SessionError::Garbled { url: url.clone() })?;
        token.set_sensitive(true);
        let body = read(response, &url).await?;
        let made: Made = serde_json::from_slice(&body).map_err(|_| SessionError::Garbled { url })?;
        let now = Utc::now();
        let life = made.token.expires_at - now;
        let renew = made.token.expires_at - AHEAD.min(life / 4).max(TimeDelta::zero());
        tracing::debug!(expires = %made.token.expires_at, "made a token of our own");
        Ok(Own { token, expires: made.token.expires_at, renew, catalog: made.token.catalog })
    }

    /// What Keystone says of a token: the body of its answer, or None for one that is not valid.
    pub(super) async fn look_at_token(&self, token: &str, expired_too: bool) -> Result<Option<Vec<u8>>, SessionError> {
        let Ok(mut subject) = HeaderValue::from_str(token) else { return Ok(None) };
        subject.set_sensitive(true);
        for _ in 0..2 {
            let own = self.own().await?;
            let base = own
                .catalog
                .endpoint("identity", self.interface, self.region.as_deref())
                .map_or_else(|| self.auth_url.clone(), versioned);
            let url = format!("{base}/auth/tokens");
            let query = if expired_too { "?nocatalog&allow_expired=1" } else { "?nocatalog" };
            let whole = format!("{url}{query}");
            let ask = || {
                self.client
                    .get(&whole)
                    .header("X-Auth-Token", own.token.clone())
                    .header("X-Subject-Token", subject.clone())
                    .header("OpenStack-Identity-Access-Rules", "1.0")
            };
            let response = self.send(&url, ask).await?;
            match response.status() {
                StatusCode::OK | StatusCode::NON_AUTHORITATIVE_INFORMATION => {
                    return read(response, &url).await.map(Some);
                }
                StatusCode::NOT_FOUND => return Ok(None),
                StatusCode::UNAUTHORIZED => self.forget(&own),
                status => return Err(SessionError::Status { url, status: status.as_u16() }),
            }
        }
        Err(SessionError::Rejected { url: self.auth_url.clone() })
    }

    /// Sends a request to a service of the catalog. A rejected token is renewed once.
    pub async fn request(&self, ask: &Ask<'_>) -> Result<Answer, SessionError> {
        let mut first = true;
        loop {
            let own = self.own().await?;
            let Some(endpoint) = own.catalog.endpoint(ask.service, ask.interface, ask.region) else {
                // Endpoints come and go; the next token brings the catalog of its time.
                self.forget(&own);
                let (service, region) = (ask.service.to_owned(), ask.region.map(str::to_owned));
                return Err(SessionError::NoEndpoint { service, interface: ask.interface, region });
            };
            let url = format!("{endpoint}{}", ask.path);
            let response = self
                .attempts(&url, || {
                    let request = self.client.request(ask.method.clone(), &url);
                    let request = request.header("X-Auth-Token", own.token.clone()).json(ask.body);
                    ask.headers.iter().fold(request, |request, (name, value)| request.header(*name, value))
                })
                .await?;
            let status = response.status();
            if status == StatusCode::UNAUTHORIZED && first {
                self.forget(&own);
                first = false;
                continue;
            }
            let body = read(response, &url).await?;
            return Ok(Answer { status, body });
        }
    }

    /// To Keystone, which is left alone for a moment after it did not answer.
    async fn send(&self, url: &str, ask: impl Fn() -> RequestBuilder) -> Result<Response, SessionError> {
        if lock(&self.resting).is_some_and(|until| until > Instant::now()) {
            return Err(SessionError::Resting { url: url.to_owned() });
        }
        let answer = self.attempts(url, ask).await;
        *lock(&self.resting) = answer.is_err().then(|| Instant::now() + REST);
        answer
    }

    async fn attempts(&self, url: &str, ask: impl Fn() -> RequestBuilder) -> Result<Response, SessionError> {
        let mut pause = PAUSE;
        let mut left = self.retries;
        loop {
            match ask().send().await {
                Ok(response) => return Ok(response),
                Err(error) if error.is_connect() && !error.is_timeout() && left > 0 => {
                    tracing::debug!(error = crate::chain(&error), "trying again");
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                    left -= 1;
                }
                Err(error) => {
                    let source = Arc::new(error.without_url());
                    return Err(SessionError::Unreachable { url: url.to_owned(), source });
                }
            }
        }
    }
}

async fn read(mut response: Response, url: &str) -> Result<Vec<u8>, SessionError> {
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if body.len() + chunk.len() <= MAX_ANSWER => body.extend_from_slice(&chunk),
            Ok(Some(_)) => return Err(SessionError::Garbled { url: url.to_owned() }),
            Ok(None) => return Ok(body),
            Err(error) => {
                let source = Arc::new(error.without_url());
                return Err(SessionError::Unreachable { url: url.to_owned(), source });
            }
        }
    }
}

#[derive(Deserialize)]
struct Made {
    token: MadeToken,
}

#[derive(Deserialize)]
struct MadeToken {
    expires_at: DateTime<Utc>,
    #[serde(default)]
    catalog: Catalog,
}

fn named(of: &Named) -> Value {
    match of {
        Named::Id(id) => json!({"id": id}),
        Named::Name(name) => json!({"name": name}),
    }
}

fn within(of: &Named, domain: Option<&Named>) -> Value {
    let mut value = named(of);
    // An id says which one without its domain.
    if let (Named::Name(_), Some(domain)) = (of, domain) {
        value["domain"] = named(domain);
    }
    value
}

/// The body of `POST /v3/auth/tokens`.
fn request(login: &Login) -> Value {
    match login {
        Login::ApplicationCredential { id, secret } => json!({"auth": {"identity": {
            "methods": ["application_credential"],
            "application_credential": {"id": id, "secret": secret},
        }}}),
        Login::Password { user, domain, password, scope } => {
            let mut user = within(user, domain.as_ref());
            user["password"] = json!(password);
            let mut auth = json!({"identity": {"methods": ["password"], "password": {"user": user}}});
            match scope {
                Scope::Project { project, domain } => {
                    auth["scope"] = json!({"project": within(project, domain.as_ref())});
                }
                Scope::Domain(domain) => auth["scope"] = json!({"domain": named(domain)}),
                Scope::System => auth["scope"] = json!({"system": {"all": true}}),
                Scope::None => {}
            }
            json!({ "auth": auth })
        }
    }
}
