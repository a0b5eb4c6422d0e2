mod choice;
mod hint;
mod plan;
mod pools;
mod store;

use types::{IpNet, Mac, cidr};

use super::{FixedIp, Holder, Subnet, Wanted};

const NET: &str = "net";

fn mac() -> Mac {
    "fa:16:3e:12:34:59".parse().unwrap()
}

fn holder<'a>(device_owner: &'a str, host: &'a str) -> Holder<'a> {
    Holder { port_id: "port", network_id: NET, mac: mac(), device_owner, host }
}

fn net(text: &str) -> IpNet {
    cidr::parse(text).unwrap()
}

fn subnet(id: &str, prefix: &str) -> Subnet {
    Subnet {
        id: id.into(),
        cidr: net(prefix),
        enable_dhcp: true,
        ra_mode: None,
        address_mode: None,
        segment_id: None,
        reachable: false,
        delegated: false,
        service_types: Vec::new(),
        revision: 0,
    }
}

fn slaac(id: &str, prefix: &str) -> Subnet {
    Subnet { ra_mode: Some("slaac".into()), address_mode: Some("slaac".into()), ..subnet(id, prefix) }
}

fn fixed(subnet_id: &str, ip: &str) -> FixedIp {
    FixedIp { subnet_id: subnet_id.into(), ip: ip.parse().unwrap() }
}

/// `"s"`: a subnet; `"192.0.2.1"`: an address; `"s 192.0.2.1"`: both.
fn wish(text: &str) -> Wanted {
    let mut wanted = Wanted::default();
    for word in text.split_whitespace() {
        match word.parse() {
            Ok(ip) => wanted.ip = Some(ip),
            Err(_) => wanted.subnet_id = Some(word.into()),
        }
    }
    wanted
}
