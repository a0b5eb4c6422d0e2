//! Who asks, and under which request id: the context that travels with every message.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// The request context, as the JSON map that `neutron_lib.context.Context.to_dict()` gives. Keys that we do not read are
/// kept, so that a message passed on carries what it came with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Context(pub Map<String, Value>);

impl Context {
    /// The context of an agent or of the server acting on its own: administrator, no user, a new request id.
    /// Same keys and values as `get_admin_context_without_session()`.
    #[must_use]
    pub fn admin() -> Self {
        Self::new(&format!("req-{}", Uuid::new_v4()), Utc::now(), true, &["admin", "member", "reader"])
    }

    /// An administrator's context that keeps the given request id, so that work done for a request can be traced to it.
    #[must_use]
    pub fn admin_for(request_id: &str) -> Self {
        Self::new(request_id, Utc::now(), true, &["admin", "member", "reader"])
    }

    fn new(request_id: &str, now: DateTime<Utc>, is_admin: bool, roles: &[&str]) -> Self {
        let mut context = Self(Map::new());
        for key in [
            "user",
            "project_id",
            "system_scope",
            "project",
            "domain",
            "user_domain",
            "project_domain",
            "auth_token",
            "global_request_id",
            "resource_uuid",
            "user_id",
            "project_name",
            "user_name",
        ] {
            context.set(key, Value::Null);
        }
        context.set("is_admin", is_admin);
        context.set("is_admin_project", true);
        context.set("read_only", false);
        context.set("show_deleted", false);
        context.set("request_id", request_id);
        context.set("roles", json!(roles));
        context.set("user_identity", "- - - - -");
        context.set("timestamp", now.format("%Y-%m-%d %H:%M:%S%.6f").to_string());
        context.set("has_global_access", is_admin);
        context.set("can_set_project_id", is_admin);
        context
    }

    /// The context of a user's request. `None` where the identity service said nothing.
    #[must_use]
    pub fn user(request_id: &str, user_id: Option<&str>, project_id: Option<&str>, roles: &[&str]) -> Self {
        let mut context = Self::new(request_id, Utc::now(), false, roles);
        for (key, value) in
            [("user", user_id), ("user_id", user_id), ("project", project_id), ("project_id", project_id)]
        {
            context.set(key, value);
        }
        let identity = format!("{} {} - - -", user_id.unwrap_or("-"), project_id.unwrap_or("-"));
        context.set("user_identity", identity);
        context
    }

    /// The same request with an administrator's rights.
    #[must_use]
    pub fn elevated(&self) -> Self {
        let mut roles: Vec<&str> = self.roles().collect();
        for role in ["admin", "member", "reader"] {
            if !roles.contains(&role) {
                roles.push(role);
            }
        }
        let roles = json!(roles);
        let mut context = self.clone();
        context.set("is_admin", true);
        context.set("roles", roles);
        context
    }

    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.to_owned(), value.into());
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(Value::as_str)
    }

    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.text("request_id")
    }

    /// The id that a caller such as Nova chose for a chain of requests.
    #[must_use]
    pub fn global_request_id(&self) -> Option<&str> {
        self.text("global_request_id")
    }

    #[must_use]
    pub fn project_id(&self) -> Option<&str> {
        self.text("project_id").or_else(|| self.text("tenant"))
    }

    #[must_use]
    pub fn user_id(&self) -> Option<&str> {
        self.text("user_id").or_else(|| self.text("user"))
    }

    #[must_use]
    pub fn is_admin(&self) -> bool {
        self.0.get("is_admin").and_then(Value::as_bool).unwrap_or(false)
    }

    pub fn roles(&self) -> impl Iterator<Item = &str> {
        self.0.get("roles").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }
}

impl Default for Context {
    fn default() -> Self {
        Self::admin()
    }
}
