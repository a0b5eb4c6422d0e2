//! Paths and methods to endpoints: a tree of segments made once at start. A segment that is written out goes before a placeholder.

use std::collections::HashMap;
use std::sync::Arc;

use axum::http::Method as Verb;
use resource::{Entity, Method, Route, System};
use schema::Fault;

use crate::shape::Shape;
use crate::{ROOT, fault, pairs};

/// A resource with what its answers look like.
pub struct Served {
    pub entity: Arc<Entity>,
    pub shape: Arc<Shape>,
}

/// What answers.
#[derive(Clone)]
pub enum Target {
    List(Arc<Served>),
    Show(Arc<Served>),
    Create(Arc<Served>),
    Update(Arc<Served>),
    Delete(Arc<Served>),
    /// A change that the resource does not offer; its body is looked at first.
    NotOffered(Arc<Served>),
    /// An action by its place in the system's list.
    Action(usize, Route),
    Resources,
    Extensions,
    Extension,
}

/// What a path without an endpoint for its method answers; as the reference does.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Otherwise {
    #[default]
    NotAllowed,
    /// PUT and DELETE of a collection are those of an object that is not there, whose fault is of this type; the rest is not allowed.
    NoObject(&'static str),
    /// As if the path were not there.
    NotFound,
}

impl Otherwise {
    fn fault(self, method: &Verb) -> Fault {
        match self {
            Otherwise::NoObject(kind) if matches!(method.as_str(), "PUT" | "DELETE") => {
                Fault::not_found(kind, format!("{method} needs the id of an object in its path."))
            }
            Otherwise::NotFound => fault::not_found(),
            _ => fault::method_not_allowed(method),
        }
    }
}

pub struct Endpoint {
    pub target: Target,
    /// The pattern of its path.
    pub label: Arc<str>,
    /// Names of the placeholders.
    names: Vec<String>,
}

/// An endpoint with the values of its placeholders.
pub struct Found<'a> {
    pub endpoint: &'a Endpoint,
    pub params: Vec<(String, String)>,
}

#[derive(Default)]
struct Node {
    written: HashMap<String, Node>,
    any: Option<Box<Node>>,
    methods: Vec<(Verb, Endpoint)>,
    otherwise: Otherwise,
}

#[derive(Default)]
pub struct Routes {
    root: Node,
}

impl Routes {
    pub fn of(system: &System) -> Result<Routes, Fault> {
        let mut routes = Routes::default();
        routes.add(Verb::GET, "/", Target::Resources, Otherwise::NotAllowed)?;
        routes.add(Verb::GET, "/extensions", Target::Extensions, Otherwise::NotFound)?;
        routes.add(Verb::GET, "/extensions/{alias}", Target::Extension, Otherwise::NotFound)?;
        for (index, action) in system.actions.iter().enumerate() {
            for route in action.routes() {
                routes.add(verb(route.method), route.path, Target::Action(index, *route), Otherwise::NotAllowed)?;
            }
        }
        for entity in system.entities() {
            routes.serve(entity)?;
        }
        Ok(routes)
    }

    fn serve(&mut self, entity: &Arc<Entity>) -> Result<(), Fault> {
        let resource = entity.model.resource;
        let served = Arc::new(Served { entity: entity.clone(), shape: Arc::new(Shape::of(&entity.model)) });
        let verbs = resource.verbs;
        let offered = |offered: bool, target: fn(Arc<Served>) -> Target| {
            if offered { target(served.clone()) } else { Target::NotOffered(served.clone()) }
        };
        let no_object = Otherwise::NoObject(resource.not_found);
        let collection = format!("/{}", resource.path);
        let item = format!("{collection}/{{id}}");
        let mut add = |answers: bool, path: &str, method: Verb, target: Target, otherwise: Otherwise| {
            // An action at the same place is the resource's own way of doing it.
            if answers && !self.has(&method, path) { self.add(method, path, target, otherwise) } else { Ok(()) }
        };
        add(verbs.list, &collection, Verb::GET, Target::List(served.clone()), no_object)?;
        add(true, &collection, Verb::POST, offered(verbs.create, Target::Create), no_object)?;
        add(verbs.get, &item, Verb::GET, Target::Show(served.clone()), Otherwise::NotAllowed)?;
        add(true, &item, Verb::PUT, offered(verbs.update, Target::Update), Otherwise::NotAllowed)?;
        add(verbs.delete, &item, Verb::DELETE, Target::Delete(served.clone()), Otherwise::NotAllowed)?;
        Ok(())
    }

