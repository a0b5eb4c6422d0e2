//! Statements of a request do not grow with the number of rows: a list of a thousand takes as many as one of ten, a change
//! as many among a thousand as among ten.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::{As, TestServer};

const OPTIONS: &str = "
[ml2]
tenant_network_types = vxlan
mechanism_drivers = linuxbridge,l2population
[ml2_type_vxlan]
vni_ranges = 1:100000
[quotas]
quota_network = 100000
quota_subnet = 100000
quota_port = 100000
quota_security_group = 100000
quota_security_group_rule = 100000
";

/// Statements by request.
type Counts = BTreeMap<&'static str, u64>;

struct Bench {
    server: TestServer,
    rows: usize,
    /// Of the member's project, with `rows` ports on it.
    network: String,
    subnet: String,
}

async fn count(server: &TestServer, asker: &As<'_>, method: &str, path: &str, body: Option<Value>) -> (u64, Value) {
    let (count, answer) = server.statements(asker.send(method, path, body)).await;
    assert!(answer.status.is_success(), "{method} {path}: {}", answer.body);
    (count, answer.body)
}

impl Bench {
    /// As many networks with a subnet each, and ports on one of them, as `rows` says.
    async fn with(rows: usize) -> Bench {
        let server = TestServer::start(OPTIONS).await;
        server.agent("DHCP agent", "neutron-dhcp-agent", "h1", json!({})).await;
        let tunnels = json!({"tunnel_types": ["vxlan"], "tunneling_ip": "192.0.2.1", "l2_population": true});
        for host in ["h1", "h2"] {
            server.agent("Linux bridge agent", "neutron-linuxbridge-agent", host, tunnels.clone()).await;
        }
        let member = server.member("p1");
        member.make_all("network", (0..rows).map(|i| json!({"name": format!("n{i}")}))).await;
        let networks = member.get("/networks?fields=id").await.expect(200);
        let ids: Vec<&str> =
            networks["networks"].as_array().unwrap().iter().map(|n| n["id"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), rows);
        let network = ids[0].to_owned();
        let cidrs = (0..rows).map(|i| format!("10.{}.{}.0/24", i / 256, i % 256));
        let subnets =
            ids[1..].iter().zip(cidrs).map(|(id, cidr)| json!({"network_id": id, "ip_version": 4, "cidr": cidr}));
        member.make_all("subnet", subnets).await;
        let subnet =
            member.make("subnet", json!({"network_id": network, "ip_version": 4, "cidr": "172.16.0.0/16"})).await;
        let subnet = subnet["id"].as_str().unwrap().to_owned();
        let groups = (0..rows.saturating_sub(1)).map(|i| json!({"name": format!("g{i}")}));
        member.make_all_at("/security-groups", "security_group", groups).await;
        let addresses = (0..rows).map(|i| json!({"name": format!("a{i}"), "addresses": ["192.0.2.0/24"]}));
        member.make_all_at("/address-groups", "address_group", addresses).await;
        let admin = server.admin();
        let ports = (0..rows).map(|i| {
            json!({"network_id": network, "name": format!("p{i}"), "project_id": "p1", "binding:host_id": "h1",
                   "device_owner": "compute:nova", "device_id": format!("vm{i}")})
        });
        admin.make_all("port", ports).await;
        Bench { server, rows, network, subnet }
    }

    async fn lists(&self) -> Counts {
        let (server, admin, member) = (&self.server, self.server.admin(), self.server.member("p1"));
        let mut counts = Counts::new();
        for (name, asker, path) in [
            ("list networks", &member, "/networks"),
            ("list networks as admin", &admin, "/networks"),
            ("list networks, two fields", &admin, "/networks?fields=id&fields=name"),
            ("list subnets", &member, "/subnets"),
            ("list subnets as admin", &admin, "/subnets"),
            ("list ports", &member, "/ports"),
            ("list ports as admin", &admin, "/ports"),
            ("list ports, two fields", &admin, "/ports?fields=id&fields=status"),
            ("list ports by tag", &member, "/ports?not-tags=x&sort_key=name&sort_dir=desc"),
            ("list subnetpools", &member, "/subnetpools"),
            ("list security groups", &member, "/security-groups"),
            ("list security groups as admin", &admin, "/security-groups"),
            ("list security groups, two fields", &admin, "/security-groups?fields=id&fields=name"),
            ("list security group rules", &member, "/security-group-rules"),
            ("list address groups", &member, "/address-groups"),
            ("list rbac policies", &member, "/rbac-policies"),
            ("list default rules", &member, "/default-security-group-rules"),
            ("list agents", &admin, "/agents"),
            ("list quotas", &admin, "/quotas"),
            ("list availability zones", &member, "/availability_zones"),
            ("quota details", &member, "/quotas/p1/details"),
        ] {
            let (statements, body) = count(server, asker, "GET", path, None).await;
            counts.insert(name, statements);
            // All of them, in one answer.
            let collection = path.trim_start_matches('/').split('?').next().unwrap();
            if matches!(collection, "networks" | "subnets" | "ports" | "address-groups")
                || name == "list security groups"
            {
                let collection = collection.replace('-', "_");
                assert_eq!(body[&collection].as_array().unwrap().len(), self.rows, "{path}");
            }
        }
        counts
    }

