//! Who asks, by the server's [`identity::Authenticator`].

use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use identity::Refusal;
use policy::Context;
use schema::Fault;

use crate::fault::{JSON, respond};
use crate::request_id::Ids;
use crate::rest::Inner;

/// The context that the request runs under, or the answer that turns it away.
pub async fn identify(inner: &Inner, parts: &Parts, ids: &Ids) -> Result<Context, Box<Response>> {
    match inner.authenticator.authenticate(parts).await {
        Ok(mut context) => {
            inner.system.policy.settle(&mut context);
            context.request_id.clone_from(&ids.request);
            context.global_request_id.clone_from(&ids.global);
            Ok(context)
        }
        Err(Refusal::Unauthorized { challenge }) => Err(Box::new(unauthorized(challenge.as_deref()))),
        Err(Refusal::Malformed(why)) => Err(Box::new(respond(&Fault::bad_request(why)))),
        Err(Refusal::Unavailable(source)) => Err(Box::new(respond(&Fault::unavailable(source)))),
    }
}

/// In the form of keystonemiddleware, which answers before the API does.
fn unauthorized(challenge: Option<&str>) -> Response {
    let message = "The request you have made requires authentication.";
    let body = format!(r#"{{"error": {{"code": 401, "title": "Unauthorized", "message": "{message}"}}}}"#);
    let head: [(HeaderName, HeaderValue); 1] = [(header::CONTENT_TYPE, JSON)];
    let mut response = (StatusCode::UNAUTHORIZED, head, body).into_response();
    if let Some(challenge) = challenge.and_then(|text| HeaderValue::from_str(text).ok()) {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
}
