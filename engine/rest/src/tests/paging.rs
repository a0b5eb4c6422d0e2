use serde_json::{Value, json};

use super::Api;
use crate::Options;

const HERE: &str = "http://net.example.test:9696/v2.0/things";

/// Seven things with names of which some are equal.
async fn seven(api: &Api) {
    let things: Vec<Value> =
        ["p00", "p00", "p01", "p01", "p02", "p02", "p03"].iter().map(|name| json!({ "name": name })).collect();
    api.post("/v2.0/things", json!({ "things": things })).await.expect(201);
}

fn names(page: &Value) -> Vec<&str> {
    page["things"].as_array().unwrap().iter().map(|thing| thing["name"].as_str().unwrap()).collect()
}

/// The link of that kind, as a path of this server.
fn link(page: &Value, rel: &str) -> Option<String> {
    let links = page["things_links"].as_array()?;
    let link = links.iter().find(|link| link["rel"] == rel)?;
    let href = link["href"].as_str().unwrap();
    assert!(href.starts_with(HERE), "{href}");
    Some(href.replace("http://net.example.test:9696", ""))
}

#[tokio::test]
async fn links_lead_through_all_pages_and_back() {
    let api = Api::start().await;
    seven(&api).await;
    let query = "/v2.0/things?limit=3&sort_key=name&sort_dir=asc";
    let first = api.get(query).await.expect(200);
    assert_eq!(names(&first), ["p00", "p00", "p01"]);
    assert!(link(&first, "next").is_some() && link(&first, "previous").is_some());
    let second = api.get(&link(&first, "next").unwrap()).await.expect(200);
    assert_eq!(names(&second), ["p01", "p02", "p02"]);
    let last = api.get(&link(&second, "next").unwrap()).await.expect(200);
    assert_eq!(names(&last), ["p03"]);
    assert!(link(&last, "next").is_none() && link(&last, "previous").is_some());
    let back = api.get(&link(&last, "previous").unwrap()).await.expect(200);
    assert_eq!(back["things"], second["things"]);
    let start = api.get(&link(&back, "previous").unwrap()).await.expect(200);
    assert_eq!(start["things"], first["things"]);
    // Before the first page there is nothing, and from there only a way forward.
    let before = api.get(&link(&start, "previous").unwrap()).await.expect(200);
    assert_eq!(before["things"], json!([]));
    assert!(link(&before, "next").is_some() && link(&before, "previous").is_none());
    let mut ids: Vec<&Value> =
        [&first, &second, &last].iter().flat_map(|page| page["things"].as_array().unwrap()).map(|t| &t["id"]).collect();
    ids.sort_by_key(|id| id.as_str());
    ids.dedup();
    assert_eq!(ids.len(), 7);
}

#[tokio::test]
async fn links_keep_the_query_and_its_order() {
    let api = Api::start().await;
    seven(&api).await;
    let page = api
        .get("/v2.0/things?page_reverse=False&name=p00&name=p01&limit=1&marker=&fields=id&fields=name&description=")
        .await
        .expect(200);
    let id = page["things"][0]["id"].as_str().unwrap();
    let kept = "name=p00&name=p01&limit=1&fields=id&fields=name&description=";
    assert_eq!(
        page["things_links"],
        json!([
            {"rel": "next", "href": format!("{HERE}?{kept}&marker={id}")},
            {"rel": "previous", "href": format!("{HERE}?{kept}&marker={id}&page_reverse=True")},
        ])
    );
    let odd = api.get("/v2.0/things?limit=1&name=a%20b&name=%C3%A9%2F&name=~").await.expect(200);
    assert_eq!(
        odd["things_links"],
        json!([{"rel": "previous", "href": format!("{HERE}?limit=1&name=a+b&name=%C3%A9%2F&name=~&page_reverse=True")}])
    );
}

