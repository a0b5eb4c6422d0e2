//! Counting: the statements that take and give back.

use async_trait::async_trait;
use resource::{Op, Quota};
use schema::Fault;
use store::{Txn, Value};

use super::faults;
use super::limits::{KINDS, Kind, Limits, kind};

/// Limits of projects, in the transactions of those who create and delete.
pub struct Quotas {
    limits: Limits,
}

/// A kind and a project, with the limit where the project has none of its own.
#[derive(Clone, Copy)]
struct Account<'a> {
    kind: &'static Kind,
    project: &'a str,
    default: i64,
}

/// What the database says about an account.
struct State {
    limit: i64,
    /// Of the usage row: number and whether it is dirty. None without a row.
    in_use: Option<(i64, bool)>,
    /// Reserved by the reference, not yet expired.
    reserved: i64,
}

/// The reference makes objects and leaves the usage rows as they are. So an account with less room than this is compared with what there
/// is whenever something is taken from it, and what it may owe meanwhile is bounded by [`Quotas::doubt`].
const MARGIN: i64 = 1000;

const OWN_LIMIT: &str = "(SELECT \"limit\" FROM quotas WHERE project_id = ? AND resource = ?)";

/// Reservations of the reference that hold.
const RESERVED: &str = "COALESCE((SELECT SUM(resourcedeltas.amount) FROM resourcedeltas \
     JOIN reservations ON reservations.id = resourcedeltas.reservation_id \
     WHERE reservations.project_id = ? AND resourcedeltas.resource = ? AND reservations.expiration > ?), 0)";

fn conflict(account: Account<'_>) -> Fault {
    Fault::retry(format!("another transaction counts the {} quota of project {}", account.kind.name, account.project))
}

