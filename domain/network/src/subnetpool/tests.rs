use proptest::prelude::*;
use schema::Value;
use serde_json::json;
use types::{IpNet, cidr};

use super::prefixes::{Space, merge};
use crate::settings::Settings;
use crate::testing::{As, Lab, id, told};

fn error(status: u16, kind: &str) -> (u16, String) {
    (status, kind.to_owned())
}

fn nets(texts: &[&str]) -> Vec<IpNet> {
    texts.iter().map(|text| cidr::parse(text).unwrap()).collect()
}

fn shown(nets: &[IpNet]) -> String {
    nets.iter().map(IpNet::to_string).collect::<Vec<_>>().join(" ")
}

#[test]
fn prefixes_are_merged_and_cut() {
    assert_eq!(shown(&merge(&nets(&["198.18.0.128/25", "198.18.0.0/25"]))), "198.18.0.0/24");
    assert_eq!(shown(&merge(&nets(&["10.0.0.0/8", "10.1.0.0/16", "192.0.2.0/24"]))), "10.0.0.0/8 192.0.2.0/24");
    assert_eq!(shown(&merge(&nets(&["::/1", "8000::/1"]))), "::/0");
    assert_eq!(shown(&merge(&nets(&["0.0.0.0/0"]))), "0.0.0.0/0");
    assert_eq!(shown(&merge(&nets(&["255.255.255.255/32", "255.255.255.254/32"]))), "255.255.255.254/31");
    let (pool, taken) = (nets(&["198.18.0.0/22"]), nets(&["198.18.0.0/26", "198.18.1.0/24"]));
    let free = Space::new(&pool).without(&Space::new(&taken));
    assert_eq!(shown(&free.nets(&pool[0])), "198.18.0.64/26 198.18.0.128/25 198.18.2.0/23");
    assert_eq!(free.room(26, &pool[0]).unwrap().to_string(), "198.18.0.64/26");
    assert_eq!(free.room(25, &pool[0]).unwrap().to_string(), "198.18.0.128/25");
    assert_eq!(free.room(24, &pool[0]).unwrap().to_string(), "198.18.2.0/24");
    assert_eq!(free.room(22, &pool[0]), None);
}

fn small_net() -> impl Strategy<Value = IpNet> {
    (24u8..=32, any::<u8>()).prop_map(|(length, last)| IpNet::new([10, 0, 0, last].into(), length).unwrap().trunc())
}

fn members(nets: &[IpNet]) -> std::collections::BTreeSet<u128> {
    (0..256u128)
        .map(|n| n + 0x0a00_0000)
        .filter(|n| {
            let ip = types::from_number(*n, [0, 0, 0, 0].into());
            nets.iter().any(|net| net.contains(&ip))
        })
        .collect()
}

proptest! {
    /// Against plain sets of addresses.
    #[test]
    fn spaces_agree_with_plain_sets(
        a in proptest::collection::vec(small_net(), 0..6),
        b in proptest::collection::vec(small_net(), 0..6),
        length in 24u8..=32,
    ) {
        let like: IpNet = "10.0.0.0/24".parse().unwrap();
        let (space, other) = (Space::new(&a), Space::new(&b));
        let (left, right) = (members(&a), members(&b));
        let rest = space.without(&other);
        prop_assert_eq!(members(&rest.nets(&like)), &left - &right);
        prop_assert_eq!(members(&merge(&a)), left.clone());
        prop_assert_eq!(space.includes(&other), right.is_subset(&left));
        prop_assert_eq!(space.meets(&other), !left.is_disjoint(&right));
        match rest.room(length, &like) {
            Some(net) => {
                prop_assert_eq!(net.prefix_len(), length);
                prop_assert!(members(&[net]).is_subset(&(&left - &right)));
            }
            None => {
                let fits = rest.nets(&like).iter().any(|net| net.prefix_len() <= length);
                prop_assert!(!fits);
            }
        }
    }
}

async fn pool(who: &As, body: Value) -> Value {
    who.create("subnetpool", crate::testing::merged(json!({"name": "p"}), body)).await.unwrap()
}

