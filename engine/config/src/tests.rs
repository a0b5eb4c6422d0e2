use std::collections::BTreeMap;
use std::net::IpAddr;

use proptest::prelude::*;

use crate::*;

static STATE_PATH: Opt<String> = Opt::str("DEFAULT", "state_path").default("/var/lib/x");
static CONFS: Opt<String> = Opt::str("DEFAULT", "confs").default("$state_path/confs");
static PIDS: Opt<String> = Opt::str("agent", "pids").default("$state_path/${sub}/pids");
static SUB: Opt<String> = Opt::str("agent", "sub").default("a");
static INTERVAL: Opt<f64> = Opt::float("AGENT", "interval").range(0.0, 100.0).default("30");
static COUNT: Opt<i64> = Opt::int("DEFAULT", "count").range(-1, 9).default("3");
static LIMIT: Opt<Option<i64>> = Opt::int("DEFAULT", "limit").optional();
static DEBUG: Opt<bool> = Opt::bool("DEFAULT", "debug").default("false").deprecated(&[("DEFAULT", "verbose")]);
static NAMES: Opt<Vec<String>> = Opt::list("DEFAULT", "names");
static PAIRS: Opt<BTreeMap<String, String>> = Opt::dict("DEFAULT", "pairs");
static MANY: Opt<Vec<String>> = Opt::multi("DEFAULT", "many").deprecated(&[("old", "lots")]);
static MODE: Opt<String> = Opt::choice("DEFAULT", "mode", &["soft", "hard"]).ignore_case().default("soft");
static LISTEN: Opt<u16> = Opt::tcp_port("DEFAULT", "listen").default("9696");
static LOCAL: Opt<Option<IpAddr>> = Opt::ip("DEFAULT", "local").optional();
static HOST: Opt<String> = Opt::host_address("DEFAULT", "host");
static PASSWORD: Opt<String> = Opt::str("db", "password").max_length(8).secret();
static OPTIONS: Options = &[
    &STATE_PATH,
    &CONFS,
    &PIDS,
    &SUB,
    &INTERVAL,
    &COUNT,
    &LIMIT,
    &DEBUG,
    &NAMES,
    &PAIRS,
    &MANY,
    &MODE,
    &LISTEN,
    &LOCAL,
    &HOST,
    &PASSWORD,
];

fn config(text: &str) -> Config {
    Loader::new().declare(OPTIONS).text("x.conf", text).load().unwrap()
}

fn error<T: FromText + std::fmt::Debug>(text: &str, opt: &Opt<T>) -> String {
    config(text).get(opt).unwrap_err().to_string()
}

#[test]
fn nothing_said_gives_defaults() {
    let c = config("");
    assert_eq!(c.get(&CONFS).unwrap(), "/var/lib/x/confs");
    assert_eq!(c.get(&PIDS).unwrap(), "/var/lib/x/a/pids");
    assert_eq!(c.get(&INTERVAL).unwrap(), 30.0);
    assert_eq!((c.get(&COUNT).unwrap(), c.get(&LIMIT).unwrap()), (3, None));
    assert!(c.get(&NAMES).unwrap().is_empty() && c.get(&MANY).unwrap().is_empty());
    assert!(!c.is_set(&COUNT.spec));
    assert_eq!(c.get(&HOST).unwrap_err().to_string(), "[DEFAULT] host must be set in one of the configuration files");
}

#[test]
fn values_are_read_by_kind() {
    let c = config(
        "[DEFAULT]\ncount = 1_0\ncount: -1\nlimit =\ndebug = YES\nnames = a, b ,,c,\npairs = a:1, b : x:y ,c,d:2\n\
         mode = HARD\nlisten = 80\nlocal = 2001:db8::1\nhost = node-1.example.\n[AGENT]\ninterval = 0.5\n",
    );
    assert_eq!((c.get(&COUNT).unwrap(), c.get(&LIMIT).unwrap()), (-1, None));
    assert!(c.get(&DEBUG).unwrap());
    assert_eq!(c.get(&NAMES).unwrap(), ["a", "b", "", "c"]);
    let pairs = c.get(&PAIRS).unwrap();
    assert_eq!(pairs["b"], "x:y");
    assert_eq!(pairs["c,d"], "2");
    assert_eq!(c.get(&MODE).unwrap(), "HARD");
    assert_eq!(c.get(&LISTEN).unwrap(), 80);
    assert_eq!(c.get(&LOCAL).unwrap(), Some("2001:db8::1".parse().unwrap()));
    assert_eq!(c.get(&HOST).unwrap(), "node-1.example.");
    assert_eq!(c.get(&INTERVAL).unwrap(), 0.5);
}

