use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use policy::{Context, Enforce};
use schema::{Extension, Fault, Model, Record};
use store::Store;

use crate::{Action, Behaviour, Condition, Op};

/// The table that holds what many resources share, one row each.
#[derive(Clone, Copy, Debug)]
pub struct SharedTable {
    pub table: &'static str,
    pub key: &'static str,
    /// Column of a resource's own table that points at it.
    pub reference: &'static str,
    /// Column that names the resource type.
    pub kind: &'static str,
    pub created: &'static str,
    pub updated: &'static str,
    pub revision: &'static str,
    /// Attribute that shows the revision, and is compared with If-Match.
    pub revision_attr: &'static str,
}

/// Limits on what a project may own, exact under concurrency.
#[async_trait]
pub trait Quota: Send + Sync {
    /// Takes `count` of a quota for the project in the operation's transaction, or refuses with `OverQuota`.
    async fn take(&self, op: &mut Op<'_>, quota: &'static str, project: &str, count: usize) -> Result<(), Fault>;

    /// Counts what the server makes by its own decision, whatever the limit.
    async fn note(&self, op: &mut Op<'_>, quota: &'static str, project: &str, count: usize) -> Result<(), Fault>;

    /// Gives back what a removed object held.
    async fn give_back(&self, op: &mut Op<'_>, quota: &'static str, project: &str, count: usize) -> Result<(), Fault>;
}

/// A resource as the server runs it.
pub struct Entity {
    pub model: Arc<Model>,
    pub behaviours: Vec<Arc<dyn Behaviour>>,
    pub rules: Rules,
}

/// Names of the entity's policy rules, made once.
pub struct Rules {
    pub create: String,
    pub get: String,
    pub update: String,
    pub delete: String,
    /// By attribute position: rules of create, update and get.
    pub attrs: Vec<Option<[String; 3]>>,
}

impl Rules {
    fn new(model: &Model) -> Rules {
        let name = model.resource.name;
        let attrs = model
            .attrs
            .iter()
            .map(|attr| {
                (attr.enforce || attr.enforce_get || !attr.enforce_members.is_empty())
                    .then(|| ["create", "update", "get"].map(|verb| format!("{verb}_{name}:{}", attr.name)))
            })
            .collect();
        let rule = |verb: &str| format!("{verb}_{name}");
        Rules { create: rule("create"), get: rule("get"), update: rule("update"), delete: rule("delete"), attrs }
    }
}

impl Entity {
    pub fn new(model: Model, behaviours: Vec<Arc<dyn Behaviour>>) -> Entity {
        let rules = Rules::new(&model);
        Entity { model: Arc::new(model), behaviours, rules }
    }

    /// The fault for an id that is not there or may not be seen.
    pub fn not_found(&self, id: &str) -> Fault {
        let resource = self.model.resource;
        let label = resource.not_found.strip_suffix("NotFound").unwrap_or(resource.name);
        Fault::not_found(resource.not_found, format!("{label} {id} could not be found."))
    }

    /// What the context may see; None for everything.
    pub fn scope(&self, context: &Context) -> Option<Condition> {
        if context.has_global_view() {
            return None;
        }
        if let Some(scope) = self.behaviours.iter().find_map(|behaviour| behaviour.scope(context)) {
            return Some(scope);
        }
        let resource = self.model.resource;
        resource.owner.map(|owner| {
            Condition::new(format!("{}.\"{owner}\" = ?", resource.table), vec![context.project_id.as_str().into()])
        })
    }

    /// What the resource's rows are read from.
    pub(crate) fn source(&self) -> String {
        let table = self.model.resource.table;
        match self.behaviours.iter().find_map(|behaviour| behaviour.source()) {
            Some(sql) => format!("({sql}) AS {table}"),
            None => table.to_owned(),
        }
    }

    /// The table that a row is written to.
    pub(crate) fn table(&self, record: &Record) -> &'static str {
        self.behaviours.iter().find_map(|behaviour| behaviour.table(record)).unwrap_or(self.model.resource.table)
    }

    pub(crate) fn duplicate(&self, record: &Record, error: store::Error) -> Fault {
        if let store::Error::Duplicate { .. } = &error {
            if let Some(fault) = self.behaviours.iter().find_map(|behaviour| behaviour.duplicate(record, &error)) {
                return fault;
            }
            let name = self.model.resource.name;
            return Fault::conflict("Conflict", format!("Another {name} has the same unique values."))
                .with_source(error)
                .or_again();
        }
        error.into()
    }
}

/// What the server is made of. Built once at start by the composition root, then only read.
pub struct System {
    pub store: Store,
    pub policy: Arc<dyn Enforce>,
    pub quota: Option<Arc<dyn Quota>>,
    pub shared: &'static SharedTable,
    pub extensions: Vec<&'static Extension>,
    pub actions: Vec<Arc<dyn Action>>,
    entities: HashMap<&'static str, Arc<Entity>>,
    order: Vec<&'static str>,
}

impl System {
    pub fn new(store: Store, policy: Arc<dyn Enforce>, shared: &'static SharedTable) -> System {
        System {
            store,
            policy,
            quota: None,
            shared,
            extensions: Vec::new(),
            actions: Vec::new(),
            entities: HashMap::new(),
            order: Vec::new(),
        }
    }

    /// Adds a resource; its extensions and those of its model are announced.
    pub fn add(&mut self, entity: Entity) {
        let name = entity.model.resource.name;
        for extension in &entity.model.extensions {
            self.announce(extension);
        }
        self.order.push(name);
        self.entities.insert(name, Arc::new(entity));
    }

    /// Announces an extension; doubled ones are announced once.
    pub fn announce(&mut self, extension: &'static Extension) {
        if !self.extensions.iter().any(|known| known.alias == extension.alias) {
            self.extensions.push(extension);
        }
    }

    /// The entity of a singular name. Asking for one that is not composed in is a fault of ours.
    pub fn entity(&self, name: &str) -> Result<Arc<Entity>, Fault> {
        self.entities
            .get(name)
            .cloned()
            .ok_or_else(|| Fault::internal(format!("no resource named {name} is composed in")))
    }

    /// All entities in the order in which they were added.
    pub fn entities(&self) -> impl Iterator<Item = &Arc<Entity>> {
        self.order.iter().filter_map(|name| self.entities.get(name))
    }
}
