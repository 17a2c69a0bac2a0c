//! ECN of whole connections: what is agreed to, which packets are capable, and the echo.

use super::*;
use crate::options::TcpEcn;

fn with(ecn: TcpEcn) -> EndpointConfig {
    let tcp = Some(TcpOptions { ecn: Some(ecn), ..TcpOptions::default() });
    EndpointConfig { tcp, ..fixed() }
}

fn between(ecn: TcpEcn, marked: fn(usize) -> bool) -> Pipe {
    let mut pipe = Pipe::new(&with(ecn), &with(ecn), &download(40_000));
    pipe.marked = marked;
    pipe.run(ms(2000));
    pipe
}

/// RFC 3168 section 6.1.1: ECE and CWR in the SYN, ECE in the SYN-ACK; data are capable, and nothing else.
#[test]
fn data_are_capable_where_both_ends_agree() {
    let pipe = between(TcpEcn::Classic, |_| false);
    let flags: Vec<_> = pipe.sent.iter().take(3).map(|sent| sent.segment.flags).collect();
    let (ece, cwr) = (Flags::ECE, Flags::CWR);
    assert_eq!(flags, [Flags::SYN.with(ece).with(cwr), Flags::SYN.with(Flags::ACK).with(ece), Flags::ACK]);
    assert!(pipe.sent.iter().all(|sent| (sent.ecn == Ecn::Ect0) == (sent.segment.length > 0)));
    let mut refused = Pipe::new(&with(TcpEcn::Classic), &with(TcpEcn::Off), &download(4000));
    refused.run(ms(1000));
    assert!(refused.finished().is_some() && refused.sent.iter().all(|sent| sent.ecn == Ecn::NotEct));
}

/// One mark, and ECE until new data bring CWR: those are sent when the first ECE arrives.
#[test]
fn a_mark_is_echoed_until_the_window_is_reduced() {
    // 0 to 4 open the connection and ask; 10 is data
    let pipe = between(TcpEcn::Classic, |number| number == 10);
    assert!(pipe.sent[10].segment.length > 0);
    let echoes = |sent: &&Sent| sent.role == Role::Client && sent.segment.flags.has(Flags::ECE);
    let echoed: Vec<_> = pipe.sent.iter().skip(1).filter(echoes).map(|sent| sent.time).collect();
    let reduced: Vec<_> = pipe
        .sent
        .iter()
        .filter(|sent| sent.role == Role::Server && sent.segment.flags.has(Flags::CWR))
        .map(|sent| sent.time)
        .collect();
    assert_eq!(reduced.len(), 1);
    assert!(echoed.len() > 1);
    // 10 ms from the mark to the first echo, 10 back, and 10 until the receiver knows
    assert_eq!(reduced[0], echoed[0] + DELAY);
    assert!(*echoed.last().expect("some") <= reduced[0] + DELAY);
}

/// RFC 8257 section 3.2: each acknowledgement says of its own data whether they were marked.
#[test]
fn dctcp_echoes_each_mark_for_itself() {
    let pipe = between(TcpEcn::Dctcp, |number| number == 10);
    assert!(pipe.sent.iter().all(|sent| sent.ecn == Ecn::Ect0));
    let marked = pipe.sent[10].segment.end();
    let acks: Vec<_> = pipe
        .sent
        .iter()
        .skip(5)
        .filter(|sent| sent.role == Role::Client)
        .map(|sent| (sent.segment.acknowledgement, sent.segment.flags.has(Flags::ECE)))
        .collect();
    let echoes: Vec<_> = acks.iter().filter(|(_, echo)| *echo).map(|(next, _)| *next).collect();
    assert_eq!(echoes, [marked]);
    // and what was before it was acknowledged without
    assert!(acks.contains(&(pipe.sent[10].segment.sequence, false)));
}
