//! Records as RPC carries them, and faults as RPC raises them.

use messaging::RemoteFault;
use policy::Context;
use schema::{Fault, Record, Value};
use serde_json::Map;

/// Every loaded attribute that the API knows, with both names of the owner.
pub fn to_json(record: &Record) -> Value {
    let mut object = Map::new();
    for (position, attr) in record.model().attrs.iter().enumerate().filter(|(_, attr)| attr.visible) {
        if let Some(value) = record.at(position) {
            object.insert(attr.name.to_owned(), value.clone());
            if attr.name == "project_id" {
                object.insert("tenant_id".to_owned(), value.clone());
            }
        }
    }
    Value::Object(object)
}

/// A fault as the caller of a method sees it; one of ours is logged here, since the other side only sees that it happened.
pub fn remote(fault: &Fault) -> RemoteFault {
    if fault.status() >= 500 {
        tracing::error!(error = fault as &dyn std::error::Error, "an RPC method failed");
    }
    RemoteFault::neutron(fault.kind(), fault.message(), Map::new())
}

/// The context that news of a request travel with.
pub fn rpc_context(context: &Context) -> messaging::Context {
    let mut rpc = messaging::Context::admin_for(&context.request_id);
    if let Some(global) = &context.global_request_id {
        rpc.set("global_request_id", global.as_str());
    }
    rpc
}
