//! The stand-in instance against a service of a few lines, with real devices, a real DHCP server and real clients.

mod service;

use std::{net::IpAddr, time::Duration};

use linux::{Handle, Mac, Netns, Program, dhcp_client::Family};
use testkit::lab::Lab;

use self::service::Service;
use super::{
    api::{Api, Identity, Subnet},
    create::{Configuration, Request, configuration, create},
    *,
};

const SOON: Duration = Duration::from_secs(30);

fn request(network: &str) -> Request {
    let timeout = SOON;
    Request { network: network.to_owned(), name: None, host: Some("host-1".to_owned()), timeout, keep: false }
}

/// A service, its bridge and its DHCP server, on a host of a laboratory; runs the test there.
fn on_a_host(test: impl FnOnce(&Service, &Api, &Store) + Send) {
    let lab = Lab::new();
    let host = lab.host("host-1");
    host.bridge("br0", &[]);
    host.address("br0", "192.0.2.1/24");
    host.address("br0", "2001:db8::1/64");
    host.run(|| {
        let service = Service::start();
        let directory = host.directory().display();
        Program::new("dnsmasq")
            .args([
                "--conf-file=/dev/null",
                "--port=0",
                "--no-ping",
                "--interface=br0",
                "--dhcp-range=192.0.2.0,static",
            ])
            .args(["--dhcp-range=2001:db8::,static,64", "--dhcp-host=fa:16:3e:00:00:07,192.0.2.77,[2001:db8::77]"])
            .args([format!("--dhcp-leasefile={directory}/leases"), format!("--pid-file={directory}/pid")])
            .check(SOON)
            .unwrap();
        let identity = Identity { token: None, project: Some("p1".to_owned()) };
        test(&service, &Api::new(&service.endpoint(), identity).unwrap(), &Store::new(&host.directory().join("var")));
    });
}

fn nothing_is_left(service: &Service, store: &Store) {
    assert!(service.ports().is_empty(), "{:?}", service.ports());
    assert!(store.list().unwrap().is_empty());
    assert!(Netns::list().unwrap().is_empty());
    assert!(Handle::new().unwrap().links().unwrap().iter().all(|link| !link.name.starts_with("tap")));
}

#[test]
fn boots_leases_answers_and_goes() {
    on_a_host(|service, api, store| {
        let mut steps = Vec::new();
        let created = create(api, store, &request("blue"), &mut |_, step| steps.push(step.to_owned())).unwrap();
        let want: [IpAddr; 2] = ["192.0.2.77".parse().unwrap(), "2001:db8::77".parse().unwrap()];
        assert_eq!(created.leased, want);
        let instance = store.get("vm1").unwrap();
        assert_eq!(instance.tap, "tapaaaaaaaa-00");
        let namespace = Netns::open("instance-vm1").unwrap();
        let card = namespace.handle().unwrap().link("eth0").unwrap().unwrap();
        assert_eq!(card.mac, Some(Mac([0xfa, 0x16, 0x3e, 0, 0, 7])));
        let port = &service.ports()[0];
        assert_eq!((&port["device_owner"], &port["binding:host_id"]), (&"compute:nova".into(), &"host-1".into()));
        assert_eq!(port["device_id"], *instance.id);
        assert!(steps.iter().any(|step| step.contains("ACTIVE")), "{steps:?}");
        let ping = |ip: &str| Program::new("ping").args(["-c", "1", "-W", "5", ip]).run(SOON).unwrap().success();
        assert!(ping("192.0.2.77") && ping("2001:db8::77"));

        let mut shown = Vec::new();
        list(api, store, &mut shown).unwrap();
        let shown = String::from_utf8(shown).unwrap();
        assert!(shown.contains("192.0.2.77, 2001:db8::77  tapaaaaaaaa-00  ACTIVE"), "{shown}");

        let taken = Request { name: Some("vm1".to_owned()), ..request("blue") };
        let error = create(api, store, &taken, &mut |_, _| {}).unwrap_err();
        assert!(error.to_string().contains("already"), "{error:#}");
        let client = instance.dhcp(store, &namespace).running(Family::V4).unwrap().unwrap();
        delete(api, store, "vm1").unwrap();
        assert!(!client.is_alive());
        nothing_is_left(service, store);
        assert!(delete(api, store, "vm1").unwrap_err().to_string().contains("there is no instance vm1"));
    });
}

