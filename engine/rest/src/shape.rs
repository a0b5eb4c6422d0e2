//! Records as JSON text: which attributes, under which names. Nothing is copied into maps; the text is written from the record.

use schema::{Model, Record, Value};

/// The attribute whose older name is shown and understood beside it.
pub const OWNER: &str = "project_id";
pub const OLD_OWNER: &str = "tenant_id";

/// The attributes of an answer, in the order of the model.
pub struct Shape {
    columns: Vec<Column>,
}

struct Column {
    position: usize,
    /// `"name":`
    key: Box<[u8]>,
}

impl Shape {
    /// All visible attributes. The owner has both of its names.
    pub fn of(model: &Model) -> Shape {
        let mut columns = Vec::with_capacity(model.attrs.len() + 1);
        for (position, attr) in model.attrs.iter().enumerate().filter(|(_, attr)| attr.visible) {
            let mut add =
                |name: &str| columns.push(Column { position, key: format!("\"{name}\":").into_bytes().into() });
            if attr.name == OWNER && model.resource.owner == Some(OWNER) {
                add(OLD_OWNER);
            }
            add(attr.name);
        }
        Shape { columns }
    }

    /// Only the named attributes; unknown names are nothing.
    pub fn only(&self, fields: &[&str]) -> Shape {
        let named = |column: &&Column| fields.iter().any(|field| field.as_bytes() == column.name());
        let columns = self.columns.iter().filter(named);
        Shape { columns: columns.map(|column| Column { position: column.position, key: column.key.clone() }).collect() }
    }

    /// Appends the record as a JSON object; attributes that are not set are left out.
    pub fn write(&self, record: &Record, out: &mut Vec<u8>) {
        out.push(b'{');
        let mut first = true;
        for column in &self.columns {
            let Some(value) = record.at(column.position) else { continue };
            if !first {
                out.push(b',');
            }
            first = false;
            out.extend_from_slice(&column.key);
            write_value(value, out);
        }
        out.push(b'}');
    }
}

/// Most values are texts without anything to escape, which a copy writes some times faster than the general way.
pub(crate) fn write_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::String(text) if is_plain(text) => {
            out.push(b'"');
            out.extend_from_slice(text.as_bytes());
            out.push(b'"');
        }
        Value::Array(items) => {
            out.push(b'[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                write_value(item, out);
            }
            out.push(b']');
        }
        Value::Object(members) => {
            out.push(b'{');
            for (i, (name, member)) in members.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                if is_plain(name) {
                    out.push(b'"');
                    out.extend_from_slice(name.as_bytes());
                    out.push(b'"');
                } else {
                    let _ = serde_json::to_writer(&mut *out, name);
                }
                out.push(b':');
                write_value(member, out);
            }
            out.push(b'}');
        }
        // Into a vector, and of a value without keys: cannot fail.
        other => {
            let _ = serde_json::to_writer(&mut *out, other);
        }
    }
}

/// Whether JSON has nothing to escape in it. Without a way out of the loop, so that it looks at many bytes at once.
fn is_plain(text: &str) -> bool {
    !text.bytes().fold(false, |found, byte| found | (byte < 0x20) | (byte == b'"') | (byte == b'\\'))
}

impl Column {
    fn name(&self) -> &[u8] {
        &self.key[1..self.key.len() - 2]
    }
}
