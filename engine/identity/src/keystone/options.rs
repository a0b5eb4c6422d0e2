use std::time::Duration;

use super::{Interface, Tls};

/// Where Keystone is, who we are there, and how tokens are checked: `[keystone_authtoken]`.
#[derive(Clone, Debug)]
pub struct Options {
    /// With or without `/v3` at its end.
    pub auth_url: String,
    pub login: Login,
    /// Where clients are sent that have no token; None for `auth_url`.
    pub www_authenticate_uri: Option<String>,
    /// Which of Keystone's endpoints in the catalog is asked; `auth_url` where there is none.
    pub interface: Interface,
    pub region: Option<String>,
    pub tls: Tls,
    /// How long an answer may take; and so each attempt.
    pub timeout: Duration,
    /// Attempts after the first, if no connection comes about.
    pub retries: usize,
    /// How long a token is not asked about again; None to ask for each request.
    pub cache_time: Option<Duration>,
    /// For how much longer a token is believed while Keystone is away.
    pub grace: Duration,
    /// Roles that make a token a service's, of which one is enough.
    pub service_roles: Vec<String>,
    /// Reject service tokens without one of these roles.
    pub service_roles_required: bool,
    /// The name that access rules of application credentials have for us.
    pub service_type: Option<String>,
}

/// How we prove who we are.
#[derive(Clone)]
pub enum Login {
    Password { user: Named, domain: Option<Named>, password: String, scope: Scope },
    ApplicationCredential { id: String, secret: String },
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Login::Password { user, domain, scope, .. } => {
                f.debug_struct("Password").field("user", user).field("domain", domain).field("scope", scope).finish()
            }
            Login::ApplicationCredential { id, .. } => f.debug_struct("ApplicationCredential").field("id", id).finish(),
        }
    }
}

/// An id or a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    Id(String),
    Name(String),
}

/// What our own token is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    Project { project: Named, domain: Option<Named> },
    Domain(Named),
    System,
    None,
}