#[tokio::test]
async fn a_pool_shows_what_it_was_given_and_what_follows() {
    let lab = Lab::new().await;
    let member = lab.member("one");
    let pool = pool(&member, json!({"name": "sp", "prefixes": ["198.51.100.0/24"], "default_prefixlen": 26})).await;
    let want = json!({
        "id": pool["id"], "name": "sp", "project_id": "one", "default_prefixlen": "26", "min_prefixlen": "8",
        "max_prefixlen": "32", "is_default": false, "shared": false, "prefixes": ["198.51.100.0/24"], "ip_version": 4,
        "default_quota": null, "address_scope_id": null, "description": "", "revision_number": 0,
        "created_at": pool["created_at"], "updated_at": pool["updated_at"],
    });
    assert_eq!(pool, want);
    let renamed =
        member.update("subnetpool", &id(&pool), json!({"name": "renamed", "min_prefixlen": 8})).await.unwrap();
    assert_eq!((&renamed["name"], &renamed["revision_number"]), (&json!("renamed"), &json!(1)));
    assert_eq!(
        told(&lab.member("two").get("subnetpool", &id(&pool)).await.unwrap_err()),
        error(404, "SubnetPoolNotFound")
    );
}

#[tokio::test]
async fn wrong_pools_are_refused_by_name() {
    let lab = Lab::new().await;
    let admin = lab.admin();
    let bounds = error(400, "IllegalSubnetPoolPrefixBounds");
    let bad_request = error(400, "HTTPBadRequest");
    let four = |more: Value| crate::testing::merged(json!({"name": "p", "prefixes": ["198.18.0.0/16"]}), more);
    let cases = [
        (json!({"name": "p"}), &bad_request),
        (json!({"prefixes": ["198.18.0.0/16"]}), &bad_request),
        (four(json!({"name": " "})), &bad_request),
        (four(json!({"prefixes": "198.18.0.0/16"})), &bad_request),
        (four(json!({"prefixes": ["198.18.0.0"]})), &bad_request),
        (four(json!({"prefixes": []})), &error(400, "EmptySubnetPoolPrefixList")),
        (four(json!({"prefixes": ["198.18.0.0/16", "2001:db8::/48"]})), &error(400, "PrefixVersionMismatch")),
        (four(json!({"min_prefixlen": 24, "max_prefixlen": 23})), &bounds),
        (four(json!({"max_prefixlen": 33})), &bounds),
        (four(json!({"min_prefixlen": 20, "default_prefixlen": 19})), &bounds),
        (four(json!({"max_prefixlen": 20, "default_prefixlen": 21})), &bounds),
        (four(json!({"min_prefixlen": -1})), &bad_request),
        (four(json!({"default_quota": -1})), &bad_request),
        (four(json!({"ip_version": 4})), &bad_request),
        (
            four(json!({"address_scope_id": "11111111-2222-4333-8444-555555555555"})),
            &error(404, "AddressScopeNotFound"),
        ),
    ];
    for (body, want) in cases {
        assert_eq!(&admin.try_create("subnetpool", body.clone()).await, want, "{body}");
    }
}

#[tokio::test]
async fn subnetpool_prefix_update_rules() {
    let lab = Lab::new().await;
    let admin = lab.admin();
    let one = pool(&admin, json!({"prefixes": ["198.18.0.0/25", "198.18.0.128/25"]})).await;
    assert_eq!(one["prefixes"], json!(["198.18.0.0/24"]));
    let fault = admin.update("subnetpool", &id(&one), json!({"prefixes": ["198.18.0.0/25"]})).await.unwrap_err();
    assert_eq!(told(&fault), error(400, "IllegalSubnetPoolPrefixUpdate"));
    let grown =
        admin.update("subnetpool", &id(&one), json!({"prefixes": ["198.18.0.0/23", "10.0.0.0/8"]})).await.unwrap();
    assert_eq!(grown["prefixes"], json!(["10.0.0.0/8", "198.18.0.0/23"]));
    let fault = admin.update("subnetpool", &id(&one), json!({"prefixes": ["2001:db8::/32"]})).await.unwrap_err();
    assert_eq!(told(&fault), error(400, "IllegalSubnetPoolPrefixUpdate"));

    let scope = id(&admin.create("address_scope", json!({"name": "s", "ip_version": 4})).await.unwrap());
    pool(&admin, json!({"prefixes": ["198.18.0.0/16"], "address_scope_id": scope})).await;
    let body = json!({"name": "p", "prefixes": ["198.18.1.0/24"], "address_scope_id": scope});
    assert_eq!(admin.try_create("subnetpool", body).await, error(409, "AddressScopePrefixConflict"));
    let fault = admin.update("subnetpool", &id(&one), json!({"address_scope_id": scope})).await.unwrap_err();
    assert_eq!(told(&fault), error(409, "AddressScopePrefixConflict"));
    let body = json!({"name": "p", "prefixes": ["2001:db8::/32"], "address_scope_id": scope});
    assert_eq!(
        admin.try_create("subnetpool", body).await,
        error(400, "IllegalSubnetPoolIpVersionAssociationToAddressScope")
    );

    let network = admin.network().await;
    let subnet = id(&admin.subnet(&network, json!({"subnetpool_id": one["id"], "prefixlen": 24})).await);
    let fault = admin.delete("subnetpool", &id(&one)).await.unwrap_err();
    assert_eq!(told(&fault), error(400, "SubnetPoolDeleteError"));
    admin.delete("subnet", &subnet).await.unwrap();
    admin.delete("subnetpool", &id(&one)).await.unwrap();
}

