//! Web pages: interface to the client of one.

use crate::time::Time;
use crate::units::ByteCount;

/// The client of a web page.
pub trait PageClient {
    /// Times of each request and its response, in the order of the page.
    fn requests(&self) -> Vec<RequestTimes>;

    /// Whether the process itself reads packets, as over QUIC; over TCP the kernel does.
    fn reads_packets(&self) -> bool {
        false
    }

    /// Departure of the next request that is being prepared, for a process that reads packets itself: it does
    /// not read meanwhile. The start of the run if there is none.
    fn occupied_until(&self) -> Time {
        Time::ZERO
    }
}

/// Times of a request at the client; `None` for an event that has not happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestTimes {
    /// Number of the resource: 0 is the HTML.
    pub resource: u32,
    /// Server of the resource.
    pub origin: u32,
    /// Length of the body.
    pub size: ByteCount,
    /// Time at which the client began to open the connection of the request.
    pub connecting: Option<Time>,
    /// Time at which that connection was ready for requests.
    pub connected: Option<Time>,
    /// Time at which the browser needed the resource.
    pub wanted: Option<Time>,
    /// Time at which the request was passed to the transport.
    pub asked: Option<Time>,
    /// Time at which the first byte of the body was read.
    pub first_byte: Option<Time>,
    /// Time at which the last byte was read.
    pub complete: Option<Time>,
}
