use std::collections::HashSet;

use super::super::plan::{self, Ask, Refusal};
use super::*;

/// Asks in short: `a=192.0.2.1` or `a|b`.
fn shown(asks: &[Ask<'_>]) -> String {
    let one = |ask: &Ask<'_>| match ask {
        Ask::Exact { subnet, ip } => format!("{}={ip}", subnet.id),
        Ask::AnyOf(subnets) => subnets.iter().map(|subnet| subnet.id.as_str()).collect::<Vec<_>>().join("|"),
    };
    asks.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// Asks for a new port, or the kind of the fault.
fn new_port(all: &[Subnet], owner: &str, wanted: Option<&[&str]>) -> String {
    let found: Vec<&Subnet> = all.iter().collect();
    let holder = holder(owner, "");
    let wanted: Option<Vec<Wanted>> = wanted.map(|wanted| wanted.iter().map(|text| wish(text)).collect());
    let asks = match &wanted {
        None => Ok(plan::one_of_each_family(&found)),
        Some(wanted) => plan::explicit(&holder, wanted, &found),
    };
    match asks {
        Ok(mut asks) => {
            let automatic = plan::automatic(&found, &holder, &asks, &HashSet::new());
            asks.extend(automatic);
            shown(&asks)
        }
        Err(Refusal::Fault(fault)) => fault.kind().to_owned(),
        Err(Refusal::Elsewhere(id)) => format!("elsewhere {id}"),
    }
}

fn dual() -> [Subnet; 4] {
    [
        subnet("a", "192.0.2.0/24"),
        subnet("b", "198.51.100.0/24"),
        subnet("stateful", "2001:db8:1::/64"),
        slaac("auto", "2001:db8:6::/64"),
    ]
}

const EUI: &str = "2001:db8:6:0:f816:3eff:fe12:3459";

#[test]
fn without_wishes_one_of_each_family_and_every_automatic_one() {
    assert_eq!(new_port(&dual(), "", None), format!("a|b stateful auto={EUI}"));
    assert_eq!(new_port(&dual(), "network:router_interface", None), "a|b stateful");
    assert_eq!(new_port(&[], "", None), "");
}

#[test]
fn wishes_by_subnet_by_address_and_both() {
    assert_eq!(new_port(&dual(), "", Some(&["b"])), format!("b auto={EUI}"));
    assert_eq!(new_port(&dual(), "", Some(&["198.51.100.7"])), format!("b=198.51.100.7 auto={EUI}"));
    assert_eq!(new_port(&dual(), "", Some(&["a 192.0.2.5", "a"])), format!("a=192.0.2.5 a auto={EUI}"));
    assert_eq!(new_port(&dual(), "", Some(&[])), format!("auto={EUI}"));
    assert_eq!(new_port(&dual(), "", Some(&["auto"])), format!("auto={EUI}"));
    assert_eq!(new_port(&dual(), "network:router_interface", Some(&["auto"])), "auto");
}

#[test]
fn wrong_wishes_are_refused_by_name() {
    assert_eq!(new_port(&dual(), "", Some(&["other"])), "elsewhere other");
    assert_eq!(new_port(&dual(), "", Some(&["203.0.113.1"])), "InvalidIpForNetwork");
    assert_eq!(new_port(&dual(), "", Some(&["a 198.51.100.1"])), "InvalidIpForSubnet");
    assert_eq!(new_port(&dual(), "", Some(&["192.0.2.255"])), "InvalidIpForNetwork");
    assert_eq!(new_port(&dual(), "", Some(&["a 192.0.2.0"])), "InvalidIpForSubnet");
    assert_eq!(new_port(&dual(), "", Some(&["192.0.2.7", "a 192.0.2.7"])), "HTTPBadRequest");
    assert_eq!(new_port(&dual(), "", Some(&[""])), "InvalidInput");
    assert_eq!(new_port(&[], "", Some(&["192.0.2.7"])), "InvalidInput");
    assert_eq!(new_port(&[], "", Some(&["a"])), "elsewhere a");
}

#[test]
fn the_anycast_address_is_for_routers() {
    assert_eq!(new_port(&dual(), "compute:nova", Some(&["2001:db8:1::"])), "InvalidIpForNetwork");
    assert_eq!(new_port(&dual(), "network:router_interface", Some(&["2001:db8:1::"])), "stateful=2001:db8:1::");
}

#[test]
fn slaac_explicit_eui64() {
    assert_eq!(new_port(&dual(), "", Some(&[&format!("auto {EUI}")])), format!("auto={EUI}"));
    assert_eq!(new_port(&dual(), "", Some(&["2001:db8:6::99"])), "AllocationOnAutoAddressSubnet");
    assert_eq!(new_port(&dual(), "network:router_interface", Some(&["2001:db8:6::1"])), "auto=2001:db8:6::1");
}

/// Keeps, adds and removes in short.
fn changed(owner: &str, old: &[FixedIp], wanted: &[&str]) -> String {
    let all = dual();
    let wanted = wanted.iter().map(|text| wish(text)).collect();
    let change = plan::change(&all, &holder(owner, ""), old, wanted);
    let ips = |list: &[FixedIp]| list.iter().map(|fixed| fixed.ip.to_string()).collect::<Vec<_>>().join(" ");
    let add = |wanted: &Wanted| match (&wanted.subnet_id, wanted.ip) {
        (_, Some(ip)) => ip.to_string(),
        (Some(id), None) => id.clone(),
        (None, None) => "?".into(),
    };
    let added = change.add.iter().map(add).collect::<Vec<_>>().join(" ");
    format!("keep {} add {added} remove {}", ips(&change.keep), ips(&change.remove))
}

#[test]
fn port_update_subnet_only_keeps_ip() {
    let old = [fixed("a", "192.0.2.234")];
    assert_eq!(changed("", &old, &["a"]), "keep 192.0.2.234 add  remove ");
    assert_eq!(changed("", &old, &["a 192.0.2.234"]), "keep 192.0.2.234 add  remove ");
    assert_eq!(changed("", &old, &["a", "a"]), "keep 192.0.2.234 add a remove ");
    assert_eq!(changed("", &old, &["a 192.0.2.9"]), "keep  add 192.0.2.9 remove 192.0.2.234");
    assert_eq!(changed("", &old, &["b"]), "keep  add b remove 192.0.2.234");
    assert_eq!(changed("", &old, &[]), "keep  add  remove 192.0.2.234");
}

#[test]
fn automatic_addresses_stay_unless_the_port_is_a_routers() {
    let old = [fixed("a", "192.0.2.9"), fixed("auto", EUI)];
    assert_eq!(changed("", &old, &[]), format!("keep {EUI} add  remove 192.0.2.9"));
    assert_eq!(changed("", &old, &["auto"]), format!("keep {EUI} add  remove 192.0.2.9"));
    assert_eq!(changed("network:router_interface", &old, &[]), format!("keep  add  remove 192.0.2.9 {EUI}"));
}
