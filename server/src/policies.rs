//! The options of `[oslo_policy]`, and the enforcer that they and the default rules come to.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use config::{Config, Opt, Options};
use policy::{Enforcer, Files, PolicyError, Rule};

use crate::former::{FORMER, PARTS, RENAMED};
use crate::rules::RULES;

static ENFORCE_SCOPE: Opt<bool> = Opt::bool("oslo_policy", "enforce_scope")
    .default("true")
    .help("Refuse tokens of system or domain scope where a rule is about projects, as all of this API are.");
static NEW_DEFAULTS: Opt<bool> = Opt::bool("oslo_policy", "enforce_new_defaults").default("true").help(
    "Only the rules of today. If false, a rule also holds when its former check does, and administrators may do everything.",
);
static POLICY_FILE: Opt<String> = Opt::str("oslo_policy", "policy_file")
    .default("policy.yaml")
    .help("Rules that replace defaults (YAML); looked for beside the configuration files. Read again when it changes.");
static DEFAULT_RULE: Opt<String> = Opt::str("oslo_policy", "policy_default_rule")
    .default("default")
    .help("The rule that stands for those which are not there.");
static POLICY_DIRS: Opt<Vec<String>> = Opt::multi("oslo_policy", "policy_dirs")
    .default("policy.d")
    .help("Directories of further such files, which win over policy_file.");

/// All of them.
pub static OPTIONS: Options = &[&ENFORCE_SCOPE, &NEW_DEFAULTS, &POLICY_FILE, &DEFAULT_RULE, &POLICY_DIRS];

/// Where a relative path of the options may be: beside the configuration files, then in the usual places.
fn places(config: &Config, path: &str) -> Vec<PathBuf> {
    if Path::new(path).is_absolute() {
        return vec![path.into()];
    }
    let mut places: Vec<PathBuf> = Vec::new();
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let usual = home
        .iter()
        .flat_map(|home| [home.join(".neutron"), home.clone()])
        .chain(["/etc/neutron".into(), "/etc".into()]);
    let beside = config.files().iter().filter_map(|file| file.parent().map(Path::to_owned));
    for dir in beside.chain(usual) {
        let place = dir.join(path);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// Reads the options. Whether the files are good is found out by [`enforcer`].
pub fn read(config: &Config) -> anyhow::Result<policy::Options> {
    let dirs = config.get(&POLICY_DIRS)?;
    Ok(policy::Options {
        enforce_scope: config.get(&ENFORCE_SCOPE)?,
        enforce_new_defaults: config.get(&NEW_DEFAULTS)?,
        default_rule: config.get(&DEFAULT_RULE)?,
        files: Files::new(
            places(config, &config.get(&POLICY_FILE)?),
            dirs.iter().filter(|dir| !dir.is_empty()).map(|dir| places(config, dir)).collect(),
        ),
    })
}

/// The default rules.
pub fn defaults() -> Vec<Rule> {
    let former_check = |name: &str| FORMER.iter().find(|(_, names)| names.contains(&name)).map(|(check, _)| *check);
    let former_name = |name: &str| RENAMED.iter().find(|(new, _)| *new == name).map(|(_, old)| *old);
    RULES
        .iter()
        .map(|&(name, check)| {
            let former = match (former_name(name), former_check(name)) {
                (None, None) => None,
                (old, text) => Some((Cow::Borrowed(old.unwrap_or(name)), Cow::Borrowed(text.unwrap_or(check)))),
            };
            Rule { name: name.into(), check: check.into(), former, of_project: !PARTS.contains(&name) }
        })
        .collect()
}

/// The rules that hold: defaults, and the operator's files.
pub fn enforcer(options: &policy::Options) -> Result<Enforcer, PolicyError> {
    Enforcer::with(defaults(), options.clone())
}
