use serde::{Deserialize, Serialize};

/// The identity a request or message runs under, and its correlation ids.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    pub project_id: String,
    pub project_name: String,
    pub user_id: String,
    pub user_name: String,
    pub roles: Vec<String>,
    /// True for administrators and for the server's own work.
    pub is_admin: bool,
    /// `all` for tokens of system scope.
    pub system_scope: Option<String>,
    /// The domain of a token of domain scope.
    pub domain_id: Option<String>,
    pub user_domain_id: Option<String>,
    pub project_domain_id: Option<String>,
    /// Whether the project is that of the cloud's administrators. None where there is no such project, which counts as yes.
    pub is_admin_project: Option<bool>,
    /// The service that passes a user's request on, if it proved who it is.
    pub service: Option<Box<Service>>,
    /// `req-<uuid>`, made here for each request.
    pub request_id: String,
    /// The id that the caller sent, if any.
    pub global_request_id: Option<String>,
}

/// A service of the cloud that acts for a user, by a token of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Service {
    pub user_id: String,
    pub user_domain_id: Option<String>,
    pub project_id: Option<String>,
    pub project_domain_id: Option<String>,
    pub roles: Vec<String>,
}

impl Context {
    /// The server's own identity: sees and may do everything.
    pub fn internal() -> Context {
        Context { is_admin: true, roles: vec!["admin".into()], ..Context::default() }
    }

    /// The same request with an administrator's rights, for look-ups that the user may not do himself.
    pub fn elevated(&self) -> Context {
        let mut context = self.clone();
        context.is_admin = true;
        if !context.has_role("admin") {
            context.roles.push("admin".into());
        }
        context
    }

    /// True for those who see objects of all projects and may name their owner: administrators, and other services of the
    /// cloud (role `service`). What they may do with them is for the rules to say.
    pub fn has_global_view(&self) -> bool {
        self.is_admin || self.has_role("service") || self.has_role("advsvc")
    }

    /// Role names compare without case, as Keystone's do.
    pub fn has_role(&self, role: &str) -> bool {
        self.roles.iter().any(|own| own.eq_ignore_ascii_case(role))
    }
}
