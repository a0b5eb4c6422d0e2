use serde_json::{Value, json};

use super::Api;

async fn names(api: &Api) -> Vec<String> {
    let listed = api.get("/v2.0/things?sort_key=name&sort_dir=asc").await.expect(200);
    listed["things"].as_array().unwrap().iter().map(|thing| thing["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn several_are_made_in_the_order_of_the_request() {
    let api = Api::start().await;
    let body = json!({"things": [{"name": "c"}, {"thing": {"name": "a"}}, {"name": "b", "project_id": "p1"}]});
    let made = api.post("/v2.0/things", body).await.expect(201);
    let made: Vec<&Value> = made["things"].as_array().unwrap().iter().map(|thing| &thing["name"]).collect();
    assert_eq!(made, ["c", "a", "b"]);
    assert_eq!(names(&api).await, ["a", "b", "c"]);
    // A list of one is a list.
    let one = api.post("/v2.0/things?fields=name", json!({"things": [{"name": "d"}]})).await.expect(201);
    assert_eq!(one, json!({"things": [{"name": "d"}]}));
}

#[tokio::test]
async fn one_that_is_wrong_makes_none() {
    let api = Api::start().await;
    for second in [json!({"name": 5}), json!({"bogus": 5}), json!("x"), json!(null), json!([]), json!({"thing": null})]
    {
        api.post("/v2.0/things", json!({"things": [{"name": "a"}, second]})).await.fault(400, "HTTPBadRequest");
    }
    let forbidden = json!({"things": [{"name": "a"}, {"secret": "s"}]});
    api.member("p1").post("/v2.0/things", forbidden).await.fault(403, "PolicyNotAuthorized");
    assert!(names(&api).await.is_empty());
}

#[tokio::test]
async fn a_list_must_hold_something_and_cannot_be_put() {
    let api = Api::start().await;
    for things in [json!([]), json!(null), json!({}), json!("x"), json!(5)] {
        api.post("/v2.0/things", json!({ "things": things })).await.fault(400, "HTTPBadRequest");
        api.post("/v2.0/things", json!({"thing": {}, "things": things})).await.fault(400, "HTTPBadRequest");
    }
    let one = api.thing(json!({})).await;
    api.put(&super::at(&one), json!({"things": [{"name": "x"}]})).await.fault(400, "HTTPBadRequest");
}
