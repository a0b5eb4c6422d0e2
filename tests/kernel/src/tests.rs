use super::*;

#[test]
fn it_has_what_it_is_for() {
    let uml = Uml::new(&["8021q", "veth", "bridge", "dummy"]);
    let script = "ip link add d0 type dummy && ip link add link d0 name d0.100 type vlan id 100 && \
                  ip -d link show d0.100 && ip link add br0 type bridge && touch /run/tmp/x && ! touch /uml-was-here";
    let output = uml.run(Path::new("/bin/sh"), &["-ec", script]);
    assert_eq!(output.code, Some(0), "{}", output.text);
    assert!(output.text.contains("vlan protocol 802.1Q id 100"), "{}", output.text);
    assert!(!Path::new("/uml-was-here").exists());
}

#[test]
fn a_failure_inside_is_one_outside() {
    let output = Uml::new(&[]).run(Path::new("/bin/sh"), &["-c", "exit 7"]);
    assert_eq!(output.code, Some(7));
}

#[test]
fn needs_are_loaded_first() {
    let order = Uml::new(&["8021q"]).load_order();
    let names: Vec<_> = order.iter().map(|path| module_name(path.to_str().unwrap()).to_owned()).collect();
    assert_eq!(names.last().map(String::as_str), Some("8021q"));
    let at = |name: &str| names.iter().position(|n| n == name).unwrap();
    assert!(at("llc") < at("stp") && at("stp") < at("garp"), "{names:?}");
}
