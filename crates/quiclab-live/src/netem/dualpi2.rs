//! DualPI2 by rtnetlink: `tc` knows it since iproute2 6.18, which is newer than what distributions have.
//!
//! The words are those of that `tc`; attributes are in linux/pkt_sched.h since Linux 6.17.

use netlink_packet_core::{
    DefaultNla, Emitable, NLA_F_NESTED, NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkHeader,
    NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use std::io;

/// Name of the discipline.
pub const NAME: &str = "dualpi2";
/// Longer than an acknowledgement of the kernel with the request that it answers.
const BUFFER_BYTES: usize = 8192;

/// Options with a number: word, attribute, whether it is one byte instead of four.
const NUMBERS: [(&str, u16, bool); 8] = [
    ("limit", 1, false),
    ("target", 3, false),
    ("tupdate", 4, false),
    ("alpha", 5, false),
    ("beta", 6, false),
    ("step_thresh", 8, false),
    ("coupling_factor", 10, true),
    ("classic_protection", 13, true),
];
/// `TCA_OPTIONS`; newer disciplines insist on the flag.
const OPTIONS: u16 = 2 | NLA_F_NESTED;
/// `TCA_DUALPI2_ECN_MASK`, and its values.
const ECN_MASK: u16 = 14;
const MASKS: [(&str, u8); 2] = [("l4s_ect", 1), ("any_ect", 3)];

/// Adds the discipline to a device in the namespace of the calling thread, below the class `parent` ("1:1") with a handle
/// ("10:"), both in hexadecimal digits.
///
/// # Errors
/// If a word is not known, or the kernel refuses it.
pub fn add(device: &str, parent: &str, handle: &str, words: &[String]) -> io::Result<()> {
    let mut message = TcMessage::default();
    message.header.index = i32::try_from(nix::net::if_::if_nametoindex(device)?).map_err(io::Error::other)?;
    message.header.parent = class(parent)?;
    message.header.handle = class(handle)?;
    let options = options(words)?;
    let mut nested = vec![0; options.as_slice().buffer_len()];
    options.as_slice().emit(&mut nested);
    message.attributes =
        vec![TcAttribute::Kind(NAME.to_owned()), TcAttribute::Other(DefaultNla::new(OPTIONS, nested))];
    request(RouteNetlinkMessage::NewQueueDiscipline(message)).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => io::Error::other(format!(
            "this kernel does not have the queueing discipline {NAME} (sch_dualpi2, since Linux 6.17)"
        )),
        kind => io::Error::new(kind, format!("the queueing discipline {NAME}: {error}")),
    })
}

fn class(text: &str) -> io::Result<TcHandle> {
    let number = |digits: &str| if digits.is_empty() { Ok(0) } else { u16::from_str_radix(digits, 16) };
    let (major, minor) = text.split_once(':').ok_or_else(|| unknown(text))?;
    match (number(major), number(minor)) {
        (Ok(major), Ok(minor)) => Ok(TcHandle { major, minor }),
        _ => Err(unknown(text)),
    }
}

/// The attributes of words; times are in microseconds.
fn options(words: &[String]) -> io::Result<Vec<DefaultNla>> {
    let mut options = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if let Some((_, mask)) = MASKS.iter().find(|(name, _)| name == word) {
            options.push(DefaultNla::new(ECN_MASK, vec![*mask]));
            continue;
        }
        let (_, attribute, is_byte) =
            NUMBERS.iter().find(|(name, ..)| name == word).ok_or_else(|| unknown(word))?;
        let value = words.next().map_or("", String::as_str);
        let number: u32 = value.trim_end_matches("us").parse().map_err(|_| unknown(value))?;
        let bytes = match u8::try_from(number) {
            Ok(byte) if *is_byte => vec![byte],
            Err(_) if *is_byte => return Err(unknown(value)),
            _ => number.to_ne_bytes().to_vec(),
        };
        options.push(DefaultNla::new(*attribute, bytes));
    }
    Ok(options)
}

fn unknown(word: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("unknown word `{word}`"))
}

/// Asks the kernel to do it, and waits for its answer.
fn request(message: RouteNetlinkMessage) -> io::Result<()> {
    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
    let mut request = NetlinkMessage::new(header, NetlinkPayload::from(message));
    request.finalize();
    let mut bytes = vec![0; request.buffer_len()];
    request.serialize(&mut bytes);
    socket.send(&bytes, 0)?;
    let mut answer = vec![0; BUFFER_BYTES];
    let length = socket.recv(&mut &mut answer[..], 0)?;
    match NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer[..length]).map(|answer| answer.payload) {
        Ok(NetlinkPayload::Error(error)) if error.code.is_none() => Ok(()),
        Ok(NetlinkPayload::Error(error)) => Err(error.to_io()),
        _ => Err(io::Error::other("the answer of the kernel is not an acknowledgement")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiclab_core::queue::{Dualpi2, QueueOptions, TcQueue};

    #[test]
    fn every_word_of_the_configuration_has_an_attribute() {
        let Ok(TcQueue::Child { words, .. }) = Dualpi2::default().tc() else { panic!("the kernel has it") };
        let mut found = options(&words[1..]).unwrap();
        found.sort_by_key(netlink_packet_core::Nla::kind);
        let expected = [
            (1, 10_000_u32.to_ne_bytes().to_vec()),
            (3, 15_000_u32.to_ne_bytes().to_vec()),
            (4, 16_000_u32.to_ne_bytes().to_vec()),
            (5, 41_u32.to_ne_bytes().to_vec()),
            (6, 819_u32.to_ne_bytes().to_vec()),
            (8, 1000_u32.to_ne_bytes().to_vec()),
            (10, vec![2]),
            (13, vec![10]),
            (14, vec![1]),
        ];
        assert_eq!(found, expected.map(|(attribute, bytes)| DefaultNla::new(attribute, bytes)));
    }

    #[test]
    fn words_that_are_not_known_are_refused() {
        let refused = |words: &[&str]| {
            options(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()).unwrap_err().to_string()
        };
        assert_eq!(refused(&["l4s_ect", "colour", "3"]), "unknown word `colour`");
        assert_eq!(refused(&["limit", "many"]), "unknown word `many`");
        assert_eq!(class("1:1").unwrap(), TcHandle { major: 1, minor: 1 });
        assert_eq!(class("1f:").unwrap(), TcHandle { major: 31, minor: 0 });
        assert!(class("1").is_err() && class("g:").is_err());
    }
}
