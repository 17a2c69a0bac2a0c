//! Messages of netlink for nftables, and their attributes.

const SUBSYSTEM: u16 = 10;
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
pub(super) const NEW_TABLE: u16 = SUBSYSTEM << 8;
pub(super) const GET_TABLE: u16 = SUBSYSTEM << 8 | 1;
pub(super) const DELETE_TABLE: u16 = SUBSYSTEM << 8 | 2;
pub(super) const NEW_CHAIN: u16 = SUBSYSTEM << 8 | 3;
pub(super) const NEW_RULE: u16 = SUBSYSTEM << 8 | 6;
pub(super) const NEW_SET: u16 = SUBSYSTEM << 8 | 9;
pub(super) const NEW_ELEMENTS: u16 = SUBSYSTEM << 8 | 12;
pub(super) const ERROR: u16 = 2;
/// The end of a list.
pub(super) const DONE: u16 = 3;
/// NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP, NLM_F_CREATE, NLM_F_APPEND.
const REQUEST: u16 = 1;
pub(super) const ACK: u16 = 4;
pub(super) const DUMP: u16 = 0x300;
pub(super) const CREATE: u16 = 0x400;
pub(super) const APPEND: u16 = 0x800;
/// The family `inet`: IPv4 and IPv6.
pub(super) const INET: u8 = 1;
pub(super) const NESTED: u16 = 1 << 15;

/// Appends an attribute.
pub(super) fn attribute(out: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let length = 4 + value.len();
    out.extend((length as u16).to_ne_bytes());
    out.extend(kind.to_ne_bytes());
    out.extend(value);
    out.resize(out.len() + (length.next_multiple_of(4) - length), 0);
}

pub(super) fn number(out: &mut Vec<u8>, kind: u16, value: u32) {
    attribute(out, kind, &value.to_be_bytes());
}

pub(super) fn text(out: &mut Vec<u8>, kind: u16, value: &str) {
    attribute(out, kind, &[value.as_bytes(), &[0]].concat());
}

pub(super) fn nested(out: &mut Vec<u8>, kind: u16, fill: impl FnOnce(&mut Vec<u8>)) {
    let mut value = Vec::new();
    fill(&mut value);
    attribute(out, kind | NESTED, &value);
}

/// Messages that are sent together, of which the last one is answered.
pub(super) struct Request {
    pub(super) bytes: Vec<u8>,
    /// Sequence numbers of the first and the last message.
    pub(super) first: u32,
    pub(super) last: u32,
    /// Offset of the last message.
    latest: usize,
}

impl Request {
    /// Creates a request; `last` is the previous sequence number.
    pub(super) fn new(last: u32) -> Self {
        Self { bytes: Vec::new(), first: last + 1, last, latest: 0 }
    }

    /// Creates a transaction, which is atomic.
    pub(super) fn batch(last: u32) -> Self {
        let mut request = Self::new(last);
        request.message(BATCH_BEGIN, REQUEST, 0, SUBSYSTEM, &[]);
        request
    }

    /// Ends a transaction. Only the last message is acknowledged: the kernel keeps all answers until the
    /// transaction is done, and those to some hundred messages do not fit in the buffer of the socket. A
    /// failed message is always answered, before that acknowledgement.
    pub(super) fn end(&mut self) {
        let flags = self.latest + 6;
        // an acknowledgement of BATCH_END itself requires Linux 6.11
        self.bytes[flags] |= ACK.to_ne_bytes()[0];
        self.bytes[flags + 1] |= ACK.to_ne_bytes()[1];
        self.message(BATCH_END, REQUEST, 0, SUBSYSTEM, &[]);
    }

    pub(super) fn add(&mut self, kind: u16, flags: u16, fill: impl FnOnce(&mut Vec<u8>)) {
        let mut attributes = Vec::new();
        fill(&mut attributes);
        self.latest = self.bytes.len();
        self.message(kind, REQUEST | flags, INET, 0, &attributes);
    }

    fn message(&mut self, kind: u16, flags: u16, family: u8, resource: u16, attributes: &[u8]) {
        self.last += 1;
        let length = 20 + attributes.len() as u32;
        self.bytes.extend(length.to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend(flags.to_ne_bytes());
        self.bytes.extend(self.last.to_ne_bytes());
        self.bytes.extend(0_u32.to_ne_bytes());
        self.bytes.extend([family, 0]);
        self.bytes.extend(resource.to_be_bytes());
        self.bytes.extend(attributes);
    }
}
