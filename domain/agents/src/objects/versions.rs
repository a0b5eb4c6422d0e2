//! Which versions of objects the agents understand: what they reported at their start, to this server or to another.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use messaging::RemoteFault;
use resource::System;
use rpc::resources::{ResourceVersionsNotifier, ResourceVersionsPeer};
use schema::Fault;

use super::Kind;

/// The versions in use. One per server; servers tell each other.
pub struct Versions {
    known: Mutex<BTreeMap<Kind, BTreeSet<String>>>,
    peers: ResourceVersionsNotifier,
}

impl Versions {
    /// From the agents that are in the database.
    pub async fn load(system: &System, peers: ResourceVersionsNotifier) -> Result<Arc<Self>, Fault> {
        let versions = Self { known: Mutex::default(), peers };
        let mut txn = system.store.read().await?;
        let sql = "SELECT DISTINCT resource_versions FROM agents WHERE resource_versions IS NOT NULL";
        for row in txn.query(sql, &[]).await? {
            versions.note(&serde_json::from_str(&row.text(0)).unwrap_or_default());
        }
        Ok(Arc::new(versions))
    }

    fn note(&self, reported: &BTreeMap<String, String>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, version) in reported {
            if let Some(kind) = Kind::named(name) {
                known.entry(kind).or_default().insert(version.clone());
            }
        }
    }

    /// What an agent reported to this server; the other servers hear of it.
    pub async fn reported(&self, agent_type: &str, host: &str, reported: &BTreeMap<String, String>) {
        self.note(reported);
        let context = messaging::Context::admin();
        let told = self.peers.report_agent_resource_versions(
            &context,
            agent_type.to_owned(),
            host.to_owned(),
            reported.clone(),
        );
        if let Err(error) = told.await {
            tracing::warn!(%error, host, "the other servers could not be told which objects an agent understands");
        }
    }

    /// The versions in which objects of this kind are wanted; none when no agent listens for them.
    #[must_use]
    pub fn of(&self, kind: Kind) -> Vec<String> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&kind).into_iter().flatten().cloned().collect()
    }
}

#[async_trait]
impl ResourceVersionsPeer for Versions {
    async fn report_agent_resource_versions(
        &self,
        _context: &messaging::Context,
        _agent_type: String,
        _agent_host: String,
        version_map: BTreeMap<String, String>,
    ) -> Result<(), RemoteFault> {
        self.note(&version_map);
        Ok(())
    }
}
