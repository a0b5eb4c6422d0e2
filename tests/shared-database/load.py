#!/usr/bin/env python3
"""A random load of requests to two servers on one database, and what both say of it afterwards.

    load.py --ours URL --reference URL --operations 10000 --clients 8 --seed 1 --journal FILE

Every operation goes to one of the two by chance. The operations are those of the differential test (right and wrong, tests/differential/
generator.py), and more of what two programs could do to each other: default security groups of new projects, a quota that is full, a subnet
that is full, VLANs that run out, bulk creations, changes of one object by several. All clients share the objects.

At the end nothing moves; both are asked for every object of every collection, by administrators and others, and have to say the same
(`alike.py`). Fails when they do not, when ours answered with a fault of its own (5xx), when an acknowledged object is not there or a refused
one left a trace; the last is looked at in the database with the journal.
"""

import argparse
import collections
import json
import os
import random
import re
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../differential")]

import alike
import generator
from servers import Plain, USERS, request

NAME = re.compile(r"\$\{([a-z]+)\d*\}")
PROJECT = re.compile(r"%\{(\w+)\}")
# Objects of which the description tells by which request they were made.
MARKED = {"network", "subnet", "port", "subnetpool", "security_group", "security_group_rule", "address_group", "network_segment_range", "segment"}
# Whose objects go with them.
PARENTS = {"subnets": ("networks", "network_id"), "segments": ("networks", "network_id"), "security-group-rules": ("security-groups", "security_group_id")}


class World:
    """What all clients share: the servers, the objects that there are, what was asked and answered."""

    def __init__(self, ours, reference, journal):
        self.servers = {"ours": Plain(ours), "reference": Plain(reference)}
        self.projects = self.servers["ours"].projects
        self.lock = threading.Lock()
        self.objects = collections.defaultdict(list)
        self.number = self.count = 0
        self.statuses = collections.Counter()
        self.faults = collections.Counter()
        self.samples = {}
        self.times = collections.defaultdict(list)
        self.journal = open(journal, "w") if journal else None
        # Of acknowledged creations by path: id to object.
        self.made = collections.defaultdict(dict)
        self.deleted = set()
        self.refused = []
        self.new_project = 0

    def next(self):
        with self.lock:
            self.number += 1
            return self.number

    def note(self, line):
        if self.journal:
            with self.lock:
                self.journal.write(json.dumps(line) + "\n")


