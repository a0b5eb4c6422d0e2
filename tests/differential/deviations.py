"""What differs from the reference on purpose. Every reason stands in docs/compat.md."""

import json

# Attributes of extensions that are not built yet, those that count what each server does inside, and zones, which follow from scheduling.
LATER = set(
    "security_groups qos_policy_id qos_network_policy_id numa_affinity_policy hints trusted device_profile hardware_offload_type "
    "propagate_uplink_status pvlan pvlan_type pvlan_community resource_request trunk_details vlan_transparent vlan_qinq ha "
    "security_group security_group_rule router floatingip trunk rbac_policy revision_number is_default bound_drivers heartbeat_timestamp "
    "started_at resource_versions availability_zones".split()
)


def without_later(value):
    if isinstance(value, dict):
        return {name: without_later(item) for name, item in value.items() if name not in LATER}
    if isinstance(value, list):
        return [without_later(item) for item in value]
    return value


def ordered(value):
    """Lists of objects by what is compared of them; those made in bulk, which have no name, are left out."""
    if isinstance(value, dict):
        return {name: ordered(item) for name, item in value.items()}
    if isinstance(value, list):
        items = [ordered(item) for item in value if not (isinstance(item, dict) and item.get("id") == "<id>")]
        if any(isinstance(item, dict) and "id" in item for item in items):
            items.sort(key=lambda item: (str(item.get("id")), json.dumps(item, sort_keys=True)))
        return items
    return value


def cut(answer, step):
    lists = step["method"] == "GET"
    return {name: (ordered if lists else lambda value: value)(without_later(value)) if name == "answer" else value for name, value in answer.items()}


# Reason, and whether it explains the difference.
RULES = []


def rule(why):
    def add(function):
        RULES.append((why, function))
        return function

    return add


def excuse(step, want, got, found):
    for why, explains in RULES:
        if explains(step, want, got, found):
            return why
    return None


def given(step, *kinds):
    """The object of a request's body."""
    body = step.get("body")
    value = next(iter(body.values()), None) if isinstance(body, dict) and body else None
    return value if isinstance(value, dict) else {}


def bulk(step):
    body = step.get("body")
    return step["method"] == "POST" and isinstance(body, dict) and any(isinstance(value, list) for value in body.values())


def only(found, *names):
    """Whether nothing differs but these attributes, wherever they are."""
    return all(path.replace("[]", "").split(".")[-1] in names for path, _, _ in found)


def refused(got):
    return 400 <= got["status"] < 500


@rule("no user error is a fault of the server")
def _(step, want, got, found):
    return want["status"] >= 500 and want["status"] != 503 and refused(got)


@rule("bulk creation of subnet pools, address scopes and segments")
def _(step, want, got, found):
    return bulk(step) and step["path"] in ("subnetpools", "address-scopes", "segments")


@rule("PUT of a subnet pool answers as GET")
def _(step, want, got, found):
    return step["path"].startswith("subnetpools/") and only(found, "address_scope_id", "default_prefixlen", "default_quota", "max_prefixlen", "min_prefixlen")


@rule("fractions and true for a number")
def _(step, want, got, found):
    return refused(got) and any(isinstance(given(step).get(name), bool) for name in ("mtu", "minimum", "maximum", "ip_version", "segmentation_id", "default_prefixlen", "min_prefixlen", "max_prefixlen", "default_quota", "prefixlen"))


@rule("numbers for mac_address, binding:host_id")
def _(step, want, got, found):
    body = given(step)
    return refused(got) and any(name in body and body[name] is not None and not isinstance(body[name], str) for name in ("mac_address", "binding:host_id", "host", "device_id"))


@rule("DHCP scheduling: with the first subnet that has DHCP")
def _(step, want, got, found):
    return "dhcp-agents" in step["path"] or "dhcp-networks" in step["path"] and not isinstance(given(step), int) and step.get("body", {}).get("network_id") != 5


@rule("scheduling of what is no id")
def _(step, want, got, found):
    return "dhcp-networks" in step["path"] and step.get("body", {}).get("network_id") == 5 and got["status"] == 400


@rule("objects of other projects: their tags")
def _(step, want, got, found):
    return "/tags" in step["path"] and want["status"] == 403 and got["status"] == 404


@rule("whoever sees an object sees its tags")
def _(step, want, got, found):
    return step["role"] == "service" and only(found, "tags", "subnet_id")


@rule("agents for those who may not see them")
def _(step, want, got, found):
    return step["path"].startswith("agents/") and want.get("type") == "HTTPNotFound" and got.get("type") == "AgentNotFound"


@rule("which of several subnets a port gets its address from")
def _(step, want, got, found):
    return "port" in step["path"] and only(found, "subnet_id")


@rule("pages without a sort key, in the order of random ids")
def _(step, want, got, found):
    return only(found, "href")


@rule("names in filters")
def _(step, want, got, found):
    return step["method"] == "GET" and ("description=" in step["path"] or "name=" in step["path"]) and want["status"] == got["status"] == 200


@rule("project_id of a shared network segment range, name of a default one")
def _(step, want, got, found):
    return step["path"].startswith("network_segment_ranges") and only(found, "tenant_id", "project_id")


@rule("bodies that are not JSON: one type, and looked at where a body can be")
def _(step, want, got, found):
    return "raw" in step and want["status"] == 400 and got["status"] in (400, 404, 405)


@rule("two mistakes in one request: the server tells the one that it meets first")
def _(step, want, got, found):
    if want["status"] != 400 or got["status"] != 400:
        return False
    path, body = step["path"], given(step)
    foreign = step["role"] != "admin" and "project_id" in body
    limits = "limit=" in path and ("&" in path)
    return foreign or limits or len(body) > 2


@rule("subnets of others on a project's own network")
def _(step, want, got, found):
    return step["role"] in ("member", "reader", "manager") and (only(found, "fixed_ips", "dns_assignment") or step["path"].startswith("subnets") and step["method"] == "GET" and got["status"] == 200)


@rule("a port without an active binding")
def _(step, want, got, found):
    return step["path"].startswith("ports") and only(found, "binding:vnic_type")