#[tokio::test]
async fn subnet_gateway_from_pool() {
    let lab = Lab::new().await;
    let admin = lab.admin();
    let body = json!({"prefixes": ["198.51.100.0/24"], "default_prefixlen": 26, "max_prefixlen": 28});
    let pool = pool(&admin, body).await;
    let network = admin.network().await;
    let without =
        admin.subnet(&network, json!({"subnetpool_id": pool["id"], "prefixlen": 28, "gateway_ip": null})).await;
    assert_eq!(without["gateway_ip"], Value::Null);
    assert_eq!(without["cidr"], "198.51.100.0/28");
    assert_eq!(without["allocation_pools"], json!([{"start": "198.51.100.1", "end": "198.51.100.14"}]));
    let body = json!({"subnetpool_id": pool["id"], "prefixlen": 28, "gateway_ip": "198.51.100.94"});
    let with = admin.subnet(&network, body).await;
    assert_eq!((&with["cidr"], &with["gateway_ip"]), (&json!("198.51.100.80/28"), &json!("198.51.100.94")));
    assert_eq!(with["allocation_pools"], json!([{"start": "198.51.100.81", "end": "198.51.100.93"}]));

    let usual = admin.subnet(&network, json!({"subnetpool_id": pool["id"]})).await;
    assert_eq!((&usual["cidr"], &usual["gateway_ip"]), (&json!("198.51.100.128/26"), &json!("198.51.100.129")));
    let exact = admin.subnet(&network, json!({"subnetpool_id": pool["id"], "cidr": "198.51.100.32/28"})).await;
    assert_eq!(exact["gateway_ip"], "198.51.100.33");

    let body = |more: Value| {
        let base = json!({"network_id": network, "ip_version": 4, "subnetpool_id": pool["id"]});
        crate::testing::merged(base, more)
    };
    let no_room = error(409, "SubnetAllocationError");
    assert_eq!(admin.try_create("subnet", body(json!({"cidr": "198.51.100.0/28"}))).await, no_room);
    assert_eq!(admin.try_create("subnet", body(json!({"cidr": "203.0.113.0/28"}))).await, no_room);
    assert_eq!(admin.try_create("subnet", body(json!({"prefixlen": 25}))).await, no_room);
    let too_long = error(400, "MaxPrefixSubnetAllocationError");
    assert_eq!(admin.try_create("subnet", body(json!({"prefixlen": 29}))).await, too_long);
    assert_eq!(admin.try_create("subnet", body(json!({"prefixlen": 77}))).await, error(400, "AddrFormatError"));
    assert_eq!(
        admin.try_create("subnet", body(json!({"prefixlen": 7}))).await,
        error(400, "MinPrefixSubnetAllocationError")
    );
    assert_eq!(admin.try_create("subnet", body(json!({"ip_version": 6}))).await, error(400, "BadRequest"));
    let pools = json!({"allocation_pools": [{"start": "198.51.100.1", "end": "198.51.100.2"}]});
    assert_eq!(admin.try_create("subnet", body(pools)).await, error(400, "BadRequest"));
}

