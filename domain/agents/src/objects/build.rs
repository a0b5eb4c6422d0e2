//! From what the API shows to the fields of objects.

use resource::{Condition, Op};
use rpc::objects::Object;
use schema::Fault;
use serde_json::{Map, Value, json};

use super::Kind;
use super::rows::{self, ByOwner, nested};

fn str_of<'a>(view: &'a Value, key: &str) -> &'a str {
    view[key].as_str().unwrap_or_default()
}

fn texts<'a>(views: &'a [Value], key: &str) -> Vec<&'a str> {
    views.iter().map(|view| str_of(view, key)).collect()
}

fn take(of: &mut ByOwner, owner: &str) -> Value {
    Value::Array(of.remove(owner).unwrap_or_default())
}

/// What the API calls the same, as it is.
fn copied(view: &Value, fields: &[&str]) -> Map<String, Value> {
    fields.iter().map(|field| ((*field).to_owned(), view[*field].clone())).collect()
}

/// The same, without what is null.
fn set(data: &mut Map<String, Value>, view: &Value, fields: &[&str]) {
    for field in fields.iter().filter(|field| !view[**field].is_null()) {
        data.insert((*field).to_owned(), view[*field].clone());
    }
}

/// What every resource ends with.
fn standard(data: &mut Map<String, Value>, view: &Value) {
    set(data, view, &["revision_number", "description", "created_at", "updated_at"]);
}

/// A prefix for a single address too.
fn prefix(address: &str) -> String {
    match address.parse::<std::net::IpAddr>() {
        Ok(std::net::IpAddr::V4(_)) => format!("{address}/32"),
        Ok(std::net::IpAddr::V6(_)) => format!("{address}/128"),
        Err(_) => address.to_owned(),
    }
}

fn list(view: &Value, key: &str, make: impl Fn(&Value) -> Value) -> Value {
    Value::Array(view[key].as_array().into_iter().flatten().map(make).collect())
}

fn object(kind: Kind, data: Map<String, Value>) -> Object {
    Object {
        name: kind.name().to_owned(),
        namespace: rpc::objects::NAMESPACE.to_owned(),
        version: kind.version().to_owned(),
        data,
        changes: None,
    }
}

pub async fn objects(op: &mut Op<'_>, kind: Kind, views: &[Value]) -> Result<Vec<Object>, Fault> {
    let datas = match kind {
        Kind::Port => ports(op, views).await?,
        Kind::Network => networks(op, views).await?,
        Kind::Subnet => subnets(op, views).await?,
        Kind::SecurityGroup => groups(op, views).await?,
        Kind::SecurityGroupRule => views.iter().map(rule).collect(),
        Kind::AddressGroup => views.iter().map(address_group).collect(),
    };
    Ok(datas.into_iter().map(|data| object(kind, data)).collect())
}

async fn ports(op: &mut Op<'_>, views: &[Value]) -> Result<Vec<Map<String, Value>>, Fault> {
    let ids = texts(views, "id");
    let mut bindings = rows::bindings(op, &ids).await?;
    let mut levels = rows::binding_levels(op, &ids).await?;
    let mut options = rows::dhcp_options(op, &ids).await?;
    let mut names = rows::names(op, &ids).await?;
    let mut datas = Vec::with_capacity(views.len());
    for view in views {
        let (id, network) = (str_of(view, "id"), str_of(view, "network_id"));
        let mut data = copied(
            view,
            &[
                "id",
                "project_id",
                "name",
                "network_id",
                "mac_address",
                "admin_state_up",
                "device_id",
                "device_owner",
                "status",
            ],
        );
        let pairs = list(view, "allowed_address_pairs", |pair| {
            let address = prefix(str_of(pair, "ip_address"));
            let pair = json!({ "port_id": id, "mac_address": pair["mac_address"], "ip_address": address });
            nested("AllowedAddressPair", "1.0", pair)
        });
        let addresses = list(view, "fixed_ips", |fixed| {
            let fixed = json!({
                "port_id": id, "subnet_id": fixed["subnet_id"], "network_id": network, "ip_address": fixed["ip_address"],
            });
            nested("IPAllocation", "1.0", fixed)
        });
        let filtered = view["port_security_enabled"].as_bool().unwrap_or(true);
        let security = nested("PortSecurity", "1.0", json!({ "id": id, "port_security_enabled": filtered }));
        data.insert("allowed_address_pairs".into(), pairs);
        data.insert("bindings".into(), take(&mut bindings, id));
        data.insert("data_plane_status".into(), Value::Null);
        data.insert("dhcp_options".into(), take(&mut options, id));
        data.insert("distributed_bindings".into(), Value::Array(Vec::new()));
        data.insert("dns".into(), names.remove(id).and_then(|mut of| of.pop()).unwrap_or(Value::Null));
        data.insert("fixed_ips".into(), addresses);
        data.insert("hints".into(), Value::Null);
        data.insert("security".into(), security);
        data.insert("security_group_ids".into(), list(view, "security_groups", Value::clone));
        for unset in ["pvlan_type", "pvlan_community", "qos_policy_id", "qos_network_policy_id"] {
            data.insert(unset.into(), Value::Null);
        }
        data.insert("binding_levels".into(), take(&mut levels, id));
        standard(&mut data, view);
        datas.push(data);
    }
    Ok(datas)
}

