//! `neutrino policy`: the rules that hold, and what they say.

use std::collections::HashMap;

use ::policy::{Context, Enforce, Enforcer, Origin, Target};
use anyhow::bail;
use server::policies;

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Print the rules that hold, in the form of a policy file, each with where it is from.
    List(crate::Options),
    /// Look for mistakes in the policy files, or ask whether a rule allows somebody something.
    Check(Check),
}

#[derive(clap::Args)]
struct Check {
    /// The rule to ask, such as `create_network:shared`. Without one, all files are checked.
    rule: Option<String>,
    /// Roles of who asks.
    #[arg(long, value_delimiter = ',', default_value = "member,reader")]
    roles: Vec<String>,
    /// The project of who asks.
    #[arg(long, default_value = "own")]
    project: String,
    /// The user who asks.
    #[arg(long, default_value = "user")]
    user: String,
    /// Ask with a token of system scope.
    #[arg(long)]
    system: bool,
    /// An attribute of the object, as `project_id=other` or `shared=true`; as often as wanted. Without project_id it is who asks's.
    #[arg(long, value_name = "NAME=VALUE")]
    target: Vec<String>,
    /// Options of the server: `-- --config-file FILE`.
    #[arg(last = true, value_name = "OPTIONS")]
    options: Vec<String>,
}

struct Attributes(HashMap<String, serde_json::Value>);

impl Target for Attributes {
    fn value(&self, name: &str) -> Option<&serde_json::Value> {
        self.0.get(if name == "tenant_id" { "project_id" } else { name })
    }
}

fn attributes(given: &[String], project: &str) -> anyhow::Result<Attributes> {
    let mut attributes = HashMap::from([("project_id".to_owned(), project.into())]);
    for text in given {
        let Some((name, value)) = text.split_once('=') else { bail!("--target {text} is not NAME=VALUE") };
        let value = match value {
            "true" | "True" => true.into(),
            "false" | "False" => false.into(),
            text => text.into(),
        };
        attributes.insert(name.replace("tenant_id", "project_id"), value);
    }
    Ok(Attributes(attributes))
}

fn enforcer(options: &[String]) -> anyhow::Result<Enforcer> {
    let config = crate::service::configuration("neutron-server", options, &[server::OPTIONS])?;
    Ok(policies::enforcer(&policies::read(&config)?)?)
}

pub fn run(args: Args) -> anyhow::Result<()> {
    match args.verb {
        Verb::List(options) => {
            for (name, rule) in enforcer(&options.options)?.holding() {
                let origin = match rule.origin {
                    Origin::Default => String::new(),
                    Origin::Former => "  # with its former check".to_owned(),
                    Origin::File(path) => format!("  # {}", path.display()),
                };
                println!("{}: {}{origin}", quoted(&name), quoted(&rule.text));
            }
            Ok(())
        }
        Verb::Check(check) => {
            let enforcer = enforcer(&check.options)?;
            let Some(rule) = check.rule else {
                let doubts = enforcer.doubts();
                if doubts.is_empty() {
                    println!("the policy files are fine");
                    return Ok(());
                }
                bail!("the policy files are doubtful:\n  {}", doubts.join("\n  "));
            };
            let target = attributes(&check.target, &check.project)?;
            let mut context = Context {
                project_id: if check.system { String::new() } else { check.project },
                user_id: check.user,
                roles: check.roles,
                system_scope: check.system.then(|| "all".to_owned()),
                ..Context::default()
            };
            enforcer.settle(&mut context);
            let text = enforcer.holding().into_iter().find(|(name, _)| *name == rule).map(|(_, rule)| rule.text);
            let text = text.unwrap_or_else(|| "no such rule; the default rule stands for it".to_owned());
            if enforcer.allows(&rule, &context, &target) {
                println!("{rule}: allowed by: {text}");
                Ok(())
            } else {
                bail!("{rule}: forbidden by: {text}");
            }
        }
    }
}

/// As YAML.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
