//! Texts that a database may take for equal, or cannot keep.

use api::{Api, encoded};
use serde_json::json;
use testkit::database::{Kind, fresh};

#[test]
fn db_collation_utf8mb4() {
    for charset in ["utf8mb3", "utf8mb4"] {
        let database = fresh(Kind::Mariadb);
        database.run(&format!("ALTER DATABASE CHARACTER SET {charset}"));
        let api = Api::with(&format!("[database]\nconnection = {}\n", database.url()));

        let net = api.create("network", json!({"name": "plain"}));
        let tags = json!({"tags": ["Red", "red", "röd", "rod"]});
        api.put(&format!("networks/{}/tags", net.id()), tags).expect(200);
        let shown = api.read(&net);
        let mut kept = shown.texts("tags");
        kept.sort_unstable();
        assert_eq!(kept, ["Red", "red", "rod", "röd"], "{charset}");
        for (filter, found) in [("tags=Red", 1), ("tags=RED", 0), ("tags=r%C3%B6d", 1), ("not-tags=RED", 1)] {
            assert_eq!(api.list(&format!("/networks?{filter}")).len(), found, "{charset}: {filter}");
        }
        api.send("DELETE", &format!("/v2.0/networks/{}/tags/red", net.id()), "").expect(204);
        assert_eq!(api.list("/networks?tags=Red").len(), 1, "{charset}");

        // A crab takes four bytes. Names have no such characters anywhere.
        let crab = "ferris 🦀";
        api.try_create("network", json!({"name": crab})).expect(400);
        let is_kept = charset == "utf8mb4";
        for (kind, body) in [
            ("network", json!({"description": crab})),
            ("subnetpool", json!({"name": "pool", "description": crab, "prefixes": ["10.0.0.0/8"]})),
            ("port", json!({"network_id": net.id(), "description": crab})),
            ("port", json!({"network_id": net.id(), "device_id": crab})),
        ] {
            let answer = api.try_create(kind, body.clone());
            if is_kept {
                let shown = answer.expect(201).json()[kind].clone();
                assert!(shown.to_string().contains(crab), "{shown}");
            } else {
                let message = answer.fault(400, "InvalidInput");
                assert!(message.contains("utf8mb4"), "{body}: {message}");
            }
        }
        let changed = api.try_update(&net, json!({"description": crab}));
        assert_eq!(changed.status, if is_kept { 200 } else { 400 }, "{}", changed.summary());
        // Tags have a character set of their own.
        api.send("PUT", &format!("/v2.0/networks/{}/tags/{}", net.id(), encoded(crab)), "").expect(201);
        let found = api.get(&format!("ports?device_id={}", encoded(crab)));
        assert_eq!(found.status, if is_kept { 200 } else { 400 }, "{}", found.summary());
        // What cannot be kept is not there.
        assert_eq!(api.list("/ports").len(), if is_kept { 2 } else { 0 });
        assert_eq!(api.list("/networks").len(), if is_kept { 2 } else { 1 });
    }
}
