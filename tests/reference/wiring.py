"""Stands in for an L2 agent where there is none of ours for the server's drivers: run by the reference's Python, with its messaging.

    python wiring.py neutron.conf host

Reports as an Open vSwitch agent, puts each device tap… of this host whose port is bound into a bridge of its network, and says that it is up.
"""

import glob
import subprocess
import sys
import time
import uuid

import oslo_messaging
from oslo_config import cfg

oslo_messaging.set_transport_defaults("neutron")
cfg.CONF(["--config-file", sys.argv[1]], project="neutron")
host = sys.argv[2]
transport = oslo_messaging.get_rpc_transport(cfg.CONF)
plugin = oslo_messaging.get_rpc_client(transport, oslo_messaging.Target(topic="q-plugin", version="1.0"), timeout=5)
reports = oslo_messaging.get_rpc_client(transport, oslo_messaging.Target(topic="q-reports-plugin", version="1.0"), timeout=5)
context = {"is_admin": True, "project_id": None, "user_id": None, "roles": ["admin"]}
agent = f"ovs-agent-{host}"
state = {
    "binary": "neutron-openvswitch-agent", "host": host, "topic": "N/A", "agent_type": "Open vSwitch agent", "start_flag": True,
    "configurations": {"bridge_mappings": {}, "tunnel_types": ["vxlan"], "tunneling_ip": "192.0.2.1", "l2_population": False, "devices": 0},
}
# Device, and its port while it is reported up.
wired = {}
reported = 0.0


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=False, capture_output=True)


def turn():
    global reported
    if time.monotonic() - reported > 4:
        now = time.strftime("%Y-%m-%dT%H:%M:%S.000000", time.gmtime())
        # The agent's name does not matter; the report does.
        answer = reports.prepare(version="1.2").call(context, "report_state", agent_state={"agent_state": dict(state, uuid=str(uuid.uuid4()))}, time=now)
        state.pop("start_flag", None)
        print("reported", answer, flush=True)
        reported = time.monotonic()
    # This driver's agents name devices by the start of the port's id.
    there = {path.rsplit("/tap", 1)[1] for path in glob.glob("/sys/class/net/tap*")}
    up = []
    if there - wired.keys():
        found = plugin.prepare(version="1.5").call(context, "get_devices_details_list_and_failed_devices", devices=sorted(there - wired.keys()),
                                                  agent_id=agent, host=host)
        for details in found["devices"]:
            if "port_id" in details:
                device, bridge = details["device"], "brq" + details["network_id"][:11]
                ip("link", "add", bridge, "type", "bridge", "forward_delay", "0")
                ip("link", "set", bridge, "up")
                ip("link", "set", "tap" + device, "master", bridge, "up")
                up.append(device)
    down = sorted(wired.keys() - there)
    if up or down:
        plugin.prepare(version="1.5").call(context, "update_device_list", devices_up=up, devices_down=down, agent_id=agent, host=host,
                                           refresh_tunnels=False)
        wired.update(dict.fromkeys(up))
        for device in down:
            del wired[device]
        print("up", up, "down", down, flush=True)


while True:
    try:
        turn()
    except oslo_messaging.MessagingException as error:
        print("not answered:", error, flush=True)
    time.sleep(0.2)
