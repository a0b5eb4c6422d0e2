use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use network::port::bindings::Moves;
use policy::Context;
use resource::{Behaviour, Op, System};
use rpc::objects::Object;
use rpc::resources::{Event, ResourcesNotifier};
use schema::{Fault, Record};
use serde_json::Map;
use tokio::sync::Notify;

use super::{Kind, Versions, by_ids, pin};

/// Objects of one kind in one message.
const AT_ONCE: usize = 50;

/// Notes what changes in one kind of resource.
pub struct Pushes {
    pub kind: Kind,
    pub pusher: Arc<Pusher>,
}

impl Pushes {
    fn note(&self, op: &mut Op<'_>, record: &Record, deleted: bool) {
        if self.pusher.is_wanted(self.kind) {
            let (pusher, kind, id) = (self.pusher.clone(), self.kind, record.id().to_owned());
            op.txn.after_commit("push", async move { pusher.add(kind, id, deleted) });
        }
    }
}

#[async_trait]
impl Behaviour for Pushes {
    async fn created(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        self.note(op, record, false);
        Ok(())
    }

    async fn updated(&self, op: &mut Op<'_>, _old: &Record, new: &Record) -> Result<(), Fault> {
        self.note(op, new, false);
        Ok(())
    }

    async fn deleted(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        self.note(op, record, true);
        Ok(())
    }
}

#[async_trait]
impl Moves for Pushes {
    async fn moved(&self, op: &mut Op<'_>, port: &Record, _from: &str, _to: &str) -> Result<(), Fault> {
        self.note(op, port, false);
        Ok(())
    }
}

/// Tells agents of objects that changed, each in the versions that they understand. An object that changes several times while
/// others are told of is told of once, as it then is.
pub struct Pusher {
    notifier: ResourcesNotifier,
    /// Set when the system is composed, which is after the behaviours that note changes.
    versions: Mutex<Option<Arc<Versions>>>,
    pending: Mutex<BTreeMap<(Kind, bool), Vec<String>>>,
    changed: Arc<Notify>,
}

impl Drop for Pusher {
    fn drop(&mut self) {
        // Its task looks again, and ends.
        self.changed.notify_one();
    }
}

impl Pusher {
    #[must_use]
    pub fn new(notifier: ResourcesNotifier) -> Arc<Self> {
        let (versions, pending) = (Mutex::default(), Mutex::default());
        Arc::new(Self { notifier, versions, pending, changed: Arc::default() })
    }

    /// Begins to tell. Ends with the system.
    pub fn start(self: &Arc<Self>, system: &Arc<System>, versions: Arc<Versions>) {
        *self.versions.lock().unwrap_or_else(PoisonError::into_inner) = Some(versions);
        let (pusher, system, changed) = (Arc::downgrade(self), Arc::downgrade(system), self.changed.clone());
        tokio::spawn(async move {
            loop {
                changed.notified().await;
                let (Some(pusher), Some(system)) = (pusher.upgrade(), system.upgrade()) else { return };
                while pusher.next(&system).await {}
            }
        });
    }

    fn versions(&self, kind: Kind) -> Vec<String> {
        let versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner).clone();
        versions.map(|versions| versions.of(kind)).unwrap_or_default()
    }

    fn is_wanted(&self, kind: Kind) -> bool {
        !self.versions(kind).is_empty()
    }

    fn add(&self, kind: Kind, id: String, deleted: bool) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        if deleted && let Some(changed) = pending.get_mut(&(kind, false)) {
            changed.retain(|other| *other != id);
        }
        let ids = pending.entry((kind, deleted)).or_default();
        if !ids.contains(&id) {
            ids.push(id);
        }
        self.changed.notify_one();
    }

    /// Tells of some objects of one kind; false when there are none to tell of.
    async fn next(&self, system: &System) -> bool {
        let next = self.pending.lock().unwrap_or_else(PoisonError::into_inner).pop_first();
        let Some(((kind, deleted), mut ids)) = next else { return false };
        if ids.len() > AT_ONCE {
            let rest = ids.split_off(AT_ONCE);
            let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
            let waiting = pending.entry((kind, deleted)).or_default();
            let newer = std::mem::replace(waiting, rest);
            waiting.extend(newer);
        }
        if let Err(error) = self.push(system, kind, deleted, &ids).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, kind = kind.name(), "agents could not be told of objects");
        }
        true
    }

    async fn push(&self, system: &System, kind: Kind, deleted: bool, ids: &[String]) -> Result<(), Fault> {
        let objects = if deleted {
            ids.iter().map(|id| bare(kind, id)).collect()
        } else {
            let context = Context::internal();
            let mut txn = system.store.read().await?;
            let mut op = Op::new(&mut txn, &context, system);
            by_ids(&mut op, kind, ids).await?
        };
        let event = if deleted { Event::Deleted } else { Event::Updated };
        let context = messaging::Context::admin();
        for version in self.versions(kind) {
            let pinned: Vec<Object> = objects.iter().filter_map(|object| pin(object.clone(), &version)).collect();
            if let Err(error) = rpc::resources::push(&self.notifier, &context, pinned, event).await {
                tracing::warn!(%error, kind = kind.name(), version, "agents could not be told of objects");
            }
        }
        Ok(())
    }
}

/// All that is said of what is gone.
fn bare(kind: Kind, id: &str) -> Object {
    let mut data = Map::new();
    data.insert("id".into(), id.into());
    Object {
        name: kind.name().to_owned(),
        namespace: rpc::objects::NAMESPACE.to_owned(),
        version: kind.version().to_owned(),
        data,
        changes: None,
    }
}
