//! What the tests of this crate share: namespaces of their own, so that nothing of the machine is touched.

use nix::{
    mount::{MsFlags, mount},
    sched::{CloneFlags, unshare},
};

use crate::{Handle, Netns};

/// A fresh namespace without a name, and a socket in it.
pub(crate) fn host() -> (Netns, Handle) {
    let namespace =
        Netns::anonymous().expect("these tests need root: run them with `make test`, or under `unshare -nm`");
    let handle = namespace.handle().unwrap();
    (namespace, handle)
}

/// Runs a test on a thread with a network namespace and a `/run` of its own.
pub(crate) fn with_private_run(test: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWNET)
                .expect("these tests need root: run them with `make test`, or under `unshare -nm`");
            let private = MsFlags::MS_PRIVATE | MsFlags::MS_REC;
            mount(None::<&str>, "/", None::<&str>, private, None::<&str>).unwrap();
            mount(Some("tmpfs"), "/run", Some("tmpfs"), MsFlags::empty(), None::<&str>).unwrap();
            test();
        });
        if let Err(panic) = thread.join() {
            std::panic::resume_unwind(panic);
        }
    });
}

/// Looks until a condition holds; panics after 20 s.
#[track_caller]
pub(crate) fn eventually(mut condition: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !condition() {
        assert!(std::time::Instant::now() < deadline, "the condition did not hold within 20 s");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}
