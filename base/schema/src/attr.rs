use crate::{Kind, Value};

/// What an absent attribute of a create request becomes.
#[derive(Clone, Copy, Debug)]
pub enum Default {
    /// The request must have it.
    Required,
    /// It stays unset and the behaviour decides (the reference's "not specified").
    Unset,
    Null,
    Text(&'static str),
    Bool(bool),
    Int(i64),
    EmptyList,
    EmptyDict,
}

impl Default {
    pub fn value(self) -> Option<Value> {
        match self {
            Default::Required | Default::Unset => None,
            Default::Null => Some(Value::Null),
            Default::Text(text) => Some(Value::from(text)),
            Default::Bool(flag) => Some(Value::from(flag)),
            Default::Int(number) => Some(Value::from(number)),
            Default::EmptyList => Some(Value::Array(Vec::new())),
            Default::EmptyDict => Some(Value::Object(serde_json::Map::new())),
        }
    }
}

/// What a row of another table points at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The resource's own key.
    Id,
    /// The resource's row in the shared attribute table.
    Shared,
}

/// Where an attribute is kept.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// Nowhere: the behaviour computes it, or it only matters in a request.
    Computed,
    /// A column of the resource's own table.
    Own(&'static str),
    /// A column of the shared attribute table (description, times, revision).
    Shared(&'static str),
    /// A column of a table with at most one row per resource. `only` is a further SQL condition on that table,
    /// written with the table's name. Without a row the attribute has the value of `absent`. Rows are written by the behaviour,
    /// unless `write` is set: then the engine keeps a row with this one column.
    Side {
        table: &'static str,
        key: &'static str,
        column: &'static str,
        only: &'static str,
        absent: Default,
        write: bool,
    },
    /// Rows of a table, as a list: of objects with the named columns (JSON name, column), or of plain values if the only JSON
    /// name is empty. `order` is a list of columns. Written by the engine if `write` is set.
    Child {
        table: &'static str,
        key: &'static str,
        by: By,
        columns: &'static [(&'static str, &'static str)],
        order: &'static str,
        write: bool,
    },
}

/// One attribute of a resource. Made by [`Attr::new`] and the builders; by default it is visible, not settable, can be filtered and
/// sorted by when it has a column, and is kept in the own column of its name.
#[derive(Clone, Copy, Debug)]
pub struct Attr {
    pub name: &'static str,
    pub kind: Kind,
    /// Null is a value of it.
    pub nullable: bool,
    pub post: bool,
    pub put: bool,
    pub default: Default,
    pub visible: bool,
    pub filter: bool,
    pub sort: bool,
    /// Setting it explicitly is subject to the rule `<verb>_<resource>:<name>`.
    pub enforce: bool,
    /// Seeing it is subject to the rule `get_<resource>:<name>`.
    pub enforce_get: bool,
    /// Members of its objects that have rules of their own, `<verb>_<resource>:<name>:<member>`.
    pub enforce_members: &'static [&'static str],
    pub place: Place,
}

impl Attr {
    pub const fn new(name: &'static str, kind: Kind) -> Attr {
        Attr {
            name,
            kind,
            nullable: false,
            post: false,
            put: false,
            default: Default::Unset,
            visible: true,
            filter: true,
            sort: true,
            enforce: false,
            enforce_get: false,
            enforce_members: &[],
            place: Place::Own(name),
        }
    }

    pub const fn nullable(mut self) -> Attr {
        self.nullable = true;
        self
    }

    /// A create request may have it.
    pub const fn post(mut self) -> Attr {
        self.post = true;
        self
    }

    /// An update request may have it.
    pub const fn put(mut self) -> Attr {
        self.put = true;
        self
    }

    pub const fn default(mut self, default: Default) -> Attr {
        self.default = default;
        self
    }

    pub const fn required(self) -> Attr {
        self.post().default(Default::Required)
    }

    pub const fn hidden(mut self) -> Attr {
        self.visible = false;
        self
    }

