"""What the scenarios of this directory share: namespaces of their own, processes, a broker, the API, guests, and what agents log.

A scenario runs in network, mount and process namespaces of its own, which it makes itself; when it ends, whatever it started ends with it.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NEUTRINO = os.environ.get("NEUTRINO", os.path.join(ROOT, "target/debug/neutrino"))
HOST = "ref1"
TUNNELS = "192.0.2.1"
API = "http://127.0.0.1:9696"
BEGAN = time.monotonic()
INSIDE = "NEUTRINO_REFERENCE_INSIDE"

started = []
checks = 0
WORK = ETC = LOGS = STATE = ""


def say(text):
    print(f"[{time.monotonic() - BEGAN:6.1f}s] {text}", flush=True)


class Failed(Exception):
    """Something does not hold."""


def check(what, wanted, limit=180, pause=0.2):
    """Waits until it holds; what it gives is returned."""
    global checks
    began = time.monotonic()
    last = None
    while time.monotonic() < began + limit:
        try:
            found = wanted()
            if found:
                checks += 1
                say(f"ok: {what} ({time.monotonic() - began:.1f} s)")
                return found
        except (OSError, subprocess.SubprocessError, KeyError, IndexError) as error:
            last = getattr(error, "stderr", None) or error
        time.sleep(pause)
    raise Failed(f"not within {limit} s: {what} ({last})")


def run(*command, timeout=60, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=timeout, **options).stdout


def start(name, *command, **options):
    log = open(os.path.join(LOGS, f"{name}.out"), "ab")
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, **options)
    started.append((name, process))
    return process


def kill(process):
    """kill -9 of it and all that is in its group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def write(name, text):
    with open(os.path.join(ETC, name), "w", encoding="utf-8") as file:
        file.write(text)


def listens(port):
    def attempt():
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    return attempt


# --- the API ---


def call(method, path, body=None, expect=(200, 201, 204)):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{API}/v2.0/{path}", data, {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            status, text = answer.status, answer.read()
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read()
    if status not in expect:
        raise OSError(f"{method} {path}: {status} {text.decode()[:300]}")
    return json.loads(text) if text else None


def port_of(port):
    return call("GET", f"ports/{port['id']}")["port"]


def status(port, wanted):
    return lambda: port_of(port)["status"] == wanted


def alive(kind):
    return lambda: [agent for agent in call("GET", "agents")["agents"] if agent["agent_type"] == kind and agent["alive"]]


# --- the broker ---


def broker():
    data = os.path.join(STATE, "rabbit")
    os.makedirs(data, exist_ok=True)
    with open(os.path.join(data, "enabled_plugins"), "w", encoding="utf-8") as file:
        file.write("[].\n")
    with open(os.path.join(data, "rabbitmq.conf"), "w", encoding="utf-8") as file:
        file.write("log.console = true\nlog.console.level = warning\nlog.file = false\ndisk_free_limit.absolute = 10MB\n"
                   "vm_memory_high_watermark.absolute = 512MB\n")
    environment = dict(
        os.environ, HOME=data, ERL_EPMD_ADDRESS="127.0.0.1", RABBITMQ_NODENAME="reference@localhost", RABBITMQ_NODE_IP_ADDRESS="127.0.0.1",
        RABBITMQ_NODE_PORT="5672", RABBITMQ_DIST_PORT="25672", RABBITMQ_MNESIA_BASE=f"{data}/mnesia", RABBITMQ_LOG_BASE=f"{data}/log",
        RABBITMQ_CONFIG_FILE=f"{data}/rabbitmq", RABBITMQ_ENABLED_PLUGINS_FILE=f"{data}/enabled_plugins",
        RABBITMQ_CONF_ENV_FILE="/dev/null", RABBITMQ_PID_FILE=f"{data}/pid", RUNNING_UNDER_SYSTEMD="1",
        RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="-kernel inet_dist_use_interface {127,0,0,1} +S 2:2 +sbwt none",
    )
    process = start("rabbitmq", "/usr/lib/rabbitmq/bin/rabbitmq-server", env=environment)
    check("the broker listens", listens(5672))
    return process


# --- programs of the reference, and ours ---


def reference(place, program, *files):
    """Starts a program of the reference with its configuration."""
    arguments = [argument for file in files for argument in ("--config-file", f"{ETC}/{file}")]
    path = f"{place}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    name = program.removeprefix("neutron-")
    return start(name, f"{place}/bin/{program}", *arguments, "--log-file", f"{LOGS}/{name}.log", env=dict(os.environ, PATH=path))


def ours(part, *files):
    arguments = [argument for file in files for argument in ("--config-file", f"{ETC}/{file}")]
    return start(part, NEUTRINO, part, *arguments)


