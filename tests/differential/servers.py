"""Clients of the two servers, with the same users on each."""

import http.client
import json
import urllib.parse

# Role: project, user, roles.
USERS = {
    "admin": ("admin", "admin", "admin,manager,member,reader"), "member": ("p1", "m1", "member,reader"), "reader": ("p1", "r1", "reader"),
    "manager": ("p1", "g1", "manager,member,reader"), "other": ("p2", "m2", "member,reader"), "service": ("service", "svconly", "service"),
    "spare": ("p3", "m3", "member,reader"),
}


def request(base, method, path, data=None, headers=None):
    """Status and JSON (text where it is none) of an answer."""
    url = urllib.parse.urlsplit(base)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=120)
    try:
        headers = dict(headers or {})
        if data is not None:
            headers["Content-Type"] = "application/json"
        connection.request(method, url.path.rstrip("/") + path, body=data, headers=headers)
        answer = connection.getresponse()
        text = answer.read()
        headers = {name.lower(): value for name, value in answer.getheaders()}
    finally:
        connection.close()
    try:
        return answer.status, headers, json.loads(text) if text else None
    except ValueError:
        return answer.status, headers, text.decode("utf-8", "replace")


class Plain:
    """A server that takes identities from headers."""

    def __init__(self, base):
        self.base = base.rstrip("/")
        self.projects = {name: name[0] * 2 + format(i, "030x") for i, name in enumerate(("admin", "p1", "p2", "p3", "service"))}

    def headers(self, role):
        project, user, roles = USERS[role]
        return {"X-Project-Id": self.projects[project], "X-User-Id": user, "X-Roles": roles}

    def call(self, role, method, path, data):
        status, _, body = request(self.base, method, "/v2.0/" + path, data, self.headers(role))
        return status, body


class Tokens(Plain):
    """A server behind Keystone; the projects and users are made there if they are not."""

    def __init__(self, base, keystone, password):
        self.base, self.keystone, self.password = base.rstrip("/"), keystone.rstrip("/"), password
        admin, project = self.token("admin", "admin")
        found = lambda path, key: {o["name"]: o["id"] for o in self.ask("GET", path, admin)[key]}
        self.projects, users, roles = found("/projects", "projects"), found("/users", "users"), found("/roles", "roles")
        self.tokens = {"admin": admin}
        for role, (project, user, names) in USERS.items():
            if role == "admin":
                continue
            if project not in self.projects:
                made = self.ask("POST", "/projects", admin, {"project": {"name": project, "domain_id": "default"}})
                self.projects[project] = made["project"]["id"]
            if user not in users:
                made = self.ask("POST", "/users", admin, {"user": {"name": user, "password": password, "domain_id": "default"}})
                users[user] = made["user"]["id"]
            self.ask("PUT", "/projects/%s/users/%s/roles/%s" % (self.projects[project], users[user], roles[names.split(",")[0]]), admin)
            self.tokens[role] = self.token(user, project)[0]

    def ask(self, method, path, token=None, body=None):
        data = json.dumps(body).encode() if body is not None else None
        status, _, answer = request(self.keystone, method, path, data, {"X-Auth-Token": token} if token else {})
        if status >= 300:
            raise SystemExit("Keystone: %s %s: %s %s" % (method, path, status, answer))
        return answer

    def token(self, user, project):
        domain = {"id": "default"}
        body = {"auth": {
            "identity": {"methods": ["password"], "password": {"user": {"name": user, "domain": domain, "password": self.password}}},
            "scope": {"project": {"name": project, "domain": domain}},
        }}
        status, headers, answer = request(self.keystone, "POST", "/auth/tokens", json.dumps(body).encode())
        if status != 201:
            raise SystemExit("Keystone: a token for %s: %s %s" % (user, status, answer))
        return headers["x-subject-token"], answer["token"]["project"]["id"]

    def headers(self, role):
        return {"X-Auth-Token": self.tokens[role]}
