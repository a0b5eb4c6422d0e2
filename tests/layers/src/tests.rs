//! Who may know whom (ARCHITECTURE.md): arrows between packages, libraries that only one of them may use, words that the
//! engines and the host may not know, and who may run programs. Every exception says why, and one that is not needed fails
//! too, so the lists can only shrink.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Packages by the folder they are in, and the folders that they may depend on. `*` stands for one name.
const ARROWS: &[(&str, &[&str])] = &[
    ("base/types", &[]),
    ("base/schema", &["base/types"]),
    ("engine/config", &["base/types"]),
    ("engine/tls", &[]),
    ("engine/messaging", &["base/types", "engine/tls"]),
    ("engine/store", &["base/*", "engine/tls"]),
    ("engine/policy", &["base/*"]),
    ("engine/identity", &["base/*", "engine/policy"]),
    ("engine/resource", &["base/*", "engine/store", "engine/policy"]),
    ("engine/rest", &["base/*", "engine/store", "engine/policy", "engine/resource", "engine/identity"]),
    ("rpc", &["base/types", "engine/messaging"]),
    ("domain/network", &["base/*", "engine/store", "engine/policy", "engine/resource", "rpc"]),
    ("domain/*", &["base/*", "engine/store", "engine/policy", "engine/resource", "rpc", "domain/network"]),
    ("drivers", &["base/*", "engine/store", "engine/policy", "engine/resource", "rpc", "domain/*"]),
    ("migrations", &["engine/store"]),
    ("host/*", &["base/types"]),
    ("agent/runtime", &["base/types", "rpc", "engine/messaging", "engine/config"]),
    (
        "agent/*",
        &["base/types", "rpc", "engine/messaging", "engine/config", "agent/runtime", "agent/firewall", "host/*"],
    ),
    ("server", &["base/*", "engine/*", "rpc", "domain/*", "drivers", "migrations"]),
    ("neutrino", &["base/*", "engine/*", "rpc", "migrations", "server", "agent/*", "host/*"]),
    ("testkit", &["base/*", "host/*"]),
    // From outside: whatever the test needs.
    (
        "tests/*",
        &[
            "base/*",
            "engine/*",
            "rpc",
            "migrations",
            "domain/*",
            "drivers",
            "host/*",
            "agent/*",
            "server",
            "neutrino",
            "testkit",
        ],
    ),
];

/// Arrows against the rule: from, to, why.
const ARROW_EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "domain/agents",
        "engine/messaging",
        "answers and contexts of calls are those of the contract, which has them from there",
    ),
    ("drivers", "engine/messaging", "l2 population sends over the bus that it is given"),
];

/// Libraries with one home.
const HOMES: &[(&str, &[&str])] = &[
    ("rusqlite", &["engine/store"]),
    ("sqlx", &["engine/store"]),
    ("mysql_async", &["engine/store"]),
    ("tokio-postgres", &["engine/store"]),
    ("tokio-postgres-rustls", &["engine/store"]),
    ("sea-query", &["engine/store"]),
    ("axum", &["engine/rest", "engine/identity", "server"]),
    ("hyper", &["engine/rest", "engine/identity"]),
    ("reqwest", &["engine/identity"]),
    ("saphyr", &["engine/policy"]),
    ("lapin", &["engine/messaging"]),
    ("netlink-packet-core", &["host/*"]),
    ("netlink-packet-route", &["host/*"]),
    ("netlink-sys", &["host/*"]),
    ("rtnetlink", &["host/*"]),
    ("nftables", &["host/*"]),
];

/// Nouns of the domains, beside the names of all tables.
const NOUNS: &[&str] =
    &["network", "subnet", "port", "router", "agent", "segment", "trunk", "subnetpool", "floatingip", "bgpvpn"];

/// Words that mean something else there: path, word, why.
const WORD_EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("engine/config/src/opt.rs", "port", "a TCP port"),
    ("engine/identity/src/keystone/client.rs", "agent", "the user agent of HTTP"),
    ("engine/messaging/src/amqp/", "port", "a TCP port"),
    ("engine/rest/src/", "router", "axum's name of what answers requests"),
    ("engine/rest/src/", "segment", "a part of a path"),
    ("engine/rest/src/if_match.rs", "tags", "entity tags of HTTP"),
    ("engine/store/src/address.rs", "port", "a TCP port"),
    ("engine/store/src/migrate/", "alembic_version", "the store's own table"),
    ("engine/store/src/mysql/", "port", "a TCP port"),
    ("engine/store/src/postgres/", "port", "a TCP port"),
    ("host/linux/src/link/", "port", "a UDP port of VXLAN"),
    ("host/linux/src/link/", "ports", "UDP ports of VXLAN"),
    ("host/linux/src/neigh/", "port", "a UDP port of VXLAN"),
    ("host/linux/src/", "network", "the kernel's network devices, in messages"),
];