def common(place):
    """The sections of neutron.conf that are the same for everybody."""
    helpers = "".join(
        f"[{section}]\nhelper_command = {place}/bin/privsep-helper --config-file {ETC}/neutron.conf\n"
        for section in ["privsep", "privsep_dhcp_release", "privsep_ovs_vsctl", "privsep_namespace", "privsep_conntrack", "privsep_link"]
    )
    return f"""[agent]
root_helper =
root_helper_daemon =
report_interval = 5
[oslo_concurrency]
lock_path = {STATE}/lock
[oslo_messaging_rabbit]
rabbit_retry_interval = 1
rabbit_interval_max = 2
kombu_reconnect_delay = 1
{helpers}"""


# --- guests ---


def plug(port, machine):
    """What a hypervisor does with Linux bridges: a device for the port in the network's bridge, its other end in a namespace."""
    tap, bridge = "tap" + port["id"][:11], "brq" + port["network_id"][:11]
    run("ip", "netns", "add", machine)
    run("ip", "link", "add", tap, "type", "veth", "peer", "name", "eth0", "netns", machine)
    if not os.path.exists(f"/sys/class/net/{bridge}"):
        run("ip", "link", "add", bridge, "type", "bridge", "forward_delay", "0")
        run("ip", "link", "set", bridge, "up")
    run("ip", "link", "set", tap, "master", bridge, "up")
    return switch_on(machine, "eth0", port)


def switch_on(machine, device, port):
    run("ip", "-n", machine, "link", "set", device, "address", port["mac_address"])
    run("ip", "-n", machine, "link", "set", "lo", "up")
    run("ip", "-n", machine, "link", "set", device, "up")
    return device


