use policy::Context;
use resource::{Action, Request};
use schema::{Fault, Value};
use serde_json::json;

use super::Availabilities;
use crate::testing::{Lab, id, told};

async fn ask(lab: &Lab, context: &Context, network: Option<&str>, query: &str) -> Result<Value, Fault> {
    let route = Availabilities.routes()[usize::from(network.is_some())];
    let params = network.map(|id| ("network_id".to_owned(), id.to_owned())).into_iter().collect();
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let query = pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let request = Request { route, params, query, body: None, if_match: None };
    Ok(Availabilities.call(&lab.system, context, request).await?.body.unwrap())
}

#[tokio::test]
async fn counts_are_those_of_the_reference() {
    let lab = Lab::new().await;
    let admin = lab.admin();
    let network = id(&admin.create("network", json!({"name": "n"})).await.unwrap());
    let four = id(&admin.subnet(&network, json!({"cidr": "192.0.2.0/24", "name": "s"})).await);
    let six = id(&admin.slaac(&network, "2001:db8::/64").await);
    admin.port(&network, json!({})).await.unwrap();
    let router = json!({"device_owner": "network:router_interface", "fixed_ips": [{"ip_address": "192.0.2.1"}]});
    admin.port(&network, router).await.unwrap();
    let body = ask(&lab, &admin.context, Some(&network), "").await.unwrap();
    let body = &body["network_ip_availability"];
    assert_eq!((&body["network_name"], &body["project_id"]), (&json!("n"), &json!("admin-project")));
    assert_eq!(body["used_ips"], 3);
    let subnet = |id: &str| {
        let list = body["subnet_ip_availability"].as_array().unwrap();
        list.iter().find(|subnet| subnet["subnet_id"] == id).unwrap().clone()
    };
    assert_eq!(
        subnet(&four),
        json!({
            "subnet_id": four, "ip_version": 4, "cidr": "192.0.2.0/24", "subnet_name": "s", "used_ips": 2, "total_ips": 253,
            "ip_availability_details": {"total_ips_in_subnet": 254, "total_ips_in_allocation_pool": 253,
                "used_ips_in_subnet": 2, "used_ips_in_allocation_pool": 1},
        })
    );
    assert_eq!(subnet(&six)["total_ips"], json!(18446744073709551615u64));
    assert_eq!(subnet(&six)["ip_availability_details"]["total_ips_in_subnet"], json!(2f64.powi(64)));

    admin.update("subnet", &four, json!({"allocation_pools": []})).await.unwrap();
    let body = ask(&lab, &admin.context, Some(&network), "fields=subnet_ip_availability").await.unwrap();
    let body = &body["network_ip_availability"];
    assert!(body.get("used_ips").is_none());
    let list = body["subnet_ip_availability"].as_array().unwrap();
    let four = list.iter().find(|subnet| subnet["ip_version"] == 4).unwrap();
    assert_eq!(
        (&four["total_ips"], &four["ip_availability_details"]["total_ips_in_allocation_pool"]),
        (&json!(256), &json!(0))
    );
}

#[tokio::test]
async fn lists_filters_and_who_may() {
    let lab = Lab::new().await;
    let admin = lab.admin();
    let a = id(&admin.create("network", json!({"name": "a", "project_id": "one"})).await.unwrap());
    let b = id(&admin.create("network", json!({"name": "b"})).await.unwrap());
    admin.subnet(&b, json!({"cidr": "192.0.2.0/24"})).await;
    let list = async |query: &str| {
        let body = ask(&lab, &admin.context, None, query).await?;
        let list = body["network_ip_availabilities"].as_array().unwrap().clone();
        Ok::<Vec<String>, Fault>(
            list.iter().map(|network| network["network_id"].as_str().unwrap().to_owned()).collect(),
        )
    };
    let mut sorted = vec![a.clone(), b.clone()];
    sorted.sort();
    assert_eq!(list("").await.unwrap(), sorted);
    assert_eq!(list("network_name=a").await.unwrap(), std::slice::from_ref(&a));
    assert_eq!(list("tenant_id=one").await.unwrap(), std::slice::from_ref(&a));
    assert_eq!(list("ip_version=4").await.unwrap(), std::slice::from_ref(&b));
    assert_eq!(list("ip_version=6").await.unwrap().len(), 0);
    assert_eq!(list("limit=1").await.unwrap(), sorted[..1]);
    assert_eq!(list(&format!("limit=1&marker={}", sorted[0])).await.unwrap(), sorted[1..]);
    assert_eq!(list("sort_key=network_id&sort_dir=desc").await.unwrap(), [sorted[1].clone(), sorted[0].clone()]);
    assert_eq!(told(&list("ip_version=x").await.unwrap_err()).0, 400);
    assert_eq!(told(&list("used_ips=1").await.unwrap_err()).0, 400);
    assert_eq!(told(&list("sort_key=used_ips&sort_dir=asc").await.unwrap_err()).0, 400);
    let fault = ask(&lab, &admin.context, Some("11111111-2222-4333-8444-555555555555"), "").await.unwrap_err();
    assert_eq!(told(&fault), (404, "NetworkNotFound".into()));

    let member = lab.member("one").context;
    assert_eq!(ask(&lab, &member, None, "").await.unwrap(), json!({"network_ip_availabilities": []}));
    assert_eq!(told(&ask(&lab, &member, Some(&a), "").await.unwrap_err()), (404, "HTTPNotFound".into()));

    let before = lab.system.store.statements();
    list("").await.unwrap();
    assert_eq!(lab.system.store.statements() - before, 3);
}
