"""What an operator types, by chapters: scenarios.py CHAPTER ENDPOINT.

Commands run through the entry point of the installed `openstack` program, in one process, since starting it anew takes a second
each time; the first command of a chapter is the program itself.
"""

import contextlib
import io
import json
import os
import subprocess
import sys
import time

from openstackclient import shell

ENDPOINT = sys.argv[2]
LOGIN = ["--os-auth-type", "none", "--os-endpoint", ENDPOINT, "--os-identity-api-version", "3"]


class Failed(Exception):
    pass


def run(command, *more):
    """Runs one command; what it wrote, and its exit code."""
    arguments = LOGIN + command.split() + list(more)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = shell.main(arguments)
        except SystemExit as stop:
            code = stop.code
    return code, out.getvalue(), err.getvalue()


def do(command, *more):
    """A command that must succeed."""
    code, out, err = run(command, *more)
    print(f"  openstack {command} {' '.join(more)}".rstrip())
    if code:
        raise Failed(f"openstack {command} {' '.join(more)}: exit code {code}\n{out}{err}")
    return out


def get(command, *more):
    """The same, and what it says as JSON."""
    return json.loads(do(command, *more, "-f", "json"))


def refuse(words, command, *more):
    """A command that must be refused, with these words."""
    code, out, err = run(command, *more)
    print(f"  openstack {command} {' '.join(more)}  (refused)")
    if not code:
        raise Failed(f"openstack {command}: was not refused\n{out}")
    said = out + err
    if words.lower() not in said.lower():
        raise Failed(f"openstack {command}: should say {words!r}, says:\n{said}")


def same(what, is_, wanted):
    if is_ != wanted:
        raise Failed(f"{what}: is {is_!r}, should be {wanted!r}")


def names(rows):
    return sorted(row["Name"] for row in rows)


def eventually(what, look):
    deadline = time.monotonic() + 30
    while not (found := look()):
        if time.monotonic() > deadline:
            raise Failed(f"{what}: not within 30 s")
    return found


def networks():
    made = get("network create", "--description", "the first", "--mtu", "1400", "one")
    same("name", made["name"], "one")
    same("mtu", made["mtu"], 1400)
    same("description", made["description"], "the first")
    get("network create --disable --share two")
    get("network create --provider-network-type flat --provider-physical-network datacentre three")
    get("network create --external --default four")
    get("network create --project other --no-share --disable-port-security five")
    get("network create --provider-network-type vxlan --provider-segment 4711 --dns-domain example.org. six")
    same("all", names(get("network list")), ["five", "four", "one", "six", "three", "two"])
    same("by name", names(get("network list --name one")), ["one"])
    same("disabled", names(get("network list --disable")), ["two"])
    same("shared", names(get("network list --share")), ["two"])
    same("external", names(get("network list --external")), ["four"])
    same("of a project", names(get("network list --project other")), ["five"])
    same("by type", names(get("network list --provider-network-type flat")), ["three"])
    same("by physical", names(get("network list --provider-physical-network datacentre")), ["three"])
    same("by segment", names(get("network list --provider-segment 4711")), ["six"])
    same("down", names(get("network list --status DOWN")), [])
    long = [row for row in get("network list --long") if row["Name"] == "three"][0]
    same("network type", long["Network Type"], "flat")
    do("network set --name uno --enable --description changed one")
    do("network set --share --mtu 1300 uno")
    shown = get("network show uno")
    same("description", shown["description"], "changed")
    same("mtu", shown["mtu"], 1300)
    same("shared", shown["shared"], True)
    same("by id", get("network show", made["id"])["name"], "uno")
    same("security", get("network show five")["port_security_enabled"], False)
    same("domain", get("network show six")["dns_domain"], "example.org.")
    refuse("No Network found", "network show one")
    refuse("No Network found", "network delete one")
    refuse("4711", "network create --provider-network-type vxlan --provider-segment 4711 seven")
    refuse("mtu", "network set --mtu 70000000000 uno")
    do("network delete uno two three four five six")
    same("none", get("network list"), [])