    fn add(&mut self, method: Verb, path: &str, target: Target, otherwise: Otherwise) -> Result<(), Fault> {
        let mut node = &mut self.root;
        let mut names = Vec::new();
        for part in path.split('/').skip(1).filter(|part| !part.is_empty()) {
            node = match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
                Some(name) => {
                    names.push(name.to_owned());
                    node.any.get_or_insert_default()
                }
                None => node.written.entry(part.to_owned()).or_default(),
            };
        }
        if node.methods.iter().any(|(known, _)| *known == method) {
            return Err(Fault::internal(format!("two endpoints claim {method} {path}")));
        }
        if otherwise != Otherwise::NotAllowed {
            node.otherwise = otherwise;
        }
        let label = format!("{ROOT}{path}").into();
        node.methods.push((method, Endpoint { target, label, names }));
        Ok(())
    }

    fn has(&self, method: &Verb, path: &str) -> bool {
        let mut node = &self.root;
        for part in path.split('/').skip(1) {
            let next = if part.starts_with('{') { node.any.as_deref() } else { node.written.get(part) };
            let Some(next) = next else { return false };
            node = next;
        }
        node.methods.iter().any(|(known, _)| known == method)
    }

    /// The endpoint for a path below the API's root, as it came over the wire.
    pub fn find(&self, method: &Verb, path: &str) -> Result<Found<'_>, Fault> {
        // The root of the API ends in a slash; other paths may. Doubled slashes are one.
        let Some(path) = path.strip_prefix('/') else { return Err(fault::not_found()) };
        let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        // The reference answers OPTIONS as it does GET.
        let method = if *method == Verb::OPTIONS { &Verb::GET } else { method };
        let bare = parts.last().and_then(|last| last.strip_suffix(".json")).filter(|bare| !bare.is_empty());
        let Some(bare) = bare else { return self.search(method, &parts) };
        // A suffix says the form of the answer, which is always the same one. Only actions may have a name that ends so.
        let last = parts.len() - 1;
        let whole = std::mem::replace(&mut parts[last], bare);
        let found = self.search(method, &parts);
        let named = |found: &Found<'_>| {
            matches!(found.endpoint.target, Target::Action(..)) && found.endpoint.label.ends_with('}')
        };
        if matches!(&found, Ok(found) if !named(found)) {
            return found;
        }
        parts[last] = whole;
        match (found, self.search(method, &parts)) {
            // A name that is written out in the pattern goes before a placeholder that takes anything.
            (Ok(bare), Ok(whole)) if bare.params.len() < whole.params.len() => Ok(bare),
            (_, Ok(whole)) => Ok(whole),
            (found, Err(_)) => found,
        }
    }

    fn search(&self, method: &Verb, parts: &[&str]) -> Result<Found<'_>, Fault> {
        let mut path_only = None;
        let mut values = Vec::new();
        let Some((endpoint, values)) = self.root.find(method, parts, &mut values, &mut path_only) else {
            return Err(path_only.map_or_else(fault::not_found, |node| node.otherwise.fault(method)));
        };
        let mut params = Vec::with_capacity(values.len());
        for (name, value) in endpoint.names.iter().zip(values) {
            let value = pairs::segment(value).ok().filter(|value| !value.contains('/')).ok_or_else(fault::not_found)?;
            params.push((name.clone(), value));
        }
        Ok(Found { endpoint, params })
    }
}

type Match<'a, 'p> = (&'a Endpoint, Vec<&'p str>);

impl Node {
    /// What a written part leads to. Clients write dashes as underscores, and the other way round.
    fn written(&self, part: &str) -> Option<&Node> {
        if let Some(node) = self.written.get(part) {
            return Some(node);
        }
        [("-", "_"), ("_", "-")]
            .into_iter()
            .find_map(|(one, other)| part.contains(one).then(|| self.written.get(&part.replace(one, other)))?)
    }

    /// Depth is that of the deepest pattern, whatever the path.
    fn find<'a, 'p>(
        &'a self,
        method: &Verb,
        parts: &[&'p str],
        values: &mut Vec<&'p str>,
        path_only: &mut Option<&'a Node>,
    ) -> Option<Match<'a, 'p>> {
        let Some((part, rest)) = parts.split_first() else {
            if let Some((_, endpoint)) = self.methods.iter().find(|(known, _)| known == method) {
                return Some((endpoint, values.clone()));
            }
            if !self.methods.is_empty() && path_only.is_none() {
                *path_only = Some(self);
            }
            return None;
        };
        if let Some(found) = self.written(part).and_then(|next| next.find(method, rest, values, path_only)) {
            return Some(found);
        }
        let any = self.any.as_deref()?;
        values.push(part);
        let found = any.find(method, rest, values, path_only);
        values.pop();
        found
    }
}

fn verb(method: Method) -> Verb {
    match method {
        Method::Get => Verb::GET,
        Method::Post => Verb::POST,
        Method::Put => Verb::PUT,
        Method::Delete => Verb::DELETE,
    }
}
