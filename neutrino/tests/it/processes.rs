//! Server and agents as processes of their own, over RabbitMQ: what happens when one of them, or the broker, or a cable goes away.
//!
//! Everything runs on hosts made of namespaces, the broker too.

use std::path::{Path, PathBuf};
use std::time::Duration;

use linux::proc::Signal;
use linux::{Process, Program};
use serde_json::{Value, json};
use testkit::broker::Broker;
use testkit::lab::{Host, Lab, Machine};
use testkit::{eventually, until};

use crate::kill::{agent, send};

const SOON: Duration = Duration::from_secs(60);
/// A broker that restarts, with who waits for its next attempt to connect.
const LATER: Duration = Duration::from_secs(150);

/// Configuration files of a host.
struct Files(PathBuf);

impl Files {
    fn write(directory: &Path, name: &str, url: &str, local_ip: &str) -> Files {
        let file = |name: &str, text: String| std::fs::write(directory.join(name), text).unwrap();
        file(
            "neutron.conf",
            format!(
                "[DEFAULT]\ntransport_url = {url}\nhost = {name}\nstate_path = {}/state\nrpc_response_timeout = 10\n\
                 bind_host = 127.0.0.1\nbind_port = 9696\ndhcp_agents_per_network = 2\nauth_strategy = noauth\n[AGENT]\nreport_interval = 5\n\
                 [oslo_messaging_rabbit]\nrabbit_retry_interval = 1\nrabbit_interval_max = 1\n",
                directory.display()
            ),
        );
        file(
            "ml2_conf.ini",
            "[ml2]\ntype_drivers = vxlan\ntenant_network_types = vxlan\nmechanism_drivers = linuxbridge,l2population\n\
             [ml2_type_vxlan]\nvni_ranges = 1:1000\n"
                .to_owned(),
        );
        file("dhcp_agent.ini", "[DEFAULT]\ninterface_driver = linuxbridge\n".to_owned());
        file(
            "linuxbridge_agent.ini",
            format!("[vxlan]\nenable_vxlan = true\nlocal_ip = {local_ip}\nl2_population = true\n"),
        );
        Files(directory.to_owned())
    }

    /// Starts one of the services; it runs on the host whose thread this is.
    fn start(&self, command: &str, files: &[&str]) -> Process {
        let log = self.0.join(format!("{command}.log"));
        let mut program = Program::new(env!("CARGO_BIN_EXE_neutrino")).arg(command);
        for file in ["neutron.conf"].iter().chain(files) {
            program = program.arg("--config-file").arg(self.0.join(file));
        }
        program.detach_logging(&log).unwrap()
    }

    fn server(&self) -> Process {
        self.start("server", &["ml2_conf.ini"])
    }

    fn dhcp(&self) -> Process {
        self.start("dhcp-agent", &["dhcp_agent.ini"])
    }

    fn linuxbridge(&self) -> Process {
        self.start("linuxbridge-agent", &["linuxbridge_agent.ini"])
    }
}

fn api(method: &str, path: &str, body: Option<Value>) -> Option<Value> {
    let (status, answer) = send(&agent(), method, &format!("http://127.0.0.1:9696/v2.0/{path}"), body).ok()?;
    (status < 300).then_some(answer)
}

fn api_answers() {
    eventually(SOON, || api("GET", "networks", None).is_some());
}

fn agents_report(number: usize) {
    eventually(LATER, || {
        let agents = api("GET", "agents", None).unwrap_or_default();
        let alive = agents["agents"].as_array().into_iter().flatten().filter(|agent| agent["alive"] == true).count();
        (alive == number).then_some(()).ok_or_else(|| format!("{alive} agents report"))
    });
}

fn network(cidr: &str) -> String {
    let made = api("POST", "networks", Some(json!({"network": {"name": "n"}}))).unwrap();
    let id = made["network"]["id"].as_str().unwrap().to_owned();
    let subnet = json!({"subnet": {"network_id": id, "ip_version": 4, "cidr": cidr}});
    api("POST", "subnets", Some(subnet)).unwrap();
    id
}

