//! Address management on a database, through ports as users make them.

use std::collections::{BTreeMap, HashSet};

use policy::Context;
use proptest::prelude::*;
use resource::Op;
use serde_json::{Value, json};
use store::{Faults, Options};

use super::super::{FixedIp, Holder, Ipam, Wanted};
use crate::settings::Settings;
use crate::testing::{As, Lab, id, ips, told};

fn error(status: u16, kind: &str) -> (u16, String) {
    (status, kind.to_owned())
}

async fn plain(lab: &Lab, cidr: &str) -> (String, String) {
    let admin = lab.admin();
    let network = admin.network().await;
    let subnet = id(&admin.subnet(&network, json!({"cidr": cidr})).await);
    (network, subnet)
}

#[tokio::test]
async fn slaac_explicit_eui64() {
    let lab = Lab::new().await;
    let admin = lab.admin();
    let network = admin.network().await;
    let six = id(&admin.slaac(&network, "2001:db8:6::/64").await);
    let eui = "2001:db8:6:0:f816:3eff:fe12:3459";
    let fixed = json!([{"subnet_id": six, "ip_address": eui}]);
    let port = admin.port(&network, json!({"mac_address": "fa:16:3e:12:34:59", "fixed_ips": fixed})).await.unwrap();
    assert_eq!(ips(&port), eui);
    let fixed = json!([{"ip_address": "2001:db8:6::99"}]);
    let fault = admin.port(&network, json!({"fixed_ips": fixed})).await.unwrap_err();
    assert_eq!(told(&fault), error(400, "AllocationOnAutoAddressSubnet"));
    lab.check_addresses().await;
}

#[tokio::test]
async fn slaac_mac_change() {
    let lab = Lab::new().await;
    let admin = lab.admin();
    let network = admin.network().await;
    admin.slaac(&network, "2001:db8:6::/64").await;
    admin.subnet(&network, json!({"cidr": "192.0.2.0/24"})).await;
    let port = admin.port(&network, json!({"mac_address": "fa:16:3e:12:34:5a"})).await.unwrap();
    let four = ips(&port).split(' ').next().unwrap().to_owned();
    let changed = admin.update("port", &id(&port), json!({"mac_address": "fa:16:3e:aa:aa:ab"})).await.unwrap();
    assert_eq!(ips(&changed), format!("{four} 2001:db8:6:0:f816:3eff:feaa:aaab"));
    lab.check_addresses().await;
}

#[tokio::test]
async fn port_update_subnet_only_keeps_ip() {
    let lab = Lab::new().await;
    let admin = lab.admin();
    let (network, subnet) = plain(&lab, "192.0.2.0/24").await;
    let fixed = json!([{"ip_address": "192.0.2.234"}]);
    let port = id(&admin.port(&network, json!({"fixed_ips": fixed})).await.unwrap());
    let same = admin.update("port", &port, json!({"fixed_ips": [{"subnet_id": subnet}]})).await.unwrap();
    assert_eq!(ips(&same), "192.0.2.234");
    let moved = admin.update("port", &port, json!({"fixed_ips": [{"ip_address": "192.0.2.9"}]})).await.unwrap();
    assert_eq!(ips(&moved), "192.0.2.9");
    let other = admin.port(&network, json!({"fixed_ips": [{"ip_address": "192.0.2.234"}]})).await.unwrap();
    let fault = admin.update("port", &port, json!({"fixed_ips": [{"ip_address": "192.0.2.234"}]})).await.unwrap_err();
    assert_eq!(told(&fault), error(409, "IpAddressAlreadyAllocated"));
    admin.delete("port", &id(&other)).await.unwrap();
    let none = admin.update("port", &port, json!({"fixed_ips": []})).await.unwrap();
    assert_eq!(ips(&none), "");
    lab.check_addresses().await;
}

