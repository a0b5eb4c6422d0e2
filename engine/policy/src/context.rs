use serde::{Deserialize, Serialize};

/// The identity a request or message runs under, and its correlation ids.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    pub project_id: String,
    pub project_name: String,
    pub user_id: String,
    pub user_name: String,
    pub roles: Vec<String>,
    /// True for administrators and for the server's own work. Whether a request is an administrator's, the rules say
    /// ([`crate::Enforce::settle`]).
    pub is_admin: bool,
    /// Sees objects of all projects, by the rules, without being an administrator.
    pub has_global_access: bool,
    /// May name the project of what it makes, by the rules.
    pub can_set_project: bool,
    /// Another service of the cloud, by the rules: sees all projects and may name them.
    pub is_service_role: bool,
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

/// The roles that Keystone lets an administrator imply, and he himself.
const ADMIN: [&str; 3] = ["admin", "member", "reader"];

impl Context {
    /// The server's own identity: sees and may do everything.
    pub fn internal() -> Context {
        Context::default().elevated()
    }

    /// The same request with an administrator's rights, for look-ups that the user may not do himself.
    pub fn elevated(&self) -> Context {
        let mut context = self.clone();
        context.is_admin = true;
        for role in ADMIN {
            if !context.has_role(role) {
                context.roles.push(role.to_owned());
            }
        }
        context
    }

    /// True for those who see objects of all projects: administrators, and other services of the cloud. What they may do with them is
    /// for the rules to say.
    pub fn has_global_view(&self) -> bool {
        self.is_admin || self.has_global_access || self.is_service_role
    }

    /// True for those who may make objects of other projects.
    pub fn may_name_owner(&self) -> bool {
        self.is_admin || self.is_service_role || self.can_set_project
    }

    /// Role names compare without case, as Keystone's do.
    pub fn has_role(&self, role: &str) -> bool {
        self.roles.iter().any(|own| own.eq_ignore_ascii_case(role))
    }
}
