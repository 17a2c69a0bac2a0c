//! Tables of nftables by netlink, each replaced or removed in one transaction (linux/netfilter/nf_tables.h).
//!
//! The content of a table is written in the terms of `nft`; `nft list table inet NAME` shows it. From Linux 6.9 on a
//! table belongs to its socket, so that `nft flush ruleset` of a firewall does not remove it while the program runs, and
//! stays after it (NFT_TABLE_F_OWNER, NFT_TABLE_F_PERSIST). On older kernels it has no owner.

mod message;
mod rule;
mod set;
#[cfg(test)]
mod tests;

pub use rule::{Rule, Verdict};
pub use set::Set;

use message::{
    ACK, APPEND, CREATE, DELETE_TABLE, DONE, DUMP, ERROR, GET_TABLE, INET, NESTED, NEW_CHAIN, NEW_RULE,
    NEW_TABLE, Request, attribute, nested, number, text,
};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_NETFILTER};
use rustix::net::sockopt;
use std::io;
use std::time::Duration;

const OWNER_AND_PERSIST: u32 = 2 | 4;
/// Maximum wait for the kernel, which answers immediately; a missing answer must not stop the program.
const PATIENCE: Duration = Duration::from_secs(5);

/// Hook at which a chain sees packets (NF_INET_*).
#[derive(Clone, Copy)]
pub enum Hook {
    /// All received packets, before routing.
    Prerouting = 0,
    /// Packets that this machine forwards.
    Forward = 2,
    /// All outgoing packets, after routing.
    Postrouting = 4,
}

/// A chain at a hook.
pub struct Chain {
    /// Its name in `nft list`.
    pub name: &'static str,
    /// `filter` or `nat`.
    pub kind: &'static str,
    /// Its hook.
    pub hook: Hook,
    /// Its order among the chains of the hook.
    pub priority: i32,
    /// Verdict if no rule decides.
    pub policy: Verdict,
    /// Its rules, in order.
    pub rules: Vec<Rule>,
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

    /// Replaces the content of the table; at each moment the old or the new content applies.
    ///
    /// # Errors
    /// If the kernel has no nftables, or refuses it; nothing has changed then.
    pub fn replace(&mut self, sets: &[Set], chains: &[Chain]) -> io::Result<()> {
        let exists = self.exists()?;
        let request = table(&self.name, exists, OWNER_AND_PERSIST, sets, chains, self.sequence);
        match self.send(request) {
            // before Linux 6.9
            Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EINVAL)) => {
                self.send(table(&self.name, exists, 0, sets, chains, self.sequence))
            }
            done => done,
        }
    }

    /// Removes it; returns whether there was one.
    ///
    /// # Errors
    /// If the kernel has no nftables, or refuses it.
    pub fn remove(&mut self) -> io::Result<bool> {
        if !self.exists()? {
            return Ok(false);
        }
        let mut request = Request::batch(self.sequence);
        request.add(DELETE_TABLE, 0, |out| text(out, 1, &self.name));
        request.end();
        self.send(request).map(|()| true)
    }

    /// Names of all tables of the family `inet`.
    ///
    /// # Errors
    /// If the kernel has no nftables, or refuses it.
    pub fn names(&mut self) -> io::Result<Vec<String>> {
        let mut request = Request::new(self.sequence);
        request.add(GET_TABLE, DUMP, |_| ());
        let mut names = Vec::new();
        self.exchange(request, |kind, message| {
            // struct nfgenmsg, whose first byte is the family, then attributes, of which the first is the name
            if kind == NEW_TABLE
                && let (Some(&INET), Some(length), Some(rest)) =
                    (message.first(), message.get(4..6), message.get(8..))
            {
                let length = usize::from(u16::from_ne_bytes([length[0], length[1]])).saturating_sub(4);
                let name = rest.get(..length).unwrap_or_default();
                names.push(String::from_utf8_lossy(name).trim_end_matches('\0').to_owned());
            }
        })?;
        Ok(names)
    }

    /// Sends a request and waits until it is done.
    fn send(&mut self, request: Request) -> io::Result<()> {
        self.exchange(request, |_, _| ())
    }

    /// Sends a request; passes the kind and the content of each answer that is neither an error nor the end
    /// to `each`.
    fn exchange(&mut self, request: Request, mut each: impl FnMut(u16, &[u8])) -> io::Result<()> {
        let mut buffer = vec![0; 1 << 16];
        // answers to a failed request would be mistaken for those to this one
        while self.receive(&mut buffer, libc::MSG_DONTWAIT).is_ok() {}
        self.sequence = request.last;
        self.make_room(request.bytes.len())?;
        self.socket.send(&request.bytes, 0)?;
        loop {
            let size = self.receive(&mut buffer, 0)?;
            let mut rest = &buffer[..size];
            while let Some(header) = rest.first_chunk::<16>() {
                let word = |at: usize| u32::from_ne_bytes(header[at..at + 4].try_into().expect("four bytes"));
                let length = word(0) as usize;
                let kind = u16::from_ne_bytes([header[4], header[5]]);
                if length < 16 || length > rest.len() {
                    return Err(io::Error::other("the answer of the kernel is truncated"));
                }
                let is_ours = (request.first..=request.last).contains(&word(8));
                match kind {
                    ERROR | DONE if is_ours => {
                        let code = rest[16..length].first_chunk().map_or(0, |code| i32::from_ne_bytes(*code));
                        return if code < 0 { Err(io::Error::from_raw_os_error(-code)) } else { Ok(()) };
                    }
                    kind if is_ours => each(kind, &rest[16..length]),
                    _ => {}
                }
                rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
            }
        }
    }

    /// Receives an answer of the kernel. If there are more errors than fit, the first ones are received.
    fn receive(&self, buffer: &mut [u8], flags: i32) -> io::Result<usize> {
        match self.socket.recv(&mut &mut *buffer, flags) {
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                self.socket.recv(&mut &mut *buffer, flags)
            }
            received => received,
        }
    }

    /// Enlarges the send buffer for `bytes`: a transaction is one datagram.
    fn make_room(&self, bytes: usize) -> io::Result<()> {
        let socket = Fd(&self.socket);
        // the kernel adds less (netlink_sendmsg, net/netlink/af_netlink.c)
        let needed = bytes + 1024;
        if sockopt::socket_send_buffer_size(&socket)? < needed {
            // the limit of the system does not apply to a process that may change the network
            sockopt::set_socket_send_buffer_size_force(&socket, needed)
                .or_else(|_| sockopt::set_socket_send_buffer_size(&socket, needed))?;
        }
        Ok(())
    }
}

/// Transaction that sets a table, in place of an existing one.
fn table(name: &str, exists: bool, flags: u32, sets: &[Set], chains: &[Chain], last: u32) -> Request {
    let mut request = Request::batch(last);
    if exists {
        request.add(DELETE_TABLE, 0, |out| text(out, 1, name));
    }
    request.add(NEW_TABLE, CREATE, |out| {
        text(out, 1, name);
        number(out, 2, flags);
    });
    for (set, id) in sets.iter().zip(1..) {
        set.add_to(&mut request, name, id);
    }
    for chain in chains {
        request.add(NEW_CHAIN, CREATE, |out| {
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
            request.add(NEW_RULE, CREATE | APPEND, |out| {
                text(out, 1, name);
                text(out, 2, chain.name);
                attribute(out, 4 | NESTED, &rule.0);
            });
        }
    }
    request.end();
    request
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
