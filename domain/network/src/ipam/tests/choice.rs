use super::super::choice::{Candidates, candidates};
use super::*;

/// Ids of the candidates, or the kind of the fault, or "deferred".
fn chosen(all: &[Subnet], owner: &str, host: &str, wanted: Option<&[Wanted]>) -> String {
    match candidates(all, &holder(owner, host), wanted) {
        Ok(Candidates::Subnets(found)) => found.iter().map(|subnet| subnet.id.as_str()).collect::<Vec<_>>().join(" "),
        Ok(Candidates::Deferred) => "deferred".into(),
        Err(fault) => fault.kind().to_owned(),
    }
}

fn on_segment(id: &str, prefix: &str, segment: &str, reachable: bool) -> Subnet {
    Subnet { segment_id: Some(segment.into()), reachable, ..subnet(id, prefix) }
}

#[test]
fn subnets_of_a_plain_network_are_all_candidates() {
    let all = [subnet("a", "192.0.2.0/24"), subnet("b", "2001:db8::/64")];
    assert_eq!(chosen(&all, "", "", None), "a b");
    assert_eq!(chosen(&all, "compute:nova", "host", None), "a b");
    assert_eq!(chosen(&[], "", "", None), "");
}

#[test]
fn service_subnets_come_first_and_exclude_others() {
    let reserved = Subnet { service_types: vec!["compute:nova".into()], ..subnet("b", "198.51.100.0/24") };
    let all = [subnet("a", "192.0.2.0/24"), reserved.clone()];
    assert_eq!(chosen(&all, "compute:nova", "", None), "b a");
    assert_eq!(chosen(&all, "network:floatingip", "", None), "a");
    assert_eq!(chosen(&all, "network:dhcp", "", None), "b a");
    assert_eq!(chosen(std::slice::from_ref(&reserved), "", "", None), "IpAddressGenerationFailureNoMatchingSubnet");
    let without_dhcp = Subnet { enable_dhcp: false, ..reserved };
    assert_eq!(chosen(&[without_dhcp], "network:dhcp", "", None), "IpAddressGenerationFailureNoMatchingSubnet");
}

#[test]
fn routed_networks_wait_for_the_host() {
    let all = [on_segment("a", "192.0.2.0/24", "s1", true), on_segment("b", "198.51.100.0/24", "s2", false)];
    assert_eq!(chosen(&all, "", "", None), "deferred");
    assert_eq!(chosen(&all, "", "", Some(&[])), "deferred");
    assert_eq!(chosen(&all, "", "host", None), "a");
    assert_eq!(chosen(&all[1..], "", "host", None), "HostNotConnectedToAnySegment");
    assert_eq!(chosen(&all, "", "", Some(&[wish("b")])), "b");
    assert_eq!(chosen(&all, "", "", Some(&[wish("192.0.2.9")])), "a");
    assert_eq!(chosen(&all, "", "", Some(&[wish("a"), wish("b")])), "FixedIpsSubnetsNotOnSameSegment");
    assert_eq!(chosen(&all, "network:distributed", "", Some(&[wish("a"), wish("b")])), "a b");
    // A wrong subnet is told later.
    assert_eq!(chosen(&all, "", "", Some(&[wish("nowhere")])), "a b");
}
