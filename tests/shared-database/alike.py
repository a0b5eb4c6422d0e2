"""Whether two servers on one database say the same. What differs by name is listed here, each with its reason; docs/compat.md has them too."""

import collections
import json
import random

COLLECTIONS = [
    "networks", "subnets", "ports", "subnetpools", "address-scopes", "segments", "security-groups", "security-group-rules", "address-groups", "rbac-policies",
    "network_segment_ranges", "agents", "quotas", "network-ip-availabilities", "default-security-group-rules", "availability_zones",
]
# The project of which the quota of networks is full.
LIMITED, LIMIT = "1" * 32, 20
ROLES = ["member", "other", "reader", "spare"]

# Attributes of extensions that are not built yet.
LATER = set(
    "qos_policy_id qos_network_policy_id numa_affinity_policy hints trusted device_profile hardware_offload_type propagate_uplink_status pvlan pvlan_type pvlan_community "
    "resource_request trunk_details vlan_transparent vlan_qinq ha".split()
)
# Lists without an order of their own.
SETS = {
    "tags", "allocation_pools", "prefixes", "subnets", "service_types", "availability_zones", "fixed_ips", "dns_assignment", "allowed_address_pairs", "extra_dhcp_opts",
    "host_routes", "availability_zone_hints", "subnet_ip_availability", "security_groups", "security_group_rules", "addresses", "segments", "available",
}


def normal(path, value, key=None):
    if isinstance(value, dict):
        value = {name: normal(path, item, name) for name, item in value.items() if name not in LATER}
        if path == "networks":
            # Ours always, the reference for external ones only.
            value.pop("is_default", None)
        if key == "security_group_rules":
            # Shown inside groups by the reference; ours names the flag as in the rule itself.
            value.pop("standard_attr_id", None)
        if path == "network_segment_ranges":
            # Left out by the reference where they are empty, and the old name of the project for shared ones.
            value.pop("tenant_id", None)
            for name in ("name", "project_id", "updated_at"):
                if value.get(name, "") is None:
                    value.pop(name)
        if path == "address-groups":
            # The old name of the project: now and then left out by the reference, where a group is shown alone.
            value.pop("tenant_id", None)
        if path.startswith("security-group"):
            # Null in lists of the reference.
            value.pop("belongs_to_default_sg", None)
        return value
    if isinstance(value, int) and value > 1 << 63:
        # Address counts beyond what JSON numbers of most clients hold.
        return float(value)
    if isinstance(value, list):
        items = [normal(path, item, key) for item in value]
        if key in SETS:
            items.sort(key=lambda item: json.dumps(item, sort_keys=True))
        return items
    return value


def only_administrators(path, value):
    """Provider attributes are for administrators by the policy of both. Lists of the reference hide from others what the first network of the page
    has of them: those of several segments when it has several, those of one segment when it has one, and show the rest."""
    if path != "networks":
        return value
    return {name: item for name, item in value.items() if name != "segments" and not name.startswith("provider:")}


def by_id(body):
    value = next(iter(body.values()))
    if not isinstance(value, list):
        return {"": value}
    key = lambda item: item.get("id") or item.get("network_id") or item.get("project_id") or item.get("host") or "%s %s" % (item.get("name"), item.get("resource"))
    return {key(item): item for item in value}


def whole(server, role, path):
    """A collection, page by page."""
    paged = path in ("networks", "subnets", "ports", "security-group-rules", "security-groups")
    found, marker = {}, None
    while True:
        query = "?limit=500" + ("&marker=" + marker if marker else "") if paged else ""
        status, body = server.call(role, "GET", path + query, None)
        if status != 200:
            return status, {}
        page = by_id(body)
        found.update(page)
        if not paged or len(page) < 500:
            return status, found
        marker = next(reversed(page))


