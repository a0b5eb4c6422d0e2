//! `/network_segment_ranges`: which segmentation ids networks may get, said by administrators at run time instead of in a file.
//!
//! The ranges of the configuration are default ranges, renewed at each start, which nobody can change. A network gets an id of a range
//! of its project if there is one left, else one of a shared range that no other project has as its own. Ranges of one type and physical
//! network that are not defaults never overlap. All of this holds only where `service_plugins` names `network_segment_range`.
//!
//! Reproduces neutron/services/network_segment_range/plugin.py and neutron/objects/network_segment_range.py.

mod behaviour;
mod faults;
pub(crate) mod stored;

#[cfg(test)]
mod tests;

pub use behaviour::SegmentRanges;

use schema::{Attr, Default, Extension, Kind, Resource, Verbs};

use crate::network::extension;
use crate::standard::{CREATED, DESCRIPTION, ID, NAME, PROJECT, REVISION, UPDATED};

/// Types that have ids.
const TYPES: Kind = Kind::OneOf(&["vlan", "vxlan", "gre", "geneve"]);

/// Keys of GRE are the largest ids that there are (RFC 2890).
const NUMBER: Kind = Kind::Int { min: 1, max: (1 << 32) - 1 };

const ANY: Kind = Kind::Dict;

pub static SEGMENT_RANGE: Resource = Resource {
    name: "network_segment_range",
    plural: "network_segment_ranges",
    path: "network_segment_ranges",
    table: "network_segment_ranges",
    key: "id",
    shared: Some("network_segment_ranges"),
    not_found: "NetworkSegmentRangeNotFound",
    owner: Some("project_id"),
    verbs: Verbs::ALL,
    quota: None,
    extension: Some(&EXTENSION),
    attrs: &[
        ID,
        NAME,
        Attr::new("default", Kind::Bool).no_filter().no_sort(),
        Attr::new("shared", Kind::Bool).post().default(Default::Bool(true)).no_filter().no_sort(),
        PROJECT,
        Attr::new("network_type", TYPES).post().no_sort(),
        Attr::new("physical_network", Kind::Text { max: 64 }).post().no_sort(),
        Attr::new("minimum", NUMBER).required().put().no_filter().no_sort(),
        Attr::new("maximum", NUMBER).required().put().no_filter().no_sort(),
        Attr::new("used", ANY).computed().no_filter(),
        Attr::new("available", Kind::List { of: &NUMBER, unique: false }).computed().no_filter(),
        DESCRIPTION,
        REVISION,
        CREATED,
        UPDATED,
    ],
};

extension!(
    EXTENSION,
    "network-segment-range",
    "Neutron Network Segment Range",
    "Administrators say at run time which segmentation ids networks may get",
    "2018-11-29T00:00:00-00:00"
);
