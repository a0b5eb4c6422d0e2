//! What most resources share: a row of `standardattributes` with description, times and revision.

use resource::SharedTable;
use schema::{Attr, Default, Extension, Kind};

pub static SHARED: SharedTable = SharedTable {
    table: "standardattributes",
    key: "id",
    reference: "standard_attr_id",
    kind: "resource_type",
    created: "created_at",
    updated: "updated_at",
    revision: "revision_number",
    revision_attr: "revision_number",
};

pub const DESCRIPTION: Attr = Attr::new("description", Kind::Text { max: 255 })
    .post()
    .put()
    .default(Default::Text(""))
    .shared("description")
    .no_sort();
pub const REVISION: Attr =
    Attr::new("revision_number", Kind::Int { min: 0, max: i64::MAX }).shared("revision_number").no_sort();
pub const CREATED: Attr = Attr::new("created_at", Kind::Time).shared("created_at").no_filter().no_sort();
pub const UPDATED: Attr = Attr::new("updated_at", Kind::Time).shared("updated_at").no_filter().no_sort();

pub const ID: Attr = Attr::new("id", Kind::Uuid);
pub const PROJECT: Attr = Attr::new("project_id", Kind::Text { max: 255 }).post();
pub const NAME: Attr = Attr::new("name", Kind::Name { max: 255 }).post().put().default(Default::Text(""));
pub const ADMIN_STATE: Attr = Attr::new("admin_state_up", Kind::Bool).post().put().default(Default::Bool(true));

/// Announced by the composition root: they hold for every resource with a shared row.
pub static EXTENSIONS: &[&Extension] = &[
    &Extension {
        alias: "standard-attr-description",
        name: "standard-attr-description",
        description: "A description on every resource that has standard attributes",
        updated: "2016-02-10T10:00:00-00:00",
    },
    &Extension {
        alias: "standard-attr-timestamp",
        name: "Resource timestamps",
        description: "Times of creation and last change on every resource that has standard attributes",
        updated: "2016-09-12T10:00:00-00:00",
    },
    &Extension {
        alias: "standard-attr-revisions",
        name: "Resource revision numbers",
        description: "A revision number that grows with every change of a resource",
        updated: "2016-04-11T10:00:00-00:00",
    },
    &Extension {
        alias: "revision-if-match",
        name: "If-Match constraints based on revision_number",
        description: "Requests that hold only for one revision, by the If-Match header",
        updated: "2016-12-11T00:00:00-00:00",
    },
];