def subnets():
    get("network create blue")
    made = get("subnet create --network blue --subnet-range 192.0.2.0/24 --gateway 192.0.2.254 "
               "--allocation-pool start=192.0.2.10,end=192.0.2.19 --allocation-pool start=192.0.2.30,end=192.0.2.39 "
               "--dns-nameserver 192.0.2.53 --host-route destination=198.51.100.0/24,gateway=192.0.2.1 "
               "--service-type compute:nova --description cellar four")
    same("cidr", made["cidr"], "192.0.2.0/24")
    same("gateway", made["gateway_ip"], "192.0.2.254")
    same("pools", sorted(pool["start"] for pool in made["allocation_pools"]), ["192.0.2.10", "192.0.2.30"])
    same("servers", made["dns_nameservers"], ["192.0.2.53"])
    same("routes", made["host_routes"], [{"destination": "198.51.100.0/24", "nexthop": "192.0.2.1"}])
    same("types", made["service_types"], ["compute:nova"])
    get("subnet create --network blue --ip-version 6 --subnet-range 2001:db8::/64 --ipv6-ra-mode slaac "
        "--ipv6-address-mode slaac six")
    get("subnet create --network blue --subnet-range 203.0.113.0/25 --no-dhcp --gateway none bare")
    same("all", names(get("subnet list")), ["bare", "four", "six"])
    same("by network", names(get("subnet list --network blue")), ["bare", "four", "six"])
    same("by version", names(get("subnet list --ip-version 6")), ["six"])
    same("without DHCP", names(get("subnet list --no-dhcp")), ["bare"])
    same("by gateway", names(get("subnet list --gateway 192.0.2.254")), ["four"])
    same("by range", names(get("subnet list --subnet-range 203.0.113.0/25")), ["bare"])
    same("by name", names(get("subnet list --name six")), ["six"])
    same("by type", names(get("subnet list --service-type compute:nova")), ["four"])
    same("on its network", len(get("network show blue")["subnets"]), 3)
    do("subnet set --name vier --no-dhcp --gateway 192.0.2.1 --dns-nameserver 192.0.2.54 four")
    do("subnet unset --host-route destination=198.51.100.0/24,gateway=192.0.2.1 --service-type compute:nova vier")
    do("subnet unset --allocation-pool start=192.0.2.30,end=192.0.2.39 vier")
    shown = get("subnet show vier")
    same("dhcp", shown["enable_dhcp"], False)
    same("gateway", shown["gateway_ip"], "192.0.2.1")
    same("servers", sorted(shown["dns_nameservers"]), ["192.0.2.53", "192.0.2.54"])
    same("routes", shown["host_routes"], [])
    same("types", shown["service_types"], [])
    same("pools", len(shown["allocation_pools"]), 1)
    refuse("overlap", "subnet create --network blue --subnet-range 192.0.2.128/25 again")
    refuse("No Subnet found", "subnet show four")
    do("subnet delete vier six bare")
    same("none", get("subnet list"), [])


