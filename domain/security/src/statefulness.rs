//! Whether new security groups are stateful when their request does not say: by project, or for all; else they are.
//!
//! Reproduces neutron/db/security_groups_default_statefulness.py.

use async_trait::async_trait;
use resource::{Behaviour, Given, Op};
use schema::{Attr, Default, Fault, Kind, Record, Resource, Verbs};

use crate::faults;
use network::standard::ID;

pub static DEFAULT_STATEFULNESS: Resource = Resource {
    name: "security_groups_default_statefulness",
    plural: "security_groups_default_statefulness",
    path: "security-groups-default-statefulness",
    table: "security_groups_default_statefulness",
    key: "id",
    shared: None,
    not_found: "SecurityGroupDefaultStatefulnessNotFound",
    // Not the asker's own when left out: that stands for all projects.
    owner: None,
    verbs: Verbs::ALL,
    quota: None,
    extension: None,
    attrs: &[
        ID,
        Attr::new("project_id", Kind::Text { max: 255 }).nullable().post().default(Default::Null),
        Attr::new("stateful", Kind::Bool).post().put().default(Default::Bool(true)),
    ],
};

/// For a group of that project: its own setting, or that for all, or true.
pub(crate) async fn of(op: &mut Op<'_>, project: &str) -> Result<bool, Fault> {
    let sql = "SELECT project_id, stateful FROM security_groups_default_statefulness \
               WHERE project_id = ? OR project_id IS NULL";
    let rows = op.txn.query(sql, &[project.into()]).await?;
    let own = rows.iter().find(|row| row.opt_text(0).is_some()).or(rows.first());
    Ok(own.is_none_or(|row| row.bool(1)))
}

pub struct Statefulness;

#[async_trait]
impl Behaviour for Statefulness {
    async fn creating(&self, op: &mut Op<'_>, given: &mut Given) -> Result<(), Fault> {
        // The key of the table knows no two nulls that are the same.
        let sql = "SELECT 1 FROM security_groups_default_statefulness WHERE project_id IS NULL";
        if !given.record.has("project_id") && op.txn.query_one(sql, &[]).await?.is_some() {
            return Err(faults::statefulness_exists("system-wide"));
        }
        Ok(())
    }

    fn duplicate(&self, record: &Record, _error: &store::Error) -> Option<Fault> {
        Some(faults::statefulness_exists(record.text("project_id")))
    }
}
