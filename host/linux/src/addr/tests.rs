use super::*;
use crate::{
    LinkSpec, link,
    testing::{eventually, host},
};

#[test]
fn addresses_of_both_families() {
    let (_ns, handle) = host();
    let index = handle.link_add(&LinkSpec::veth("eth0", "eth1").up()).unwrap();
    handle.link_set(link::set("eth1").up()).unwrap();
    let v4: IpNet = "192.0.2.1/24".parse().unwrap();
    let v6: IpNet = "2001:db8::1/64".parse().unwrap();
    assert!(handle.address_add(index, v4).unwrap());
    assert!(!handle.address_add(index, v4).unwrap());
    handle.run(add(index, v6, AddOptions { no_dad: true, no_prefix_route: true, ..AddOptions::default() })).unwrap();

    let found = handle.addresses(Some(index)).unwrap();
    let by = |net| found.iter().find(|a| a.net == net).unwrap_or_else(|| panic!("{net} in {found:?}"));
    assert_eq!((by(v4).index, &*by(v4).label, by(v4).scope), (index, "eth0", Scope::Global));
    assert!(by(v6).permanent() && !by(v6).tentative());
    assert_ne!(by(v6).flags & AddressFlags::Noprefixroute.bits(), 0);
    // The link-local one that the kernel makes when the carrier has come.
    eventually(|| handle.addresses(Some(index)).unwrap().iter().any(|a| a.scope == Scope::Link));
    assert!(handle.addresses(Some(9999)).unwrap_err().is_not_found());

    assert!(handle.address_delete(index, v4).unwrap());
    assert!(!handle.address_delete(index, v4).unwrap());
    assert!(handle.addresses(None).unwrap().iter().all(|a| a.net != v4));
    let error = handle.address_add(4242, v4).unwrap_err();
    assert!(error.is_not_found() && error.to_string().contains("192.0.2.1/24"), "{error}");
}
