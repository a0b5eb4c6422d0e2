//! What one of several servers does for all of them.

use std::time::Duration;

use agents::Turns;
use api::Api;

#[test]
fn rpc_api_and_rpc_processes_share_work_that_is_done_once() {
    let api = Api::start();
    let server = api.server();
    let place = |host: &str| Turns::new(server.store().clone(), "test", host, Duration::from_secs(30));
    let places = ["a", "b", "c"].map(place);
    let whose = || -> Vec<bool> {
        places.iter().map(|place| server.wait(place.is_mine()).expect("the database answers")).collect()
    };
    // All stand in the queue after the first round.
    whose();
    let first = whose();
    assert_eq!(first.iter().filter(|mine| **mine).count(), 1, "{first:?}");
    assert_eq!(whose(), first, "it stays with whom it is");

    let leader = first.iter().position(|mine| *mine).expect("one of them");
    let silent = "UPDATE ovn_hash_ring SET updated_at = '2020-01-01 00:00:00' WHERE group_name = 'neutrino_test'";
    server.wait(async {
        let mut txn = server.store().write().await.expect("a transaction");
        assert_eq!(txn.execute(silent, &[]).await.expect("an update"), 3);
        txn.commit().await.expect("a commit");
    });
    let others: Vec<usize> = (0..3).filter(|place| *place != leader).collect();
    let mine = |place: usize| server.wait(places[place].is_mine()).expect("the database answers");
    mine(others[0]);
    mine(others[1]);
    assert_eq!(others.iter().filter(|place| mine(**place)).count(), 1, "the silent one's work goes to another");

    // It comes back, and one of the three has the work.
    mine(leader);
    assert_eq!(whose().iter().filter(|mine| **mine).count(), 1);
    for place in &places {
        server.wait(place.leave()).expect("the database answers");
    }
    assert_eq!(server.count("SELECT COUNT(*) FROM ovn_hash_ring WHERE group_name = 'neutrino_test'"), 0);
    assert!(mine(others[0]), "alone again");
}
