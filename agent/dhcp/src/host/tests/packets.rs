//! Release packets, octet by octet.

use std::net::Ipv4Addr;

use types::Mac;

use crate::host::octets;
use crate::host::release::{packet_v4, packet_v6};

#[test]
fn a_release_of_dhcp() {
    let ip: Ipv4Addr = "192.0.2.11".parse().unwrap();
    let mac = Mac([0xfa, 0x16, 0x3e, 0, 0, 0x11]);
    let packet = packet_v4(0x0102_0304, ip, mac, Some(&[1, 2, 3]), "192.0.2.2".parse().unwrap());
    assert_eq!(packet[..8], [1, 1, 6, 0, 1, 2, 3, 4]);
    assert_eq!(packet[12..16], ip.octets());
    assert_eq!(packet[28..34], mac.0);
    assert_eq!(packet[236..240], [99, 130, 83, 99], "the cookie at its place");
    assert_eq!(packet[240..], [53, 1, 7, 54, 4, 192, 0, 2, 2, 61, 3, 1, 2, 3, 255]);
}

#[test]
fn a_release_of_dhcpv6() {
    let packet = packet_v6(0xff01_0203, "2001:db8::11".parse().unwrap(), &[0, 1], &[0, 2, 3], 7);
    let mut expected = vec![8, 1, 2, 3, 0, 1, 0, 2, 0, 1, 0, 2, 0, 3, 0, 2, 3];
    expected.extend([0, 3, 0, 40, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0]);
    expected.extend([0, 5, 0, 24, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0, 0, 0, 0, 0, 0, 0, 0]);
    expected.extend([0, 8, 0, 2, 0, 0]);
    assert_eq!(packet, expected);
}

#[test]
fn octets_as_dnsmasq_writes_them() {
    assert_eq!(octets("01:fa:16"), Some(vec![1, 0xfa, 0x16]));
    for bad in ["", "*", "1:", "xyz", "123:4"] {
        assert_eq!(octets(bad), None, "{bad}");
    }
}
