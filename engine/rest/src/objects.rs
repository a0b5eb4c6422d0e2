//! The object or objects of a body that has parsed.

use std::sync::Arc;

use schema::body::Given;
use schema::{Fault, Model, Resource, Value, body};
use serde_json::Map;

/// Objects of a create request, and whether it names them in the plural.
pub struct Created {
    pub objects: Vec<Given>,
    pub bulk: bool,
}

/// `{"thing": {…}}`, or `{"things": […]}` for several, each plain or once more wrapped.
pub fn to_create(model: &Arc<Model>, body: Option<Value>) -> Result<Created, Fault> {
    let resource = model.resource;
    let mut body = object(body, resource.name)?;
    // A word without a plural stands for both; then it is the value that tells.
    let plural = body.get(resource.plural).is_some_and(|value| resource.name != resource.plural || value.is_array());
    let several = if plural { body.remove(resource.plural) } else { None };
    let Some(several) = several else {
        let one = single(&mut body, resource.name)?;
        return Ok(Created { objects: vec![body::create(model, one)?], bulk: false });
    };
    let Value::Array(several) = several else {
        return Err(Fault::bad_request(format!("'{}' is not a list of objects.", resource.plural)));
    };
    if several.is_empty() {
        return Err(Fault::bad_request(format!("Resources required: the list '{}' is empty.", resource.plural)));
    }
    let objects = several
        .into_iter()
        .map(|item| {
            let Value::Object(mut item) = item else { return Err(invalid(resource.name)) };
            let item = if item.contains_key(resource.name) { single(&mut item, resource.name)? } else { item };
            body::create(model, item)
        })
        .collect::<Result<_, Fault>>()?;
    Ok(Created { objects, bulk: true })
}

/// `{"thing": {…}}`.
pub fn to_update(model: &Arc<Model>, body: Option<Value>) -> Result<Given, Fault> {
    let resource = model.resource;
    let mut body = object(body, resource.name)?;
    if resource.name != resource.plural && body.contains_key(resource.plural) {
        return Err(Fault::bad_request("Bulk operation not supported: update one object at a time."));
    }
    body::update(model, single(&mut body, resource.name)?)
}

/// Fails if the body has nothing of that resource.
pub fn named(body: Option<&Value>, resource: &Resource) -> Result<(), Fault> {
    let has = |key| body.is_some_and(|body| body.get(key).is_some());
    if has(resource.name) || has(resource.plural) { Ok(()) } else { Err(missing(resource.name)) }
}

fn object(body: Option<Value>, name: &str) -> Result<Map<String, Value>, Fault> {
    match body {
        Some(Value::Object(body)) => Ok(body),
        _ => Err(missing(name)),
    }
}

fn single(body: &mut Map<String, Value>, name: &str) -> Result<Map<String, Value>, Fault> {
    match body.remove(name) {
        Some(Value::Object(one)) => Ok(one),
        None | Some(Value::Null) => Err(missing(name)),
        Some(_) => Err(invalid(name)),
    }
}

fn missing(name: &str) -> Fault {
    Fault::bad_request(format!("Unable to find '{name}' in request body."))
}

fn invalid(name: &str) -> Fault {
    Fault::bad_request(format!("Object '{name}' contains invalid data: it is not an object."))
}
