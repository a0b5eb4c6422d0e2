//! Ranges of segmentation ids that administrators set at run time.

use api::{Answer, Api, Object, together};
use serde_json::{Value, json};

const ON: &str = "[DEFAULT]\nservice_plugins = router,network_segment_range\n[ml2_type_vxlan]\nvni_ranges = 1:10\n";

fn range(first: i64, last: i64) -> Value {
    json!({"network_type": "vxlan", "minimum": first, "maximum": last})
}

fn with(mut range: Value, more: Value) -> Value {
    for (name, value) in more.as_object().into_iter().flatten() {
        range[name] = value.clone();
    }
    range
}

fn make(api: &Api, range: Value) -> Answer {
    api.try_create("network_segment_range", range)
}

fn number(network: &Object) -> i64 {
    network.number("provider:segmentation_id")
}

fn vxlan(api: &Api, project: &str) -> Answer {
    api.admin(project).try_create("network", json!({}))
}

#[test]
fn segment_range_overlap_tunnel() {
    let api = Api::with(ON);
    let first = make(&api, range(100, 200)).object(201);
    assert_eq!((first["shared"].clone(), first["default"].clone()), (json!(true), json!(false)));
    assert_eq!((first["project_id"].clone(), first.text("physical_network")), (Value::Null, ""));
    assert_eq!(first["available"].as_array().map(Vec::len), Some(101));
    assert!(make(&api, range(150, 250)).fault(409, "NetworkSegmentRangeOverlaps").contains(first.id()));
    for (from, to) in [(1, 100), (200, 200), (120, 130), (90, 300)] {
        make(&api, range(from, to)).fault(409, "NetworkSegmentRangeOverlaps");
    }
    let second = make(&api, range(201, 250)).object(201);
    api.try_update(&second, json!({"minimum": 200})).fault(409, "NetworkSegmentRangeOverlaps");
    assert_eq!(api.read(&second).number("minimum"), 201);
    // Of another type, or another physical network, they are other numbers.
    make(&api, with(range(100, 200), json!({"network_type": "geneve"}))).expect(201);
    let vlan = |name: &str| with(range(10, 20), json!({"network_type": "vlan", "physical_network": name}));
    make(&api, vlan("physnet1")).expect(201);
    make(&api, vlan("physnet2")).expect(201);
    make(&api, vlan("physnet2")).fault(409, "NetworkSegmentRangeOverlaps");
    // A default range is in nobody's way.
    make(&api, range(1, 5)).expect(201);
    api.delete(&first).expect(204);
    api.delete(&first).fault(404, "NetworkSegmentRangeNotFound");
    make(&api, range(150, 180)).expect(201);
}

#[test]
fn segment_range_overlap_tunnel_at_once() {
    let api = Api::with(ON);
    let made = together(8, |number| make(&api, range(1000 + number as i64, 1010 + number as i64)).summary());
    assert_eq!(made.iter().filter(|answer| *answer == "201").count(), 1, "{made:?}");
    assert_eq!(made.iter().filter(|answer| *answer == "409 NetworkSegmentRangeOverlaps").count(), 7, "{made:?}");
}

#[test]
fn segment_range_overlap_tunnel_defaults_are_there_once() {
    let dir = tempfile::tempdir().expect("a directory");
    let options = format!("{ON}[database]\nconnection = sqlite:///{}\n", dir.path().join("db").display());
    let defaults = |api: &Api| -> Vec<(String, i64, i64)> {
        let mut ranges: Vec<_> = api
            .list("network_segment_ranges")
            .iter()
            .filter(|range| range["default"] == true)
            .map(|range| (range.text("network_type").to_owned(), range.number("minimum"), range.number("maximum")))
            .collect();
        ranges.sort();
        ranges
    };
    let all = [("geneve", 1, 1000), ("gre", 1, 1000), ("vlan", 100, 199), ("vxlan", 1, 10)];
    let all = all.map(|(network_type, first, last)| (network_type.to_owned(), first, last));
    // The schema, without ranges.
    drop(Api::with(&options.replace("network_segment_range", "none")));
    let servers = together(4, |_| Api::with(&options));
    for api in &servers {
        assert_eq!(defaults(api), all);
    }
    let kept = make(&servers[0], range(30, 39)).object(201);
    drop(servers);
    // Those of the configuration follow it, those of administrators stay.
    let api = Api::with(&options.replace("vni_ranges = 1:10\n", "vni_ranges = 5:20\n"));
    let vxlan = defaults(&api).into_iter().find(|range| range.0 == "vxlan");
    assert_eq!(vxlan, Some(("vxlan".to_owned(), 5, 20)));
    assert_eq!(api.read(&kept).number("maximum"), 39);
    let default = api.list("network_segment_ranges?network_type=gre").remove(0);
    api.try_update(&default, json!({"name": "x"})).fault(400, "NetworkSegmentRangeDefaultReadOnly");
    api.delete(&default).fault(400, "NetworkSegmentRangeDefaultReadOnly");
}

