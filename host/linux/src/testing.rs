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
