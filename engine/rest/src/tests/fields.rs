use serde_json::json;

use super::{Api, at};

#[tokio::test]
async fn fields_choose_what_is_shown() {
    let api = Api::start().await;
    let one = at(&api.thing(json!({"name": "a", "hidden": "h"})).await);
    for (query, shown) in [
        ("fields=name", json!({"name": "a"})),
        ("fields=name&fields=up&fields=name", json!({"name": "a", "up": true})),
        ("fields=tenant_id", json!({"tenant_id": "admin"})),
        ("fields=project_id", json!({"project_id": "admin"})),
        ("fields=bogus", json!({})),
        ("fields=hidden", json!({})),
        ("fields=", json!({})),
        ("fields=name,up", json!({})),
        ("fields=NAME&fields=size", json!({"size": null})),
    ] {
        assert_eq!(api.get(&format!("{one}?{query}")).await.expect(200), json!({ "thing": shown }), "{query}");
        assert_eq!(
            api.get(&format!("/v2.0/things?{query}")).await.expect(200),
            json!({ "things": [shown] }),
            "{query}"
        );
    }
    let put = api.put(&format!("{one}?fields=name"), json!({"thing": {"name": "b"}})).await.expect(200);
    assert_eq!(put, json!({"thing": {"name": "b"}}));
    let secret = api.member("admin").get(&format!("{one}?fields=secret&fields=name")).await.expect(200);
    assert_eq!(secret, json!({"thing": {"name": "b"}}));
}

#[tokio::test]
async fn filters_that_make_no_sense_are_400() {
    let api = Api::start().await;
    let one = at(&api.thing(json!({"name": "a b", "size": 3})).await);
    for path in ["/v2.0/things", one.as_str()] {
        for query in [
            "bogus=1",
            "name=a&bogus=1",
            "hidden=h",
            "Name=a",
            "name[]=a",
            "sort_key=name",
            "sort_dir=asc",
            "n%00=1",
            "=x",
        ] {
            api.get(&format!("{path}?{query}")).await.fault(400, "HTTPBadRequest");
        }
        let message = api.get(&format!("{path}?bogus=1")).await.fault(400, "HTTPBadRequest");
        assert!(message.contains("['bogus'] is invalid attribute for filtering"), "{message}");
        for query in ["%ff=1", "name=%c3", "name=%ed%a0%80"] {
            api.get(&format!("{path}?{query}")).await.fault(400, "HTTPBadRequest");
        }
    }
    api.get("/v2.0/things?up=maybe").await.fault(400, "InvalidInput");
    for (query, found) in [
        ("name=a+b", 1),
        ("name=a%20b", 1),
        ("name=a%2Bb", 0),
        ("name=x&name=a+b", 1),
        ("name=", 0),
        ("name", 0),
        ("&&", 1),
        ("size=3", 1),
        ("up=True&size=3", 1),
        ("up=0", 0),
        ("name=%zz", 0),
        ("description=", 1),
        ("sort_key=&sort_dir=", 1),
        ("tenant_id=admin", 1),
    ] {
        let listed = api.get(&format!("/v2.0/things?{query}")).await.expect(200);
        assert_eq!(listed["things"].as_array().unwrap().len(), found, "{query}");
    }
}
