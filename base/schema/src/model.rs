use rustc_hash::FxHashMap;

use crate::{Attr, Default, Extend, Extension, Kind, Place, Resource};

/// A resource with the attributes that extensions add, as the server runs it. Built once at start.
#[derive(Debug)]
pub struct Model {
    pub resource: &'static Resource,
    /// In the order of answers.
    pub attrs: Vec<Attr>,
    /// Announced by the resource and its extensions.
    pub extensions: Vec<&'static Extension>,
    positions: FxHashMap<&'static str, usize>,
    /// Where the primary key is; past the end if it is no attribute.
    key: usize,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ModelError {
    #[error("{resource}: the attribute {name} is declared twice")]
    Doubled { resource: &'static str, name: &'static str },
    #[error("{resource}: the default of {name} fails its own check: {why}")]
    Default { resource: &'static str, name: &'static str, why: String },
    #[error("{resource}: {name} is in the shared table, but the resource has no row there")]
    NotShared { resource: &'static str, name: &'static str },
    #[error("{resource}: {name} is required, but no create request may have it")]
    Unsettable { resource: &'static str, name: &'static str },
}

impl Model {
    /// Merges a resource with those extensions that are `to` it, and checks the result.
    pub fn new<'a>(
        resource: &'static Resource,
        extends: impl IntoIterator<Item = &'a Extend>,
    ) -> Result<Model, ModelError> {
        let mut attrs = resource.attrs.to_vec();
        let mut extensions: Vec<&'static Extension> = resource.extension.into_iter().collect();
        for extend in extends.into_iter().filter(|extend| extend.to == resource.name) {
            attrs.extend_from_slice(extend.attrs);
            extensions.extend(extend.extension);
        }
        let mut positions = FxHashMap::default();
        let name = resource.name;
        for (position, attr) in attrs.iter().enumerate() {
            if positions.insert(attr.name, position).is_some() {
                return Err(ModelError::Doubled { resource: name, name: attr.name });
            }
            if matches!(attr.place, Place::Shared(_)) && resource.shared.is_none() {
                return Err(ModelError::NotShared { resource: name, name: attr.name });
            }
            if matches!(attr.default, Default::Required) && !attr.post {
                return Err(ModelError::Unsettable { resource: name, name: attr.name });
            }
            match attr.default.value() {
                Some(value) if !value.is_null() && !matches!(attr.kind, Kind::Time) => {
                    let empty_text = value.as_str() == Some("");
                    if let Err(why) = attr.kind.convert(value)
                        && !empty_text
                    {
                        return Err(ModelError::Default { resource: name, name: attr.name, why });
                    }
                }
                _ => {}
            }
        }
        let key = positions.get(resource.key).copied().unwrap_or(attrs.len());
        Ok(Model { resource, attrs, extensions, positions, key })
    }

    /// The position of the primary key; past the end if it is no attribute.
    pub fn key(&self) -> usize {
        self.key
    }

    pub fn position(&self, name: &str) -> Option<usize> {
        self.positions.get(name).copied()
    }

    pub fn attr(&self, name: &str) -> Option<&Attr> {
        self.position(name).map(|position| &self.attrs[position])
    }
}