async fn networks(op: &mut Op<'_>, views: &[Value]) -> Result<Vec<Map<String, Value>>, Fault> {
    let mut segments = rows::segments(op, &texts(views, "id")).await?;
    let data = |view: &Value| {
        let id = str_of(view, "id");
        let mut data = copied(view, &["id", "project_id", "name", "status", "admin_state_up", "shared", "mtu"]);
        let filtered = view["port_security_enabled"].as_bool().unwrap_or(true);
        let security = json!({ "id": id, "port_security_enabled": filtered });
        data.insert("security".into(), nested("NetworkPortSecurity", "1.0", security));
        data.insert("segments".into(), take(&mut segments, id));
        data.insert("pvlan".into(), Value::Null);
        let domain = Some(str_of(view, "dns_domain")).filter(|domain| !domain.is_empty());
        data.insert("dns_domain".into(), json!(domain));
        data.insert("qos_policy_id".into(), Value::Null);
        standard(&mut data, view);
        data
    };
    Ok(views.iter().map(data).collect())
}

async fn subnets(op: &mut Op<'_>, views: &[Value]) -> Result<Vec<Map<String, Value>>, Fault> {
    let mut pools = rows::pools(op, &texts(views, "id")).await?;
    let external = rows::external(op, &texts(views, "network_id")).await?;
    let data = |view: &Value| {
        let id = str_of(view, "id");
        let mut data = copied(
            view,
            &["id", "project_id", "name", "network_id", "ip_version", "cidr", "enable_dhcp", "service_types"],
        );
        set(&mut data, view, &["segment_id", "subnetpool_id", "gateway_ip", "ipv6_ra_mode", "ipv6_address_mode"]);
        data.insert("allocation_pools".into(), take(&mut pools, id));
        data.insert("shared".into(), view["shared"].as_bool().unwrap_or(false).into());
        let mut order = 0;
        let servers = view["dns_nameservers"].as_array().into_iter().flatten().map(|address| {
            order += 1;
            nested("DNSNameServer", "1.0", json!({ "address": address, "subnet_id": id, "order": order - 1 }))
        });
        data.insert("dns_nameservers".into(), Value::Array(servers.collect()));
        data.insert("dns_publish_fixed_ip".into(), view["dns_publish_fixed_ip"].as_bool().unwrap_or(false).into());
        let routes = list(view, "host_routes", |route| {
            let route = json!({ "subnet_id": id, "destination": route["destination"], "nexthop": route["nexthop"] });
            nested("Route", "1.0", route)
        });
        data.insert("host_routes".into(), routes);
        data.insert("external".into(), external.contains_key(str_of(view, "network_id")).into());
        standard(&mut data, view);
        data
    };
    Ok(views.iter().map(data).collect())
}

async fn groups(op: &mut Op<'_>, views: &[Value]) -> Result<Vec<Map<String, Value>>, Fault> {
    let ids = texts(views, "id");
    let defaults = rows::defaults(op, &ids).await?;
    let of = Condition::one_of("securitygrouprules.security_group_id", ids.iter().map(|id| (*id).into()).collect());
    let mut rules = ByOwner::new();
    for record in op.find(Kind::SecurityGroupRule.resource(), of).await? {
        let view = crate::view::to_json(&record);
        let made =
            nested(Kind::SecurityGroupRule.name(), Kind::SecurityGroupRule.version(), Value::Object(rule(&view)));
        rules.entry(str_of(&view, "security_group_id").to_owned()).or_default().push(made);
    }
    let data = |view: &Value| {
        let id = str_of(view, "id");
        let mut data = copied(view, &["id", "name", "project_id", "stateful"]);
        data.insert("shared".into(), view["shared"].as_bool().unwrap_or(false).into());
        data.insert("is_default".into(), defaults.contains_key(id).into());
        data.insert("rules".into(), take(&mut rules, id));
        standard(&mut data, view);
        data
    };
    Ok(views.iter().map(data).collect())
}

fn rule(view: &Value) -> Map<String, Value> {
    let mut data = copied(view, &["id", "project_id", "security_group_id", "direction", "ethertype"]);
    let optional =
        ["remote_group_id", "remote_address_group_id", "port_range_min", "port_range_max", "remote_ip_prefix"];
    set(&mut data, view, &optional);
    // Numbers are text here.
    match &view["protocol"] {
        Value::Null => {}
        Value::String(name) => drop(data.insert("protocol".into(), name.as_str().into())),
        number => drop(data.insert("protocol".into(), number.to_string().into())),
    }
    data.insert("normalized_cidr".into(), view["normalized_cidr"].clone());
    data.insert("belongs_to_default_sg".into(), view["belongs_to_default_sg"].as_bool().unwrap_or(false).into());
    standard(&mut data, view);
    data
}

fn address_group(view: &Value) -> Map<String, Value> {
    let id = str_of(view, "id");
    let mut data = copied(view, &["id", "name", "project_id"]);
    data.insert("shared".into(), view["shared"].as_bool().unwrap_or(false).into());
    let addresses = list(view, "addresses", |address| {
        let address = prefix(address.as_str().unwrap_or_default());
        nested("AddressAssociation", "1.0", json!({ "address": address, "address_group_id": id }))
    });
    data.insert("addresses".into(), addresses);
    standard(&mut data, view);
    data
}