def ports():
    get("network create blue")
    get("subnet create --network blue --subnet-range 192.0.2.0/24 four")
    made = get("port create --network blue --fixed-ip subnet=four,ip-address=192.0.2.77 --mac-address fa:16:3e:11:22:33 "
               "--device 11111111-2222-3333-4444-555555555555 --device-owner compute:nova --host client "
               "--description first --extra-dhcp-option name=bootfile-name,value=pxe.0 "
               "--allowed-address ip-address=192.0.2.200 one")
    same("address", [ip["ip_address"] for ip in made["fixed_ips"]], ["192.0.2.77"])
    same("mac", made["mac_address"], "fa:16:3e:11:22:33")
    same("host", made["binding_host_id"], "client")
    same("vif", made["binding_vif_type"], "bridge")
    same("option", made["extra_dhcp_opts"][0]["opt_value"], "pxe.0")
    same("pair", made["allowed_address_pairs"][0]["ip_address"], "192.0.2.200")
    get("port create --network blue --disable --disable-port-security two")
    get("port create --network blue --no-fixed-ip --vnic-type direct three")
    get("port create --network blue --dns-name web --project other four")
    ours = ["--device-owner", "compute:nova"]
    same("by owner", names(get("port list", *ours)), ["one"])
    same("by network", set(names(get("port list --network blue"))) >= {"one", "two", "three", "four"}, True)
    same("by address", names(get("port list --fixed-ip ip-address=192.0.2.77")), ["one"])
    same("by part of it", names(get("port list --fixed-ip ip-substring=2.77")), ["one"])
    same("by subnet", "three" in names(get("port list --fixed-ip subnet=four")), False)
    same("by mac", names(get("port list --mac-address fa:16:3e:11:22:33")), ["one"])
    same("by host", names(get("port list --host client", *ours)), ["one"])
    same("by project", names(get("port list --project other")), ["four"])
    same("by name", names(get("port list --name two")), ["two"])
    same("by device", names(get("port list --device-id 11111111-2222-3333-4444-555555555555")), ["one"])
    long = get("port list --long --name one")[0]
    same("long", long["Device Owner"], "compute:nova")
    do("port set --name uno --description changed --enable one")
    do("port set --fixed-ip subnet=four,ip-address=192.0.2.78 uno")
    do("port set --dns-name uno uno")
    shown = get("port show uno")
    same("description", shown["description"], "changed")
    same("addresses", sorted(ip["ip_address"] for ip in shown["fixed_ips"]), ["192.0.2.77", "192.0.2.78"])
    do("port unset --fixed-ip subnet=four,ip-address=192.0.2.77 uno")
    do("port unset --allowed-address ip-address=192.0.2.200,mac-address=fa:16:3e:11:22:33 uno")
    shown = get("port show uno")
    same("addresses", [ip["ip_address"] for ip in shown["fixed_ips"]], ["192.0.2.78"])
    same("pairs", shown["allowed_address_pairs"], [])
    same("state", get("port show two")["admin_state_up"], False)
    same("no address", get("port show three")["fixed_ips"], [])
    same("name", get("port show four")["dns_name"], "web")
    refuse("192.0.2.78", "port create --network blue --fixed-ip ip-address=192.0.2.78 five")
    refuse("No Port found", "port show one")
    refuse("in use", "network delete blue")
    do("port delete uno two three four")
    same("gone", names(get("port list", *ours)), [])


def agents():
    def alive():
        rows = get("network agent list")
        return rows if len(rows) == 2 and all(row["Alive"] for row in rows) else None

    rows = eventually("two agents", alive)
    kinds = {row["Agent Type"]: row for row in rows}
    same("kinds", sorted(kinds), ["DHCP agent", "Linux bridge agent"])
    dhcp = kinds["DHCP agent"]
    same("binary", dhcp["Binary"], "neutron-dhcp-agent")
    same("zone", dhcp["Availability Zone"], "nova")
    same("by type", len(get("network agent list --agent-type dhcp")), 1)
    same("by host", len(get("network agent list --host client")), 2)
    same("elsewhere", get("network agent list --host nowhere"), [])
    shown = get("network agent show", dhcp["ID"])
    same("host", shown["host"], "client")
    same("configuration", shown["configuration"]["dhcp_lease_duration"], 86400)
    do("network agent set --description kitchen --disable", dhcp["ID"])
    shown = get("network agent show", dhcp["ID"])
    same("description", shown["description"], "kitchen")
    same("state", shown["admin_state_up"], False)
    do("network agent set --enable", dhcp["ID"])
    get("network create blue")
    get("subnet create --network blue --subnet-range 192.0.2.0/24 four")
    same("hosts it", len(get("network agent list --network blue")), 1)
    same("is hosted", names(get("network list --agent", dhcp["ID"])), ["blue"])
    do("network agent remove network --dhcp", dhcp["ID"], "blue")
    same("no more", get("network agent list --network blue"), [])
    do("network agent add network --dhcp", dhcp["ID"], "blue")
    same("again", len(get("network agent list --network blue")), 1)
    zones = get("availability zone list --network")
    same("zones", sorted({row["Zone Name"] for row in zones}), ["nova"])
    served = eventually("a DHCP port", lambda: get("port list --network blue --device-owner network:dhcp"))
    eventually("ACTIVE", lambda: get("port show", served[0]["ID"])["status"] == "ACTIVE")
    do("network agent delete", kinds["Linux bridge agent"]["ID"])
    refuse("", "network agent show", kinds["Linux bridge agent"]["ID"])


