//! Names of ports: `dns_name` and `dns_domain`, kept in `portdnses`, and the names that the cloud's DHCP servers answer with.

use resource::Op;
use schema::{Attr, Default, Extend, Fault, Kind, Record, Value};

use super::{DNS_INTEGRATION, FIXED_IPS};
use crate::network::{dns_domain, is_label};

/// A host name: one label, or a name with a final dot, or without one to which the cloud's domain is added.
fn dns_name(value: Value) -> Result<Value, Fault> {
    let Value::String(text) = value else {
        let message = format!("Invalid input for operation: dns_name: {value} is not a string.");
        return Err(Fault::invalid_input(message));
    };
    let lower = text.to_ascii_lowercase();
    if lower.is_empty() {
        return Ok(Value::from(""));
    }
    let name = lower.strip_suffix('.').unwrap_or(&lower);
    // A name of one label may be a number, the top of a longer one may not (RFC 1123, 2.1).
    let top = name.rsplit_once('.').map(|(_, top)| top);
    let why = if lower.len() > 255 {
        "exceeds the maximum length of 255 characters of a host name"
    } else if !name.split('.').all(is_label) {
        "is not a host name: labels have letters, digits and inner hyphens, 1 to 63 of them"
    } else if top.is_some_and(|top| top.bytes().all(|b| b.is_ascii_digit())) {
        "is not a host name: its last label is a number"
    } else {
        return Ok(Value::from(lower));
    };
    Err(invalid_name(&lower, why))
}

fn invalid_name(name: &str, why: &str) -> Fault {
    Fault::bad_request(format!("Invalid input for dns_name. Reason: '{name}' {why}."))
}

pub const NAME: Attr = Attr::new("dns_name", Kind::Judged(dns_name))
    .post()
    .put()
    .default(Default::Text(""))
    .side("portdnses", "port_id", "dns_name", Default::Text(""))
    .no_filter()
    .no_sort();
pub const DOMAIN: Attr = Attr::new("dns_domain", Kind::Judged(dns_domain))
    .post()
    .put()
    .default(Default::Text(""))
    .side("portdnses", "port_id", "dns_domain", Default::Text(""))
    .no_filter()
    .no_sort();
pub const ASSIGNMENT: Attr =
    Attr::new("dns_assignment", Kind::List { of: &Kind::Dict, unique: false }).computed().no_filter();

/// The domain of a network, the default of names that are published elsewhere.
pub static OF_NETWORK: Extend = Extend {
    to: "network",
    extension: Some(&DNS_INTEGRATION),
    attrs: &[Attr::new("dns_domain", Kind::Judged(dns_domain))
        .post()
        .put()
        .default(Default::Text(""))
        .side_written("networkdnsdomains", "network_id", "dns_domain", Default::Text(""))
        .no_filter()
        .no_sort()],
};

/// The configured domain with its final dot; empty for none.
pub fn absolute(domain: &str) -> String {
    if domain.is_empty() || domain.ends_with('.') { domain.to_owned() } else { format!("{domain}.") }
}

/// A name and its domain together may not exceed what DNS allows (RFC 1035, 2.3.4).
pub fn check(record: &Record, domain: &str) -> Result<(), Fault> {
    let name = record.text("dns_name");
    let own = absolute(domain);
    if name.ends_with('.') {
        // Names are answered in the cloud's domain only.
        let below = name.strip_suffix(&own).is_some_and(|host| host.ends_with('.') && !own.is_empty());
        return if below {
            Ok(())
        } else {
            Err(invalid_name(name, &format!("is a FQDN, which must be in the domain '{own}'; send the host name only")))
        };
    }
    let domain = if record.has("dns_domain") && !record.text("dns_domain").is_empty() {
        record.text("dns_domain")
    } else {
        domain
    };
    if name.is_empty() {
        return Ok(());
    }
    if name.len() + 1 + domain.len() > 255 {
        return Err(Fault::bad_request(format!(
            "Invalid input for dns_name. Reason: '{name}' with the domain '{domain}' is longer than 255 characters."
        )));
    }
    Ok(())
}

/// Name and fully qualified name of each address, as the DHCP agents serve them.
pub fn assignment(record: &Record, domain: &str) -> Vec<Value> {
    let domain = absolute(domain);
    let given = record.text("dns_name");
    // With the default domain, names are not ours to give (the reference's rule for `openstacklocal`).
    let own = if domain.is_empty() || domain == "openstacklocal." { "" } else { given };
    record
        .get(FIXED_IPS)
        .unwrap_or_default()
        .iter()
        .filter_map(|fixed| fixed["ip_address"].as_str())
        .map(|ip| {
            let host = if own.is_empty() { format!("host-{}", ip.replace(['.', ':'], "-")) } else { own.to_owned() };
            let fqdn = if host.ends_with('.') || domain.is_empty() { host.clone() } else { format!("{host}.{domain}") };
            serde_json::json!({"ip_address": ip, "hostname": host, "fqdn": fqdn})
        })
        .collect()
}

/// Stores the names; no row stands for no names.
pub async fn store(op: &mut Op<'_>, record: &Record, replace: bool) -> Result<(), Fault> {
    let (name, domain) = (record.text("dns_name").to_owned(), record.text("dns_domain").to_owned());
    if replace {
        let sql = "UPDATE portdnses SET dns_name = ?, dns_domain = ? WHERE port_id = ?";
        let args = [name.as_str().into(), domain.as_str().into(), record.id().into()];
        if op.txn.execute(sql, &args).await? > 0 {
            return Ok(());
        }
    }
    if name.is_empty() && domain.is_empty() {
        return Ok(());
    }
    let row = [
        ("port_id", record.id().into()),
        ("current_dns_name", "".into()),
        ("current_dns_domain", "".into()),
        ("previous_dns_name", "".into()),
        ("previous_dns_domain", "".into()),
        ("dns_name", name.into()),
        ("dns_domain", domain.into()),
    ];
    op.txn.insert("portdnses", &row).await?;
    Ok(())
}
