//! Names of log fields, the same in every agent, and the spans that carry them.
//!
//! | field | holds |
//! |---|---|
//! | `agent.type`, `agent.host` | which agent (on every line, from [`agent`]) |
//! | `request.id`, `request.global_id` | the API request behind a message (from [`request`]) |
//! | `rpc.method`, `rpc.topic` | the message |
//! | `network.id`, `subnet.id`, `port.id`, `router.id` | what it is about |
//! | `device` | an interface on the host |
//!
//! A failure is logged once, where it is handled, with its causes; [`chain`] writes them.

use std::error::Error;

use messaging::Context;
use tracing::Span;

/// The span of an agent's whole life.
#[must_use]
pub fn agent(agent_type: &str, host: &str) -> Span {
    tracing::info_span!("agent", agent.type = agent_type, agent.host = host)
}

/// The span of the work for one message.
#[must_use]
pub fn request(context: &Context, method: &str) -> Span {
    tracing::info_span!(
        "rpc",
        rpc.method = method,
        request.id = context.request_id(),
        request.global_id = context.global_request_id()
    )
}

/// An error and its causes on one line.
#[must_use]
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