def quotas():
    do("quota set --networks 2 --subnets 3 --ports 50 p1")
    rows = {row["Resource"]: row["Limit"] for row in get("quota show --network p1")}
    same("networks", rows["networks"], 2)
    same("ports", rows["ports"], 50)
    get("network create --project p1 one")
    get("network create --project p1 two")
    refuse("quota", "network create --project p1 three")
    usage = {row["Resource"]: row for row in get("quota show --network --usage p1")}
    same("used", usage["networks"]["In Use"], 2)
    defaults = {row["Resource"]: row["Limit"] for row in get("quota show --network --default p1")}
    same("default", defaults["networks"], 100)
    listed = {row["Project ID"]: row for row in get("quota list --network")}
    same("listed", listed["p1"]["Networks"], 2)
    do("quota delete --network p1")
    rows = {row["Resource"]: row["Limit"] for row in get("quota show --network p1")}
    same("default again", rows["networks"], 100)
    get("network create --project p1 three")


def extensions():
    rows = get("extension list --network")
    aliases = {row["Alias"] for row in rows}
    wanted = {"agent", "binding", "dhcp_agent_scheduler", "provider", "port-security", "quotas", "subnet_allocation",
              "availability_zone", "network-ip-availability", "standard-attr-tag", "extra_dhcp_opt", "net-mtu"}
    same("missing", sorted(wanted - aliases), [])
    same("alias", get("extension show agent")["alias"], "agent")
    refuse("No Extension found", "extension show nonsense")
    get("network create blue")
    get("subnet create --network blue --subnet-range 192.0.2.0/28 four")
    rows = get("ip availability list")
    same("networks", [row["Network Name"] for row in rows], ["blue"])
    same("addresses", rows[0]["Total IPs"], 13)
    shown = get("ip availability show blue")
    same("subnet", shown["subnet_ip_availability"][0]["cidr"], "192.0.2.0/28")


def tags():
    get("network create --tag red --tag blue one")
    get("network create --tag red two")
    get("network create three")
    same("tags", sorted(get("network show one")["tags"]), ["blue", "red"])
    same("all of", names(get("network list --tags red,blue")), ["one"])
    same("any of", names(get("network list --any-tags red,blue")), ["one", "two"])
    same("not all of", names(get("network list --not-tags red,blue")), ["three", "two"])
    same("none of", names(get("network list --not-any-tags red,blue")), ["three"])
    do("network set --tag green three")
    same("added", get("network show three")["tags"], ["green"])
    do("network unset --tag red one")
    same("removed", get("network show one")["tags"], ["blue"])
    do("network set --no-tag one")
    same("none", get("network show one")["tags"], [])
    get("subnet create --network one --subnet-range 192.0.2.0/24 --tag cellar four")
    get("port create --network one --tag door five")
    same("subnet", get("subnet show four")["tags"], ["cellar"])
    same("port", get("port show five")["tags"], ["door"])
    same("by tag", names(get("port list --tags door")), ["five"])
    do("port unset --all-tag five")
    same("no tag", get("port show five")["tags"], [])


def pools():
    get("address scope create --ip-version 4 --share wide")
    same("scopes", names(get("address scope list --ip-version 4")), ["wide"])
    do("address scope set --name wider wide")
    get("subnet pool create --pool-prefix 10.0.0.0/8 --default-prefix-length 24 --address-scope wider pool")
    same("pools", names(get("subnet pool list")), ["pool"])
    do("subnet pool set --pool-prefix 172.16.0.0/12 --description more pool")
    shown = get("subnet pool show pool")
    same("prefixes", sorted(shown["prefixes"]), ["10.0.0.0/8", "172.16.0.0/12"])
    get("network create blue")
    made = get("subnet create --network blue --subnet-pool pool four")
    # The smallest that has room, as in the reference.
    same("taken from it", made["cidr"], "172.16.0.0/24")
    made = get("subnet create --network blue --subnet-pool pool --prefix-length 28 small")
    same("length", made["cidr"].rsplit("/", 1)[1], "28")
    refuse("", "subnet pool delete pool")
    do("subnet delete four small")
    do("subnet pool delete pool")
    do("address scope delete wider")
    same("none", get("address scope list"), [])


