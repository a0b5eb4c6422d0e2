//! What Keystone says about a token (API ref: identity v3, `GET /v3/auth/tokens`).

use chrono::{DateTime, Utc};
use policy::{Context, Service};
use serde::Deserialize;

#[derive(Deserialize)]
struct Body {
    token: Raw,
}

#[derive(Deserialize)]
struct Raw {
    expires_at: DateTime<Utc>,
    user: Named,
    project: Option<Named>,
    domain: Option<Named>,
    system: Option<System>,
    #[serde(default)]
    roles: Vec<Named>,
    is_admin_project: Option<bool>,
    application_credential: Option<Credential>,
}

#[derive(Deserialize)]
struct Named {
    #[serde(default)]
    id: String,
    #[serde(default)]
    name: String,
    domain: Option<Box<Named>>,
}

#[derive(Deserialize)]
struct System {
    #[serde(default)]
    all: bool,
}

#[derive(Deserialize)]
struct Credential {
    access_rules: Option<Vec<AccessRule>>,
}

/// A request that an application credential may make.
#[derive(Debug, Deserialize)]
pub struct AccessRule {
    pub service: String,
    pub method: String,
    pub path: String,
}

/// Whose a token is, what for, and until when.
#[derive(Debug)]
pub struct Token {
    pub expires: DateTime<Utc>,
    pub user_id: String,
    user_name: String,
    pub user_domain_id: Option<String>,
    pub project_id: Option<String>,
    project_name: String,
    pub project_domain_id: Option<String>,
    domain_id: Option<String>,
    is_system: bool,
    pub roles: Vec<String>,
    is_admin_project: Option<bool>,
    /// None: it may do all that its roles may.
    pub access_rules: Option<Vec<AccessRule>>,
}

impl Token {
    /// None if it is not a token's body, or of nobody.
    pub fn parse(body: &[u8]) -> Option<Token> {
        let raw = serde_json::from_slice::<Body>(body).ok()?.token;
        if raw.user.id.is_empty() {
            return None;
        }
        let domain = |named: Option<Box<Named>>| named.map(|domain| domain.id).filter(|id| !id.is_empty());
        let (project_id, project_name, project_domain_id) = match raw.project {
            Some(project) => (Some(project.id), project.name, domain(project.domain)),
            None => (None, String::new(), None),
        };
        Some(Token {
            expires: raw.expires_at,
            user_id: raw.user.id,
            user_name: raw.user.name,
            user_domain_id: domain(raw.user.domain),
            project_id,
            project_name,
            project_domain_id,
            domain_id: raw.domain.map(|domain| domain.id).filter(|id| !id.is_empty()),
            is_system: raw.system.is_some_and(|system| system.all),
            roles: raw.roles.into_iter().map(|role| role.name).collect(),
            is_admin_project: raw.is_admin_project,
            access_rules: raw.application_credential.and_then(|credential| credential.access_rules),
        })
    }

    /// The context of a request with this token.
    pub fn context(&self, service: Option<Box<Service>>) -> Context {
        let mut context = Context {
            project_id: self.project_id.clone().unwrap_or_default(),
            project_name: self.project_name.clone(),
            user_id: self.user_id.clone(),
            user_name: self.user_name.clone(),
            roles: self.roles.clone(),
            system_scope: self.is_system.then(|| "all".to_owned()),
            domain_id: self.domain_id.clone(),
            user_domain_id: self.user_domain_id.clone(),
            project_domain_id: self.project_domain_id.clone(),
            is_admin_project: self.is_admin_project,
            service,
            ..Context::default()
        };
        context.is_admin = context.has_role("admin");
        context
    }
}
