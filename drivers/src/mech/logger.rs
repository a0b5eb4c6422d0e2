use async_trait::async_trait;
use network::ml2::{MechanismDriver, PortChange};
use resource::Op;
use schema::{Fault, Record};

/// Writes every change to the log, and binds nothing. For tests and for looking on.
pub struct Logger;

fn log(what: &str, old: Option<&Record>, new: Option<&Record>) {
    let verb = match (old, new) {
        (None, _) => "created",
        (_, None) => "deleted",
        _ => "updated",
    };
    let id = new.or(old).map_or("", Record::id);
    tracing::info!(object = what, id, "{what} {verb}");
}

#[async_trait]
impl MechanismDriver for Logger {
    fn name(&self) -> &'static str {
        "logger"
    }

    async fn network_changed(&self, _op: &mut Op<'_>, old: Option<&Record>, new: Option<&Record>) -> Result<(), Fault> {
        log("network", old, new);
        Ok(())
    }

    async fn subnet_changed(&self, _op: &mut Op<'_>, old: Option<&Record>, new: Option<&Record>) -> Result<(), Fault> {
        log("subnet", old, new);
        Ok(())
    }

    async fn port_changed(&self, _op: &mut Op<'_>, change: PortChange<'_>) -> Result<(), Fault> {
        log("port", change.old, change.new);
        Ok(())
    }
}