def compare(world, singles):
    ours, reference = world.servers["ours"], world.servers["reference"]
    wrong = []
    kinds = collections.defaultdict(list)
    counts = {}
    # Networks by role.
    seen = {}

    def same(path, identity, one, other, how):
        one, other = normal(path, one), normal(path, other)
        if how.startswith("list of ") and not how.endswith("admin"):
            one, other = only_administrators(path, one), only_administrators(path, other)
        if path == "ports" and not one.get("binding:vif_details") and list(other.get("binding:vif_details", ())) == ["bound_drivers"]:
            # Drivers of a binding that is not the active one.
            other["binding:vif_details"] = one["binding:vif_details"]
        if one == other:
            return
        if isinstance(one, dict) and isinstance(other, dict):
            for name in sorted(one.keys() | other.keys()):
                if one.get(name, "(absent)") != other.get(name, "(absent)"):
                    kinds[path, name, how].append("%s: ours %s, reference %s" % (identity, json.dumps(one.get(name, "(absent)"))[:300], json.dumps(other.get(name, "(absent)"))[:300]))
        else:
            kinds[path, "", how].append("%s: ours %s, reference %s" % (identity, str(one)[:300], str(other)[:300]))

    def lists(role, path):
        (status, mine), (their_status, theirs) = whole(ours, role, path), whole(reference, role, path)
        if status != their_status:
            kinds[path, "status", role].append("ours %s, reference %s" % (status, their_status))
        for identity in mine.keys() - theirs.keys():
            if path == "subnets" and role != "admin" and mine[identity]["network_id"] in seen[role]:
                # Subnets of others on a project's own network: the policy shows them, the reference's query leaves them out.
                continue
            kinds[path, "only ours lists it", role].append(identity + " " + json.dumps(mine[identity])[:300])
        for identity in theirs.keys() - mine.keys():
            kinds[path, "only the reference lists it", role].append(identity + " " + json.dumps(theirs[identity])[:300])
        for identity in mine.keys() & theirs.keys():
            same(path, identity, mine[identity], theirs[identity], "list of " + role)
        if path == "networks":
            seen[role] = mine
        return mine

    def one(role, path):
        (status, mine), (their_status, theirs) = ours.call(role, "GET", path, None), reference.call(role, "GET", path, None)
        kind = path.split("/")[0]
        if status != their_status:
            kinds[kind, "status", role].append("%s: ours %s, reference %s" % (path, status, their_status))
        elif status == 200:
            mine, theirs = next(iter(mine.values())), next(iter(theirs.values()))
            if isinstance(mine, list) and mine + theirs and isinstance((mine + theirs)[0], dict):
                # Which networks an agent serves, and which agents a network has; the objects themselves are compared elsewhere.
                mine, theirs = ([item.get("id") or item for item in value] for value in (mine, theirs))
                mine, theirs = (sorted(value, key=lambda item: json.dumps(item, sort_keys=True)) for value in (mine, theirs))
            same(path.split("/")[-1] if path.count("/") > 1 else kind, path, mine, theirs, "object")

    chance = random.Random(0)
    all_of = {}
    for path in COLLECTIONS:
        mine = all_of[path] = lists("admin", path)
        counts[path] = len(mine)
        if path in ("quotas", "availability_zones"):
            continue
        for identity in chance.sample(sorted(mine), min(len(mine), singles)):
            one("admin", "%s/%s" % (path, identity))
    for role in ROLES:
        for path in COLLECTIONS[:11]:
            lists(role, path)
    some = lambda path: chance.sample(sorted(all_of[path]), min(len(all_of[path]), max(singles // 4, 10)))
    for identity in some("networks"):
        one("admin", "networks/%s/dhcp-agents" % identity)
        one("admin", "networks/%s/tags" % identity)
    for identity in some("ports"):
        one("service", "ports/%s/bindings" % identity)
        one("admin", "ports/%s/tags" % identity)
    for identity in all_of["agents"]:
        one("admin", "agents/%s/dhcp-networks" % identity)
    for project in sorted(world.projects.values()) + [LIMITED]:
        for path in ("", "/default", "/details.json"):
            one("admin", "quotas/%s%s" % (project, path))
    print("compared: " + ", ".join("%d %s" % (count, path) for path, count in counts.items()))
    for (path, name, how), found in sorted(kinds.items()):
        wrong.append("%s %s (%s): %d; %s" % (path, name, how, len(found), "; ".join(found[:3])))
    return wrong
