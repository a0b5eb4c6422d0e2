"""Scenarios of requests from a seed: what users and administrators send, right and wrong, to every resource that there is.

A scenario is a list of steps. A step names the role that asks, the method, the path below /v2.0/, perhaps a body, and perhaps a name under
which the object that it makes is kept. `${name}` in paths and bodies stands for the id of such an object; where none was made it stands for
an id that nothing has. So a scenario is the same for every server, whatever it answers.
"""

import random

ABSENT = "11111111-2222-4333-8444-555555555555"
ROLES = ["admin"] * 14 + ["member"] * 5 + ["other", "reader", "manager", "service"]
PHYSICAL = ["physnet1", "public", "physnet9"]
HOSTS = ["cmp1", "cmp2", "dead1", "nowhere", "net1"]
AGENTS = {
    "cmp1": "a0000000-0000-4000-8000-000000000001", "cmp2": "a0000000-0000-4000-8000-000000000002",
    "dead1": "a0000000-0000-4000-8000-000000000003", "net1": "a0000000-0000-4000-8000-000000000005",
    "net2": "a0000000-0000-4000-8000-000000000006", "netdead": "a0000000-0000-4000-8000-000000000007",
}
# What somebody sends by mistake. No fractions: JSON numbers of some are cut off (docs/compat.md).
WRONG = [None, "", " x", "x" * 256, 5, -1, [], {}, ["a"], {"a": "b"}, "maybe", False, "ä€", "a\nb", "0", [None], ABSENT, "${net1}"]