#[tokio::test]
async fn each_family_and_each_wish() {
    let lab = Lab::new().await;
    let admin = lab.admin();
    let network = admin.network().await;
    assert_eq!(ips(&admin.port(&network, json!({})).await.unwrap()), "");
    let a = id(&admin.subnet(&network, json!({"cidr": "192.0.2.0/30"})).await);
    let b = id(&admin.subnet(&network, json!({"cidr": "198.51.100.0/24"})).await);
    admin.subnet(&network, json!({"ip_version": 6, "cidr": "2001:db8:1::/64"})).await;
    // The first subnet has one address; then comes the second.
    let first = ips(&admin.port(&network, json!({})).await.unwrap());
    assert!(first.starts_with("192.0.2.2 2001:db8:1::"), "{first}");
    let second = ips(&admin.port(&network, json!({})).await.unwrap());
    assert!(second.starts_with("198.51.100.") && second.contains(" 2001:db8:1::"), "{second}");
    let fault = admin.port(&network, json!({"fixed_ips": [{"subnet_id": a}]})).await.unwrap_err();
    assert_eq!(told(&fault), error(409, "IpAddressGenerationFailure"));
    let both =
        json!([{"subnet_id": b}, {"ip_address": "198.51.100.200"}, {"subnet_id": b, "ip_address": "198.51.100.201"}]);
    let port = admin.port(&network, json!({"fixed_ips": both})).await.unwrap();
    assert_eq!(port["fixed_ips"].as_array().unwrap().len(), 3);
    assert!(ips(&port).contains("198.51.100.200 198.51.100.201"));
    assert_eq!(port["ip_allocation"], "immediate");
    let none = admin.port(&network, json!({"fixed_ips": []})).await.unwrap();
    assert_eq!((ips(&none).as_str(), &none["ip_allocation"]), ("", &json!("none")));

    let elsewhere = plain(&lab, "203.0.113.0/24").await.1;
    let absent = "11111111-2222-4333-8444-555555555555";
    for (wish, want) in [
        (json!({"subnet_id": absent}), error(404, "SubnetNotFound")),
        (json!({"subnet_id": elsewhere}), error(400, "InvalidInput")),
        (json!({"ip_address": "203.0.113.9"}), error(400, "InvalidIpForNetwork")),
        (json!({"subnet_id": b, "ip_address": "203.0.113.9"}), error(400, "InvalidIpForSubnet")),
        (json!({"subnet_id": b, "ip_address": "198.51.100.255"}), error(400, "InvalidIpForSubnet")),
        (json!({"ip_address": "198.51.100.200"}), error(409, "IpAddressAlreadyAllocated")),
    ] {
        let fault = admin.port(&network, json!({"fixed_ips": [wish]})).await.unwrap_err();
        assert_eq!(told(&fault), want, "{wish}");
    }
    lab.check_addresses().await;
}

#[tokio::test]
async fn service_subnets() {
    let lab = Lab::new().await;
    let admin = lab.admin();
    let network = admin.network().await;
    admin.subnet(&network, json!({"cidr": "192.0.2.0/24", "service_types": ["network:floatingip"]})).await;
    let fault = admin.port(&network, json!({"device_owner": "compute:nova"})).await.unwrap_err();
    assert_eq!(told(&fault), error(409, "IpAddressGenerationFailureNoMatchingSubnet"));
    admin.subnet(&network, json!({"cidr": "198.51.100.0/24"})).await;
    let of = async |owner: &str| ips(&admin.port(&network, json!({"device_owner": owner})).await.unwrap());
    assert!(of("compute:nova").await.starts_with("198.51.100."));
    assert!(of("network:floatingip").await.starts_with("192.0.2."));
    assert_eq!(of("network:dhcp").await, "192.0.2.2");
}

