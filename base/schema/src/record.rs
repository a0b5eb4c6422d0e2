use std::marker::PhantomData;
use std::sync::Arc;

use crate::{Model, Value};

/// An attribute's name with the type that code reads it as. Shared by tables and logic, so that a misspelt attribute
/// does not compile.
pub struct Key<T> {
    pub name: &'static str,
    marker: PhantomData<fn() -> T>,
}

impl<T> Key<T> {
    pub const fn new(name: &'static str) -> Key<T> {
        Key { name, marker: PhantomData }
    }
}

impl<T> Clone for Key<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Key<T> {}

/// How a JSON value reads as a Rust value; `None` if it is absent, null or of another type.
pub trait FromValue<'a>: Sized {
    fn from_value(value: &'a Value) -> Option<Self>;
}

impl<'a> FromValue<'a> for &'a str {
    fn from_value(value: &'a Value) -> Option<Self> {
        value.as_str()
    }
}
impl FromValue<'_> for String {
    fn from_value(value: &Value) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }
}
impl FromValue<'_> for bool {
    fn from_value(value: &Value) -> Option<Self> {
        value.as_bool()
    }
}
impl FromValue<'_> for i64 {
    fn from_value(value: &Value) -> Option<Self> {
        value.as_i64()
    }
}
impl<'a> FromValue<'a> for &'a [Value] {
    fn from_value(value: &'a Value) -> Option<Self> {
        value.as_array().map(Vec::as_slice)
    }
}
impl<'a> FromValue<'a> for &'a Value {
    fn from_value(value: &'a Value) -> Option<Self> {
        Some(value)
    }
}
impl FromValue<'_> for std::net::IpAddr {
    fn from_value(value: &Value) -> Option<Self> {
        value.as_str()?.parse().ok()
    }
}
impl FromValue<'_> for types::Mac {
    fn from_value(value: &Value) -> Option<Self> {
        value.as_str()?.parse().ok()
    }
}

/// One row of a [`Model`]: a value per attribute, in the model's order. `None` is "not specified" (in a request) or
/// "not loaded" (in an answer that names its fields).
#[derive(Clone, Debug)]
pub struct Record {
    model: Arc<Model>,
    values: Vec<Option<Value>>,
    /// Key of its row in the shared attribute table; 0 if it has none.
    pub shared_id: i64,
}

impl Record {
    pub fn new(model: &Arc<Model>) -> Record {
        Record { values: vec![None; model.attrs.len()], model: model.clone(), shared_id: 0 }
    }

    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// The value of an attribute as `T`; None if absent, null or of another type.
    pub fn get<'a, T: FromValue<'a>>(&'a self, key: Key<T>) -> Option<T> {
        T::from_value(self.value(key.name)?)
    }

    /// The text of an attribute, empty if absent or null.
    pub fn text(&self, name: &str) -> &str {
        self.value(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// The value by name; None if not specified or unknown to the model.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.values[self.model.position(name)?].as_ref()
    }

    /// True if it has a value that is not null.
    pub fn has(&self, name: &str) -> bool {
        self.value(name).is_some_and(|value| !value.is_null())
    }

    pub fn at(&self, position: usize) -> Option<&Value> {
        self.values[position].as_ref()
    }

    pub fn set_at(&mut self, position: usize, value: Option<Value>) {
        self.values[position] = value;
    }

    /// Sets a value; a name unknown to the model (an extension that is off) is ignored.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        if let Some(position) = self.model.position(name) {
            self.values[position] = Some(value.into());
        }
    }

    pub fn unset(&mut self, name: &str) {
        if let Some(position) = self.model.position(name) {
            self.values[position] = None;
        }
    }

    /// Takes a value out, leaving it unspecified.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        let position = self.model.position(name)?;
        self.values[position].take()
    }

    /// The value of the primary key.
    pub fn id(&self) -> &str {
        self.values.get(self.model.key()).and_then(Option::as_ref).and_then(Value::as_str).unwrap_or_default()
    }

    /// The owning project; empty if it belongs to nobody.
    pub fn project(&self) -> &str {
        self.model.resource.owner.map_or("", |owner| self.text(owner))
    }
}
