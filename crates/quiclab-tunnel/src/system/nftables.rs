//! Tables of nftables by netlink, each replaced or removed in one transaction (linux/netfilter/nf_tables.h).
//!
//! What a table holds is written in the terms of `nft`; `nft list table inet NAME` shows it. From Linux 6.9 on a table
//! belongs to its socket, so that `nft flush ruleset` of a firewall does not remove it while the program runs, and stays
//! after it (NFT_TABLE_F_OWNER, NFT_TABLE_F_PERSIST). On older kernels it has no owner.

use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_NETFILTER};
use std::io;
use std::time::Duration;

const SUBSYSTEM: u16 = 10;
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
const NEW_TABLE: u16 = SUBSYSTEM << 8;
const GET_TABLE: u16 = SUBSYSTEM << 8 | 1;
const DELETE_TABLE: u16 = SUBSYSTEM << 8 | 2;
const NEW_CHAIN: u16 = SUBSYSTEM << 8 | 3;
const NEW_RULE: u16 = SUBSYSTEM << 8 | 6;
const ERROR: u16 = 2;
/// NLM_F_REQUEST, NLM_F_ACK, NLM_F_CREATE, NLM_F_APPEND.
const REQUEST: u16 = 1;
const ACK: u16 = 4;
const CREATE: u16 = 0x400;
const APPEND: u16 = 0x800;
/// The family `inet`: IPv4 and IPv6.
const INET: u8 = 1;
const OWNER_AND_PERSIST: u32 = 2 | 4;
const NESTED: u16 = 1 << 15;
/// The register that expressions of one rule share, and that of the verdict.
const REGISTER: u32 = 1;
const VERDICT_REGISTER: u32 = 0;
/// Length of a device's name in a comparison (IFNAMSIZ).
const NAME_BYTES: usize = 16;
/// The kernel answers at once; a missing answer must not stop the program.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where a chain sees packets (NF_INET_*).
#[derive(Clone, Copy)]
pub enum Hook {
    /// What this machine forwards.
    Forward = 2,
    /// Everything that leaves, after routing.
    Postrouting = 4,
}

/// What happens to a packet.
#[derive(Clone, Copy)]
pub enum Verdict {
    /// It goes nowhere.
    Drop = 0,
    /// It passes this chain.
    Accept = 1,
}

/// A chain at a hook.
pub struct Chain {
    /// Its name in `nft list`.
    pub name: &'static str,
    /// `filter` or `nat`.
    pub kind: &'static str,
    /// Where.
    pub hook: Hook,
    /// Its order among the chains of the hook.
    pub priority: i32,
    /// What happens where no rule decides.
    pub policy: Verdict,
    /// Its rules, in order.
    pub rules: Vec<Rule>,
}

/// A rule: comparisons, and what happens if all are true.
#[derive(Clone, Default)]
pub struct Rule(Vec<u8>);

/// Appends an attribute.
fn attribute(out: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let length = 4 + value.len();
    out.extend((length as u16).to_ne_bytes());
    out.extend(kind.to_ne_bytes());
    out.extend(value);
    out.resize(out.len() + (length.next_multiple_of(4) - length), 0);
}

fn number(out: &mut Vec<u8>, kind: u16, value: u32) {
    attribute(out, kind, &value.to_be_bytes());
}

fn text(out: &mut Vec<u8>, kind: u16, value: &str) {
    attribute(out, kind, &[value.as_bytes(), &[0]].concat());
}

fn nested(out: &mut Vec<u8>, kind: u16, fill: impl FnOnce(&mut Vec<u8>)) {
    let mut value = Vec::new();
    fill(&mut value);
    attribute(out, kind | NESTED, &value);
}