struct Port {
    id: String,
    tap: String,
    mac: types::Mac,
    ip: String,
}

fn port(network: &str, host: &str) -> Port {
    let port = json!({"port": {"network_id": network, "binding:host_id": host, "device_owner": "compute:nova"}});
    let made = until(SOON, || api("POST", "ports", Some(port.clone())));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let id = text(&made["port"]["id"]);
    Port {
        tap: format!("tap{}", &id[..11]),
        mac: text(&made["port"]["mac_address"]).parse().unwrap(),
        ip: text(&made["port"]["fixed_ips"][0]["ip_address"]),
        id,
    }
}

#[track_caller]
fn active(port: &Port) {
    eventually(LATER, || {
        let found = api("GET", &format!("ports/{}", port.id), None).unwrap_or_default();
        (found["port"]["status"] == "ACTIVE").then_some(()).ok_or_else(|| found["port"]["status"].to_string())
    });
}

/// A machine on a port, from nothing to its address.
#[track_caller]
fn boot(lab: &Lab, on: &Host, name: &str, network: &str) -> (Machine, Port) {
    let port = port(network, on.name());
    let machine = lab.machine(on, name, &port.tap, port.mac);
    leases(&machine, &port);
    (machine, port)
}

/// Its port comes up, and it gets its address.
#[track_caller]
fn leases(machine: &Machine, port: &Port) {
    active(port);
    // The DHCP agent hears of the port a moment later.
    assert_eq!(machine.lease_v4().ip().to_string(), port.ip);
}

/// Pings all the time, and says in the end how many were lost.
struct Pings {
    process: Process,
    log: PathBuf,
}

impl Pings {
    fn start(from: &Machine, to: &str, log: PathBuf) -> Pings {
        let ping = Program::new("ping").args(["-n", "-q", "-i", "0.05", "-W", "1", to]).netns(from.netns());
        Pings { process: ping.detach_logging(&log).unwrap(), log }
    }

    /// Sent and answered.
    fn stop(self) -> (u32, u32) {
        let _ = self.process.signal(Signal::SIGINT);
        let summary = until(SOON, || {
            let text = std::fs::read_to_string(&self.log).ok()?;
            text.lines().find(|line| line.contains("packets transmitted")).map(str::to_owned)
        });
        let numbers: Vec<u32> = summary.split(' ').filter_map(|word| word.parse().ok()).collect();
        (numbers[0], numbers[1])
    }
}

fn kill(process: &Process) {
    process.signal(Signal::SIGKILL).unwrap();
    eventually(SOON, || !process.is_alive());
}

#[test]
fn any_process_may_die_and_pings_are_not_lost() {
    let lab = Lab::new();
    let host = lab.host("h1");
    host.run(|| {
        let broker = Broker::start();
        let files = Files::write(host.directory(), "h1", &broker.virtual_host().url(), "127.0.0.1");
        let server = files.server();
        let (dhcp, bridge) = (files.dhcp(), files.linuxbridge());
        api_answers();
        agents_report(2);
        let network = network("10.1.0.0/24");
        let (one, _) = boot(&lab, &host, "vm1", &network);
        let (_two, second) = boot(&lab, &host, "vm2", &network);
        one.ping(&second.ip);
        let pings = Pings::start(&one, &second.ip, host.directory().join("pings"));

        kill(&server);
        let server = files.server();
        api_answers();
        let (three, _) = boot(&lab, &host, "vm3", &network);
        three.ping(&second.ip);

        kill(&dhcp);
        kill(&bridge);
        let (dhcp, bridge) = (files.dhcp(), files.linuxbridge());
        let (four, _) = boot(&lab, &host, "vm4", &network);
        four.ping(&second.ip);

        broker.kill();
        broker.restart();
        let (five, _) = boot(&lab, &host, "vm5", &network);
        five.ping(&second.ip);

        let (sent, answered) = pings.stop();
        assert!(sent > 20);
        assert_eq!(sent, answered, "pings were lost");

        // A stop that is asked for ends each of them by itself.
        for process in [&bridge, &dhcp, &server] {
            process.signal(Signal::SIGTERM).unwrap();
        }
        for process in [&bridge, &dhcp, &server] {
            eventually(SOON, || !process.is_alive());
        }
        assert!(one.reaches(&second.ip), "bridges stay");
    });
}

