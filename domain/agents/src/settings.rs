//! The options of `neutron.conf` that this domain reads, with the reference's defaults.

/// How DHCP agents are picked for a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The least loaded first.
    Weight,
    /// Any.
    Chance,
    /// Spread over availability zones, the least loaded of each first.
    ZoneAware,
}

impl Choice {
    /// By the class name in `[DEFAULT] network_scheduler_driver`.
    pub fn by_driver(name: &str) -> Option<Choice> {
        match name.rsplit('.').next()? {
            "WeightScheduler" => Some(Choice::Weight),
            "ChanceScheduler" => Some(Choice::Chance),
            "AZAwareWeightScheduler" => Some(Choice::ZoneAware),
            _ => None,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Settings {
    /// `[DEFAULT] agent_down_time`, seconds without a report after which an agent counts as dead.
    pub agent_down_time: i64,
    /// `[DEFAULT] dhcp_agents_per_network`.
    pub dhcp_agents_per_network: usize,
    /// `[DEFAULT] network_auto_schedule`.
    pub network_auto_schedule: bool,
    /// `[DEFAULT] allow_automatic_dhcp_failover`.
    pub allow_automatic_dhcp_failover: bool,
    /// `[DEFAULT] network_scheduler_driver`.
    pub choice: Choice,
    /// `[DEFAULT] default_availability_zones`.
    pub default_availability_zones: Vec<String>,
    /// `[DEFAULT] enable_services_on_agents_with_admin_state_down`.
    pub serve_with_admin_state_down: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            agent_down_time: 75,
            dhcp_agents_per_network: 1,
            network_auto_schedule: true,
            allow_automatic_dhcp_failover: true,
            choice: Choice::Weight,
            default_availability_zones: Vec::new(),
            serve_with_admin_state_down: false,
        }
    }
}
