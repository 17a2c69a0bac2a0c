//! The lines of `top`.

use super::rates::{Between, SessionRates};
use crate::status::{FlowStatus, MtuSearchState, PathStatus, SessionStatus, Status};

/// Style of a line on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Unchanged.
    Plain,
    /// In bold.
    Title,
    /// Dimmed: the names of columns.
    Columns,
    /// In red: a failure.
    Alert,
}

/// A line of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its style.
    pub style: Style,
    /// Its text.
    pub text: String,
}

impl Line {
    /// Creates a line.
    #[must_use]
    pub fn new(style: Style, text: String) -> Self {
        Self { style, text }
    }
}

/// Lines about the current state of a tunnel, with rates since the status `before`. Sessions are in the order
/// of their names.
#[must_use]
pub fn lines(before: Option<&Status>, now: &Status) -> Vec<Line> {
    let between = Between::new(before, now);
    let mut sessions: Vec<_> =
        now.sessions.iter().map(|session| (session, between.of_session(session))).collect();
    sessions.sort_by_key(|(session, _)| (&session.name, session.session));
    let sum = |of: fn(&SessionRates) -> Option<f64>| {
        sessions.iter().filter_map(|(_, rates)| of(rates)).reduce(|sum, rate| sum + rate)
    };
    let open = sessions.iter().filter(|(session, _)| session.open).count();
    let mut out = vec![Line::new(
        Style::Title,
        format!(
            "{} {}, quiclab-tunnel {}: up {}, {open} of {} sessions open, sent {}, received {}",
            now.role,
            now.interface,
            now.version,
            time(now.uptime_seconds),
            sessions.len(),
            rate(sum(|rates| rates.sent)),
            rate(sum(|rates| rates.received)),
        ),
    )];
    for (session, rates) in &sessions {
        out.push(Line::new(Style::Plain, String::new()));
        add_session(&mut out, session, rates, &between);
    }
    out
}

fn add_session(out: &mut Vec<Line>, session: &SessionStatus, rates: &SessionRates, between: &Between<'_>) {
    let addresses: Vec<_> = session.addresses.iter().map(ToString::to_string).collect();
    let (style, state) = match session.open {
        true => (Style::Title, format!("open {}", time(session.open_seconds))),
        false => (Style::Alert, "not open".to_owned()),
    };
    out.push(Line::new(
        style,
        format!(
            "{}: {state}, {}, sent {}, received {}",
            session.name,
            if addresses.is_empty() { "no address".to_owned() } else { addresses.join(" ") },
            rate(rates.sent),
            rate(rates.received)
        ),
    ));
    out.push(Line::new(
        Style::Plain,
        format!(
            "  queue: {} packets, {}, mean wait {}, dropped {}, repaired {}",
            session.backlog_packets,
            bytes(session.backlog_bytes),
            rates.wait_ms.map_or_else(|| "-".to_owned(), |wait| format!("{wait:.1} ms")),
            per_second(rates.dropped),
            per_second(rates.repaired),
        ),
    ));
    out.push(Line::new(
        Style::Columns,
        format!(
            "  {:<12} {:<5} {:>13} {:>13} {:>9} {:>7} {:>6} {:>10} {:>10}  {}",
            "path", "state", "sent", "received", "rtt", "loss", "mtu", "in flight", "window", "remote"
        ),
    ));
    for path in &session.paths {
        add_path(out, path, between.of_path(session, path));
    }
    if !session.flows.is_empty() {
        out.push(Line::new(
            Style::Columns,
            format!(
                "  {:<62} {:>8} {:>10} {:>10} {:>8}",
                "flow in the queue", "packets", "bytes", "waits", "dropped"
            ),
        ));
    }
    for flow in &session.flows {
        add_flow(out, flow);
    }
    let hidden = session.waiting_flows.saturating_sub(session.flows.len() as u64);
    if hidden > 0 {
        out.push(Line::new(Style::Columns, format!("  and {hidden} flows with fewer bytes")));
    }
}

