//! The catalog of services that comes with a token.

use serde::Deserialize;

/// Who an endpoint is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Interface {
    #[default]
    Public,
    Internal,
    Admin,
}

impl Interface {
    /// Also the older names, as `publicURL`.
    pub fn parse(text: &str) -> Option<Interface> {
        let text = text.trim();
        let text = text.strip_suffix("URL").unwrap_or(text);
        match text.to_ascii_lowercase().as_str() {
            "public" => Some(Interface::Public),
            "internal" => Some(Interface::Internal),
            "admin" => Some(Interface::Admin),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Interface::Public => "public",
            Interface::Internal => "internal",
            Interface::Admin => "admin",
        }
    }
}

/// Services and their endpoints.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct Catalog {
    services: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
struct Entry {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    endpoints: Vec<Endpoint>,
}

#[derive(Debug, Deserialize)]
struct Endpoint {
    #[serde(default)]
    interface: String,
    region: Option<String>,
    region_id: Option<String>,
    url: String,
}

impl Catalog {
    /// The address of a service, without a slash at its end. Without a region, the first there is.
    pub fn endpoint(&self, kind: &str, interface: Interface, region: Option<&str>) -> Option<&str> {
        let endpoints =
            self.services.iter().filter(|service| service.kind == kind).flat_map(|service| &service.endpoints);
        endpoints
            .filter(|endpoint| endpoint.interface == interface.name())
            .find(|endpoint| match region {
                None => true,
                Some(region) => endpoint.region_id.as_deref().or(endpoint.region.as_deref()) == Some(region),
            })
            .map(|endpoint| endpoint.url.trim_end_matches('/'))
    }
}
