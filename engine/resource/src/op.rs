use std::sync::Arc;

use policy::Context;
use schema::body::Given;
use schema::{Fault, Record, Value};
use store::Txn;

use crate::select::Selection;
use crate::{Condition, Entity, Query, System};

/// One operation in its transaction.
pub struct Op<'a> {
    pub txn: &'a mut Txn,
    pub context: &'a Context,
    pub system: &'a System,
    /// Attributes that the answer will show; None for all.
    pub(crate) fields: Option<Arc<[String]>>,
}

impl<'a> Op<'a> {
    pub fn new(txn: &'a mut Txn, context: &'a Context, system: &'a System) -> Op<'a> {
        Op { txn, context, system, fields: None }
    }

    /// False if the answer will not show the attribute, so that its loading can be saved.
    pub fn wants(&self, name: &str) -> bool {
        self.fields.as_ref().is_none_or(|fields| fields.iter().any(|field| field == name))
    }

    /// Loads objects by a condition, whoever owns them, with all attributes.
    pub async fn find(&mut self, name: &str, condition: Condition) -> Result<Vec<Record>, Fault> {
        let entity = self.system.entity(name)?;
        let fields = self.fields.take();
        let selection = Selection { conditions: vec![condition], ..Selection::default() };
        let found = selection.run(self, &entity).await;
        self.fields = fields;
        found
    }

    /// Loads one object by its id, whoever owns it; the resource's not-found fault if there is none.
    pub async fn get(&mut self, name: &str, id: &str) -> Result<Record, Fault> {
        let entity = self.system.entity(name)?;
        self.try_get(name, id).await?.ok_or_else(|| entity.not_found(id))
    }

    pub async fn try_get(&mut self, name: &str, id: &str) -> Result<Option<Record>, Fault> {
        let entity = self.system.entity(name)?;
        let resource = entity.model.resource;
        let condition = Condition::new(format!("{}.{} = ?", resource.table, resource.key), vec![id.into()]);
        Ok(self.find(name, condition).await?.pop())
    }

    /// Loads one object as the context may see it; the not-found fault if it may not.
    pub async fn get_visible(&mut self, name: &str, id: &str) -> Result<Record, Fault> {
        let entity = self.system.entity(name)?;
        self.load_visible(&entity, id).await
    }

    pub(crate) async fn load_visible(&mut self, entity: &Arc<Entity>, id: &str) -> Result<Record, Fault> {
        let resource = entity.model.resource;
        let mut conditions = vec![Condition::new(format!("{}.{} = ?", resource.table, resource.key), vec![id.into()])];
        conditions.extend(entity.scope(self.context));
        let selection = Selection { conditions, ..Selection::default() };
        let record = selection.run(self, entity).await?.pop().ok_or_else(|| entity.not_found(id))?;
        Ok(record)
    }

    /// Lists objects as the context may see them.
    pub async fn list(&mut self, name: &str, query: &Query) -> Result<Vec<Record>, Fault> {
        let entity = self.system.entity(name)?;
        crate::verbs::list_in_txn(self, &entity, query).await
    }

    /// Creates objects in this transaction, without asking the policy and beyond the quota: for work that the server does itself.
    pub async fn create(&mut self, name: &str, objects: Vec<Given>) -> Result<Vec<Record>, Fault> {
        let entity = self.system.entity(name)?;
        crate::verbs::create_in_txn(self, &entity, objects, crate::verbs::Limit::Counted).await
    }

    /// Changes one object in this transaction, without asking the policy.
    pub async fn update(&mut self, name: &str, id: &str, given: &Given) -> Result<Record, Fault> {
        let entity = self.system.entity(name)?;
        let old = self.get(name, id).await?;
        crate::verbs::update_in_txn(self, &entity, old, given, None).await
    }

    /// Removes one object in this transaction, without asking the policy.
    pub async fn delete(&mut self, name: &str, record: &Record) -> Result<(), Fault> {
        let entity = self.system.entity(name)?;
        crate::verbs::delete_in_txn(self, &entity, record, None).await
    }

    /// A JSON object as the body of a create request of that resource.
    pub fn given_create(&self, name: &str, body: Value) -> Result<Given, Fault> {
        let entity = self.system.entity(name)?;
        let Value::Object(object) = body else { return Err(Fault::bad_request("The body is not an object.")) };
        schema::body::create(&entity.model, object)
    }

    /// A JSON object as the body of an update request of that resource.
    pub fn given_update(&self, name: &str, body: Value) -> Result<Given, Fault> {
        let entity = self.system.entity(name)?;
        let Value::Object(object) = body else { return Err(Fault::bad_request("The body is not an object.")) };
        schema::body::update(&entity.model, object)
    }

    /// Raises the revision and the time of change of another object that this operation changed.
    pub async fn touch(&mut self, shared_id: i64) -> Result<(), Fault> {
        crate::write::touch(self, shared_id, None).await.map(|_| ())
    }

    /// The same, if the revision still is the one that was read; false if it is not. Of those who read the same, one gets through.
    pub async fn touch_unchanged(&mut self, shared_id: i64, revision: i64) -> Result<bool, Fault> {
        crate::write::touch(self, shared_id, Some(revision)).await
    }
}
