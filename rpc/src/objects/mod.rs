//! Versioned objects (oslo.versionedobjects) as they travel: an envelope with name and version around the fields.
//!
//! [`Object`] is the envelope with its fields as JSON: enough to pass on, filter and cache. [`Versioned<T>`] is the typed
//! form; [`Object::read`] and [`Object::of`] convert. A field that was not loaded is absent, a null one is null; the types
//! keep the two apart where both occur, and keep fields that they do not know.
//!
//! Versions: same major only. Objects of an older minor are read with defaults; a server that sends to older agents must
//! say the older version and leave out what that did not have (neutron/objects/*.py `obj_make_compatible`).

mod network;
mod port;
mod security_group;
mod subnet;
#[cfg(test)]
mod tests;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

pub use network::{Network, NetworkPortSecurity, NetworkSegment};
pub use port::{
    AllowedAddressPair, DistributedPortBinding, ExtraDhcpOpt, IpAllocation, Port, PortBinding, PortBindingLevel,
    PortDns, PortSecurity,
};
pub use security_group::{SecurityGroup, SecurityGroupRule};
pub use subnet::{DnsNameServer, IpAllocationPool, Route, Subnet};

/// The namespace of every object of Neutron.
pub const NAMESPACE: &str = "versionedobjects";

/// An object in its envelope, fields as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Object {
    #[serde(rename = "versioned_object.name")]
    pub name: String,
    #[serde(rename = "versioned_object.namespace", default = "namespace")]
    pub namespace: String,
    #[serde(rename = "versioned_object.version")]
    pub version: String,
    #[serde(rename = "versioned_object.data", default)]
    pub data: Map<String, Value>,
    /// Names of fields changed since loading; the reference omits it when empty.
    #[serde(rename = "versioned_object.changes", default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<String>>,
}

fn namespace() -> String {
    NAMESPACE.to_owned()
}

/// Why an envelope does not hold what was wanted.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    #[error("the object is a {found}, not a {wanted}")]
    Name { wanted: &'static str, found: String },
    #[error("version {found} of {name} is not understood; this knows {known}")]
    Version { name: &'static str, known: &'static str, found: String },
    #[error("a field of {name} is not what it should be")]
    Field {
        name: &'static str,
        #[source]
        source: serde_json::Error,
    },
}

/// Fields of a type of object.
pub trait Fields: Serialize + DeserializeOwned {
    const NAME: &'static str;
    /// The version whose fields this has.
    const VERSION: &'static str;
}

impl Object {
    /// Wraps fields in the newest version.
    pub fn of<T: Fields>(fields: &T) -> Result<Self, ObjectError> {
        let error = |source| ObjectError::Field { name: T::NAME, source };
        let Value::Object(data) = serde_json::to_value(fields).map_err(error)? else {
            return Err(error(serde_json::Error::custom("not an object")));
        };
        Ok(Self {
            name: T::NAME.to_owned(),
            namespace: namespace(),
            version: T::VERSION.to_owned(),
            data,
            changes: None,
        })
    }

    /// Takes the fields out.
    pub fn read<T: Fields>(&self) -> Result<T, ObjectError> {
        if self.name != T::NAME {
            return Err(ObjectError::Name { wanted: T::NAME, found: self.name.clone() });
        }
        let major = |version: &str| version.split('.').next().map(str::to_owned);
        if major(&self.version) != major(T::VERSION) {
            return Err(ObjectError::Version { name: T::NAME, known: T::VERSION, found: self.version.clone() });
        }
        serde_json::from_value(Value::Object(self.data.clone()))
            .map_err(|source| ObjectError::Field { name: T::NAME, source })
    }

    /// The `id` field, which every resource that is pushed has, save for sub-ports.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.data.get("id").and_then(Value::as_str)
    }
}

/// Fields in an envelope, typed: for objects inside objects.
#[derive(Clone, Debug, PartialEq)]
pub struct Versioned<T> {
    pub version: String,
    pub changes: Option<Vec<String>>,
    pub fields: T,
}

impl<T: Fields> From<T> for Versioned<T> {
    fn from(fields: T) -> Self {
        Self { version: T::VERSION.to_owned(), changes: None, fields }
    }
}

impl<T> std::ops::Deref for Versioned<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.fields
    }
}

impl<T: Fields> Serialize for Versioned<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Envelope<'a, T> {
            #[serde(rename = "versioned_object.name")]
            name: &'static str,
            #[serde(rename = "versioned_object.namespace")]
            namespace: &'static str,
            #[serde(rename = "versioned_object.version")]
            version: &'a str,
            #[serde(rename = "versioned_object.data")]
            fields: &'a T,
            #[serde(rename = "versioned_object.changes", skip_serializing_if = "Option::is_none")]
            changes: Option<&'a Vec<String>>,
        }
        let (version, changes) = (self.version.as_str(), self.changes.as_ref());
        Envelope { name: T::NAME, namespace: NAMESPACE, version, fields: &self.fields, changes }.serialize(serializer)
    }
}

impl<'de, T: Fields> Deserialize<'de> for Versioned<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Object::deserialize(deserializer)?;
        let fields = object.read().map_err(|error| match error {
            ObjectError::Field { name, source } => D::Error::custom(format!("{name}: {source}")),
            other => D::Error::custom(other),
        })?;
        Ok(Self { version: object.version, changes: object.changes, fields })
    }
}

/// A field that may be absent, null, or set. `None`: not loaded; `Some(None)`: null.
pub type Nullable<T> = Option<Option<T>>;

/// Declares the fields of a type of object. Those `required` are there even in news of a deletion; those `loaded` may be absent;
/// those `nullable` may be absent or null.
macro_rules! fields {
    (
        $(#[$doc:meta])*
        $Name:ident = $name:literal $version:literal {
            required { $( $(#[$rdoc:meta])* $required:ident : $rty:ty, )* }
            loaded { $( $(#[$odoc:meta])* $field:ident : $ty:ty, )* }
            nullable { $( $(#[$ndoc:meta])* $nfield:ident : $nty:ty, )* }
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        pub struct $Name {
            $( $(#[$rdoc])* pub $required: $rty, )*
            $(
                $(#[$odoc])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $field: Option<$ty>,
            )*
            $(
                $(#[$ndoc])*
                #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::view::told")]
                pub $nfield: crate::objects::Nullable<$nty>,
            )*
            #[serde(flatten)]
            pub extra: crate::view::Extra,
        }

        impl crate::objects::Fields for $Name {
            const NAME: &'static str = $name;
            const VERSION: &'static str = $version;
        }
    };
}
use fields;
