//! Notification of changes of interfaces or addresses, which are then read again (rtnetlink(7), groups of
//! NETLINK_ROUTE).

use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// RTMGRP_LINK, RTMGRP_IPV4_IFADDR, RTMGRP_IPV6_IFADDR.
const GROUPS: u32 = 1 | 0x10 | 0x100;

/// A socket that is readable after changes.
pub struct Watch(Socket);

impl Watch {
    /// Watches the network of the calling thread.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn new() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind(&SocketAddr::new(0, GROUPS))?;
        socket.set_non_blocking(true)?;
        Ok(Self(socket))
    }

    /// Reads the received messages; true if something changed. An overflow also counts as a change.
    pub fn changed(&self) -> bool {
        let mut buffer = [0; 1 << 14];
        let mut changed = false;
        loop {
            match self.0.recv(&mut &mut buffer[..], 0) {
                Ok(_) => changed = true,
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => changed = true,
                Err(_) => return changed,
            }
        }
    }
}

impl AsFd for Watch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the socket keeps its descriptor open as long as `self` lives.
        #[expect(unsafe_code, reason = "netlink-sys gives only the raw descriptor")]
        unsafe {
            BorrowedFd::borrow_raw(self.0.as_raw_fd())
        }
    }
}
