use async_trait::async_trait;
use http::HeaderMap;
use http::request::Parts;
use policy::Context;

use crate::{Authenticator, MAX_NAME, Refusal};

/// Believes `X-Project-Id` (or `X-Tenant-Id`), `X-User-Id`, `X-Roles` (separated by commas) and the names beside them. What is not sent
/// is that of the user `admin` with the role `admin` (and `member` and `reader`, as with Keystone) in the project `admin`, so that a plain client may do everything.
/// Only for servers that strangers cannot reach.
#[derive(Clone, Copy, Debug, Default)]
pub struct Noauth;

const ADMIN: &str = "admin";
/// An administrator with the roles that Keystone lets it imply.
const IMPLIED: [&str; 3] = [ADMIN, "member", "reader"];

/// The first of these headers that was sent.
fn header<'a>(headers: &'a HeaderMap, names: [&str; 2]) -> Result<Option<&'a str>, Refusal> {
    let Some((name, value)) = names.iter().find_map(|name| headers.get(*name).map(|value| (name, value))) else {
        return Ok(None);
    };
    let Ok(text) = std::str::from_utf8(value.as_bytes()) else {
        return Err(Refusal::Malformed(format!("The header {name} is not UTF-8.")));
    };
    if name.eq_ignore_ascii_case("X-Roles") {
        return Ok(Some(text));
    }
    let text = text.trim();
    if text.chars().count() > MAX_NAME {
        return Err(Refusal::Malformed(format!("The header {name} is longer than {MAX_NAME} characters.")));
    }
    Ok((!text.is_empty()).then_some(text))
}

#[async_trait]
impl Authenticator for Noauth {
    async fn authenticate(&self, request: &Parts) -> Result<Context, Refusal> {
        let headers = &request.headers;
        let project = header(headers, ["X-Project-Id", "X-Tenant-Id"])?;
        let project_id = project.unwrap_or(ADMIN).to_owned();
        let project_name = header(headers, ["X-Project-Name", "X-Tenant-Name"])?.unwrap_or(&project_id).to_owned();
        let user_id = header(headers, ["X-User-Id", "X-User"])?.unwrap_or(ADMIN).to_owned();
        let user_name = header(headers, ["X-User-Name", "X-User-Name"])?.unwrap_or(&user_id).to_owned();
        // An empty header is no role at all; an absent one is the administrator's.
        let roles: Vec<String> = match header(headers, ["X-Roles", "X-Role"])? {
            Some(list) => list.split(',').map(str::trim).filter(|role| !role.is_empty()).map(str::to_owned).collect(),
            None => IMPLIED.iter().map(|role| (*role).to_owned()).collect(),
        };
        let system_scope = header(headers, ["Openstack-System-Scope", "X-System-Scope"])?.map(str::to_owned);
        let mut context =
            Context { project_id, project_name, user_id, user_name, roles, system_scope, ..Context::default() };
        context.is_admin = context.has_role(ADMIN);
        Ok(context)
    }
}
