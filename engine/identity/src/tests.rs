use http::request::Parts;
use http::{HeaderValue, Request};

use crate::{Authenticator, Noauth, Refusal};

fn headers(pairs: &[(&'static str, &[u8])]) -> Parts {
    let mut request = Request::new(());
    for (name, value) in pairs {
        request.headers_mut().insert(*name, HeaderValue::from_bytes(value).unwrap());
    }
    request.into_parts().0
}

#[tokio::test]
async fn without_headers_everyone_is_the_administrator() {
    let context = Noauth.authenticate(&headers(&[])).await.unwrap();
    assert_eq!((context.project_id.as_str(), context.user_id.as_str(), context.is_admin), ("admin", "admin", true));
    assert_eq!(context.roles, ["admin", "member", "reader"]);
}

#[tokio::test]
async fn headers_say_project_user_and_roles() {
    let sent = headers(&[
        ("x-project-id", b"p1"),
        ("x-project-name", b"first"),
        ("x-user-id", b"u1"),
        ("x-roles", b"member, reader,,"),
    ]);
    let context = Noauth.authenticate(&sent).await.unwrap();
    assert_eq!((context.project_id.as_str(), context.project_name.as_str()), ("p1", "first"));
    assert_eq!((context.user_id.as_str(), context.user_name.as_str()), ("u1", "u1"));
    assert_eq!(context.roles, ["member", "reader"]);
    assert!(!context.is_admin);
}

#[tokio::test]
async fn an_empty_list_of_roles_is_no_administrator() {
    let context = Noauth.authenticate(&headers(&[("x-roles", b"")])).await.unwrap();
    assert!(context.roles.is_empty() && !context.is_admin);
    assert!(Noauth.authenticate(&headers(&[("x-roles", b"ADMIN")])).await.unwrap().is_admin);
}

#[tokio::test]
async fn the_older_name_of_a_project_counts() {
    let context = Noauth.authenticate(&headers(&[("x-tenant-id", b"p2")])).await.unwrap();
    assert_eq!((context.project_id.as_str(), context.project_name.as_str()), ("p2", "p2"));
}

#[tokio::test]
async fn what_no_database_can_hold_is_refused() {
    for sent in [headers(&[("x-project-id", &[b'p'; 256])]), headers(&[("x-user-id", b"\xff")])] {
        assert!(matches!(Noauth.authenticate(&sent).await, Err(Refusal::Malformed(_))));
    }
    assert!(Noauth.authenticate(&headers(&[("x-project-id", &[b'p'; 255])])).await.is_ok());
}
