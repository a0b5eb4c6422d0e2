use network::port::{DEVICE_ID, DEVICE_OWNER, STATUS};
use schema::{Record, Value};
use serde_json::json;

/// What Nova is told of a port of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub name: &'static str,
    pub server: String,
    pub port: String,
    /// `completed` or `failed`; some events have none.
    pub status: Option<&'static str>,
}

/// Whether the text is a UUID, in one of the forms that Python's `uuid` takes.
fn is_uuid(text: &str) -> bool {
    let text = text.to_ascii_lowercase().replace("urn:", "").replace("uuid:", "");
    let digits: Vec<char> = text.trim_matches(['{', '}']).chars().filter(|c| *c != '-').collect();
    digits.len() == 32 && digits.iter().all(char::is_ascii_hexdigit)
}

/// The instance whose port it is.
fn server(port: &Record) -> Option<String> {
    let server = port.get(DEVICE_ID).filter(|id| is_uuid(id))?;
    port.get(DEVICE_OWNER).filter(|owner| owner.starts_with("compute:"))?;
    Some(server.to_owned())
}

impl Event {
    fn of(port: &Record, name: &'static str, status: Option<&'static str>) -> Option<Event> {
        Some(Event { name, server: server(port)?, port: port.id().to_owned(), status })
    }

    /// The port's addresses or anything else of it changed.
    pub fn changed(port: &Record) -> Option<Event> {
        Event::of(port, "network-changed", None)
    }

    pub fn deleted(port: &Record) -> Option<Event> {
        Event::of(port, "network-vif-deleted", None)
    }

    /// The port was wired, though maybe not on the host that it is bound to: a live migration.
    pub fn plugged(port: &Record) -> Option<Event> {
        Event::of(port, "network-vif-plugged", Some("completed"))
    }

    /// What a change of status says; None for those that say nothing. `before` is None for a new port.
    pub fn of_status(before: Option<&str>, port: &Record) -> Option<Event> {
        match (before, port.get(STATUS)?) {
            (Some("ACTIVE"), "DOWN") => Event::of(port, "network-vif-unplugged", Some("completed")),
            (None | Some("DOWN" | "BUILD"), "ACTIVE") => Event::plugged(port),
            (None | Some("DOWN" | "BUILD"), "ERROR") => Event::of(port, "network-vif-plugged", Some("failed")),
            _ => None,
        }
    }

    pub fn to_json(&self) -> Value {
        let mut event = json!({"name": self.name, "server_uuid": self.server, "tag": self.port});
        if let Some(status) = self.status {
            event["status"] = status.into();
        }
        event
    }
}
