//! Counters of messages. Labels are topic and method only: their number is bounded by the API, not by hosts.

use std::time::Duration;

/// `neutrino_rpc_sent_total{kind,topic,method,outcome}`.
pub(crate) fn sent(kind: &'static str, topic: &str, method: &str, outcome: &'static str) {
    metrics::counter!("neutrino_rpc_sent_total", "kind" => kind, "topic" => topic.to_owned(), "method" => method.to_owned(), "outcome" => outcome)
        .increment(1);
}

/// `neutrino_rpc_handled_total{topic,method,outcome}` and `neutrino_rpc_handle_seconds{method}`.
pub(crate) fn handled(topic: &str, method: &str, outcome: &'static str, took: Duration) {
    metrics::counter!("neutrino_rpc_handled_total", "topic" => topic.to_owned(), "method" => method.to_owned(), "outcome" => outcome)
        .increment(1);
    metrics::histogram!("neutrino_rpc_handle_seconds", "method" => method.to_owned()).record(took.as_secs_f64());
}
