//! What only a real Keystone shows of tokens: roles, scopes, revocation, an outage.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::Duration;

use api::Api;
use linux::Program;
use linux::proc::Child;
use serde_json::{Value, json};

use crate::tests::{check, environment};

const PREPARE: Duration = Duration::from_secs(180);
const GRACE: Duration = Duration::from_secs(10);

struct Keystone {
    home: tempfile::TempDir,
    bin: PathBuf,
    /// With `/v3`.
    url: String,
    listen: String,
    running: Option<Child>,
    client: ureq::Agent,
}

impl Drop for Keystone {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Keystone {
    /// With an administrator `admin`, password `secret`, and the user `neutron` in the project `service`.
    fn start() -> Keystone {
        let bin = environment("keystone").parent().unwrap().to_owned();
        let home = tempfile::tempdir().unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let dir = home.path().display().to_string();
        let conf = format!(
            "[DEFAULT]\nlog_file = {dir}/keystone.log\n[database]\nconnection = sqlite:///{dir}/keystone.db\n[fernet_tokens]\n\
             key_repository = {dir}/fernet\n[credential]\nkey_repository = {dir}/credential\n[identity]\npassword_hash_rounds = 4\n\
             [token]\nallow_expired_window = 3600\n"
        );
        fs::write(home.path().join("keystone.conf"), conf).unwrap();
        fs::write(
            home.path().join("wsgi.py"),
            format!(
                "import os, sys\nsys.argv = ['keystone']\nos.environ['OS_KEYSTONE_CONFIG_DIR'] = '{dir}'\n\
                 os.environ['OS_KEYSTONE_CONFIG_FILES'] = 'keystone.conf'\n\
                 from keystone.server.wsgi import initialize_public_application\napplication = initialize_public_application()\n"
            ),
        )
        .unwrap();
        for keys in ["fernet", "credential"] {
            fs::create_dir(home.path().join(keys)).unwrap();
        }
        let url = format!("http://{free}/v3");
        let manage = |arguments: &[&str]| {
            let program = Program::new(bin.join("keystone-manage"))
                .args(["--config-file".into(), format!("{dir}/keystone.conf")]);
            check(program.args(arguments), PREPARE, &format!("keystone-manage {arguments:?}"));
        };
        manage(&["db_sync"]);
        manage(&["fernet_setup", "--keystone-user", "root", "--keystone-group", "root"]);
        manage(&["credential_setup", "--keystone-user", "root", "--keystone-group", "root"]);
        manage(&[
            "bootstrap",
            "--bootstrap-password=secret",
            "--bootstrap-region-id=RegionOne",
            &format!("--bootstrap-admin-url={url}"),
            &format!("--bootstrap-internal-url={url}"),
            &format!("--bootstrap-public-url={url}"),
        ]);
        let client = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
        let mut keystone = Keystone { home, bin, url, listen: free.to_string(), running: None, client };
        keystone.run();
        let admin = keystone.token("admin", "admin").unwrap();
        let project = keystone.make(&admin, "project", json!({"name": "service"}));
        let user = keystone.make(&admin, "user", json!({"name": "neutron", "password": "secret"}));
        let service = keystone.role(&admin, "service");
        keystone.grant(&admin, &project, &user, &service);
        keystone
    }

    fn run(&mut self) {
        let program = Program::new(self.bin.join("waitress-serve"))
            .args([format!("--listen={}", self.listen), "--threads=2".into(), "wsgi:application".into()])
            .env("PYTHONPATH", self.home.path());
        self.running = Some(program.spawn_logging(&self.home.path().join("out")).unwrap());
        testkit::eventually(PREPARE, || self.client.get(&self.url).call().is_ok());
    }

    fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop(GRACE).unwrap();
        }
    }

    fn ask(&self, method: &str, token: &str, path: &str, body: &Value) -> (u16, Value) {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("X-Auth-Token", token)
            .header("Content-Type", "application/json");
        let mut response = if body.is_null() {
            self.client.run(request.body(()).unwrap()).unwrap()
        } else {
            self.client.run(request.body(body.to_string()).unwrap()).unwrap()
        };
        let text = response.body_mut().read_to_string().unwrap();
        (response.status().as_u16(), serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    fn make(&self, token: &str, kind: &str, mut object: Value) -> String {
        if kind != "role" {
            object["domain_id"] = json!("default");
        }
        let (status, body) = self.ask("POST", token, &format!("/{kind}s"), &json!({kind: object}));
        assert_eq!(status, 201, "{body}");
        body[kind]["id"].as_str().unwrap().to_owned()
    }

    /// The id of a role, made if it is not there.
    fn role(&self, token: &str, name: &str) -> String {
        let (_, found) = self.ask("GET", token, &format!("/roles?name={name}"), &Value::Null);
        let found = found["roles"][0]["id"].as_str().map(str::to_owned);
        found.unwrap_or_else(|| self.make(token, "role", json!({"name": name})))
    }

    fn grant(&self, token: &str, project: &str, user: &str, role: &str) {
        let path = format!("/projects/{project}/users/{user}/roles/{role}");
        assert_eq!(self.ask("PUT", token, &path, &Value::Null).0, 204);
    }

    fn log_in(&self, user: &str, scope: &Value) -> Option<String> {
        let identity = json!({"methods": ["password"], "password": {"user": {
            "name": user, "domain": {"id": "default"}, "password": "secret",
        }}});
        let request =
            ureq::http::Request::post(format!("{}/auth/tokens", self.url)).header("Content-Type", "application/json");
        let body = json!({"auth": {"identity": identity, "scope": scope}}).to_string();
        let response = self.client.run(request.body(body).unwrap()).unwrap();
        Some(response.headers().get("X-Subject-Token")?.to_str().unwrap().to_owned())
    }

    /// A token of a user, whose password is `secret`, in a project.
    fn token(&self, user: &str, project: &str) -> Option<String> {
        self.log_in(user, &json!({"project": {"name": project, "domain": {"id": "default"}}}))
    }

    fn revoke(&self, token: &str) {
        let request = ureq::http::Request::delete(format!("{}/auth/tokens", self.url));
        let request = request.header("X-Auth-Token", token).header("X-Subject-Token", token);
        assert_eq!(self.client.run(request.body(()).unwrap()).unwrap().status().as_u16(), 204);
    }
}

#[test]
fn tokens_of_a_real_keystone_open_the_api() {
    let mut keystone = Keystone::start();
    let options = format!(
        "[DEFAULT]\nauth_strategy = keystone\n[keystone_authtoken]\nauth_url = {0}\nwww_authenticate_uri = {0}\nauth_type = password\n\
         username = neutron\npassword = secret\nuser_domain_name = Default\nproject_name = service\n\
         project_domain_name = Default\ntoken_cache_time = -1\nhttp_request_max_retries = 0\n",
        keystone.url.trim_end_matches("/v3")
    );
    let api = Api::with(&options);
    let with = |token: &str| api.header("X-Auth-Token", token);

    let refused = api.get("networks");
    assert_eq!(refused.status, 401);
    let uri = keystone.url.trim_end_matches("/v3");
    assert_eq!(refused.headers["www-authenticate"], format!("Keystone uri=\"{uri}\"").as_str());
    assert_eq!(with("gAAAA").get("networks").status, 401);

    // Two projects, with users of every role.
    let admin = keystone.token("admin", "admin").unwrap();
    let mut tokens = std::collections::HashMap::new();
    for project in ["red", "blue"] {
        let id = keystone.make(&admin, "project", json!({"name": project}));
        for role in ["manager", "member", "reader"] {
            let name = format!("{project}-{role}");
            let user = keystone.make(&admin, "user", json!({"name": name, "password": "secret"}));
            keystone.grant(&admin, &id, &user, &keystone.role(&admin, role));
            tokens.insert(name.clone(), keystone.token(&name, project).unwrap());
        }
        let (_, shown) = keystone.ask("GET", &admin, &format!("/projects/{id}"), &Value::Null);
        let own = with(&tokens[&format!("{project}-member")]).post("networks", json!({"network": {"name": project}}));
        assert_eq!(own.status, 201, "{}", own.text);
        assert_eq!(own.json()["network"]["project_id"], shown["project"]["id"]);
        assert!(own.json()["network"].get("provider:network_type").is_none());
    }
    assert_eq!(with(&tokens["red-reader"]).post("networks", json!({"network": {}})).status, 403);
    let seen = with(&tokens["red-reader"]).get("networks?fields=name");
    assert_eq!(seen.json()["networks"], json!([{"name": "red"}]));
    let all = with(&admin).get("networks?fields=name&sort_key=name&sort_dir=asc");
    assert_eq!(all.json()["networks"], json!([{"name": "blue"}, {"name": "red"}]));
    // Headers say nothing here.
    let forged = with(&tokens["red-member"]).header("X-Roles", "admin").get("agents");
    assert_eq!(forged.json()["agents"], json!([]));

    // Tokens for the system are not for projects' objects.
    let system = keystone.log_in("admin", &json!({"system": {"all": true}})).unwrap();
    assert_eq!(with(&system).post("networks", json!({"network": {}})).status, 403);

    let revoked = keystone.token("red-member", "red").unwrap();
    assert_eq!(with(&revoked).get("networks").status, 200);
    keystone.revoke(&revoked);
    assert_eq!(with(&revoked).get("networks").status, 401);

    // Who is known may go on while Keystone is away; others have to wait.
    let stranger = keystone.token("blue-member", "blue").unwrap();
    keystone.stop();
    assert_eq!(with(&tokens["red-reader"]).get("networks").status, 200);
    assert_eq!(with(&stranger).get("networks").status, 503);
    keystone.run();
    testkit::eventually(PREPARE, || with(&stranger).get("networks").status == 200);
}
