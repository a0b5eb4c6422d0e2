/// Something that is limited.
#[derive(Debug)]
pub struct Kind {
    /// As requests and the column `resource` name it.
    pub name: &'static str,
    /// Tables whose rows with the project's `project_id` count; none for what is not owned by projects as such.
    pub tables: &'static [&'static str],
    /// Limit without a configuration, as in neutron/conf/quota.py; None for that of what is not listed there.
    pub default: Option<i64>,
}

/// All of them, in the order of answers. Tables of the schema count also when no domain serves them, as the reference may on
/// the same database.
pub static KINDS: &[Kind] = &[
    Kind { name: "network", tables: &["networks"], default: Some(100) },
    Kind { name: "subnet", tables: &["subnets"], default: Some(100) },
    Kind { name: "subnetpool", tables: &["subnetpools"], default: None },
    Kind { name: "port", tables: &["ports"], default: Some(500) },
    // Per router, not per project: the router's domain compares, and nothing is counted.
    Kind { name: "router_route", tables: &[], default: Some(30) },
    Kind { name: "router", tables: &["routers"], default: Some(10) },
    Kind { name: "floatingip", tables: &["floatingips"], default: Some(50) },
    Kind {
        name: "rbac_policy",
        tables: &[
            "networkrbacs",
            "qospolicyrbacs",
            "securitygrouprbacs",
            "addressscoperbacs",
            "addressgrouprbacs",
            "subnetpoolrbacs",
        ],
        default: Some(10),
    },
    Kind { name: "security_group", tables: &["securitygroups"], default: Some(10) },
    Kind { name: "security_group_rule", tables: &["securitygrouprules"], default: Some(100) },
    Kind { name: "trunk", tables: &["trunks"], default: None },
];

/// The kind of that name.
pub(super) fn kind(name: &str) -> Option<(usize, &'static Kind)> {
    KINDS.iter().enumerate().find(|(_, kind)| kind.name == name)
}

/// Limits of projects that have none of their own; below zero for none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// By position in [`KINDS`].
    by_kind: Vec<i64>,
}

impl Limits {
    /// `default` is the limit of kinds that have none of their own, `own` asks the configuration for that of a kind.
    pub fn new(default: i64, own: impl Fn(&'static Kind) -> Option<i64>) -> Limits {
        Limits { by_kind: KINDS.iter().map(|kind| own(kind).or(kind.default).unwrap_or(default)).collect() }
    }

    /// By position in [`KINDS`].
    pub fn at(&self, position: usize) -> i64 {
        self.by_kind[position]
    }
}

impl Default for Limits {
    /// Those of the reference.
    fn default() -> Limits {
        Limits::new(-1, |_| None)
    }
}
