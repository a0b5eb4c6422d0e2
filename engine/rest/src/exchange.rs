//! One request and its answer: the passes in their order.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, LazyLock};

use axum::body::Body;
use axum::extract::Request;
use axum::http::Method;
use axum::http::request::Parts;
use axum::response::Response;
use futures::FutureExt;
use schema::Fault;
use tracing::Instrument;

use crate::fault::{panicked, respond};
use crate::origin::Origin;
use crate::request_id::Ids;
use crate::rest::Inner;
use crate::verbs::Call;
use crate::{Connection, ROOT, access, caller, fault, if_match, input, media, pages, pairs, request_id};

/// Answers a request, whatever it is. The ids are in the span of everything that happens meanwhile.
pub async fn run(inner: Arc<Inner>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let ids = request_id::assign(&parts.headers);
    let peer = parts.extensions.get::<Connection>().and_then(|connection| connection.peer);
    let entry = access::Entry::new(&parts.method, &parts.uri, peer);
    let span = tracing::info_span!("request", request.id = ids.request, global_request.id = ids.global);
    async {
        let mut route: Arc<str> = UNKNOWN.clone();
        let answered = AssertUnwindSafe(answer(&inner, &parts, body, &ids, &mut route)).catch_unwind().await;
        let mut response = answered.unwrap_or_else(|payload| respond(&panicked(payload)));
        request_id::mark(response.headers_mut(), &ids.request);
        entry.finish(&route, &response, inner.options.slow);
        response
    }
    .instrument(span)
    .await
}

/// The route of requests that have none.
static UNKNOWN: LazyLock<Arc<str>> = LazyLock::new(|| Arc::from("unknown"));

async fn answer(inner: &Arc<Inner>, parts: &Parts, body: Body, ids: &Ids, route: &mut Arc<str>) -> Response {
    let origin = Origin::of(parts, &inner.options);
    let path = parts.uri.path();
    if let Some((label, response)) = pages::open(&parts.method, path, &parts.headers, &origin, &inner.options) {
        *route = Arc::from(label);
        return response;
    }
    let below = path.strip_prefix(ROOT).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let Some(below) = below else { return respond(&fault::not_found()) };
    let context = match caller::identify(inner, parts, ids).await {
        Ok(context) => context,
        Err(response) => return *response,
    };
    let call = async {
        media::acceptable(&parts.headers)?;
        let found = inner.routes.find(&parts.method, below)?;
        *route = found.endpoint.label.clone();
        let query = pairs::decode(parts.uri.query())?;
        let if_match = if_match::parse(&parts.headers)?;
        let body = match parts.method {
            Method::GET | Method::OPTIONS => None,
            _ => input::parse(&input::read(&parts.headers, body, &inner.options).await?)?,
        };
        Ok(Call { context, target: found.endpoint.target.clone(), params: found.params, query, if_match, body, origin })
    };
    let result = match call.await {
        Ok(call) if matches!(parts.method, Method::GET | Method::OPTIONS) => call.run(inner).await,
        Ok(call) => to_its_end(inner, call).await,
        Err(fault) => Err(fault),
    };
    result.unwrap_or_else(|fault: Fault| respond(&fault))
}

/// Runs a write even if its client goes away meanwhile, so that what follows a commit is not lost with the connection.
async fn to_its_end(inner: &Arc<Inner>, call: Call) -> Result<Response, Fault> {
    let own = inner.clone();
    let write = async move { call.run(&own).await }.in_current_span();
    match inner.writes.spawn(write).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(payload) => Err(panicked(payload)),
            Err(error) => Err(Fault::unavailable(error)),
        },
    }
}
