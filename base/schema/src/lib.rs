//! The language in which a resource is said once, as data: attributes with their validation, defaults, visibility,
//! policy, filters, sort keys and place in the store. Pure: no I/O, no async, no noun.
//!
//! - [`Resource`], [`Attr`], [`Kind`], [`Default`], [`Place`]: `static` tables made by `const fn` builders;
//! - [`Extend`]: attributes that another domain adds to a resource, with the [`Extension`] that announces them;
//! - [`Model`]: a resource with all its extensions, as the server runs it;
//! - [`Record`]: one row of a model, positional; [`Key`] names an attribute in code with its type;
//! - [`body`]: request objects into records, with every check that needs no store;
//! - [`Fault`]: what a user is told when something is wrong.

mod attr;
pub mod body;
mod fault;
mod kind;
mod model;
mod record;

pub use attr::{Attr, By, Default, Extend, Extension, Place, Resource, Verbs};
pub use fault::Fault;
pub use kind::{Field, Kind, Refusal};
pub use model::{Model, ModelError};
pub use record::{FromValue, Key, Record};

/// A JSON value; `Value::Null` is an explicit null, an absent value is `None` in a [`Record`].
pub type Value = serde_json::Value;

#[cfg(test)]
mod tests;
