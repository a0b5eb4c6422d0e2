use std::sync::Arc;

use resource::{Method, Op};
use schema::Fault;
use serde_json::{Value, json};
use store::{Faults, Options};

use super::Limits;
use crate::testing::{As, Lab};

/// Networks have this limit, all else that of the reference.
fn networks(limit: i64) -> Limits {
    Limits::new(-1, |kind| (kind.name == "network").then_some(limit))
}

#[track_caller]
fn assert_over(fault: &Fault, kind: &str) {
    assert_eq!((fault.status(), fault.kind()), (409, "OverQuota"), "{fault}");
    assert_eq!(fault.message(), format!("Quota exceeded for resources: ['{kind}']."));
}

/// What must hold whenever nothing is under way: the number that is kept is that of the rows, unless it is dirty.
async fn assert_true(lab: &Lab, project: &str) {
    for (kind, table) in [("network", "networks"), ("port", "ports")] {
        let rows = lab.number(&format!("SELECT COUNT(*) FROM {table} WHERE project_id = '{project}'")).await;
        let sql = format!(
            "SELECT in_use FROM quotausages WHERE project_id = '{project}' AND resource = '{kind}' AND NOT dirty"
        );
        let kept = lab.number(&sql).await;
        assert!(kept == rows || kept == i64::MIN, "{kind} of {project}: {rows} rows, {kept} counted");
    }
    assert_eq!(lab.number("SELECT COUNT(*) FROM reservations").await, 0);
    assert_eq!(lab.number("SELECT COUNT(*) FROM resourcedeltas").await, 0);
}

