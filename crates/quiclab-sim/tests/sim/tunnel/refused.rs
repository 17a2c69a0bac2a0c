//! Tunnels that are impossible are rejected, with the name of the field.

use super::common::*;

fn refusal(sets: &[(&str, &str)]) -> String {
    load(sets).expect_err("it is refused").to_string()
}

#[test]
fn each_field_is_named_with_what_is_allowed() {
    let cases = [
        ("tunnels.vpn.stack", "quinn", r#"expected "lab-quic" or "noq""#),
        ("tunnels.vpn.mtu", "500 B", r#"a size from "576 B" to "65000 B""#),
        ("tunnels.vpn.mtu", "1450 B", "sends datagrams of 1452 B"),
        ("tunnels.vpn.paths", "[]", "1 to 8 entries"),
        ("tunnels.vpn.windows", r#"["1 kB"]"#, "one window for each of the 2 paths"),
        ("tunnels.vpn.datagram_sizes", r#"["1300 B"]"#, "one size for each of the 2 paths"),
        ("tunnels.vpn.datagram_sizes", r#"["1300 B", "1100 B"]"#, r#"a size from "1200 B" to "1452 B""#),
        ("tunnels.vpn.pipeline", r#"{ kind = "pquic", second_queue = "tcp" }"#, r#""icmp" or "all""#),
        ("tunnels.vpn.server", r#"{ congestion_control = "cubic" }"#, "congestion_control = \"fixed\""),
        ("tunnels.vpn.server.stack", "noq", "\"lab-quic\""),
        ("tunnels.vpn.resequencing", "0 s", "a duration above"),
        ("tunnels.vpn.repair", "true", "it needs `resequencing`"),
        ("tunnels.vpn.paths", r#"[{ down = ["vpn"], up = ["up1"] }]"#, "a link, bearer or tap"),
        ("flows.load.down", r#"["vpn", "vpn"]"#, "at most once in a route"),
    ];
    for (path, value, allowed) in cases {
        let error = refusal(&[(path, value)]);
        let field = path.rsplit_once('.').expect("it has parts").0.trim_end_matches(".server");
        assert!(error.contains(field) && error.contains(allowed), "{path} = {value}: {error}");
    }
}

#[test]
fn a_tunnel_that_no_flow_passes_is_a_mistake() {
    let direct = [
        ("flows.load.down", r#"["down1"]"#),
        ("flows.load.up", r#"["up1"]"#),
        ("flows.ping.down", r#"["down1"]"#),
        ("flows.ping.up", r#"["up1"]"#),
    ];
    let error = refusal(&direct);
    assert!(error.contains("tunnels.vpn") && error.contains("not used by any flow"), "{error}");
}

#[test]
fn packets_that_are_too_long_are_dropped_and_counted() {
    let output = run_with(&[("tunnels.vpn.mtu", "1000 B")]);
    assert!(statistic(&output, "vpn.server", "too_large_packets") > 0.0);
    // the request of the download fits, no full segment does
    assert_eq!(output.result.flows["load"].delivered_bytes, 0);
}
