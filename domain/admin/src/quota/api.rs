//! `/quotas`: limits and use of projects.

use async_trait::async_trait;
use policy::{Context, Target};
use resource::{Action, Answer, Method, Request, Route, System, is_last_attempt, new_id};
use schema::{Fault, Value};
use serde_json::{Map, json};
use std::sync::Arc;
use store::Txn;

use super::faults;
use super::limits::{KINDS, Kind, kind};
use super::usage::{Quotas, used};

/// Longest name of a project, characters.
const PROJECT_LENGTH: usize = 255;

const LIST: &str = "/quotas";
const ONE: &str = "/quotas/{project_id}";
const DEFAULT: &str = "/quotas/{project_id}/default";
const DETAILS: &str = "/quotas/{project_id}/details";
const TENANT: &str = "/quotas/tenant";
const PROJECT: &str = "/quotas/project";

static ROUTES: &[Route] = &[
    Route { method: Method::Get, path: LIST },
    Route { method: Method::Post, path: LIST },
    Route { method: Method::Get, path: TENANT },
    Route { method: Method::Get, path: PROJECT },
    Route { method: Method::Get, path: ONE },
    Route { method: Method::Put, path: ONE },
    Route { method: Method::Delete, path: ONE },
    Route { method: Method::Get, path: DEFAULT },
    Route { method: Method::Get, path: DETAILS },
];

/// The endpoints.
pub struct Api {
    pub quotas: Arc<Quotas>,
}

/// What rules look at: whose quota it is.
struct Of(Value);

impl Target for Of {
    fn value(&self, name: &str) -> Option<&Value> {
        matches!(name, "project_id" | "tenant_id").then_some(&self.0)
    }
}

fn allows(system: &System, context: &Context, rule: &str, project: &str) -> bool {
    system.policy.allows(rule, context, &Of(Value::from(project)))
}

fn permit(system: &System, context: &Context, rule: &str, project: &str) -> Result<(), Fault> {
    if allows(system, context, rule, project) { Ok(()) } else { Err(Fault::forbidden(rule)) }
}

fn show(limits: &[i64]) -> Map<String, Value> {
    KINDS.iter().zip(limits).map(|(kind, limit)| (kind.name.to_owned(), Value::from(*limit))).collect()
}

/// The number that Python's `int` makes of it.
fn integer(value: &Value) -> Option<i128> {
    match value {
        Value::Bool(flag) => Some(i128::from(*flag)),
        Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(number), _, _) => Some(number.into()),
            (_, Some(number), _) => Some(number.into()),
            // Saturates; both ends are out of range.
            (_, _, Some(number)) => Some(number.trunc() as i128),
            _ => None,
        },
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => "None".into(),
        Value::String(text) => text.chars().take(80).collect(),
        other => other.to_string().chars().take(80).collect(),
    }
}

