//! Messages and extensions of TLS 1.3 (RFC 8446 sections 4 and 4.2).

/// Bytes of the type and length of a message.
pub(super) const MESSAGE: usize = 4;

/// Appends an extension.
pub(super) fn extension(out: &mut Vec<u8>, kind: u16, body: &[u8]) {
    out.extend_from_slice(&kind.to_be_bytes());
    out.extend_from_slice(&(body.len() as u16).to_be_bytes());
    out.extend_from_slice(body);
}

/// A message: type, length in three bytes, body.
pub(super) fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let [_, length @ ..] = (body.len() as u32).to_be_bytes();
    [&[kind], &length[..], body].concat()
}

/// Returns `message` if it has `length` bytes.
pub(super) fn of_length(message: Vec<u8>, length: usize) -> Option<Vec<u8>> {
    (message.len() == length).then_some(message)
}