impl Account<'_> {
    /// The two arguments that name it.
    fn key(&self) -> [Value; 2] {
        [self.project.into(), self.kind.name.into()]
    }

    /// Adds to a clean row within the limit, with so much room left; false if there is none, or no limit, or no room.
    async fn add(&self, txn: &mut Txn, count: i64, room: i64) -> Result<bool, Fault> {
        let sql = format!(
            "UPDATE quotausages SET in_use = in_use + ? WHERE project_id = ? AND resource = ? AND dirty = ? \
             AND in_use + ? + {RESERVED} <= COALESCE({OWN_LIMIT}, ?)"
        );
        let [project, resource] = self.key();
        let args = [
            count.into(),
            project.clone(),
            resource.clone(),
            false.into(),
            (count + room).into(),
            project.clone(),
            resource.clone(),
            Value::Time(txn.now()),
            project,
            resource,
            self.default.into(),
        ];
        Ok(txn.execute(&sql, &args).await? > 0)
    }

    /// Compares an account that was just added to, and is locked by that, with the rows that there are.
    async fn compare(&self, txn: &mut Txn, count: i64) -> Result<(), Fault> {
        let some = |table: &&str| {
            format!("(SELECT COUNT(*) FROM (SELECT 1 FROM {table} WHERE project_id = ? LIMIT {MARGIN}) AS found)")
        };
        let rows: Vec<String> = self.kind.tables.iter().map(some).collect();
        let usage = "(SELECT in_use FROM quotausages WHERE project_id = ? AND resource = ?)";
        let sql = format!("SELECT {OWN_LIMIT}, {usage}, {RESERVED}, {}", rows.join(" + "));
        let mut args: Vec<Value> = (0..3).flat_map(|_| self.key()).collect();
        args.push(Value::Time(txn.now()));
        args.extend(rows.iter().map(|_| Value::from(self.project)));
        let row = txn.query_one(&sql, &args).await?.ok_or_else(|| conflict(*self))?;
        let limit = row.opt_int(0).unwrap_or(self.default);
        let (in_use, reserved) = (row.int(1), row.opt_int(2).unwrap_or(0));
        let there = match row.int(3) {
            few if few < MARGIN => few,
            _ if in_use + reserved + MARGIN <= limit => return Ok(()),
            _ => self.count(txn).await?,
        };
        if there + reserved + count > limit {
            return Err(faults::over_quota(self.kind.name, self.project, limit, there + reserved, count));
        }
        if there + count > in_use {
            let [project, resource] = self.key();
            let sql = "UPDATE quotausages SET in_use = ? WHERE project_id = ? AND resource = ?";
            txn.execute(sql, &[(there + count).into(), project, resource]).await?;
        }
        Ok(())
    }

    async fn own_limit(&self, txn: &mut Txn) -> Result<i64, Fault> {
        let sql = "SELECT \"limit\" FROM quotas WHERE project_id = ? AND resource = ?";
        let row = txn.query_one(sql, &self.key()).await?;
        Ok(row.and_then(|row| row.opt_int(0)).unwrap_or(self.default))
    }

    async fn state(&self, txn: &mut Txn) -> Result<State, Fault> {
        let usage = |column: &str| format!("(SELECT {column} FROM quotausages WHERE project_id = ? AND resource = ?)");
        let sql = format!("SELECT {OWN_LIMIT}, {}, {}, {RESERVED}", usage("in_use"), usage("dirty"));
        let mut args: Vec<Value> = Vec::with_capacity(9);
        for _ in 0..4 {
            args.extend(self.key());
        }
        args.push(Value::Time(txn.now()));
        let row = txn.query_one(&sql, &args).await?.ok_or_else(|| conflict(*self))?;
        Ok(State {
            limit: row.opt_int(0).unwrap_or(self.default),
            in_use: row.opt_int(1).map(|in_use| (in_use, row.bool(2))),
            reserved: row.opt_int(3).unwrap_or(0),
        })
    }

    /// Takes when the quick way did not do it: no limit, or the rows must be counted, or there is no room.
    async fn settle(&self, txn: &mut Txn, count: i64) -> Result<(), Fault> {
        let state = self.state(txn).await?;
        if state.limit < 0 {
            return Ok(());
        }
        let counted = match state.in_use {
            Some((in_use, false)) if in_use + state.reserved + count <= state.limit => in_use,
            // A full account is counted before anything is refused: nobody gives back rows that go with their parent by a key.
            _ => self.count(txn).await?,
        };
        let used = counted + state.reserved;
        if used + count > state.limit {
            return Err(faults::over_quota(self.kind.name, self.project, state.limit, used, count));
        }
        let [project, resource] = self.key();
        match state.in_use {
            None => {
                let row = [
                    ("project_id", project),
                    ("resource", resource),
                    ("dirty", false.into()),
                    ("in_use", (counted + count).into()),
                    ("reserved", 0.into()),
                ];
                if txn.insert_if_absent("quotausages", &row).await? { Ok(()) } else { Err(conflict(*self)) }
            }
            Some((old, dirty)) if dirty || counted != old => {
                // Who gives back in the meantime changes the number, and who counts in the meantime cleans it.
                let sql = "UPDATE quotausages SET in_use = ?, dirty = ?, reserved = 0 \
                           WHERE project_id = ? AND resource = ? AND dirty = ? AND in_use = ?";
                let args = [(counted + count).into(), false.into(), project, resource, dirty.into(), old.into()];
                if txn.execute(sql, &args).await? > 0 { Ok(()) } else { Err(conflict(*self)) }
            }
            // It would have had room a moment ago.
            Some(_) => Err(conflict(*self)),
        }
    }

    /// Rows that the project owns.
    async fn count(&self, txn: &mut Txn) -> Result<i64, Fault> {
        Ok(used(txn, self.project, &[self.kind]).await?.first().map_or(0, |(_, count)| *count))
    }

    /// Changes the number whatever the limit is. A row that is not there is made dirty, so that who counts the rows meanwhile
    /// runs into this transaction.
    async fn adjust(&self, txn: &mut Txn, by: i64) -> Result<(), Fault> {
        if self.kind.tables.is_empty() || self.project.is_empty() {
            return Ok(());
        }
        if self.default < 0 && self.own_limit(txn).await? < 0 {
            return Ok(());
        }
        // The condition first: MySQL sets from left to right.
        let sql = format!(
            "UPDATE quotausages SET dirty = CASE WHEN in_use + ? < 0 THEN ? ELSE dirty END, in_use = in_use + ? \
             WHERE project_id = ? AND resource = ? AND COALESCE({OWN_LIMIT}, ?) >= 0"
        );
        let [project, resource] = self.key();
        let args = [
            by.into(),
            true.into(),
            by.into(),
            project.clone(),
            resource.clone(),
            project.clone(),
            resource.clone(),
            self.default.into(),
        ];
        if txn.execute(&sql, &args).await? > 0 || self.default >= 0 && self.own_limit(txn).await? < 0 {
            return Ok(());
        }
        let row = [
            ("project_id", project),
            ("resource", resource),
            ("dirty", true.into()),
            ("in_use", 0.into()),
            ("reserved", 0.into()),
        ];
        if txn.insert_if_absent("quotausages", &row).await? { Ok(()) } else { Err(conflict(*self)) }
    }
}