class Scenario:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.seed = seed
        self.steps = []
        self.made = {}
        self.count = 0
        self.cidrs = {}

    # Pieces.

    def pick(self, kind):
        """The id of an object of that kind, now and then of none."""
        names = self.made.get(kind, [])
        if not names or self.r.random() < 0.05:
            return ABSENT
        return "${%s}" % self.r.choice(names)

    def new(self, kind):
        self.count += 1
        name = "%s%d" % (kind, self.count)
        self.made.setdefault(kind, []).append(name)
        return name

    def step(self, method, path, body=None, role=None, save=None, raw=None):
        step = {"role": role or self.r.choice(ROLES), "method": method, "path": path}
        if raw is not None:
            step["raw"] = raw
        elif body is not None:
            step["body"] = body
        if save:
            step["save"] = save
        self.steps.append(step)

    def maybe(self, chance):
        return self.r.random() < chance

    def text(self):
        return self.r.choice(["", "a", "blue", "x" * 255, "ä", "two words", "n%d" % self.r.randrange(5)])

    def mostly(self, right, wrong):
        return self.r.choice(wrong if self.r.random() < 0.08 else right)

    def some(self, options, most=4):
        names = self.r.sample(sorted(options), self.r.randint(0, min(most, len(options))))
        return {name: options[name]() for name in names}

    def spoil(self, body, options):
        """Puts a mistake into a body."""
        how = self.r.random()
        if how < 0.75 and options:
            body[self.r.choice(sorted(options))] = self.r.choice(WRONG)
        elif how < 0.85 and body:
            body.pop(self.r.choice(sorted(body)))
        else:
            body[self.r.choice(["bogus", "id", "status", "created_at", "revision_number", "subnets", "tags"])] = "x"
        return body

    def cidr(self, version):
        n = self.r.randrange(6)
        if version == 6:
            return self.r.choice(["2001:db8:%d::/64" % n] * 4 + ["2001:db8:%d::/120" % n])
        return self.r.choice(["10.%d.%d.0/24" % (self.seed % 200, n), "10.%d.%d.0/28" % (self.seed % 200, n), "10.%d.%d.8/29" % (self.seed % 200, n)])

    # Attributes of resources, each with a way to make a value.

    def network(self):
        r = self.r
        return {
            "name": self.text, "description": self.text, "admin_state_up": lambda: r.choice([True, False, "true", "False", 1]),
            "shared": lambda: r.choice([True, False]), "mtu": lambda: self.mostly([0, 1280, 1400, "1450"], [68, 9000, -1]),
            "port_security_enabled": lambda: r.choice([True, False]), "router:external": lambda: r.choice([True, False]),
            "availability_zone_hints": lambda: self.mostly([[], ["nova"], ["az2", "nova"]], [["nope"], ["nova", "nova"]]),
            "dns_domain": lambda: self.mostly(["", "Example.org.", "a.b."], ["nodot", "-x.org."]),
        }

    def provider(self):
        kind = self.mostly(["vlan", "vlan", "vxlan", "flat", "gre", "geneve", "local"], ["nope"])
        body = {"provider:network_type": kind}
        if kind in ("vlan", "flat") or self.maybe(0.05):
            body["provider:physical_network"] = self.mostly(PHYSICAL[:1] * 5 + PHYSICAL[1:2], PHYSICAL[2:])
        if kind in ("vlan", "vxlan", "gre", "geneve") and self.maybe(0.9) or self.maybe(0.05):
            body["provider:segmentation_id"] = self.mostly([2000 + self.r.randrange(20), 3000 + self.r.randrange(9)], [4095, 5000, 0])
        return body

    def subnet(self):
        r = self.r
        return {
            "name": self.text, "description": self.text, "enable_dhcp": lambda: r.choice([True, False, "no"]),
            "gateway_ip": lambda: self.mostly([None, "10.%d.0.1" % (self.seed % 200), "10.%d.1.254" % (self.seed % 200), "192.0.2.1"], ["2001:db8::1", "x"]),
            "dns_nameservers": lambda: self.mostly([[], ["192.0.2.53"], ["192.0.2.53", "192.0.2.54"]], [["192.0.2.53", "192.0.2.53"], ["2001:db8::53"], ["x"]]),
            "host_routes": lambda: self.mostly([[], [{"destination": "192.0.2.0/24", "nexthop": "10.0.0.9"}]], [[{"destination": "x"}], [{}]]),
            "service_types": lambda: self.mostly([[], [], ["compute:nova"], ["network:dhcp", "compute:a"]], [["nope"]]),
            "dns_publish_fixed_ip": lambda: r.choice([True, False]),
        }

    def port(self):
        r = self.r
        return {
            "name": self.text, "description": self.text, "admin_state_up": lambda: r.choice([True, False]),
            "device_owner": lambda: self.r.choice(["", "compute:nova", "compute:nova", "compute:az", "network:dhcp", "network:router_interface", "x"]),
            "device_id": lambda: r.choice(["", "vm1", "vm2"]),
            "mac_address": lambda: self.mostly(["fa:16:3e:%02x:00:%02x" % (self.seed % 256, r.randrange(30))], ["FA-16-3E-00-11-22", "00:00:00:00:00:00", "x"]),
            "port_security_enabled": lambda: r.choice([True, False]),
            "binding:host_id": lambda: self.r.choice(HOSTS + ["cmp1", "cmp2", "", None]), "binding:vnic_type": lambda: self.mostly(["normal", "normal", "direct", "macvtap"], ["nope"]),
            "binding:profile": lambda: r.choice([{}, {"a": "b"}, None]),
            "allowed_address_pairs": lambda: self.mostly([[], [{"ip_address": "192.0.2.9"}], [{"ip_address": "192.0.2.0/24"}]], [[{"ip_address": "192.0.2.0/24"}] * 2, [{"ip_address": "x"}], [{}]]),
            "extra_dhcp_opts": lambda: self.mostly([[], [{"opt_name": "tftp-server", "opt_value": "192.0.2.2"}], [{"opt_name": "150", "opt_value": "a", "ip_version": 6}]], [[{"opt_name": "a"}], [{}]]),
            "dns_name": lambda: self.mostly(["", "vm", "VM-2"], ["a.b", "-x"]), "data_plane_status": lambda: self.mostly(["ACTIVE", "DOWN"], ["x"]),
            "fixed_ips": lambda: self.fixed_ips(),
        }

    def fixed_ips(self):
        subnet = self.pick("sub")
        address = "10.%d.%d.%d" % (self.seed % 200, self.r.randrange(6), self.r.choice([0, 1, 5, 9, 14, 255]))
        return self.r.choice([
            [], [{"subnet_id": subnet}], [{"subnet_id": subnet, "ip_address": address}], [{"ip_address": address}], [{"ip_address": "x"}],
            [{"subnet_id": subnet}, {"subnet_id": subnet}],
        ])

    def pool(self):
        r = self.r
        return {
            "name": lambda: r.choice(["pool", "p%d" % r.randrange(3)]), "description": self.text, "shared": lambda: r.choice([True, False]),
            "prefixes": lambda: r.choice([["10.%d.64.0/20" % (self.seed % 200)], ["10.%d.64.0/20" % (self.seed % 200), "10.%d.80.0/20" % (self.seed % 200)], ["2001:db8:%x::/48" % (self.seed + 100)]] * 4 + [["x"], []]),
            "default_prefixlen": lambda: self.mostly([24, 26, "28"], [64, 8, 129]), "min_prefixlen": lambda: self.mostly([24, 20], [8, 64]),
            "max_prefixlen": lambda: self.mostly([28, 30], [64, 8]), "default_quota": lambda: r.choice([1, 1000, 0]),
            "address_scope_id": lambda: r.choice([None, self.pick("scope")]),
        }

    def scope(self):
        r = self.r
        return {"name": self.text, "ip_version": lambda: self.mostly([4, 6, "4"], [5]), "shared": lambda: r.choice([True, False])}

    def segment(self):
        r = self.r
        return {
            "network_id": lambda: self.pick("net"), "network_type": lambda: self.mostly(["vlan", "vlan", "vlan", "vxlan"], ["flat", "nope"]),
            "physical_network": lambda: self.mostly(PHYSICAL[:1], PHYSICAL), "segmentation_id": lambda: self.mostly([2100 + r.randrange(20)], [4095, 20000, "2010", "x"]),
            "name": lambda: self.r.choice([None, "s", ""]), "description": self.text,
        }

    # Requests.

    def create(self, kind, path, short, options, required, wrong=0.2, role=None):
        body = {name: options[name]() for name in required}
        body.update(self.some({name: make for name, make in options.items() if name not in required}))
        if self.maybe(0.08):
            body["project_id"] = self.r.choice(["%{p1}", "%{p2}", "%{admin}"])
        if self.maybe(wrong):
            body = self.spoil(body, options)
        if self.maybe(0.06):
            self.step("POST", path, {plural(kind): [body, dict(body)]}, role)
            return
        self.step("POST", path, {kind: body}, role, save=self.new(short))

    def update(self, kind, path, short, options, wrong=0.2):
        body = self.some(options, 3)
        if self.maybe(wrong):
            body = self.spoil(body, options)
        self.step("PUT", "%s/%s" % (path, self.pick(short)), {kind: body})

    def a_network(self):
        options = self.network()
        kind = self.r.random()
        if kind < 0.25:
            body = dict(self.some(options, 2), **self.provider())
            self.step("POST", "networks", {"network": body}, self.r.choice(["admin"] * 9 + ["member"]), save=self.new("net"))
        elif kind < 0.35:
            body = dict(self.some(options, 2), segments=[self.provider() for _ in range(self.r.randint(0, 3))])
            self.step("POST", "networks", {"network": body}, "admin", save=self.new("net"))
        else:
            self.create("network", "networks", "net", options, [])

    def a_subnet(self):
        options = self.subnet()
        version = self.r.choice([4, 4, 4, 6])
        body = dict(self.some(options, 3), network_id=self.pick("net"), ip_version=version)
        way = self.r.random()
        if way < 0.75:
            body["cidr"] = self.cidr(self.r.choice([version] * 12 + [10 - version]))
        elif way < 0.9:
            body["subnetpool_id"] = self.pick("pool")
            if self.maybe(0.5):
                body["prefixlen"] = self.r.choice([24, 26, 28, 64, 12, "26"])
        if version == 6 and self.maybe(0.7):
            body["ipv6_address_mode"] = self.mostly(["slaac", "dhcpv6-stateful", "dhcpv6-stateless"], ["x"])
            if self.maybe(0.7):
                body["ipv6_ra_mode"] = self.r.choice([body["ipv6_address_mode"]] * 4 + ["slaac"])
        if self.maybe(0.2) and version == 4 and "cidr" in body:
            base = body["cidr"].rsplit(".", 1)[0]
            body["allocation_pools"] = self.r.choice([
                [{"start": base + ".4", "end": base + ".6"}], [{"start": base + ".9", "end": base + ".6"}], [{"start": base + ".2", "end": base + ".250"}],
                [{"start": base + ".2", "end": base + ".5"}, {"start": base + ".5", "end": base + ".7"}], [{"start": "x"}], []])
        if self.maybe(0.1):
            body["segment_id"] = self.pick("seg")
        if self.maybe(0.15):
            body = self.spoil(body, dict(options, cidr=None, ip_version=None, network_id=None, ipv6_ra_mode=None))
        self.step("POST", "subnets", {"subnet": body}, save=self.new("sub"))

    def a_binding(self):
        path = "ports/%s/bindings" % self.pick("port")
        role = self.r.choice(["service"] * 6 + ["admin", "member"])
        what = self.r.random()
        host = self.r.choice(HOSTS)
        if what < 0.4:
            body = {"host": host}
            if self.maybe(0.3):
                body.update(self.some({"vnic_type": lambda: self.r.choice(["normal", "direct", "x"]), "profile": lambda: self.r.choice([{}, {"a": 1}, None, "x"]), "bogus": lambda: 1}))
            self.step("POST", path, self.r.choice([{"binding": body}] * 8 + [{}, {"binding": {}}, {"binding": []}]), role)
        elif what < 0.6:
            self.step("PUT", "%s/%s/activate" % (path, host), {}, role)
        elif what < 0.75:
            self.step("DELETE", "%s/%s" % (path, host), None, role)
        elif what < 0.85:
            self.step("GET", "%s/%s" % (path, host), None, role)
        else:
            self.step("GET", path + self.r.choice(["", "?host=cmp1", "?status=ACTIVE", "?fields=host&fields=status", "?bogus=1"]), None, role)

    def an_agent(self):
        agent = self.r.choice(sorted(AGENTS.values()) + [ABSENT])
        role = self.r.choice(["admin"] * 6 + ["member"])
        what = self.r.random()
        if what < 0.25:
            self.step("POST", "agents/%s/dhcp-networks" % agent, {"network_id": self.r.choice([self.pick("net")] * 6 + [5])}, role)
        elif what < 0.4:
            self.step("DELETE", "agents/%s/dhcp-networks/%s" % (agent, self.pick("net")), None, role)
        elif what < 0.5:
            self.step("GET", "agents/%s/dhcp-networks?fields=id" % agent, None, role)
        elif what < 0.6:
            self.step("GET", "networks/%s/dhcp-agents?fields=id" % self.pick("net"), None, role)
        elif what < 0.8:
            self.step("GET", "agents" + self.r.choice(["", "/" + agent, "?host=cmp1", "?agent_type=DHCP%20agent", "?alive=True", "?bogus=1", "?admin_state_up=maybe", "?availability_zone=nova", "?binary=x"]), None, role)
        else:
            body = self.some({"description": self.text}, 1) or {"description": self.r.choice([None, 5, "x" * 256])}
            if self.maybe(0.3):
                body[self.r.choice(["host", "bogus", "alive"])] = "x"
            self.step("PUT", "agents/%s" % agent, {"agent": body}, role)

    def a_quota(self):
        project = "%{p3}"
        role = self.r.choice(["admin"] * 6 + ["member", "spare"])
        path = "quotas/" + project
        what = self.r.random()
        if what < 0.4:
            body = {self.r.choice(["network", "subnet", "port", "bogus"]): self.r.choice([0, 5, -1, "7", -2, "x", None, 2147483647, 99999999999])}
            self.step("PUT", path, self.r.choice([{"quota": body}] * 7 + [{"quota": {}}]), role)
        elif what < 0.55:
            self.step("DELETE", path, None, role)
        else:
            self.step("GET", self.r.choice([path, path + "/default", path + "/details.json", "quotas", "quotas/tenant"]), None, role)

    def a_tag(self):
        kind, path = self.r.choice([("net", "networks"), ("sub", "subnets"), ("port", "ports"), ("pool", "subnetpools")])
        path = "%s/%s/tags" % (path, self.pick(kind))
        tag = self.r.choice(["red", "blue", "x" * 255, "x" * 256, "a,b"])
        what = self.r.random()
        if what < 0.3:
            self.step("PUT", "%s/%s" % (path, tag))
        elif what < 0.5:
            self.step("PUT", path, {"tags": self.r.choice([["red"], ["red", "blue"], ["red", "red"], [], ["x" * 256], [5], "red", None])})
        elif what < 0.6:
            self.step("POST", path, {"tags": self.r.choice([["green"], ["green", "red"], [5]])})
        elif what < 0.75:
            self.step("DELETE", self.r.choice([path, "%s/%s" % (path, tag)]))
        else:
            self.step("GET", self.r.choice([path, "%s/%s" % (path, tag)]))

    def a_list(self):
        kind = self.r.choice(["networks", "subnets", "ports", "subnetpools", "address-scopes", "segments"])
        filters = {
            "networks": ["name=blue", "admin_state_up=False", "shared=True", "router:external=True", "provider:network_type=vlan", "mtu=1400", "mtu=x", "status=ACTIVE", "provider:segmentation_id=2001"],
            "subnets": ["ip_version=4", "ip_version=6", "enable_dhcp=False", "network_id=${net1}", "gateway_ip=10.0.0.1", "cidr=10.0.0.0/24", "shared=True"],
            "ports": ["device_owner=compute:nova", "network_id=${net1}", "fixed_ips=subnet_id%3D${sub2}", "mac_address=x", "binding:host_id=cmp1", "device_id=vm1", "status=DOWN", "admin_state_up=true"],
            "subnetpools": ["shared=False", "ip_version=4", "name=pool", "default_prefixlen=24", "address_scope_id=${scope1}"],
            "address-scopes": ["ip_version=4", "shared=True", "name=a"],
            "segments": ["network_id=${net1}", "network_type=vlan", "physical_network=physnet1", "name=s", "segmentation_id=2001"],
        }[kind] + ["bogus=1", "name=", "description=a", "id=" + ABSENT, "project_id=%{p1}", "tags=red", "not-tags=red", "tags-any=red,blue", "fields=id&fields=name", "fields=bogus",
                   "sort_key=name&sort_dir=asc", "sort_key=bogus&sort_dir=asc", "sort_key=name", "sort_key=name&sort_dir=up", "limit=0", "limit=x", "limit=-1", "marker=" + ABSENT, "limit=1000", "page_reverse=true"]
        query = "&".join(self.r.sample(filters, self.r.randint(0, 2)))
        self.step("GET", kind + ("?" + query if query else ""))

    def a_range(self):
        options = {
            "name": self.text, "shared": lambda: self.r.choice([True, False]), "minimum": lambda: 30000 + 10 * self.r.randrange(6), "maximum": lambda: 30005 + 10 * self.r.randrange(6),
            "network_type": lambda: self.r.choice(["vxlan", "vxlan", "gre", "geneve", "flat"]), "description": self.text,
        }
        what = self.r.random()
        if what < 0.5:
            self.create("network_segment_range", "network_segment_ranges", "range", options, ["minimum", "maximum", "network_type"], 0.2, self.r.choice(["admin"] * 5 + ["member"]))
        elif what < 0.75:
            change = {name: make for name, make in options.items() if name not in ("shared", "network_type")}
            self.update("network_segment_range", "network_segment_ranges", "range", change, 0.2)
        elif what < 0.85:
            self.step("GET", "network_segment_ranges/" + self.pick("range"))
        else:
            self.step("DELETE", "network_segment_ranges/" + self.pick("range"), None, "admin")

    def a_look(self):
        kind, path = self.r.choice([("net", "networks"), ("sub", "subnets"), ("port", "ports"), ("pool", "subnetpools"), ("scope", "address-scopes"), ("seg", "segments"), ("net", "network-ip-availabilities")])
        self.step("GET", "%s/%s" % (path, self.pick(kind)) + self.r.choice(["", "", "", "?fields=id&fields=name", "?fields=nope"]))

    def a_removal(self):
        kind, path = self.r.choice([("net", "networks"), ("sub", "subnets"), ("port", "ports"), ("port", "ports"), ("pool", "subnetpools"), ("scope", "address-scopes"), ("seg", "segments")])
        self.step("DELETE", "%s/%s" % (path, self.pick(kind)))

    def a_pool_change(self):
        way = self.r.random()
        if way < 0.4:
            self.update("subnetpool", "subnetpools", "pool", {name: make for name, make in self.pool().items() if name != "shared"})
            return
        verb = self.r.choice(["add_prefixes", "remove_prefixes"])
        prefixes = self.r.choice([["10.%d.96.0/20" % (self.seed % 200)], ["10.%d.64.0/20" % (self.seed % 200)], ["x"], []])
        self.step("PUT", "subnetpools/%s/%s" % (self.pick("pool"), verb), {"prefixes": prefixes})

    def nonsense(self):
        path = self.r.choice(["networks", "subnets", "ports", "subnetpools", "address-scopes", "segments"])
        raw = self.r.choice(["", "{", "[]", "null", "5", "\"x\"", "{\"x\": 1}", "{\"%s\": null}" % path.rstrip("s"), "{\"%s\": []}" % path])
        self.step(self.r.choice(["POST", "POST", "PUT"]), path if self.maybe(0.7) else path + "/" + ABSENT, raw=raw)

    def ways(self):
        """What is done, and how often."""
        return [
            (self.a_network, 12), (self.a_subnet, 14), (lambda: self.create("port", "ports", "port", dict(self.port(), network_id=lambda: self.pick("net")), ["network_id"]), 16),
            (lambda: self.create("subnetpool", "subnetpools", "pool", self.pool(), ["name", "prefixes"]), 7), (lambda: self.create("address_scope", "address-scopes", "scope", self.scope(), ["name", "ip_version"]), 4),
            (lambda: self.create("segment", "segments", "seg", self.segment(), ["network_id", "network_type", "physical_network", "segmentation_id"], 0.2, self.r.choice(["admin"] * 6 + ["member"])), 5),
            (lambda: self.update("network", "networks", "net", self.network()), 7),
            (lambda: self.update("subnet", "subnets", "sub", dict(self.subnet(), segment_id=lambda: self.pick("seg"))), 7),
            (lambda: self.update("port", "ports", "port", self.port()), 12),
            (lambda: self.update("segment", "segments", "seg", {name: make for name, make in self.segment().items() if name in ("name", "description")}), 2),
            (lambda: self.update("address_scope", "address-scopes", "scope", {name: make for name, make in self.scope().items() if name != "ip_version"}), 2),
            (self.a_pool_change, 4), (self.a_binding, 12), (self.an_agent, 8), (self.a_quota, 5), (self.a_tag, 9), (self.a_list, 14), (self.a_look, 8), (self.a_removal, 9), (self.a_range, 5), (self.nonsense, 3),
        ]

    def run(self, length):
        self.step("POST", "networks", {"network": {"name": "one"}}, "member", save=self.new("net"))
        self.step("POST", "subnets", {"subnet": {"network_id": "${net1}", "ip_version": 4, "cidr": "10.%d.0.0/24" % (self.seed % 200)}}, "member", save=self.new("sub"))
        self.step("POST", "ports", {"port": {"network_id": "${net1}", "device_owner": "compute:nova", "binding:host_id": "cmp1"}}, "admin", save=self.new("port"))
        acts, weights = zip(*self.ways())
        while len(self.steps) < length:
            self.r.choices(acts, weights)[0]()
        return self.steps[:length]


def plural(kind):
    return kind + "s"


def scenario(seed, length=50):
    return Scenario(seed).run(length)