    async fn changes(&self) -> Counts {
        let (server, admin, member) = (&self.server, self.server.admin(), self.server.member("p1"));
        let mut counts = Counts::new();
        let mut note = |name, count| {
            counts.insert(name, count);
        };
        let (statements, made) = count(server, &member, "POST", "/networks", Some(json!({"network": {}}))).await;
        note("create network", statements);
        let network = format!("/networks/{}", made["network"]["id"].as_str().unwrap());
        let id = made["network"]["id"].clone();
        note("show network", count(server, &member, "GET", &network, None).await.0);
        let rename = |name: &str| Some(json!({name: {"name": "x"}}));
        note("update network", count(server, &member, "PUT", &network, rename("network")).await.0);
        note("tag network", count(server, &member, "PUT", &format!("{network}/tags/x"), None).await.0);

        let body = json!({"subnet": {"network_id": id, "ip_version": 4, "cidr": "192.0.2.0/24"}});
        let (statements, made) = count(server, &member, "POST", "/subnets", Some(body)).await;
        note("create subnet", statements);
        let subnet = format!("/subnets/{}", made["subnet"]["id"].as_str().unwrap());
        note("show subnet", count(server, &member, "GET", &subnet, None).await.0);
        note("update subnet", count(server, &member, "PUT", &subnet, rename("subnet")).await.0);
        note("delete subnet", count(server, &member, "DELETE", &subnet, None).await.0);
        note("delete network", count(server, &member, "DELETE", &network, None).await.0);

        let body = json!({"port": {"network_id": self.network}});
        let (statements, made) = count(server, &member, "POST", "/ports", Some(body)).await;
        note("create port", statements);
        let port = format!("/ports/{}", made["port"]["id"].as_str().unwrap());
        note("show port", count(server, &member, "GET", &port, None).await.0);
        note("update port", count(server, &member, "PUT", &port, rename("port")).await.0);
        let body = json!({"port": {"binding:host_id": "h2", "device_owner": "compute:nova"}});
        note("bind port", count(server, &admin, "PUT", &port, Some(body)).await.0);
        let body = json!({"port": {"fixed_ips": [{"subnet_id": self.subnet}, {"subnet_id": self.subnet}]}});
        note("address port", count(server, &member, "PUT", &port, Some(body)).await.0);
        note("delete port", count(server, &admin, "DELETE", &port, None).await.0);

        let body =
            json!({"port": {"network_id": self.network, "binding:host_id": "h2", "device_owner": "compute:nova"}});
        let (statements, made) = count(server, &admin, "POST", "/ports", Some(body)).await;
        note("create bound port", statements);
        let body = json!({"security_group": {"name": "x"}});
        let (statements, group) = count(server, &member, "POST", "/security-groups", Some(body)).await;
        note("create security group", statements);
        let group = group["security_group"]["id"].clone();
        let body = json!({"security_group_rule": {"security_group_id": group, "direction": "ingress"}});
        let (statements, rule) = count(server, &member, "POST", "/security-group-rules", Some(body)).await;
        note("create security group rule", statements);
        let rule = format!("/security-group-rules/{}", rule["security_group_rule"]["id"].as_str().unwrap());
        note("delete security group rule", count(server, &member, "DELETE", &rule, None).await.0);
        let group = format!("/security-groups/{}", group.as_str().unwrap());
        note("delete security group", count(server, &member, "DELETE", &group, None).await.0);
        let port = format!("/ports/{}", made["port"]["id"].as_str().unwrap());
        note("delete bound port", count(server, &admin, "DELETE", &port, None).await.0);
        counts
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_are_constant_in_the_number_of_rows() {
    let (few, many) = (Bench::with(10).await, Bench::with(1000).await);
    let (mut with_few, mut with_many) = (few.lists().await, many.lists().await);
    with_few.append(&mut few.changes().await);
    with_many.append(&mut many.changes().await);
    println!("{:<28} {:>8} {:>8}", "statements", "10 rows", "1000");
    for (name, count) in &with_few {
        println!("{name:<28} {count:>8} {:>8}", with_many[name]);
    }
    assert_eq!(with_few, with_many);
}