    pub const fn no_filter(mut self) -> Attr {
        self.filter = false;
        self
    }

    pub const fn no_sort(mut self) -> Attr {
        self.sort = false;
        self
    }

    pub const fn enforce(mut self) -> Attr {
        self.enforce = true;
        self
    }

    pub const fn enforce_get(mut self) -> Attr {
        self.enforce_get = true;
        self
    }

    pub const fn enforce_members(mut self, members: &'static [&'static str]) -> Attr {
        self.enforce_members = members;
        self
    }

    pub const fn at(mut self, place: Place) -> Attr {
        self.place = place;
        self
    }

    pub const fn own(self, column: &'static str) -> Attr {
        self.at(Place::Own(column))
    }

    /// Kept in the shared attribute table.
    pub const fn shared(self, column: &'static str) -> Attr {
        self.at(Place::Shared(column))
    }

    /// Not kept: the behaviour fills it in, and answers its filter if it has one.
    pub const fn computed(self) -> Attr {
        self.at(Place::Computed).no_sort()
    }

    /// A column of a one-row side table that the behaviour writes.
    pub const fn side(self, table: &'static str, key: &'static str, column: &'static str, absent: Default) -> Attr {
        self.at(Place::Side { table, key, column, only: "", absent, write: false })
    }

    /// A column of a one-row side table that the engine writes.
    pub const fn side_written(
        self,
        table: &'static str,
        key: &'static str,
        column: &'static str,
        absent: Default,
    ) -> Attr {
        self.at(Place::Side { table, key, column, only: "", absent, write: true })
    }

    /// Rows of a child table, keyed by the resource's id.
    pub const fn child(
        self,
        table: &'static str,
        key: &'static str,
        columns: &'static [(&'static str, &'static str)],
        order: &'static str,
        write: bool,
    ) -> Attr {
        self.at(Place::Child { table, key, by: By::Id, columns, order, write }).no_sort()
    }
}

/// Which verbs the collection answers.
#[derive(Clone, Copy, Debug)]
pub struct Verbs {
    pub list: bool,
    pub get: bool,
    pub create: bool,
    pub update: bool,
    pub delete: bool,
}

impl Verbs {
    pub const ALL: Verbs = Verbs { list: true, get: true, create: true, update: true, delete: true };
    pub const READ: Verbs = Verbs { list: true, get: true, create: false, update: false, delete: false };
}

/// A resource, said once.
#[derive(Debug)]
pub struct Resource {
    /// Singular, the key of a body: `address_group`.
    pub name: &'static str,
    /// Plural, the key of a list: `address_groups`.
    pub plural: &'static str,
    /// The collection in the URL: `address-groups`.
    pub path: &'static str,
    pub table: &'static str,
    /// Primary key column and attribute.
    pub key: &'static str,
    /// Its name in the shared attribute table's `resource_type`; None if it has no row there.
    pub shared: Option<&'static str>,
    /// Fault type of an absent id, as the reference names it.
    pub not_found: &'static str,
    /// The attribute that owns it, None if it belongs to nobody.
    pub owner: Option<&'static str>,
    pub verbs: Verbs,
    /// Its name in quotas, None if not limited.
    pub quota: Option<&'static str>,
    /// Order of a list without sort keys: columns.
    pub attrs: &'static [Attr],
    pub extension: Option<&'static Extension>,
}

/// An API extension as `/v2.0/extensions` shows it.
#[derive(Debug, Clone, Copy)]
pub struct Extension {
    pub alias: &'static str,
    pub name: &'static str,
    pub description: &'static str,
    /// As the reference gives it, with offset.
    pub updated: &'static str,
}

/// Attributes and filters that a domain adds to a resource.
#[derive(Debug)]
pub struct Extend {
    /// Singular name of the extended resource.
    pub to: &'static str,
    pub extension: Option<&'static Extension>,
    pub attrs: &'static [Attr],
}
