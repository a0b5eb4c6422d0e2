//! Address groups: named sets of addresses that security group rules may point at.
//!
//! Addresses are kept as networks, without host bits. Reproduces neutron/db/address_group_db.py. Sharing is kept in
//! `addressgrouprbacs`.

mod actions;

pub use actions::AddressActions;

use std::collections::HashSet;

use async_trait::async_trait;
use network::sharing::Sharing;
use network::standard::{CREATED, DESCRIPTION, ID, NAME, PROJECT, REVISION, UPDATED};
use policy::Context;
use resource::{Behaviour, Condition, Given, Op};
use schema::{Attr, Default, Fault, Kind, Record, Resource, Value, Verbs};

use crate::faults;
use crate::values::address_and_length;

const SHARING: Sharing = Sharing { table: "address_groups", rbac: "addressgrouprbacs" };

/// Prefixes, none of them twice as the request writes it; what is the same network is kept once.
fn addresses(value: Value) -> Result<Value, String> {
    let items = match value {
        Value::Null => Vec::new(),
        Value::Array(items) => items,
        other => return Err(format!("'{other}' is not a list")),
    };
    let mut networks: Vec<Value> = Vec::new();
    for (i, item) in items.iter().enumerate() {
        let text = item.as_str().unwrap_or_default();
        let network = address_and_length(text).filter(|_| text.contains('/'));
        let Some(network) = network else { return Err(format!("'{item}' is not a valid IP subnet")) };
        if items[..i].contains(item) {
            return Err(format!("Duplicate items in the list: '{text}'"));
        }
        let network = Value::from(network.trunc().to_string());
        if !networks.contains(&network) {
            networks.push(network);
        }
    }
    Ok(Value::Array(networks))
}

pub static ADDRESS_GROUP: Resource = Resource {
    name: "address_group",
    plural: "address_groups",
    path: "address-groups",
    table: "address_groups",
    key: "id",
    shared: Some("address_groups"),
    not_found: "AddressGroupNotFound",
    owner: Some("project_id"),
    verbs: Verbs::ALL,
    quota: None,
    extension: None,
    attrs: &[
        ID,
        NAME,
        PROJECT,
        Attr::new("addresses", Kind::Custom(addresses)).post().default(Default::EmptyList).no_filter().child(
            "address_associations",
            "address_group_id",
            &[("", "address")],
            "address",
            true,
        ),
        DESCRIPTION,
        // The reference counts from 0 here.
        REVISION.default(Default::Int(0)),
        CREATED,
        UPDATED,
        // For policy rules only.
        Attr::new("shared", Kind::Bool).computed().hidden().no_filter(),
    ],
};

/// Fails unless the project may use all of them.
pub(crate) async fn check_usable(op: &mut Op<'_>, ids: Vec<store::Value>, project: &str) -> Result<(), Fault> {
    if ids.is_empty() {
        return Ok(());
    }
    let mut condition = Condition::one_of("address_groups.id", ids.clone());
    if !op.context.is_admin {
        let project = Context { project_id: project.to_owned(), ..Context::default() };
        condition = Condition::all(vec![condition, SHARING.scope(&project)]);
    }
    let sql = format!("SELECT id FROM address_groups WHERE {}", condition.sql);
    let found: HashSet<String> = op.txn.query(&sql, &condition.args).await?.iter().map(|row| row.text(0)).collect();
    let missing = ids.iter().find_map(|id| match id {
        store::Value::Text(id) if !found.contains(id) => Some(id),
        _ => None,
    });
    missing.map_or(Ok(()), |id| Err(faults::address_group_not_found(id)))
}

pub struct AddressGroups;

#[async_trait]
impl Behaviour for AddressGroups {
    async fn deleting(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        let sql = "SELECT 1 FROM securitygrouprules WHERE remote_address_group_id = ? LIMIT 1";
        match op.txn.query_one(sql, &[record.id().into()]).await? {
            Some(_) => Err(faults::address_group_in_use(record.id())),
            None => Ok(()),
        }
    }

    async fn load(&self, op: &mut Op<'_>, records: &mut [Record]) -> Result<(), Fault> {
        SHARING.load(op, records).await
    }

    fn scope(&self, context: &Context) -> Option<Condition> {
        Some(SHARING.scope(context))
    }

    async fn updating(&self, _op: &mut Op<'_>, old: &Record, new: &mut Record, _given: &Given) -> Result<(), Fault> {
        // Not a column, so never a change.
        new.set("shared", old.value("shared").cloned().unwrap_or(Value::Null));
        Ok(())
    }
}
