"""A Keystone on 127.0.0.1:5000 with SQLite, as small as the suites need it.

identity.py DIRECTORY prepare   make its database and keys
identity.py DIRECTORY serve     serve it, until ended
identity.py DIRECTORY fill      wait until it answers; make the service's user, its roles and the catalog
"""

import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.error
import urllib.request

URL = "http://127.0.0.1:5000/v3"
NETWORK = "http://127.0.0.1:9696"
CONFIG = """\
[DEFAULT]
log_file = {home}/keystone.log
[database]
connection = sqlite:///{home}/keystone.db
[fernet_tokens]
key_repository = {home}/fernet
[credential]
key_repository = {home}/credential
[token]
expiration = 86400
[identity]
password_hash_rounds = 4
[cache]
enabled = true
backend = dogpile.cache.memory
"""


def prepare(home):
    for name in ("", "fernet", "credential"):
        (home / name).mkdir(parents=True, exist_ok=True)
    (home / "keystone.conf").write_text(CONFIG.format(home=home))
    manage = [str(pathlib.Path(sys.executable).parent / "keystone-manage"), "--config-file", str(home / "keystone.conf")]
    owner = ["--keystone-user", "root", "--keystone-group", "root"]
    endpoints = [f"--bootstrap-{kind}-url={URL}" for kind in ("admin", "internal", "public")]
    for command in (
        ["db_sync"],
        ["fernet_setup", *owner],
        ["credential_setup", *owner],
        ["bootstrap", "--bootstrap-password=secret", "--bootstrap-region-id=RegionOne", *endpoints],
    ):
        subprocess.run(manage + command, check=True)


def serve(home):
    os.environ["OS_KEYSTONE_CONFIG_DIR"] = str(home)
    os.environ["OS_KEYSTONE_CONFIG_FILES"] = "keystone.conf"
    sys.argv = ["keystone"]
    import waitress
    from keystone.server.wsgi import initialize_public_application

    waitress.serve(initialize_public_application(), listen="127.0.0.1:5000", threads=1)


class Api:
    def __init__(self):
        self.token = None

    def send(self, method, path, body=None):
        request = urllib.request.Request(URL + path, method=method)
        request.add_header("Content-Type", "application/json")
        if self.token:
            request.add_header("X-Auth-Token", self.token)
        data = json.dumps(body).encode() if body is not None else None
        with urllib.request.urlopen(request, data, timeout=60) as answer:
            text = answer.read()
            return answer.headers, json.loads(text) if text else None

    def log_in(self):
        domain = {"id": "default"}
        user = {"name": "admin", "password": "secret", "domain": domain}
        scope = {"project": {"name": "admin", "domain": domain}}
        identity = {"methods": ["password"], "password": {"user": user}}
        headers, _ = self.send("POST", "/auth/tokens", {"auth": {"identity": identity, "scope": scope}})
        self.token = headers["X-Subject-Token"]

    def create(self, noun, plural=None, **attributes):
        plural = plural or noun + "s"
        return self.send("POST", f"/{plural}", {noun: attributes})[1][noun]["id"]


def fill(_):
    api = Api()
    deadline = time.monotonic() + 120
    while True:
        try:
            api.log_in()
            break
        except (urllib.error.URLError, OSError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
    project = api.create("project", name="service", domain_id="default")
    user = api.create("user", name="neutron", password="secret", domain_id="default", default_project_id=project)
    roles = {role["name"]: role["id"] for role in api.send("GET", "/roles")[1]["roles"]}
    for name in ("admin", "service"):
        role = roles.get(name) or api.create("role", name=name)
        api.send("PUT", f"/projects/{project}/users/{user}/roles/{role}")
    service = api.create("service", name="neutron", type="network")
    for interface in ("public", "internal", "admin"):
        api.create("endpoint", interface=interface, region_id="RegionOne", service_id=service, url=NETWORK)


if __name__ == "__main__":
    {"prepare": prepare, "serve": serve, "fill": fill}[sys.argv[2]](pathlib.Path(sys.argv[1]) / "identity")