#[test]
fn three_hosts_on_one_network() {
    let lab = Lab::new();
    let control = lab.host("control");
    let hosts: Vec<Host> = ["h1", "h2", "h3"].iter().map(|name| lab.host(name)).collect();
    let ends: Vec<String> = (1..=3).map(|n| format!("p{n}")).collect();
    for (host, end) in hosts.iter().zip(&ends) {
        lab.cable(&control, end, host, "eth0");
    }
    control.bridge("underlay", &ends.iter().map(String::as_str).collect::<Vec<_>>());
    control.address("underlay", "192.0.2.1/24");
    for (n, host) in hosts.iter().enumerate() {
        host.address("eth0", &format!("192.0.2.{}/24", 11 + n));
    }
    let broker = control.run(|| Broker::start_on("0.0.0.0"));
    let place = control.run(|| broker.virtual_host());
    let url = place.url().replace("127.0.0.1", "192.0.2.1");
    let files = Files::write(control.directory(), "control", &url, "192.0.2.1");
    let of_hosts: Vec<Files> = hosts
        .iter()
        .enumerate()
        .map(|(n, host)| Files::write(host.directory(), host.name(), &url, &format!("192.0.2.{}", 11 + n)))
        .collect();
    let _server = control.run(|| files.server());
    let _dhcp: Vec<Process> = hosts.iter().zip(&of_hosts).map(|(host, files)| host.run(|| files.dhcp())).collect();
    let bridges: Vec<Process> =
        hosts.iter().zip(&of_hosts).map(|(host, files)| host.run(|| files.linuxbridge())).collect();
    let network = control.run(|| {
        api_answers();
        agents_report(6);
        network("10.2.0.0/24")
    });
    let machines: Vec<(Machine, Port)> = hosts
        .iter()
        .enumerate()
        .map(|(n, host)| control.run(|| boot(&lab, host, &format!("vm{n}"), &network)))
        .collect();
    let [(first, one), (second, _), (_, three)] = machines.as_slice() else { panic!("three machines") };
    first.ping(&three.ip);
    second.ping(&three.ip);
    second.ping(&one.ip);
    let pings = Pings::start(second, &three.ip, control.directory().join("pings"));

    // A host is cut off and comes back.
    control.handle().link_set(linux::link::set("p1").down()).unwrap();
    assert!(!second.reaches(&one.ip));
    // What is asked for meanwhile is done when it is back.
    let late = control.run(|| port(&network, "h1"));
    let newcomer = lab.machine(&hosts[0], "late", &late.tap, late.mac);
    control.handle().link_set(linux::link::set("p1").up()).unwrap();
    second.ping(&one.ip);
    control.run(|| leases(&newcomer, &late));
    second.ping(&late.ip);

    control.run(|| {
        broker.kill();
        broker.restart();
    });
    kill(&bridges[1]);
    let _again = hosts[1].run(|| of_hosts[1].linuxbridge());
    let (fourth, four) = control.run(|| boot(&lab, &hosts[1], "vm4", &network));
    fourth.ping(&one.ip);
    first.ping(&four.ip);
    let (sent, answered) = pings.stop();
    assert!(sent > 20);
    assert_eq!(sent, answered, "pings between the other hosts were lost");
    control.run(|| drop(broker));
}
