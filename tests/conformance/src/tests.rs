use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    time::Duration,
};

use linux::Program;
use neutrino::embedded::{self, Embedded};
use testkit::database::{Kind, Server};
use testkit::lab::Lab;

const INSTALL: Duration = Duration::from_secs(900);
const RUN: Duration = Duration::from_secs(1800);

fn own(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

pub fn check(program: Program, limit: Duration, what: &str) -> String {
    let output = program.run(limit).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(output.success(), "{what}:\n{}\n{}", output.stdout, output.stderr);
    output.stdout
}

/// Installs a list of packages into an environment of its own, unless it is there, and returns its Python.
pub fn environment(name: &str) -> PathBuf {
    let list = own(&format!("{name}.txt"));
    let wanted = fs::read_to_string(&list).unwrap();
    let home = own("../../target/conformance").join(name);
    fs::create_dir_all(&home).unwrap();
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
    check(pip.arg(&list), INSTALL, &format!("{name} cannot be installed from PyPI"));
    fs::write(done, wanted).unwrap();
    python
}

const OPTIONS: &str = "\
[DEFAULT]
host = conformance
auth_strategy = keystone
bind_port = 9696
service_plugins = network_segment_range
dns_domain = openstackgate.local.
[ml2_type_vlan]
network_vlan_ranges = physnet1:100:199
[keystone_authtoken]
www_authenticate_uri = http://127.0.0.1:5000
auth_url = http://127.0.0.1:5000
auth_type = password
project_domain_id = default
user_domain_id = default
project_name = service
username = neutron
password = secret
[quotas]
quota_network = 1000
quota_subnet = 1000
quota_port = 100000
";

#[test]
fn what_passes_on_the_reference_passes_here() {
    run_suites("sqlite", None);
}

#[test]
fn what_passes_on_the_reference_passes_here_on_mariadb() {
    run_suites("mariadb", Some(Kind::Mariadb));
}

fn run_suites(name: &str, database: Option<Kind>) {
    let keystone = environment("keystone");
    let suites = environment("suites");
    let lab = Lab::new();
    let host = lab.host("conformance");
    let server = database.map(|kind| host.run(|| Server::start(kind)));
    let database = server.as_ref().map(Server::database);
    let connection = database.as_ref().map(|database| format!("[database]\nconnection = {}\n", database.url()));
    let options = format!("{OPTIONS}{}", connection.unwrap_or_default());
    // Kept after the run, for whoever looks into a failure.
    let work = own("../../target/conformance/run").join(name);
    let _ = fs::remove_dir_all(&work);
    fs::create_dir_all(&work).unwrap();
    // Tests of the suites run with what the shell knows of; only these directories are theirs.
    let serve = |what: &str, python: &Path| {
        Program::new(python)
            .arg(own("src").join(what))
            .arg(&work)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .netns(host.netns())
    };
    check(serve("identity.py", &keystone).arg("prepare"), INSTALL, "Keystone's database cannot be made");
    let identity = serve("identity.py", &keystone)
        .arg("serve")
        .detach_logging(&work.join("keystone.out"))
        .expect("Keystone starts");
    let said = host.run(|| {
        let config = embedded::loader(&work.join("state")).text("the test", &options).load().unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let filled = serve("identity.py", &keystone).arg("fill");
        check(filled, INSTALL, "Keystone does not answer");
        let embedded = runtime.block_on(Embedded::start(&config, Some(host.netns().clone()))).unwrap();
        let run = serve("suite.py", &suites).arg(own("src/passes.txt"));
        let said = run.run(RUN);
        runtime.block_on(embedded.stop()).unwrap();
        said
    });
    identity.terminate(Duration::from_secs(5)).unwrap();
    let said = said.expect("the suites end in time");
    println!("{}", said.stdout);
    assert!(said.success(), "{}\n{}", said.stdout, said.stderr);
}
