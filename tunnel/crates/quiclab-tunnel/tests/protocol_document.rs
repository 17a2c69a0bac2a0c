//! tunnel/docs/protocol.md has the values and the bytes of the program.

#![allow(missing_docs)]

use quiclab_carrier as carrier;
use quiclab_tunnel::protocol::{Assigned, Assignment, MAX_ROUTES, MAX_TEXT_LENGTH, Message, VERSION};
use std::fmt::Write;

fn document() -> String {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/protocol.md");
    std::fs::read_to_string(file).unwrap()
}

/// The table between `<!-- name -->` and `<!-- end -->`.
fn section<'a>(text: &'a str, name: &str) -> &'a str {
    let (_, rest) = text.split_once(&format!("<!-- {name} -->\n")).expect("the section is there");
    rest.split_once("<!-- end -->").expect("the section has an end").0
}

fn table(head: [&str; 2], rows: impl IntoIterator<Item = (&'static str, String)>) -> String {
    let mut out = format!("| {} | {} |\n| --- | --- |\n", head[0], head[1]);
    for (name, value) in rows {
        let _ = writeln!(out, "| {name} | {value} |");
    }
    out
}

#[test]
fn values() {
    let own = [
        ("version of messages", VERSION.to_string()),
        ("routes of an assignment, at most", MAX_ROUTES.to_string()),
        ("text of a refusal, at most", format!("{MAX_TEXT_LENGTH} bytes")),
    ];
    let all =
        carrier::format::constants().into_iter().chain(own).chain(quiclab_core::tunnel::format::constants());
    let expected = table(["value", ""], all);
    assert!(section(&document(), "constants") == expected, "the table must be:\n{expected}");
}

#[test]
fn examples() {
    let assignment = Message::Assignment(Assignment {
        mtu: 1400,
        addresses: vec![Assigned {
            address: "10.77.0.2".parse().unwrap(),
            network: "10.77.0.0/24".parse().unwrap(),
            server: Some("10.77.0.1".parse().unwrap()),
        }],
        routes: vec!["192.168.0.0/16".parse().unwrap()],
    });
    let own = [
        (
            "message hello: both families, numbered",
            Message::Hello { ipv4: true, ipv6: true, numbered: true }.encode(),
        ),
        (
            "message assignment: 1400 bytes, 10.77.0.2/24, server 10.77.0.1, route 192.168.0.0/16",
            assignment.encode(),
        ),
        ("message refusal: `full`", Message::Refusal("full".to_owned()).encode()),
    ];
    let all =
        carrier::format::examples().into_iter().chain(own).chain(quiclab_core::tunnel::format::examples());
    let hexadecimal = |bytes: Vec<u8>| {
        let digits = bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        format!("`{digits}`")
    };
    let expected = table(["what", "bytes"], all.map(|(name, bytes)| (name, hexadecimal(bytes))));
    assert!(section(&document(), "examples") == expected, "the table must be:\n{expected}");
}