impl Rule {
    /// A rule without comparisons.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn expression(mut self, name: &str, fill: impl FnOnce(&mut Vec<u8>)) -> Self {
        nested(&mut self.0, 1, |out| {
            text(out, 1, name);
            nested(out, 2, fill);
        });
        self
    }

    fn meta(self, key: u32) -> Self {
        self.expression("meta", |out| {
            number(out, 1, REGISTER);
            number(out, 2, key);
        })
    }

    /// Bytes of the packet: `base` 1 is the header of IP, 2 that of UDP.
    fn payload(self, base: u32, offset: u32, length: usize) -> Self {
        self.expression("payload", |out| {
            number(out, 1, REGISTER);
            number(out, 2, base);
            number(out, 3, offset);
            number(out, 4, length as u32);
        })
    }

    fn compare(self, equal: bool, value: &[u8]) -> Self {
        self.expression("cmp", |out| {
            number(out, 1, REGISTER);
            number(out, 2, u32::from(!equal));
            nested(out, 3, |out| attribute(out, 1, value));
        })
    }

    fn device(self, key: u32, name: &str, equal: bool) -> Self {
        let mut value = name.as_bytes().to_vec();
        value.resize(NAME_BYTES, 0);
        self.meta(key).compare(equal, &value)
    }

    /// `iifname`.
    #[must_use]
    pub fn iifname(self, name: &str) -> Self {
        self.device(6, name, true)
    }

    /// `oifname`.
    #[must_use]
    pub fn oifname(self, name: &str) -> Self {
        self.device(7, name, true)
    }

    /// `oifname !=`.
    #[must_use]
    pub fn oifname_not(self, name: &str) -> Self {
        self.device(7, name, false)
    }

    /// `meta mark`.
    #[must_use]
    pub fn mark(self, mark: u32) -> Self {
        self.meta(3).compare(true, &mark.to_ne_bytes())
    }

    /// `meta nfproto`.
    #[must_use]
    pub fn family(self, ipv4: bool) -> Self {
        self.meta(15).compare(true, &[if ipv4 { 2 } else { 10 }])
    }

    /// `meta l4proto`.
    #[must_use]
    pub fn protocol(self, protocol: u8) -> Self {
        self.meta(16).compare(true, &[protocol])
    }

    /// Bytes of the header of UDP, or another one after that of IP.
    #[must_use]
    pub fn transport(self, offset: u32, value: &[u8]) -> Self {
        self.payload(2, offset, value.len()).compare(true, value)
    }

    /// The first `length` bits of the address at `offset` of the header of IP.
    #[must_use]
    pub fn prefix(self, offset: u32, octets: &[u8], length: u8) -> Self {
        let mask: Vec<u8> = (0..octets.len())
            .map(|at| {
                let bits = usize::from(length).saturating_sub(8 * at).min(8);
                !(0xff_u16 >> bits) as u8
            })
            .collect();
        let read = self.payload(1, offset, octets.len());
        if usize::from(length) == 8 * octets.len() {
            return read.compare(true, octets);
        }
        let masked = read.expression("bitwise", |out| {
            number(out, 1, REGISTER);
            number(out, 2, REGISTER);
            number(out, 3, octets.len() as u32);
            nested(out, 4, |out| attribute(out, 1, &mask));
            nested(out, 5, |out| attribute(out, 1, &vec![0; mask.len()]));
        });
        masked.compare(true, octets)
    }

    /// The verdict.
    #[must_use]
    pub fn verdict(self, verdict: Verdict) -> Self {
        self.expression("immediate", |out| {
            number(out, 1, VERDICT_REGISTER);
            nested(out, 2, |out| nested(out, 2, |out| number(out, 1, verdict as u32)));
        })
    }

    /// `masquerade`.
    #[must_use]
    pub fn masquerade(self) -> Self {
        self.expression("masq", |_| ())
    }
}

/// A table of the family `inet`, with the socket that may own it.
pub struct Table {
    socket: Socket,
    sequence: u32,
    name: String,
}

