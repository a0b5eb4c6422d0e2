//! What a rule may say, without looking at anything else: pure.

use schema::{Fault, Record, Value};

use super::{DIRECTION, ETHERTYPE, GROUP, PORT_MAX, PORT_MIN, PREFIX, PROTOCOL, REMOTE_ADDRESSES, REMOTE_GROUP};
use crate::faults;
use crate::values::{self, ICMP, IPV6_ICMP, OF_IPV6, WITH_PORTS};

/// All ports that there are; a rule for them is one without ports.
const ALL_PORTS: (i64, i64) = (1, 65535);

/// Brings a rule, or a template of one, into its one form, and checks it.
pub fn settle(rule: &mut Record) -> Result<(), Fault> {
    let ethertype = rule.get::<&str>(ETHERTYPE).unwrap_or("IPv4").to_owned();
    // ICMP for IPv6 once had the names and the number of that for IPv4.
    if ethertype == "IPv6" {
        match rule.get(PROTOCOL) {
            Some("icmp" | "icmpv6") => rule.set("protocol", "ipv6-icmp"),
            Some("1") => rule.set("protocol", "58"),
            _ => {}
        }
    }
    if (rule.get(PORT_MIN), rule.get(PORT_MAX)) == (Some(ALL_PORTS.0), Some(ALL_PORTS.1)) {
        rule.set("port_range_min", Value::Null);
        rule.set("port_range_max", Value::Null);
    }
    let protocol = rule.get::<&str>(PROTOCOL).map(str::to_owned);
    ports(protocol.as_deref(), rule.get(PORT_MIN), rule.get(PORT_MAX))?;
    if let Some(prefix) = rule.get(PREFIX) {
        let is_v6 = prefix.contains(':');
        if is_v6 != (ethertype == "IPv6") {
            return Err(faults::family_of_prefix(&ethertype, prefix));
        }
    }
    if ethertype == "IPv4"
        && let Some(protocol) = &protocol
        && values::number(protocol).is_some_and(|number| OF_IPV6.contains(&number))
    {
        return Err(faults::family_of_protocol(&ethertype, protocol));
    }
    let remotes = [PREFIX, REMOTE_GROUP, REMOTE_ADDRESSES];
    if remotes.iter().filter(|key| rule.get(**key).is_some_and(|text| !text.is_empty())).count() > 1 {
        return Err(faults::several_remotes());
    }
    Ok(())
}

fn ports(protocol: Option<&str>, min: Option<i64>, max: Option<i64>) -> Result<(), Fault> {
    if min.is_none() && max.is_none() {
        return Ok(());
    }
    let Some(protocol) = protocol else { return Err(faults::protocol_required()) };
    let number = values::number(protocol);
    if number.is_some_and(|number| WITH_PORTS.contains(&number)) {
        if min == Some(0) || max == Some(0) {
            return Err(faults::port(&Value::from(0)));
        }
        return match (min, max) {
            (Some(min), Some(max)) if min <= max => Ok(()),
            _ => Err(faults::port_range()),
        };
    }
    if !matches!(number, Some(ICMP | IPV6_ICMP)) {
        return Err(faults::portless_protocol(protocol));
    }
    for (value, attr, field) in [(min, "port_range_min", "type"), (max, "port_range_max", "code")] {
        if let Some(value) = value.filter(|value| !(0..=255).contains(value)) {
            return Err(faults::icmp_value(field, attr, value));
        }
    }
    match (min, max) {
        (None, Some(code)) => Err(faults::icmp_type_missing(code)),
        _ => Ok(()),
    }
}

/// What a rule lets through; rules of one group that are alike say the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Likeness {
    group: Option<String>,
    direction: Option<String>,
    ethertype: Option<String>,
    protocol: Option<u8>,
    ports: (Option<i64>, Option<i64>),
    prefix: Option<String>,
    remote_group: Option<String>,
    remote_addresses: Option<String>,
}

