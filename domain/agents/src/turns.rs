//! Work that is to be done once for the whole cluster, though each process that serves RPC could do it.

use std::time::Duration;

use chrono::TimeDelta;
use store::{Error, Store, retry};

/// Periods after which a process that says nothing is taken for dead.
const SILENT_PERIODS: i64 = 3;

/// One process's place in the queue for a kind of work: the one that has been alive longest does it, and when it goes, the next.
///
/// The processes stand in `ovn_hash_ring`, in a group that no driver of the reference knows. Two may do the work at once for a
/// moment, when a clock jumps or a process is held up and comes back; so the work itself must bear that.
pub struct Turns {
    store: Store,
    work: String,
    node: String,
    host: String,
    period: Duration,
}

impl Turns {
    /// `work` names what is done, `period` is how often [`Turns::is_mine`] will be asked.
    pub fn new(store: Store, work: &str, host: &str, period: Duration) -> Turns {
        let node = uuid::Uuid::new_v4().to_string();
        Turns { store, work: format!("neutrino_{work}"), node, host: host.to_owned(), period }
    }

    /// Says that this process is alive; whether the work is its own in this period.
    pub async fn is_mine(&self) -> Result<bool, Error> {
        retry(async || {
            let mut txn = self.store.write().await?;
            let now = txn.now();
            let silence = self.period * SILENT_PERIODS as u32;
            let limit = now - TimeDelta::from_std(silence).unwrap_or(TimeDelta::MAX);
            let (work, node) = (self.work.as_str(), self.node.as_str());
            let sql = "UPDATE ovn_hash_ring SET updated_at = ? WHERE node_uuid = ? AND group_name = ?";
            if txn.execute(sql, &[now.into(), node.into(), work.into()]).await? == 0 {
                let row = [
                    ("node_uuid", node.into()),
                    ("group_name", work.into()),
                    ("hostname", self.host.as_str().into()),
                    ("created_at", now.into()),
                    ("updated_at", now.into()),
                ];
                txn.insert("ovn_hash_ring", &row).await?;
            }
            let sql = "DELETE FROM ovn_hash_ring WHERE group_name = ? AND updated_at < ?";
            txn.execute(sql, &[work.into(), limit.into()]).await?;
            let sql = "SELECT node_uuid FROM ovn_hash_ring WHERE group_name = ? ORDER BY created_at, node_uuid LIMIT 1";
            let first = txn.query_one(sql, &[work.into()]).await?;
            txn.commit().await?;
            Ok(first.is_some_and(|row| row.text(0) == self.node))
        })
        .await
    }

    /// Gives way to the next at once, instead of after its silence.
    pub async fn leave(&self) -> Result<(), Error> {
        retry(async || {
            let mut txn = self.store.write().await?;
            let sql = "DELETE FROM ovn_hash_ring WHERE node_uuid = ? AND group_name = ?";
            txn.execute(sql, &[self.node.as_str().into(), self.work.as_str().into()]).await?;
            txn.commit().await
        })
        .await
    }
}
