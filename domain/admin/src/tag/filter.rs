use std::collections::BTreeSet;

use async_trait::async_trait;
use policy::Context;
use resource::{Behaviour, Condition, Given, Op};
use schema::{Fault, Resource, Value};

use super::{MAX_COUNT, OWNER, TABLE, faults};

/// What tags add to the behaviour of a resource: the filters `tags`, `tags-any`, `not-tags` and `not-tags-any`, whose values are
/// separated by commas or repeated.
pub struct Tagged {
    pub of: &'static Resource,
}

impl Tagged {
    fn condition(&self, name: &str, values: &[String]) -> Option<Condition> {
        let (all, not) = match name {
            "tags" => (true, false),
            "tags-any" => (false, false),
            "not-tags" => (true, true),
            "not-tags-any" => (false, true),
            _ => return None,
        };
        let tags: BTreeSet<&str> = values.iter().flat_map(|value| value.split(',')).collect();
        let wanted = i64::try_from(tags.len()).unwrap_or(i64::MAX);
        let inner = Condition::one_of("tags.tag", tags.into_iter().map(store::Value::from).collect());
        let table = self.of.table;
        let mut args = inner.args;
        let sql = if all {
            args.push(wanted.into());
            let sign = if not { "<" } else { "=" };
            format!("(SELECT COUNT(*) FROM {TABLE} WHERE {TABLE}.{OWNER} = {table}.{OWNER} AND {}) {sign} ?", inner.sql)
        } else {
            let word = if not { "NOT EXISTS" } else { "EXISTS" };
            format!("{word} (SELECT 1 FROM {TABLE} WHERE {TABLE}.{OWNER} = {table}.{OWNER} AND {})", inner.sql)
        };
        Some(Condition::new(sql, args))
    }
}

#[async_trait]
impl Behaviour for Tagged {
    async fn creating(&self, _op: &mut Op<'_>, given: &mut Given) -> Result<(), Fault> {
        match given.record.value("tags") {
            Some(Value::Array(tags)) if tags.len() > MAX_COUNT => Err(faults::too_many(self.of.plural, MAX_COUNT)),
            _ => Ok(()),
        }
    }

    fn filter(&self, _context: &Context, name: &str, values: &[String]) -> Option<Result<Condition, Fault>> {
        self.condition(name, values).map(Ok)
    }
}
