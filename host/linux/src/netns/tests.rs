use super::*;
use crate::{
    LinkSpec,
    testing::{host, with_private_run},
};

#[test]
fn named_namespaces_come_and_go() {
    with_private_run(|| {
        assert!(Netns::list().unwrap().is_empty());
        assert!(Netns::open("one").unwrap_err().is_not_found());
        let one = Netns::create("one").unwrap();
        assert_eq!(one.name(), "one");
        assert!(Netns::create("one").unwrap_err().is_exists());
        assert!(Netns::ensure("one").unwrap().same_as(&one));
        assert!(!Netns::ensure("two").unwrap().same_as(&one));
        assert_eq!(Netns::list().unwrap(), ["one", "two"]);

        let handle = Handle::in_netns("one").unwrap();
        handle.link_add(&LinkSpec::bridge("br-one")).unwrap();
        assert_eq!(Handle::new().unwrap().link("br-one").unwrap(), None);
        assert_eq!(Handle::in_netns("two").unwrap().link("br-one").unwrap(), None);

        assert!(Netns::delete("one").unwrap());
        assert!(!Netns::delete("one").unwrap());
        assert!(!Netns::exists("one"));
        assert!(!Path::new("/run/netns/one").exists());
        // What holds it keeps it.
        assert!(one.handle().unwrap().link("br-one").unwrap().is_some());
        assert_eq!(Netns::list().unwrap(), ["two"]);
    });
}

#[test]
fn a_file_without_a_namespace_is_repaired() {
    with_private_run(|| {
        fs::create_dir_all(DIRECTORY).unwrap();
        fs::write("/run/netns/stale", "").unwrap();
        assert!(!Netns::exists("stale"));
        assert!(Netns::open("stale").unwrap_err().is_not_found());
        assert!(Netns::list().unwrap().is_empty());
        assert_eq!(Netns::list_stale().unwrap(), ["stale"]);
        Netns::create("stale").unwrap();
        assert!(Netns::exists("stale"));

        fs::write("/run/netns/other", "").unwrap();
        assert!(Netns::delete("other").unwrap());
        assert!(Netns::list_stale().unwrap().is_empty());
    });
}

#[test]
fn the_directory_is_shared_with_other_mount_namespaces() {
    with_private_run(|| {
        Netns::create("one").unwrap();
        let mounts = fs::read_to_string("/proc/thread-self/mountinfo").unwrap();
        let line = mounts.lines().find(|line| line.contains(" /run/netns rw")).unwrap();
        assert!(line.contains(" shared:"), "{line}");
    });
}

#[test]
fn creators_of_one_name_race_to_one_namespace() {
    with_private_run(|| {
        let found: Vec<Netns> = thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| Netns::ensure("same"))).collect();
            threads.into_iter().map(|t| t.join().unwrap().unwrap()).collect()
        });
        assert!(found.iter().all(|ns| ns.same_as(&found[0])));
    });
}

#[test]
fn bad_names_are_refused() {
    for name in ["", ".", "..", "a/b", "a\0b", &"x".repeat(256)] {
        assert_eq!(Netns::open(name).unwrap_err().kind(), ErrorKind::Invalid, "{name:?}");
        assert_eq!(Netns::create(name).unwrap_err().kind(), ErrorKind::Invalid, "{name:?}");
    }
}

#[test]
fn work_runs_inside_and_the_caller_stays_outside() {
    let before = Netns::current().unwrap();
    let (namespace, _) = host();
    let inside = namespace.run(|| Netns::current().unwrap()).unwrap();
    assert!(inside.same_as(&namespace));
    assert!(Netns::current().unwrap().same_as(&before));
    assert!(!before.same_as(&namespace));
    let borrowed = String::from("kept");
    assert_eq!(namespace.run(|| borrowed.len()).unwrap(), 4);
}