impl Likeness {
    pub fn of(rule: &Record) -> Likeness {
        let text = |key| rule.get::<&str>(key).filter(|text| !text.is_empty()).map(str::to_owned);
        Likeness {
            group: text(GROUP),
            direction: text(DIRECTION),
            ethertype: text(ETHERTYPE),
            protocol: rule.get(PROTOCOL).and_then(values::number),
            ports: (rule.get(PORT_MIN), rule.get(PORT_MAX)),
            // All addresses are no limit.
            prefix: text(PREFIX).filter(|prefix| !matches!(prefix.as_str(), "0.0.0.0/0" | "::/0")),
            remote_group: text(REMOTE_GROUP),
            remote_addresses: text(REMOTE_ADDRESSES),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use schema::Model;
    use serde_json::{Map, json};

    use super::*;
    use crate::rule::SECURITY_GROUP_RULE;

    fn rule(change: Value) -> Record {
        let model = Arc::new(Model::new(&SECURITY_GROUP_RULE, []).unwrap());
        let mut body = Map::new();
        body.insert("security_group_id".into(), json!("g"));
        body.insert("direction".into(), json!("ingress"));
        body.extend(change.as_object().unwrap().clone());
        schema::body::create(&model, body).unwrap().record
    }

    fn settled(change: Value) -> Result<Record, String> {
        let mut rule = rule(change);
        settle(&mut rule).map(|()| rule).map_err(|fault| fault.kind().to_owned())
    }

    #[test]
    fn ports_fit_their_protocol() {
        let with = |protocol: Value, min: Value, max: Value| {
            settled(json!({"protocol": protocol, "port_range_min": min, "port_range_max": max}))
        };
        assert!(with(json!("tcp"), json!(80), json!(90)).is_ok());
        assert!(with(json!("33"), json!(80), json!(80)).is_ok());
        let all = with(json!("tcp"), json!(1), json!(65535)).unwrap();
        assert!(!all.has("port_range_min") && !all.has("port_range_max"));
        for (protocol, min, max, kind) in [
            (json!("tcp"), json!(90), json!(80), "SecurityGroupInvalidPortRange"),
            (json!("tcp"), json!(80), Value::Null, "SecurityGroupInvalidPortRange"),
            (json!("udp"), json!(0), json!(80), "SecurityGroupInvalidPortValue"),
            (Value::Null, json!(80), json!(80), "SecurityGroupProtocolRequiredWithPorts"),
            (json!("gre"), json!(80), json!(80), "SecurityGroupInvalidProtocolForPort"),
            (json!("icmp"), json!(256), Value::Null, "SecurityGroupInvalidIcmpValue"),
            (json!("icmp"), json!(3), json!(256), "SecurityGroupInvalidIcmpValue"),
            (json!("icmp"), Value::Null, json!(3), "SecurityGroupMissingIcmpType"),
        ] {
            assert_eq!(with(protocol, min, max).unwrap_err(), kind);
        }
        assert!(with(json!("icmp"), json!(0), Value::Null).is_ok());
    }

    #[test]
    fn families_agree() {
        let v6 = |protocol: &str| settled(json!({"protocol": protocol, "ethertype": "IPv6"})).unwrap();
        assert_eq!(v6("icmp").text("protocol"), "ipv6-icmp");
        assert_eq!(v6("icmpv6").text("protocol"), "ipv6-icmp");
        assert_eq!(v6("1").text("protocol"), "58");
        assert_eq!(v6("58").text("protocol"), "58");
        let kind = settled(json!({"protocol": "ipv6-frag"})).unwrap_err();
        assert_eq!(kind, "SecurityGroupEthertypeConflictWithProtocol");
        let kind = settled(json!({"remote_ip_prefix": "::/0"})).unwrap_err();
        assert_eq!(kind, "SecurityGroupRuleParameterConflict");
        let kind = settled(json!({"remote_ip_prefix": "10.0.0.0/8", "remote_group_id": "x"})).unwrap_err();
        assert_eq!(kind, "SecurityGroupMultipleRemoteEntites");
    }

    #[test]
    fn rules_that_say_the_same_are_alike() {
        let like = |change: Value| Likeness::of(&settled(change).unwrap());
        let v6 = |protocol: &str| like(json!({"protocol": protocol, "ethertype": "IPv6"}));
        assert_eq!(like(json!({"protocol": "tcp"})), like(json!({"protocol": 6, "description": "x"})));
        assert_eq!(like(json!({})), like(json!({"remote_ip_prefix": "0.0.0.0/0"})));
        assert_eq!(v6("icmp"), v6("1"));
        assert_ne!(like(json!({"protocol": "tcp"})), like(json!({"protocol": "udp"})));
        assert_ne!(like(json!({"remote_ip_prefix": "10.0.0.0/8"})), like(json!({"remote_ip_prefix": "10.0.0.1/8"})));
        assert_ne!(like(json!({})), like(json!({"ethertype": "IPv6"})));
    }
}
