use super::*;

fn options(edit: impl FnOnce(&mut TypeOptions)) -> TypeOptions {
    let mut options = TypeOptions {
        type_drivers: ["local", "flat", "vlan", "vxlan", "gre", "geneve"].map(String::from).to_vec(),
        geneve_max_header_size: 30,
        ..TypeOptions::default()
    };
    edit(&mut options);
    options
}

#[test]
fn overlay_mtus_leave_room_for_their_headers() {
    let settings = Arc::new(Settings::default());
    let drivers = all(&options(|_| {}), &settings).unwrap();
    let mtu = |name: &str| drivers.iter().find(|driver| driver.network_type() == name).unwrap().mtu(None);
    assert_eq!(mtu("vxlan"), Some(1450));
    assert_eq!(mtu("gre"), Some(1458));
    assert_eq!(mtu("geneve"), Some(1450));
    assert_eq!(mtu("vlan"), Some(1500));
    assert_eq!(mtu("local"), None);
}

#[test]
fn bad_ranges_name_the_option() {
    let settings = Arc::new(Settings::default());
    for (edit, part) in [
        ((|o: &mut TypeOptions| o.network_vlan_ranges = vec!["p:0:5".into()]) as fn(&mut TypeOptions), "1 to 4094"),
        (|o| o.network_vlan_ranges = vec!["p:9:5".into()], "ends before"),
        (|o| o.network_vlan_ranges = vec![":1:5".into()], "no physical network"),
        (|o| o.vxlan_ranges = vec!["1-5".into()], "<min>:<max>"),
        (|o| o.vxlan_ranges = vec!["1:16777216".into()], "outside 1 to 16777215"),
        (|o| o.type_drivers.push("stt".into()), "no type driver 'stt'"),
    ] {
        let Err(error) = all(&options(edit), &settings) else { panic!("accepted: {part}") };
        assert!(error.to_string().contains(part), "{error}");
    }
}
