//! Tags: words that users put on objects, to find them again.
//!
//! Every resource with a shared row and a place in [`TAGGABLE`] has them: an attribute, four filters ([`Tagged`]) and endpoints
//! below each object ([`Api`]). They hang on the shared row and go with it. A change of tags raises the revision of the object and
//! tells nobody: no agent does anything with them.
//!
//! Reproduces neutron/extensions/tagging.py and neutron/services/tag/tag_plugin.py.

mod api;
mod faults;
mod filter;

#[cfg(test)]
mod tests;

pub use api::Api;
pub use filter::Tagged;

use resource::{Method, Route};
use schema::{Attr, By, Default, Extend, Extension, Kind, Place};

/// Longest tag, characters.
pub const MAX_LENGTH: usize = 255;
/// Most tags of one object.
pub const MAX_COUNT: usize = 50;

const TABLE: &str = "tags";
const OWNER: &str = "standard_attr_id";

const LIST: Kind = Kind::List { of: &Kind::Text { max: MAX_LENGTH }, unique: true };

/// On every taggable resource.
const ATTR: Attr = Attr::new("tags", LIST)
    .at(Place::Child { table: TABLE, key: OWNER, by: By::Shared, columns: &[("", "tag")], order: "tag", write: true })
    .no_sort();

/// A resource whose objects may have tags.
#[derive(Debug)]
pub struct Taggable {
    /// Singular name of the resource.
    pub name: &'static str,
    /// In faults about the number of tags.
    pub plural: &'static str,
    /// Adds the attribute.
    pub extend: Extend,
    routes: &'static [Route],
}

macro_rules! routes {
    ($($path:literal),+) => {
        &[$(
            Route { method: Method::Get, path: concat!($path, "/{id}/tags") },
            Route { method: Method::Post, path: concat!($path, "/{id}/tags") },
            Route { method: Method::Put, path: concat!($path, "/{id}/tags") },
            Route { method: Method::Delete, path: concat!($path, "/{id}/tags") },
            Route { method: Method::Get, path: concat!($path, "/{id}/tags/{tag}") },
            Route { method: Method::Put, path: concat!($path, "/{id}/tags/{tag}") },
            Route { method: Method::Delete, path: concat!($path, "/{id}/tags/{tag}") },
        )+]
    };
}

const fn taggable(name: &'static str, plural: &'static str, routes: &'static [Route]) -> Taggable {
    Taggable { name, plural, extend: Extend { to: name, extension: None, attrs: &[ATTR] }, routes }
}

/// Those of the reference. Ports alone may get tags when they are made.
pub static TAGGABLE: &[Taggable] = &[
    Taggable {
        name: "port",
        plural: "ports",
        extend: Extend { to: "port", extension: None, attrs: &[ATTR.post().default(Default::EmptyList)] },
        routes: routes!["/ports"],
    },
    taggable("subnet", "subnets", routes!["/subnets"]),
    taggable("subnetpool", "subnetpools", routes!["/subnetpools"]),
    taggable("network", "networks", routes!["/networks"]),
    taggable("security_group", "security_groups", routes!["/security-groups", "/security_groups"]),
    taggable("router", "routers", routes!["/routers"]),
    taggable("floatingip", "floatingips", routes!["/floatingips"]),
    taggable("policy", "policies", routes!["/policies", "/qos/policies"]),
    taggable("trunk", "trunks", routes!["/trunks"]),
    taggable("network_segment_range", "network_segment_ranges", routes!["/network_segment_ranges"]),
];

/// The attribute of each of them, for the composition root.
pub fn extends() -> impl Iterator<Item = &'static Extend> {
    TAGGABLE.iter().map(|taggable| &taggable.extend)
}

/// Announced by the composition root.
pub static EXTENSIONS: &[&Extension] = &[
    &Extension {
        alias: "standard-attr-tag",
        name: "Tag support for resources with standard attribute: port, subnet, subnetpool, network, security_group, router, \
               floatingip, policy, trunk, network_segment_range",
        description: "Words on objects, to find them again",
        updated: "2017-01-01T00:00:00-00:00",
    },
    &Extension {
        alias: "tag-creation",
        name: "Tag creation extension",
        description: "Several tags can be added at once",
        updated: "2024-23-07T10:00:00-00:00",
    },
    &Extension {
        alias: "tag-ports-during-bulk-creation",
        name: "Tag Ports During Bulk Creation",
        description: "Ports may have tags from their creation on, also in bulk",
        updated: "2019-12-29T19:00:00-00:00",
    },
];
