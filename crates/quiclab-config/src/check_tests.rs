//! Each form of a rule, with values on both sides of its limits.

use crate::{Document, Schema};
use proptest::prelude::*;
use quiclab_core::ProblemKind::{
    self, MissingField, OutOfRange, Syntax, UnknownField, UnknownName, WrongType,
};
use quiclab_core::ip::IpPrefix;
use quiclab_core::{ByteCount, DataRate, Duration, Probability, RandomStream, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// A document with every form that rules have.
#[derive(Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Everything {
    #[schemars(transform = limits::between("88 B", "9148 B"))]
    size: ByteCount,
    #[serde(default)]
    #[schemars(transform = limits::above("0 s").to("1 s"))]
    time: Option<Duration>,
    #[serde(default)]
    #[schemars(transform = limits::above("0 bit/s"))]
    rate: Option<DataRate>,
    #[serde(default)]
    #[schemars(transform = limits::between(3, 300).unit("packets"))]
    count: Option<u32>,
    #[serde(default)]
    #[schemars(transform = limits::one_of(BITS))]
    bits: Option<u8>,
    #[serde(default)]
    #[schemars(transform = limits::above(0.0).to(1.0))]
    share: Option<f64>,
    #[serde(default)]
    #[schemars(transform = limits::above(0.0))]
    chance: Option<Probability>,
    #[serde(default)]
    #[schemars(transform = limits::entries(1, 2))]
    names: Option<Vec<String>>,
    #[serde(default)]
    kind: Option<Shape>,
    #[serde(default)]
    fast: Option<bool>,
    #[serde(default)]
    mode: Option<Mode>,
    #[serde(default)]
    #[schemars(transform = limits::not_empty(), extend("x-aliases" = ["titel"]))]
    title: Option<String>,
    #[serde(default)]
    #[schemars(transform = limits::characters("^[A-Za-z0-9_-]{1,5}$"))]
    word: Option<String>,
    #[serde(default)]
    #[schemars(transform = limits::characters("^[0-9a-fA-F]{4}$"))]
    digits: Option<String>,
    #[serde(default)]
    address: Option<IpAddr>,
    #[serde(default)]
    four: Option<Ipv4Addr>,
    #[serde(default)]
    six: Option<Ipv6Addr>,
    #[serde(default)]
    #[schemars(transform = limits::format("socket-address"))]
    any: Option<SocketAddr>,
    #[serde(default)]
    #[schemars(transform = limits::not_empty().each(limits::format("listen-address")))]
    listen: Option<Vec<SocketAddr>>,
    #[serde(default)]
    #[schemars(transform = limits::format("remote-address"))]
    remote: Option<SocketAddr>,
    #[serde(default)]
    ranges: Vec<IpPrefix>,
    #[serde(default)]
    #[schemars(transform = limits::between(8, 30).format("ipv4-range"))]
    pool: Option<IpPrefix>,
    #[serde(default)]
    #[schemars(transform = limits::between(16, 126).format("ipv6-range"))]
    pool6: Option<IpPrefix>,
    #[serde(default = "split")]
    #[schemars(transform = limits::one_of(FEWER).formerly(FORMER))]
    fewer: Mode,
    #[serde(default)]
    parts: BTreeMap<String, Part>,
}

const fn split() -> Mode {
    Mode::Split
}

const BITS: [u64; 3] = [12, 16, 18];
const FEWER: [&str; 2] = ["split", "copy_late"];
const FORMER: [(&str, &str); 1] = [("copy", "copy_late")];

#[derive(Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[schemars(extend("x-value-aliases" = {"circle": "round"}))]
enum Shape {
    Round {
        #[schemars(transform = limits::at_least(1))]
        radius: u64,
    },
    Flat {},
}

#[derive(Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[schemars(extend("x-value-aliases" = {"both": "duplicate"}))]
enum Mode {
    /// Either.
    Split,
    /// Both.
    Duplicate,
    /// Both, one after the other.
    CopyLate,
}

#[derive(Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
struct Part {
    #[schemars(transform = limits::at_most(7))]
    weight: u8,
}

/// Path and kind of the problem with a document that has `line` beside its required field.
fn problem(line: &str) -> Option<(String, ProblemKind)> {
    let text = if line.starts_with("size") { line.to_owned() } else { format!("size = \"100 B\"\n{line}") };
    let decoded = Document::from_toml(&text, "e.toml", &[])
        .and_then(|document| document.decode::<Everything>(&Schema::of::<Everything>()));
    let problem = decoded.err()?.problem;
    Some((problem.path.to_string(), problem.kind))
}

