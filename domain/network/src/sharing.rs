//! Objects that a project shares with all others, kept as rows of a `…rbacs` table: with the target `*` by the attribute `shared`,
//! with single projects by RBAC policies. One [`Sharing`] per resource.

use std::collections::HashSet;

use policy::Context;
use resource::{Condition, Op, new_id};
use schema::{Fault, Kind, Record, Value};

/// Tables of the shared resource.
#[derive(Clone, Copy, Debug)]
pub struct Sharing {
    /// Its own table, with the columns `id` and `project_id`.
    pub table: &'static str,
    pub rbac: &'static str,
}

impl Sharing {
    fn shared_with(&self, project: &str) -> Condition {
        let Sharing { table, rbac } = self;
        Condition::new(
            format!(
                "EXISTS (SELECT 1 FROM {rbac} WHERE {rbac}.object_id = {table}.id AND {rbac}.action = 'access_as_shared' \
                 AND {rbac}.target_project IN ('*', ?))"
            ),
            vec![project.into()],
        )
    }

    /// Own objects and those shared with the project.
    pub fn scope(&self, context: &Context) -> Condition {
        let own = format!("{}.project_id = ?", self.table);
        Condition::any(vec![
            Condition::new(own, vec![context.project_id.as_str().into()]),
            self.shared_with(&context.project_id),
        ])
    }

    /// Shares an object with everybody.
    pub async fn share(&self, op: &mut Op<'_>, id: &str, project: &str) -> Result<(), Fault> {
        let row = [
            ("id", new_id().into()),
            ("project_id", project.into()),
            ("target_project", "*".into()),
            ("action", "access_as_shared".into()),
            ("object_id", id.into()),
        ];
        op.txn.insert_if_absent(self.rbac, &row).await?;
        Ok(())
    }

    /// Sets `shared` on a list, in one statement: whether it is shared with the context's project.
    pub async fn load(&self, op: &mut Op<'_>, records: &mut [Record]) -> Result<(), Fault> {
        if !op.wants("shared") {
            return Ok(());
        }
        let condition = Condition::one_of("object_id", records.iter().map(|record| record.id().into()).collect());
        let sql = format!(
            "SELECT object_id FROM {} WHERE action = 'access_as_shared' AND target_project IN ('*', ?) AND {}",
            self.rbac, condition.sql
        );
        let mut args = vec![op.context.project_id.as_str().into()];
        args.extend(condition.args);
        let shared: HashSet<String> = op.txn.query(&sql, &args).await?.iter().map(|row| row.text(0)).collect();
        for record in records {
            let is_shared = shared.contains(record.id());
            record.set("shared", is_shared);
        }
        Ok(())
    }

    /// The filter `shared`.
    pub fn filter(&self, context: &Context, name: &str, values: &[String]) -> Option<Result<Condition, Fault>> {
        if name != "shared" {
            return None;
        }
        let holds = self.shared_with(&context.project_id);
        let mut alternatives = Vec::new();
        for value in values {
            match Kind::Bool.convert(Value::String(value.clone())) {
                Ok(Value::Bool(true)) => alternatives.push(holds.clone()),
                Ok(_) => alternatives.push(Condition::new(format!("NOT {}", holds.sql), holds.args.clone())),
                Err(why) => {
                    let message = format!("Invalid input for operation: {name}: {why}.");
                    return Some(Err(Fault::invalid_input(message)));
                }
            }
        }
        Some(Ok(Condition::any(alternatives)))
    }
}
