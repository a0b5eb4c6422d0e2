//! All options of the program, as a page for people: `docs/operations/configuration.md` is tested against it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use config::{Declared, Kind, Opt, Spec};
use runtime::transport;

pub static RPC_WORKERS: Opt<Option<i64>> = Opt::int("DEFAULT", "rpc_workers")
    .min(0)
    .optional()
    .help("0: `neutrino server` serves the API only, and `neutrino rpc-server` answers agents. Any other number: one process does both.");

/// Options of the program itself.
pub static OPTIONS: config::Options = &[&RPC_WORKERS];

/// Who reads which options, by command.
pub static READERS: &[(&str, &[config::Options])] = &[
    ("server", &[runtime::options::OPTIONS, server::OPTIONS, transport::OPTIONS, OPTIONS]),
    ("dhcp-agent", &[runtime::options::OPTIONS, dhcp::OPTIONS, transport::OPTIONS]),
    ("linuxbridge-agent", &[runtime::options::OPTIONS, linuxbridge::OPTIONS, transport::OPTIONS]),
];

fn takes(kind: Kind) -> String {
    match kind {
        Kind::Str { choices: [], .. } => "text".to_owned(),
        Kind::Str { choices, .. } => choices.join(", "),
        Kind::Int { min, max } => range("integer", (min != i64::MIN).then_some(min), (max != i64::MAX).then_some(max)),
        Kind::Float { min, max } => range("number", min.is_finite().then_some(min), max.is_finite().then_some(max)),
        Kind::Bool => "true or false".to_owned(),
        Kind::List => "list, by commas".to_owned(),
        Kind::Dict => "key:value, by commas".to_owned(),
        Kind::MultiStr => "text, as often as wanted".to_owned(),
        Kind::TcpPort => "port".to_owned(),
        Kind::Ip => "address".to_owned(),
        Kind::HostAddress => "address or host name".to_owned(),
    }
}

fn range<T: std::fmt::Display>(what: &str, min: Option<T>, max: Option<T>) -> String {
    match (min, max) {
        (None, None) => what.to_owned(),
        (Some(min), None) => format!("{what}, at least {min}"),
        (None, Some(max)) => format!("{what}, at most {max}"),
        (Some(min), Some(max)) => format!("{what}, {min} to {max}"),
    }
}

/// Tables of all options, a section of the files each.
pub fn page() -> String {
    let mut sections: BTreeMap<&str, BTreeMap<&str, (&Spec, Vec<&str>)>> = BTreeMap::new();
    for (reader, lists) in READERS {
        let options = lists.iter().flat_map(|list| list.iter()).map(|option| Declared::spec(*option));
        for spec in options {
            let section = sections.entry(spec.section).or_default();
            let readers = &mut section.entry(spec.name).or_insert((spec, Vec::new())).1;
            if readers.last() != Some(reader) {
                readers.push(reader);
            }
        }
    }
    let mut page = String::new();
    for (section, options) in sections {
        let _ = write!(page, "\n### [{section}]\n\n| option | takes | default | read by | |\n|---|---|---|---|---|\n");
        for (name, (spec, readers)) in options {
            let default = match spec.default {
                Some("") | None => String::new(),
                Some(text) => format!("`{text}`"),
            };
            let readers = if readers.len() == READERS.len() { "all".to_owned() } else { readers.join(", ") };
            let _ = writeln!(
                page,
                "| `{name}` | {} | {default} | {readers} | {} |",
                takes(spec.kind),
                spec.help.replace('|', "\\|").replace('<', "\\<")
            );
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// The page's part that is written by hand ends here.
    const MARK: &str = "<!-- From here on, from the program: UPDATE=1 cargo test -p neutrino reference -->\n";

    #[test]
    fn the_page_of_options_is_what_the_program_reads() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/operations/configuration.md");
        let text = std::fs::read_to_string(&path).unwrap();
        let (head, tables) = text.split_once(MARK).expect("the mark");
        let wanted = super::page();
        if std::env::var_os("UPDATE").is_some_and(|value| value == "1") {
            std::fs::write(&path, format!("{head}{MARK}{wanted}")).unwrap();
        } else {
            assert!(tables == wanted, "{} is not up to date: run this test with UPDATE=1", path.display());
        }
    }

    #[test]
    fn every_option_says_what_it_is() {
        for (reader, lists) in super::READERS {
            for option in lists.iter().flat_map(|list| list.iter()) {
                let spec = option.spec();
                assert!(spec.help.ends_with('.'), "{reader}: [{}] {}: {:?}", spec.section, spec.name, spec.help);
            }
        }
    }
}