#[test]
fn what_fails_is_explained_and_taken_away() {
    on_a_host(|service, api, store| {
        let fails = |request: &Request| format!("{:#}", create(api, store, request, &mut |_, _| {}).unwrap_err());
        let none = fails(&request("green"));
        assert!(none.contains("openstack network create green"), "{none}");
        let several = fails(&request("twin"));
        assert!(several.contains("bbbbbbbb-1") && several.contains("bbbbbbbb-2"), "{several}");
        let unbound = fails(&request("remote"));
        assert!(unbound.contains("Linux bridge agent is dead"), "{unbound}");
        let refused = fails(&request("full"));
        assert!(refused.contains("409 IpAddressGenerationFailure: no more addresses"), "{refused}");
        let never = fails(&Request { timeout: Duration::from_millis(50), ..request("slow") });
        assert!(never.contains("is DOWN after 50ms"), "{never}");
        let name = fails(&Request { name: Some("../x".to_owned()), ..request("blue") });
        assert!(name.contains("cannot be the name"), "{name}");
        nothing_is_left(service, store);
    });
}

#[test]
fn a_service_that_is_gone_does_not_lose_the_port() {
    on_a_host(|service, api, store| {
        create(api, store, &request("blue"), &mut |_, _| {}).unwrap();
        let gone = Api::new("http://127.0.0.1:1", Identity::default()).unwrap();
        let error = format!("{:#}", delete(&gone, store, "vm1").unwrap_err());
        assert!(error.contains("delete again") && error.contains("make run"), "{error}");
        let mut shown = Vec::new();
        list(&gone, store, &mut shown).unwrap();
        assert!(String::from_utf8(shown).unwrap().contains("not running"));
        delete(api, store, "vm1").unwrap();
        nothing_is_left(service, store);

        create(api, store, &request("blue"), &mut |_, _| {}).unwrap();
        assert_eq!(cleanup(store).unwrap(), 1);
        assert!(Netns::list().unwrap().is_empty() && store.list().unwrap().is_empty());
        assert_eq!(service.ports().len(), 1);
    });
}

#[test]
fn addresses_are_got_as_their_subnet_says() {
    let subnet = |cidr: &str, enable_dhcp, mode: Option<&str>| Subnet {
        cidr: cidr.parse().unwrap(),
        enable_dhcp,
        ipv6_address_mode: mode.map(str::to_owned),
    };
    let v4 = "192.0.2.5".parse().unwrap();
    let v6 = "2001:db8::5".parse().unwrap();
    assert_eq!(configuration(v4, &subnet("192.0.2.0/24", true, None)), Configuration::Dhcp(Family::V4));
    assert_eq!(configuration(v4, &subnet("192.0.2.0/24", false, None)), Configuration::ByHand);
    for (mode, want) in [
        (Some("dhcpv6-stateful"), Configuration::Dhcp(Family::V6)),
        (Some("dhcpv6-stateless"), Configuration::Announced),
        (Some("slaac"), Configuration::Announced),
        (None, Configuration::ByHand),
    ] {
        assert_eq!(configuration(v6, &subnet("2001:db8::/64", true, mode)), want, "{mode:?}");
    }
}

#[test]
fn the_command_line_reads() {
    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        instance: InstanceArgs,
    }
    let read = |words: &[&str]| <Line as clap::Parser>::try_parse_from(words).map(|line| line.instance);
    let exec = read(&["i", "exec", "vm1", "--endpoint", "http://[::1]:9696", "--", "ip", "-6", "addr"]).unwrap();
    assert_eq!(exec.endpoint, "http://[::1]:9696");
    assert!(matches!(exec.command, Command::Exec { program, .. } if program == ["ip", "-6", "addr"]));
    assert!(read(&["i", "create"]).is_err());
    assert!(read(&["i", "delete"]).is_err());
    for bad in ["https://x", "x:1", "http://", ""] {
        assert!(Api::new(bad, Identity::default()).is_err(), "{bad}");
    }
}
