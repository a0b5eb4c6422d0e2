//! Endpoints into calls of the system, and what they return into answers.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use policy::Context;
use resource::{Query, Request};
use schema::{Fault, Record, Value};

use crate::fault::{self, JSON};
use crate::links::Page;
use crate::origin::Origin;
use crate::rest::Inner;
use crate::routes::{Served, Target};
use crate::shape::{OLD_OWNER, OWNER, Shape};
use crate::{list, objects, pages};

/// A request that passed everything before the verbs.
pub struct Call {
    pub context: Context,
    pub target: Target,
    pub params: Vec<(String, String)>,
    pub query: Vec<(String, String)>,
    pub if_match: Option<i64>,
    pub body: Option<Value>,
    pub origin: Origin,
}

impl Call {
    pub async fn run(self, inner: &Inner) -> Result<Response, Fault> {
        match self.target.clone() {
            Target::List(served) => self.list(inner, &served).await,
            Target::Show(served) => self.show(inner, &served).await,
            Target::Create(served) => self.create(inner, &served).await,
            Target::Update(served) => self.update(inner, &served).await,
            Target::Delete(served) => self.delete(inner, &served).await,
            Target::NotOffered(served) => {
                let resource = served.entity.model.resource;
                objects::named(self.body.as_ref(), resource)?;
                let message = format!("Objects of type {} cannot be made or changed through this path.", resource.name);
                Err(Fault::new(405, "HTTPMethodNotAllowed", message))
            }
            Target::Action(index, route) => {
                let action = inner.system.actions.get(index).ok_or_else(fault::not_found)?;
                let Call { context, params, query, if_match, body, .. } = self;
                let answer =
                    action.call(&inner.system, &context, Request { route, params, query, body, if_match }).await?;
                let status = StatusCode::from_u16(answer.status).map_err(Fault::internal)?;
                Ok(match answer.body {
                    Some(body) => json(status, Body::from(body.to_string())),
                    None => empty(status),
                })
            }
            Target::Resources => Ok(json(StatusCode::OK, Body::from(pages::resources(&inner.system, &self.origin)))),
            Target::Extensions => Ok(json(StatusCode::OK, Body::from(pages::extensions(&inner.system)))),
            Target::Extension => {
                pages::extension(&inner.system, self.param()).map(|page| json(StatusCode::OK, Body::from(page)))
            }
        }
    }

    async fn list(self, inner: &Inner, served: &Served) -> Result<Response, Fault> {
        let mut query = Query::parse(&self.query)?;
        if let Some(most) = inner.options.page_limit {
            query.limit = Some(query.limit.unwrap_or(most).min(most));
        }
        if query.limit.is_none() {
            query.marker = None;
        }
        let shape = self.shape(served);
        for field in query.fields.iter_mut().filter(|field| *field == OLD_OWNER) {
            *field = OWNER.to_owned();
        }
        let records = inner.system.list(&self.context, &served.entity, &query).await?;
        let links = query.limit.map(|limit| {
            let ends = records.first().zip(records.last()).map(|(first, last)| (first.id(), last.id()));
            let page = Page { query: &self.query, limit, reverse: query.reverse, length: records.len(), ends };
            page.links(&self.origin)
        });
        let plural = served.entity.model.resource.plural;
        Ok(json(StatusCode::OK, list::body(plural, records, shape, links.as_deref())))
    }

    async fn show(self, inner: &Inner, served: &Served) -> Result<Response, Fault> {
        check_query(&self, served)?;
        let record = inner.system.get(&self.context, &served.entity, self.param()).await?;
        Ok(self.one(StatusCode::OK, served, &record))
    }

    async fn create(mut self, inner: &Inner, served: &Served) -> Result<Response, Fault> {
        let created = objects::to_create(&served.entity.model, self.body.take())?;
        let records = inner.system.create(&self.context, &served.entity, created.objects).await?;
        match records.as_slice() {
            [record] if !created.bulk => Ok(self.one(StatusCode::CREATED, served, record)),
            _ => {
                let plural = served.entity.model.resource.plural;
                Ok(json(StatusCode::CREATED, list::body(plural, records, self.shape(served), None)))
            }
        }
    }

    async fn update(mut self, inner: &Inner, served: &Served) -> Result<Response, Fault> {
        let given = objects::to_update(&served.entity.model, self.body.take())?;
        let record = inner.system.update(&self.context, &served.entity, self.param(), &given, self.if_match).await?;
        Ok(self.one(StatusCode::OK, served, &record))
    }

    async fn delete(self, inner: &Inner, served: &Served) -> Result<Response, Fault> {
        if self.body.is_some() {
            return Err(Fault::bad_request("Request body is not supported in DELETE."));
        }
        inner.system.delete(&self.context, &served.entity, self.param(), self.if_match).await?;
        Ok(empty(StatusCode::NO_CONTENT))
    }

    /// The value of the only placeholder.
    fn param(&self) -> &str {
        self.params.first().map_or("", |(_, value)| value)
    }

    /// What the answer shows: everything, or what `fields` names. An empty name is a name, of nothing.
    fn shape(&self, served: &Served) -> Arc<Shape> {
        let named = self.query.iter().filter(|(name, _)| name == "fields");
        let fields: Vec<&str> = named.map(|(_, value)| value.as_str()).collect();
        if fields.is_empty() { served.shape.clone() } else { Arc::new(served.shape.only(&fields)) }
    }

    fn one(&self, status: StatusCode, served: &Served, record: &Record) -> Response {
        let mut out = Vec::with_capacity(1024);
        out.extend_from_slice(b"{\"");
        out.extend_from_slice(served.entity.model.resource.name.as_bytes());
        out.extend_from_slice(b"\":");
        self.shape(served).write(record, &mut out);
        out.push(b'}');
        json(status, Body::from(out))
    }
}

/// The query of a single object changes nothing but its fields, and must make sense all the same.
fn check_query(call: &Call, served: &Served) -> Result<(), Fault> {
    if call.query.iter().all(|(name, _)| name == "fields") {
        return Ok(());
    }
    let query = Query::parse(&call.query)?;
    let Served { entity, .. } = served;
    for (name, values) in &query.filters {
        let special = entity.behaviours.iter().find_map(|behaviour| behaviour.filter(&call.context, name, values));
        match special {
            Some(condition) => drop(condition?),
            None if entity.model.attr(name).is_some_and(|attr| attr.filter) => {}
            None => return Err(Fault::bad_request(format!("['{name}'] is invalid attribute for filtering"))),
        }
    }
    Ok(())
}

pub fn json(status: StatusCode, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}

fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    if status != StatusCode::NO_CONTENT {
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
    response
}
