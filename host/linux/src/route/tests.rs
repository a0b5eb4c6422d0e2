use super::*;
use crate::{ErrorKind, LinkSpec, link, testing::host};

fn wired() -> (crate::Netns, Handle, u32) {
    let (namespace, handle) = host();
    let index = handle.link_add(&LinkSpec::veth("eth0", "eth1").up()).unwrap();
    handle.link_set(link::set("eth1").up()).unwrap();
    handle.address_add(index, "192.0.2.10/24".parse().unwrap()).unwrap();
    let options = crate::addr::AddOptions { no_dad: true, ..Default::default() };
    handle.run(crate::addr::add(index, "2001:db8::10/64".parse().unwrap(), options)).unwrap();
    (namespace, handle, index)
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn default_routes_of_both_families() {
    let (_ns, handle, index) = wired();
    for (first, second, v4) in [("192.0.2.1", "192.0.2.2", true), ("2001:db8::1", "2001:db8::2", false)] {
        assert_eq!(handle.default_route(v4, None).unwrap(), None);
        handle.route_replace(&Route::default_via(ip(first)).dev(index)).unwrap();
        let found = handle.default_route(v4, Some(index)).unwrap().unwrap();
        assert_eq!((found.gateway, found.dev, found.protocol), (Some(ip(first)), Some(index), Protocol::Static));
        // Replaced, not added: one remains.
        handle.route_replace(&Route::default_via(ip(second)).dev(index)).unwrap();
        let defaults = || {
            let all = handle.routes(Some(index)).unwrap();
            all.into_iter().filter(|r| r.is_default() && r.net.addr().is_ipv4() == v4).collect::<Vec<_>>()
        };
        assert_eq!(defaults().iter().map(|r| r.gateway.unwrap()).collect::<Vec<_>>(), [ip(second)]);
        // A less preferred one beside it.
        handle.run(add(&Route::default_via(ip(first)).dev(index).metric(2000))).unwrap();
        assert_eq!(defaults().len(), 2);
        assert_eq!(handle.default_route(v4, None).unwrap().unwrap().gateway, Some(ip(second)));
        for route in defaults() {
            assert!(handle.route_delete(&route).unwrap());
        }
        assert!(defaults().is_empty());
        assert!(!handle.route_delete(&Route::default_via(ip(second)).dev(index)).unwrap());
    }
}

#[test]
fn routes_on_the_link_and_gateways_off_it() {
    let (_ns, handle, index) = wired();
    let far = ip("198.51.100.1");
    let refused = handle.run(add(&Route::default_via(far).dev(index))).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unreachable);
    assert!(refused.to_string().contains("198.51.100.1"), "{refused}");
    // Two ways: the gateway said to be on the link, or a route of link scope to it.
    handle.run(add(&Route::default_via(far).dev(index).onlink())).unwrap();
    assert!(handle.default_route(true, None).unwrap().unwrap().onlink);
    handle.route_delete(&Route::default_via(far).dev(index)).unwrap();
    let link = Route::to("198.51.100.0/24".parse().unwrap()).dev(index).source(ip("192.0.2.10"));
    handle.run(add(&link)).unwrap();
    let found = handle.routes(None).unwrap().into_iter().find(|r| r.net == link.net).unwrap();
    assert_eq!((found.scope, found.source, found.gateway), (Some(Scope::Link), Some(ip("192.0.2.10")), None));
    handle.run(add(&Route::default_via(far).dev(index))).unwrap();
    assert!(handle.run(add(&link)).unwrap_err().is_exists());
    // The kernel's own, for the addresses' prefixes, are listed too.
    let kernel = handle.routes(Some(index)).unwrap();
    assert!(kernel.iter().any(|r| r.protocol == Protocol::Kernel && r.net == "192.0.2.0/24".parse().unwrap()));
}

#[test]
fn other_tables_stay_out_of_the_list() {
    let (_ns, handle, index) = wired();
    let route = Route::to("203.0.113.0/24".parse().unwrap()).via(ip("192.0.2.1")).dev(index).table(1000);
    handle.route_replace(&route).unwrap();
    assert!(handle.routes(None).unwrap().iter().all(|r| r.net != route.net));
    assert!(handle.route_delete(&route).unwrap());
}
