//! What is not a resource: versions, the list of resources, extensions, health.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use resource::System;
use schema::{Extension, Fault};
use serde_json::{Value, json};

use crate::fault::{self, respond};
use crate::origin::Origin;
use crate::verbs::json as answer;
use crate::{Options, ROOT};

/// Pages that need no identity, with their paths; None if the path is none of theirs.
pub fn open(
    method: &Method,
    path: &str,
    headers: &HeaderMap,
    origin: &Origin,
    options: &Options,
) -> Option<(&'static str, Response)> {
    match path {
        "/" if method == Method::GET => Some(("/", answer(StatusCode::OK, Body::from(versions(origin))))),
        "/" => Some(("/", respond(&fault::method_not_allowed(method)))),
        "/healthcheck" | "/healthcheck/" => Some(("/healthcheck", health(method, headers, options))),
        _ => None,
    }
}

fn versions(origin: &Origin) -> String {
    let href = origin.at(&format!("{ROOT}/"));
    let version = json!({"id": "v2.0", "status": "CURRENT", "links": [{"rel": "self", "href": href}]});
    json!({"versions": [version]}).to_string()
}

/// As oslo.middleware's healthcheck: text, or JSON when asked for; HEAD has no body, other methods are taken for GET.
fn health(method: &Method, headers: &HeaderMap, options: &Options) -> Response {
    let disabled = options.health_file.as_ref().is_some_and(|file| file.exists());
    let (status, reason) = match (disabled, *method == Method::HEAD) {
        (true, _) => (StatusCode::SERVICE_UNAVAILABLE, "DISABLED BY FILE"),
        (false, true) => (StatusCode::NO_CONTENT, ""),
        (false, false) => (StatusCode::OK, "OK"),
    };
    let asked = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    if asked.trim_start().starts_with("application/json") && status != StatusCode::NO_CONTENT {
        return answer(
            status,
            Body::from(json!({"detailed": false, "reasons": [reason], "roles": options.roles}).to_string()),
        );
    }
    let mut response = Response::new(Body::from(reason));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=UTF-8"));
    response
}

/// Resources that no extension brought, as `/v2.0/` lists them.
pub fn resources(system: &System, origin: &Origin) -> String {
    let here = origin.here();
    let resources: Vec<Value> = system
        .entities()
        .map(|entity| entity.model.resource)
        .filter(|resource| resource.extension.is_none())
        .map(|resource| {
            let links = json!([{"rel": "self", "href": format!("{here}{}", resource.path)}]);
            json!({"name": resource.name, "collection": resource.plural, "links": links})
        })
        .collect();
    json!({"resources": resources}).to_string()
}

fn entry(extension: &Extension) -> Value {
    let Extension { alias, name, description, updated } = extension;
    json!({"alias": alias, "name": name, "description": description, "updated": updated, "links": []})
}

pub fn extensions(system: &System) -> String {
    let all: Vec<Value> = system.extensions.iter().map(|extension| entry(extension)).collect();
    json!({"extensions": all}).to_string()
}

pub fn extension(system: &System, alias: &str) -> Result<String, Fault> {
    let known = system.extensions.iter().find(|extension| extension.alias == alias);
    let absent = || Fault::not_found("HTTPNotFound", format!("Extension with alias {alias} does not exist."));
    known.map(|extension| json!({"extension": entry(extension)}).to_string()).ok_or_else(absent)
}
