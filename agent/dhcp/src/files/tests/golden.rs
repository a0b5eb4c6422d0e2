//! One network of everything, recorded from a running Neutron 29: two IPv4 subnets (one without gateway), SLAAC and
//! stateful DHCPv6, extra options on one port, metadata served by the agent.

use std::path::Path;

use crate::files::{Files, Leases, arguments, initial_leases};
use crate::model::{Network, id};
use crate::settings::Settings;

fn recorded() -> (Settings, Network) {
    let mut settings = Settings::new("ctl", Path::new("<state_path>"));
    settings.dns_domain = "openstackgate.local.".to_owned();
    settings.isolated_metadata = true;
    let value = serde_json::from_str(include_str!("golden/network.json")).unwrap();
    (settings, Network::from_json(&value).unwrap())
}

#[test]
fn arguments_are_the_references() {
    let (settings, network) = recorded();
    let expected: Vec<&str> = include_str!("golden/args").lines().collect();
    assert_eq!(arguments(&settings, &network), expected);
}

#[test]
fn files_are_the_references() {
    let (settings, network) = recorded();
    let files = Files::render(&settings, &network, id("232f6920-01b9-4c88-a814-3ef0207b5322").as_ref());
    assert_eq!(files.host, include_str!("golden/host"));
    assert_eq!(files.addn_hosts, include_str!("golden/addn_hosts"));
    assert_eq!(files.opts, include_str!("golden/opts"));
}

#[test]
fn files_do_not_depend_on_the_order_of_the_reply() {
    let (settings, network) = recorded();
    let mut value: serde_json::Value = serde_json::from_str(include_str!("golden/network.json")).unwrap();
    for key in ["ports", "subnets"] {
        value[key].as_array_mut().unwrap().reverse();
    }
    let turned = Network::from_json(&value).unwrap();
    assert_eq!(Files::render(&settings, &turned, None), Files::render(&settings, &network, None));
    assert_eq!(arguments(&settings, &turned), arguments(&settings, &network));
}

#[test]
fn leases_name_every_ipv4_address_that_may_be_leased() {
    let (_, network) = recorded();
    let text = initial_leases(&network, "");
    assert_eq!(
        text,
        "0 fa:16:3e:00:00:11 10.79.0.11 * *\n\
         0 fa:16:3e:00:00:12 10.80.0.12 * *\n\
         0 fa:16:3e:00:00:13 10.79.0.5 * *\n"
    );
    let read = Leases::parse(&text);
    assert_eq!(read.leases.len(), 3);
    assert_eq!(read.server_id, None);
}
