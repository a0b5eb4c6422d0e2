use std::path::Path;
use std::time::Duration;

use api::Api;
use linux::Program;

/// Those of the reference's configuration that the answers depend on.
const OPTIONS: &str = "\
[DEFAULT]
service_plugins = network_segment_range
[ml2]
extension_drivers = port_security,data_plane_status
[ml2_type_vlan]
network_vlan_ranges = physnet1:100:199
[quotas]
quota_network = 1000
quota_subnet = 1000
quota_port = 100000
";

#[test]
fn answers_are_those_of_the_reference() {
    let api = Api::with(OPTIONS);
    let room = Path::new(env!("CARGO_MANIFEST_DIR"));
    let agents = std::fs::read_to_string(room.join("agents.sql")).expect("the agents");
    api.server().wait(async {
        let mut txn = api.server().store().write().await.expect("a transaction");
        for statement in agents.lines().filter(|line| line.starts_with("INSERT")) {
            txn.execute(statement.trim_end_matches(';'), &[]).await.expect("an agent");
        }
        txn.commit().await.expect("agents");
    });
    let replay = Program::new("python3")
        .arg(room.join("differential.py"))
        .args(["replay", "--target", api.base()])
        .run(Duration::from_secs(240))
        .expect("python3 runs");
    assert!(replay.success(), "{}{}", replay.stdout, replay.stderr);
    print!("{}", replay.stdout);
}