#[tokio::test]
async fn subnets_of_one_network_come_from_one_pool_or_scope() {
    let lab = Lab::new().await;
    let admin = lab.admin();
    let a = pool(&admin, json!({"prefixes": ["198.18.0.0/20"], "default_prefixlen": 24})).await;
    let b = pool(&admin, json!({"prefixes": ["198.18.64.0/20"], "default_prefixlen": 24})).await;
    let network = admin.network().await;
    admin.subnet(&network, json!({"subnetpool_id": a["id"]})).await;
    let affinity = error(400, "NetworkSubnetPoolAffinityError");
    let base = json!({"network_id": network, "ip_version": 4});
    let with = |more: Value| crate::testing::merged(base.clone(), more);
    assert_eq!(admin.try_create("subnet", with(json!({"subnetpool_id": b["id"]}))).await, affinity);
    assert_eq!(admin.try_create("subnet", with(json!({"cidr": "192.0.2.0/24"}))).await, affinity);
    admin.slaac(&network, "2001:db8::/64").await;

    let scope = id(&admin.create("address_scope", json!({"name": "s", "ip_version": 4})).await.unwrap());
    let c =
        pool(&admin, json!({"prefixes": ["10.0.0.0/16"], "default_prefixlen": 24, "address_scope_id": scope})).await;
    let d =
        pool(&admin, json!({"prefixes": ["10.1.0.0/16"], "default_prefixlen": 24, "address_scope_id": scope})).await;
    let network = admin.network().await;
    admin.subnet(&network, json!({"subnetpool_id": c["id"]})).await;
    admin.subnet(&network, json!({"subnetpool_id": d["id"]})).await;
    let base = json!({"network_id": network, "ip_version": 4, "subnetpool_id": a["id"]});
    assert_eq!(admin.try_create("subnet", base).await, error(400, "NetworkAddressScopeAffinityError"));
    let shown = admin.get("network", &network).await.unwrap();
    assert_eq!((&shown["ipv4_address_scope"], &shown["ipv6_address_scope"]), (&json!(scope), &Value::Null));
    let fault = admin.update("subnetpool", &id(&a), json!({"default_quota": 5})).await;
    assert!(fault.is_ok());
    assert_eq!(told(&admin.delete("address_scope", &scope).await.unwrap_err()), error(409, "AddressScopeInUse"));
}

#[tokio::test]
async fn default_pools() {
    let lab = Lab::new().await;
    let (admin, one) = (lab.admin(), lab.member("one"));
    let network = one.network().await;
    let body = json!({"network_id": network, "ip_version": 4, "use_default_subnetpool": true});
    assert_eq!(one.try_create("subnet", body.clone()).await, error(400, "BadRequest"));
    let default = json!({"prefixes": ["198.18.0.0/16"], "default_prefixlen": 24, "is_default": true, "shared": true});
    pool(&admin, default.clone()).await;
    let second = crate::testing::merged(json!({"name": "q"}), default);
    assert_eq!(admin.try_create("subnetpool", second).await, error(400, "InvalidInput"));
    assert_eq!(one.create("subnet", body).await.unwrap()["cidr"], "198.18.0.0/24");
    let plain = pool(&admin, json!({"prefixes": ["10.0.0.0/16"]})).await;
    let fault = admin.update("subnetpool", &id(&plain), json!({"is_default": true})).await.unwrap_err();
    assert_eq!(told(&fault), error(400, "InvalidInput"));
    assert_eq!(one.list("subnetpool", "shared=true&is_default=true").await.unwrap().len(), 1);
    assert_eq!(one.list("subnetpool", "shared=false").await.unwrap().len(), 0);
}

