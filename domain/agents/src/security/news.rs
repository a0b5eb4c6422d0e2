use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use network::port::DEVICE_OWNER;
use resource::{Behaviour, Op};
use rpc::security_groups::SecurityGroupNotifier;
use schema::{Fault, Record, Value};

use crate::view::rpc_context;

/// Tells firewalls whose rules or members changed.
pub struct News {
    pub notifier: Arc<SecurityGroupNotifier>,
    pub of: Of,
}

/// Which resource this one reacts to. That of groups stands before their own behaviour, since it looks at rules that go with a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    Ports,
    Rules,
    Groups,
    AddressGroups,
}

#[derive(Clone, Copy)]
enum What {
    Rules,
    Members,
}

fn groups_of(port: &Record) -> BTreeSet<String> {
    // DHCP servers are let in by every port, not as members of a group.
    if port.get(DEVICE_OWNER) == Some("network:dhcp") {
        return BTreeSet::new();
    }
    let list = port.value("security_groups").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(|id| id.as_str().map(str::to_owned)).collect()
}

impl News {
    fn tell(&self, op: &mut Op<'_>, what: What, groups: BTreeSet<String>) {
        if groups.is_empty() {
            return;
        }
        let (context, notifier) = (rpc_context(op.context), self.notifier.clone());
        op.txn.after_commit("security_groups_updated", async move {
            let groups = groups.into_iter().collect();
            let told = match what {
                What::Rules => notifier.security_groups_rule_updated(&context, groups).await,
                What::Members => notifier.security_groups_member_updated(&context, groups).await,
            };
            if let Err(error) = told {
                tracing::warn!(%error, "the firewalls could not be told that security groups changed");
            }
        });
    }

    /// Groups with rules that have this value in that column.
    async fn groups_with(&self, op: &mut Op<'_>, column: &str, id: &str) -> Result<BTreeSet<String>, Fault> {
        let sql = format!("SELECT DISTINCT security_group_id FROM securitygrouprules WHERE {column} = ?");
        Ok(op.txn.query(&sql, &[id.into()]).await?.iter().map(|row| row.text(0)).collect())
    }
}

#[async_trait]
impl Behaviour for News {
    async fn created_all(&self, op: &mut Op<'_>, records: &[Record]) -> Result<(), Fault> {
        match self.of {
            Of::Ports => {
                let groups = records.iter().flat_map(groups_of).collect();
                self.tell(op, What::Members, groups);
            }
            Of::Rules => {
                let groups = records.iter().map(|rule| rule.text("security_group_id").to_owned()).collect();
                self.tell(op, What::Rules, groups);
            }
            // Nobody refers to a new one.
            Of::Groups | Of::AddressGroups => {}
        }
        Ok(())
    }

    async fn updated(&self, op: &mut Op<'_>, old: &Record, new: &Record) -> Result<(), Fault> {
        let differ = |names: &[&str]| names.iter().any(|name| old.value(name) != new.value(name));
        match self.of {
            Of::Ports => {
                let (before, after) = (groups_of(old), groups_of(new));
                if before != after {
                    self.tell(op, What::Members, before.union(&after).cloned().collect());
                } else if differ(&["fixed_ips", "allowed_address_pairs"]) {
                    self.tell(op, What::Members, after);
                }
            }
            Of::Groups if differ(&["stateful"]) => {
                self.tell(op, What::Rules, BTreeSet::from([new.id().to_owned()]));
            }
            Of::AddressGroups if differ(&["addresses"]) => {
                let groups = self.groups_with(op, "remote_address_group_id", new.id()).await?;
                self.tell(op, What::Rules, groups);
            }
            _ => {}
        }
        Ok(())
    }

    async fn deleting(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        if self.of == Of::Groups {
            let mut groups = self.groups_with(op, "remote_group_id", record.id()).await?;
            groups.remove(record.id());
            self.tell(op, What::Rules, groups);
        }
        Ok(())
    }

    async fn deleted(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        match self.of {
            Of::Ports => self.tell(op, What::Members, groups_of(record)),
            Of::Rules => {
                let group = record.text("security_group_id").to_owned();
                self.tell(op, What::Rules, BTreeSet::from([group]));
            }
            Of::Groups | Of::AddressGroups => {}
        }
        Ok(())
    }
}
