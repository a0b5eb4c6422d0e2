use serde_json::{Value, json};
use types::IpRange;

use super::super::pools;
use super::net;

fn shown(list: &[IpRange]) -> String {
    list.iter().map(|pool| format!("{}-{}", pool.first, pool.last)).collect::<Vec<_>>().join(" ")
}

fn derived(prefix: &str, gateway: &str) -> String {
    shown(&pools::derived(&net(prefix), gateway.parse().ok()))
}

#[test]
fn derived_pools_leave_the_gateway_out() {
    assert_eq!(derived("192.0.2.0/24", "192.0.2.1"), "192.0.2.2-192.0.2.254");
    assert_eq!(derived("192.0.2.0/24", "192.0.2.254"), "192.0.2.1-192.0.2.253");
    assert_eq!(derived("192.0.2.0/24", "192.0.2.50"), "192.0.2.1-192.0.2.49 192.0.2.51-192.0.2.254");
    assert_eq!(derived("192.0.2.0/24", ""), "192.0.2.1-192.0.2.254");
    assert_eq!(derived("192.0.2.0/24", "198.51.100.1"), "192.0.2.1-192.0.2.254");
    assert_eq!(derived("192.0.2.0/30", "192.0.2.1"), "192.0.2.2-192.0.2.2");
    assert_eq!(derived("192.0.2.0/31", "192.0.2.0"), "192.0.2.1-192.0.2.1");
    assert_eq!(derived("192.0.2.7/32", "192.0.2.7"), "192.0.2.7-192.0.2.7");
    assert_eq!(derived("2001:db8::/64", "2001:db8::"), "2001:db8::1-2001:db8::ffff:ffff:ffff:ffff");
    assert_eq!(derived("2001:db8::/64", "2001:db8::1"), "2001:db8::2-2001:db8::ffff:ffff:ffff:ffff");
    assert_eq!(derived("2001:db8::/127", ""), "2001:db8::1-2001:db8::1");
    assert_eq!(derived("2001:db8::5/128", ""), "2001:db8::5-2001:db8::5");
}

fn given(prefix: &str, value: Value) -> String {
    let list = value.as_array().unwrap();
    match pools::read(list).and_then(|list| pools::check(&list, &net(prefix)).map(|()| list)) {
        Ok(list) => shown(&list),
        Err(fault) => format!("{} {}", fault.status(), fault.kind()),
    }
}

#[test]
fn given_pools_are_checked() {
    let pool = |start: &str, end: &str| json!({"start": start, "end": end});
    let four = "192.0.2.0/24";
    assert_eq!(given(four, json!([pool("192.0.2.10", "192.0.2.20")])), "192.0.2.10-192.0.2.20");
    assert_eq!(given(four, json!([pool("192.0.2.20", "192.0.2.10")])), "400 InvalidAllocationPool");
    assert_eq!(given(four, json!([pool("192.0.2.1", "2001:db8::9")])), "400 InvalidAllocationPool");
    assert_eq!(given(four, json!([pool("2001:db8::1", "2001:db8::9")])), "400 InvalidAllocationPool");
    assert_eq!(given(four, json!([pool("192.0.2.0", "192.0.2.9")])), "400 OutOfBoundsAllocationPool");
    assert_eq!(given(four, json!([pool("192.0.2.9", "192.0.2.255")])), "400 OutOfBoundsAllocationPool");
    let overlapping = json!([pool("192.0.2.30", "192.0.2.40"), pool("192.0.2.2", "192.0.2.30")]);
    assert_eq!(given(four, overlapping), "409 OverlappingAllocationPools");
    let touching = json!([pool("192.0.2.31", "192.0.2.40"), pool("192.0.2.2", "192.0.2.30")]);
    assert_eq!(given(four, touching), "192.0.2.31-192.0.2.40 192.0.2.2-192.0.2.30");
}

#[test]
fn the_gateway_is_in_no_pool() {
    let list = pools::derived(&net("192.0.2.0/24"), None);
    let fault = pools::check_gateway(&list, "192.0.2.50".parse().unwrap()).unwrap_err();
    assert_eq!((fault.status(), fault.kind()), (409, "GatewayConflictWithAllocationPools"));
    assert!(pools::check_gateway(&list, "192.0.2.255".parse().unwrap()).is_ok());
}
