use schema::{Fault, Value};

use super::shareable::TYPES;

fn show(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

pub fn object_type(value: &Value) -> Fault {
    let types: Vec<&str> = TYPES.iter().map(|kind| kind.name).collect();
    let message = format!("'{}' is not a valid RBAC object type; use one of {}.", show(value), types.join(", "));
    Fault::invalid_input(format!("Invalid input for operation: {message}"))
}

pub fn target(value: &Value) -> Fault {
    let message =
        format!("'{}' is not a valid target project ID; expected a UUID or '*' for all projects.", show(value));
    Fault::invalid_input(format!("Invalid input for operation: {message}"))
}

pub fn action(action: &str, kind: &str, valid: &[&str]) -> Fault {
    let message = format!("Invalid action '{action}' for object type '{kind}'. Valid actions: {}.", valid.join(", "));
    Fault::new(400, "InvalidActionForType", message)
}

pub fn no_object(kind: &str, id: &str) -> Fault {
    Fault::invalid_input(format!("Invalid input for operation: there is no {kind} {id}."))
}

pub fn not_yours(kind: &str, id: &str) -> Fault {
    let message = format!("Only admins can manipulate policies on objects they do not own, such as {kind} {id}.");
    Fault::invalid_input(format!("Invalid input for operation: {message}"))
}

pub fn scope_not_shared(pool: &str, scope: &str, target: &str) -> Fault {
    let message = format!(
        "Failed to create RBAC policy on object {pool} because target project {target} doesn't have access to the associated \
         address scope {scope}; share that first."
    );
    Fault::invalid_input(format!("Invalid input for operation: {message}"))
}

pub fn in_use(object: &str, why: &str) -> Fault {
    let message =
        format!("RBAC policy on object {object} cannot be removed because other objects depend on it. Details: {why}");
    Fault::conflict("RbacPolicyInUse", message)
}

pub fn doubled() -> Fault {
    Fault::conflict("DuplicateRbacPolicy", "An RBAC policy already exists with those values.")
}