/// How many rows the project has of each of the kinds, with one statement.
pub(super) async fn used(
    txn: &mut Txn,
    project: &str,
    kinds: &[&'static Kind],
) -> Result<Vec<(&'static str, i64)>, Fault> {
    let mut parts = Vec::new();
    let mut args: Vec<Value> = Vec::new();
    for kind in kinds {
        for table in kind.tables {
            parts.push(format!("SELECT '{}', COUNT(*) FROM {table} WHERE project_id = ?", kind.name));
            args.push(project.into());
        }
    }
    let mut counts: Vec<(&'static str, i64)> = kinds.iter().map(|kind| (kind.name, 0)).collect();
    if parts.is_empty() {
        return Ok(counts);
    }
    for row in txn.query(&parts.join(" UNION ALL "), &args).await? {
        let name = row.text(0);
        if let Some((_, count)) = counts.iter_mut().find(|(kind, _)| *kind == name) {
            *count += row.int(1);
        }
    }
    Ok(counts)
}

impl Quotas {
    pub fn new(limits: Limits) -> Quotas {
        Quotas { limits }
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// For the start of a server: what others did to the database since is counted anew where it matters, and reservations that
    /// the reference left behind are removed.
    pub async fn start(&self, txn: &mut Txn) -> Result<(), Fault> {
        txn.execute("UPDATE quotausages SET dirty = ? WHERE dirty = ?", &[true.into(), false.into()]).await?;
        let now = Value::Time(txn.now());
        txn.execute("DELETE FROM reservations WHERE expiration < ?", &[now]).await?;
        Ok(())
    }

    /// Has every account counted anew when something is next taken from it. Called now and then where the reference may work on the same
    /// database.
    pub async fn doubt(txn: &mut Txn) -> Result<(), Fault> {
        txn.execute(
            "UPDATE quotausages SET dirty = ? WHERE dirty = ? AND project_id <> ?",
            &[true.into(), false.into(), "".into()],
        )
        .await?;
        Ok(())
    }

    fn account<'a>(&self, name: &str, project: &'a str) -> Option<Account<'a>> {
        let (position, kind) = kind(name)?;
        Some(Account { kind, project, default: self.limits.at(position) })
    }

    /// Limits of a project by kind, its own or the defaults, in the order of [`KINDS`].
    pub(super) async fn of(&self, txn: &mut Txn, project: &str) -> Result<Vec<i64>, Fault> {
        let sql = "SELECT resource, \"limit\" FROM quotas WHERE project_id = ?";
        let mut limits: Vec<i64> = (0..KINDS.len()).map(|position| self.limits.at(position)).collect();
        for row in txn.query(sql, &[project.into()]).await? {
            if let (Some((position, _)), Some(limit)) = (kind(&row.text(0)), row.opt_int(1)) {
                limits[position] = limit;
            }
        }
        Ok(limits)
    }
}

#[async_trait]
impl Quota for Quotas {
    async fn take(&self, op: &mut Op<'_>, quota: &'static str, project: &str, count: usize) -> Result<(), Fault> {
        let Some(account) = self.account(quota, project) else { return Ok(()) };
        let count = i64::try_from(count).map_err(Fault::internal)?;
        if project.is_empty() || count == 0 {
            return Ok(());
        }
        if account.default < 0 && account.own_limit(op.txn).await? < 0 {
            return Ok(());
        }
        // Most accounts have either much room or a small limit.
        if account.default > MARGIN && account.add(op.txn, count, MARGIN).await? {
            return Ok(());
        }
        if !account.kind.tables.is_empty() && account.add(op.txn, count, 0).await? {
            return account.compare(op.txn, count).await;
        }
        account.settle(op.txn, count).await
    }

    async fn note(&self, op: &mut Op<'_>, quota: &'static str, project: &str, count: usize) -> Result<(), Fault> {
        let Some(account) = self.account(quota, project) else { return Ok(()) };
        account.adjust(op.txn, i64::try_from(count).map_err(Fault::internal)?).await
    }

    async fn give_back(&self, op: &mut Op<'_>, quota: &'static str, project: &str, count: usize) -> Result<(), Fault> {
        let Some(account) = self.account(quota, project) else { return Ok(()) };
        account.adjust(op.txn, -i64::try_from(count).map_err(Fault::internal)?).await
    }
}
