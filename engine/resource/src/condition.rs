use schema::{Kind, Value};

/// A piece of SQL for a WHERE clause, with its arguments. Columns are written with their table's name.
#[derive(Clone, Debug)]
pub struct Condition {
    pub sql: String,
    pub args: Vec<store::Value>,
}

impl Condition {
    pub fn new(sql: impl Into<String>, args: Vec<store::Value>) -> Condition {
        Condition { sql: sql.into(), args }
    }

    /// True for no row.
    pub fn never() -> Condition {
        Condition::new("1 = 0", Vec::new())
    }

    pub fn any(conditions: Vec<Condition>) -> Condition {
        Condition::join(conditions, " OR ", "1 = 0")
    }

    pub fn all(conditions: Vec<Condition>) -> Condition {
        Condition::join(conditions, " AND ", "1 = 1")
    }

    fn join(conditions: Vec<Condition>, with: &str, none: &str) -> Condition {
        if conditions.is_empty() {
            return Condition::new(none, Vec::new());
        }
        let mut args = Vec::new();
        let mut parts = Vec::with_capacity(conditions.len());
        for condition in conditions {
            parts.push(condition.sql);
            args.extend(condition.args);
        }
        Condition::new(format!("({})", parts.join(with)), args)
    }

    /// `column` is one of `values`.
    pub fn one_of(column: &str, mut values: Vec<store::Value>) -> Condition {
        match values.len() {
            0 => Condition::never(),
            1 => Condition::new(format!("{column} = ?"), values),
            _ => Condition::new(format!("{column} IN (??)"), vec![store::Value::Set(std::mem::take(&mut values))]),
        }
    }
}

/// A JSON value as an argument for a column of that kind.
pub fn to_store(kind: &Kind, value: &Value) -> store::Value {
    match (kind, value) {
        (_, Value::Null) => store::Value::Null,
        (Kind::Dict | Kind::JsonList(_), value) => {
            let empty =
                value.as_object().is_some_and(serde_json::Map::is_empty) || value.as_array().is_some_and(Vec::is_empty);
            store::Value::Text(if empty && matches!(kind, Kind::Dict) { String::new() } else { value.to_string() })
        }
        (_, Value::Bool(flag)) => store::Value::Bool(*flag),
        (_, Value::Number(number)) => number.as_i64().map_or(store::Value::Null, store::Value::Int),
        (_, Value::String(text)) => store::Value::Text(text.clone()),
        (_, other) => store::Value::Text(other.to_string()),
    }
}

/// A column of that kind as a JSON value.
pub fn from_store(kind: &Kind, value: store::Value) -> Value {
    match (kind, value) {
        (Kind::Dict, store::Value::Null) => Value::Object(serde_json::Map::new()),
        (Kind::JsonList(_), store::Value::Null) => Value::Array(Vec::new()),
        (_, store::Value::Null) => Value::Null,
        (Kind::Bool, store::Value::Int(number)) => Value::Bool(number != 0),
        (Kind::Dict, store::Value::Text(text)) => {
            serde_json::from_str(&text).unwrap_or_else(|_| Value::Object(serde_json::Map::new()))
        }
        (Kind::JsonList(_), store::Value::Text(text)) => {
            serde_json::from_str(&text).unwrap_or_else(|_| Value::Array(Vec::new()))
        }
        (Kind::Time, store::Value::Text(mut text)) => {
            // Kept as "YYYY-MM-DD HH:MM:SS", shown as ISO 8601 in UTC; fractions are not shown.
            text.truncate(19);
            let mut text = text.replacen(' ', "T", 1);
            text.push('Z');
            Value::String(text)
        }
        (_, store::Value::Bool(flag)) => Value::Bool(flag),
        (_, store::Value::Int(number)) => Value::from(number),
        (_, store::Value::Text(text)) => Value::String(text),
        (_, store::Value::Time(time)) => Value::String(time.format("%Y-%m-%dT%H:%M:%SZ").to_string()),
        (_, store::Value::Set(_)) => Value::Null,
    }
}

/// A filter's text as an argument for a column of that kind; the error says what is wrong with it.
pub fn column_value(kind: &Kind, text: &str) -> Result<store::Value, String> {
    match kind {
        // A uuid that is none matches nothing, as any other text.
        Kind::Uuid
        | Kind::Text { .. }
        | Kind::NonBlank { .. }
        | Kind::Name { .. }
        | Kind::OneOf(_)
        | Kind::Time
        | Kind::Dict
        | Kind::JsonList(_) => Ok(store::Value::Text(text.to_owned())),
        // What is well formed but out of range, or is no address, is the value of no row.
        Kind::Ip => {
            Ok(store::Value::Text(text.parse::<std::net::IpAddr>().map_or(text.to_owned(), |ip| ip.to_string())))
        }
        Kind::Int { .. } | Kind::OneOfInts(_) if text.trim().parse::<i64>().is_ok() => {
            Ok(text.trim().parse().map_or(store::Value::Null, store::Value::Int))
        }
        _ => kind.convert(Value::String(text.to_owned())).map(|value| to_store(kind, &value)),
    }
}
