use std::path::{Path, PathBuf};
use std::time::Duration;

use linux::Program;

/// With the installation of the reference.
const LIMIT: Duration = Duration::from_secs(900);

/// The program, which a build of the whole workspace puts beside the tests.
fn neutrino() -> PathBuf {
    let own = std::env::current_exe().expect("the test's own path");
    let program = own.parent().and_then(Path::parent).expect("target/<profile>/deps").join("neutrino");
    assert!(program.exists(), "{} is missing: cargo build -p neutrino", program.display());
    program
}

fn passes(scenario: &str, variant: &str) {
    let done = Program::new(Path::new(env!("CARGO_MANIFEST_DIR")).join(scenario))
        .arg(variant)
        .env("NEUTRINO", neutrino())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .run(LIMIT)
        .unwrap_or_else(|error| panic!("{scenario} {variant}: {error}"));
    println!("{}", done.stdout);
    assert!(done.success(), "{}\n{}", done.stdout, done.stderr);
    assert!(done.stdout.contains(", 0 failed"), "{}", done.stdout);
}

#[test]
fn their_open_vswitch_and_dhcp_agents_work_with_our_server() {
    passes("their-agents", "ovs");
}
