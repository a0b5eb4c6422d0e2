//! The default group of a project.

use async_trait::async_trait;
use policy::Context;
use resource::{Behaviour, Given, Op, Query, System, is_last_attempt};
use schema::{Fault, Record};
use store::Txn;

use super::DEFAULT;

const DESCRIPTION: &str = "Default security group";

/// As long as the columns that hold one.
const LONGEST_PROJECT: usize = 255;

async fn find(txn: &mut Txn, project: &str) -> Result<Option<String>, Fault> {
    let sql = "SELECT security_group_id FROM default_security_group WHERE project_id = ?";
    Ok(txn.query_one(sql, &[project.into()]).await?.map(|row| row.text(0)))
}

/// Nobody makes the default group of others but those who act for them.
fn may_make(context: &Context, project: &str) -> bool {
    let is_project = !project.is_empty() && project.chars().count() <= LONGEST_PROJECT;
    is_project && (context.has_global_view() || context.project_id == project)
}

/// The id of a project's default group, which is made if there is none; None if the context may not make it.
pub async fn ensure(op: &mut Op<'_>, project: &str) -> Result<Option<String>, Fault> {
    if !may_make(op.context, project) {
        return Ok(None);
    }
    if let Some(id) = find(op.txn, project).await? {
        return Ok(Some(id));
    }
    let entity = op.system.entity("security_group")?;
    let mut record = Record::new(&entity.model);
    record.set("name", DEFAULT);
    record.set("description", DESCRIPTION);
    record.set("project_id", project);
    let made = op.create("security_group", vec![Given { record, explicit: Vec::new() }]).await?;
    Ok(made.first().map(|group| group.id().to_owned()))
}

/// Whoever lists groups or rules has a default group, or makes one for the project that the list is of.
pub async fn ensure_for_list(system: &System, context: &Context, query: &Query) -> Result<(), Fault> {
    if context.project_id.is_empty() {
        return Ok(());
    }
    let filtered = query.filter("project_id").and_then(|projects| projects.first());
    let project = filtered.map_or(context.project_id.as_str(), String::as_str);
    if !may_make(context, project) || find(&mut system.store.read().await?, project).await?.is_some() {
        return Ok(());
    }
    let mut attempt = 0;
    loop {
        match once(system, context, project).await {
            Err(fault) if !is_last_attempt(&fault, attempt).await => attempt += 1,
            outcome => return outcome,
        }
    }
}

async fn once(system: &System, context: &Context, project: &str) -> Result<(), Fault> {
    let mut txn = system.store.write().await?;
    ensure(&mut Op::new(&mut txn, context, system), project).await?;
    txn.commit().await?;
    Ok(())
}

/// Reacts to networks: their project gets its default group.
pub struct DefaultGroups;

#[async_trait]
impl Behaviour for DefaultGroups {
    async fn creating(&self, op: &mut Op<'_>, given: &mut Given) -> Result<(), Fault> {
        let project = given.record.project().to_owned();
        ensure(op, &project).await.map(|_| ())
    }
}