def lease(machine, device, port):
    """Asks as a guest does, and takes the address."""
    address = port["fixed_ips"][0]["ip_address"]
    script = os.path.join(STATE, "lease")
    with open(script, "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\n[ "$1" = bound ] && ip addr replace "$ip/$mask" dev "$interface"\nexit 0\n')
    os.chmod(script, 0o755)

    def ask():
        run("ip", "netns", "exec", machine, "udhcpc", "-n", "-q", "-f", "-t", "5", "-T", "1", "-i", device, "-s", script)
        return address in run("ip", "-n", machine, "-4", "addr", "show", "dev", device)
    check(f"{machine} leases {address}", ask)


def options(network, directory):
    """Changes the DHCP options of a port. Not of one with a lease: dnsmasq 2.90 dies of the second SIGHUP when the host of a lease has a tag."""
    port = call("POST", "ports", {"port": {"network_id": network["id"]}})["port"]
    wanted = [{"opt_name": "ntp-server", "opt_value": "192.0.2.123"}]
    call("PUT", f"ports/{port['id']}", {"port": {"extra_dhcp_opts": wanted}})

    def served():
        with open(f"{directory}/{network['id']}/opts", encoding="utf-8") as file:
            return "192.0.2.123" in file.read()
    check("an extra DHCP option is served", served)
    call("DELETE", f"ports/{port['id']}")
    check("and not when its port is gone", lambda: not served())


def pings(machine, target):
    return lambda: run("ip", "netns", "exec", machine, "ping", "-c", "1", "-W", "1", target)


# --- what the agents log ---

ENTRY = re.compile(r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) \d+ ([A-Z]+) (\S+) (.*)$")
# What an agent says of a server or a broker that is away: calls without answer, connections refused or reset.
AWAY = re.compile(
    r"MessagingTimeout|Timed out waiting for a reply|AMQP server on \S+ is unreachable|Connection (failed|refused|reset)|ECONNREFUSED"
    r"|Errno 104|Errno 111|Server unexpectedly closed connection|connection to the broker|Broken pipe|Connection to \S+ (was )?lost"
    r"|MessageDeliveryFailure|RPC timeout|Waiting \d+ seconds before next attempt|Socket closed|missed heartbeats|Timeout in RPC method|due to a missing queue"
)


def entries(levels):
    """Entries of the agents' logs at these levels, each with the time it was written: consecutive lines of one logger are one."""
    found = []
    for name in sorted(os.listdir(LOGS)):
        if not (name.endswith("-agent.log") or name.endswith("-server.log") or name.endswith("-workers.log")):
            continue
        last = None
        with open(os.path.join(LOGS, name), encoding="utf-8", errors="replace") as file:
            for line in file:
                match = ENTRY.match(line)
                if not match:
                    if line.startswith("Traceback"):
                        found.append((name, 0.0, "ERROR", line.rstrip()))
                    elif last is not None:
                        name_, at, level, text = found[last]
                        found[last] = (name_, at, level, text + "\n" + line.rstrip())
                    continue
                written, level, logger, text = match.groups()
                if level not in levels:
                    last = None
                    continue
                at = time.mktime(time.strptime(written[:19], "%Y-%m-%d %H:%M:%S")) + float(written[19:])
                if last is not None and found[last][2] == level and at - found[last][1] < 0.05 and found[last][3].startswith(logger):
                    found[last] = (name, found[last][1], level, found[last][3] + "\n" + text)
                else:
                    found.append((name, at, level, f"{logger} {text}"))
                    last = len(found) - 1
    return found


class Absences:
    """Times in which something was away: agents may say so then, and otherwise have nothing to complain of."""

    # After something came back, agents may still learn of calls that went unanswered.
    GRACE = 25

    def __init__(self, usual="^$"):
        """`usual`: what is said at any time and means nothing here."""
        self.windows = []
        self.usual = re.compile(usual)

    def begin(self):
        self.windows.append([time.time() - 1, None])

    def end(self):
        self.windows[-1][1] = time.time() + self.GRACE

    def excuses(self, at, text):
        if self.usual.search(text):
            return True
        return any(begin <= at and (end is None or at <= end) for begin, end in self.windows) and AWAY.search(text)

    def complaints(self):
        return [(name, text) for name, at, _, text in entries(("ERROR", "CRITICAL", "TRACE")) if not self.excuses(at, text)]

    def check(self, when):
        global checks
        found = self.complaints()
        if found:
            raise Failed(f"errors in the logs {when}:\n" + "\n".join(f"--- {name}: {text[:3000]}" for name, text in found[:8]))
        checks += 1
        say(f"ok: no errors in the logs {when}")

    def warnings(self):
        """What agents were warned of while nothing was away, each once."""
        seen = {}
        for name, at, _, text in entries(("WARNING",)):
            if not self.excuses(at, text):
                key = (name, re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d+", "N", text)[:200])
                seen.setdefault(key, [text[:400], 0])[1] += 1
        for (name, _), (text, count) in seen.items():
            say(f"warning, {count} times, {name}: {text}")


# --- the frame ---


def environment(version):
    """The virtual environment with a release of neutron; made by `tools/reference-venv`, unless REFERENCE_<major> names one."""
    here = os.path.dirname(os.path.abspath(__file__))
    return run(os.path.join(here, "../../tools/reference-venv"), version, timeout=1800).strip().splitlines()[-1]


def main(title, scenario, versions):
    """Runs a scenario in namespaces of its own. `versions`: releases of neutron that it takes."""
    global WORK, ETC, LOGS, STATE
    if not os.environ.get(INSIDE):
        if os.geteuid() != 0:
            sys.exit("making namespaces needs root")
        os.environ[INSIDE] = "1"
        for version in versions:
            # Outside, where the package index can be reached.
            os.environ[f"REFERENCE_{version.split('.')[0]}"] = environment(version)
        # The shell takes leave of processes whose parents ended.
        os.execvp("unshare", ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", '"$@"; exit $?', "sh",
                              sys.executable, os.path.abspath(sys.argv[0]), *sys.argv[1:]])
    run("mount", "--make-rprivate", "/")
    run("mount", "-t", "tmpfs", "tmpfs", "/run")
    for directory in ("netns", "lock", "openvswitch"):
        os.makedirs(f"/run/{directory}")
    # That which is there shows the devices of the namespace outside.
    run("mount", "-t", "sysfs", "sysfs", "/sys")
    run("ip", "link", "set", "lo", "up")
    # The host's card: agents name themselves by its MAC address, and its address is the tunnels' end.
    run("ip", "link", "add", "eth0", "type", "veth", "peer", "name", "cable")
    run("ip", "addr", "add", f"{TUNNELS}/24", "dev", "eth0")
    for device in ("eth0", "cable"):
        run("ip", "link", "set", device, "up")
    WORK = tempfile.mkdtemp(prefix="neutrino-reference-", dir="/var/tmp")
    ETC, LOGS, STATE = (os.path.join(WORK, name) for name in ("etc", "log", "state"))
    for directory in (ETC, LOGS, STATE):
        os.makedirs(directory)
    os.chmod(WORK, 0o755)
    failed = 0
    try:
        scenario([os.environ[f"REFERENCE_{version.split('.')[0]}"] for version in versions])
    except (Failed, OSError, subprocess.SubprocessError) as error:
        failed = 1
        say(f"FAILED: {error} {getattr(error, 'stderr', '') or ''}")
        if os.environ.get("STAY"):
            print(f"everything stays up: nsenter -n -m -p -t {os.getpid()} (of the namespace); logs: {LOGS}", flush=True)
            signal.pause()
    except KeyboardInterrupt:
        failed = 1
    for _, process in reversed(started):
        kill(process)
    if failed or os.environ.get("KEEP"):
        print(f"logs: {LOGS}", flush=True)
    else:
        shutil.rmtree(WORK, ignore_errors=True)
    print(f"{title}: {checks} checks passed, {failed} failed", flush=True)
    sys.exit(failed)
