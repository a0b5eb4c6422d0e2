//! Records as JSON text: which attributes, under which names. Nothing is copied into maps; the text is written from the record.

use schema::{Model, Record};

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
            // Into a vector, and of a value that has only text keys: cannot fail.
            let _ = serde_json::to_writer(&mut *out, value);
        }
        out.push(b'}');
    }
}

impl Column {
    fn name(&self) -> &[u8] {
        &self.key[1..self.key.len() - 2]
    }
}
