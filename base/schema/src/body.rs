//! Request objects into records: every check that needs neither the store nor to know who asks.

use std::sync::Arc;

use serde_json::Map;

use crate::{Attr, Default, Fault, Model, Record, Refusal, Value};

/// What a request set, by position, beside the record that holds it.
#[derive(Clone, Debug)]
pub struct Given {
    pub record: Record,
    /// Positions that the request named, in the model's order.
    pub explicit: Vec<usize>,
}

impl Given {
    /// True if the request named the attribute.
    pub fn named(&self, name: &str) -> bool {
        self.record.model().position(name).is_some_and(|position| self.explicit.contains(&position))
    }
}

fn refused(attr: &Attr, refusal: Refusal) -> Fault {
    match refusal {
        Refusal::Invalid(why) => Fault::bad_request(format!("Invalid input for {}. Reason: {why}.", attr.name)),
        Refusal::Inconvertible(why) => {
            Fault::invalid_input(format!("Invalid input for operation: {}: {why}.", attr.name))
        }
        Refusal::Fault(fault) => fault,
    }
}

fn unknown(model: &Model, names: &[&str]) -> Fault {
    Fault::bad_request(format!("Unrecognized attribute(s) '{}' of a {}.", names.join(", "), model.resource.name))
}

fn converted(attr: &Attr, value: Value) -> Result<Value, Fault> {
    if value.is_null() && attr.nullable {
        return Ok(value);
    }
    attr.kind.judge(value).map_err(|refusal| refused(attr, refusal))
}

/// Both names of the owner are one attribute; they must agree when both are there.
fn unify_owner(model: &Model, object: &mut Map<String, Value>) -> Result<(), Fault> {
    let Some("project_id") = model.resource.owner else { return Ok(()) };
    let Some(tenant) = object.remove("tenant_id") else { return Ok(()) };
    match object.get("project_id") {
        Some(project) if *project != tenant => {
            Err(Fault::bad_request("'project_id' and 'tenant_id' do not match; send one of them."))
        }
        Some(_) => Ok(()),
        None => {
            object.insert("project_id".into(), tenant);
            Ok(())
        }
    }
}

/// One object of a create request. `fixed` names attributes that the path decides.
pub fn create(model: &Arc<Model>, mut object: Map<String, Value>) -> Result<Given, Fault> {
    unify_owner(model, &mut object)?;
    let mut record = Record::new(model);
    let mut explicit = Vec::new();
    for (position, attr) in model.attrs.iter().enumerate() {
        match object.remove(attr.name) {
            Some(_) if !attr.post => {
                return Err(Fault::bad_request(format!("Attribute '{}' not allowed in POST", attr.name)));
            }
            Some(value) => {
                record.set_at(position, Some(converted(attr, value)?));
                explicit.push(position);
            }
            None if attr.post && matches!(attr.default, Default::Required) => {
                let message = format!("Failed to parse request. Required attribute '{}' not specified", attr.name);
                return Err(Fault::bad_request(message));
            }
            None if attr.post => record.set_at(position, attr.default.value()),
            None => {}
        }
    }
    if !object.is_empty() {
        let names: Vec<&str> = object.keys().map(String::as_str).collect();
        return Err(unknown(model, &names));
    }
    Ok(Given { record, explicit })
}

/// The object of an update request: only what it names is set.
pub fn update(model: &Arc<Model>, mut object: Map<String, Value>) -> Result<Given, Fault> {
    unify_owner(model, &mut object)?;
    let mut record = Record::new(model);
    let mut explicit = Vec::new();
    for (position, attr) in model.attrs.iter().enumerate() {
        match object.remove(attr.name) {
            Some(_) if !attr.put => {
                return Err(Fault::bad_request(format!("Cannot update read-only attribute {}", attr.name)));
            }
            Some(value) => {
                record.set_at(position, Some(converted(attr, value)?));
                explicit.push(position);
            }
            None => {}
        }
    }
    if !object.is_empty() {
        let names: Vec<&str> = object.keys().map(String::as_str).collect();
        return Err(unknown(model, &names));
    }
    Ok(Given { record, explicit })
}