#[test]
fn values_within_the_limits_are_taken_and_those_beyond_are_not() {
    for (field, within, beyond) in [
        ("size", &["\"88 B\"", "\"9148 B\"", "\"1 KiB\""][..], &["\"87 B\"", "\"9149 B\"", "\"10 kB\""][..]),
        ("time", &["\"1 ns\"", "\"1 s\""], &["\"0 s\"", "\"1001 ms\""]),
        ("rate", &["\"1 bit/s\""], &["\"0 bit/s\"", "\"20 Mbit\"", "\"20\"", "\"-1 bit/s\""]),
        ("count", &["3", "300"], &["2", "301", "-1"]),
        ("bits", &["12", "18"], &["13", "0", "255"]),
        ("share", &["1", "0.001"], &["0", "1.001", "nan", "inf"]),
        ("chance", &["1", "\"0.1 %\"", "0.5"], &["0", "1.1", "\"101 %\"", "\"x\""]),
        ("names", &["[\"a\"]", "[\"a\", \"b\"]"], &["[]", "[\"a\", \"b\", \"c\"]"]),
        ("title", &["\"a\""], &["\"\"", "\" \""]),
        ("word", &["\"a\"", "\"aZ-_9\""], &["\"\"", "\"aZ-_90\"", "\"a b\"", "\"ä\""]),
        ("digits", &["\"09aF\""], &["\"09a\"", "\"09aFf\"", "\"09ag\""]),
        ("address", &["\"10.0.0.1\"", "\"::1\""], &["\"10.0.0\"", "\"10.0.0.1:1\""]),
        ("four", &["\"10.0.0.1\""], &["\"::1\""]),
        ("six", &["\"::1\""], &["\"10.0.0.1\""]),
        ("any", &["\"0.0.0.0:0\"", "\"[::]:0\""], &["\"localhost:1\"", "\"0.0.0.0\"", "\"0.0.0.0:65536\""]),
        ("remote", &["\"10.0.0.1:1\""], &["\"10.0.0.1:0\"", "\"0.0.0.0:1\"", "\"[::]:1\""]),
        (
            "pool",
            &["\"10.0.0.0/8\"", "\"10.0.0.0/30\""],
            &["\"10.0.0.0/31\"", "\"0.0.0.0/7\"", "\"fd77::/20\""],
        ),
        ("pool6", &["\"fd77::/16\""], &["\"fd77::/127\"", "\"10.0.0.0/20\"", "\"fd77::1/64\"", "\"fd77::\""]),
    ] {
        for value in within {
            assert_eq!(problem(&format!("{field} = {value}")), None, "{field} = {value}");
        }
        for value in beyond {
            let expected = Some((field.to_owned(), OutOfRange));
            assert_eq!(problem(&format!("{field} = {value}")), expected, "{field} = {value}");
        }
    }
}

#[test]
fn shapes_and_names_are_checked() {
    for (line, path, kind) in [
        ("size = 100", "size", WrongType),
        ("size = 1979-05-27", "size", WrongType),
        ("time = true", "time", WrongType),
        ("count = 99999999999999999999", "count", WrongType),
        ("count = 3.5", "count", WrongType),
        ("fast = 1", "fast", WrongType),
        ("names = \"a\"", "names", WrongType),
        ("names = [1]", "names.0", WrongType),
        ("mode = \"copy\"", "mode", UnknownName),
        ("mode = 1", "mode", WrongType),
        ("fewer = \"duplicate\"", "fewer", UnknownName),
        ("listen = []", "listen", OutOfRange),
        ("listen = [\"0.0.0.0:0\"]", "listen.0", OutOfRange),
        ("ranges = [\"::/0\", \"::/129\"]", "ranges.1", OutOfRange),
        ("address = 1", "address", WrongType),
        ("kind = {}", "kind.kind", MissingField),
        ("kind = 1", "kind", WrongType),
        ("kind = { kind = \"square\" }", "kind.kind", UnknownName),
        ("kind = { kind = 1 }", "kind.kind", WrongType),
        ("kind = { kind = \"round\" }", "kind.radius", MissingField),
        ("kind = { kind = \"round\", radius = 0 }", "kind.radius", OutOfRange),
        ("kind = { kind = \"flat\", radius = 1 }", "kind.radius", UnknownField),
        ("sise = 1", "sise", UnknownField),
        ("parts.a.weight = 8", "parts.a.weight", OutOfRange),
        ("parts.a.wait = 8", "parts.a.wait", UnknownField),
        ("size = \"100 B\"\nsize = \"100 B\"", "", Syntax),
    ] {
        assert_eq!(problem(line), Some((path.to_owned(), kind)), "{line}");
    }
    assert_eq!(problem("kind = { kind = \"round\", radius = 1 }\nfast = true\nparts.b.weight = 7"), None);
}

