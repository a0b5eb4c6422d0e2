"""Runs the suites: suite.py DIRECTORY LIST. Says what failed, then `N passed, N failed, N skipped`; fails unless all of the list ran and passed."""

import json
import os
import pathlib
import re
import subprocess
import sys
import urllib.request

IDENTITY = "http://127.0.0.1:5000/v3"
NETWORK = "http://127.0.0.1:9696"
CONFIG = """\
[DEFAULT]
log_file = tempest.log
[oslo_concurrency]
lock_path = {work}/lock
[auth]
use_dynamic_credentials = true
admin_username = admin
admin_password = secret
admin_project_name = admin
admin_domain_name = Default
create_isolated_networks = false
default_credentials_domain_name = Default
tempest_roles = member
[identity]
uri_v3 = {identity}
auth_version = v3
region = RegionOne
[enforce_scope]
neutron = true
[network]
public_network_id = {public}
floating_network_name = public
project_network_cidr = 10.100.0.0/16
project_network_mask_bits = 28
[network-feature-enabled]
ipv6 = true
ipv6_subnet_attributes = true
api_extensions = {extensions}
port_admin_state_change = true
port_security = true
[service_available]
neutron = true
nova = false
glance = false
cinder = false
swift = false
[neutron_plugin_options]
provider_vlans = physnet1
available_type_drivers = flat,vlan,vxlan,gre,geneve,local
agent_availability_zone = nova
firewall_driver = openvswitch
[validation]
run_validation = false
"""


class Api:
    def __init__(self):
        domain = {"id": "default"}
        user = {"name": "admin", "password": "secret", "domain": domain}
        scope = {"project": {"name": "admin", "domain": domain}}
        identity = {"methods": ["password"], "password": {"user": user}}
        self.token = None
        headers, _ = self.send("POST", IDENTITY + "/auth/tokens", {"auth": {"identity": identity, "scope": scope}})
        self.token = headers["X-Subject-Token"]

    def send(self, method, url, body=None):
        request = urllib.request.Request(url, method=method)
        request.add_header("Content-Type", "application/json")
        if self.token:
            request.add_header("X-Auth-Token", self.token)
        data = json.dumps(body).encode() if body is not None else None
        with urllib.request.urlopen(request, data, timeout=60) as answer:
            return answer.headers, json.loads(answer.read())


def configure(work):
    api = Api()
    network = {
        "name": "public",
        "router:external": True,
        "shared": True,
        "provider:network_type": "flat",
        "provider:physical_network": "public",
    }
    public = api.send("POST", NETWORK + "/v2.0/networks", {"network": network})[1]["network"]["id"]
    subnet = {
        "name": "public-subnet",
        "network_id": public,
        "ip_version": 4,
        "cidr": "172.24.4.0/24",
        "gateway_ip": "172.24.4.1",
        "enable_dhcp": False,
    }
    api.send("POST", NETWORK + "/v2.0/subnets", {"subnet": subnet})
    extensions = api.send("GET", NETWORK + "/v2.0/extensions")[1]["extensions"]
    aliases = ",".join(sorted(extension["alias"] for extension in extensions))
    text = CONFIG.format(work=work, identity=IDENTITY, public=public, extensions=aliases)
    (work / "etc/tempest.conf").write_text(text)


def main(work, wanted):
    programs = pathlib.Path(sys.executable).parent
    tempest = str(programs / "tempest")
    environment = {**os.environ, "HOME": str(work.parent), "PATH": f"{programs}:{os.environ['PATH']}"}
    subprocess.run([tempest, "init", str(work)], check=True, capture_output=True, env=environment)
    configure(work)
    listed = work / "list.txt"
    names = [line.strip() for line in wanted.read_text().splitlines() if line.strip() and not line.startswith("#")]
    listed.write_text("\n".join(names) + "\n")
    run = [tempest, "run", "--concurrency", os.environ.get("CONCURRENCY", "4"), "--load-list", str(listed)]
    done = subprocess.run(run, cwd=work, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    counts = {word: len(re.findall(rf"\.\.\. {word}", done.stdout)) for word in ("ok", "FAILED", "SKIPPED")}
    if counts["FAILED"] or counts["SKIPPED"] or counts["ok"] < len(names):
        print(done.stdout[-200_000:])
    for line in sorted(re.findall(r"^\{\d+\} (.*) \.\.\. (?:FAILED|SKIPPED.*)$", done.stdout, re.MULTILINE)):
        print(line)
    print(f"{counts['ok']} passed, {counts['FAILED']} failed, {counts['SKIPPED']} skipped, of {len(names)}")
    return 0 if counts["ok"] == len(names) and not counts["FAILED"] and not counts["SKIPPED"] else 1


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]) / "suites", pathlib.Path(sys.argv[2])))
