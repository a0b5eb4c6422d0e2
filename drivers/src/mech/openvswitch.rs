use async_trait::async_trait;
use network::ml2::{BindingRequest, Bound, MechanismDriver};
use schema::Value;
use serde_json::json;

use super::agent::first_served;

/// Ports on the integration bridge of the host, wired by the Open vSwitch agent.
pub struct OpenVSwitch;

#[async_trait]
impl MechanismDriver for OpenVSwitch {
    fn name(&self) -> &'static str {
        "openvswitch"
    }

    fn supports_vnic(&self, vnic_type: &str) -> bool {
        matches!(vnic_type, "normal" | "direct" | "smart-nic" | "vdpa")
    }

    fn bind(&self, request: &BindingRequest<'_>) -> Option<Bound> {
        // Direct ports need a card that offers the switch's datapath.
        if request.vnic_type == "direct" {
            let capabilities = request.port.value("binding:profile").and_then(|profile| profile.get("capabilities"));
            let switchdev =
                capabilities.and_then(Value::as_array).is_some_and(|list| list.contains(&json!("switchdev")));
            if !switchdev {
                return None;
            }
        }
        let (agent, segment) = first_served(request, "Open vSwitch agent", &["bridge_mappings"])?;
        // A smart card runs the switch for the machine that it sits in, and for no other port.
        let smart = agent.configurations.get("baremetal_smartnic").and_then(Value::as_bool).unwrap_or(false);
        if smart != (request.vnic_type == "smart-nic") {
            return None;
        }
        let text = |key: &str, default: &str| {
            agent.configurations.get(key).and_then(Value::as_str).unwrap_or(default).to_owned()
        };
        // The hybrid plug is for the iptables firewall only, which cannot filter on the switch's own ports.
        let hybrid = agent.configurations.get("ovs_hybrid_plug").and_then(Value::as_bool).unwrap_or(false);
        let datapath = text("datapath_type", "system");
        let mut details = json!({
            "connectivity": "l2",
            "port_filter": true,
            "ovs_hybrid_plug": hybrid,
            "datapath_type": datapath,
            "bridge_name": text("integration_bridge", "br-int"),
        });
        let mut vif_type = "ovs";
        let sockets = text("vhostuser_socket_dir", "");
        let user = agent.configurations.get("ovs_capabilities").is_some_and(|capabilities| {
            capabilities["iface_types"].as_array().is_some_and(|types| types.contains(&json!("dpdkvhostuserclient")))
        });
        if datapath == "netdev" && user && !sockets.is_empty() {
            vif_type = "vhostuser";
            let name: String = format!("vhu{}", request.port.id()).chars().take(14).collect();
            details["vhostuser_mode"] = json!("server");
            details["vhostuser_ovs_plug"] = json!(true);
            details["vhostuser_socket"] = json!(format!("{sockets}/{name}"));
        }
        Some(Bound { segment: segment.clone(), vif_type, vif_details: details })
    }
}
