use std::sync::Arc;
use std::time::Duration;

use chrono::{TimeDelta, Utc};
use http::Request;
use http::request::Parts;
use serde_json::json;

use super::*;
use crate::testing::{FakeKeystone, token};

fn asked(headers: &[(&str, &str)]) -> Parts {
    let mut request = Request::builder().method("GET").uri("/v2.0/networks");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap().into_parts().0
}

fn with(options: Options) -> Keystone {
    let session = Arc::new(Session::new(&options).unwrap());
    Keystone::new(options, session)
}

async fn fake() -> (FakeKeystone, Keystone) {
    let fake = FakeKeystone::start().await.unwrap();
    fake.grant("good", token("u1", "p1", &["Member", "reader"], 3600));
    let keystone = with(fake.options());
    (fake, keystone)
}

#[track_caller]
fn challenge(result: Result<Context, Refusal>) -> String {
    match result {
        Err(Refusal::Unauthorized { challenge }) => challenge.unwrap(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_token_tells_who_asks() {
    let (fake, keystone) = fake().await;
    // Headers that only we may set are not believed.
    let request = asked(&[("X-Auth-Token", " good "), ("X-Roles", "admin"), ("X-Project-Id", "p2")]);
    let context = keystone.authenticate(&request).await.unwrap();
    assert_eq!((context.user_id.as_str(), context.user_name.as_str()), ("u1", "u1 name"));
    assert_eq!((context.project_id.as_str(), context.project_name.as_str()), ("p1", "p1 name"));
    assert_eq!(context.roles, ["Member", "reader"]);
    assert_eq!(
        (context.user_domain_id.as_deref(), context.project_domain_id.as_deref()),
        (Some("default"), Some("default"))
    );
    assert_eq!((context.is_admin, context.system_scope, context.domain_id, context.service), (false, None, None, None));
    let known = fake.known();
    assert_eq!(known.logins[0]["auth"]["scope"]["project"], json!({"name": "service", "domain": {"id": "default"}}));
    assert_eq!((known.looks[0].header("X-Auth-Token"), known.looks[0].header("X-Subject-Token")), ("own-1", "good"));
}

#[tokio::test]
async fn scopes_other_than_a_project() {
    let (fake, keystone) = fake().await;
    let mut system = token("root", "", &["admin"], 3600);
    system.as_object_mut().unwrap().remove("project");
    system["system"] = json!({"all": true});
    fake.grant("system", system);
    let mut domain = token("boss", "", &["admin"], 3600);
    domain.as_object_mut().unwrap().remove("project");
    domain["domain"] = json!({"id": "d1", "name": "D1"});
    domain["is_admin_project"] = json!(false);
    fake.grant("domain", domain);
    let context = keystone.authenticate(&asked(&[("X-Auth-Token", "system")])).await.unwrap();
    assert_eq!(
        (context.system_scope.as_deref(), context.project_id.as_str(), context.is_admin),
        (Some("all"), "", true)
    );
    let context = keystone.authenticate(&asked(&[("X-Auth-Token", "domain")])).await.unwrap();
    assert_eq!((context.domain_id.as_deref(), context.is_admin_project), (Some("d1"), Some(false)));
}

#[tokio::test]
async fn without_a_valid_token_the_answer_says_where_to_get_one() {
    let (fake, _) = fake().await;
    let mut options = fake.options();
    options.www_authenticate_uri = Some("https://keystone.example/".into());
    let keystone = with(options);
    for headers in [&[][..], &[("X-Auth-Token", "")], &[("X-Auth-Token", "bad")], &[("X-Service-Token", "good")]] {
        let refused = keystone.authenticate(&asked(headers)).await;
        assert_eq!(challenge(refused), "Keystone uri=\"https://keystone.example/\"", "{headers:?}");
    }
    fake.grant("old", token("u1", "p1", &["member"], -1));
    challenge(keystone.authenticate(&asked(&[("X-Auth-Token", "old")])).await);
}

#[tokio::test]
async fn a_token_is_asked_about_once() {
    let (fake, keystone) = fake().await;
    fake.known().slow = Duration::from_millis(50);
    let keystone = Arc::new(keystone);
    let many: Vec<_> = (0..64)
        .map(|_| {
            let keystone = keystone.clone();
            tokio::spawn(async move { keystone.authenticate(&asked(&[("X-Auth-Token", "good")])).await.is_ok() })
        })
        .collect();
    for one in many {
        assert!(one.await.unwrap());
    }
    let known = fake.known();
    assert_eq!((known.looks.len(), known.logins.len()), (1, 1));
}

#[tokio::test]
async fn without_a_cache_every_request_asks() {
    let (fake, _) = fake().await;
    let keystone = with(Options { cache_time: None, ..fake.options() });
    for _ in 0..3 {
        keystone.authenticate(&asked(&[("X-Auth-Token", "good")])).await.unwrap();
    }
    assert_eq!(fake.known().looks.len(), 3);
    fake.known().tokens.remove("good");
    challenge(keystone.authenticate(&asked(&[("X-Auth-Token", "good")])).await);
}

#[tokio::test]
async fn a_token_that_is_remembered_ends_in_time() {
    let (fake, keystone) = fake().await;
    let mut short = token("u1", "p1", &["member"], 0);
    let end = Utc::now() + TimeDelta::milliseconds(300);
    short["expires_at"] = json!(end.to_rfc3339());
    fake.grant("short", short);
    let request = asked(&[("X-Auth-Token", "short")]);
    keystone.authenticate(&request).await.unwrap();
    while Utc::now() < end {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    challenge(keystone.authenticate(&request).await);
    assert_eq!(fake.known().looks.len(), 1);
}

#[tokio::test]
async fn our_own_token_is_renewed_in_time_and_when_it_is_rejected() {
    let (fake, _) = fake().await;
    let keystone = with(Options { cache_time: None, ..fake.options() });
    let request = asked(&[("X-Auth-Token", "good")]);
    fake.known().life = 0;
    keystone.authenticate(&request).await.unwrap();
    assert_eq!(fake.known().logins.len(), 1);
    fake.known().life = 3600;
    keystone.authenticate(&request).await.unwrap();
    keystone.authenticate(&request).await.unwrap();
    assert_eq!(fake.known().logins.len(), 2);
    // Revoked, as by a change of our password.
    fake.known().tokens.remove("own-2");
    keystone.authenticate(&request).await.unwrap();
    assert_eq!(fake.known().logins.len(), 3);
}

#[tokio::test]
async fn while_keystone_is_away_known_tokens_stay_good() {
    let (mut fake, _) = fake().await;
    let keystone = with(Options { cache_time: Some(Duration::ZERO), ..fake.options() });
    let good = asked(&[("X-Auth-Token", "good")]);
    let other = asked(&[("X-Auth-Token", "other")]);
    fake.grant("other", token("u2", "p2", &["member"], 3600));
    keystone.authenticate(&good).await.unwrap();
    fake.stop();
    assert_eq!(keystone.authenticate(&good).await.unwrap().user_id, "u1");
    assert!(matches!(keystone.authenticate(&other).await, Err(Refusal::Unavailable(_))));
    fake.resume().await.unwrap();
    // It is left alone for a moment after it did not answer.
    let back = async {
        while keystone.authenticate(&other).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), back).await.unwrap();
    // What it revoked meanwhile is not believed any more, also not when it goes away again.
    fake.known().tokens.remove("good");
    challenge(keystone.authenticate(&good).await);
    fake.stop();
    assert!(matches!(keystone.authenticate(&good).await, Err(Refusal::Unavailable(_))));
}

#[tokio::test]
async fn without_grace_nobody_is_known_while_keystone_is_away() {
    let (fake, _) = fake().await;
    let options = Options { cache_time: None, grace: Duration::ZERO, ..fake.options() };
    let keystone = with(options);
    let good = asked(&[("X-Auth-Token", "good")]);
    keystone.authenticate(&good).await.unwrap();
    for status in [500, 503, 429] {
        fake.known().broken = Some(status);
        assert!(matches!(keystone.authenticate(&good).await, Err(Refusal::Unavailable(_))), "{status}");
    }
}

#[tokio::test]
async fn a_wrong_password_of_ours_is_not_the_users_fault() {
    let (fake, _) = fake().await;
    let login = Login::ApplicationCredential { id: "a".into(), secret: "b".into() };
    let keystone = with(Options { login, ..fake.options() });
    let refused = keystone.authenticate(&asked(&[("X-Auth-Token", "good")])).await;
    assert!(matches!(refused, Err(Refusal::Unavailable(_))), "{refused:?}");
}

#[tokio::test]
async fn a_service_may_act_for_a_token_that_has_expired() {
    let (fake, keystone) = fake().await;
    fake.grant("old", token("u1", "p1", &["member"], -60));
    fake.grant("nova", token("nova", "service", &["service", "admin"], 3600));
    let context = keystone.authenticate(&asked(&[("X-Auth-Token", "old"), ("X-Service-Token", "nova")])).await.unwrap();
    assert_eq!((context.user_id.as_str(), context.is_admin), ("u1", false));
    let service = context.service.unwrap();
    assert_eq!((service.user_id.as_str(), service.roles.join(",").as_str()), ("nova", "service,admin"));
    // Alone it is worth nothing, also right after that.
    challenge(keystone.authenticate(&asked(&[("X-Auth-Token", "old")])).await);
    // Not everybody is a service.
    challenge(keystone.authenticate(&asked(&[("X-Auth-Token", "good"), ("X-Service-Token", "good")])).await);
    let lenient = with(Options { service_roles_required: false, ..fake.options() });
    let context = lenient.authenticate(&asked(&[("X-Auth-Token", "good"), ("X-Service-Token", "good")])).await.unwrap();
    assert_eq!(context.service.unwrap().user_id, "u1");
    challenge(lenient.authenticate(&asked(&[("X-Auth-Token", "old"), ("X-Service-Token", "good")])).await);
}

#[tokio::test]
async fn the_catalog_says_where_keystone_is() {
    let (fake, _) = fake().await;
    let second = FakeKeystone::start().await.unwrap();
    second.grant("own-1", token("neutron", "service", &["service"], 3600));
    second.grant("elsewhere", token("u9", "p9", &["member"], 3600));
    fake.known().catalog = json!([{"type": "identity", "name": "keystone", "id": "x", "endpoints": [
        {"interface": "public", "region": "A", "region_id": "A", "url": "http://127.0.0.1:1/", "id": "1"},
        {"interface": "internal", "region": "B", "region_id": "B", "url": "http://127.0.0.1:1/", "id": "2"},
        {"interface": "internal", "region": "A", "region_id": "A", "url": format!("{}/v3/", second.url()), "id": "3"},
    ]}]);
    let keystone = with(Options { region: Some("A".into()), ..fake.options() });
    let context = keystone.authenticate(&asked(&[("X-Auth-Token", "elsewhere")])).await.unwrap();
    assert_eq!(context.user_id, "u9");
}

#[tokio::test]
async fn access_rules_narrow_a_token() {
    let (fake, _) = fake().await;
    let mut narrow = token("u1", "p1", &["member"], 3600);
    narrow["application_credential"] = json!({"id": "a", "name": "a", "restricted": true, "access_rules": [
        {"id": "1", "service": "network", "method": "GET", "path": "/v2.0/networks/*"},
        {"id": "2", "service": "compute", "method": "GET", "path": "/**"},
    ]});
    fake.grant("narrow", narrow);
    let keystone = with(Options { service_type: Some("network".into()), ..fake.options() });
    let ask = |method: &str, path: &str| {
        let request = Request::builder().method(method).uri(path).header("X-Auth-Token", "narrow");
        request.body(()).unwrap().into_parts().0
    };
    keystone.authenticate(&ask("GET", "/v2.0/networks/a")).await.unwrap();
    for request in [ask("GET", "/v2.0/networks"), ask("DELETE", "/v2.0/networks/a"), ask("GET", "/v2.0/networks/a/b")] {
        challenge(keystone.authenticate(&request).await);
    }
    challenge(with(fake.options()).authenticate(&ask("GET", "/v2.0/networks/a")).await);
}

#[test]
fn paths_match_patterns() {
    for (pattern, path, expected) in [
        ("/v2.0/networks", "/v2.0/networks", true),
        ("/v2.0/networks", "/v2.0/networks/", false),
        ("/v2.0/*", "/v2.0/ports", true),
        ("/v2.0/*", "/v2.0/", false),
        ("/v2.0/*/a", "/v2.0/x/y/a", false),
        ("/v2.0/{id}/tags", "/v2.0/x/tags", true),
        ("/**", "/v2.0/x/y", true),
        ("**/tags", "/v2.0/x/tags", true),
        ("/v2.0/p*", "/v2.0/ports", true),
        ("", "", true),
        ("/a{b", "/a{b", true),
    ] {
        assert_eq!(access::matches(pattern, path), expected, "{pattern} {path}");
    }
    let long = "/".repeat(4000);
    assert!(!access::matches(&"**".repeat(2000), "x") || access::matches(&"**/".repeat(200), &long));
}

#[test]
fn any_address_of_keystone_will_do() {
    for (given, made) in [
        ("http://k:5000", "http://k:5000/v3"),
        ("http://k:5000/", "http://k:5000/v3"),
        ("http://k/identity/v3/", "http://k/identity/v3"),
        ("http://k:35357/v2.0", "http://k:35357/v3"),
    ] {
        assert_eq!(session::versioned(given), made);
    }
}
