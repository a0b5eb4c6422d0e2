//! Cases of operators (areas dhcp and ports) as far as they are about files and arguments.

use std::path::Path;

use serde_json::{Value, json};

use super::{S1, S6, net_d, network, port, port_id, settings, v6_subnet};
use crate::files::{Files, arguments, initial_leases, relief_arguments, relief_leases};
use crate::model::id;

fn files(value: &Value) -> Files {
    Files::render(&settings(), &network(value), id(&port_id(2)).as_ref())
}

fn opts(value: &Value) -> Vec<String> {
    files(value).opts.lines().map(str::to_owned).collect()
}

fn s1(rest: &str) -> String {
    format!("tag:subnet-{S1},{rest}")
}

#[test]
fn dhcp_files_basic() {
    let mut net = net_d();
    net["subnets"][0]["host_routes"] = json!([{"destination": "198.51.100.0/24", "nexthop": "192.0.2.254"}]);
    let files = files(&net);
    assert_eq!(
        files.host,
        "fa:16:3e:00:00:01,host-192-0-2-1.openstacklocal,192.0.2.1\n\
         fa:16:3e:00:00:11,host-192-0-2-11.openstacklocal,192.0.2.11\n"
    );
    assert_eq!(
        files.addn_hosts,
        "192.0.2.1\thost-192-0-2-1.openstacklocal host-192-0-2-1\n\
         192.0.2.11\thost-192-0-2-11.openstacklocal host-192-0-2-11\n"
    );
    let routes = "198.51.100.0/24,192.0.2.254,169.254.169.254/32,192.0.2.1,0.0.0.0/0,192.0.2.1";
    assert_eq!(
        files.opts.lines().collect::<Vec<_>>(),
        [
            s1(&format!("option:classless-static-route,{routes}")),
            s1(&format!("249,{routes}")),
            s1("option:router,192.0.2.1"),
        ]
    );
    let args = arguments(&settings(), &network(&net));
    let dir = "/var/lib/neutron/dhcp/0d000000-0000-4000-8000-000000000000";
    for arg in [
        "--no-hosts".to_owned(),
        format!("--dhcp-hostsfile={dir}/host"),
        format!("--addn-hosts={dir}/addn_hosts"),
        format!("--dhcp-optsfile={dir}/opts"),
        format!("--dhcp-leasefile={dir}/leases"),
        "--dhcp-match=set:ipxe,175".to_owned(),
        "--dhcp-userclass=set:ipxe6,iPXE".to_owned(),
        "--local-service".to_owned(),
        "--bind-dynamic".to_owned(),
        format!("--dhcp-range=set:subnet-{S1},192.0.2.0,static,255.255.255.0,86400s"),
        "--dhcp-option-force=option:mtu,1450".to_owned(),
        "--dhcp-lease-max=256".to_owned(),
        "--conf-file=/dev/null".to_owned(),
        "--domain=openstacklocal".to_owned(),
    ] {
        assert!(args.contains(&arg), "{arg} not in {args:#?}");
    }
}

#[test]
fn arguments_follow_the_options() {
    let mut settings = settings();
    settings.lease_duration = -1;
    settings.renewal_time = 300;
    settings.rebinding_time = 600;
    settings.config_file = " /etc/neutron/dnsmasq.conf ".into();
    settings.dns_servers = vec!["198.51.100.53".into(), "203.0.113.53".into()];
    settings.local_resolv = true;
    settings.broadcast_reply = true;
    settings.txt_record = "cloud,\"a,b\"".into();
    settings.log_dir = Some("/var/log/dhcp".into());
    settings.dns_domain = String::new();
    settings.lease_max = 100;
    let args = arguments(&settings, &network(&net_d()));
    let tail = args.iter().position(|arg| arg.starts_with("--dhcp-range")).unwrap();
    assert_eq!(
        args[tail..],
        [
            &format!("--dhcp-range=set:subnet-{S1},192.0.2.0,static,255.255.255.0,infinite"),
            "--dhcp-option-force=option:mtu,1450",
            "--dhcp-lease-max=100",
            "--dhcp-option-force=option:T1,300s",
            "--dhcp-option-force=option:T2,600s",
            "--txt-record=cloud,\"a,b\"",
            "--conf-file=/etc/neutron/dnsmasq.conf",
            "--server=198.51.100.53",
            "--server=203.0.113.53",
            "--dhcp-broadcast",
            "--log-queries",
            "--log-dhcp",
            "--log-facility=/var/log/dhcp/0d000000-0000-4000-8000-000000000000/dhcp_dns_log",
        ]
    );
    // Forwarders of the operator win over the host's.
    assert!(args.contains(&"--no-resolv".to_owned()));
    settings.dns_servers.clear();
    assert!(!arguments(&settings, &network(&net_d())).contains(&"--no-resolv".to_owned()));
}

