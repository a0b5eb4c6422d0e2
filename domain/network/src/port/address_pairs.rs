//! `allowed_address_pairs`: further addresses that a port may send from, rows of `allowedaddresspairs`.

use resource::Op;
use schema::{Attr, Default, Fault, Field, Kind, Record, Value};
use types::{Mac, cidr};

use super::{MAC, PAIRS, faults};

/// An address or a prefix; prefixes keep what the user wrote, masked.
fn address(value: Value) -> Result<Value, String> {
    let Some(text) = value.as_str() else { return Err(format!("'{value}' is not a string")) };
    let bad = || format!("'{text}' is not a valid IP address or prefix");
    if text.contains('/') {
        return cidr::parse(text).map(|net| Value::from(net.to_string())).ok_or_else(bad);
    }
    text.parse::<std::net::IpAddr>().map(|ip| Value::from(ip.to_string())).map_err(|_| bad())
}

/// The address space's own multicast MACs are refused (extension `aap-reject-multicast` of the reference).
fn mac(value: Value) -> Result<Value, String> {
    let value = Kind::Mac.convert(value)?;
    let multicast = value.as_str().and_then(|text| text.parse::<Mac>().ok()).is_some_and(|mac| mac.is_multicast());
    if multicast { Err(format!("{value} is a multicast address")) } else { Ok(value) }
}

const PAIR: &[Field] =
    &[Field::new("mac_address", Kind::Custom(mac)), Field::new("ip_address", Kind::Custom(address)).required()];

fn pair(value: Value) -> Result<Value, Fault> {
    if value.as_object().is_some_and(|pair| !pair.contains_key("ip_address")) {
        return Err(faults::pair_without_address());
    }
    Kind::Object(PAIR)
        .convert(value)
        .map_err(|why| Fault::bad_request(format!("Invalid input for allowed_address_pairs. Reason: {why}.")))
}

pub const ATTR: Attr = Attr::new("allowed_address_pairs", Kind::List { of: &Kind::Judged(pair), unique: false })
    .nullable()
    .post()
    .put()
    .default(Default::Unset)
    .no_filter()
    .enforce()
    .enforce_members(&["mac_address", "ip_address"])
    .child(
        "allowedaddresspairs",
        "port_id",
        &[("mac_address", "mac_address"), ("ip_address", "ip_address")],
        "mac_address, ip_address",
        false,
    );

/// Checks the pairs of a request and gives those without a MAC the port's own.
pub fn settle(record: &mut Record, max: usize) -> Result<(), Fault> {
    let own = record.get(MAC).map(|mac| mac.to_string()).unwrap_or_default();
    let mut settled: Vec<Value> = Vec::new();
    for pair in record.get(PAIRS).unwrap_or_default() {
        let mac = pair.get("mac_address").and_then(Value::as_str).unwrap_or(&own);
        let ip = pair.get("ip_address").and_then(Value::as_str).unwrap_or_default();
        let pair = serde_json::json!({"mac_address": mac, "ip_address": ip});
        if settled.contains(&pair) {
            return Err(faults::doubled_pair(mac, ip));
        }
        settled.push(pair);
    }
    if settled.len() > max {
        return Err(faults::too_many_pairs(max));
    }
    record.set("allowed_address_pairs", settled);
    Ok(())
}

/// Replaces the stored pairs by those of the record.
pub async fn store(op: &mut Op<'_>, record: &Record, replace: bool) -> Result<(), Fault> {
    if replace {
        op.txn.execute("DELETE FROM allowedaddresspairs WHERE port_id = ?", &[record.id().into()]).await?;
    }
    let pairs = record.get(PAIRS).unwrap_or_default();
    if pairs.is_empty() {
        return Ok(());
    }
    let text = |pair: &Value, name: &str| store::Value::from(pair[name].as_str().unwrap_or_default());
    let rows = pairs
        .iter()
        .map(|pair| vec![record.id().into(), text(pair, "mac_address"), text(pair, "ip_address")])
        .collect();
    op.txn.insert_many("allowedaddresspairs", &["port_id", "mac_address", "ip_address"], rows).await?;
    Ok(())
}
