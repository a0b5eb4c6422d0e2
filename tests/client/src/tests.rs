use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    time::Duration,
};

use linux::Program;
use neutrino::embedded::{self, Embedded};
use testkit::lab::Lab;

const INSTALL: Duration = Duration::from_secs(600);
const RUN: Duration = Duration::from_secs(240);

fn own(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn check(program: Program, limit: Duration, what: &str) -> String {
    let output = program.run(limit).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(output.success(), "{what}:\n{}\n{}", output.stdout, output.stderr);
    output.stdout
}

/// Installs the client unless it is there, and returns its Python.
fn python() -> PathBuf {
    let wanted = fs::read_to_string(own("requirements.txt")).unwrap();
    let home = own("../../target/openstack-client");
    fs::create_dir_all(&home).unwrap();
    // Other tests of this run wait here for the first.
    let lock = File::create(home.join("lock")).unwrap();
    lock.lock().unwrap();
    let python = home.join("venv/bin/python");
    let done = home.join("installed");
    if fs::read_to_string(&done).is_ok_and(|text| text == wanted) && python.exists() {
        return python;
    }
    let venv = Program::new("python3").args(["-m", "venv", "--clear"]).arg(home.join("venv"));
    check(venv, INSTALL, "a virtual environment cannot be made (apt-get install python3-venv)");
    let pip = Program::new(&python).args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]);
    check(pip.arg(own("requirements.txt")), INSTALL, "python-openstackclient cannot be installed from PyPI");
    fs::write(done, wanted).unwrap();
    python
}

/// Runs a chapter against a whole service.
fn chapter(name: &str) {
    let python = python();
    let lab = Lab::new();
    let host = lab.host("client");
    let state = host.directory().join("state");
    let said = host.run(|| {
        fs::create_dir_all(&state).unwrap();
        let options = "[DEFAULT]\nhost = client\n";
        let config = embedded::loader(&state).text("the test", options).load().unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let embedded = runtime.block_on(Embedded::start(&config, Some(host.netns().clone()))).unwrap();
        let client = Program::new(&python)
            .arg(own("src/scenarios.py"))
            .args([name, &format!("http://{}", embedded.address())])
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .netns(host.netns());
        let said = check(client, RUN, name);
        runtime.block_on(embedded.stop()).unwrap();
        said
    });
    println!("{said}");
}

macro_rules! chapters {
    ($($name:ident),*) => { $(#[test] fn $name() { chapter(stringify!($name)); })* };
}

chapters!(networks, subnets, ports, agents, quotas, extensions, tags, pools, security_groups, sharing);