#[test]
fn networks_get_ids_of_their_project_first() {
    let api = Api::with(ON);
    let own = json!({"shared": false, "project_id": "p1"});
    let own = make(&api, with(range(50, 51), own)).object(201);
    assert_eq!(own.text("project_id"), "p1");
    let other = json!({"shared": false, "project_id": "p2"});
    make(&api, with(range(3, 9), other)).expect(201);
    let made: Vec<Object> = (0..5).map(|_| vxlan(&api, "p1").object(201)).collect();
    let mut numbers: Vec<i64> = made.iter().map(number).collect();
    assert!(numbers[..2].iter().all(|id| [50, 51].contains(id)), "{numbers:?}");
    numbers.sort();
    // Then shared ones, but for those of p2.
    assert_eq!(numbers, [1, 2, 10, 50, 51]);
    vxlan(&api, "p1").fault(503, "NoNetworkAvailable");
    vxlan(&api, "p3").fault(503, "NoNetworkAvailable");
    assert!((3..=9).contains(&number(&vxlan(&api, "p2").object(201))));
    // One that leaves the id open asks for the same.
    let open = json!({"provider:network_type": "vxlan"});
    api.admin("p1").try_create("network", open).fault(503, "NoNetworkAvailable");

    let shown = api.read(&own);
    assert_eq!(shown["used"], json!({"50": "p1", "51": "p1"}));
    assert_eq!(shown["available"], json!([]));
    api.delete(&own).fault(409, "NetworkSegmentRangeReferencedByProject");
    api.try_update(&own, json!({"maximum": 50})).fault(409, "NetworkSegmentRangeReferencedByProject");
    let wide = api.update(&own, json!({"maximum": 60, "name": "wide"}));
    assert_eq!(wide["available"], json!([52, 53, 54, 55, 56, 57, 58, 59, 60]));
    assert!((52..=60).contains(&number(&vxlan(&api, "p1").object(201))));
    for network in api.list("networks?project_id=p1") {
        api.delete(&network).expect(204);
    }
    api.delete(&own).expect(204);
    assert_eq!(api.server().count("SELECT COUNT(*) FROM ml2_vxlan_allocations WHERE vxlan_vni >= 50"), 0);
    assert!([1, 2, 10].contains(&number(&vxlan(&api, "p1").object(201))));
}

#[test]
fn vlans_come_from_the_ranges_too() {
    let api = Api::with(ON);
    let vlan = |name: &str| json!({"provider:network_type": "vlan", "provider:physical_network": name});
    api.try_create("network", vlan("physnet3")).fault(400, "InvalidInput");
    // It is configured without ids.
    api.try_create("network", vlan("physnet2")).fault(400, "InvalidInput");
    let ids = |name: &str| json!({"network_type": "vlan", "physical_network": name, "minimum": 7, "maximum": 7});
    for name in ["physnet2", "physnet3"] {
        make(&api, ids(name)).expect(201);
        assert_eq!(number(&api.create("network", vlan(name))), 7);
        api.try_create("network", vlan(name)).fault(503, "NoNetworkAvailable");
    }
    assert_eq!(api.list("network_segment_ranges?physical_network=physnet3")[0]["used"], json!({"7": "admin"}));
}

#[test]
fn ranges_that_cannot_be_are_refused() {
    let api = Api::with(ON);
    let vlan = json!({"network_type": "vlan"});
    for (body, status, kind) in [
        (json!({"minimum": 5, "maximum": 6}), 400, "NetworkSegmentRangeNetTypeNotSupported"),
        (with(range(5, 6), json!({"network_type": "flat"})), 400, "HTTPBadRequest"),
        (with(range(5, 6), json!({"network_type": null})), 400, "HTTPBadRequest"),
        (with(range(5, 6), vlan.clone()), 400, "BadRequest"),
        (with(range(5, 5000), with(vlan, json!({"physical_network": "p"}))), 400, "NetworkVlanRangeError"),
        (range(7, 6), 400, "NetworkTunnelRangeError"),
        (range(1, 1 << 24), 400, "NetworkTunnelRangeError"),
        (with(range(1, 3_000_000_000), json!({"network_type": "gre"})), 400, "NetworkTunnelRangeError"),
        (range(0, 6), 400, "HTTPBadRequest"),
        (json!({"network_type": "vxlan", "minimum": 7}), 400, "HTTPBadRequest"),
        (with(range(5, 6), json!({"minimum": "a"})), 400, "InvalidInput"),
        (with(range(5, 6), json!({"minimum": null})), 400, "InvalidInput"),
        (with(range(5, 6), json!({"shared": "maybe"})), 400, "InvalidInput"),
        (with(range(5, 6), json!({"default": true})), 400, "HTTPBadRequest"),
        (with(range(5, 6), json!({"shared": false, "project_id": ""})), 400, "InvalidInput"),
    ] {
        assert_eq!(make(&api, body.clone()).summary(), format!("{status} {kind}"), "{body}");
    }
    assert!(api.list("network_segment_ranges").iter().all(|range| range["default"] == true));
    let own = make(&api, range(20, 30)).object(201);
    api.try_update(&own, json!({"maximum": 19})).fault(400, "NetworkTunnelRangeError");
    api.try_update(&own, json!({"shared": false})).fault(400, "HTTPBadRequest");
    api.try_update(&own, json!({"project_id": "p1"})).fault(400, "HTTPBadRequest");
    make(&api.member("p1"), range(40, 50)).fault(403, "PolicyNotAuthorized");
    assert!(api.member("p1").list("network_segment_ranges").is_empty());
    assert_eq!(api.member("p1").show(&own).status, 404);
    api.get("network_segment_ranges?minimum=1").fault(400, "HTTPBadRequest");
    // Only where they are turned on.
    Api::start().get("network_segment_ranges").expect(404);
}
