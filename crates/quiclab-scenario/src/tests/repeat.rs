//! Flows with a `count`.

use super::load;

const TEXT: &str = r#"
version = 1
name = "shares"
[links.down]
rate = "10 Mbit/s"
[links.up]
rate = "10 Mbit/s"
[flows.video]
stack = "lab-tcp"
down = ["down"]
up = ["up"]
workload = { kind = "download", size = "1 MB" }
[flows.d]
count = 8
stack = "lab-tcp"
down = ["down"]
up = ["up"]
workload = { kind = "download", size = "1 MB" }
"#;

fn names(sets: &[(&str, &str)]) -> Vec<String> {
    let scenario = load(TEXT, sets).unwrap();
    scenario.repeated().unwrap().flows.keys().cloned().collect()
}

#[test]
fn each_flow_has_the_name_with_a_number() {
    assert_eq!(names(&[]), ["d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8", "video"]);
    assert_eq!(names(&[("flows.d.count", "1")]), ["d1", "video"]);
    assert_eq!(names(&[("flows.d.count", "0")]), ["video"]);
    assert_eq!(names(&[("flows.*.count", "2")]), ["d1", "d2", "video1", "video2"]);
    // the resolved scenario keeps the number, so that a sweep can change it
    let resolved = load(TEXT, &[]).unwrap().resolved();
    assert_eq!((resolved.flows.len(), resolved.flows["d"].count), (2, Some(8)));
    assert_eq!(load(&resolved.to_toml().unwrap(), &[]).unwrap(), resolved);
}

#[test]
fn errors_name_the_field_that_is_there() {
    let error = |sets: &[(&str, &str)]| load(TEXT, sets).unwrap_err().to_string();
    let down = error(&[("flows.d.down", "[\"dwon\"]")]);
    assert!(down.contains("flows.d.down.0") && down.contains("`down`"), "{down}");
    let same = error(&[(
        "flows.d4",
        "{ stack = \"lab-tcp\", down = [\"down\"], up = [\"up\"], workload = { kind = \"download\", size = \"1 MB\" } }",
    )]);
    assert!(same.contains("two flows have the name `d4`"), "{same}");
    let none = error(&[("flows.*.count", "0")]);
    assert!(none.contains("no flow is left"), "{none}");
    let event = "[{ when = { kind = \"delivered\", flow = \"d\", size = \"1 kB\" }, links = [\"down\"], rate = \"1 Mbit/s\" }]";
    let event = error(&[("events", event)]);
    assert!(event.contains("no such flow") && event.contains("d1"), "{event}");
}

#[test]
fn a_star_is_every_name() {
    let scenario = load(TEXT, &[("links.*.delay", "7 ms")]).unwrap();
    assert!(scenario.links.values().all(|link| link.delay.mean.as_ms_f64() == 7.0));
    let first = load(TEXT, &[("flows.*.down.*", "down"), ("flows.d.down.0", "up")]).unwrap();
    assert_eq!(
        (&first.flows["d"].down[..], &first.flows["video"].down[..]),
        (&["up".to_owned()][..], &["down".to_owned()][..])
    );
    for (path, words) in [
        ("links.d*.delay", "`*` as a whole name"),
        ("bearers.*.batch_packets", "`bearers.*` stands for nothing"),
        ("duration.*", "`duration.*` stands for nothing"),
    ] {
        let error = load(TEXT, &[(path, "7 ms")]).unwrap_err().to_string();
        assert!(error.contains(words), "{path}: {error}");
    }
}