/// What a PUT asks for.
struct Wanted {
    limits: Vec<(&'static Kind, i64)>,
    /// Also below what is in use.
    force: bool,
}

impl Wanted {
    fn read(body: Option<Value>) -> Result<Wanted, Fault> {
        let Some(Value::Object(mut body)) = body else {
            return Err(Fault::bad_request("Unable to find 'quota' in request body"));
        };
        let quota = body.remove("quota").ok_or_else(|| Fault::bad_request("Unable to find 'quota' in request body"))?;
        let Value::Object(mut quota) = quota else {
            return Err(Fault::bad_request("Object 'quota' contains invalid data"));
        };
        let force = quota.remove("force") == Some(Value::Bool(true));
        // The use is always looked at; the word is left from the time when it was not.
        quota.remove("check_limit");
        let unknown: Vec<&str> = quota.keys().map(String::as_str).filter(|name| kind(name).is_none()).collect();
        if !unknown.is_empty() {
            return Err(faults::unknown(&unknown));
        }
        let mut limits = Vec::with_capacity(quota.len());
        for kind in KINDS {
            let Some(value) = quota.get(kind.name) else { continue };
            let number = integer(value).ok_or_else(|| faults::no_number(&plain(value)))?;
            if number < -1 || number > i128::from(i32::MAX) {
                return Err(faults::out_of_range(kind.name, &plain(value), number < -1));
            }
            let number = i64::try_from(number).map_err(Fault::internal)?;
            limits.push((kind, number));
        }
        Ok(Wanted { limits, force })
    }
}

/// Unexpired reservations of the reference by kind.
async fn reserved(txn: &mut Txn, project: &str) -> Result<Vec<(String, i64)>, Fault> {
    let sql = "SELECT resourcedeltas.resource, SUM(resourcedeltas.amount) FROM resourcedeltas \
               JOIN reservations ON reservations.id = resourcedeltas.reservation_id \
               WHERE reservations.project_id = ? AND reservations.expiration > ? GROUP BY resourcedeltas.resource";
    let args = [project.into(), store::Value::Time(txn.now())];
    Ok(txn.query(sql, &args).await?.iter().map(|row| (row.text(0), row.int(1))).collect())
}

fn amount(of: &[(String, i64)], name: &str) -> i64 {
    of.iter().find(|(kind, _)| kind == name).map_or(0, |(_, amount)| *amount)
}

/// From now on, what the project has of these kinds is counted anew: while there was no limit nobody counted.
async fn dirty(txn: &mut Txn, project: &str, kinds: Vec<store::Value>) -> Result<(), Fault> {
    let sql = "UPDATE quotausages SET dirty = ? WHERE project_id = ? AND resource IN (??)";
    txn.execute(sql, &[true.into(), project.into(), store::Value::Set(kinds)]).await?;
    Ok(())
}

impl Api {
    async fn list(&self, system: &System, context: &Context) -> Result<Answer, Fault> {
        permit(system, context, "get_quota", &context.project_id)?;
        let mut txn = system.store.read().await?;
        let rows = txn.query("SELECT project_id, resource, \"limit\" FROM quotas ORDER BY project_id", &[]).await?;
        let mut projects: Vec<(String, Vec<i64>)> = Vec::new();
        for row in &rows {
            let project = row.text(0);
            if projects.last().is_none_or(|(last, _)| *last != project) {
                let defaults = (0..KINDS.len()).map(|position| self.quotas.limits().at(position)).collect();
                projects.push((project, defaults));
            }
            let limits = projects.last_mut().map(|(_, limits)| limits);
            if let (Some((position, _)), Some(limit), Some(limits)) = (kind(row.str(1)), row.opt_int(2), limits) {
                limits[position] = limit;
            }
        }
        let quotas: Vec<Value> = projects
            .into_iter()
            // A rule may let somebody see the quota of some projects.
            .filter(|(project, _)| allows(system, context, "get_quota", project))
            .map(|(project, limits)| {
                let mut quota = show(&limits);
                quota.insert("project_id".into(), project.as_str().into());
                quota.insert("tenant_id".into(), project.into());
                Value::Object(quota)
            })
            .collect();
        Ok(Answer::ok(json!({"quotas": quotas})))
    }

    async fn details(&self, system: &System, context: &Context, project: &str) -> Result<Answer, Fault> {
        if project != context.project_id && !context.is_admin {
            return Err(faults::others_details(project));
        }
        let mut txn = system.store.read().await?;
        let limits = self.quotas.of(&mut txn, project).await?;
        let kinds: Vec<&'static Kind> = KINDS.iter().collect();
        let used = used(&mut txn, project, &kinds).await?;
        let reserved = reserved(&mut txn, project).await?;
        let mut quota = Map::new();
        for ((name, used), limit) in used.into_iter().zip(limits) {
            let detail = json!({"limit": limit, "used": used, "reserved": amount(&reserved, name)});
            quota.insert(name.to_owned(), detail);
        }
        Ok(Answer::ok(json!({"quota": quota})))
    }