fn add_path(out: &mut Vec<Line>, path: &PathStatus, [sent, received]: [Option<f64>; 2]) {
    let mtu = path.mtu_bytes.map_or_else(|| "-".to_owned(), |mtu| mtu.to_string());
    // `+`: a longer packet may be found to pass
    let searching = if path.mtu_search == Some(MtuSearchState::Searching) { "+" } else { "" };
    let text = format!(
        "  {:<12} {:<5} {:>13} {:>13} {:>9} {:>7} {:>6} {:>10} {:>10}  {}",
        path.name,
        if path.up { "up" } else { "down" },
        rate(sent),
        rate(received),
        if path.up { format!("{:.1} ms", path.rtt_ms) } else { "-".to_owned() },
        if path.up { format!("{:.2} %", path.loss * 100.0) } else { "-".to_owned() },
        mtu + searching,
        bytes(path.in_flight_bytes),
        bytes(path.window_bytes),
        path.remote.map_or_else(|| "-".to_owned(), |remote| remote.to_string()),
    );
    out.push(Line::new(if path.up { Style::Plain } else { Style::Alert }, text));
}

fn add_flow(out: &mut Vec<Line>, flow: &FlowStatus) {
    let name = format!("{} {} > {}", flow.protocol, flow.source, flow.destination);
    let text = format!(
        "  {name:<62} {:>8} {:>10} {:>10} {:>8}",
        flow.packets,
        bytes(flow.bytes),
        format!("{:.1} ms", flow.wait_ms),
        flow.dropped_packets
    );
    out.push(Line::new(Style::Plain, text));
}

/// Bits per second.
fn rate(bits: Option<f64>) -> String {
    match bits {
        None => "-".to_owned(),
        Some(bits) if bits < 1e6 => format!("{:.1} kbit/s", bits / 1e3),
        Some(bits) => format!("{:.1} Mbit/s", bits / 1e6),
    }
}

fn per_second(events: Option<f64>) -> String {
    events.map_or_else(|| "-".to_owned(), |events| format!("{events:.0}/s"))
}

fn bytes(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// Hours, minutes and seconds.
fn time(seconds: f64) -> String {
    let seconds = seconds as u64;
    format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::example;

    #[test]
    fn a_tunnel_is_shown_by_session_path_and_flow() {
        let mut before = example();
        before.sessions.remove(0);
        let mut now = before.clone();
        now.uptime_seconds += 1.0;
        now.sessions[0].paths[0].sent_bytes += 6_250_000;
        now.sessions[0].waiting_flows = 30;
        let shown: Vec<_> =
            lines(Some(&before), &now).into_iter().map(|line| (line.style, line.text)).collect();
        let expected = [
            (
                Style::Title,
                "server qlt0, quiclab-tunnel 1.2.3: up 0:01:41, 1 of 1 sessions open, sent 50.0 Mbit/s, received 0.0 kbit/s",
            ),
            (Style::Plain, ""),
            (Style::Title, "laptop: open 0:01:00, 10.77.0.2 fd77::2, sent 50.0 Mbit/s, received 0.0 kbit/s"),
            (Style::Plain, "  queue: 12 packets, 16.8 kB, mean wait -, dropped 0/s, repaired 0/s"),
            (
                Style::Columns,
                "  path         state          sent      received       rtt    loss    mtu  in flight     window  remote",
            ),
            (
                Style::Plain,
                "  0            up      50.0 Mbit/s    0.0 kbit/s   21.5 ms  1.00 %  1500+    60.0 kB   120.0 kB  198.51.100.7:50000",
            ),
            (
                Style::Alert,
                "  1            down     0.0 kbit/s    0.0 kbit/s         -       -      -    60.0 kB   120.0 kB  -",
            ),
            (
                Style::Columns,
                "  flow in the queue                                               packets      bytes      waits  dropped",
            ),
            (
                Style::Plain,
                "  tcp 10.77.0.1:9 > 10.77.0.2:40000                                    12    16.8 kB     4.2 ms        3",
            ),
            (Style::Columns, "  and 29 flows with fewer bytes"),
        ];
        let expected = expected.map(|(style, text)| (style, text.to_owned()));
        assert_eq!(shown, expected);
    }

    #[test]
    fn without_an_earlier_status_there_are_no_rates() {
        let shown = lines(None, &example());
        assert!(shown[0].text.ends_with("1 of 2 sessions open, sent -, received -"), "{}", shown[0].text);
    }
}
