use std::sync::Arc;

use async_trait::async_trait;
use messaging::RemoteFault;
use policy::Context;
use resource::{Op, System};
use rpc::api::Encoded;
use rpc::objects::Object;
use rpc::resources::ResourcesPlugin;
use schema::Fault;
use serde_json::{Map, Value, json};

use super::{Kind, load, pin};
use crate::view::remote;

/// Answers agents that ask for objects.
pub struct Plugin {
    pub system: Arc<System>,
}

impl Plugin {
    async fn objects(
        &self,
        name: &str,
        version: &str,
        filters: &Map<String, Value>,
    ) -> Result<Vec<Object>, RemoteFault> {
        let Some(kind) = Kind::named(name) else {
            // Types of services that are not here: there are none of them.
            return if rpc::resources::VERSIONS.iter().any(|(known, _)| *known == name) {
                Ok(Vec::new())
            } else {
                let mut arguments = Map::new();
                arguments.insert("resource_type".into(), name.into());
                let text = format!("There are no versioned objects of type {name}.");
                let mut fault = RemoteFault::neutron("CallbackNotFound", text, arguments);
                fault.module = "neutron.api.rpc.callbacks.exceptions".to_owned();
                Err(fault)
            };
        };
        let condition = kind.condition(filters).map_err(|field| {
            RemoteFault::bad_arguments("bulk_pull", format!("{name} objects are not found by {field}"))
        })?;
        let found: Result<Vec<Object>, Fault> = async {
            let context = Context::internal();
            let mut txn = self.system.store.read().await?;
            let mut op = Op::new(&mut txn, &context, &self.system);
            load(&mut op, kind, condition).await
        }
        .await;
        let found = found.map_err(|fault| remote(&fault))?;
        let pinned: Option<Vec<Object>> = found.into_iter().map(|object| pin(object, version)).collect();
        pinned.ok_or_else(|| {
            let known = kind.version();
            RemoteFault::bad_arguments(
                "bulk_pull",
                format!("{name} is not known in version {version}, but up to {known}"),
            )
        })
    }
}

#[async_trait]
impl ResourcesPlugin for Plugin {
    async fn pull(
        &self,
        _context: &messaging::Context,
        resource_type: String,
        version: String,
        resource_id: String,
    ) -> Result<Encoded<Option<Object>>, RemoteFault> {
        let mut filters = Map::new();
        filters.insert("id".into(), resource_id.into());
        Ok(self.objects(&resource_type, &version, &filters).await?.pop().into())
    }

    async fn bulk_pull(
        &self,
        _context: &messaging::Context,
        resource_type: String,
        version: String,
        filter_kwargs: Option<Map<String, Value>>,
    ) -> Result<Encoded<Vec<Object>>, RemoteFault> {
        let objects = self.objects(&resource_type, &version, &filter_kwargs.unwrap_or_default()).await?;
        Ok(Encoded::json(json!(objects)))
    }
}
