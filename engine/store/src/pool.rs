//! Connections to a database server, kept between transactions.
//!
//! As oslo.db has it: `max_pool_size` connections are kept, `max_overflow` more are opened when needed and closed after use,
//! a connection that is older than `connection_recycle_time` is replaced. When one is found dead, all that are as old are
//! thrown away: a server that was restarted has ended every one of them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{Error, Options};

pub(crate) struct Pool<C> {
    permits: Arc<Semaphore>,
    /// The one used last is taken first, so that those not needed grow old.
    idle: Mutex<Vec<Kept<C>>>,
    /// Most connections kept.
    size: usize,
    most: usize,
    wait: Duration,
    recycle: Duration,
    /// Raised when a connection was found dead.
    generation: AtomicU64,
}

struct Kept<C> {
    connection: C,
    born: Instant,
    generation: u64,
}

/// The right to one connection, and the connection once there is one.
pub(crate) struct Slot<C> {
    kept: Option<Kept<C>>,
    pool: Arc<Pool<C>>,
    _permit: OwnedSemaphorePermit,
}

impl<C> Pool<C> {
    pub fn new(options: &Options) -> Arc<Pool<C>> {
        let size = options.pool_size.max(1);
        let most = size + options.overflow;
        Arc::new(Pool {
            permits: Arc::new(Semaphore::new(most)),
            idle: Mutex::default(),
            size,
            most,
            wait: options.pool_wait,
            recycle: options.recycle,
            generation: AtomicU64::new(0),
        })
    }

    /// Waits for a turn. The slot holds an idle connection, best one that is `fit`, or none: then the caller opens one.
    pub async fn take(pool: &Arc<Pool<C>>, fit: impl Fn(&C) -> bool) -> Result<Slot<C>, Error> {
        let asked = Instant::now();
        let permit = tokio::time::timeout(pool.wait, pool.permits.clone().acquire_owned()).await;
        metrics::histogram!("store_wait_seconds").record(asked.elapsed().as_secs_f64());
        let permit = permit
            .map_err(|_| Error::Retry(format!("all {} connections stayed busy", pool.most)))?
            .map_err(|_| Error::Closed)?;
        let kept = {
            let mut idle = pool.idle();
            let current = pool.generation.load(Ordering::Relaxed);
            idle.retain(|kept| kept.generation == current && kept.born.elapsed() < pool.recycle);
            let at = idle.iter().rposition(|kept| fit(&kept.connection));
            // Another connection may be opened for this use rather than turning over one for the other use each time.
            let at = at.or(if idle.len() >= pool.size { idle.len().checked_sub(1) } else { None });
            at.map(|at| idle.remove(at))
        };
        metrics::gauge!("store_connections_busy").increment(1.0);
        Ok(Slot { kept, pool: pool.clone(), _permit: permit })
    }

    /// Refuses later transactions, and waits until those that are open have ended.
    pub async fn close(&self) {
        // All permits together are nobody else's.
        let all = self.permits.acquire_many(u32::try_from(self.most).unwrap_or(u32::MAX)).await;
        self.permits.close();
        drop(all);
        self.idle().clear();
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Kept<C>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C> Slot<C> {
    pub fn is_empty(&self) -> bool {
        self.kept.is_none()
    }

    /// Puts a connection in that has just been opened.
    pub fn put(&mut self, connection: C) {
        let generation = self.pool.generation.load(Ordering::Relaxed);
        self.kept = Some(Kept { connection, born: Instant::now(), generation });
    }

    pub fn connection(&mut self) -> Option<&mut C> {
        self.kept.as_mut().map(|kept| &mut kept.connection)
    }

    /// Throws the connection away, which is of no use any more.
    pub fn discard(&mut self) {
        self.kept = None;
    }

    /// The connection was found dead: throws it away with all others that are as old.
    pub fn lost(&mut self) {
        if let Some(kept) = self.kept.take() {
            let next = kept.generation + 1;
            let _ = self.pool.generation.compare_exchange(kept.generation, next, Ordering::Relaxed, Ordering::Relaxed);
            metrics::counter!("store_connections_lost_total").increment(1);
        }
    }

    /// Gives a connection back that is between two transactions.
    pub fn give_back(mut self) {
        if let Some(kept) = self.kept.take()
            && !self.pool.permits.is_closed()
        {
            let mut idle = self.pool.idle();
            if idle.len() < self.pool.size && kept.generation == self.pool.generation.load(Ordering::Relaxed) {
                idle.push(kept);
            }
        }
    }
}

impl<C> Drop for Slot<C> {
    fn drop(&mut self) {
        metrics::gauge!("store_connections_busy").decrement(1.0);
    }
}
