//! `extra_dhcp_opts`: DHCP options of single ports, rows of `extradhcpopts`. One option has one value per IP version; an update sets
//! the named options, and removes those whose value is null.

use resource::{Op, new_id};
use schema::{Attr, Default, Fault, Field, Kind, Record, Value};

use super::DHCP_OPTIONS;

/// Options whose value may be blank: it says that there is no router, or no route.
const BLANK: &[&str] = &["router", "classless-static-route"];

fn one_line(value: &Value, max: usize) -> Result<String, String> {
    let Some(text) = value.as_str() else { return Err(format!("'{value}' is not a string")) };
    if text.chars().any(|c| c == '\n' || c == '\r' || c == '\0') {
        return Err("it spans several lines; an option has one".into());
    }
    if text.chars().count() > max {
        return Err(format!("'{text}' exceeds the maximum length of {max} characters"));
    }
    Ok(text.to_owned())
}

fn option(value: Value) -> Result<Value, String> {
    const FIELDS: &[Field] = &[
        Field::new("opt_name", Kind::Text { max: 64 }).required(),
        Field::new("opt_value", Kind::Text { max: 255 }).required().nullable(),
        Field::new("ip_version", Kind::Int { min: 4, max: 6 }),
    ];
    let value = Kind::Object(FIELDS).convert(value)?;
    let name = one_line(&value["opt_name"], 64).map_err(|why| format!("opt_name: {why}"))?;
    if name.trim().is_empty() {
        return Err("opt_name: blank strings are not permitted".into());
    }
    if !value["opt_value"].is_null() {
        let text = one_line(&value["opt_value"], 255).map_err(|why| format!("opt_value: {why}"))?;
        if text.trim().is_empty() && !BLANK.contains(&name.as_str()) {
            return Err(format!("opt_value: the option '{name}' needs a value"));
        }
    }
    let version = value.get("ip_version").and_then(Value::as_i64).unwrap_or(4);
    if version == 5 {
        return Err("ip_version: 5 is not one of 4, 6".into());
    }
    let mut value = value;
    value["ip_version"] = Value::from(version);
    Ok(value)
}

/// The reference refuses all that is wrong with options as `InvalidInput`.
fn options(value: Value) -> Result<Value, Fault> {
    Kind::List { of: &Kind::Custom(option), unique: false }
        .convert(value)
        .map_err(|why| Fault::invalid_input(format!("Invalid input for operation: extra_dhcp_opts: {why}.")))
}

pub const ATTR: Attr = Attr::new("extra_dhcp_opts", Kind::Judged(options))
    .nullable()
    .post()
    .put()
    .default(Default::Null)
    .no_filter()
    .child(
        "extradhcpopts",
        "port_id",
        &[("ip_version", "ip_version"), ("opt_name", "opt_name"), ("opt_value", "opt_value")],
        "opt_name, ip_version",
        false,
    );

type Named = (String, i64);

fn name_of(option: &Value) -> Named {
    (option["opt_name"].as_str().unwrap_or_default().to_owned(), option["ip_version"].as_i64().unwrap_or(4))
}

fn doubled(list: &[Value]) -> Result<(), Fault> {
    for (i, option) in list.iter().enumerate() {
        if list[..i].iter().any(|other| name_of(other) == name_of(option)) {
            let message = format!(
                "Invalid input for extra_dhcp_opts. Reason: the option '{}' is given twice for IP version {}.",
                option["opt_name"].as_str().unwrap_or_default(),
                option["ip_version"]
            );
            return Err(Fault::bad_request(message));
        }
    }
    Ok(())
}

/// Checks the options of a new port; those without a value say nothing.
pub fn settle(record: &mut Record) -> Result<(), Fault> {
    let list = record.get(DHCP_OPTIONS).unwrap_or_default();
    doubled(list)?;
    let kept: Vec<Value> = list.iter().filter(|option| !option["opt_value"].is_null()).cloned().collect();
    record.set("extra_dhcp_opts", kept);
    Ok(())
}

/// What the options of a port are after an update that names some of them.
pub fn merge(old: &Record, new: &mut Record) -> Result<(), Fault> {
    let named = new.get(DHCP_OPTIONS).unwrap_or_default();
    doubled(named)?;
    let mut merged: Vec<Value> = old.get(DHCP_OPTIONS).unwrap_or_default().to_vec();
    for option in named {
        merged.retain(|kept| name_of(kept) != name_of(option));
        if !option["opt_value"].is_null() {
            merged.push(option.clone());
        }
    }
    merged.sort_by_key(name_of);
    new.set("extra_dhcp_opts", merged);
    Ok(())
}

pub async fn store(op: &mut Op<'_>, record: &Record, replace: bool) -> Result<(), Fault> {
    if replace {
        op.txn.execute("DELETE FROM extradhcpopts WHERE port_id = ?", &[record.id().into()]).await?;
    }
    let options = record.get(DHCP_OPTIONS).unwrap_or_default();
    if options.is_empty() {
        return Ok(());
    }
    let rows = options
        .iter()
        .map(|option| {
            let (name, version) = name_of(option);
            let value = option["opt_value"].as_str().unwrap_or_default();
            vec![new_id().into(), record.id().into(), name.into(), value.into(), version.into()]
        })
        .collect();
    op.txn.insert_many("extradhcpopts", &["id", "port_id", "opt_name", "opt_value", "ip_version"], rows).await?;
    Ok(())
}
