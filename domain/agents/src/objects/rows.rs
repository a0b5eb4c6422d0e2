//! What hangs on objects, by whose it is: one statement a table.

use std::collections::HashMap;

use resource::{Condition, Op};
use schema::Fault;
use serde_json::{Map, Value, json};

/// An object inside an object.
pub fn nested(name: &str, version: &str, data: Value) -> Value {
    json!({
        "versioned_object.name": name,
        "versioned_object.namespace": rpc::objects::NAMESPACE,
        "versioned_object.version": version,
        "versioned_object.data": data,
    })
}

/// Rows by the text of their first column.
pub type ByOwner = HashMap<String, Vec<Value>>;

/// Makes a value of each row of `sql`, whose WHERE clause is `{}`, for the owners given.
pub async fn by_owner(
    op: &mut Op<'_>,
    sql: &str,
    column: &str,
    owners: &[&str],
    make: impl Fn(&store::Row) -> Value,
) -> Result<ByOwner, Fault> {
    let condition = Condition::one_of(column, owners.iter().map(|id| (*id).into()).collect());
    let sql = sql.replace("{}", &condition.sql);
    let mut found = ByOwner::new();
    for row in op.txn.query(&sql, &condition.args).await? {
        found.entry(row.text(0)).or_default().push(make(&row));
    }
    Ok(found)
}

fn optional(text: Option<String>) -> Value {
    text.filter(|text| !text.is_empty()).map_or(Value::Null, Value::String)
}

/// A segment from ten columns, from `at` on. What is null is left out, as the reference does.
const SEGMENT: &str = "networksegments.id, networksegments.network_id, networksegments.network_type, \
     networksegments.physical_network, networksegments.segmentation_id, networksegments.is_dynamic, \
     networksegments.segment_index, networksegments.name, standardattributes.revision_number, standardattributes.description";

fn segment(row: &store::Row, at: usize) -> Value {
    let mut data = Map::new();
    data.insert("id".into(), row.text(at).into());
    data.insert("network_id".into(), row.text(at + 1).into());
    data.insert("network_type".into(), row.text(at + 2).into());
    if let Some(name) = row.opt_text(at + 3) {
        data.insert("physical_network".into(), name.into());
    }
    if let Some(id) = row.opt_int(at + 4) {
        data.insert("segmentation_id".into(), id.into());
    }
    data.insert("is_dynamic".into(), row.bool(at + 5).into());
    data.insert("segment_index".into(), row.int(at + 6).into());
    if let Some(name) = row.opt_text(at + 7) {
        data.insert("name".into(), name.into());
    }
    data.insert("hosts".into(), Value::Array(Vec::new()));
    data.insert("revision_number".into(), row.int(at + 8).into());
    if let Some(description) = row.opt_text(at + 9) {
        data.insert("description".into(), description.into());
    }
    nested("NetworkSegment", "1.0", Value::Object(data))
}

pub async fn segments(op: &mut Op<'_>, networks: &[&str]) -> Result<ByOwner, Fault> {
    let sql = format!(
        "SELECT networksegments.network_id, {SEGMENT} FROM networksegments JOIN standardattributes \
         ON standardattributes.id = networksegments.standard_attr_id WHERE {{}} ORDER BY networksegments.segment_index"
    );
    by_owner(op, &sql, "networksegments.network_id", networks, |row| segment(row, 1)).await
}

pub async fn binding_levels(op: &mut Op<'_>, ports: &[&str]) -> Result<ByOwner, Fault> {
    let sql = format!(
        "SELECT levels.port_id, levels.host, levels.level, levels.driver, {SEGMENT} FROM ml2_port_binding_levels levels \
         JOIN networksegments ON networksegments.id = levels.segment_id JOIN standardattributes \
         ON standardattributes.id = networksegments.standard_attr_id WHERE {{}} ORDER BY levels.level"
    );
    by_owner(op, &sql, "levels.port_id", ports, |row| {
        let data = json!({
            "port_id": row.text(0), "host": row.text(1), "level": row.int(2), "driver": row.opt_text(3),
            "segment_id": row.text(4), "segment": segment(row, 4),
        });
        nested("PortBindingLevel", "1.1", data)
    })
    .await
}

pub async fn bindings(op: &mut Op<'_>, ports: &[&str]) -> Result<ByOwner, Fault> {
    let sql = "SELECT port_id, host, profile, vif_type, vif_details, vnic_type, status FROM ml2_port_bindings \
               WHERE {} ORDER BY host";
    by_owner(op, sql, "port_id", ports, |row| {
        let profile = row.opt_text(2).filter(|text| !text.is_empty()).unwrap_or_else(|| "{}".to_owned());
        let data = json!({
            "port_id": row.text(0), "host": row.text(1), "profile": profile, "vif_type": row.text(3),
            "vif_details": optional(row.opt_text(4)), "vnic_type": row.text(5), "status": row.text(6),
        });
        nested("PortBinding", "1.0", data)
    })
    .await
}

pub async fn dhcp_options(op: &mut Op<'_>, ports: &[&str]) -> Result<ByOwner, Fault> {
    let sql = "SELECT port_id, id, opt_name, opt_value, ip_version FROM extradhcpopts WHERE {} ORDER BY opt_name";
    by_owner(op, sql, "port_id", ports, |row| {
        let data = json!({
            "id": row.text(1), "port_id": row.text(0), "opt_name": row.text(2), "opt_value": row.text(3),
            "ip_version": row.int(4),
        });
        nested("ExtraDhcpOpt", "1.1", data)
    })
    .await
}

pub async fn names(op: &mut Op<'_>, ports: &[&str]) -> Result<ByOwner, Fault> {
    let sql = "SELECT port_id, current_dns_name, current_dns_domain, previous_dns_name, previous_dns_domain, dns_name, \
               dns_domain FROM portdnses WHERE {}";
    by_owner(op, sql, "port_id", ports, |row| {
        let data = json!({
            "port_id": row.text(0), "current_dns_name": row.text(1), "current_dns_domain": row.text(2),
            "previous_dns_name": row.text(3), "previous_dns_domain": row.text(4), "dns_name": row.text(5),
            "dns_domain": row.text(6),
        });
        nested("PortDNS", "1.1", data)
    })
    .await
}

pub async fn pools(op: &mut Op<'_>, subnets: &[&str]) -> Result<ByOwner, Fault> {
    let sql = "SELECT subnet_id, id, first_ip, last_ip FROM ipallocationpools WHERE {}";
    by_owner(op, sql, "subnet_id", subnets, |row| {
        let data = json!({ "id": row.text(1), "subnet_id": row.text(0), "start": row.text(2), "end": row.text(3) });
        nested("IPAllocationPool", "1.0", data)
    })
    .await
}

/// Networks among these that are external.
pub async fn external(op: &mut Op<'_>, networks: &[&str]) -> Result<ByOwner, Fault> {
    let sql = "SELECT network_id FROM externalnetworks WHERE {}";
    by_owner(op, sql, "network_id", networks, |_| Value::Bool(true)).await
}

/// Groups among these that are the default of their project.
pub async fn defaults(op: &mut Op<'_>, groups: &[&str]) -> Result<ByOwner, Fault> {
    let sql = "SELECT security_group_id FROM default_security_group WHERE {}";
    by_owner(op, sql, "security_group_id", groups, |_| Value::Bool(true)).await
}