#[test]
fn dhcp_dns_announcement() {
    let mut net = net_d();
    net["subnets"][0]["dns_nameservers"] = json!(["198.51.100.53", "203.0.113.53"]);
    assert!(opts(&net).contains(&s1("option:dns-server,198.51.100.53,203.0.113.53")));
    net["subnets"][0]["dns_nameservers"] = json!(["0.0.0.0"]);
    assert!(opts(&net).contains(&s1("option:dns-server")));

    net["subnets"][0]["dns_nameservers"] = json!([]);
    assert!(!opts(&net).iter().any(|line| line.contains("dns-server")), "one agent announces itself");
    net["ports"].as_array_mut().unwrap().push(port(3, "192.0.2.3", "network:dhcp"));
    assert!(opts(&net).contains(&s1("option:dns-server,192.0.2.2,192.0.2.3")));

    let mut net = net_d();
    net["subnets"].as_array_mut().unwrap().push(v6_subnet("dhcpv6-stateful"));
    net["subnets"][1]["dns_nameservers"] = json!(["2001:db8::53"]);
    assert!(opts(&net).contains(&format!("tag:subnet-{S6},option6:dns-server,[2001:db8::53]")));
    net["subnets"][1]["dns_nameservers"] = json!(["::"]);
    assert!(opts(&net).contains(&format!("tag:subnet-{S6},option6:dns-server")));
}

#[test]
fn dhcp_no_gateway_subnet() {
    let mut net = net_d();
    net["ports"].as_array_mut().unwrap().remove(0);
    net["subnets"][0]["gateway_ip"] = Value::Null;
    assert_eq!(opts(&net), [s1("option:router")]);
    net["subnets"][0]["host_routes"] = json!([{"destination": "0.0.0.0/0", "nexthop": "192.0.2.9"}]);
    assert_eq!(opts(&net), [s1("option:router,192.0.2.9")]);
    let other = json!({"destination": "198.51.100.0/24", "nexthop": "192.0.2.254"});
    net["subnets"][0]["host_routes"] = json!([other]);
    assert_eq!(
        opts(&net),
        [
            s1("option:classless-static-route,198.51.100.0/24,192.0.2.254"),
            s1("249,198.51.100.0/24,192.0.2.254"),
            s1("option:router")
        ]
    );
}

#[test]
fn metadata_route_of_isolated_networks_only_when_asked() {
    let mut net = net_d();
    net["ports"].as_array_mut().unwrap().remove(0);
    let network = network(&net);
    let own = id(&port_id(2));
    let mut settings = settings();
    let opts = |settings: &_, own: Option<&_>| Files::render(settings, &network, own).opts;
    assert!(!opts(&settings, own.as_ref()).contains("169.254"));
    settings.isolated_metadata = true;
    assert!(opts(&settings, own.as_ref()).contains("169.254.169.254/32,192.0.2.2,0.0.0.0/0,192.0.2.1"));
    // Without a port of ours nobody would answer.
    assert!(!opts(&settings, None).contains("169.254"));

    let routed = super::network(&net_d());
    assert!(Files::render(&settings, &routed, own.as_ref()).opts.contains("169.254.169.254/32,192.0.2.1,"));
    settings.force_metadata = true;
    assert!(Files::render(&settings, &routed, own.as_ref()).opts.contains("169.254.169.254/32,192.0.2.2,"));

    let mut ovn = net_d();
    let mut meta = port(9, "192.0.2.9", "network:distributed");
    meta["device_id"] = json!("ovnmeta-0d000000-0000-4000-8000-000000000000");
    ovn["ports"].as_array_mut().unwrap().push(meta);
    assert!(
        Files::render(&settings, &super::network(&ovn), own.as_ref()).opts.contains("169.254.169.254/32,192.0.2.9,")
    );
}

#[test]
fn extra_dhcp_opt_injection() {
    let mut net = net_d();
    net["ports"][2]["extra_dhcp_opts"] = json!([
        {"opt_name": "tftp-server", "opt_value": "192.0.2.3\ntag:x,3,192.0.2.66", "ip_version": 4},
        {"opt_name": "bootfile-name\ntag:x,3,192.0.2.66", "opt_value": "a", "ip_version": 4},
        {"opt_name": "ntp-server", "opt_value": "192.0.2.4", "ip_version": 9},
        {"opt_name": "router", "opt_value": "", "ip_version": 4},
        {"opt_name": "tag:ipxe,67", "opt_value": "http://192.0.2.3/boot.ipxe", "ip_version": 4},
        {"opt_name": "tag:x,option:router,192.0.2.66,y", "opt_value": "z", "ip_version": 4},
        {"opt_name": "domain-search", "opt_value": "example.org", "ip_version": 6},
    ]);
    let tag = format!("tag:port-{}", port_id(0x11));
    let lines: Vec<String> = opts(&net).into_iter().filter(|line| line.contains("port-")).collect();
    assert_eq!(
        lines,
        [
            format!("{tag},option:tftp-server,192.0.2.3"),
            format!("{tag},option:bootfile-name,a"),
            format!("{tag},option:router"),
            format!("{tag},tag:ipxe,67,http://192.0.2.3/boot.ipxe"),
        ]
    );
    assert!(files(&net).host.ends_with(&format!("192.0.2.11,set:port-{}\n", port_id(0x11))));
}