#[tokio::test]
async fn subnetpool_default_quota() {
    let lab = Lab::new().await;
    let admin = lab.admin();
    for (quota, second) in [(json!(300), error(409, "SubnetPoolQuotaExceeded")), (json!(0), (201, String::new()))] {
        let body = json!({"prefixes": ["198.18.0.0/16"], "default_prefixlen": 24, "default_quota": quota});
        let pool = pool(&admin, body).await;
        let network = admin.network().await;
        let body = json!({"network_id": network, "ip_version": 4, "subnetpool_id": pool["id"]});
        admin.create("subnet", body.clone()).await.unwrap();
        assert_eq!(admin.try_create("subnet", body).await, second);
    }
    let body = json!({"prefixes": ["2001:db8::/48"], "default_prefixlen": 64, "default_quota": 1});
    let pool = pool(&admin, body).await;
    let network = admin.network().await;
    let body = json!({"network_id": network, "ip_version": 6, "subnetpool_id": pool["id"]});
    admin.create("subnet", body.clone()).await.unwrap();
    assert_eq!(admin.try_create("subnet", body).await, error(409, "SubnetPoolQuotaExceeded"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn subnetpool_concurrent_allocation() {
    let lab = Lab::new().await;
    let other_server = Lab::on(lab.system.store.clone(), Settings::default());
    let pool = pool(&lab.admin(), json!({"prefixes": ["198.18.0.0/22"], "default_prefixlen": 26})).await;
    let mut tasks = Vec::new();
    for n in 0..8 {
        let who = if n % 2 == 0 { lab.admin() } else { other_server.admin() };
        let body = json!({"ip_version": 4, "subnetpool_id": pool["id"]});
        tasks.push(tokio::spawn(async move {
            let network = who.network().await;
            who.create("subnet", crate::testing::merged(body, json!({"network_id": network}))).await.unwrap()
        }));
    }
    let mut taken: Vec<IpNet> = Vec::new();
    for task in tasks {
        taken.push(cidr::parse(task.await.unwrap()["cidr"].as_str().unwrap()).unwrap());
    }
    for (i, one) in taken.iter().enumerate() {
        assert_eq!(one.prefix_len(), 26);
        assert!(taken[i + 1..].iter().all(|other| !cidr::overlap(one, other)), "{taken:?}");
    }
}

/// Many ask at once on two servers; exactly one pool of each family becomes the default.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_default_pool_of_many_at_once() {
    let lab = Lab::new().await;
    let other_server = Lab::on(lab.system.store.clone(), Settings::default());
    let tasks: Vec<_> = (0..16)
        .map(|n| {
            let who = if n % 2 == 0 { lab.admin() } else { other_server.admin() };
            let prefix = if n % 4 < 2 { format!("10.{n}.0.0/16") } else { format!("2001:db8:{n}::/48") };
            let body = json!({"name": "p", "prefixes": [prefix], "is_default": true});
            tokio::spawn(async move { who.try_create("subnetpool", body).await })
        })
        .collect();
    let mut made = 0;
    for task in tasks {
        let outcome = task.await.unwrap();
        if outcome != error(400, "InvalidInput") {
            made += 1;
        }
    }
    assert_eq!(made, 2);
    assert_eq!(lab.admin().list("subnetpool", "is_default=true").await.unwrap().len(), 2);
}

/// Many pools of one scope at once, each overlapping with its neighbour: those that are made have no address in common.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn pools_of_a_scope_made_at_once_have_no_address_in_common() {
    let lab = Lab::new().await;
    let other_server = Lab::on(lab.system.store.clone(), Settings::default());
    let scope = id(&lab.admin().create("address_scope", json!({"name": "s", "ip_version": 4})).await.unwrap());
    let tasks: Vec<_> = (0..16)
        .map(|n| {
            let who = if n % 2 == 0 { lab.admin() } else { other_server.admin() };
            let prefixes = json!([format!("10.0.{}.0/24", n / 2), format!("10.0.{}.0/24", n / 2 + 1)]);
            let body = json!({"name": "p", "prefixes": prefixes, "address_scope_id": scope});
            tokio::spawn(async move { drop(who.try_create("subnetpool", body).await) })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let pools = lab.admin().list("subnetpool", "").await.unwrap();
    assert!(!pools.is_empty());
    let nets: Vec<Vec<IpNet>> = pools
        .iter()
        .map(|pool| {
            let prefixes = pool["prefixes"].as_array().unwrap();
            prefixes.iter().filter_map(|prefix| cidr::parse(prefix.as_str().unwrap())).collect()
        })
        .collect();
    for (i, one) in nets.iter().enumerate() {
        for other in &nets[i + 1..] {
            assert!(!Space::new(one).meets(&Space::new(other)), "{one:?} and {other:?}");
        }
    }
}

mod actions {
    use policy::Context;
    use resource::{Action, Request};

    use super::super::PoolActions;
    use super::*;

    async fn call(lab: &Lab, context: &Context, action: &str, pool: &str, body: Value) -> Result<Value, schema::Fault> {
        let route = *PoolActions.routes().iter().find(|route| route.path.ends_with(action)).unwrap();
        let params = vec![("id".to_owned(), pool.to_owned())];
        let request = Request { route, params, query: Vec::new(), body: Some(body), if_match: None };
        let answer = PoolActions.call(&lab.system, context, request).await?;
        assert_eq!(answer.status, 200);
        Ok(answer.body.unwrap())
    }

    #[tokio::test]
    async fn prefixes_come_and_go() {
        let lab = Lab::new().await;
        let admin = lab.admin();
        let pool = id(&pool(&admin, json!({"prefixes": ["198.18.0.0/24"], "default_prefixlen": 26})).await);
        let act = async |action: &str, body: Value| call(&lab, &admin.context, action, &pool, body).await;
        let added = act("add_prefixes", json!({"prefixes": ["198.18.1.0/24", "10.0.0.0/24"]})).await.unwrap();
        assert_eq!(added, json!({"prefixes": ["10.0.0.0/24", "198.18.0.0/23"]}));
        let network = admin.network().await;
        admin.subnet(&network, json!({"subnetpool_id": pool, "cidr": "10.0.0.0/26"})).await;
        let fault = act("remove_prefixes", json!({"prefixes": ["10.0.0.0/25"]})).await.unwrap_err();
        assert_eq!(told(&fault), error(400, "IllegalSubnetPoolPrefixUpdate"));
        let left = act("remove_prefixes", json!({"prefixes": ["198.18.0.0/23", "10.0.0.128/25"]})).await.unwrap();
        assert_eq!(left, json!({"prefixes": ["10.0.0.0/25"]}));
        assert_eq!(admin.get("subnetpool", &pool).await.unwrap()["prefixes"], left["prefixes"]);
        let same = act("remove_prefixes", json!({"prefixes": ["203.0.113.0/24"]})).await.unwrap();
        assert_eq!(same, left);
        for body in
            [json!({}), json!({"prefixes": []}), json!({"prefixes": 7}), json!({"prefixes": ["x"]}), Value::Null]
        {
            assert_eq!(
                told(&act("add_prefixes", body.clone()).await.unwrap_err()),
                error(400, "HTTPBadRequest"),
                "{body}"
            );
        }
        let fault =
            call(&lab, &lab.member("two").context, "add_prefixes", &pool, json!({"prefixes": []})).await.unwrap_err();
        assert_eq!(told(&fault), error(404, "SubnetPoolNotFound"));
    }

    #[tokio::test]
    async fn subnets_are_onboarded() {
        let lab = Lab::new().await;
        let admin = lab.admin();
        let pool = id(&pool(&admin, json!({"prefixes": ["198.18.0.0/24"]})).await);
        let network = admin.network().await;
        let subnet = admin.subnet(&network, json!({"cidr": "192.0.2.0/24"})).await;
        admin.slaac(&network, "2001:db8::/64").await;
        let act = async |body: Value| call(&lab, &admin.context, "onboard_network_subnets", &pool, body).await;
        let moved = act(json!({"network_id": network})).await.unwrap();
        assert_eq!(moved, json!([{"id": subnet["id"], "cidr": "192.0.2.0/24"}]));
        assert_eq!(admin.get("subnet", &id(&subnet)).await.unwrap()["subnetpool_id"], json!(pool));
        let prefixes = &admin.get("subnetpool", &pool).await.unwrap()["prefixes"];
        assert_eq!(prefixes, &json!(["192.0.2.0/24", "198.18.0.0/24"]));
        assert_eq!(
            told(&act(json!({"network_id": network})).await.unwrap_err()),
            error(400, "IllegalSubnetPoolUpdate")
        );
        assert_eq!(told(&act(json!({})).await.unwrap_err()), error(400, "InvalidInput"));
        let absent = json!({"network_id": "11111111-2222-4333-8444-555555555555"});
        assert_eq!(told(&act(absent).await.unwrap_err()), error(404, "NetworkNotFound"));

        // Others must not move what they only see, nor hear of what they do not see.
        let two = lab.member("two");
        let own = id(&super::pool(&two, json!({"prefixes": ["203.0.113.0/24"]})).await);
        let shared = id(&admin.create("network", json!({"shared": true})).await.unwrap());
        for (network, want) in [(network, error(404, "NetworkNotFound")), (shared, error(403, "PolicyNotAuthorized"))] {
            let body = json!({"network_id": network});
            let fault = call(&lab, &two.context, "onboard_network_subnets", &own, body).await.unwrap_err();
            assert_eq!(told(&fault), want);
        }
    }
}
