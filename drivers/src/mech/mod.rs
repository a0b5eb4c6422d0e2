//! Mechanism drivers. To add one: a module here and a line in [`all`].

mod agent;
mod l2population;
mod linuxbridge;
mod logger;
mod openvswitch;

pub use l2population::L2Population;
pub use linuxbridge::LinuxBridge;
pub use logger::Logger;
pub use openvswitch::OpenVSwitch;

use std::sync::Arc;

use network::ml2::MechanismDriver;

use crate::types::OptionError;

/// The drivers that `[ml2] mechanism_drivers` names, in its order.
pub fn all(names: &[String], l2pop: &Arc<L2Population>) -> Result<Vec<Arc<dyn MechanismDriver>>, OptionError> {
    names
        .iter()
        .map(|name| -> Result<Arc<dyn MechanismDriver>, OptionError> {
            match name.as_str() {
                "linuxbridge" => Ok(Arc::new(LinuxBridge)),
                "openvswitch" => Ok(Arc::new(OpenVSwitch)),
                "l2population" => Ok(l2pop.clone()),
                "logger" => Ok(Arc::new(Logger)),
                other => {
                    let why =
                        format!("there is no mechanism driver '{other}'; known are linuxbridge, openvswitch, l2population, logger");
                    Err(OptionError { section: "ml2", option: "mechanism_drivers", why })
                }
            }
        })
        .collect()
}

#[cfg(test)]
mod tests;