#[test]
fn client_ids_stand_in_the_host_line() {
    let mut net = net_d();
    let client = json!({"opt_name": "client-id", "opt_value": "01:fa:16:3e:00:00:99", "ip_version": 4});
    net["ports"][2]["extra_dhcp_opts"] = json!([client]);
    let line = |net: &Value| files(net).host.lines().last().unwrap().to_owned();
    let start = "fa:16:3e:00:00:11,id:01:fa:16:3e:00:00:99,host-192-0-2-11.openstacklocal,192.0.2.11";
    assert_eq!(line(&net), start);
    assert!(!files(&net).opts.contains("client-id"));
    net["ports"][2]["extra_dhcp_opts"] = json!([client, {"opt_name": 42, "opt_value": "192.0.2.123", "ip_version": 4}]);
    assert_eq!(line(&net), format!("{start},set:port-{}", port_id(0x11)));
    assert!(files(&net).opts.ends_with(",42,192.0.2.123"));
    // By number, and one that would add fields to the line.
    net["ports"][2]["extra_dhcp_opts"] = json!([{"opt_name": "61", "opt_value": "x,192.0.2.66", "ip_version": 4}]);
    assert_eq!(
        line(&net),
        format!("fa:16:3e:00:00:11,host-192-0-2-11.openstacklocal,192.0.2.11,set:port-{}", port_id(0x11))
    );
}

#[test]
fn dhcp_skip_network_ports() {
    let plain = files(&net_d());
    let mut net = net_d();
    for (n, owner) in [
        (0x21, "network:router_ha_interface"),
        (0x22, "network:floatingip"),
        (0x23, "network:dhcp"),
        (0x24, "network:distributed"),
    ] {
        // A DHCP port of another subnet, so that it is no further name server.
        let mut port = port(n, "203.0.113.9", owner);
        port["fixed_ips"][0]["subnet_id"] = json!("ffffffff-0000-4000-8000-000000000000");
        net["ports"].as_array_mut().unwrap().push(port);
    }
    assert_eq!(files(&net), plain);
    assert_eq!(arguments(&settings(), &network(&net)), arguments(&settings(), &network(&net_d())));
}

#[test]
fn v6_modes() {
    let with = |mode: &str| {
        let mut net = net_d();
        net["subnets"].as_array_mut().unwrap().push(v6_subnet(mode));
        let fixed = json!({"subnet_id": S6, "ip_address": "2001:db8:7a::11"});
        net["ports"][2]["fixed_ips"].as_array_mut().unwrap().push(fixed);
        net["ports"][2]["extra_dhcp_opts"] =
            json!([{"opt_name": "ntp-server", "opt_value": "[2001:db8::7b]", "ip_version": 6}]);
        net
    };
    let ranges = |net: &Value| {
        let args = arguments(&settings(), &network(net));
        args.into_iter().filter(|arg| arg.starts_with("--dhcp-range") && arg.contains(S6)).collect::<Vec<_>>()
    };
    let guest = |net: &Value| {
        let host = files(net).host;
        host.lines().filter(|line| line.starts_with("fa:16:3e:00:00:11")).map(str::to_owned).collect::<Vec<_>>()
    };
    let id = port_id(0x11);
    let v4 = format!("fa:16:3e:00:00:11,host-192-0-2-11.openstacklocal,192.0.2.11,set:port-{id}");
    let v6 =
        format!("fa:16:3e:00:00:11,tag:dhcpv6,host-2001-db8-7a--11.openstacklocal,[2001:db8:7a::11],set:port-{id}");
    let range = format!("--dhcp-range=set:subnet-{S6},2001:db8:7a::,static,64,86400s");
    for mode in ["dhcpv6-stateful", ""] {
        assert_eq!(ranges(&with(mode)), [range.as_str()]);
        assert_eq!(guest(&with(mode)), [v4.as_str(), v6.as_str()]);
    }
    // The line without an address comes first.
    let stateless = with("dhcpv6-stateless");
    assert_eq!(ranges(&stateless), [range.as_str()]);
    assert_eq!(guest(&stateless), [format!("fa:16:3e:00:00:11,tag:dhcpv6,set:port-{id}"), v4.clone()]);
    assert!(files(&stateless).opts.contains(&format!("tag:port-{id},option6:ntp-server,[2001:db8::7b]")));
    let slaac = with("slaac");
    assert!(ranges(&slaac).is_empty());
    assert_eq!(guest(&slaac), [v4]);
    assert!(!files(&slaac).opts.contains(S6));
    assert!(files(&slaac).addn_hosts.contains("2001:db8:7a::11\thost-2001-db8-7a--11."));

    let mut wide = with("dhcpv6-stateful");
    wide["subnets"][1]["cidr"] = json!("2001:db8::/48");
    assert!(ranges(&wide).is_empty(), "dnsmasq refuses ranges wider than /64");
}

