use rpc::objects::Object;
use serde_json::json;

use super::{Kind, pin};

fn object(name: &str, version: &str, data: serde_json::Value) -> Object {
    serde_json::from_value(json!({
        "versioned_object.name": name, "versioned_object.namespace": "versionedobjects",
        "versioned_object.version": version, "versioned_object.data": data,
    }))
    .unwrap()
}

#[test]
fn an_older_version_lacks_what_came_later() {
    let port =
        object("Port", "1.11", json!({"id": "p", "hints": null, "pvlan_type": null, "qos_network_policy_id": null}));
    let old = pin(port.clone(), "1.7").unwrap();
    assert_eq!(old.version, "1.7");
    assert_eq!(serde_json::Value::Object(old.data), json!({"id": "p", "qos_network_policy_id": null}));
    assert_eq!(pin(port.clone(), "1.11").unwrap(), port);
    assert!(pin(port.clone(), "1.12").is_none() && pin(port.clone(), "2.0").is_none() && pin(port, "x").is_none());
}

#[test]
fn rules_inside_a_group_are_of_its_time() {
    let rule = json!({
        "versioned_object.name": "SecurityGroupRule", "versioned_object.namespace": "versionedobjects",
        "versioned_object.version": "1.3",
        "versioned_object.data": {"id": "r", "normalized_cidr": null, "belongs_to_default_sg": true},
    });
    let group = object("SecurityGroup", "1.6", json!({"id": "g", "rules": [rule]}));
    let old = pin(group, "1.5").unwrap();
    assert_eq!(old.data["rules"][0]["versioned_object.version"], "1.2");
    assert_eq!(old.data["rules"][0]["versioned_object.data"], json!({"id": "r", "normalized_cidr": null}));
}

#[test]
fn filters_name_columns_that_are_there() {
    let filter = |json: serde_json::Value| Kind::Port.condition(json.as_object().unwrap());
    let found = filter(json!({"id": ["a", "b"], "security_group_ids": ["g"]})).unwrap();
    assert!(found.sql.contains("ports.id IN") && found.sql.contains("securitygroupportbindings"), "{}", found.sql);
    assert_eq!(filter(json!({"1=1 OR id": "x"})).unwrap_err(), "1=1 OR id");
}
