//! Security groups: which packets ports may send and receive.
//!
//! Rooms: [`group`] (with the default group of every project), [`rule`], [`template`] (the rules that new groups begin with),
//! [`statefulness`], [`address_group`], [`port`] (the groups of ports).
//!
//! What the server answers to firewalls, and tells them, is in the domain of agents.

pub mod address_group;
mod faults;
pub mod group;
pub mod port;
pub mod rule;
pub mod statefulness;
pub mod template;
mod values;

use schema::Extension;

macro_rules! extensions {
    ($($alias:literal, $title:literal, $description:literal, $updated:literal;)+) => {
        &[$(&Extension { alias: $alias, name: $title, description: $description, updated: $updated }),+]
    };
}

/// Announced by the composition root.
pub static EXTENSIONS: &[&Extension] = extensions![
    "security-group", "security-group", "Packet filters of ports", "2012-10-05T10:00:00-00:00";
    "security-groups-normalized-cidr", "Normalized CIDR field for security group rules",
        "The network of a rule's prefix, without host bits", "2020-07-28T10:00:00-00:00";
    "security-groups-remote-address-group", "Remote address group id field for security group rules",
        "Rules that hold for the addresses of an address group", "2020-08-25T10:00:00-00:00";
    "security-groups-shared-filtering", "Security group filtering on the shared field",
        "Lists of the security groups that are shared, or are not", "2021-10-05T09:00:00-00:00";
    "security-groups-rules-belongs-to-default-sg",
        "Security group rule belongs to the project's default security group",
        "Whether a rule is one of a default security group", "2023-05-23T10:00:00-00:00";
    "stateful-security-group", "Stateful security group",
        "Security groups that follow connections, or filter each packet alone", "2019-11-26T09:00:00-00:00";
    "security-groups-default-rules", "Default rules for security groups",
        "The rules that new security groups begin with", "2022-12-19T10:00:00-00:00";
    "security-groups-default-statefulness", "Security Groups Default Statefulness",
        "Whether new security groups are stateful, by project or for all", "2026-04-13T00:00:00-00:00";
    "port-security-groups-filtering", "Port filtering on security groups",
        "Lists of the ports of a security group", "2018-01-09T09:00:00-00:00";
    "address-group", "Address group", "Named sets of addresses for security group rules", "2020-07-15T10:00:00-00:00";
];
