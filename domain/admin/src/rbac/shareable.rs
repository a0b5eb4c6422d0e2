//! What can be shared, and who uses it.

pub const SHARED: &str = "access_as_shared";
pub const EXTERNAL: &str = "access_as_external";

/// A type of object that policies are about.
#[derive(Debug)]
pub struct Shareable {
    /// As the API names it.
    pub name: &'static str,
    /// The table of the objects, with the columns `id` and `project_id`.
    pub table: &'static str,
    /// The table of the policies.
    pub policies: &'static str,
    /// SQL for the projects with something that needs the object, which is the argument.
    pub users: &'static str,
    pub actions: &'static [&'static str],
}

pub static TYPES: &[Shareable] = &[
    Shareable {
        name: "network",
        table: "networks",
        policies: "networkrbacs",
        users: "SELECT DISTINCT project_id FROM ports WHERE network_id = ?",
        actions: &[SHARED, EXTERNAL],
    },
    Shareable {
        name: "security_group",
        table: "securitygroups",
        policies: "securitygrouprbacs",
        users: "SELECT DISTINCT ports.project_id FROM ports JOIN securitygroupportbindings \
                ON securitygroupportbindings.port_id = ports.id WHERE securitygroupportbindings.security_group_id = ?",
        actions: &[SHARED],
    },
    Shareable {
        name: "address_group",
        table: "address_groups",
        policies: "addressgrouprbacs",
        users: "SELECT DISTINCT project_id FROM securitygrouprules WHERE remote_address_group_id = ?",
        actions: &[SHARED],
    },
    Shareable {
        name: "address_scope",
        table: "address_scopes",
        policies: "addressscoperbacs",
        users: "SELECT DISTINCT project_id FROM subnetpools WHERE address_scope_id = ?",
        actions: &[SHARED],
    },
    Shareable {
        name: "subnetpool",
        table: "subnetpools",
        policies: "subnetpoolrbacs",
        users: "SELECT DISTINCT project_id FROM subnets WHERE subnetpool_id = ?",
        actions: &[SHARED],
    },
];

/// Projects with a router that leads out through an external network, which is the argument.
pub const GATEWAY_USERS: &str = "SELECT DISTINCT routers.project_id FROM routers \
     JOIN ports ON ports.id = routers.gw_port_id WHERE ports.network_id = ?";

/// All policies as one table.
pub const ALL: &str = "SELECT id, project_id, target_project, action, object_id, 'network' AS object_type FROM networkrbacs \
     UNION ALL SELECT id, project_id, target_project, action, object_id, 'security_group' FROM securitygrouprbacs \
     UNION ALL SELECT id, project_id, target_project, action, object_id, 'address_group' FROM addressgrouprbacs \
     UNION ALL SELECT id, project_id, target_project, action, object_id, 'address_scope' FROM addressscoperbacs \
     UNION ALL SELECT id, project_id, target_project, action, object_id, 'subnetpool' FROM subnetpoolrbacs";

/// The type of that name.
pub fn of(name: &str) -> Option<&'static Shareable> {
    TYPES.iter().find(|kind| kind.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_in_the_whole() {
        let parts: Vec<&str> = ALL.split(" UNION ALL ").collect();
        assert_eq!(parts.len(), TYPES.len());
        for (part, kind) in parts.iter().zip(TYPES) {
            assert!(part.ends_with(&format!(" FROM {}", kind.policies)), "{part}");
            assert!(part.contains(&format!("'{}'", kind.name)), "{part}");
        }
    }
}
