"""Runs a scenario against a server and makes its answers comparable with those of another."""

import json
import re

import generator

NAME = re.compile(r"\$\{(\w+)\}")
PROJECT = re.compile(r"%\{(\w+)\}")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
HEX = re.compile(r"\b[0-9a-f]{32}\b")
TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?")
MAC = re.compile(r"\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b")
TOKEN = re.compile(r"[0-9a-fA-F:.\-]+|\w+")

# What a server chooses by chance, unless the request named it.
CHANCE = {"ip_address", "hostname", "fqdn", "mac_address"}
NUMBERS = {"provider:segmentation_id", "segmentation_id"}
# Lists without an order of their own.
SETS = {
    "tags", "allocation_pools", "prefixes", "subnets", "service_types", "availability_zones", "fixed_ips", "dns_assignment", "allowed_address_pairs",
    "extra_dhcp_opts", "host_routes", "availability_zone_hints", "subnet_ip_availability",
}


class Run:
    """One scenario on one server: what its names stand for, what the requests named, what has to go afterwards."""

    def __init__(self, server):
        self.server = server
        self.ids = {}
        self.made = []
        self.asked = set()
        self.projects = {value: "%%{%s}" % name for name, value in server.projects.items()}

    def fill(self, text):
        text = NAME.sub(lambda match: self.ids.get(match.group(1), generator.ABSENT), text)
        return PROJECT.sub(lambda match: self.server.projects[match.group(1)], text)

    def step(self, step):
        path = self.fill(step["path"])
        data = None
        if "raw" in step:
            data = step["raw"].encode()
        elif "body" in step:
            data = self.fill(json.dumps(step["body"])).encode()
        # Not what the names stand for: those differ between servers.
        said = NAME.sub("", step["path"] + " " + json.dumps(step.get("body", "")))
        self.asked.update(token.lower() for token in TOKEN.findall(said))
        status, body = self.server.call(step["role"], step["method"], path, data)
        if step["method"] == "POST" and status == 201 and isinstance(body, dict):
            self.note(path, step.get("save"), body)
        fault = body.get("NeutronError") if isinstance(body, dict) else None
        if fault is not None or status >= 400:
            return {"status": status, "type": fault.get("type") if isinstance(fault, dict) else None}
        answer = {"status": status}
        if body is not None:
            answer["answer"] = self.plain(body)
        return answer

    def note(self, path, save, body):
        value = next(iter(body.values()), None)
        for made in value if isinstance(value, list) else [value]:
            if isinstance(made, dict) and isinstance(made.get("id"), str):
                self.made.append("%s/%s" % (path.split("?")[0], made["id"]))
                if save and not isinstance(value, list):
                    self.ids[save] = made["id"]

    # Comparable answers.

    def text(self, key, value):
        if key in CHANCE and value and value.lower() not in self.asked:
            return "<chance>"
        for name, known in self.ids.items():
            value = value.replace(known, "${%s}" % name)
        for known, name in self.projects.items():
            value = value.replace(known, name)
        value = TIME.sub("<time>", value)
        value = UUID.sub(lambda match: match.group(0) if match.group(0) in self.asked or match.group(0).startswith("a0000000") else "<id>", value)
        value = HEX.sub("<hex>", value)
        value = MAC.sub(lambda match: match.group(0) if match.group(0) in self.asked else "<chance>", value)
        return value.replace(self.server.base, "<base>")

    def plain(self, value, key=None):
        if isinstance(value, dict):
            return {self.text(None, name): self.plain(item, name) for name, item in value.items()}
        if isinstance(value, list):
            items = [self.plain(item, key) for item in value]
            # Objects of a list come in the order of their ids.
            if key in SETS or any(isinstance(item, dict) and "id" in item for item in items):
                items.sort(key=lambda item: json.dumps(item, sort_keys=True))
            return items
        if isinstance(value, str):
            return self.text(key, value)
        # Tenant networks get small numbers; requests name larger ones.
        if key in NUMBERS and isinstance(value, int) and (value < 1000 or str(value) not in self.asked):
            return "<chance>"
        return value

    # The end.

    def clean(self):
        """Removes what the scenario made; what could not be removed."""
        call = lambda method, path, body=None: self.server.call("admin", method, path, json.dumps(body).encode() if body is not None else None)
        call("DELETE", "quotas/" + self.server.projects["p3"])
        for agent in set(generator.AGENTS.values()):
            call("PUT", "agents/" + agent, {"agent": {"description": ""}})
        left = self.made
        for attempt in range(3):
            rest = []
            for path in reversed(left):
                status, _ = call("DELETE", path)
                if status not in (204, 404):
                    rest.insert(0, path)
                    if path.startswith("ports/"):
                        call("PUT", path, {"port": {"device_owner": ""}})
            left = rest
            if not left:
                break
        return left


def differences(want, got, at=""):
    """What differs between two comparable answers: path, one, the other."""
    if isinstance(want, dict) and isinstance(got, dict):
        for name in sorted(want.keys() | got.keys()):
            path = "%s.%s" % (at, name) if at else name
            if name not in got:
                yield path, want[name], "(absent)"
            elif name not in want:
                yield path, "(absent)", got[name]
            else:
                yield from differences(want[name], got[name], path)
    elif isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        for item in zip(want, got):
            yield from differences(*item, at + "[]")
    elif want != got or isinstance(want, bool) != isinstance(got, bool):
        if "<chance>" in (want, got) and at.rsplit(".", 1)[-1] in CHANCE:
            return
        yield at, want, got