#[test]
fn a_wrong_value_is_named_with_file_line_section_option_and_remedy() {
    assert_eq!(error("[DEFAULT]\n\ncount = 10", &COUNT), "x.conf:3: [DEFAULT] count = \"10\": it is more than 9");
    for (text, expected) in
        [("1.5", "no whole number"), ("", "no whole number"), ("1__0", "no whole"), ("-2", "less than")]
    {
        assert!(error(&format!("[DEFAULT]\ncount = {text}"), &COUNT).contains(expected), "{text}");
    }
    assert!(error("[agent]\ninterval = 101", &INTERVAL).contains("more than 100"));
    assert!(error("[DEFAULT]\ndebug = maybe", &DEBUG).contains("neither true nor false"));
    assert!(error("[DEFAULT]\nmode = medium", &MODE).contains("one of soft, hard"));
    assert!(error("[DEFAULT]\nlisten = 65536", &LISTEN).contains("65535"));
    assert!(error("[DEFAULT]\npairs = a", &PAIRS).contains("key:value"));
    assert!(error("[DEFAULT]\npairs = a:1,a:2", &PAIRS).contains("twice"));
    for bad in ["10.0.0.256", "-x", "a..b", ""] {
        assert!(error(&format!("[DEFAULT]\nhost = {bad}"), &HOST).contains("nor a host name"), "{bad}");
    }
    let secret = error("[db]\npassword = much too long", &PASSWORD);
    assert!(secret.contains("****") && !secret.contains("much"), "{secret}");
}

#[test]
fn check_gives_all_that_is_wrong() {
    let wrong = config("[DEFAULT]\ncount = x\ndebug = x\nhost = h\n[db]\npassword = p").check();
    assert_eq!(wrong.len(), 2, "{wrong:?}");
}

#[test]
fn later_files_win_and_multi_values_add_up() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    write("20.conf", "[DEFAULT]\ncount = 2\nmany = c\n");
    write("10.conf", "[DEFAULT]\ncount = 1\nmany = b\n[OLD]\nlots = b2\n");
    write("30.ini", "[DEFAULT]\ncount = 3\n");
    write(".40.conf", "[DEFAULT]\ncount = 4\n");
    let load = || {
        let text = "[DEFAULT]\ncount = 0\nmany = a\nmany = a2\nnames = base\n";
        Loader::new().declare(OPTIONS).text("first", text).dir(dir.path())
    };
    let c = load().load().unwrap();
    assert_eq!(c.get(&COUNT).unwrap(), 2);
    assert_eq!(c.get(&MANY).unwrap(), ["a", "a2", "b2", "b", "c"]);
    assert_eq!(c.get(&NAMES).unwrap(), ["base"]);
    let c = load().given("DEFAULT", "count", "9").load().unwrap();
    assert_eq!(c.get(&COUNT).unwrap(), 9);
    let missing = load().file(dir.path().join("no.conf")).load().err().unwrap();
    assert!(missing.to_string().contains("no.conf"));
    std::fs::write(dir.path().join("50.conf"), b"[DEFAULT]\nx = \xff\n").unwrap();
    assert!(load().load().is_err());
}

#[test]
fn old_names_are_taken_unless_the_new_one_is_as_recent() {
    assert!(config("[DEFAULT]\nverbose = true").get(&DEBUG).unwrap());
    assert!(!config("[DEFAULT]\ndebug = false\nverbose = true").get(&DEBUG).unwrap());
    let c = Loader::new().declare(OPTIONS).text("a", "[DEFAULT]\ndebug = false").text("b", "[DEFAULT]\nverbose = 1");
    assert!(c.load().unwrap().get(&DEBUG).unwrap());
}