    async fn put(&self, txn: &mut Txn, project: &str, wanted: &Wanted) -> Result<(), Fault> {
        if !wanted.force {
            let kinds: Vec<&'static Kind> =
                wanted.limits.iter().filter(|(_, limit)| *limit >= 0).map(|(kind, _)| *kind).collect();
            let has = used(txn, project, &kinds).await?;
            let reserved = reserved(txn, project).await?;
            for (kind, limit) in &wanted.limits {
                let has = has.iter().find(|(name, _)| *name == kind.name).map_or(0, |(_, count)| *count);
                let all = has + amount(&reserved, kind.name);
                if *limit >= 0 && all > *limit {
                    return Err(faults::below_use(kind.name, *limit, all));
                }
            }
        }
        for (kind, limit) in &wanted.limits {
            let sql = "UPDATE quotas SET \"limit\" = ? WHERE project_id = ? AND resource = ?";
            if txn.execute(sql, &[(*limit).into(), project.into(), kind.name.into()]).await? > 0 {
                continue;
            }
            let row = [
                ("id", new_id().into()),
                ("project_id", project.into()),
                ("resource", kind.name.into()),
                ("limit", (*limit).into()),
            ];
            if !txn.insert_if_absent("quotas", &row).await? {
                return Err(Fault::retry("another request sets this quota"));
            }
        }
        dirty(txn, project, wanted.limits.iter().map(|(kind, _)| kind.name.into()).collect()).await
    }

    async fn remove(&self, txn: &mut Txn, project: &str) -> Result<(), Fault> {
        if txn.execute("DELETE FROM quotas WHERE project_id = ?", &[project.into()]).await? == 0 {
            return Err(faults::no_own_quota(project));
        }
        dirty(txn, project, KINDS.iter().map(|kind| kind.name.into()).collect()).await
    }

    /// Sets limits, or with None removes those that the project has of its own.
    async fn change(&self, system: &System, project: &str, wanted: Option<&Wanted>) -> Result<(), Fault> {
        let mut attempt = 0;
        loop {
            let result: Result<(), Fault> = async {
                let mut txn = system.store.write().await?;
                match wanted {
                    Some(wanted) => self.put(&mut txn, project, wanted).await?,
                    None => self.remove(&mut txn, project).await?,
                }
                txn.commit().await?;
                Ok(())
            }
            .await;
            match result {
                Err(fault) if !is_last_attempt(&fault, attempt).await => attempt += 1,
                result => return result,
            }
        }
    }

    async fn of(&self, system: &System, project: &str) -> Result<Answer, Fault> {
        let mut txn = system.store.read().await?;
        let limits = self.quotas.of(&mut txn, project).await?;
        Ok(Answer::ok(json!({"quota": show(&limits)})))
    }
}

#[async_trait]
impl Action for Api {
    fn routes(&self) -> &[Route] {
        ROUTES
    }

    async fn call(&self, system: &System, context: &Context, mut request: Request) -> Result<Answer, Fault> {
        let project = request.param("project_id").to_owned();
        if project.chars().count() > PROJECT_LENGTH || project.contains('\0') {
            return Err(Fault::bad_request(format!("A project's id has at most {PROJECT_LENGTH} characters.")));
        }
        let own = project == context.project_id;
        match (request.route.method, request.route.path) {
            (Method::Post, _) => {
                let message = "POST requests are not supported on this resource; set the quota of a project with PUT.";
                Err(Fault::new(501, "HTTPNotImplemented", message))
            }
            (Method::Put, _) => {
                permit(system, context, "update_quota", &project)?;
                let wanted = Wanted::read(request.body.take())?;
                self.change(system, &project, Some(&wanted)).await?;
                self.of(system, &project).await
            }
            (Method::Delete, _) => {
                permit(system, context, "delete_quota", &project)?;
                self.change(system, &project, None).await?;
                Ok(Answer::no_content())
            }
            (Method::Get, LIST) => self.list(system, context).await,
            (Method::Get, path @ (TENANT | PROJECT)) => {
                if context.project_id.is_empty() {
                    return Err(faults::no_project());
                }
                let own = context.project_id.as_str();
                Ok(Answer::ok(match path {
                    TENANT => json!({"tenant": {"tenant_id": own}}),
                    _ => json!({"project": {"project_id": own}}),
                }))
            }
            (Method::Get, DETAILS) => self.details(system, context, &project).await,
            (Method::Get, path) => {
                if !own {
                    permit(system, context, "get_quota", &project)?;
                }
                if path == DEFAULT {
                    let limits: Vec<i64> = (0..KINDS.len()).map(|position| self.quotas.limits().at(position)).collect();
                    return Ok(Answer::ok(json!({"quota": show(&limits)})));
                }
                self.of(system, &project).await
            }
        }
    }
}
