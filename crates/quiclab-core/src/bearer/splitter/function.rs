//! A user-defined function chooses the link from the state of the sending end: what it has sent over each
//! link, and the reports of the link.

use crate::bearer::link_estimate::LinkEstimate;
use crate::time::{Duration, Time};
use crate::units::{ByteCount, DataRate};
use std::fmt;

/// Chooses the link of each packet of a bearer.
pub trait ChooseLink: Send {
    /// Returns the index of the link for `packet`; `None` if the function has failed, which its owner
    /// records: the run is to end, and the remaining packets take the first link.
    fn choose(&mut self, packet: SplitPacket, links: &[LinkView]) -> Option<usize>;
}

/// A packet that waits for its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitPacket {
    /// Time of its arrival.
    pub now: Time,
    /// Its number in the bearer, from 0 on (COUNT, TS 38.323 section 7.1).
    pub count: u64,
    /// Size with the PDCP header.
    pub size: ByteCount,
}

/// State of a link as known to the sending end of a bearer; sizes include the PDCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkView {
    /// Packets sent over it.
    pub sent_packets: u64,
    /// Bytes sent over it.
    pub sent: ByteCount,
    /// Bytes sent and not yet reported as transmitted or lost.
    pub unreported: ByteCount,
    /// Estimated rate; `start_rate` before it is measured.
    pub rate: DataRate,
    /// Estimated delay after serialisation; 0 before the first report of a delivery.
    pub base_delay: Duration,
    /// Reports received.
    pub reports: u64,
    /// Arrival time of the last report; 0 before the first one.
    pub heard: Time,
    /// Packets that the link has reported as lost.
    pub lost_packets: u64,
    /// Bytes that waited in the link at the last report.
    pub buffered: ByteCount,
}

impl LinkView {
    fn of(link: &LinkEstimate) -> Self {
        Self {
            sent_packets: link.sent.packets,
            sent: ByteCount::from_bytes(link.sent.bytes),
            unreported: link.unreported(),
            rate: link.rate(),
            base_delay: link.base_delay(),
            reports: link.reports,
            heard: link.heard,
            lost_packets: link.last.lost.packets,
            buffered: link.last.buffered,
        }
    }
}

/// Splitter that calls the function.
pub(in crate::bearer) struct Function {
    function: Box<dyn ChooseLink>,
    /// Reused for each packet.
    views: Vec<LinkView>,
}

impl Function {
    pub(in crate::bearer) fn new(function: Box<dyn ChooseLink>) -> Self {
        Self { function, views: Vec::new() }
    }

    /// The link of a packet.
    ///
    /// # Panics
    /// If the function returns the index of a link that does not exist.
    pub(in crate::bearer) fn next(&mut self, packet: SplitPacket, links: &[LinkEstimate]) -> usize {
        self.views.clear();
        self.views.extend(links.iter().map(LinkView::of));
        let link = self.function.choose(packet, &self.views).unwrap_or(0);
        assert!(link < links.len(), "a link of {}, got {link}", links.len());
        link
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function").finish_non_exhaustive()
    }
}
