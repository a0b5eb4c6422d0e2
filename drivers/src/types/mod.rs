//! Type drivers. To add one: a module here and a line in [`all`].

mod flat;
mod local;
mod tunnel;
mod vlan;

pub use flat::Flat;
pub use local::Local;
pub use tunnel::{Tunnel, TunnelKind};
pub use vlan::Vlan;

use std::collections::BTreeMap;
use std::sync::Arc;

use network::ml2::{Pool, TypeDriver};
use network::settings::Settings;
use resource::Condition;

/// The sections of `ml2_conf.ini` that type drivers read.
#[derive(Clone, Debug, Default)]
pub struct TypeOptions {
    /// `[ml2] type_drivers`, in order.
    pub type_drivers: Vec<String>,
    /// `[ml2_type_flat] flat_networks`; `*` allows any name.
    pub flat_networks: Vec<String>,
    /// `[ml2_type_vlan] network_vlan_ranges`: `<physical network>[:<min>:<max>]`.
    pub network_vlan_ranges: Vec<String>,
    /// `[ml2_type_vxlan] vni_ranges`, `[ml2_type_gre] tunnel_id_ranges`, `[ml2_type_geneve] vni_ranges`: `<min>:<max>`.
    pub vxlan_ranges: Vec<String>,
    pub gre_ranges: Vec<String>,
    pub geneve_ranges: Vec<String>,
    /// `[ml2_type_geneve] max_header_size`, bytes.
    pub geneve_max_header_size: i64,
}

/// An option that cannot be used, by its name in the file.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("[{section}] {option}: {why}")]
pub struct OptionError {
    pub section: &'static str,
    pub option: &'static str,
    pub why: String,
}

/// The drivers that `type_drivers` names, in its order.
pub fn all(options: &TypeOptions, settings: &Arc<Settings>) -> Result<Vec<Arc<dyn TypeDriver>>, OptionError> {
    let mut drivers: Vec<Arc<dyn TypeDriver>> = Vec::new();
    for name in &options.type_drivers {
        let driver: Arc<dyn TypeDriver> = match name.as_str() {
            "local" => Arc::new(Local),
            "flat" => Arc::new(Flat::new(&options.flat_networks, settings.clone())),
            "vlan" => Arc::new(Vlan::new(parse_vlans(&options.network_vlan_ranges)?, settings.clone())),
            "vxlan" => {
                let ranges = parse_ranges("ml2_type_vxlan", "vni_ranges", &options.vxlan_ranges, TunnelKind::Vxlan)?;
                Arc::new(Tunnel::new(TunnelKind::Vxlan, ranges, settings.clone(), 0))
            }
            "gre" => {
                let ranges = parse_ranges("ml2_type_gre", "tunnel_id_ranges", &options.gre_ranges, TunnelKind::Gre)?;
                Arc::new(Tunnel::new(TunnelKind::Gre, ranges, settings.clone(), 0))
            }
            "geneve" => {
                let ranges = parse_ranges("ml2_type_geneve", "vni_ranges", &options.geneve_ranges, TunnelKind::Geneve)?;
                Arc::new(Tunnel::new(TunnelKind::Geneve, ranges, settings.clone(), options.geneve_max_header_size))
            }
            other => {
                let why = format!("there is no type driver '{other}'; known are local, flat, vlan, vxlan, gre, geneve");
                return Err(OptionError { section: "ml2", option: "type_drivers", why });
            }
        };
        drivers.push(driver);
    }
    for name in &settings.tenant_network_types {
        if !drivers.iter().any(|driver| driver.network_type() == name) {
            let why = format!("'{name}' is not among type_drivers");
            return Err(OptionError { section: "ml2", option: "tenant_network_types", why });
        }
    }
    Ok(drivers)
}

/// VLAN ranges by physical network; a network without a range is for administrators only.
pub(crate) type VlanRanges = BTreeMap<String, Vec<(i64, i64)>>;

fn parse_vlans(entries: &[String]) -> Result<VlanRanges, OptionError> {
    let fail = |why: String| OptionError { section: "ml2_type_vlan", option: "network_vlan_ranges", why };
    let mut ranges = VlanRanges::new();
    for entry in entries.iter().map(|entry| entry.trim()).filter(|entry| !entry.is_empty()) {
        let parts: Vec<&str> = entry.split(':').map(str::trim).collect();
        let (name, range) = match parts.as_slice() {
            [name] => (*name, None),
            [name, min, max] => {
                let id = |text: &str| text.parse().ok().filter(|id| (1..=4094).contains(id));
                let (Some(min), Some(max)) = (id(min), id(max)) else {
                    return Err(fail(format!("'{entry}': VLAN ids are 1 to 4094")));
                };
                if min > max {
                    return Err(fail(format!("'{entry}' ends before it begins")));
                }
                (*name, Some((min, max)))
            }
            _ => return Err(fail(format!("'{entry}' is not <physical network>[:<min>:<max>]"))),
        };
        if name.is_empty() {
            return Err(fail(format!("'{entry}' has no physical network")));
        }
        ranges.entry(name.to_owned()).or_default().extend(range);
    }
    Ok(ranges)
}

/// Conditions on an id that together give the free ones of a pool, each of which an index of its own answers.
fn parts(pool: &Pool, column: &str) -> Vec<Condition> {
    if pool.whole {
        return vec![Condition::new("1 = 1", Vec::new())];
    }
    let between = |(first, last): &(i64, i64)| {
        Condition::new(format!("{column} BETWEEN ? AND ?"), vec![(*first).into(), (*last).into()])
    };
    pool.ranges.iter().map(between).collect()
}

fn parse_ranges(
    section: &'static str,
    option: &'static str,
    entries: &[String],
    kind: TunnelKind,
) -> Result<Vec<(i64, i64)>, OptionError> {
    let mut ranges = Vec::new();
    for entry in entries.iter().map(|entry| entry.trim()).filter(|entry| !entry.is_empty()) {
        let fail = |why: &str| OptionError { section, option, why: format!("'{entry}' {why}") };
        let (min, max) = entry.split_once(':').ok_or_else(|| fail("is not <min>:<max>"))?;
        let id = |text: &str| text.trim().parse::<i64>().ok().filter(|id| (1..=kind.max_id()).contains(id));
        let (Some(min), Some(max)) = (id(min), id(max)) else {
            return Err(fail(&format!("has an id outside 1 to {}", kind.max_id())));
        };
        if min > max {
            return Err(fail("ends before it begins"));
        }
        ranges.push((min, max));
    }
    Ok(ranges)
}

#[cfg(test)]
mod tests;