#[test]
fn references_look_in_the_section_first_and_do_not_go_round() {
    let c = config("[DEFAULT]\nstate_path = $base/s\nbase = /b\nsub = default\n[agent]\nsub = own");
    assert_eq!(c.get(&PIDS).unwrap(), "/b/s/own/pids");
    let c = config("[DEFAULT]\nstate_path = $agent.sub\nconfs = $$x ${nope}");
    assert_eq!((c.get(&STATE_PATH).unwrap().as_str(), c.get(&CONFS).unwrap().as_str()), ("a", "$x ${nope}"));
    assert!(error("[DEFAULT]\nstate_path = $confs\nconfs = $state_path", &CONFS).contains("circles"));
    let c = Loader::new().declare(OPTIONS).default_of(&HOST.spec, "h1").text("f", "[DEFAULT]\nconfs = /x/$host");
    assert_eq!(c.load().unwrap().get(&CONFS).unwrap(), "/x/h1");
}

#[test]
fn what_nobody_reads_is_listed_in_order() {
    let c =
        config("[DEFAULT]\nzzz = 1\nverbose = 1\ncou-nt = 1\n[Agent]\nINTERVAL = 1\ninterval = 2\n[oslo_x]\ny = 1\n");
    let names: Vec<String> = c.unknown(&["oslo_x"]).iter().map(|u| format!("{} {}", u.section, u.name)).collect();
    assert_eq!(names, ["DEFAULT zzz", "DEFAULT cou_nt", "agent INTERVAL"]);
    assert_eq!(c.unknown(&[]).len(), 4);
}

#[test]
fn the_effective_configuration_reads_back() {
    let c = config("[DEFAULT]\nhost = h\nmany = a\nmany = b\n[db]\npassword = geheim\n");
    let text = c.effective();
    assert!(text.contains("# x.conf:2\nhost = h\n") && text.contains("# default\ncount = 3\n"), "{text}");
    assert!(text.contains("password = ****") && !text.contains("geheim"));
    let again = config(&text);
    assert_eq!(again.get(&MANY).unwrap(), ["a", "b"]);
    assert_eq!(again.get(&PIDS).unwrap(), c.get(&PIDS).unwrap());
}

#[test]
fn the_format_is_that_of_oslo() {
    let ini = Ini::parse(
        "# comment\n; other\n[DEFAULT]\na = 1 # not a comment\nb: \"x y \"\nc = 'it''\nd=\ne = x = y : z\n\
         multi = one\n  two\n\tthree # here\n\n[s e c]\r\nk = v\r\n",
    )
    .unwrap();
    let got: Vec<(&str, &str, &str, u32)> =
        ini.assignments.iter().map(|a| (a.section.as_str(), a.key.as_str(), a.value.as_str(), a.line)).collect();
    assert_eq!(
        got,
        [
            ("DEFAULT", "a", "1 # not a comment", 4),
            ("DEFAULT", "b", "x y ", 5),
            ("DEFAULT", "c", "it'", 6),
            ("DEFAULT", "d", "", 7),
            ("DEFAULT", "e", "x = y : z", 8),
            ("DEFAULT", "multi", "one\ntwo\nthree # here", 9),
            ("s e c", "k", "v", 14),
        ]
    );
    for (text, line) in [
        ("a = 1", 1),
        ("[x]\n  a = 1", 2),
        ("[x]\na = 1\n\n b", 4),
        ("[x]\na = 1\n# c\n b", 4),
        ("[x", 1),
        ("[x] # c", 1),
        ("[]", 1),
        ("[x]\nword", 2),
        ("[x]\n= 1", 2),
    ] {
        assert_eq!(Ini::parse(text).unwrap_err().line, line, "{text:?}");
    }
    let error = Loader::new().text("bad.conf", "[x]\nword").load().err().unwrap().to_string();
    assert_eq!(error, "bad.conf:2: neither a section nor an option = value: \"word\"");
}

fn arguments(line: &str, defaults: &DefaultFiles) -> Result<Config, ArgumentError> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    Loader::new().declare(OPTIONS).arguments(&words, defaults).map(|loader| loader.load().unwrap())
}