class Client(generator.Scenario):
    """One client: acts at once on what is there, where a scenario makes a list."""

    def __init__(self, world, seed):
        super().__init__(seed)
        self.world = world

    def pick(self, kind):
        names = self.world.objects[kind]
        with self.world.lock:
            # Recent ones more often, so that clients meet.
            if not names or self.r.random() < 0.05:
                return generator.ABSENT
            return names[-1 - min(int(self.r.expovariate(0.08)), len(names) - 1)] if self.r.random() < 0.6 else self.r.choice(names)

    def new(self, kind):
        return kind

    def fill(self, text):
        text = NAME.sub(lambda match: self.pick(match.group(1)), text)
        return PROJECT.sub(lambda match: self.world.projects[match.group(1)], text)

    def step(self, method, path, body=None, role=None, save=None, raw=None, identity=None):
        world = self.world
        role = role or self.r.choice(generator.ROLES)
        path = self.fill(path)
        number = world.next()
        mark, data = None, None
        if raw is not None:
            data = raw.encode()
        elif body is not None:
            body = json.loads(self.fill(json.dumps(body)))
            mark = self.mark(method, body, number)
            data = json.dumps(body).encode()
        name = self.r.choice(sorted(world.servers))
        server = world.servers[name]
        headers = identity or server.headers(role)
        start = time.monotonic()
        try:
            status, _, answer = request(server.base, method, "/v2.0/" + path, data, headers)
        except OSError:
            # A worker of the reference now and then waits for itself; it is counted. Ours answers.
            if name == "ours":
                raise
            status, answer, mark = 504, "gave no answer", None
        took = time.monotonic() - start
        kind = path.split("?")[0].split("/")[0]
        with world.lock:
            world.count += 1
            world.statuses[name, method, status] += 1
            world.times[name, method].append(took)
            if status >= 500:
                fault = answer.get("NeutronError", answer) if isinstance(answer, dict) else answer
                why = fault.get("type") if isinstance(fault, dict) else str(fault)[:200]
                world.faults[name, status, method, kind, str(why)] += 1
                world.samples.setdefault((name, status, method, kind, str(why)), "%s %s %s: %s" % (method, path, (data or b"")[:500].decode(), str(answer)[:800]))
            if method == "POST" and status == 201 and isinstance(answer, dict) and "/" not in path:
                value = next(iter(answer.values()))
                for made in value if isinstance(value, list) else [value]:
                    world.made[kind][made["id"]] = made
                    short = save or {"networks": "net", "subnets": "sub", "ports": "port", "security-groups": "group"}.get(kind)
                    if short:
                        world.objects[short].append(made["id"])
            elif mark and status >= 400:
                world.refused.append(mark)
            if method == "DELETE" and status == 204:
                gone = path.split("/")[-1]
                world.deleted.add(gone)
                for names in world.objects.values():
                    if gone in names and self.r.random() < 0.8:
                        names.remove(gone)
        world.note({"n": number, "server": name, "role": role, "method": method, "path": path, "body": body if raw is None else raw, "status": status,
                    "answer": answer if status >= 400 or method != "GET" else None, "at": round(start, 3), "took": round(took, 3)})
        return status, answer

    @staticmethod
    def mark(method, body, number):
        """Writes the number of the request into what it makes."""
        if method != "POST" or not isinstance(body, dict) or len(body) != 1:
            return None
        kind, value = next(iter(body.items()))
        if kind.rstrip("s") not in MARKED and kind not in ("security_groups", "ports"):
            return None
        found = None
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict) and isinstance(item.get("description", ""), str):
                found = item["description"] = "request %d" % number
        return found

    # What is done beside the scenarios' ways.

    def group(self):
        return {"name": lambda: self.r.choice(["web", "db", "ä"]), "description": self.text, "stateful": lambda: self.r.choice([True, True, False])}

    def a_group(self):
        self.create("security_group", "security-groups", "group", self.group(), ["name"])

    def a_rule(self):
        r = self.r
        ports = r.choice([(22, 22), (80, 443), (1, 65535), (5, 4), (r.randrange(1000), 2000)])
        body = {"security_group_id": self.pick("group"), "direction": self.mostly(["ingress", "egress"], ["x"])}
        options = {
            "ethertype": lambda: self.mostly(["IPv4", "IPv6"], ["x"]), "protocol": lambda: self.mostly(["tcp", "udp", "icmp", None, "6", 17], ["nope", 256]),
            "remote_ip_prefix": lambda: self.mostly(["192.0.2.0/24", "10.%d.0.0/16" % r.randrange(9), None], ["x", "2001:db8::/32"]),
            "remote_group_id": lambda: self.pick("group"), "remote_address_group_id": lambda: self.pick("ag"), "description": self.text,
        }
        names = r.sample(["ethertype", "protocol", "description"], r.randint(0, 3)) + r.sample(["remote_ip_prefix", "remote_group_id", "remote_address_group_id"], r.choice([0, 1, 1, 1, 2]))
        body.update({name: options[name]() for name in names})
        if body.get("protocol") in ("tcp", "udp", "6", 17) and self.maybe(0.6):
            body.update(port_range_min=ports[0], port_range_max=ports[1])
        if self.maybe(0.1):
            self.step("POST", "security-group-rules", {"security_group_rules": [body, dict(body, direction="egress", remote_group_id=None)]}, save="rule")
        else:
            self.step("POST", "security-group-rules", {"security_group_rule": body}, save="rule")

    def an_address_group(self):
        what = self.r.random()
        addresses = lambda: self.r.sample(["192.0.2.%d/32" % n for n in range(9)] + ["2001:db8::/64", "10.0.0.0/8"], self.r.randint(0, 3)) + (["x"] if self.maybe(0.05) else [])
        if what < 0.4:
            self.step("POST", "address-groups", {"address_group": {"name": self.text(), "addresses": addresses()}}, save="ag")
        elif what < 0.7:
            self.step("PUT", "address-groups/%s/%s" % (self.pick("ag"), self.r.choice(["add_addresses", "remove_addresses"])), {"addresses": addresses()})
        elif what < 0.8:
            self.step("PUT", "address-groups/" + self.pick("ag"), {"address_group": {"name": self.text()}})
        elif what < 0.9:
            self.step("DELETE", "address-groups/" + self.pick("ag"))
        else:
            self.step("GET", "address-groups" + self.r.choice(["", "/" + self.pick("ag"), "?name=a"]))

    def a_policy(self):
        what = self.r.random()
        if what < 0.6:
            kind, short = self.r.choice([("network", "net"), ("network", "net"), ("security_group", "group"), ("address_group", "ag"), ("address_scope", "scope"), ("subnetpool", "pool")])
            body = {"object_type": self.mostly([kind], ["router"]), "object_id": self.pick(short), "action": self.mostly(["access_as_shared", "access_as_shared", "access_as_external"], ["x"]),
                    "target_tenant": self.r.choice(["%{p1}", "%{p2}", "%{p3}", "*"])}
            self.step("POST", "rbac-policies", {"rbac_policy": body}, self.r.choice(["admin"] * 3 + ["member"]), save="rbac")
        elif what < 0.75:
            self.step("PUT", "rbac-policies/" + self.pick("rbac"), {"rbac_policy": {"target_tenant": self.r.choice(["%{p1}", "%{p2}", "*"])}})
        elif what < 0.9:
            self.step("DELETE", "rbac-policies/" + self.pick("rbac"))
        else:
            self.step("GET", "rbac-policies" + self.r.choice(["", "/" + self.pick("rbac"), "?object_type=network"]))

    def a_guarded_port(self):
        body = {"network_id": self.pick("net"), "security_groups": [self.pick("group") for _ in range(self.r.randint(0, 2))]}
        if self.maybe(0.5):
            self.step("PUT", "ports/" + self.pick("port"), {"port": {"security_groups": body["security_groups"]}})
        else:
            self.step("POST", "ports", {"port": dict(body, **({"binding:host_id": "cmp1"} if self.maybe(0.3) else {}))}, "admin", save="port")

    def a_removal_of_groups(self):
        kind, path = self.r.choice([("group", "security-groups"), ("rule", "security-group-rules"), ("rule", "security-group-rules")])
        self.step(self.r.choice(["DELETE", "GET"]), "%s/%s" % (path, self.pick(kind)))

    def a_change_of_groups(self):
        self.update("security_group", "security-groups", "group", self.group())

    def many_ports(self):
        network = self.pick("net")
        self.step("POST", "ports", {"ports": [{"network_id": network, "name": "bulk"} for _ in range(self.r.randint(2, 8))]}, "admin")

    def many_networks(self):
        self.step("POST", "networks", {"networks": [{"name": "bulk", "shared": self.maybe(0.1)} for _ in range(self.r.randint(2, 4))]}, self.r.choice(["admin", "member"]))

    # Where two programs could do the same thing twice.

    def identity(self, project):
        return {"X-Project-Id": project, "X-User-Id": "u", "X-Roles": "member,reader"}

    def newcomer(self):
        """Several requests of a project that has no default group yet, at about the same time."""
        with self.world.lock:
            project = "%032x" % (0xF0000 + self.world.new_project // 6)
            self.world.new_project += 1
        what = self.r.random()
        if what < 0.5:
            self.step("GET", "security-groups?fields=id", identity=self.identity(project), role="newcomer")
        elif what < 0.8:
            self.step("POST", "networks", {"network": {"name": "new"}}, identity=self.identity(project), role="newcomer")
        else:
            self.step("POST", "security-groups", {"security_group": {"name": "new"}}, identity=self.identity(project), role="newcomer", save="group")

    def on_the(self, kind, limit, path, body):
        """Takes or gives back something that there is little of."""
        mine = self.world.objects[kind]
        with self.world.lock:
            gone = self.r.choice(mine) if len(mine) > limit and self.maybe(0.7) or mine and self.maybe(0.3) else None
        if gone:
            self.step("DELETE", "%s/%s" % (path, gone), role="admin")
        else:
            self.step("POST", path, body, role="admin", save=kind)

    def a_full_subnet(self):
        self.on_the("full", 12, "ports", {"port": {"network_id": self.world.full, "fixed_ips": [{"subnet_id": self.world.full_subnet}]}})

    def the_last_vlans(self):
        self.on_the("vlan", 95, "networks", {"network": {"provider:network_type": "vlan", "provider:physical_network": "physnet1"}})

    def a_full_quota(self):
        mine = self.world.objects["limited"]
        with self.world.lock:
            gone = self.r.choice(mine) if len(mine) >= alike.LIMIT and self.maybe(0.5) or mine and self.maybe(0.2) else None
        who = self.identity(alike.LIMITED)
        if gone:
            self.step("DELETE", "networks/" + gone, identity=who, role="limited")
        else:
            self.step("POST", "networks", {"network": {"name": "limited"}}, identity=who, role="limited", save="limited")

    def the_same_prefix(self):
        net = self.pick("net")
        self.step("POST", "subnets", {"subnet": {"network_id": net, "ip_version": 4, "cidr": "172.16.%d.0/24" % self.r.randrange(3)}}, "admin", save="sub")

    def the_same_object(self):
        kind, short = self.r.choice([("network", "net"), ("port", "port"), ("subnet", "sub"), ("security_group", "group")])
        path = "%s/%s" % (kind.replace("_", "-") + "s", self.world.objects[short][-1] if self.world.objects[short] else generator.ABSENT)
        self.step("PUT", path, {kind: {"name": "n%d" % self.r.randrange(99)}}, "admin")

    def ways(self):
        return super().ways() + [
            (self.a_group, 6), (self.a_rule, 12), (self.an_address_group, 8), (self.a_policy, 8), (self.a_guarded_port, 8), (self.a_removal_of_groups, 6), (self.a_change_of_groups, 3),
            (self.many_ports, 4), (self.many_networks, 2), (self.newcomer, 8), (self.a_full_subnet, 10), (self.the_last_vlans, 8), (self.a_full_quota, 10), (self.the_same_prefix, 4),
            (self.the_same_object, 8),
        ]

    def act(self):
        acts, weights = zip(*self.ways())
        self.r.choices(acts, weights)[0]()


def prepare(world):
    first = Client(world, 0)

    def make(path, kind, body):
        status, answer = first.step("POST", path, {kind: body}, "admin")
        if status != 201:
            raise SystemExit("%s: %s %s" % (path, status, answer))
        return answer[kind]["id"]

    world.full = make("networks", "network", {"name": "full"})
    world.full_subnet = make("subnets", "subnet", {"network_id": world.full, "ip_version": 4, "cidr": "192.0.2.0/28", "enable_dhcp": False})
    # Those that the load does not delete.
    world.objects.clear()
    status, answer = first.step("PUT", "quotas/" + alike.LIMITED, {"quota": {"network": alike.LIMIT}}, "admin")
    if status != 200:
        raise SystemExit("quota: %s %s" % (status, answer))
    for i in range(4):
        net = make("networks", "network", {"name": "start%d" % i, "shared": True})
        sub = make("subnets", "subnet", {"network_id": net, "ip_version": 4, "cidr": "10.%d.7.0/24" % i})
        group = make("security-groups", "security_group", {"name": "start%d" % i})
        world.objects["net"].append(net), world.objects["sub"].append(sub), world.objects["group"].append(group)


def load(world, options):
    stop = []
    errors = []

    def work(number):
        client = Client(world, options.seed * 1000 + number)
        try:
            while world.count < options.operations and not stop:
                client.act()
        except Exception as error:  # What ends one client ends the test.
            import traceback
            errors.append(traceback.format_exc())
            stop.append(error)

    start = time.monotonic()
    threads = [threading.Thread(target=work, args=(number,)) for number in range(options.clients)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        for thread in threads:
            thread.join(2)
        if options.verbose:
            print("%6.0f s: %d operations" % (time.monotonic() - start, world.count), flush=True)
    if errors:
        raise SystemExit(errors[0])
    return time.monotonic() - start


def report(world, took):
    print("%d operations in %.0f s" % (world.count, took))
    for name in sorted(world.servers):
        of = {key: count for key, count in world.statuses.items() if key[0] == name}
        ranges = collections.Counter()
        for (_, _, status), count in of.items():
            ranges[status // 100] += count
        print("  %-9s %5d: %s" % (name, sum(of.values()), ", ".join("%d answers %dxx" % (count, hundred) for hundred, count in sorted(ranges.items()))))
        for method in ("GET", "POST", "PUT", "DELETE"):
            times = sorted(world.times[name, method])
            if times:
                print("    %-6s %5d  p50 %.0f ms, p99 %.0f ms" % (method, len(times), times[len(times) // 2] * 1000, times[int(len(times) * 0.99)] * 1000))
    for key, count in sorted(world.faults.items()):
        print("  %s answered %d %d times to %s %s: %s\n      %s" % (key[0], key[1], count, key[2], key[3], key[4], world.samples[key]))


def lost(world):
    """Acknowledged objects that nobody deleted, and that are not there."""
    ours = world.servers["ours"]
    wrong = []
    there = {}
    for path in list(world.made):
        status, body = ours.call("admin", "GET", path, None)
        if status == 200:
            there[path] = {item["id"] for item in next(iter(body.values()))}
    for path, made in world.made.items():
        for identity, item in made.items():
            if path not in there or identity in there[path] or identity in world.deleted:
                continue
            parent, attribute = PARENTS.get(path, (None, None))
            if parent and item.get(attribute) not in there.get(parent, ()):
                continue
            # A rule goes with the group that it lets in.
            if path == "security-group-rules" and item.get("remote_group_id") and item["remote_group_id"] not in there.get("security-groups", ()):
                continue
            # A policy for all goes when the object is shared no longer, or deleted.
            if path in ("rbac-policies", "segments"):
                continue
            wrong.append("%s/%s was acknowledged, not deleted, and is not there" % (path, identity))
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", required=True)
    parser.add_argument("--reference", required=True)
    parser.add_argument("--operations", type=int, default=500)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--journal", help="every request and answer, a line each")
    parser.add_argument("--refused", help="descriptions that no object may have, a line each")
    parser.add_argument("--singles", type=int, default=200, help="objects of a collection that are also shown one by one")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    print("seed %d, %d clients" % (options.seed, options.clients), flush=True)
    world = World(options.ours, options.reference, options.journal)
    prepare(world)
    took = load(world, options)
    report(world, took)
    if world.journal:
        world.journal.flush()
    if options.refused:
        with open(options.refused, "w") as file:
            file.write("".join(mark + "\n" for mark in world.refused))
    wrong = ["ours answered %d to %s %s: %s" % key[1:] for key in world.faults if key[0] == "ours"]
    wrong += lost(world)
    wrong += alike.compare(world, options.singles)
    for line in wrong[:200]:
        print("WRONG: " + line)
    print("shared database: %d operations, %d wrong" % (world.count, len(wrong)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
