//! ECN of whole connections: negotiation, ECN-capable packets, and the echo.

use super::*;
use crate::options::TcpEcn;
use std::cell::Cell;

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

/// After one mark, ECE until new data with CWR arrive, which are sent when the first ECE arrives.
#[test]
fn a_mark_is_echoed_until_the_window_is_reduced() {
    // 0 to 4 open the connection and send the request; 10 is data
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
    // 10 ms from the mark to the first echo, 10 back, and 10 until the receiver is notified
    assert_eq!(reduced[0], echoed[0] + DELAY);
    assert!(*echoed.last().expect("some") <= reduced[0] + DELAY);
}

/// RFC 8257 section 3.2: each acknowledgement reports whether its own data were marked.
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
    // and data before it were acknowledged without
    assert!(acks.contains(&(pipe.sent[10].segment.sequence, false)));
}

/// RFC 9768 table 2 and section 3.2.1: (1,1,1) in the SYN, the SYN's field in the SYN-ACK, that of the SYN-ACK in the last packet
/// of the handshake, and then counts from 5 on. All packets but SYN and SYN-ACK are capable, and the option takes 12 bytes of each.
#[test]
fn accurate_ecn_is_agreed_to_and_counts() {
    let pipe = between(TcpEcn::Accurate, |number| matches!(number, 10 | 11));
    let ace: Vec<_> = pipe.sent.iter().map(|sent| sent.segment.flags.ace()).collect();
    assert_eq!(ace[..5], [0b111, 0b010, 0b010, 5, 5]);
    assert!(pipe.sent.iter().all(|sent| (sent.ecn == Ecn::Ect0) != sent.segment.flags.has(Flags::SYN)));
    // 60 and 72 bytes with SYN; 52 and 12 of the option
    assert_eq!(pipe.sent[..3].iter().map(|sent| sent.size).collect::<Vec<_>>(), [60, 72, 64]);
    let full = pipe.sent.iter().max_by_key(|sent| sent.size).expect("some were sent");
    assert_eq!((full.size, full.segment.length), (1500, 1436));
    // two packets had marks: 5 and 2, and their bytes
    let last = pipe.sent.iter().rev().find(|sent| sent.role == Role::Client).expect("an acknowledgement");
    assert_eq!(last.segment.flags.ace(), 7);
    let bytes: Vec<_> = last.segment.accecn().expect("in each segment").bytes().collect();
    assert_eq!(bytes, [0, 2 * 1436, 40_000 - 2 * 1436]);
    // the first mark is reported at once: the field differs from that of the previous packet
    let marked = pipe.sent[10].segment.end();
    let told = pipe.sent.iter().find(|sent| sent.role == Role::Client && sent.segment.flags.ace() == 6);
    assert_eq!(told.map(|sent| sent.segment.acknowledgement), Some(marked));
}

/// Section 3.1.4 and table 2: AccECN falls back to the mode of the peer, and is requested once more if a SYN
/// is lost.
#[test]
fn accurate_ecn_falls_back() {
    let run = |server, lost: fn(usize) -> bool| {
        let mut pipe = Pipe::new(&with(TcpEcn::Accurate), &with(server), &download(40_000));
        pipe.lost = Box::new(move |number, _| lost(number));
        pipe.run(ms(9000));
        assert!(pipe.finished().is_some());
        pipe
    };
    let capable = |pipe: &Pipe| pipe.sent.iter().filter(|sent| sent.ecn == Ecn::Ect0).count();
    // RFC 3168: data are capable, and nothing else; no option
    let classic = run(TcpEcn::Classic, |_| false);
    assert!(classic.sent.iter().all(|sent| (sent.ecn == Ecn::Ect0) == (sent.segment.length > 0)));
    assert!(classic.sent.iter().all(|sent| sent.segment.accecn().is_none()));
    assert_eq!(capable(&run(TcpEcn::Off, |_| false)), 0);
    // the first SYN is lost: once more with AccECN
    let again = run(TcpEcn::Accurate, |number| number == 0);
    assert!(capable(&again) > 20 && again.sent[1].segment.flags.ace() == 0b111);
    // and the second, too: without ECN
    let without = run(TcpEcn::Accurate, |number| number < 2);
    assert_eq!((without.sent[2].segment.flags.ace(), capable(&without)), (0, 0));
    // the SYN-ACK is lost: it is retransmitted without the option, and so no segment has it
    let plain = run(TcpEcn::Accurate, |number| number == 1);
    assert!(capable(&plain) > 20 && plain.sent.iter().all(|sent| sent.segment.accecn().is_none()));
    assert!(plain.sent.iter().any(|sent| sent.segment.length == 1448));
    // the last packet of the handshake is lost: the request opens the connection, and its 100 bytes are counted once
    let opened = run(TcpEcn::Accurate, |number| number == 2);
    let server = opened.sent.iter().rev().find(|sent| sent.role == Role::Server).expect("a response");
    assert_eq!(server.segment.accecn().map(|option| option.bytes().collect()), Some(vec![0, 0, 100]));
}

/// Section 3.2.3.2.2: after the loss of two SYN-ACKs the third one is without ECN, and the client has none.
/// Its acknowledgement is lost, too: the request opens the connection, and the 0 in its ACE field is not a
/// count of marks.
#[test]
fn a_client_that_fell_back_reports_no_marks() {
    let mut pipe = Pipe::new(&with(TcpEcn::Accurate), &with(TcpEcn::Accurate), &download(40_000));
    let (without, acknowledged) = (Cell::new(false), Cell::new(false));
    pipe.lost = Box::new(move |_, sent| {
        if sent.segment.flags.has(Flags::SYN.with(Flags::ACK)) {
            without.set(sent.segment.flags.ace() == 0);
            return !without.get();
        }
        without.get() && sent.segment.flags.has(Flags::ACK) && !acknowledged.replace(true)
    });
    pipe.run(ms(30_000));
    assert!(pipe.finished().is_some());
    assert!(pipe.sent.iter().all(|sent| sent.ecn == Ecn::NotEct));
    assert_eq!(Pipe::metric(&mut pipe.server, "marked_packets").unwrap_or(0.0), 0.0);
}

/// Section 3.2.2.3: a SYN-ACK with a mark is reported, and if it must not have been marked, packets are no
/// longer ECN-capable; but the feedback of the other direction continues.
#[test]
fn a_mangled_syn_ack_ends_ecn_in_its_direction() {
    let mut pipe = Pipe::new(&with(TcpEcn::Accurate), &with(TcpEcn::Accurate), &download(40_000));
    pipe.mangled = |number| (number == 1).then_some(Ecn::Ce);
    pipe.run(ms(2000));
    assert_eq!(pipe.sent[2].segment.flags.ace(), 0b110);
    let capable = |role| pipe.sent.iter().skip(2).all(|sent| sent.role != role || sent.ecn == Ecn::Ect0);
    assert!(capable(Role::Client) && !capable(Role::Server));
    let server = pipe.sent.iter().skip(2).filter(|sent| sent.role == Role::Server);
    assert!(server.clone().all(|sent| sent.ecn == Ecn::NotEct) && server.count() > 20);
}
