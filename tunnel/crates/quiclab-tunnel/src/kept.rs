//! Packets of inner flows that wait for the end of an outage: the time in which no path of a session carries
//! data, or a session that has ended is not open again.
//!
//! A sender whose packets are lost retransmits them after timeouts that double: after half a minute, TCP retries half a minute
//! later (RFC 6298 section 5.5), and QUIC does the same (RFC 9002 section 6.2.1). Two things end that wait:
//!
//! | | for |
//! | --- | --- |
//! | packets of TCP in an outage are answered with an ICMP error, after which Linux does not double the timeout (RFC 6069, `tcp_ld_RTO_revert`) | TCP of this machine and behind it, if it implements that |
//! | the newest packet of each flow is kept, and sent when there is a path again: its answer ends the wait | all others, such as QUIC |
//!
//! Older packets are dropped when an outage exceeds a second. Their acknowledgements would give their sender
//! a round-trip time as long as the outage, and as long a timeout after the next loss.

use bytes::BytesMut;
use quiclab_core::queue::FlowKey;
use std::collections::BTreeMap;

/// Maximum number of flows of a session of which a packet is kept: the first ones. With packets of 1400 bytes
/// they take 0.35 MB.
const MAX_FLOWS: usize = 256;

/// The newest packet of each flow.
#[derive(Debug, Default)]
pub struct KeptPackets {
    flows: BTreeMap<FlowKey, BytesMut>,
}

impl KeptPackets {
    /// Keeps a packet in place of an earlier one of its flow. Returns whether a packet was lost: that one, or this.
    pub fn keep(&mut self, packet: BytesMut) -> bool {
        let key = FlowKey::of_ip(&packet);
        if self.flows.len() >= MAX_FLOWS && !self.flows.contains_key(&key) {
            return true;
        }
        // a copy, because it may be a part of a block of many packets
        self.flows.insert(key, BytesMut::from(&packet[..])).is_some()
    }

    /// Takes the packets.
    pub fn take(&mut self) -> impl Iterator<Item = BytesMut> + use<> {
        std::mem::take(&mut self.flows).into_values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet of UDP from a port.
    fn packet(port: u16, last: u8) -> BytesMut {
        let mut bytes = vec![0x45, 0, 0, 29, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        bytes.extend(port.to_be_bytes());
        bytes.extend([0, 9, 0, 9, 0, 0, last]);
        BytesMut::from(&bytes[..])
    }

    #[test]
    fn the_newest_packet_of_each_of_the_first_flows_is_kept() {
        let mut kept = KeptPackets::default();
        assert!(!kept.keep(packet(7, 1)) && !kept.keep(packet(8, 2)));
        assert!(kept.keep(packet(7, 3)), "the first is lost");
        assert_eq!(kept.take().collect::<Vec<_>>(), [packet(7, 3), packet(8, 2)]);
        assert_eq!(kept.take().count(), 0);
        let lost = (0..1000).filter(|port| kept.keep(packet(*port, 0))).count();
        assert_eq!((lost, kept.take().count()), (744, 256));
    }
}
