//! Quotas: how much a project may own.
//!
//! A project's limit is its row in `quotas`, or else the default of the configuration; below zero it is none. What a limited
//! project has stands in `quotausages` and is changed in the transaction that makes or removes the object, by an UPDATE that
//! only matches while the limit holds. So the limit is exact however many requests run at once, on any database and
//! without locks of our own. Nobody is counted who has no limit.
//!
//! A usage row is *dirty* when it may not say the truth: after a start (another program may have worked on the database), after a
//! change of limits (an unlimited project was not counted), or when the reference says so. The next create counts the rows and
//! cleans it. The reference counts by itself and reserves; its reservations are heeded here, and none are made. It leaves the usage rows as
//! they are, so an account that has little room is compared with the rows at every create, and others every few seconds. Its own count is
//! taken without a lock: what it makes in the same moment may go over the limit, as when two of its workers do.
//!
//! Reproduces neutron/db/quota/driver_nolock.py, neutron/quota/, neutron/extensions/quotasv2.py and quotasv2_detail.py.

mod api;
mod faults;
mod limits;
mod usage;

#[cfg(test)]
mod tests;

pub use api::Api;
pub use limits::{KINDS, Kind, Limits};
pub use usage::Quotas;

use schema::Extension;

/// Announced by the composition root.
pub static EXTENSIONS: &[&Extension] = &[
    &Extension {
        alias: "quotas",
        name: "Quota management support",
        description: "Limits on what a project may own",
        updated: "2012-07-29T10:00:00-00:00",
    },
    &Extension {
        alias: "quota_details",
        name: "Quota details management support",
        description: "What a project owns, beside its limits",
        updated: "2017-02-10T10:00:00-00:00",
    },
    &Extension {
        alias: "quota-check-limit",
        name: "Quota engine limit check",
        description: "A limit below what is owned can be refused",
        updated: "2021-09-08T16:00:00-00:00",
    },
    &Extension {
        alias: "quota-check-limit-default",
        name: "Quota engine limit check by default",
        description: "A limit below what is owned is refused unless forced",
        updated: "2024-08-21T16:00:00-00:00",
    },
];