def security_groups():
    group = get("security group create --description web web")
    same("description", group["description"], "web")
    rule = get("security group rule create --protocol tcp --dst-port 80:81 --remote-ip 203.0.113.0/24 web")
    same("ports", (rule["port_range_min"], rule["port_range_max"]), (80, 81))
    same("ethertype", rule["ether_type"], "IPv4")
    get("security group rule create --protocol icmp --icmp-type 8 --ingress web")
    get("security group rule create --ethertype IPv6 --protocol tcp --dst-port 22 --remote-group web web")
    refuse("already exists", "security group rule create --protocol tcp --dst-port 80:81 --remote-ip 203.0.113.0/24 web")
    refuse("not supported", "security group rule create --protocol nonsense web")
    same("rules", len(get("security group rule list web")), 5)
    same("ingress", len(get("security group rule list --ingress --protocol tcp web")), 2)
    do(f"security group rule delete {rule['id']}")
    do("security group set --name shop --description shop web")
    do("security group set --tag red shop")
    same("tagged", names(get("security group list --tags red")), ["shop"])
    refuse("already exists", "security group create default")
    get("security group create --stateless loose")
    same("groups", names(get("security group list")), ["default", "loose", "shop"])

    do("network create green")
    port = get("port create --network green --security-group shop one")
    shop = get("security group show shop")["id"]
    same("groups of a port", port["security_group_ids"], [shop])
    default = get("security group show default")["id"]
    same("default group", get("port create --network green two")["security_group_ids"], [default])
    same("no group", get("port create --network green --no-security-group three")["security_group_ids"], [])
    same("ports of a group", names(get(f"port list --security-group {shop}")), ["one"])
    refuse("in use", "security group delete shop")
    do("port set --no-security-group one")
    do("security group delete shop")

    same("default rules", len(get("default security group rule list")), 4)
    rule = get("default security group rule create --protocol tcp --dst-port 22 --for-custom-sg")
    do(f"default security group rule delete {rule['id']}")

    do("address group create --address 198.51.100.0/24 office")
    do("address group set --address 192.0.2.7/32 office")
    same("addresses", sorted(get("address group show office")["addresses"]), ["192.0.2.7/32", "198.51.100.0/24"])
    do("security group create inner")
    do("security group rule create --protocol tcp --remote-address-group office inner")
    refuse("in use", "address group delete office")
    do("security group delete inner")
    do("address group delete office")


def sharing():
    project = "11111111222243338444555555555555"
    do("network create lent")
    policy = get(f"network rbac create --type network --action access_as_shared --target-project {project} lent")
    same("type", policy["object_type"], "network")
    same("target", policy["target_project_id"], project)
    refuse("already exists", f"network rbac create --type network --action access_as_shared --target-project {project} lent")
    do("security group create lent")
    do(f"network rbac create --type security_group --action access_as_shared --target-project {project} lent")
    same("policies", len(get("network rbac list")), 2)
    same("of groups", len(get("network rbac list --type security_group")), 1)
    do(f"network rbac set --target-project 22222222333344449555666666666666 {policy['id']}")
    do(f"network rbac delete {policy['id']}")
    same("left", len(get("network rbac list")), 1)


def main():
    # The program as it is installed, once.
    program = os.path.join(os.path.dirname(sys.executable), "openstack")
    shown = subprocess.run([program, *LOGIN, "network", "list", "-f", "json"], capture_output=True, text=True)
    if shown.returncode or json.loads(shown.stdout) != []:
        raise Failed(f"{program} network list: {shown.returncode}\n{shown.stdout}{shown.stderr}")
    globals()[sys.argv[1]]()


try:
    main()
except Failed as failure:
    print(failure, file=sys.stderr)
    sys.exit(1)
