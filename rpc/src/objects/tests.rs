use serde_json::json;

use super::*;

fn binding() -> Value {
    json!({"versioned_object.name": "PortSecurity", "versioned_object.namespace": "versionedobjects",
           "versioned_object.version": "1.0", "versioned_object.data": {"id": "p", "port_security_enabled": false}})
}

#[test]
fn what_is_not_loaded_and_what_is_null_stay_apart() {
    let object: Object = serde_json::from_value(json!({
        "versioned_object.name": "Port", "versioned_object.namespace": "versionedobjects",
        "versioned_object.version": "1.7",
        "versioned_object.data": {"id": "p", "qos_policy_id": null, "security": binding(), "of_the_future": [1]},
        "versioned_object.changes": ["id"],
    }))
    .unwrap();
    let port: Port = object.read().unwrap();
    assert_eq!(port.qos_policy_id, Some(None));
    assert_eq!(port.qos_network_policy_id, None);
    assert!(!port.security.as_ref().unwrap().as_ref().unwrap().port_security_enabled);
    let again = Object::of(&port).unwrap();
    assert_eq!(again.data, object.data);
    assert_eq!(again.version, "1.11");
    assert_eq!(serde_json::to_value(&object).unwrap()["versioned_object.changes"], json!(["id"]));
}

#[test]
fn wrong_objects_are_refused_by_name_version_and_field() {
    let mut object = Object::of(&Port { id: "p".into(), ..Port::default() }).unwrap();
    assert!(matches!(object.read::<Network>(), Err(ObjectError::Name { wanted: "Network", .. })));
    object.version = "2.0".into();
    assert!(matches!(object.read::<Port>(), Err(ObjectError::Version { .. })));
    object.version = "1.0".into();
    object.data.insert("admin_state_up".into(), json!("yes"));
    assert!(matches!(object.read::<Port>(), Err(ObjectError::Field { name: "Port", .. })));
}