#[test]
fn a_former_name_is_read_as_the_present_one() {
    let document = Document::from_toml("size = \"100 B\"\ntitel = \"t\"", "e.toml", &[]).unwrap();
    let decoded: Everything = document.decode(&Schema::of::<Everything>()).unwrap();
    assert_eq!(decoded.title.as_deref(), Some("t"));
    let both = Some(("titel".to_owned(), UnknownField));
    assert_eq!(problem("titel = \"t\"\ntitle = \"t\""), both);
}

#[test]
fn former_names_are_replaced_with_a_note() {
    let text = "size = \"100 B\"\ntitel = \"t\"\nfewer = \"copy\"\nkind = { kind = \"circle\", radius = 2 }\n\
                mode = \"both\"";
    let mut document = Document::from_toml(text, "e.toml", &[]).unwrap();
    let schema = Schema::of::<Everything>();
    let notes = document.replace_former_names(&schema);
    let sentences: Vec<_> = notes.iter().map(ToString::to_string).collect();
    assert_eq!(
        sentences,
        [
            "e.toml:2:1: title: `titel` is a former name; use `title`",
            "e.toml:3:9: fewer: `copy` is a former name; use `copy_late`",
            "e.toml:4:17: kind.kind: `circle` is a former name; use `round`",
            "e.toml:5:8: mode: `both` is a former name; use `duplicate`"
        ]
    );
    assert_eq!(
        notes[1].render(false),
        "note: fewer: `copy` is a former name; use `copy_late`\n --> e.toml:3:9\n  |\n3 | fewer = \"copy\"\n  \
         |         ^^^^^^"
    );
    let decoded: Everything = document.decode(&schema).unwrap();
    assert_eq!((decoded.title.as_deref(), decoded.fewer), (Some("t"), Mode::CopyLate));
    assert_eq!(decoded.kind, Some(Shape::Round { radius: 2 }));
    assert_eq!(document.replace_former_names(&schema), []);
}

#[test]
fn fields_say_what_they_take() {
    let schema = crate::annotated::<Everything>();
    let expected =
        |field: &str| schema["properties"][field]["x-expected"].as_str().unwrap_or_default().to_owned();
    for (field, words) in [
        ("size", "a size from \"88 B\" to \"9148 B\""),
        ("time", "a duration above \"0 s\", at most \"1 s\""),
        ("rate", "a rate above \"0 bit/s\""),
        ("count", "an integer from 3 to 300 packets"),
        ("bits", "12, 16 or 18"),
        ("share", "a number above 0, at most 1"),
        ("fast", ""),
        ("word", "1 to 5 letters, digits, `_` or `-`"),
        ("digits", "4 hexadecimal digits"),
        ("pool", "an IPv4 address range from /8 to /30, such as \"10.77.0.0/24\""),
        ("names", "an array of 1 to 2 strings"),
        (
            "listen",
            "an array of one or more IP addresses with a port from 1 to 65535, such as \"0.0.0.0:4433\" or \"[::]:4433\"",
        ),
        ("ranges", "an array of address ranges such as \"10.77.0.0/24\" or \"fd77::/64\""),
        ("fewer", "\"split\" or \"copy_late\""),
        ("mode", ""),
    ] {
        assert_eq!(expected(field), words, "{field}");
    }
    assert_eq!(schema["$defs"]["Part"]["properties"]["weight"]["x-expected"], "an integer from 0 to 7");
}

#[test]
fn fields_are_in_the_order_of_the_type() {
    let schema = crate::annotated::<Everything>();
    let first = ["size", "time", "rate", "count", "bits", "share", "chance", "names", "kind"];
    let order = schema["x-order"].as_array().unwrap();
    assert_eq!(order[..first.len()], first);
    assert_eq!(order.len(), schema["properties"].as_object().unwrap().len());
    // one field needs no order, and a tag is not a field
    assert_eq!(schema["$defs"]["Shape"]["oneOf"][0].get("x-order"), None);
}

proptest! {
    #[test]
    fn random_documents_follow_their_schema(seed in any::<u64>()) {
        let mut random = RandomStream::new(seed, "document");
        let mut draw = |below: u64| random.bits() % below;
        let schema = Schema::of::<Everything>();
        let mut json = schema.random(&mut draw);
        for _ in 0..4 {
            let document = Document::from_json(&json.to_string(), None, &[]).unwrap();
            let decoded = document.decode::<Everything>(&schema);
            prop_assert!(decoded.is_ok(), "{json}: {decoded:?}");
            schema.vary(&mut json, &mut draw);
        }
    }
}