/// 64 tasks ask until they are refused.
async fn hammer(lab: Arc<Lab>, limit: i64) {
    let tasks: Vec<_> = (0..64)
        .map(|_| {
            let lab = lab.clone();
            tokio::spawn(async move {
                let mut made = 0;
                loop {
                    match lab.member("p1").create("network", json!({})).await {
                        Ok(_) => made += 1,
                        Err(fault) => {
                            assert_over(&fault, "network");
                            return made;
                        }
                    }
                }
            })
        })
        .collect();
    let mut made = 0;
    for task in tasks {
        made += task.await.unwrap();
    }
    assert_eq!(made, limit);
    assert_eq!(lab.number("SELECT COUNT(*) FROM networks WHERE project_id = 'p1'").await, limit);
    assert_eq!(lab.number("SELECT in_use FROM quotausages WHERE NOT dirty").await, limit);
    assert_true(&lab, "p1").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn exactly_one_of_64() {
    hammer(Arc::new(Lab::new(networks(1)).await), 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn exactly_ten_of_64() {
    hammer(Arc::new(Lab::new(networks(10)).await), 10).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn exactly_a_hundred_of_64() {
    hammer(Arc::new(Lab::new(networks(100)).await), 100).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn exact_while_transactions_deadlock() {
    let faults = Faults { seed: 7, deadlock: 20, lost_before: 0, lost_after: 0 };
    let lab = Lab::with(Options { faults: Some(faults), ..Options::default() }, networks(20)).await;
    hammer(Arc::new(lab), 20).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn quota_race() {
    let first = Lab::new(networks(100)).await;
    first.admin().put("/quotas/p1", json!({"quota": {"network": 5}})).await.unwrap();
    // Four servers on one database.
    let servers: Vec<Arc<Lab>> = (0..4).map(|_| Arc::new(Lab::on(first.system.store.clone(), networks(100)))).collect();
    let tasks: Vec<_> = (0..16)
        .map(|i| {
            let lab = servers[i % 4].clone();
            tokio::spawn(async move { lab.member("p1").create("network", json!({})).await.map(drop) })
        })
        .collect();
    let (mut made, mut refused) = (0, 0);
    for task in tasks {
        match task.await.unwrap() {
            Ok(()) => made += 1,
            Err(fault) => {
                assert_over(&fault, "network");
                refused += 1;
            }
        }
    }
    assert_eq!((made, refused), (5, 11));
    assert_true(&first, "p1").await;
}

#[tokio::test]
async fn quota_race_sums_reservations_of_the_reference() {
    let lab = Lab::new(networks(5)).await;
    for (id, expiration, amount) in [
        ("r1", "2999-01-01 00:00:00", 1),
        ("r2", "2999-02-01 00:00:00", 2),
        // Expired: it does not count.
        ("r3", "2001-01-01 00:00:00", 50),
    ] {
        lab.execute(&format!(
            "INSERT INTO reservations (id, project_id, expiration) VALUES ('{id}', 'p1', '{expiration}')"
        ))
        .await;
        lab.execute(&format!(
            "INSERT INTO resourcedeltas (resource, reservation_id, amount) VALUES ('network', '{id}', {amount})"
        ))
        .await;
    }
    let member = lab.member("p1");
    member.network().await;
    member.network().await;
    assert_over(&member.create("network", json!({})).await.unwrap_err(), "network");
    let details = member.get("/quotas/p1/details").await;
    assert_eq!(details["quota"]["network"], json!({"limit": 5, "used": 2, "reserved": 3}));
    // Gone, as when the reference's requests are done.
    lab.execute("DELETE FROM resourcedeltas WHERE reservation_id IN ('r1', 'r2')").await;
    member.network().await;
}

#[tokio::test]
async fn quota_expired_reservation() {
    let lab = Lab::new(networks(1)).await;
    lab.execute("INSERT INTO reservations (id, project_id, expiration) VALUES ('old', 'p1', '2001-01-01 00:00:00')")
        .await;
    lab.execute("INSERT INTO reservations (id, project_id, expiration) VALUES ('new', 'p1', '2999-01-01 00:00:00')")
        .await;
    lab.execute("INSERT INTO resourcedeltas (resource, reservation_id, amount) VALUES ('network', 'old', 1)").await;
    lab.member("p1").network().await;
    // Two servers clean up at once, or one after the other: neither fails.
    lab.start().await;
    lab.start().await;
    assert_eq!(lab.sql("SELECT id FROM reservations").await, "new");
    assert_eq!(lab.number("SELECT COUNT(*) FROM resourcedeltas").await, 0);
}

#[tokio::test]
async fn quota_bulk_is_atomic() {
    let lab = Lab::new(Limits::default()).await;
    let member = lab.member("p1");
    lab.admin().put("/quotas/p1", json!({"quota": {"port": 3}})).await.unwrap();
    let network = member.network().await;
    let ports = |count| vec![json!({"network_id": network}); count];
    assert_over(&member.create_all("port", ports(4)).await.unwrap_err(), "port");
    assert_eq!(lab.number("SELECT COUNT(*) FROM ports").await, 0);
    assert_eq!(member.create_all("port", ports(3)).await.unwrap().len(), 3);
    assert_over(&member.create_all("port", ports(1)).await.unwrap_err(), "port");
    assert_true(&lab, "p1").await;
}

#[tokio::test]
async fn quota_details_unloaded_plugin() {
    let lab = Lab::new(Limits::default()).await;
    // A row of something that nobody here knows.
    lab.execute("INSERT INTO quotas (id, project_id, resource, \"limit\") VALUES ('q', 'p1', 'hovercraft', 7)").await;
    let details = lab.member("p1").get("/quotas/p1/details").await;
    assert!(details["quota"].get("hovercraft").is_none());
    assert_eq!(details["quota"]["trunk"], json!({"limit": -1, "used": 0, "reserved": 0}));
    assert_eq!(lab.admin().get("/quotas").await["quotas"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_create_costs_a_statement_or_two_more() {
    let lab = Lab::new(networks(-1)).await;
    let member = lab.member("p1");
    let (unlimited, ()) = lab.statements(async { drop(member.network().await) }).await;
    assert_eq!(lab.number("SELECT COUNT(*) FROM quotausages").await, 0, "who has no limit is not counted");
    let limited = Lab::on(lab.system.store.clone(), networks(100_000));
    let member = limited.member("p1");
    member.network().await;
    let (counted, ()) = limited.statements(async { drop(member.network().await) }).await;
    assert_eq!(counted, unlimited, "one statement finds no limit, one counts");
    let tight = Lab::on(lab.system.store.clone(), networks(100));
    let member = tight.member("p1");
    let (compared, ()) = tight.statements(async { drop(member.network().await) }).await;
    assert_eq!(compared, counted + 1, "with little room it is compared with what there is");

    let bare = Lab::on(lab.system.store.clone(), networks(100));
    let mut system = Arc::into_inner(bare.system).unwrap();
    system.quota = None;
    let bare = Lab { system: Arc::new(system), ..bare };
    let (without, ()) = bare.statements(async { drop(bare.member("p1").network().await) }).await;
    assert_eq!(counted, without + 1);
}

/// As the reference does: the row, and nothing in `quotausages`.
#[tokio::test]
async fn what_another_program_makes_meanwhile_counts() {
    for limit in [5, 3] {
        let lab = Lab::new(networks(limit)).await;
        let member = lab.member("p1");
        let network = member.network().await;
        for number in 1..=2 {
            lab.execute("INSERT INTO standardattributes (resource_type, revision_number) VALUES ('networks', 0)").await;
            lab.execute(&format!(
                "INSERT INTO networks (id, project_id, standard_attr_id, mtu) \
                 SELECT 'other{number}', 'p1', MAX(id), 1500 FROM standardattributes"
            ))
            .await;
        }
        for _ in 3..limit {
            member.network().await;
        }
        assert_over(&member.create("network", json!({})).await.unwrap_err(), "network");
        assert_eq!(lab.number("SELECT COUNT(*) FROM networks").await, limit);
        member.delete("network", &network).await.unwrap();
        member.network().await;
        assert_over(&member.create("network", json!({})).await.unwrap_err(), "network");
    }
}

#[tokio::test]
async fn a_delete_gives_back() {
    let lab = Lab::new(networks(2)).await;
    let member = lab.member("p1");
    for _ in 0..5 {
        let (first, second) = (member.network().await, member.network().await);
        assert_over(&member.create("network", json!({})).await.unwrap_err(), "network");
        member.delete("network", &first).await.unwrap();
        assert_eq!(lab.number("SELECT in_use FROM quotausages").await, 1);
        member.delete("network", &second).await.unwrap();
        assert_true(&lab, "p1").await;
    }
    // Another project is another account.
    lab.member("p2").network().await;
    assert_eq!(lab.number("SELECT in_use FROM quotausages WHERE project_id = 'p1'").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn creates_and_deletes_leave_the_truth() {
    let lab = Arc::new(Lab::new(networks(10)).await);
    let tasks: Vec<_> = (0..32)
        .map(|_| {
            let lab = lab.clone();
            tokio::spawn(async move {
                let member = lab.member("p1");
                for _ in 0..20 {
                    match member.create("network", json!({})).await {
                        Ok(network) => member.delete("network", network.id()).await.unwrap(),
                        Err(fault) => assert_over(&fault, "network"),
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(lab.number("SELECT in_use FROM quotausages WHERE NOT dirty").await, 0);
    assert_true(&lab, "p1").await;
}

#[tokio::test]
async fn a_start_counts_anew() {
    let lab = Lab::new(networks(3)).await;
    let member = lab.member("p1");
    let network = member.network().await;
    member.network().await;
    // Another program removes a network and does not tell.
    lab.execute(&format!("DELETE FROM networks WHERE id = '{network}'")).await;
    let again = Lab::on(lab.system.store.clone(), networks(3));
    again.start().await;
    assert_eq!(lab.number("SELECT COUNT(*) FROM quotausages WHERE dirty").await, 1);
    let member = again.member("p1");
    member.network().await;
    assert_eq!(lab.number("SELECT in_use FROM quotausages WHERE NOT dirty").await, 2);
    member.network().await;
    assert_over(&member.create("network", json!({})).await.unwrap_err(), "network");
    assert_true(&again, "p1").await;
}

#[tokio::test]
async fn dirty_rows_stay_right_under_deletes() {
    let lab = Lab::new(networks(3)).await;
    let member = lab.member("p1");
    let ids = [member.network().await, member.network().await];
    lab.start().await;
    for id in &ids {
        member.delete("network", id).await.unwrap();
    }
    for _ in 0..3 {
        member.network().await;
    }
    assert_over(&member.create("network", json!({})).await.unwrap_err(), "network");
    // A number that cannot be right is not believed.
    lab.execute("UPDATE quotausages SET in_use = 0").await;
    let id = lab.sql("SELECT id FROM networks LIMIT 1").await;
    member.delete("network", &id).await.unwrap();
    assert_eq!(lab.number("SELECT dirty FROM quotausages").await, 1);
    member.network().await;
    assert_true(&lab, "p1").await;
    assert_eq!(lab.number("SELECT in_use FROM quotausages WHERE NOT dirty").await, 3);
}

#[tokio::test]
async fn what_an_unlimited_project_had_counts_once_it_has_a_limit() {
    let lab = Lab::new(networks(2)).await;
    let (admin, member) = (lab.admin(), lab.member("p1"));
    member.network().await;
    admin.put("/quotas/p1", json!({"quota": {"network": -1}})).await.unwrap();
    for _ in 0..4 {
        member.network().await;
    }
    admin.put("/quotas/p1", json!({"quota": {"network": 6}})).await.unwrap();
    member.network().await;
    assert_over(&member.create("network", json!({})).await.unwrap_err(), "network");
    // Back to the default, which is lower.
    admin.send(Method::Delete, "/quotas/p1", None).await.unwrap();
    assert_over(&member.create("network", json!({})).await.unwrap_err(), "network");
    assert_true(&lab, "p1").await;
}

#[tokio::test]
async fn what_the_server_makes_by_itself_is_counted_but_not_refused() {
    let lab = Lab::new(Limits::new(-1, |kind| (kind.name == "port").then_some(1))).await;
    let member = lab.member("p1");
    let network = member.network().await;
    let own = async |count: usize| {
        let mut txn = lab.system.store.write().await.unwrap();
        let context = policy::Context::internal();
        let mut op = Op::new(&mut txn, &context, &lab.system);
        for _ in 0..count {
            let given = op.given_create("port", json!({"network_id": network, "project_id": "p1"})).unwrap();
            op.create("port", vec![given]).await.unwrap();
        }
        txn.commit().await.unwrap();
    };
    own(2).await;
    assert_over(&member.create("port", json!({"network_id": network})).await.unwrap_err(), "port");
    lab.admin().put("/quotas/p1", json!({"quota": {"port": 4}})).await.unwrap();
    member.create("port", json!({"network_id": network})).await.unwrap();
    own(1).await;
    assert_over(&member.create("port", json!({"network_id": network})).await.unwrap_err(), "port");
    assert_true(&lab, "p1").await;
}

#[tokio::test]
async fn an_administrator_is_held_to_the_owners_limit() {
    let lab = Lab::new(networks(1)).await;
    lab.admin().create("network", json!({"project_id": "p1"})).await.unwrap();
    assert_over(&lab.admin().create("network", json!({"project_id": "p1"})).await.unwrap_err(), "network");
    lab.admin().create("network", json!({})).await.unwrap();
    // Zero is a limit too.
    lab.admin().put("/quotas/p2", json!({"quota": {"network": 0}})).await.unwrap();
    assert_over(&lab.member("p2").create("network", json!({})).await.unwrap_err(), "network");
}

async fn fault(asker: &As<'_>, method: Method, path: &str, body: Option<Value>) -> (u16, String) {
    let fault = asker.send(method, path, body).await.unwrap_err();
    (fault.status(), fault.kind().to_owned())
}

#[tokio::test]
async fn limits_are_shown_set_and_removed() {
    let lab = Lab::new(Limits::default()).await;
    let (admin, member) = (lab.admin(), lab.member("p1"));
    let defaults = json!({
        "network": 100, "subnet": 100, "subnetpool": -1, "port": 500, "router_route": 30, "router": 10, "floatingip": 50,
        "rbac_policy": 10, "security_group": 10, "security_group_rule": 100, "trunk": -1
    });
    assert_eq!(admin.get("/quotas").await, json!({"quotas": []}));
    assert_eq!(admin.get("/quotas/nobody").await, json!({"quota": defaults}));
    assert_eq!(member.get("/quotas/p1").await, json!({"quota": defaults}));
    assert_eq!(lab.reader("p1").get("/quotas/p1/default").await, json!({"quota": defaults}));
    assert_eq!(member.get("/quotas/tenant").await, json!({"tenant": {"tenant_id": "p1"}}));
    assert_eq!(member.get("/quotas/project").await, json!({"project": {"project_id": "p1"}}));

    let mut set = defaults.clone();
    (set["network"], set["port"]) = (json!(2), json!(-1));
    let answer = admin.put("/quotas/p1", json!({"quota": {"network": "2", "port": -1}})).await.unwrap();
    assert_eq!(answer, json!({"quota": set}));
    assert_eq!(member.get("/quotas/p1").await, json!({"quota": set}));
    assert_eq!(member.get("/quotas/p1/default").await, json!({"quota": defaults}));
    set["project_id"] = json!("p1");
    set["tenant_id"] = json!("p1");
    assert_eq!(admin.get("/quotas").await, json!({"quotas": [set]}));
    // Nothing to set, numbers as Python reads them.
    for (body, network) in
        [(json!({}), 2), (json!({"network": 1.5}), 1), (json!({"network": true}), 1), (json!({"network": " 7 "}), 7)]
    {
        let answer = admin.put("/quotas/p1", json!({"quota": body})).await.unwrap();
        assert_eq!(answer["quota"]["network"], network, "{body}");
    }
    assert_eq!(admin.send(Method::Delete, "/quotas/p1", None).await.unwrap().status, 204);
    assert_eq!(fault(&admin, Method::Delete, "/quotas/p1", None).await, (404, "TenantQuotaNotFound".into()));
    assert_eq!(member.get("/quotas/p1").await, json!({"quota": defaults}));
}

#[tokio::test]
async fn bad_limits_are_refused() {
    let lab = Lab::new(Limits::default()).await;
    let admin = lab.admin();
    for (body, kind) in [
        (Some(json!({"quota": {"network": "abc"}})), "InvalidInput"),
        (Some(json!({"quota": {"network": null}})), "InvalidInput"),
        (Some(json!({"quota": {"network": [1]}})), "InvalidInput"),
        (Some(json!({"quota": {"network": ""}})), "InvalidInput"),
        (Some(json!({"quota": {"network": "1.5"}})), "InvalidInput"),
        (Some(json!({"quota": {"port": -2}})), "HTTPBadRequest"),
        (Some(json!({"quota": {"port": 2147483648_i64}})), "HTTPBadRequest"),
        (Some(json!({"quota": {"port": 1e300}})), "HTTPBadRequest"),
        (Some(json!({"quota": {"port": -1e300}})), "HTTPBadRequest"),
        (Some(json!({"quota": {"port": u64::MAX}})), "HTTPBadRequest"),
        (Some(json!({"quota": {"port": "99999999999999999999999"}})), "HTTPBadRequest"),
        (Some(json!({"quota": {"bogus": 1}})), "HTTPBadRequest"),
        (Some(json!({"quota": {"tenant_id": "x", "network": 2}})), "HTTPBadRequest"),
        (Some(json!({"quota": []})), "HTTPBadRequest"),
        (Some(json!({"quota": null})), "HTTPBadRequest"),
        (Some(json!({"network": 1})), "HTTPBadRequest"),
        (Some(json!([])), "HTTPBadRequest"),
        (None, "HTTPBadRequest"),
    ] {
        assert_eq!(fault(&admin, Method::Put, "/quotas/p1", body.clone()).await, (400, kind.into()), "{body:?}");
    }
    assert_eq!(lab.number("SELECT COUNT(*) FROM quotas").await, 0);
    let maximum = json!({"quota": {"port": 2147483647}});
    assert_eq!(admin.put("/quotas/p1", maximum).await.unwrap()["quota"]["port"], 2147483647);
    assert_eq!(fault(&admin, Method::Post, "/quotas", None).await, (501, "HTTPNotImplemented".into()));
    let long = format!("/quotas/{}", "x".repeat(256));
    assert_eq!(fault(&admin, Method::Put, &long, Some(json!({"quota": {"port": 1}}))).await.0, 400);
}

#[tokio::test]
async fn a_limit_below_use_is_refused_unless_forced() {
    let lab = Lab::new(Limits::default()).await;
    let (admin, member) = (lab.admin(), lab.member("p1"));
    member.network().await;
    member.network().await;
    for quota in
        [json!({"network": 1}), json!({"network": 1, "check_limit": true}), json!({"network": 1, "force": "true"})]
    {
        assert_eq!(
            fault(&admin, Method::Put, "/quotas/p1", Some(json!({"quota": quota}))).await,
            (400, "HTTPBadRequest".into())
        );
    }
    assert_eq!(admin.get("/quotas").await, json!({"quotas": []}));
    for quota in [json!({"network": 2}), json!({"network": -1}), json!({"network": 1, "force": true})] {
        admin.put("/quotas/p1", json!({"quota": quota})).await.unwrap();
    }
    assert_over(&member.create("network", json!({})).await.unwrap_err(), "network");
    let details = member.get("/quotas/p1/details").await;
    assert_eq!(details["quota"]["network"], json!({"limit": 1, "used": 2, "reserved": 0}));
}

#[tokio::test]
async fn projects_see_their_own_quotas() {
    let lab = Lab::new(Limits::default()).await;
    for project in ["p1", "p2"] {
        lab.admin().put(&format!("/quotas/{project}"), json!({"quota": {"network": 5}})).await.unwrap();
    }
    let denied = || (403, "PolicyNotAuthorized".to_owned());
    for asker in [lab.reader("p1"), lab.member("p1"), lab.manager("p1")] {
        asker.get("/quotas/p1").await;
        asker.get("/quotas/p1/details").await;
        for path in ["/quotas/p2", "/quotas/p2/default"] {
            assert_eq!(fault(&asker, Method::Get, path, None).await, denied());
        }
        assert_eq!(fault(&asker, Method::Get, "/quotas/p2/details", None).await, (403, "AdminRequired".into()));
        assert_eq!(fault(&asker, Method::Put, "/quotas/p1", Some(json!({"quota": {"network": 9}}))).await, denied());
        assert_eq!(fault(&asker, Method::Delete, "/quotas/p1", None).await, denied());
    }
    assert_eq!(fault(&lab.member("p1"), Method::Get, "/quotas", None).await, denied());
    // Who manages a project may list, and finds that project.
    let listed = lab.manager("p1").get("/quotas").await;
    assert_eq!(listed["quotas"].as_array().unwrap().len(), 1);
    assert_eq!(listed["quotas"][0]["project_id"], "p1");
    let nobody = lab.member("");
    assert_eq!(fault(&nobody, Method::Get, "/quotas/tenant", None).await, (400, "QuotaMissingTenant".into()));
}