#[test]
fn command_lines_of_the_reference_are_taken() {
    let dir = tempfile::tempdir().unwrap();
    let (etc, home) = (dir.path().join("etc"), dir.path().join("home"));
    let write = |path: &str, text: &str| {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("etc/neutron/neutron.conf", "[DEFAULT]\ncount = 1\nmany = project\n");
    write("etc/neutron/x-agent.conf", "[DEFAULT]\nmany = program\n");
    write("etc/x-agent.conf", "[DEFAULT]\nmany = shadowed\n");
    write("etc/neutron/x-agent.conf.d/1.conf", "[DEFAULT]\nmany = dir\n");
    write("home/.neutron/neutron.conf", "[DEFAULT]\nmany = home\n");
    let defaults = default_files(dir.path(), None, "neutron", "x-agent");
    assert_eq!(defaults.dirs, [etc.join("neutron/x-agent.conf.d")]);
    let c = arguments("", &defaults).unwrap();
    assert_eq!(c.get(&MANY).unwrap(), ["project", "program", "dir"]);
    let at_home = default_files(dir.path(), Some(&home), "neutron", "x-agent");
    assert_eq!(at_home.files, [home.join(".neutron/neutron.conf"), etc.join("neutron/x-agent.conf")]);
    let file = etc.join("x-agent.conf").display().to_string();
    let line = format!("--config-file={file} --config-dir {}/neutron --count 2 -d --agent-interval=5", etc.display());
    let c = arguments(&line, &defaults).unwrap();
    assert_eq!(c.get(&MANY).unwrap(), ["shadowed", "project", "program"]);
    assert!(c.get(&DEBUG).unwrap());
    assert_eq!((c.get(&COUNT).unwrap(), c.get(&INTERVAL).unwrap()), (2, 5.0));
    assert!(!arguments("--debug --nodebug", &defaults).unwrap().get(&DEBUG).unwrap());
    assert_eq!(arguments("--state-path=/s", &defaults).unwrap().get(&STATE_PATH).unwrap(), "/s");
    let later =
        arguments(&format!("--count 9 --config-file {}", etc.join("neutron/neutron.conf").display()), &defaults);
    assert_eq!(later.unwrap().get(&COUNT).unwrap(), 1, "what comes later wins");
    for (line, error) in [
        ("--what", ArgumentError::Unknown("--what".into())),
        ("word", ArgumentError::Unknown("word".into())),
        ("--nocount", ArgumentError::Unknown("--nocount".into())),
        ("--count", ArgumentError::NoValue("--count".into())),
    ] {
        assert_eq!(arguments(line, &DefaultFiles::default()).err(), Some(error));
    }
}

fn name() -> impl Strategy<Value = String> {
    "[a-z][a-z0-9_]{0,8}"
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,20}",
        "\"[a-z ]{0,5}\"",
        prop::collection::vec("[!-~]([ -~]{0,8}[!-~])?", 1..4).prop_map(|lines| lines.join("\n")),
    ]
}

proptest! {
    #[test]
    fn what_is_written_reads_back(items in prop::collection::vec((name(), name(), value()), 0..20)) {
        let assignments = items.into_iter().map(|(section, key, value)| Assignment { section, key, value, line: 0 });
        let ini = Ini { assignments: assignments.collect() };
        let mut back = Ini::parse(&ini.to_text()).unwrap();
        for a in &mut back.assignments {
            a.line = 0;
        }
        prop_assert_eq!(back, ini);
    }

    #[test]
    fn no_text_panics(text in "(\\[DEFAULT\\]\n)?[\\[\\]a-z=:$\\\\{}\"' \t\r\n#;é,]{0,80}", any in ".*") {
        for text in [text, any] {
            let _ = Ini::parse(&text);
            if let Ok(c) = Loader::new().declare(OPTIONS).text("f", &text).load() {
                let _ = (c.check(), c.effective(), c.unknown(&[]));
            }
            let text = [text];
            let _ = i64::from_texts(COUNT.spec.kind, &text);
            let _ = <BTreeMap<String, String>>::from_texts(Kind::Dict, &text);
            let _ = String::from_texts(Kind::HostAddress, &text);
        }
    }
}
