//! Events wait here and go to Nova in batches: the first at once, those that come meanwhile after the interval.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::Method;
use identity::keystone::{Ask, Session, SessionError};
use schema::Value;
use serde_json::json;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::{Event, Settings};

/// Events that wait at most; older ones are dropped for newer ones.
const MAX_WAITING: usize = 10_000;
/// Events of one request at most.
const MAX_BATCH: usize = 200;
/// The longest pause between two attempts.
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// For how long an event is sent again. Nova waits for a plugged interface as long (`vif_plugging_timeout`), then gives the instance up.
const PATIENCE: Duration = Duration::from_secs(300);

/// The way to Nova. Dropping it ends the sending.
pub struct Nova {
    pub settings: Settings,
    waiting: Arc<Waiting>,
    sending: JoinHandle<()>,
}

#[derive(Default)]
struct Waiting {
    events: Mutex<VecDeque<(Event, Instant)>>,
    /// Events of the batch under way.
    sent: AtomicUsize,
    /// Something came.
    news: Notify,
    /// A batch is over.
    over: Notify,
}

impl Waiting {
    fn events(&self) -> std::sync::MutexGuard<'_, VecDeque<(Event, Instant)>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Sender {
    settings: Settings,
    session: Session,
    waiting: Arc<Waiting>,
}

/// What became of a batch.
enum Outcome {
    Taken,
    /// The events that have to be sent again.
    Again(Vec<(Event, Instant)>),
}

impl Nova {
    /// Starts to send, with a session that has not asked for a token yet.
    pub fn start(settings: Settings) -> anyhow::Result<Arc<Nova>> {
        let session = Session::new(&settings.login)?;
        let waiting = Arc::new(Waiting::default());
        let sender = Sender { settings: settings.clone(), session, waiting: waiting.clone() };
        let sending = tokio::spawn(sender.run());
        Ok(Arc::new(Nova { settings, waiting, sending }))
    }

    pub fn queue(&self, event: Event) {
        let mut events = self.waiting.events();
        // Nova reads all of the port when it hears of a change; once is enough. So it is for a state that is already the last one told.
        let mut others = events.iter().rev().map(|(waits, _)| waits).filter(|waits| waits.port == event.port);
        let is_told = match event.status {
            None => others.any(|waits| *waits == event),
            Some(_) => others.find(|waits| waits.status.is_some()) == Some(&event),
        };
        if is_told {
            return;
        }
        if events.len() >= MAX_WAITING {
            events.pop_front();
            metrics::counter!("nova_events_total", "outcome" => "dropped").increment(1);
            tracing::warn!("more than {MAX_WAITING} events wait for Nova; the oldest is dropped");
        }
        events.push_back((event, Instant::now()));
        metrics::gauge!("nova_events_waiting").set(events.len() as f64);
        self.waiting.news.notify_one();
    }

    /// Events that have not been sent.
    pub fn waiting(&self) -> usize {
        self.waiting.events().len()
    }

    /// Returns when Nova has taken all events, or after `limit`; how many it has not taken.
    pub async fn drain(&self, limit: Duration) -> usize {
        let left = || self.waiting() + self.waiting.sent.load(Ordering::SeqCst);
        let all = async {
            loop {
                let over = self.waiting.over.notified();
                if left() == 0 {
                    return;
                }
                over.await;
            }
        };
        let _ = tokio::time::timeout(limit, all).await;
        left()
    }
}

impl Drop for Nova {
    fn drop(&mut self) {
        self.sending.abort();
    }
}

impl Sender {
    async fn run(self) {
        let mut pause = Duration::ZERO;
        loop {
            let batch: Vec<_> = {
                let mut events = self.waiting.events();
                let size = events.len().min(MAX_BATCH);
                self.waiting.sent.store(size, Ordering::SeqCst);
                events.drain(..size).collect()
            };
            if batch.is_empty() {
                self.waiting.news.notified().await;
                continue;
            }
            match self.send(batch).await {
                Outcome::Taken => pause = Duration::ZERO,
                Outcome::Again(batch) => {
                    pause = (pause * 2).clamp(self.settings.interval / 2, MAX_PAUSE);
                    let mut events = self.waiting.events();
                    for event in batch.into_iter().rev() {
                        events.push_front(event);
                    }
                }
            }
            self.waiting.sent.store(0, Ordering::SeqCst);
            self.waiting.over.notify_waiters();
            metrics::gauge!("nova_events_waiting").set(self.waiting.events().len() as f64);
            // What comes meanwhile goes into the next batch.
            tokio::time::sleep(self.settings.interval.max(pause)).await;
        }
    }

