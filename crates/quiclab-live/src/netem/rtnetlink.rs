//! Setup by rtnetlink of disciplines that `tc` does not support, or not with all values of the kernel.

use netlink_packet_core::{
    DefaultNla, Emitable, NLA_F_NESTED, NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkHeader,
    NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use std::io;

/// Longer than an acknowledgement of the kernel with the request that it answers.
const BUFFER_BYTES: usize = 8192;
/// `TCA_OPTIONS`; newer disciplines require the flag.
const OPTIONS: u16 = 2 | NLA_F_NESTED;

/// A discipline: its options are words after its name, converted to attributes.
pub struct Discipline {
    /// Name in the kernel.
    pub name: &'static str,
    /// Kernel module and first release that has it, for the error.
    pub module: &'static str,
    /// Conversion of words to attributes.
    pub options: fn(&[String]) -> io::Result<Vec<DefaultNla>>,
}

/// Adds a discipline to a device in the namespace of the calling thread, below the class `parent` ("1:1"; `None`: as its root)
/// with a handle ("10:"), both in hexadecimal digits.
///
/// # Errors
/// If a word is unknown, or the kernel refuses it.
pub fn add(
    discipline: &Discipline,
    device: &str,
    parent: Option<&str>,
    handle: &str,
    words: &[String],
) -> io::Result<()> {
    let mut message = TcMessage::default();
    message.header.index = i32::try_from(nix::net::if_::if_nametoindex(device)?).map_err(io::Error::other)?;
    message.header.parent = parent.map_or(Ok(TcHandle::ROOT), class)?;
    message.header.handle = class(handle)?;
    let options = (discipline.options)(words)?;
    let mut nested = vec![0; options.as_slice().buffer_len()];
    options.as_slice().emit(&mut nested);
    message.attributes = vec![
        TcAttribute::Kind(discipline.name.to_owned()),
        TcAttribute::Other(DefaultNla::new(OPTIONS, nested)),
    ];
    let Discipline { name, module, .. } = discipline;
    request(RouteNetlinkMessage::NewQueueDiscipline(message)).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            io::Error::other(format!("this kernel does not have the queueing discipline {name} ({module})"))
        }
        kind => io::Error::new(kind, format!("the queueing discipline {name}: {error}")),
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

/// Parses the number that is the value of a word.
///
/// # Errors
/// If it is not a number of this type.
pub fn number<N: std::str::FromStr>(value: Option<&String>) -> io::Result<N> {
    let value = value.map_or("", String::as_str);
    value.parse().map_err(|_| unknown(value))
}

/// Error about a word that a discipline does not have.
pub fn unknown(word: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("unknown word `{word}`"))
}

/// Sends a request to the kernel, and waits for its answer.
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

    #[test]
    fn classes_are_of_hexadecimal_digits() {
        assert_eq!(class("1:1").unwrap(), TcHandle { major: 1, minor: 1 });
        assert_eq!(class("1f:").unwrap(), TcHandle { major: 31, minor: 0 });
        assert!(class("1").is_err() && class("g:").is_err());
    }
}
