//! A system of things, which have owners, parts, a secret, and a second resource that only reads.

use std::sync::Arc;

use async_trait::async_trait;
use policy::{Context, Enforce, Target};
use resource::{Action, Answer, Entity, Method, Plain, Request, Route, SharedTable, System};
use schema::{Attr, Default, Extension, Fault, Kind, Model, Resource, Verbs};
use serde_json::json;
use store::Store;

static EXTENSION: Extension = Extension {
    alias: "odd-things",
    name: "Odd things",
    description: "Things that \"others\" brought.",
    updated: "2020-01-01T00:00:00-00:00",
};

static THING: Resource = Resource {
    name: "thing",
    plural: "things",
    path: "things",
    table: "things",
    key: "id",
    shared: Some("things"),
    not_found: "ThingNotFound",
    owner: Some("project_id"),
    verbs: Verbs::ALL,
    quota: None,
    extension: None,
    attrs: &[
        Attr::new("id", Kind::Uuid),
        Attr::new("name", Kind::Text { max: 255 }).post().put().default(Default::Text("")),
        Attr::new("project_id", Kind::Text { max: 255 }).post(),
        Attr::new("up", Kind::Bool).post().put().default(Default::Bool(true)),
        Attr::new("size", Kind::Int { min: 0, max: 100 }).nullable().post().put().default(Default::Null),
        Attr::new("secret", Kind::Text { max: 255 })
            .post()
            .put()
            .enforce()
            .enforce_get()
            .default(Default::Text(""))
            .no_filter(),
        Attr::new("hidden", Kind::Text { max: 255 }).post().hidden().default(Default::Text("")).no_filter(),
        Attr::new("labels", Kind::JsonList(&Kind::Text { max: 255 }))
            .post()
            .put()
            .default(Default::EmptyList)
            .no_filter()
            .no_sort(),
        Attr::new("description", Kind::Text { max: 255 }).post().put().default(Default::Text("")).shared("description"),
        Attr::new("revision_number", Kind::Int { min: 0, max: i64::MAX }).shared("revision"),
    ],
};

static ODD_THING: Resource = Resource {
    name: "odd_thing",
    plural: "odd_things",
    path: "odd-things",
    table: "odd_things",
    key: "id",
    shared: None,
    not_found: "OddThingNotFound",
    owner: None,
    verbs: Verbs::READ,
    quota: None,
    extension: Some(&EXTENSION),
    attrs: &[Attr::new("id", Kind::Text { max: 36 }), Attr::new("name", Kind::Text { max: 255 })],
};

static SHARED: SharedTable = SharedTable {
    table: "attributes",
    key: "number",
    reference: "attributes",
    kind: "kind",
    created: "created",
    updated: "updated",
    revision: "revision",
    revision_attr: "revision_number",
};

const TABLES: &[&str] = &[
    "CREATE TABLE attributes (number INTEGER PRIMARY KEY, kind TEXT, description TEXT, created TEXT, updated TEXT, revision INTEGER)",
    "CREATE TABLE things (id TEXT PRIMARY KEY, name TEXT, project_id TEXT, up INTEGER, size INTEGER, secret TEXT, hidden TEXT, \
     labels TEXT, attributes INTEGER)",
    "CREATE TABLE odd_things (id TEXT PRIMARY KEY, name TEXT)",
    "INSERT INTO odd_things VALUES ('a.b', 'dotted')",
];

pub async fn system() -> System {
    let store = Store::private().await.unwrap();
    let mut txn = store.write().await.unwrap();
    for sql in TABLES {
        txn.execute(sql, &[]).await.unwrap();
    }
    txn.commit().await.unwrap();
    let mut system = System::new(store, Arc::new(Rules), &SHARED);
    system.add(Entity::new(Model::new(&THING, []).unwrap(), vec![Arc::new(Plain)]));
    system.add(Entity::new(Model::new(&ODD_THING, []).unwrap(), vec![Arc::new(Plain)]));
    system.actions.push(Arc::new(Parts));
    system
}

/// Secrets are for administrators.
struct Rules;

impl Enforce for Rules {
    fn allows(&self, rule: &str, context: &Context, _: &dyn Target) -> bool {
        context.is_admin || !rule.ends_with(":secret")
    }

    fn looks_at_target(&self, _: &str) -> bool {
        false
    }
}

/// Endpoints beside the verbs: one that echoes, and some that go wrong.
struct Parts;

const ROUTES: &[Route] = &[
    Route { method: Method::Get, path: "/things/{id}/parts" },
    Route { method: Method::Put, path: "/things/{id}/parts/{part}" },
    Route { method: Method::Delete, path: "/things/{id}/parts/{part}" },
    Route { method: Method::Get, path: "/things/panic" },
    Route { method: Method::Post, path: "/broken/panic" },
    Route { method: Method::Get, path: "/broken/inside" },
    Route { method: Method::Get, path: "/broken/away" },
];

#[async_trait]
impl Action for Parts {
    fn routes(&self) -> &[Route] {
        ROUTES
    }

    async fn call(&self, _: &System, context: &Context, request: Request) -> Result<Answer, Fault> {
        match (request.route.method, request.route.path) {
            (_, "/things/panic" | "/broken/panic") => panic!("the password is swordfish"),
            (_, "/broken/inside") => Err(Fault::internal("the password is swordfish")),
            (_, "/broken/away") => Err(Fault::unavailable("the password is swordfish")),
            (Method::Delete, _) => Ok(Answer::no_content()),
            (Method::Put, _) => Ok(Answer::created(serde_json::Value::Null)),
            _ => Ok(Answer::ok(json!({
                "id": request.param("id"),
                "query": request.query,
                "if_match": request.if_match,
                "request_id": context.request_id,
                "global_request_id": context.global_request_id,
                "project": context.project_id,
            }))),
        }
    }
}
