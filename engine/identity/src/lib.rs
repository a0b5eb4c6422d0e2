//! Who asks: the headers of a request into a [`policy::Context`].
//!
//! - [`Authenticator`]: the seam; one implementation per way of identifying (`auth_strategy`);
//! - [`Keystone`]: tokens, checked with the identity service;
//! - [`Noauth`]: trusts the identity headers, and without them everyone is an administrator;
//! - [`Basic`]: the same behind passwords from a file;
//! - [`Refusal`]: why a request gets no identity.

mod basic;
pub mod keystone;
mod noauth;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

use async_trait::async_trait;
use http::request::Parts;
use policy::Context;

pub use basic::{BadFile, Basic};
pub use keystone::Keystone;
pub use noauth::Noauth;

/// Longest project, user or role that the database can hold, in characters.
pub const MAX_NAME: usize = 255;

/// Finds out who sent a request. Called once for each, before its body is read.
#[async_trait]
pub trait Authenticator: Send + Sync {
    /// The identity that the head of the request proves. Request ids are not its concern.
    async fn authenticate(&self, request: &Parts) -> Result<Context, Refusal>;
}

/// Why there is no identity for a request.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// 401. The challenge, if any, is the value of `WWW-Authenticate`.
    #[error("the request must be authenticated")]
    Unauthorized { challenge: Option<String> },
    /// 400: the headers cannot be understood; says which and why.
    #[error("{0}")]
    Malformed(String),
    /// 503: whoever knows identities does not answer.
    #[error("the identity service does not answer")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// An error with its causes, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests;