async fn on_segments(lab: &Lab) -> (String, [String; 2]) {
    let admin = lab.admin();
    let network = admin.network().await;
    lab.execute("INSERT INTO standardattributes (id, resource_type) VALUES (9001, 'networksegments')").await;
    let segment =
        "INSERT INTO networksegments (id, network_id, network_type, segment_index, is_dynamic, standard_attr_id)";
    lab.execute(&format!("{segment} VALUES ('second', '{network}', 'vlan', 1, FALSE, 9001)")).await;
    let first =
        lab.sql(&format!("SELECT id FROM networksegments WHERE network_id = '{network}' AND id <> 'second'")).await;
    lab.execute("UPDATE networksegments SET id = 'aaaaaaaa-2222-4333-8444-555555555555' WHERE id = 'second'").await;
    let second = "aaaaaaaa-2222-4333-8444-555555555555";
    let a = id(&admin.subnet(&network, json!({"cidr": "192.0.2.0/24", "segment_id": first})).await);
    let b = id(&admin.subnet(&network, json!({"cidr": "198.51.100.0/24", "segment_id": second})).await);
    lab.execute(&format!("INSERT INTO segmenthostmappings (segment_id, host) VALUES ('{first}', 'rack1')")).await;
    lab.execute(&format!("INSERT INTO segmenthostmappings (segment_id, host) VALUES ('{second}', 'rack2')")).await;
    (network, [a, b])
}

#[tokio::test]
async fn routed_networks_wait_for_the_host() {
    let lab = Lab::new().await;
    let admin = lab.admin();
    let (network, [a, b]) = on_segments(&lab).await;
    let port = admin.port(&network, json!({})).await.unwrap();
    assert_eq!((ips(&port).as_str(), &port["ip_allocation"]), ("", &json!("deferred")));
    let bound = admin.update("port", &id(&port), json!({"binding:host_id": "rack2"})).await.unwrap();
    assert!(ips(&bound).starts_with("198.51.100."), "{bound}");
    assert_eq!(bound["ip_allocation"], "deferred");
    let fault = admin.update("port", &id(&port), json!({"binding:host_id": "rack1"})).await.unwrap_err();
    assert_eq!(told(&fault), error(409, "HostNotCompatibleWithFixedIps"));
    let fault = admin.port(&network, json!({"binding:host_id": "rack3"})).await.unwrap_err();
    assert_eq!(told(&fault), error(409, "HostNotConnectedToAnySegment"));
    let port = admin.port(&network, json!({"binding:host_id": "rack1"})).await.unwrap();
    assert!(ips(&port).starts_with("192.0.2."));
    let fault = admin.port(&network, json!({"fixed_ips": [{"subnet_id": a}, {"subnet_id": b}]})).await.unwrap_err();
    assert_eq!(told(&fault), error(400, "FixedIpsSubnetsNotOnSameSegment"));
    let port = admin.port(&network, json!({"fixed_ips": [{"subnet_id": b}]})).await.unwrap();
    assert!(ips(&port).starts_with("198.51.100."));

    // Subnets with and without segment do not go together.
    let body = json!({"network_id": network, "ip_version": 4, "cidr": "203.0.113.0/24"});
    assert_eq!(admin.try_create("subnet", body).await, error(400, "SubnetsNotAllAssociatedWithSegments"));
    lab.check_addresses().await;
}

#[tokio::test]
async fn the_last_automatic_address_of_a_segment_stays() {
    let lab = Lab::new().await;
    let admin = lab.admin();
    let network = admin.network().await;
    let segment = lab.sql(&format!("SELECT id FROM networksegments WHERE network_id = '{network}'")).await;
    lab.execute(&format!("INSERT INTO segmenthostmappings (segment_id, host) VALUES ('{segment}', 'rack1')")).await;
    let body = json!({"ip_version": 6, "cidr": "2001:db8::/64", "ipv6_ra_mode": "slaac", "ipv6_address_mode": "slaac",
        "segment_id": segment});
    let subnet = id(&admin.subnet(&network, body).await);
    let port = id(&admin.port(&network, json!({"binding:host_id": "rack1"})).await.unwrap());
    let fault = admin.delete("subnet", &subnet).await.unwrap_err();
    assert_eq!(told(&fault), error(409, "SubnetInUse"));
    admin.delete("port", &port).await.unwrap();
    admin.delete("subnet", &subnet).await.unwrap();
}