#[test]
fn several_v6_addresses_in_one_line() {
    let mut net = net_d();
    net["subnets"].as_array_mut().unwrap().push(v6_subnet("dhcpv6-stateful"));
    net["ports"][2]["fixed_ips"] = json!([
        {"subnet_id": S6, "ip_address": "2001:db8:7a::11"},
        {"subnet_id": S1, "ip_address": "192.0.2.11"},
        {"subnet_id": S6, "ip_address": "2001:db8:7a::12"},
    ]);
    let mut settings = settings();
    settings.addr6_list = true;
    let host = Files::render(&settings, &network(&net), None).host;
    assert!(
        host.ends_with(
            "fa:16:3e:00:00:11,host-192-0-2-11.openstacklocal,192.0.2.11\n\
         fa:16:3e:00:00:11,tag:dhcpv6,host-2001-db8-7a--11.openstacklocal,[2001:db8:7a::11],[2001:db8:7a::12]\n"
        ),
        "{host}"
    );
}

#[test]
fn dhcp_v6_leases_survive() {
    let mut net = net_d();
    net["subnets"].as_array_mut().unwrap().push(v6_subnet("dhcpv6-stateful"));
    let fixed = json!({"subnet_id": S6, "ip_address": "2001:db8:7a::11"});
    net["ports"][2]["fixed_ips"].as_array_mut().unwrap().push(fixed);
    let lease = "1800000000 1041254 2001:db8:7a::11 host-2001-db8-7a--11 00:01:00:01:aa";
    let existing = format!(
        "1800000000 fa:16:3e:00:00:99 192.0.2.99 * *\nduid 00:01:00:01:32:a0\n{lease}\n\
         1800000000 77 2001:db8:7a::99 gone 00:01:00:01:bb\n1 2 [2001:db8:7a::11] bracketed *\nnonsense\n"
    );
    let v4 = "0 fa:16:3e:00:00:01 192.0.2.1 * *\n0 fa:16:3e:00:00:11 192.0.2.11 * *\n";
    assert_eq!(initial_leases(&network(&net), &existing), format!("duid 00:01:00:01:32:a0\n{v4}{lease}\n"));
    net["ports"].as_array_mut().unwrap().pop();
    let v4 = "0 fa:16:3e:00:00:01 192.0.2.1 * *\n";
    assert_eq!(initial_leases(&network(&net), &existing), format!("duid 00:01:00:01:32:a0\n{v4}"));
}

#[test]
fn the_second_dnsmasq_differs_where_it_must() {
    let first = arguments(&settings(), &network(&net_d()));
    let second = relief_arguments(&first, Path::new("/d/relief.pid"), Path::new("/d/relief.leases"));
    let differ: Vec<&String> = second.iter().filter(|arg| !first.contains(arg)).collect();
    assert_eq!(
        differ,
        [
            "--pid-file=/d/relief.pid",
            "--dhcp-leasefile=/d/relief.leases",
            &format!("--dhcp-range=set:subnet-{S1},192.0.2.0,static,255.255.255.0,600s"),
            "--port=0",
            "--dhcp-authoritative",
            "--keep-in-foreground",
        ]
    );
    assert!(!second.iter().any(|arg| arg.starts_with("--addn-hosts")));
    let mut settings = settings();
    for (duration, lease) in [(-1, "600s"), (300, "300s")] {
        settings.lease_duration = duration;
        let first = arguments(&settings, &network(&net_d()));
        let second = relief_arguments(&first, Path::new("/p"), Path::new("/l"));
        assert!(second.iter().any(|arg| arg.starts_with("--dhcp-range") && arg.ends_with(lease)), "{second:?}");
    }
    let leases = "0 fa:16:3e:00:00:11 192.0.2.11 * *\nduid 00:01\n9 7 2001:db8::11 * 00:02\n";
    assert_eq!(relief_leases(leases), "duid 00:01\n9 7 2001:db8::11 * 00:02\n");
}