/// Where programs may be started, beside `host/`: path, why.
const PROGRAM_EXCEPTIONS: &[(&str, &str)] = &[];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the package is in the workspace").to_owned()
}

fn fits(folder: &str, pattern: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => folder.strip_prefix(prefix).is_some_and(|name| !name.is_empty() && !name.contains('/')),
        None => folder == pattern,
    }
}

/// Folder of each package with the names of its dependencies and, for those of ours, their folders.
#[expect(clippy::disallowed_methods, reason = "a check of the tree, not a part of it; cargo alone knows the packages")]
fn packages() -> BTreeMap<String, Vec<(String, Option<String>)>> {
    let root = root();
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(&root)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    let folder = |path: &str| {
        let path = Path::new(path);
        path.strip_prefix(&root).ok().and_then(Path::to_str).map(str::to_owned)
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    metadata["packages"]
        .as_array()
        .expect("a list of packages")
        .iter()
        .map(|package| {
            let manifest = text(&package["manifest_path"]);
            let own = folder(manifest.trim_end_matches("/Cargo.toml")).expect("packages are in the workspace");
            let dependencies = package["dependencies"].as_array().expect("a list of dependencies");
            let used = dependencies
                .iter()
                .filter(|dependency| dependency["kind"] != "dev")
                .map(|dependency| (text(&dependency["name"]), folder(&text(&dependency["path"]))))
                .collect();
            (own, used)
        })
        .collect()
}

#[test]
fn arrows_point_down() {
    let mut wrong = Vec::new();
    let mut needed = BTreeSet::new();
    for (from, dependencies) in packages() {
        let Some((_, allowed)) = ARROWS.iter().find(|(pattern, _)| fits(&from, pattern)) else {
            wrong.push(format!("{from} has no place in the layers"));
            continue;
        };
        for to in dependencies.iter().filter_map(|(_, folder)| folder.as_deref()) {
            if allowed.iter().any(|pattern| fits(to, pattern)) {
                continue;
            }
            match ARROW_EXCEPTIONS.iter().find(|(a, b, _)| *a == from && *b == to) {
                Some(exception) => drop(needed.insert(exception)),
                None => wrong.push(format!("{from} depends on {to}")),
            }
        }
    }
    wrong.extend(
        ARROW_EXCEPTIONS
            .iter()
            .filter(|e| !needed.contains(e))
            .map(|(a, b, _)| format!("the exception {a} -> {b} is not needed")),
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn libraries_stay_home() {
    let mut wrong = Vec::new();
    for (from, dependencies) in packages() {
        for (name, _) in dependencies {
            if let Some((_, homes)) = HOMES.iter().find(|(library, _)| *library == name)
                && !homes.iter().any(|home| fits(&from, home))
            {
                wrong.push(format!("{from} uses {name}, whose home is {homes:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Sources below a folder, without tests.
fn sources(folder: &str) -> Vec<(String, String)> {
    let root = root();
    let mut found = Vec::new();
    let mut folders = vec![root.join(folder)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if path.is_dir() {
                if !matches!(name.as_str(), "tests" | "examples" | "benches" | "target") {
                    folders.push(path);
                }
            } else if name.ends_with(".rs") && !matches!(name.as_str(), "tests.rs" | "testing.rs") {
                let text = std::fs::read_to_string(&path).expect("sources are text");
                let relative = path.strip_prefix(&root).expect("it is in the workspace");
                found.push((relative.display().to_string(), text));
            }
        }
    }
    found.sort();
    found
}

/// Lines of code without comments and without the tests at the end, with their numbers.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .take_while(|(_, line)| !line.starts_with("mod tests {"))
        .map(|(number, line)| (number + 1, line.trim()))
        .filter(|(_, line)| !line.starts_with("//"))
        .map(|(number, line)| (number, line.split(" // ").next().unwrap_or_default()))
}

/// Words of a line: identifiers in snake case are one word, those in camel case several.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for part in line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
        let snake = part.to_ascii_lowercase();
        words.extend(snake.split('_').map(str::to_owned));
        let mut camel = String::new();
        for c in part.chars() {
            if c.is_ascii_uppercase() {
                words.push(std::mem::take(&mut camel));
            }
            camel.push(c.to_ascii_lowercase());
        }
        words.push(camel);
        words.push(snake);
    }
    words.retain(|word| !word.is_empty());
    words
}

fn tables() -> BTreeSet<String> {
    let mut tables = BTreeSet::new();
    let mut folders = vec![root().join("migrations")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("migrations are there").flatten() {
            let path = entry.path();
            if path.is_dir() && entry.file_name() != "target" {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "sql") {
                let text = std::fs::read_to_string(&path).expect("migrations are text");
                tables.extend(text.lines().filter_map(|line| {
                    let name = line.strip_prefix("CREATE TABLE ")?.split(['(', ' ']).next()?;
                    Some(name.trim_matches('"').to_owned())
                }));
            }
        }
    }
    assert!(tables.len() > 100, "{tables:?}");
    tables
}

#[test]
fn engines_and_hosts_know_no_noun() {
    let mut nouns: BTreeSet<String> = tables();
    for noun in NOUNS {
        nouns.insert((*noun).to_owned());
        nouns.insert(format!("{noun}s"));
    }
    let mut wrong = Vec::new();
    let mut needed = BTreeSet::new();
    for (path, text) in ["engine", "host"].into_iter().flat_map(sources) {
        for (number, line) in code(&text) {
            let known: BTreeSet<String> = words(line).into_iter().filter(|word| nouns.contains(word)).collect();
            for word in known {
                match WORD_EXCEPTIONS.iter().find(|(place, noun, _)| path.starts_with(place) && *noun == word) {
                    Some(exception) => drop(needed.insert(exception)),
                    None => wrong.push(format!("{path}:{number}: {word}: {line}")),
                }
            }
        }
    }
    wrong.extend(
        WORD_EXCEPTIONS
            .iter()
            .filter(|e| !needed.contains(e))
            .map(|(path, word, _)| format!("the exception {path} {word} is not needed")),
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn only_the_host_runs_programs() {
    let mut wrong = Vec::new();
    let mut needed = BTreeSet::new();
    let folders = ["base", "engine", "rpc", "domain", "drivers", "migrations", "agent", "server", "neutrino"];
    for (path, text) in folders.into_iter().flat_map(sources) {
        for (number, line) in code(&text) {
            let starts =
                ["process::Command", "Command::new(", "unistd::fork", "unistd::exec", "libc::fork", "libc::exec"];
            // The command line of the program itself is a Command too.
            if !starts.iter().any(|start| line.contains(start)) || line.contains("clap") {
                continue;
            }
            match PROGRAM_EXCEPTIONS.iter().find(|(place, _)| path.starts_with(place)) {
                Some(exception) => drop(needed.insert(exception)),
                None => wrong.push(format!("{path}:{number}: {line}")),
            }
        }
    }
    wrong.extend(
        PROGRAM_EXCEPTIONS
            .iter()
            .filter(|e| !needed.contains(e))
            .map(|(path, _)| format!("the exception {path} is not needed")),
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_check_finds_what_is_wrong() {
    assert_eq!(words("pub struct PortTable { subnet_id: Id }").iter().filter(|word| *word == "port").count(), 1);
    assert!(words("let subnet_id = 1;").contains(&"subnet".to_owned()));
    assert!(words("\"SELECT 1 FROM ml2_port_bindings\"").contains(&"ml2_port_bindings".to_owned()));
    assert!(!words("let transport = support(report);").contains(&"port".to_owned()));
    let text = "//! a network\nlet x = 1; // of a port\n/// an agent\n    // a router\nlet y = network;\n#[cfg(test)]\nmod tests {\nport\n}\n";
    let lines: Vec<(usize, &str)> = code(text).collect();
    assert_eq!(lines, [(2, "let x = 1;"), (5, "let y = network;"), (6, "#[cfg(test)]")]);
    assert!(fits("engine/store", "engine/*") && !fits("engine/store/x", "engine/*") && !fits("engines", "engine/*"));
}
