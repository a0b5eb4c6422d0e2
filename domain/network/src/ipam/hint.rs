//! Which addresses are probably free: a hint in memory per subnet, so that choosing costs no statement. It may be wrong, because
//! other servers use the same database and transactions are rolled back; the key in the database decides. What it must not do is
//! say "full" wrongly, so its owner fills it anew before believing that.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rand::RngExt;
use types::{IpRange, IpSet, number};

/// A free address is chosen at random among this many of the lowest ones (the reference's window): random, so that servers do not
/// run into each other; low, so that the set stays in few pieces.
const WINDOW: u128 = 1000;

#[derive(Default)]
struct Hint {
    revision: i64,
    pools: Vec<IpRange>,
    free: IpSet,
    /// Chosen by transactions that have not ended, or whose end was not heard of yet; with their number.
    pending: HashMap<u128, u32>,
    /// Those of `pending` that the database knows nothing of. They are the last resort: a transaction that takes one waits for the
    /// other to end, where there is one, and the key decides.
    contested: IpSet,
}

/// Hints of all subnets. Cloning gives the same ones.
#[derive(Clone, Default)]
pub struct Hints {
    subnets: Arc<Mutex<HashMap<String, Hint>>>,
}

/// A chosen address. Dropping it gives it back to the hint: the transaction was rolled back.
pub struct Chosen {
    hints: Hints,
    subnet_id: String,
    pub number: u128,
    kept: bool,
}

impl Hints {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Hint>> {
        self.subnets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Chooses a free address. None if there is no hint of this revision, or if it has none left.
    pub fn choose(&self, subnet_id: &str, revision: i64, lowest: bool) -> Option<Chosen> {
        let mut subnets = self.lock();
        let hint = subnets.get_mut(subnet_id).filter(|hint| hint.revision == revision)?;
        let set = if hint.free.is_empty() { &hint.contested } else { &hint.free };
        let number = if lowest { set.first()? } else { any(set)? };
        Some(self.chosen(hint, subnet_id, number))
    }

    /// Notes that an address is chosen by other means.
    pub fn choose_exactly(&self, subnet_id: &str, number: u128) -> Option<Chosen> {
        let mut subnets = self.lock();
        let hint = subnets.get_mut(subnet_id)?;
        Some(self.chosen(hint, subnet_id, number))
    }

    fn chosen(&self, hint: &mut Hint, subnet_id: &str, number: u128) -> Chosen {
        hint.free.remove(number);
        hint.contested.remove(number);
        *hint.pending.entry(number).or_default() += 1;
        Chosen { hints: self.clone(), subnet_id: subnet_id.to_owned(), number, kept: false }
    }

    /// Fills a hint with what the database says.
    pub fn fill(&self, subnet_id: &str, revision: i64, pools: Vec<IpRange>, taken: impl Iterator<Item = u128>) {
        let mut free = IpSet::default();
        for pool in &pools {
            free.insert_range(number(pool.first), number(pool.last));
        }
        for number in taken {
            free.remove(number);
        }
        let mut subnets = self.lock();
        let hint = subnets.entry(subnet_id.to_owned()).or_default();
        let mut contested = IpSet::default();
        for number in hint.pending.keys() {
            if free.remove(*number) {
                contested.insert(*number);
            }
        }
        hint.contested = contested;
        hint.revision = revision;
        hint.pools = pools;
        hint.free = free;
    }

    /// An address is free again.
    pub fn release(&self, subnet_id: &str, number: u128) {
        if let Some(hint) = self.lock().get_mut(subnet_id)
            && !hint.pending.contains_key(&number)
        {
            hint.insert_free(number);
        }
    }

    pub fn forget(&self, subnet_id: &str) {
        self.lock().remove(subnet_id);
    }
}

impl Hint {
    fn insert_free(&mut self, n: u128) {
        self.contested.remove(n);
        if self.pools.iter().any(|pool| number(pool.first) <= n && n <= number(pool.last)) {
            self.free.insert(n);
        }
    }
}

fn any(free: &IpSet) -> Option<u128> {
    let mut random = rand::rng();
    // Counting is only needed, and cheap, when there are fewer than the window holds.
    free.nth(random.random_range(0..WINDOW)).or_else(|| {
        let left = free.len();
        (left > 0).then(|| free.nth(random.random_range(0..left)))?
    })
}

impl Chosen {
    /// The address is taken, by this transaction or by another.
    pub fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Chosen {
    fn drop(&mut self) {
        let mut subnets = self.hints.lock();
        if let Some(hint) = subnets.get_mut(&self.subnet_id) {
            if let Some(count) = hint.pending.get_mut(&self.number) {
                *count -= 1;
                if *count > 0 {
                    return;
                }
            }
            hint.pending.remove(&self.number);
            hint.contested.remove(self.number);
            if !self.kept {
                hint.insert_free(self.number);
            }
        }
    }
}