/// Statements that one allocation sends.
async fn statements(lab: &Lab, ipam: &Ipam, network: &str, wanted: Option<Vec<Wanted>>) -> (u32, Vec<FixedIp>) {
    let port = id(&lab.admin().port(network, json!({"fixed_ips": []})).await.unwrap());
    let mut txn = lab.system.store.write().await.unwrap();
    let context = Context::internal();
    let before = txn.statements();
    let mut op = Op::new(&mut txn, &context, &lab.system);
    let mac = types::Mac::random_from("fa:16:3e:00:00:00".parse().unwrap());
    let holder = Holder { port_id: &port, network_id: network, mac, device_owner: "", host: "" };
    let allocated = ipam.allocate(&mut op, &holder, wanted).await.unwrap();
    let sent = txn.statements() - before;
    txn.commit().await.unwrap();
    (sent, allocated.ips)
}

/// Fills a subnet by hand, every address or every second one, and makes the driver look again.
async fn fill(lab: &Lab, subnet: &str, network: &str, count: u32, step: u32) {
    let port = id(&lab.admin().port(network, json!({"fixed_ips": []})).await.unwrap());
    let mut txn = lab.system.store.write().await.unwrap();
    let addresses = (0..count).map(|n| std::net::Ipv4Addr::from(0x0a00_0002 + n * step).to_string());
    let (mut allocations, mut driver) = (Vec::new(), Vec::new());
    for address in addresses {
        allocations.push(vec![port.as_str().into(), address.as_str().into(), subnet.into(), network.into()]);
        driver.push(vec![address.as_str().into(), "ALLOCATED".into(), subnet.into()]);
    }
    txn.insert_many("ipallocations", &["port_id", "ip_address", "subnet_id", "network_id"], allocations).await.unwrap();
    txn.insert_many("ipamallocations", &["ip_address", "status", "ipam_subnet_id"], driver).await.unwrap();
    txn.commit().await.unwrap();
}

#[tokio::test]
async fn an_allocation_costs_the_same_whatever_is_taken() {
    let lab = Lab::new().await;
    let ipam = Ipam::new("internal").unwrap();
    let (network, subnet) = plain(&lab, "10.0.0.0/16").await;
    // The first looks at the database; its cost is not that of the others.
    statements(&lab, &ipam, &network, None).await;
    let (empty, _) = statements(&lab, &ipam, &network, None).await;
    assert_eq!(empty, 3, "subnets, the driver's row, the port's row");
    for step in [1, 2] {
        let lab = Lab::new().await;
        let ipam = Ipam::new("internal").unwrap();
        let (network, subnet) = plain(&lab, "10.0.0.0/16").await;
        fill(&lab, &subnet, &network, 30_000, step).await;
        statements(&lab, &ipam, &network, None).await;
        let mut seen = HashSet::new();
        for _ in 0..20 {
            let (sent, ips) = statements(&lab, &ipam, &network, None).await;
            assert_eq!(sent, empty);
            assert!(seen.insert(ips));
        }
        lab.check_addresses().await;
    }
    let (explicit, _) = statements(&lab, &ipam, &network, Some(vec![super::wish(&format!("{subnet} 10.0.9.9"))])).await;
    assert_eq!(explicit, empty);
    let network = lab.admin().network().await;
    for n in 0..3 {
        lab.admin().slaac(&network, &format!("2001:db8:{n}::/64")).await;
    }
    lab.admin().subnet(&network, json!({"cidr": "192.0.2.0/24"})).await;
    statements(&lab, &ipam, &network, None).await;
    let (many, ips) = statements(&lab, &ipam, &network, None).await;
    assert_eq!(ips.len(), 4);
    // One per address for the driver; the rows of the port go in chunks of powers of two.
    assert_eq!(many, 1 + 4 + 1);
}