#[tokio::test]
async fn limits() {
    let api = Api::start().await;
    seven(&api).await;
    let full = api.get("/v2.0/things?limit=7").await.expect(200);
    let after = api.get(&link(&full, "next").unwrap()).await.expect(200);
    assert_eq!(after["things"], json!([]));
    assert_eq!(
        after["things_links"],
        json!([{"rel": "previous", "href": format!("{HERE}?limit=7&page_reverse=True")}])
    );
    for query in ["", "?limit=0", "?marker=11111111-2222-4333-8444-555555555555", "?page_reverse=True"] {
        let all = api.get(&format!("/v2.0/things{query}")).await.expect(200);
        assert_eq!(all["things"].as_array().unwrap().len(), 7, "{query}");
        assert!(all.get("things_links").is_none(), "{query}");
    }
    for limit in ["-1", "abc", "", "1.5", "99999999999999999999"] {
        api.get(&format!("/v2.0/things?limit={limit}")).await.fault(400, "BadRequest");
    }
    assert_eq!(names(&api.get("/v2.0/things?limit=2&limit=3").await.expect(200)).len(), 3);
    api.get("/v2.0/things?limit=2&marker=11111111-2222-4333-8444-555555555555").await.fault(404, "ThingNotFound");
    let foreign = full["things"][0]["id"].as_str().unwrap();
    api.member("p1").get(&format!("/v2.0/things?limit=2&marker={foreign}")).await.fault(404, "ThingNotFound");
}

#[tokio::test]
async fn the_server_may_limit_pages() {
    let api = Api::with(Options { page_limit: Some(2), ..Options::default() }).await;
    seven(&api).await;
    for query in ["", "?limit=0", "?limit=5", "?limit=2"] {
        let page = api.get(&format!("/v2.0/things{query}")).await.expect(200);
        assert_eq!(page["things"].as_array().unwrap().len(), 2, "{query}");
        assert!(link(&page, "next").is_some());
    }
    assert_eq!(names(&api.get("/v2.0/things?limit=1").await.expect(200)).len(), 1);
}

#[tokio::test]
async fn sort_errors() {
    let api = Api::start().await;
    seven(&api).await;
    for (query, part) in [
        ("sort_key=name", "number of sort_keys and sort_dirs must be same"),
        ("sort_key=name&sort_key=id&sort_dir=asc", "must be same"),
        ("sort_key=bogus&sort_dir=asc", "bogus"),
        ("sort_key=labels&sort_dir=asc", "labels"),
        ("sort_key=name&sort_dir=up", "up"),
        ("sort_key=name&sort_dir=ASC", "ASC"),
    ] {
        let message = api.get(&format!("/v2.0/things?{query}")).await.fault(400, "HTTPBadRequest");
        assert!(message.contains(part), "{message}");
    }
    let page = api.get("/v2.0/things?sort_key=tenant_id&sort_dir=asc&sort_key=name&sort_dir=desc").await.expect(200);
    assert_eq!(names(&page)[0], "p03");
}

#[tokio::test]
async fn links_go_where_the_client_came_from() {
    let one = |page: Value| page["things_links"][0]["href"].as_str().unwrap().split('?').next().unwrap().to_owned();
    let path = "/v2.0/things?limit=1";
    let api = Api::start().await;
    let forwarded = |api: &Api| {
        api.header("x-forwarded-proto", "https")
            .header("x-forwarded-host", "api.example.test")
            .header("x-forwarded-prefix", "/network")
    };
    assert_eq!(one(api.get(path).await.expect(200)), HERE);
    assert_eq!(one(api.get("/v2.0/things.json?limit=1").await.expect(200)), format!("{HERE}.json"));
    // Only the scheme is believed unless the server is told that a proxy stands before it.
    assert_eq!(one(forwarded(&api).get(path).await.expect(200)), HERE.replace("http:", "https:"));
    let api = Api::with(Options { proxy_headers: true, ..Options::default() }).await;
    assert_eq!(one(forwarded(&api).get(path).await.expect(200)), "https://api.example.test/network/v2.0/things");
    let rfc7239 = api.header(
        "forwarded",
        "for=192.0.2.60;proto=https;host=\"a.example.test:99\", for=198.51.100.1;host=b.example.test",
    );
    assert_eq!(one(rfc7239.get(path).await.expect(200)), "https://a.example.test:99/v2.0/things");
    let api =
        Api::with(Options { link_prefix: Some("https://cloud.example.test/network/".into()), ..Options::default() })
            .await;
    assert_eq!(one(api.get(path).await.expect(200)), "https://cloud.example.test/network/v2.0/things");
    let versions = api.get("/").await.expect(200);
    assert_eq!(versions["versions"][0]["links"][0]["href"], "https://cloud.example.test/network/v2.0/");
}
