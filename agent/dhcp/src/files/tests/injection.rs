//! Whatever a tenant writes into a port, other lines of the files stay as they are.

use proptest::prelude::*;
use serde_json::json;

use super::{net_d, network, port_id, settings, v6_subnet};
use crate::files::{Files, arguments, initial_leases};

/// Text rich in what separates lines, fields and words.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\n".to_owned()),
        Just("\r".to_owned()),
        Just(",".to_owned()),
        Just("tag:".to_owned()),
        Just("set:".to_owned()),
        Just("option:router".to_owned()),
        Just("\u{0}".to_owned()),
        Just("\u{85}".to_owned()),
        Just("#".to_owned()),
        Just("\"".to_owned()),
        Just("client-id".to_owned()),
        Just("61".to_owned()),
        "[a-z0-9 :.\\[\\]]{0,6}",
    ];
    proptest::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn tenants_write_only_their_own_lines(
        names in proptest::collection::vec((hostile(), hostile(), 0u8..10), 0..4),
        hostname in hostile(),
        fqdn in hostile(),
        owner in hostile(),
    ) {
        let mut net = net_d();
        net["subnets"].as_array_mut().unwrap().push(v6_subnet("dhcpv6-stateful"));
        let plain = network(&net);
        let guest = &mut net["ports"][2];
        guest["extra_dhcp_opts"] = names.iter().map(|(name, value, version)| {
            json!({"opt_name": name, "opt_value": value, "ip_version": version})
        }).collect();
        guest["dns_assignment"] = json!([{"ip_address": "192.0.2.11", "hostname": hostname, "fqdn": fqdn}]);
        guest["device_owner"] = json!(format!("compute:{owner}"));
        let settings = settings();
        let hostile = network(&net);
        let (plain_files, files) = (Files::render(&settings, &plain, None), Files::render(&settings, &hostile, None));

        // Options: the subnets' lines are untouched; each option of the port is at most one line of its own tag.
        let tag = format!("tag:port-{},", port_id(0x11));
        let (own, others): (Vec<&str>, Vec<&str>) = files.opts.split('\n').partition(|line| line.starts_with(&tag));
        prop_assert_eq!(others.join("\n"), plain_files.opts);
        prop_assert!(own.len() <= names.len());
        prop_assert!(!files.opts.chars().any(|c| c.is_control() && c != '\n'));
        for line in own {
            // Tags first, then exactly one option.
            let option = line.split(',').find(|field| !field.starts_with("tag:")).unwrap();
            let (prefix, name) = option.split_once(':').unwrap_or(("", option));
            prop_assert!(matches!(prefix, "" | "option" | "option6"), "{line}");
            prop_assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b)), "{line}");
        }

        // Hosts: one line for each address, the address and the MAC where they belong, the fields known.
        let lines: Vec<&str> = files.host.split_terminator('\n').collect();
        prop_assert_eq!(lines.len(), 2);
        prop_assert_eq!(lines[0], plain_files.host.lines().next().unwrap());
        let mut fields: Vec<&str> = lines[1].split(',').collect();
        prop_assert_eq!(fields.remove(0), "fa:16:3e:00:00:11");
        if fields[0].starts_with("id:") {
            fields.remove(0);
        }
        if fields.last().unwrap().starts_with("set:") {
            prop_assert_eq!(fields.pop().unwrap(), format!("set:port-{}", port_id(0x11)));
        }
        prop_assert_eq!(fields.len(), 2);
        prop_assert_eq!(fields[1], "192.0.2.11");
        prop_assert!(!files.host.chars().any(|c| c.is_control() && c != '\n'));

        let names: Vec<Vec<&str>> = files.addn_hosts.lines().map(|l| l.split([' ', '\t']).collect()).collect();
        prop_assert!(names.iter().all(|fields| fields.len() == 3));
        prop_assert_eq!(names.len(), 2);

        prop_assert_eq!(initial_leases(&hostile, "").lines().count(), 2);
        prop_assert_eq!(arguments(&settings, &hostile), arguments(&settings, &plain));
    }
}
