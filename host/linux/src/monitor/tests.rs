use super::*;
use crate::{
    Handle, LinkSpec, Mac, link,
    neigh::{Fdb, fdb_add},
    testing::host,
};

const SOON: Duration = Duration::from_secs(20);

fn wait_for(monitor: &mut Monitor, wanted: impl Fn(&Event) -> bool) -> Event {
    loop {
        let event = monitor.next_within(SOON).unwrap().expect("the event comes");
        if wanted(&event) {
            return event;
        }
    }
}

#[test]
fn a_device_comes_changes_and_goes() {
    let (namespace, handle) = host();
    let mut monitor = Monitor::in_netns(&namespace, &[Topic::Links, Topic::Addresses]).unwrap();
    assert_eq!(monitor.next_within(Duration::ZERO).unwrap(), None);
    let bridge = handle.link_add(&LinkSpec::bridge("br0").up()).unwrap();
    let port = handle.link_add(&LinkSpec::veth("tap0", "eth0").up()).unwrap();
    wait_for(&mut monitor, |e| matches!(e, Event::Link(l) if l.name == "tap0"));
    handle.link_master(port, bridge).unwrap();
    wait_for(&mut monitor, |e| matches!(e, Event::Link(l) if l.index == port && l.master == Some(bridge)));
    // Leaving the bridge is a change of the device, not its end.
    handle.link_set(link::set(port).no_master()).unwrap();
    let event = wait_for(&mut monitor, |e| match e {
        Event::Link(l) => l.index == port && l.master.is_none(),
        Event::LinkGone(_) => true,
        _ => false,
    });
    assert!(matches!(event, Event::Link(_)), "{event:?}");
    let net = "192.0.2.1/24".parse().unwrap();
    handle.address_add(bridge, net).unwrap();
    wait_for(&mut monitor, |e| matches!(e, Event::Address(a) if a.net == net && a.index == bridge));
    handle.address_delete(bridge, net).unwrap();
    wait_for(&mut monitor, |e| matches!(e, Event::AddressGone(a) if a.net == net));
    handle.link_delete("tap0").unwrap();
    wait_for(&mut monitor, |e| matches!(e, Event::LinkGone(l) if l.name == "tap0"));
}

#[test]
fn only_what_was_asked_for_and_only_of_the_namespace() {
    let (namespace, handle) = host();
    let (_other, elsewhere) = host();
    let mut monitor = Monitor::in_netns(&namespace, &[Topic::Neighbours]).unwrap();
    elsewhere.link_add(&LinkSpec::bridge("br0")).unwrap();
    let bridge = handle.link_add(&LinkSpec::bridge("br0").up()).unwrap();
    let port = handle.link_add(&LinkSpec::veth("tap0", "eth0")).unwrap();
    handle.link_master(port, bridge).unwrap();
    let entry = Fdb::master(port, Mac([2, 0, 0, 0, 0, 9]));
    handle.run(fdb_add(&entry)).unwrap();
    loop {
        let event = monitor.next_within(SOON).unwrap().expect("the event comes");
        assert!(!matches!(event, Event::Link(_) | Event::LinkGone(_) | Event::Address(_)), "{event:?}");
        if event == Event::Fdb(entry.clone()) {
            break;
        }
    }
}

#[test]
fn losses_are_told_and_reading_goes_on() {
    let (namespace, handle) = host();
    let mut monitor = namespace.run(|| Monitor::with_buffer(&[Topic::Links], 4096)).unwrap().unwrap();
    let flood = |handle: &Handle| {
        // Of a device that is down the kernel does not announce such changes.
        handle.link_add(&LinkSpec::bridge("br0").up()).unwrap();
        for i in 0..200 {
            handle.link_set(link::set("br0").alias(&format!("change {i}"))).unwrap();
        }
    };
    flood(&handle);
    wait_for(&mut monitor, |e| *e == Event::Resync);
    while monitor.next_within(Duration::ZERO).unwrap().is_some() {}
    handle.link_set(link::set("br0").alias("after")).unwrap();
    wait_for(&mut monitor, |e| matches!(e, Event::Link(l) if l.alias == "after"));
}

#[test]
fn on_a_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (namespace, handle) = host();
    let mut monitor = Monitor::in_netns(&namespace, &[Topic::Links]).unwrap();
    runtime.block_on(async {
        for name in ["one", "two", "three"] {
            // A wait that is given up loses nothing.
            tokio::time::timeout(Duration::from_millis(1), monitor.next()).await.ok();
            let changing = async { handle.link_add(&LinkSpec::bridge(name)).unwrap() };
            let waiting = tokio::time::timeout(SOON, async {
                loop {
                    if matches!(monitor.next().await.unwrap(), Event::Link(l) if l.name == name) {
                        break;
                    }
                }
            });
            let (waited, _) = tokio::join!(waiting, changing);
            waited.unwrap();
        }
    });
}
