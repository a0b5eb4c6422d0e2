//! Invariants over several rows that no key of the schema can hold, such as "one default of its family": whoever may break one
//! takes its turn first, and reads afterwards.
//!
//! A turn is a row of `quotausages` under no project, whose number is raised: on one server the row stays locked until the
//! transaction ends, and of two on different nodes of Galera one is refused when it commits, since both changed the row. The
//! reference counts per project and does not look at it.

use resource::Op;
use schema::Fault;

const NO_PROJECT: &str = "";

fn resource(name: &str) -> String {
    format!("neutrino.turn.{name}")
}

/// Waits until no other transaction has this turn, and has it until this one ends.
pub async fn take(op: &mut Op<'_>, name: &str) -> Result<(), Fault> {
    let resource = resource(name);
    let sql = "UPDATE quotausages SET in_use = CASE WHEN in_use < 1000000 THEN in_use + 1 ELSE 0 END \
               WHERE project_id = ? AND resource = ?";
    let args = [NO_PROJECT.into(), resource.as_str().into()];
    if op.txn.execute(sql, &args).await? > 0 {
        return Ok(());
    }
    let row = [
        ("project_id", NO_PROJECT.into()),
        ("resource", resource.as_str().into()),
        ("dirty", false.into()),
        ("in_use", 0.into()),
        ("reserved", 0.into()),
    ];
    // A row that another made meanwhile is there now.
    if op.txn.insert_if_absent("quotausages", &row).await? || op.txn.execute(sql, &args).await? > 0 {
        return Ok(());
    }
    Err(Fault::retry(format!("another request has the turn of {name}")))
}

/// Removes the row of something that is gone with this transaction.
pub async fn forget(op: &mut Op<'_>, name: &str) -> Result<(), Fault> {
    let sql = "DELETE FROM quotausages WHERE project_id = ? AND resource = ?";
    op.txn.execute(sql, &[NO_PROJECT.into(), resource(name).into()]).await?;
    Ok(())
}