    async fn send(&self, batch: Vec<(Event, Instant)>) -> Outcome {
        let events: Vec<Value> = batch.iter().map(|(event, _)| event.to_json()).collect();
        let count = events.len() as u64;
        let id = rest::new_request_id();
        let headers = [
            ("OpenStack-API-Version", "compute 2.1".to_owned()),
            ("X-OpenStack-Nova-API-Version", "2.1".to_owned()),
            ("X-OpenStack-Request-ID", id.clone()),
        ];
        let ask = Ask {
            service: "compute",
            interface: self.settings.interface,
            region: self.settings.region.as_deref(),
            method: Method::POST,
            path: "/os-server-external-events",
            headers: &headers,
            body: &json!({ "events": events }),
        };
        let answer = self.session.request(&ask).await;
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                let error = anyhow::Error::new(error);
                tracing::warn!(error = format!("{error:#}"), count, "Nova was not told; trying again");
                return self.again(batch, matches!(error.downcast_ref(), Some(SessionError::Garbled { .. })));
            }
        };
        match answer.status.as_u16() {
            200 | 207 => {
                let retried = judge(&batch, &answer.body, &id);
                let sent = count - retried.len() as u64;
                metrics::counter!("nova_events_total", "outcome" => "sent").increment(sent);
                if retried.is_empty() { Outcome::Taken } else { self.again(retried, false) }
            }
            // None of the instances is known: they are gone, or of another cell that is not there yet.
            404 => {
                metrics::counter!("nova_events_total", "outcome" => "unknown").increment(count);
                tracing::debug!(request.id = id, "Nova knows none of the instances of {count} events");
                Outcome::Taken
            }
            status if status >= 500 || status == 429 || status == 408 || status == 401 => {
                tracing::warn!(status, count, "Nova could not take events; trying again");
                self.again(batch, false)
            }
            status => {
                metrics::counter!("nova_events_total", "outcome" => "refused").increment(count);
                let body: String = String::from_utf8_lossy(&answer.body).chars().take(500).collect();
                tracing::error!(status, request.id = id, "Nova refuses {count} events: {body}");
                Outcome::Taken
            }
        }
    }

    fn again(&self, mut batch: Vec<(Event, Instant)>, is_hopeless: bool) -> Outcome {
        let all = batch.len();
        batch.retain(|(_, since)| !is_hopeless && since.elapsed() < PATIENCE);
        let given_up = all - batch.len();
        if given_up > 0 {
            metrics::counter!("nova_events_total", "outcome" => "dropped").increment(given_up as u64);
            tracing::error!("{given_up} events are given up: Nova did not take them in {} s", PATIENCE.as_secs());
        }
        if batch.is_empty() { Outcome::Taken } else { Outcome::Again(batch) }
    }
}

/// Reads Nova's word on each event; those that failed on its side are sent again.
fn judge(batch: &[(Event, Instant)], body: &[u8], id: &str) -> Vec<(Event, Instant)> {
    let answer: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
    let Some(events) = answer["events"].as_array() else {
        tracing::error!(request.id = id, "Nova's answer does not say what became of the events");
        return Vec::new();
    };
    let mut again = Vec::new();
    for event in events {
        let code = event["code"].as_i64().unwrap_or(0);
        if code == 200 {
            continue;
        }
        tracing::warn!(request.id = id, code, "Nova did not take {} of port {}", event["name"], event["tag"]);
        let sent = batch.iter().find(|(sent, _)| event["name"] == sent.name && event["tag"] == sent.port.as_str());
        if let (Some(sent), true) = (sent, code >= 500) {
            again.push(sent.clone());
        }
    }
    again
}
