//! Whole sentences, and the locations of their values.

use crate::check_tests::Everything;
use crate::{Document, Schema};
use quiclab_core::{Problem, ProblemKind};

fn error(line: &str, sets: &[(&str, &str)]) -> crate::ConfigError {
    let sets: Vec<_> = sets.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
    let document = Document::from_toml(&format!("size = \"100 B\"\n{line}"), "e.toml", &sets).unwrap();
    document.decode::<Everything>(&Schema::of::<Everything>()).unwrap_err()
}

#[test]
fn a_wrong_quantity_says_what_is_wrong_with_it() {
    const RATE: &str = "rate: expected a rate such as \"20 Mbit/s\"";
    const UNITS: &str = "units are Gbit/s, Mbit/s, kbit/s, bit/s";
    for (line, sentence) in [
        ("rate = 20", format!("{RATE}, got 20; the unit is missing; {UNITS}")),
        ("rate = \"20\"", format!("{RATE}, got \"20\"; the unit is missing; {UNITS}")),
        ("rate = nan", format!("{RATE}, got NaN; not a decimal number with a unit")),
        ("rate = -1", format!("{RATE}, got -1; it must not be negative")),
        ("rate = \"-1 bit/s\"", format!("{RATE}, got \"-1 bit/s\"; it must not be negative")),
        ("rate = \"0,5 Mbit/s\"", format!("{RATE}, got \"0,5 Mbit/s\"; write a decimal point, not a comma")),
        (
            "rate = \"20 Mbps\"",
            format!("{RATE}, got \"20 Mbps\"; unknown unit `Mbps`; {UNITS}; did you mean `Mbit/s`?"),
        ),
    ] {
        assert_eq!(error(line, &[]).problem.to_string(), sentence);
    }
    for (line, meant) in [
        ("size = \"1 KB\"", Some("kB")),
        ("size = \"1 Mb\"", Some("MB")),
        ("time = \"1 MS\"", Some("ms")),
        ("time = \"1 h\"", None),
        ("rate = \"20 Mbit\"", Some("Mbit/s")),
        ("rate = \"20 MB\"", None),
    ] {
        let document = Document::from_toml(line, "e.toml", &[]).unwrap();
        let error = document.decode::<Everything>(&Schema::of::<Everything>()).unwrap_err();
        assert_eq!(error.problem.suggestion.as_deref(), meant, "{line}");
    }
}

#[test]
fn what_the_command_line_made_wrong_is_its_error() {
    let wrong = error("names = [\"a\", \"b\"]", &[("names.2", "c")]);
    let words = "names: expected 1 to 2 entries, got [\"a\", \"b\", \"c\"]";
    assert_eq!(wrong.to_string(), format!("--set: {words}"));
    assert_eq!(wrong.render(false), format!("error: --set: {words}"));
    let wrong = error("kind = { kind = \"round\", radius = 1 }", &[("kind.kind", "flat")]);
    assert_eq!(
        wrong.to_string(),
        "e.toml:2:26: kind.radius: unknown field; expected no field; --set changed `kind` to \"flat\", which does not \
         take this field; replace the whole table: --set 'kind={ kind = \"flat\" }'"
    );
    let wrong = error("kind = { kind = \"flat\", radius = 1 }", &[]);
    assert_eq!(wrong.problem.reason, None);
    // an element that exists only on the command line
    let document = |sets: &[(String, String)]| {
        Document::from_toml("parts.down = {}\nother.dwon = 1", "e.toml", sets).unwrap()
    };
    let unused = Problem::new(ProblemKind::Conflict, "parts.dwon", "").because("not used");
    let set = document(&[("parts.dwon.weight".to_owned(), "1".to_owned())]);
    assert_eq!(set.locate(unused.clone()).to_string(), "--set: parts.dwon: not used; did you mean `down`?");
    assert_eq!(document(&[]).locate(unused).problem.suggestion, None);
}

#[test]
fn a_name_where_an_address_is_expected() {
    let wrong = error("remote = \"vpn.example.org:4433\"", &[]);
    assert_eq!(
        wrong.problem.sentence(),
        "expected an IP address with a port from 1 to 65535, such as \"192.0.2.1:4433\" or \"[2001:db8::1]:4433\", got \
         \"vpn.example.org:4433\"; host names are not resolved"
    );
    assert_eq!(error("remote = \"192.0.2.1:0\"", &[]).problem.reason, None);
}
