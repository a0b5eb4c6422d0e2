//! Keystone: tokens of users checked with the identity service, as keystonemiddleware does.
//!
//! - [`Keystone`]: the authenticator, with its cache of tokens;
//! - [`Session`]: our own token, renewed in time, and what it opens: the catalog and requests to other services;
//! - [`Options`]: where Keystone is and who we are there.
//!
//! A token is asked about once for many requests at the same time, and then not again for `token_cache_time`. While Keystone is away,
//! tokens that it confirmed not long ago stay good until they expire ([`Options::grace`]); the rest gets 503.
//!
//! Reproduces keystonemiddleware/auth_token/__init__.py.

mod access;
mod catalog;
mod client;
mod options;
mod session;
mod token;

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use chrono::Utc;
use http::request::Parts;
use moka::future::Cache;
use policy::{Context, Service};

pub use catalog::{Catalog, Interface};
pub use client::{ClientProblem, Tls};
pub use options::{Login, Named, Options, Scope};
pub use session::{Answer, Ask, Session, SessionError};

use crate::{Authenticator, Refusal};
use token::Token;

/// Tokens that are remembered at most.
const CACHED: u64 = 10_000;

/// Checks `X-Auth-Token` and `X-Service-Token`.
pub struct Keystone {
    session: Arc<Session>,
    options: Options,
    /// Confirmed not longer ago than `token_cache_time`.
    fresh: Cache<Key, Arc<Token>>,
    /// Confirmed not longer ago than that and the grace together.
    known: Cache<Key, Arc<Token>>,
    challenge: String,
}

/// A token, and whether it may have expired.
type Key = (Arc<str>, bool);

/// Why a token tells no identity.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("the token is not valid")]
    Invalid,
    #[error(transparent)]
    Away(#[from] SessionError),
}

impl Keystone {
    /// Does not ask Keystone anything yet, so that the two may start in any order.
    pub fn new(options: Options, session: Arc<Session>) -> Keystone {
        let cached = options.cache_time.unwrap_or(Duration::ZERO);
        let fresh = Cache::builder().max_capacity(CACHED).time_to_live(cached).build();
        let known = Cache::builder().max_capacity(CACHED).time_to_live(cached + options.grace).build();
        let uri = options.www_authenticate_uri.as_deref().unwrap_or(&options.auth_url);
        let challenge = format!("Keystone uri=\"{}\"", uri.replace(['"', '\r', '\n'], ""));
        Keystone { session, options, fresh, known, challenge }
    }

    fn unauthorized(&self, why: &str) -> Refusal {
        tracing::info!("a request is rejected: {why}");
        Refusal::Unauthorized { challenge: Some(self.challenge.clone()) }
    }

    /// What Keystone says of a token; of one that has expired too, if `expired_too`.
    async fn token(&self, text: &str, expired_too: bool) -> Result<Arc<Token>, Failure> {
        let key: Key = (Arc::from(text), expired_too);
        let mut asked = false;
        let fetched = self
            .fresh
            .try_get_with_by_ref(&key, async {
                asked = true;
                let token = Arc::new(self.fetch(text, expired_too).await?);
                self.known.insert(key.clone(), token.clone()).await;
                Ok::<_, Failure>(token)
            })
            .await;
        let outcome = match &fetched {
            Ok(_) if asked => "miss",
            Ok(_) => "hit",
            Err(_) => "none",
        };
        let token = match fetched {
            Ok(token) => token,
            Err(failure) => match &*failure {
                Failure::Invalid => {
                    self.known.invalidate(&key).await;
                    return Err(Failure::Invalid);
                }
                Failure::Away(error) => match self.known.get(&key).await {
                    Some(token) => {
                        count("grace");
                        tracing::debug!(error = %error, "Keystone is away; a token that it confirmed before is believed");
                        return live(token, expired_too);
                    }
                    None => {
                        count("none");
                        return Err(Failure::Away(error.clone()));
                    }
                },
            },
        };
        count(outcome);
        live(token, expired_too)
    }

    async fn fetch(&self, text: &str, expired_too: bool) -> Result<Token, Failure> {
        let start = Instant::now();
        let answer = self.session.look_at_token(text, expired_too).await;
        metrics::histogram!("keystone_validation_duration_seconds").record(start.elapsed());
        let body = match answer {
            Ok(Some(body)) => body,
            Ok(None) => return Err(Failure::Invalid),
            Err(error) => {
                metrics::counter!("keystone_failures_total").increment(1);
                tracing::error!(error = crate::chain(&error), "Keystone cannot be asked about a token");
                return Err(error.into());
            }
        };
        match Token::parse(&body) {
            Some(token) => Ok(token),
            None => {
                tracing::warn!("Keystone confirmed a token without saying whose it is and until when");
                Err(Failure::Invalid)
            }
        }
    }

    async fn service(&self, text: &str) -> Result<(Service, bool), Refusal> {
        let token = self.token(text, false).await.map_err(|failure| self.refusal(failure, "the service token"))?;
        let is_service = token.roles.iter().any(|role| self.options.service_roles.contains(role));
        if !is_service && self.options.service_roles_required {
            return Err(self.unauthorized("the service token has none of service_token_roles"));
        }
        let service = Service {
            user_id: token.user_id.clone(),
            user_domain_id: token.user_domain_id.clone(),
            project_id: token.project_id.clone(),
            project_domain_id: token.project_domain_id.clone(),
            roles: token.roles.clone(),
        };
        Ok((service, is_service))
    }

    fn refusal(&self, failure: Failure, what: &str) -> Refusal {
        match failure {
            Failure::Invalid => self.unauthorized(&format!("{what} is not valid")),
            Failure::Away(error) => Refusal::Unavailable(Box::new(error)),
        }
    }
}

/// A token whose time has not come.
fn live(token: Arc<Token>, expired_too: bool) -> Result<Arc<Token>, Failure> {
    if expired_too || token.expires > Utc::now() { Ok(token) } else { Err(Failure::Invalid) }
}

fn count(outcome: &'static str) {
    metrics::counter!("keystone_token_cache_total", "outcome" => outcome).increment(1);
}

/// The value of a header with a token, without the blanks around it.
fn token_of<'a>(parts: &'a Parts, names: &[&str]) -> Option<&'a str> {
    let value = names.iter().find_map(|name| parts.headers.get(*name))?;
    value.to_str().ok().map(str::trim).filter(|text| !text.is_empty())
}

#[async_trait]
impl Authenticator for Keystone {
    async fn authenticate(&self, request: &Parts) -> Result<Context, Refusal> {
        let mut service = None;
        let mut expired_too = false;
        if request.headers.contains_key("X-Service-Token") {
            let text = token_of(request, &["X-Service-Token"])
                .ok_or_else(|| self.unauthorized("the service token is empty"))?;
            let (proved, is_service) = self.service(text).await?;
            expired_too = is_service;
            service = Some(Box::new(proved));
        }
        let text = token_of(request, &["X-Auth-Token", "X-Storage-Token"])
            .ok_or_else(|| self.unauthorized("there is no X-Auth-Token"))?;
        let token = self.token(text, expired_too).await.map_err(|failure| self.refusal(failure, "the token"))?;
        if let Some(rules) = &token.access_rules
            && service.is_none()
            && !access::allows(rules, self.options.service_type.as_deref(), &request.method, request.uri.path())
        {
            return Err(self.unauthorized("the access rules of the application credential do not allow it"));
        }
        Ok(token.context(service))
    }
}

#[cfg(test)]
mod tests;