impl Table {
    /// The table `name` of the network of the calling thread, whether or not it exists.
    ///
    /// # Errors
    /// If the kernel refuses the socket.
    pub fn new(name: String) -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_NETFILTER)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        socket2::SockRef::from(&Fd(&socket)).set_read_timeout(Some(PATIENCE))?;
        Ok(Self { socket, sequence: 0, name })
    }

    /// Whether it exists.
    ///
    /// # Errors
    /// If the kernel has no nftables, or refuses it.
    pub fn exists(&mut self) -> io::Result<bool> {
        let mut request = Request::new(self.sequence);
        request.add(GET_TABLE, ACK, |out| text(out, 1, &self.name));
        match self.send(request) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Sets the table, in place of what it held: at no moment there is neither.
    ///
    /// # Errors
    /// If the kernel has no nftables, or refuses it; nothing has changed then.
    pub fn replace(&mut self, chains: &[Chain]) -> io::Result<()> {
        let exists = self.exists()?;
        match self.set(exists, chains, OWNER_AND_PERSIST) {
            // before Linux 6.9
            Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EINVAL)) => {
                self.set(exists, chains, 0)
            }
            done => done,
        }
    }

    fn set(&mut self, exists: bool, chains: &[Chain], flags: u32) -> io::Result<()> {
        let name = &self.name;
        let mut request = Request::batch(self.sequence);
        if exists {
            request.add(DELETE_TABLE, ACK, |out| text(out, 1, name));
        }
        request.add(NEW_TABLE, ACK | CREATE, |out| {
            text(out, 1, name);
            number(out, 2, flags);
        });
        for chain in chains {
            request.add(NEW_CHAIN, ACK | CREATE, |out| {
                text(out, 1, name);
                text(out, 3, chain.name);
                nested(out, 4, |out| {
                    number(out, 1, chain.hook as u32);
                    number(out, 2, chain.priority as u32);
                });
                number(out, 5, chain.policy as u32);
                text(out, 7, chain.kind);
            });
            for rule in &chain.rules {
                request.add(NEW_RULE, ACK | CREATE | APPEND, |out| {
                    text(out, 1, name);
                    text(out, 2, chain.name);
                    attribute(out, 4 | NESTED, &rule.0);
                });
            }
        }
        request.end();
        self.send(request)
    }

    /// Removes it; whether there was one.
    ///
    /// # Errors
    /// If the kernel has no nftables, or refuses it.
    pub fn remove(&mut self) -> io::Result<bool> {
        if !self.exists()? {
            return Ok(false);
        }
        let mut request = Request::batch(self.sequence);
        request.add(DELETE_TABLE, ACK, |out| text(out, 1, &self.name));
        request.end();
        self.send(request).map(|()| true)
    }

    /// Sends a request and waits for the answers to all of its messages.
    fn send(&mut self, request: Request) -> io::Result<()> {
        self.sequence = request.last;
        self.socket.send(&request.bytes, 0)?;
        let mut buffer = vec![0; 1 << 16];
        let mut missing = request.messages;
        while missing > 0 {
            let size = self.socket.recv(&mut &mut buffer[..], 0)?;
            let mut rest = &buffer[..size];
            while let Some(header) = rest.first_chunk::<16>() {
                let word = |at: usize| u32::from_ne_bytes(header[at..at + 4].try_into().expect("four bytes"));
                let length = word(0) as usize;
                let kind = u16::from_ne_bytes([header[4], header[5]]);
                if length < 16 || length > rest.len() {
                    return Err(io::Error::other("the answer of the kernel is truncated"));
                }
                // answers to earlier requests may be left after an error
                if kind == ERROR && length >= 20 && (request.first..=request.last).contains(&word(8)) {
                    let code = i32::from_ne_bytes(rest[16..20].try_into().expect("four bytes"));
                    if code != 0 {
                        return Err(io::Error::from_raw_os_error(-code));
                    }
                    missing -= 1;
                }
                rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
            }
        }
        Ok(())
    }
}

/// The descriptor of a socket, for socket2.
struct Fd<'a>(&'a Socket);

impl std::os::fd::AsFd for Fd<'_> {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        use std::os::fd::AsRawFd;
        // SAFETY: the socket keeps its descriptor open as long as it is borrowed.
        #[expect(unsafe_code, reason = "netlink-sys gives only the raw descriptor")]
        unsafe {
            std::os::fd::BorrowedFd::borrow_raw(self.0.as_raw_fd())
        }
    }
}

/// Messages that are sent together.
struct Request {
    bytes: Vec<u8>,
    /// Sequence numbers of the first and the last message.
    first: u32,
    last: u32,
    /// Messages that are answered.
    messages: usize,
}

impl Request {
    /// `last` is the sequence number of the message before.
    fn new(last: u32) -> Self {
        Self { bytes: Vec::new(), first: last + 1, last, messages: 0 }
    }

    /// A transaction: all of it or nothing.
    fn batch(last: u32) -> Self {
        let mut request = Self::new(last);
        request.message(BATCH_BEGIN, REQUEST, 0, SUBSYSTEM, &[]);
        request
    }

    fn end(&mut self) {
        self.message(BATCH_END, REQUEST, 0, SUBSYSTEM, &[]);
    }

    fn add(&mut self, kind: u16, flags: u16, fill: impl FnOnce(&mut Vec<u8>)) {
        let mut attributes = Vec::new();
        fill(&mut attributes);
        self.message(kind, REQUEST | flags, INET, 0, &attributes);
        self.messages += 1;
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
