use async_trait::async_trait;
use network::ml2::{BindingRequest, Bound, MechanismDriver};
use serde_json::json;

use super::agent::first_served;

/// Ports on a Linux bridge of the host, wired by the Linux bridge agent.
pub struct LinuxBridge;

#[async_trait]
impl MechanismDriver for LinuxBridge {
    fn name(&self) -> &'static str {
        "linuxbridge"
    }

    fn supports_vnic(&self, vnic_type: &str) -> bool {
        vnic_type == "normal"
    }

    fn bind(&self, request: &BindingRequest<'_>) -> Option<Bound> {
        let (_, segment) = first_served(request, "Linux bridge agent", &["interface_mappings", "bridge_mappings"])?;
        Some(Bound {
            segment: segment.clone(),
            vif_type: "bridge",
            vif_details: json!({"connectivity": "l2", "port_filter": true}),
        })
    }
}
