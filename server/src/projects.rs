//! Looking up a project where there is no identity service to ask.
//!
//! `openstack quota set --networks 5 PROJECT` first asks the identity service who PROJECT is. With `--os-auth-type none` every service is at
//! the one endpoint, so the question comes here, at `/v2.0/projects`. Without Keystone a project is whatever somebody says it is: one asked
//! for exists under that id, and the list has those that own something or have quotas of their own. The reference has no such path; it
//! goes away with `noauth`.

use async_trait::async_trait;
use policy::Context;
use resource::{Action, Answer, Method, Request, Route, System};
use schema::{Fault, Value};
use serde_json::json;

/// The paths; for servers without an identity service only.
pub struct Projects;

const ROUTES: &[Route] =
    &[Route { method: Method::Get, path: "/projects" }, Route { method: Method::Get, path: "/projects/{project}" }];
/// As long as the columns that hold one.
const MAX: usize = 255;

fn project(id: &str) -> Value {
    json!({
        "id": id, "name": id, "description": "", "domain_id": "default", "parent_id": "default",
        "enabled": true, "is_domain": false, "tags": [], "options": {},
    })
}

fn is_project(id: &str) -> bool {
    !id.is_empty() && id.chars().count() <= MAX
}

#[async_trait]
impl Action for Projects {
    fn routes(&self) -> &[Route] {
        ROUTES
    }

    async fn call(&self, system: &System, context: &Context, request: Request) -> Result<Answer, Fault> {
        if !context.is_admin {
            return Err(Fault::forbidden("get_project"));
        }
        let one = request.param("project");
        if !one.is_empty() {
            if is_project(one) {
                return Ok(Answer::ok(json!({ "project": project(one) })));
            }
            return Err(Fault::new(404, "ProjectNotFound", format!("A project's id has 1 to {MAX} characters.")));
        }
        let named = request.query.iter().find(|(key, _)| key == "name" || key == "id").map(|(_, value)| value.as_str());
        let ids: Vec<String> = match named {
            Some(name) => [name.to_owned()].into_iter().filter(|name| is_project(name)).collect(),
            None => owners(system).await?,
        };
        let list: Vec<Value> = ids.iter().map(|id| project(id)).collect();
        Ok(Answer::ok(json!({"projects": list, "links": {"next": null, "previous": null}})))
    }
}

async fn owners(system: &System) -> Result<Vec<String>, Fault> {
    let mut txn = system.store.read().await?;
    let sql = "SELECT project_id FROM networks UNION SELECT project_id FROM subnets \
               UNION SELECT project_id FROM ports UNION SELECT project_id FROM quotas ORDER BY 1";
    let rows = txn.query(sql, &[]).await?;
    Ok(rows.iter().filter_map(|row| row.opt_text(0)).filter(|id| !id.is_empty()).collect())
}
