//! `top` and `/metrics` of running tunnels.

use super::lab::{Lab, PROGRAM, succeed, until};
use super::{flow, more};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;

/// A terminal of 12 rows with `top` of the client in it: the terminal's end, its output, and the process.
fn top(lab: &Lab) -> (File, std::sync::mpsc::Receiver<Vec<u8>>, std::process::Child) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let slave = || File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    tcsetwinsize(&master, size(12)).unwrap();
    let child = Command::new("setsid")
        .args(["--ctty", "--wait", PROGRAM, "top", "--interval", "0.2", "--interface", &lab.device('c')])
        .stdin(Stdio::from(slave()))
        .stdout(Stdio::from(slave()))
        .stderr(Stdio::from(slave()))
        .spawn()
        .unwrap();
    let master = File::from(master);
    let mut reader = master.try_clone().unwrap();
    let (send, receive) = channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 1 << 16];
        // an error means the end of the last process that has it open
        while let Ok(count) = reader.read(&mut buffer) {
            if count == 0 || send.send(buffer[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    (master, receive, child)
}

fn size(rows: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: 140, ws_xpixel: 0, ws_ypixel: 0 }
}

#[test]
fn top_shows_paths_rates_and_flows_until_it_is_ended() {
    let Some(mut lab) = Lab::new() else { return };
    // without a limit, paths have room for what a flow sends
    for device in ["c1", "c2"] {
        let limit = ["root", "tbf", "rate", "10mbit", "burst", "64kb", "latency", "50ms"];
        succeed("tc", &[&["-n", &lab.host('c'), "qdisc", "add", "dev", device][..], &limit].concat());
    }
    lab.start_both();
    let (arrived, stop) = flow(&lab);
    more(&arrived, 1_000_000, "the flow begins");
    let (mut terminal, output, mut child) = top(&lab);
    let mut shown = String::new();
    let mut seen = |what: &dyn Fn(&str) -> bool, name: &str| {
        until(name, || {
            output.try_iter().for_each(|bytes| shown += &String::from_utf8_lossy(&bytes));
            what(&shown)
        });
        std::mem::take(&mut shown)
    };
    let is_flow = |text: &str| text.contains("tcp 10.77.0.2:") && text.contains(" > 10.77.0.1:9 ");
    let text = seen(&|text| is_flow(text) && text.contains("Mbit/s"), "a flow in the queue, and rates");
    assert!(text.starts_with("\x1b[?1049h"), "the alternate screen: {text:?}");
    for name in ["client ", "server: open", "  dsl ", "  lte ", "10.1.1.1:4433"] {
        assert!(text.contains(name), "{name}: {text}");
    }
    // a frame is written over the previous one
    assert_eq!(text.matches("\x1b[2J").count(), 1);
    // one line, which is the first
    tcsetwinsize(&terminal, size(1)).unwrap();
    seen(
        &|text| {
            let last = text.split("\x1b[?2026h").last().unwrap_or_default();
            last.contains("\x1b[?2026l") && !last.contains("\r\n") && last.contains("client ")
        },
        "a picture of one line",
    );
    // without its tunnel it waits
    lab.kill('c');
    seen(&|text| text.contains("quiclab-tunnel: no tunnel answers at "), "a sentence");
    terminal.write_all(b"q").unwrap();
    assert!(child.wait().unwrap().success());
    let text = seen(&|text| text.contains("\x1b[?1049l"), "the screen from before");
    assert!(text.contains("\x1b[?25h"), "the cursor is back: {text:?}");
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
}

#[test]
fn top_prints_lines_where_there_is_no_terminal() {
    let Some(mut lab) = Lab::new() else { return };
    lab.start_both();
    let device = lab.device('s');
    let arguments = ["top", "--once", "--interval", "0.1", "--interface", &device];
    let once = Command::new(PROGRAM).args(arguments).output().unwrap();
    let text = String::from_utf8(once.stdout).unwrap();
    assert!(once.status.success() && !text.contains('\x1b'), "{text}");
    assert!(
        text.starts_with(&format!("server {device}, quiclab-tunnel ")) && text.contains("\nlaptop: open "),
        "{text}"
    );
    // two frames, then the output is not read
    let arguments = ["top", "--interval", "0.1", "--interface", &device];
    let mut child = Command::new(PROGRAM).args(arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = child.stdout.take().unwrap();
    let mut text = String::new();
    let mut buffer = [0; 4096];
    while text.matches("\nlaptop: open ").count() < 2 {
        let count = output.read(&mut buffer).unwrap();
        assert!(count > 0, "{text}");
        text += &String::from_utf8_lossy(&buffer[..count]);
    }
    drop(output);
    assert!(child.wait().unwrap().success());
    lab.down('s');
    let once = Command::new(PROGRAM).args(["top", "--interface", &device]).output().unwrap();
    assert_eq!(once.status.code(), Some(1));
}

/// The metrics of the Grafana dashboard exist as soon as a client has a session.
#[test]
fn metrics_of_a_running_server_are_those_of_the_panel() {
    let Some(mut lab) = Lab::new() else { return };
    lab.start_both();
    let answer = lab.metrics();
    let (header, text) = answer.split_once("\r\n\r\n").unwrap();
    assert!(
        header.contains("\r\nContent-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"),
        "{header}"
    );
    assert!(text.ends_with("# EOF\n") && text.matches("# EOF").count() == 1, "{text}");
    // every value of a usual configuration has a type
    assert!(!text.contains(" unknown\n"), "{text}");
    if let Some(file) = std::env::var_os("QUICLAB_METRICS_FILE") {
        std::fs::write(file, text).unwrap();
    }
    let names: BTreeSet<_> = text.lines().filter_map(|line| line.split(['{', ' ']).next()).collect();
    let panel = include_str!("../../../../packaging/grafana/quiclab-tunnel.json");
    let words = panel.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    for name in words.filter(|word| word.starts_with("quiclab_tunnel_")) {
        assert!(names.contains(name), "{name}: {text}");
    }
}
