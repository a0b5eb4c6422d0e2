use super::*;
use crate::{LinkSpec, link, link::VxlanSpec, testing::host};

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn mac(last: u8) -> Mac {
    Mac([0xfa, 0x16, 0x3e, 0, 0, last])
}

fn vxlan(handle: &Handle) -> u32 {
    let dev = handle.link_add(&LinkSpec::veth("eth0", "eth1").up()).unwrap();
    handle.link_set(link::set("eth1").up()).unwrap();
    let spec = VxlanSpec { vni: 9, dev: Some(dev), learning: Some(false), proxy: true, ..VxlanSpec::default() };
    let index = handle.link_add(&LinkSpec::vxlan("vxlan-9", spec)).unwrap();
    handle.link_set(link::set(index).up()).unwrap();
    index
}

#[test]
fn neighbours_of_both_families() {
    let (_ns, handle) = host();
    let index = vxlan(&handle);
    for address in [ip("192.0.2.5"), ip("2001:db8::5")] {
        handle.neighbour_replace(index, address, mac(1)).unwrap();
        handle.neighbour_replace(index, address, mac(2)).unwrap();
        let found = handle.neighbours(Some(index)).unwrap();
        let entry = found.iter().find(|n| n.ip == address).unwrap();
        assert_eq!((entry.mac, entry.permanent()), (Some(mac(2)), true));
        assert!(handle.neighbour_delete(index, address).unwrap());
        assert!(handle.neighbours(None).unwrap().iter().all(|n| n.ip != address || n.mac.is_none()));
    }
    assert!(!handle.neighbour_delete(index, ip("192.0.2.99")).unwrap());
}

#[test]
fn a_tunnel_floods_to_several_places() {
    let (_ns, handle) = host();
    let index = vxlan(&handle);
    let remotes = [ip("198.51.100.1"), ip("198.51.100.2"), ip("198.51.100.3")];
    for remote in remotes {
        handle.run(fdb_append(&Fdb::flood(index, remote))).unwrap();
    }
    // Once more is no error and no second entry.
    handle.run(fdb_append(&Fdb::flood(index, remotes[0]))).unwrap();
    handle.run(fdb_add(&Fdb::remote(index, mac(1), remotes[0]))).unwrap();
    assert!(handle.run(fdb_add(&Fdb::remote(index, mac(1), remotes[1]))).unwrap_err().is_exists());
    handle.run(fdb_replace(&Fdb::remote(index, mac(1), remotes[1]))).unwrap();

    let mut want: Vec<Fdb> = remotes.iter().map(|remote| Fdb::flood(index, *remote)).collect();
    want.push(Fdb::remote(index, mac(1), remotes[1]));
    let mut found = handle.fdb(Some(index)).unwrap();
    found.sort();
    want.sort();
    assert_eq!(found, want);

    assert!(handle.fdb_delete(&Fdb::flood(index, remotes[1])).unwrap());
    assert_eq!(handle.fdb(Some(index)).unwrap().len(), 3);
    // Of a device that is gone.
    let error = handle.run(fdb_append(&Fdb::flood(4242, remotes[0]))).unwrap_err();
    assert!(error.is_not_found() && error.to_string().contains("198.51.100.1"), "{error}");
}

#[test]
fn a_bridge_has_entries_for_its_ports() {
    let (_ns, handle) = host();
    let bridge = handle.link_add(&LinkSpec::bridge("br0").up()).unwrap();
    let port = handle.link_add(&LinkSpec::veth("tap0", "eth0").up()).unwrap();
    handle.link_master(port, bridge).unwrap();
    let entry = Fdb::master(port, mac(3));
    handle.run(fdb_replace(&entry)).unwrap();
    assert!(handle.fdb(Some(port)).unwrap().contains(&entry));
    assert!(handle.fdb(None).unwrap().contains(&entry));
    assert!(handle.fdb_delete(&entry).unwrap());
    assert!(!handle.fdb(None).unwrap().contains(&entry));
}

#[test]
fn thousands_in_a_batch() {
    let (_ns, handle) = host();
    let index = vxlan(&handle);
    let entry = |i: u16| {
        let [high, low] = i.to_be_bytes();
        Fdb::remote(index, Mac([0xfa, 0x16, 0x3e, 1, high, low]), ip("198.51.100.1"))
    };
    let results = handle.batch((0..5000).map(|i| fdb_add(&entry(i))));
    assert!(results.iter().all(Result::is_ok));
    assert_eq!(handle.fdb(Some(index)).unwrap().len(), 5000);
}