/// Clients that create one port each, over several servers; ids of the created and faults of the others.
async fn crowd(servers: &[&Lab], network: &str, clients: usize) -> (Vec<String>, Vec<(u16, String)>) {
    let tasks: Vec<_> = (0..clients)
        .map(|n| {
            let (who, network) = (servers[n % servers.len()].admin(), network.to_owned());
            tokio::spawn(async move { who.port(&network, json!({})).await })
        })
        .collect();
    let (mut created, mut refused) = (Vec::new(), Vec::new());
    for task in tasks {
        match task.await.unwrap() {
            Ok(port) => created.push(id(&port)),
            Err(fault) => refused.push(told(&fault)),
        }
    }
    (created, refused)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixty_four_clients_on_a_small_subnet_get_exactly_the_free_addresses() {
    let lab = Lab::new().await;
    let other = Lab::on(lab.system.store.clone(), Settings::default());
    for servers in [vec![&lab], vec![&lab, &other]] {
        let (network, _) = plain(&lab, "192.0.2.0/26").await;
        let mut ports = Vec::new();
        for round in 0..3 {
            let (created, refused) = crowd(&servers, &network, 64).await;
            let free = if round == 0 { 61 } else { 30 };
            assert_eq!(created.len(), free, "round {round}: a /26 has 61 addresses beside the gateway");
            assert!(refused.iter().all(|fault| *fault == error(409, "IpAddressGenerationFailure")), "{refused:?}");
            lab.check_addresses().await;
            ports.extend(created);
            // Free and refill.
            let removals: Vec<_> = ports
                .drain(..30)
                .zip([&lab, &other].into_iter().cycle())
                .map(|(port, lab)| {
                    let who = lab.admin();
                    tokio::spawn(async move { who.delete("port", &port).await })
                })
                .collect();
            for removal in removals {
                removal.await.unwrap().unwrap();
            }
        }
        lab.check_addresses().await;
    }
}

#[tokio::test]
async fn a_subnet_of_the_reference_has_a_key_of_its_own() {
    let lab = Lab::new().await;
    let (network, subnet) = plain(&lab, "192.0.2.0/30").await;
    lab.execute(&format!("DELETE FROM ipamallocationpools WHERE ipam_subnet_id = '{subnet}'")).await;
    lab.execute(&format!("DELETE FROM ipamsubnets WHERE id = '{subnet}'")).await;
    lab.execute(&format!("INSERT INTO ipamsubnets (id, neutron_subnet_id) VALUES ('theirs', '{subnet}')")).await;
    lab.execute(
        "INSERT INTO ipamallocationpools (id, ipam_subnet_id, first_ip, last_ip) VALUES ('p', 'theirs', '192.0.2.2', '192.0.2.2')",
    )
    .await;
    let admin = lab.admin();
    let port = admin.port(&network, json!({})).await.unwrap();
    assert_eq!(ips(&port), "192.0.2.2");
    assert_eq!(lab.sql("SELECT ipam_subnet_id FROM ipamallocations").await, "theirs");
    lab.check_addresses().await;
    admin.delete("port", &id(&port)).await.unwrap();
    assert_eq!(lab.sql("SELECT COUNT(*) FROM ipamallocations").await, "0");
    admin.delete("subnet", &subnet).await.unwrap();
    assert_eq!(lab.sql("SELECT COUNT(*) FROM ipamsubnets").await, "0");
}

#[tokio::test]
async fn a_row_that_another_program_lost_is_noticed() {
    let lab = Lab::new().await;
    let admin = lab.admin();
    let (network, _) = plain(&lab, "192.0.2.0/29").await;
    for _ in 0..2 {
        admin.port(&network, json!({})).await.unwrap();
    }
    // The ports' rows stay: their addresses must not be given away again.
    lab.execute("DELETE FROM ipamallocations").await;
    let fresh = Lab::on(lab.system.store.clone(), Settings::default());
    let mut seen = HashSet::new();
    for _ in 0..3 {
        assert!(seen.insert(ips(&fresh.admin().port(&network, json!({})).await.unwrap())));
    }
    let fault = fresh.admin().port(&network, json!({})).await.unwrap_err();
    assert_eq!(told(&fault), error(409, "IpAddressGenerationFailure"));
    assert_eq!(lab.sql("SELECT COUNT(DISTINCT ip_address) FROM ipallocations").await, "5");
}

#[tokio::test]
async fn ipam_dangling_allocation() {
    for seed in 0..24 {
        let faults = Faults { seed, deadlock: 3, lost_before: 0, lost_after: 0 };
        let lab = Lab::with(Options { faults: Some(faults), ..Options::default() }, Settings::default()).await;
        let admin = lab.admin();
        let network = admin.network().await;
        let mut ports = Vec::new();
        for _ in 0..5 {
            ports.push(id(&admin.port(&network, json!({})).await.unwrap()));
        }
        let subnet = id(&admin.slaac(&network, "2001:db8::/64").await);
        lab.check_addresses().await;
        assert_eq!(lab.sql("SELECT COUNT(*) FROM ipallocations").await, "5", "seed {seed}");
        for port in ports {
            admin.delete("port", &port).await.unwrap();
        }
        admin.delete("subnet", &subnet).await.unwrap();
        admin.delete("network", &network).await.unwrap();
        assert_eq!(lab.sql("SELECT COUNT(*) FROM ipamallocations").await, "0");
    }
}

/// One client that creates, changes and removes ports at random. Errors of the database are no reason to stop.
async fn wander(who: As, network: String, subnet: String, seed: u64, steps: u32) {
    let mut state = seed;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    let mut mine: Vec<String> = Vec::new();
    for _ in 0..steps {
        let outcome: Result<(), schema::Fault> = match random(10) {
            0..=4 => who.port(&network, json!({})).await.map(|port| mine.push(id(&port))),
            5 => {
                let address = format!("192.0.2.{}", 2 + random(70));
                let fixed = json!([{"subnet_id": subnet, "ip_address": address}, {"subnet_id": subnet}]);
                who.port(&network, json!({"fixed_ips": fixed})).await.map(|port| mine.push(id(&port)))
            }
            6 | 7 if !mine.is_empty() => {
                let port = mine.swap_remove(random(mine.len() as u64) as usize);
                who.delete("port", &port).await
            }
            _ if !mine.is_empty() => {
                let port = &mine[random(mine.len() as u64) as usize];
                let wishes: Vec<Value> = (0..random(3)).map(|_| json!({"subnet_id": subnet})).collect();
                who.update("port", port, json!({"fixed_ips": wishes})).await.map(drop)
            }
            _ => Ok(()),
        };
        if let Err(fault) = outcome {
            assert!([400, 404, 409, 503].contains(&fault.status()), "{fault:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_address_twice_whatever_the_database_does() {
    for seed in 1..=3 {
        let options = Options {
            faults: Some(Faults { seed, deadlock: 20, lost_before: 40, lost_after: 40 }),
            ..Options::default()
        };
        let lab = Lab::with(options, Settings::default()).await;
        let other = Lab::on(lab.system.store.clone(), Settings::default());
        // The set-up itself meets the faults too.
        let (network, subnet) = loop {
            let Ok(network) = lab.admin().create("network", json!({})).await else { continue };
            let body = json!({"network_id": network["id"], "ip_version": 4, "cidr": "192.0.2.0/26"});
            if let Ok(subnet) = lab.admin().create("subnet", body).await {
                break (id(&network), id(&subnet));
            }
        };
        let tasks: Vec<_> = (0..8u64)
            .map(|n| {
                let who = if n % 2 == 0 { lab.admin() } else { other.admin() };
                tokio::spawn(wander(who, network.clone(), subnet.clone(), seed * 100 + n, 60))
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        lab.check_addresses().await;
    }
}

#[derive(Clone, Debug)]
enum Step {
    Any,
    Lowest,
    Exactly(u8),
    Delete(usize),
    Pools(u8, u8),
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => Just(Step::Any),
        1 => Just(Step::Lowest),
        2 => (0u8..=15).prop_map(Step::Exactly),
        4 => any::<usize>().prop_map(Step::Delete),
        1 => (2u8..=14, 2u8..=14).prop_map(|(a, b)| Step::Pools(a.min(b), a.max(b))),
        1 => Just(Step::Restart),
    ]
}

/// Runs the steps against a plain model of a /28 whose gateway is .1.
async fn against_model(steps: Vec<Step>) {
    let mut lab = Lab::new().await;
    let (network, subnet) = plain(&lab, "192.0.2.0/28").await;
    let mut pool = 2u8..=14;
    let mut taken: BTreeMap<u8, String> = BTreeMap::new();
    let last = |port: &Value| ips(port).rsplit('.').next().unwrap().parse::<u8>().unwrap();
    for step in steps {
        let admin = lab.admin();
        match step {
            Step::Any | Step::Lowest => {
                let lowest = matches!(step, Step::Lowest);
                let owner = if lowest { "network:dhcp" } else { "" };
                if lowest {
                    // What the hint has not heard of yet is not lower for it.
                    lab.system.store.settled().await;
                }
                let outcome = admin.port(&network, json!({"device_owner": owner})).await;
                let free: Vec<u8> = pool.clone().filter(|n| !taken.contains_key(n)).collect();
                match outcome {
                    Ok(port) => {
                        let got = last(&port);
                        assert!(free.contains(&got), "{got} of {free:?}");
                        assert!(!lowest || got == free[0]);
                        taken.insert(got, id(&port));
                    }
                    Err(fault) => {
                        assert_eq!(told(&fault), error(409, "IpAddressGenerationFailure"));
                        assert!(free.is_empty(), "{free:?} were free");
                    }
                }
            }
            Step::Exactly(n) => {
                let fixed = json!([{"subnet_id": subnet, "ip_address": format!("192.0.2.{n}")}]);
                // The gateway's address is a router's to take.
                let owner = if n == 1 { "network:router_interface" } else { "" };
                let outcome = admin.port(&network, json!({"fixed_ips": fixed, "device_owner": owner})).await;
                match outcome {
                    Ok(port) if n == 1 => admin.delete("port", &id(&port)).await.unwrap(),
                    Ok(port) => assert!(taken.insert(n, id(&port)).is_none() && (1..=14).contains(&n)),
                    Err(fault) if taken.contains_key(&n) => {
                        assert_eq!(told(&fault), error(409, "IpAddressAlreadyAllocated"));
                    }
                    Err(fault) => {
                        assert_eq!(told(&fault), error(400, "InvalidIpForSubnet"));
                        assert!(n == 0 || n == 15);
                    }
                }
            }
            Step::Delete(which) => {
                if let Some(n) = taken.keys().nth(which % taken.len().max(1)).copied() {
                    admin.delete("port", &taken.remove(&n).unwrap()).await.unwrap();
                }
            }
            Step::Pools(first, end) => {
                let range = json!([{"start": format!("192.0.2.{first}"), "end": format!("192.0.2.{end}")}]);
                admin.update("subnet", &subnet, json!({"allocation_pools": range})).await.unwrap();
                pool = first..=end;
            }
            Step::Restart => {
                let database = lab._database.take();
                lab = Lab::on(lab.system.store.clone(), Settings::default());
                lab._database = database;
            }
        }
    }
    lab.check_addresses().await;
    let mut txn = lab.system.store.read().await.unwrap();
    let rows = txn.query("SELECT ip_address FROM ipamallocations", &[]).await.unwrap();
    let stored: HashSet<String> = rows.iter().map(|row| row.text(0)).collect();
    assert_eq!(stored, taken.keys().map(|n| format!("192.0.2.{n}")).collect());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn the_allocator_agrees_with_a_plain_model(steps in proptest::collection::vec(step(), 1..60)) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(against_model(steps));
    }
}
