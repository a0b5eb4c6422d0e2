//! Releasing leases: the packets that `dhcp_release` and `dhcp_release6` of dnsmasq-utils send.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddrV6, UdpSocket};

use types::Mac;

use crate::files::Leases;

/// DHCP server port (RFC 2131) and where servers of DHCPv6 listen (RFC 8415).
const SERVER_V4: u16 = 67;
const CLIENT_V6: u16 = 546;
const SERVER_V6: u16 = 547;
const ALL_SERVERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 1, 2);

/// A lease to give back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Release {
    /// IPv4.
    V4 {
        /// Leased address.
        ip: Ipv4Addr,
        /// The client's Ethernet address.
        mac: Mac,
        /// The client's id as it sent it, with its type octet.
        client_id: Option<Vec<u8>>,
    },
    /// IPv6.
    V6 {
        /// Leased address.
        ip: Ipv6Addr,
        /// The client's DUID.
        client: Vec<u8>,
        /// The server's DUID.
        server: Vec<u8>,
        /// Identity association.
        iaid: u32,
    },
}

impl Release {
    /// The leased address.
    pub fn ip(&self) -> IpAddr {
        match self {
            Release::V4 { ip, .. } => IpAddr::V4(*ip),
            Release::V6 { ip, .. } => IpAddr::V6(*ip),
        }
    }

    /// Whether the lease is still there, and still that client's.
    pub fn is_held(&self, leases: &Leases) -> bool {
        leases.leases.get(&self.ip()).is_some_and(|lease| match self {
            Release::V4 { mac, .. } => lease.mac == Some(*mac),
            Release::V6 { client, .. } => lease.client_id.as_deref().and_then(octets).as_ref() == Some(client),
        })
    }
}

/// Octets written as `aa:bb:…`.
pub fn octets(text: &str) -> Option<Vec<u8>> {
    let octet = |part: &str| (1..=2).contains(&part.len()).then(|| u8::from_str_radix(part, 16).ok()).flatten();
    text.split(':').map(octet).collect()
}

/// A DHCPRELEASE (RFC 2131, 4.4.6) from the client with `mac` for `ip`, to the server at `server`.
pub fn packet_v4(transaction: u32, ip: Ipv4Addr, mac: Mac, client_id: Option<&[u8]>, server: Ipv4Addr) -> Vec<u8> {
    let mut packet = Vec::with_capacity(300);
    // BOOTREQUEST, Ethernet, six octets, no hops.
    packet.extend([1, 1, 6, 0]);
    packet.extend(transaction.to_be_bytes());
    packet.extend([0; 4]);
    packet.extend(ip.octets());
    // yiaddr, siaddr, giaddr.
    packet.extend([0; 12]);
    packet.extend(mac.0);
    // Rest of chaddr, sname, file.
    packet.extend([0; 10 + 64 + 128]);
    packet.extend([99, 130, 83, 99]);
    packet.extend([53, 1, 7]);
    packet.extend([54, 4]);
    packet.extend(server.octets());
    if let Some(id) = client_id.filter(|id| !id.is_empty()) {
        let id = &id[..id.len().min(255)];
        packet.push(61);
        packet.push(id.len() as u8);
        packet.extend(id);
    }
    packet.push(255);
    packet
}

/// A RELEASE (RFC 8415, 18.2.7) of one address.
pub fn packet_v6(transaction: u32, ip: Ipv6Addr, client: &[u8], server: &[u8], iaid: u32) -> Vec<u8> {
    let [_, a, b, c] = transaction.to_be_bytes();
    let mut packet = vec![8, a, b, c];
    let mut option = |code: u16, data: &[u8]| {
        packet.extend(code.to_be_bytes());
        packet.extend(u16::try_from(data.len()).unwrap_or(u16::MAX).to_be_bytes());
        packet.extend(&data[..data.len().min(usize::from(u16::MAX))]);
    };
    option(1, client);
    option(2, server);
    // IA_NA with its times, and in it the address with its lifetimes: all zero.
    let mut association = iaid.to_be_bytes().to_vec();
    association.extend([0; 8]);
    association.extend(5u16.to_be_bytes());
    association.extend(24u16.to_be_bytes());
    association.extend(ip.octets());
    association.extend([0; 8]);
    option(3, &association);
    // Elapsed time.
    option(8, &[0, 0]);
    packet
}

/// Sends releases to the dnsmasq of this namespace. `index` is its device, `servers` the addresses of the device.
///
/// Called inside the namespace. The first refusal of the kernel ends it; what was sent may still get lost.
pub fn send(index: u32, servers: &[(IpAddr, u8)], releases: &[Release], transaction: u32) -> io::Result<()> {
    let v4: Option<UdpSocket> = releases
        .iter()
        .any(|release| matches!(release, Release::V4 { .. }))
        .then(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)))
        .transpose()?;
    let v6: Option<UdpSocket> = releases
        .iter()
        .any(|release| matches!(release, Release::V6 { .. }))
        .then(|| UdpSocket::bind((Ipv6Addr::UNSPECIFIED, CLIENT_V6)))
        .transpose()?;
    for (n, release) in releases.iter().enumerate() {
        let transaction = transaction.wrapping_add(n as u32);
        match release {
            Release::V4 { ip, mac, client_id } => {
                let (Some(socket), Some(server)) = (&v4, server_for(*ip, servers)) else { continue };
                let packet = packet_v4(transaction, *ip, *mac, client_id.as_deref(), server);
                socket.send_to(&packet, (server, SERVER_V4))?;
            }
            Release::V6 { ip, client, server, iaid } => {
                let Some(socket) = &v6 else { continue };
                let packet = packet_v6(transaction, *ip, client, server, *iaid);
                socket.send_to(&packet, SocketAddrV6::new(ALL_SERVERS, SERVER_V6, 0, index))?;
            }
        }
    }
    Ok(())
}

/// The server's address on the lease's subnet, or any of its addresses.
fn server_for(ip: Ipv4Addr, servers: &[(IpAddr, u8)]) -> Option<Ipv4Addr> {
    let v4 = || {
        servers.iter().filter_map(|(server, len)| match server {
            IpAddr::V4(server) => Some((*server, *len)),
            IpAddr::V6(_) => None,
        })
    };
    let near = |(server, len): &(Ipv4Addr, u8)| {
        let mask = u32::MAX.checked_shl(32 - u32::from(*len)).unwrap_or(0);
        u32::from(*server) & mask == u32::from(ip) & mask
    };
    v4().find(near).or_else(|| v4().next()).map(|(server, _)| server)
}
