use async_trait::async_trait;
use policy::Context;
use schema::body::Given;
use schema::{Fault, Record, Value};

use crate::{Condition, Op, Query, System};

/// Hooks of a resource. An entity has a list of them: first its own behaviour, then those who extend it or react to it, in the order of
/// the composition root. All hooks but `scope`, `filter` run inside the operation's transaction; an error undoes everything.
/// What must happen after the commit is put into the outbox with [`store::Txn::after_commit`].
///
/// A create runs `creating_all` once; then, for each object: `creating` (all) → rows are inserted → `inserted` (all) → the object is loaded as a read would
/// → `created` (all); in the end `created_all`. An update: `updating` → rows are changed → `updated`. A delete: `deleting` → rows are removed → `deleted`.
#[async_trait]
pub trait Behaviour: Send + Sync {
    /// What must be there before a list is read, in a transaction of its own. A list that finds it there should cost one statement here.
    async fn listing(&self, system: &System, context: &Context, query: &Query) -> Result<(), Fault> {
        let _ = (system, context, query);
        Ok(())
    }

    /// Checks the objects of one request against each other, and fills in what they left out. Ids and owners are set.
    async fn creating_all(&self, op: &mut Op<'_>, objects: &mut [Given]) -> Result<(), Fault> {
        let _ = (op, objects);
        Ok(())
    }

    /// Checks the request and fills in what it left out. The id and the owner are set.
    async fn creating(&self, op: &mut Op<'_>, given: &mut Given) -> Result<(), Fault> {
        let _ = (op, given);
        Ok(())
    }

    /// Writes what the engine does not: rows of other tables, allocations. `record` is the request with its defaults.
    async fn inserted(&self, op: &mut Op<'_>, record: &mut Record) -> Result<(), Fault> {
        let _ = (op, record);
        Ok(())
    }

    /// Reacts to the finished object. It is as a read would show it to an administrator.
    async fn created(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        let _ = (op, record);
        Ok(())
    }

    /// Reacts to all objects of one request at once, after `created` of each.
    async fn created_all(&self, op: &mut Op<'_>, records: &[Record]) -> Result<(), Fault> {
        let _ = (op, records);
        Ok(())
    }

    /// Checks a change and writes what the engine does not. `new` is `old` with the request laid over it; what differs in the end
    /// is written by the engine where it has a place that the engine writes.
    async fn updating(&self, op: &mut Op<'_>, old: &Record, new: &mut Record, given: &Given) -> Result<(), Fault> {
        let _ = (op, old, new, given);
        Ok(())
    }

    async fn updated(&self, op: &mut Op<'_>, old: &Record, new: &Record) -> Result<(), Fault> {
        let _ = (op, old, new);
        Ok(())
    }

    /// Refuses a removal, or removes what hangs on the object.
    async fn deleting(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        let _ = (op, record);
        Ok(())
    }

    async fn deleted(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        let _ = (op, record);
        Ok(())
    }

    /// Fills in computed attributes of a whole list, with a number of statements that does not depend on its length.
    /// Attributes that are not wanted (see [`Op::wants`]) may stay unset.
    async fn load(&self, op: &mut Op<'_>, records: &mut [Record]) -> Result<(), Fault> {
        let _ = (op, records);
        Ok(())
    }

    /// Which rows someone who is no administrator may see; None leaves it to the next in the list, and in the end to the owner.
    fn scope(&self, context: &Context) -> Option<Condition> {
        let _ = context;
        None
    }

    /// SQL for a filter that is not simply a column; None leaves it to the next in the list, and in the end to the attribute table.
    fn filter(&self, context: &Context, name: &str, values: &[String]) -> Option<Result<Condition, Fault>> {
        let _ = (context, name, values);
        None
    }

    /// SQL that the resource's rows are read from under its table's name, where that is not one table but several alike.
    fn source(&self) -> Option<&'static str> {
        None
    }

    /// The table that a row is written to and removed from, where `source` has several.
    fn table(&self, record: &Record) -> Option<&'static str> {
        let _ = record;
        None
    }

    /// Attributes of other objects that policy rules look at, as `parent:attribute`.
    async fn target(&self, op: &mut Op<'_>, record: &Record) -> Result<Vec<(String, Value)>, Fault> {
        let _ = (op, record);
        Ok(Vec::new())
    }

    /// The fault for a unique key that a write ran into; None leaves it to the next, and in the end to a generic conflict.
    fn duplicate(&self, record: &Record, error: &store::Error) -> Option<Fault> {
        let _ = (record, error);
        None
    }
}

/// A resource that its table says whole.
pub struct Plain;

#[async_trait]
impl Behaviour for Plain {}
