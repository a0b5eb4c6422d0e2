//! The board alone: what news do to each other.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::agent::board::{Board, Lane, Work};
use crate::files::tests::{S1, net_d, network, port, port_id};
use crate::model::{Network, Port, id};

fn board() -> (Board, Network) {
    let board = Board::default();
    let net = network(&net_d());
    let seen = board.begin_sync();
    board.synced(vec![net.clone()], seen);
    (board, net)
}

fn read(port: &Value) -> Port {
    Port::from_json(port).unwrap()
}

async fn next(board: &Board, lane: Lane) -> Work {
    tokio::time::timeout(std::time::Duration::from_secs(5), board.next(lane)).await.expect("there is work")
}

#[tokio::test]
async fn one_worker_at_a_time_and_one_round_for_all_news() {
    let (board, net) = board();
    let work = next(&board, Lane::Sync).await;
    assert!(!work.fetch && !work.gone && work.known.is_some());
    for n in 0x20..0x40 {
        board.port(read(&port(n, &format!("192.0.2.{n}"), "compute:nova")), false, 5);
    }
    // Another worker finds nothing, since the network is being worked on; the first gets all at once.
    let mut other = tokio_test_pending(board.next(Lane::Events));
    assert!(other.as_mut().now_or_never().is_none());
    drop(other);
    let again = board.done(&net.id).expect("there were news");
    assert_eq!(again.known.as_ref().unwrap().ports.len(), net.ports.len() + 0x20);
    assert!(work.all_ready && work.fresh.is_empty());
    assert!(!again.all_ready && again.fresh.len() == 0x20, "only what the round has seen is ready after it");
    // Told too soon: they are the next round's.
    board.not_ready(&again);
    assert!(board.done(&net.id).is_none());
    board.again(&net.id);
    assert_eq!(next(&board, Lane::Events).await.fresh.len(), 0x20);
}

use futures::FutureExt;

fn tokio_test_pending<F: Future>(future: F) -> std::pin::Pin<Box<F>> {
    Box::pin(future)
}

#[tokio::test]
async fn a_fetch_does_not_undo_what_came_since() {
    let (board, net) = board();
    drop(next(&board, Lane::Sync).await);
    board.done(&net.id);
    board.refresh(net.id.clone(), 3);
    let work = next(&board, Lane::Events).await;
    assert!(work.fetch);
    // While the server answers: a port comes, one goes, one changes.
    board.port(read(&port(0x30, "192.0.2.48", "compute:nova")), false, 5);
    board.port_removed(id(&port_id(0x11)).unwrap(), Some(&net.id), |_| false, 6);
    let mut changed = port(1, "192.0.2.1", "network:router_interface");
    (changed["revision_number"], changed["mac_address"]) = (json!(9), json!("fa:16:3e:aa:aa:aa"));
    board.port(read(&changed), false, 6);
    let known = board.fetched(network(&net_d()), work.seen);
    let ids: BTreeSet<&str> = known.ports.keys().map(|id| &**id).collect();
    assert_eq!(ids, [port_id(1), port_id(2), port_id(0x30)].iter().map(String::as_str).collect());
    assert_eq!(known.ports[&*port_id(1)].revision, 9);
    // What the next answer does not have is gone.
    let later = board.done(&net.id).unwrap();
    let mut without = net_d();
    without["ports"].as_array_mut().unwrap().retain(|port| port["id"] != port_id(0x11));
    let known = board.fetched(network(&without), later.seen);
    assert!(!known.ports.contains_key(&*port_id(0x30)));
}

#[tokio::test]
async fn removal_and_return_in_either_order() {
    let (board, net) = board();
    drop(next(&board, Lane::Sync).await);
    board.removed(&net.id, 2);
    board.refresh(net.id.clone(), 0);
    let work = board.done(&net.id).unwrap();
    assert!(work.fetch && !work.gone, "the newest wins");
    board.refresh(net.id.clone(), 0);
    board.removed(&net.id, 2);
    let work = board.done(&net.id).unwrap();
    assert!(work.gone && !work.fetch);
    // It comes back while it is taken down: the place is kept.
    board.refresh(net.id.clone(), 0);
    board.forget(&net.id);
    assert!(board.done(&net.id).unwrap().fetch);
    board.removed(&net.id, 2);
    assert!(board.done(&net.id).unwrap().gone);
    board.forget(&net.id);
    assert!(board.done(&net.id).is_none());
    assert_eq!(board.counts().networks, 0);
}

#[tokio::test]
async fn a_network_taken_away_during_a_sync_stays_away() {
    let (board, net) = board();
    drop(next(&board, Lane::Sync).await);
    board.done(&net.id);
    let seen = board.begin_sync();
    board.removed(&net.id, 2);
    let work = next(&board, Lane::Events).await;
    assert!(work.gone);
    board.forget(&net.id);
    board.done(&net.id);
    // The answer is from before.
    board.synced(vec![net.clone()], seen);
    assert_eq!(board.counts().networks, 0);
    // And one given during a sync stays.
    let seen = board.begin_sync();
    board.refresh(net.id.clone(), 0);
    drop(next(&board, Lane::Events).await);
    board.fetched(net.clone(), seen + 1);
    board.done(&net.id);
    board.synced(Vec::new(), seen);
    assert_eq!(board.counts().networks, 1);
    assert_eq!(board.backlog(), 0);
}

#[tokio::test]
async fn a_failed_round_is_not_forgotten_and_not_hurried() {
    let (board, net) = board();
    let work = next(&board, Lane::Sync).await;
    drop(work);
    board.removed(&net.id, 2);
    let work = board.done(&net.id).unwrap();
    board.failed(&work);
    board.again_at(&net.id, std::time::Instant::now(), true);
    assert!(board.done(&net.id).is_none(), "not before its time");
    let timers = board.run_timers();
    tokio::select! {
        () = timers => unreachable!("timers run for ever"),
        work = next(&board, Lane::Events) => assert!(work.gone && !work.fetch),
    }
}

#[test]
fn unknown_networks_and_ports_are_no_news() {
    let board = Board::default();
    board.port(read(&port(9, "192.0.2.9", "compute:nova")), false, 5);
    board.port_removed(id(&port_id(9)).unwrap(), None, |_| false, 6);
    board.removed(&id(S1).unwrap(), 2);
    board.refresh_known(id(S1).unwrap(), 4);
    assert_eq!(board.backlog(), 0);
    assert_eq!(board.network_of_subnet(S1), None);
}

#[tokio::test]
async fn a_sync_does_not_undo_a_later_fetch() {
    let (board, net) = board();
    drop(next(&board, Lane::Sync).await);
    board.done(&net.id);
    let seen = board.begin_sync();
    board.refresh(net.id.clone(), 0);
    let work = next(&board, Lane::Events).await;
    let mut newer = net_d();
    newer["ports"].as_array_mut().unwrap().push(port(0x30, "192.0.2.48", "compute:nova"));
    board.fetched(network(&newer), work.seen);
    board.synced(vec![net.clone()], seen);
    let work = board.done(&net.id).expect("the sync has it looked at");
    assert!(work.known.unwrap().ports.contains_key(&*port_id(0x30)));
}
