//! State of a connection in the kernel: `TCP_INFO` (tcp(7), `struct tcp_info` of `linux/tcp.h`).
//!
//! The structure grows with the kernel; only the part that every kernel since 4.19 has is read. Its windows
//! are in segments and its times in microseconds; metrics are in bytes and milliseconds.

use nix::sys::socket::getsockopt;
use nix::{getsockopt_impl, setsockopt_impl, sockopt_impl};
use quiclab_core::Phase;
use quiclab_sim::LINUX;
use std::io;
use std::os::fd::AsFd;

/// Bytes of the structure that are read, up to `tcpi_reord_seen`.
const LENGTH: usize = 224;
/// `TCP_INFINITE_SSTHRESH`: no threshold yet.
const NO_THRESHOLD: u32 = 0x7fff_ffff;
/// Value of `tcpi_pacing_rate` without pacing.
const NO_RATE: u64 = u64::MAX;
/// `TCP_CA_Loss`: window reduced by a timeout, the last of the states of congestion avoidance.
#[cfg(test)]
const CA_LOSS: u8 = 4;

/// The structure as bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
pub struct Raw([u8; LENGTH]);

sockopt_impl!(
    /// `TCP_INFO` of a socket.
    Information,
    GetOnly,
    libc::IPPROTO_TCP,
    libc::TCP_INFO,
    Raw
);

sockopt_impl!(
    /// `SO_MAX_PACING_RATE` of a socket, in bytes per second.
    MaxPacingRate,
    SetOnly,
    libc::SOL_SOCKET,
    libc::SO_MAX_PACING_RATE,
    u64
);

/// State of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Info {
    /// State of loss recovery: open 0, disorder 1, CWR 2, recovery 3, loss 4.
    pub ca_state: u8,
    /// Largest payload of a segment sent, in bytes.
    pub mss_bytes: u64,
    /// Congestion window in segments.
    pub cwnd: u64,
    /// Slow-start threshold in segments; `None` before there is one.
    pub ssthresh: Option<u64>,
    /// Segments sent and not acknowledged.
    pub unacked: u64,
    /// Of these, segments reported by SACK.
    pub sacked: u64,
    /// Of these, segments marked lost.
    pub lost: u64,
    /// Of these, segments sent again.
    pub retransmitted_now: u64,
    /// Segments sent again so far.
    pub retransmitted: u64,
    /// Retransmission timeout in microseconds.
    pub rto_us: u64,
    /// Smoothed RTT in microseconds.
    pub srtt_us: u64,
    /// Its deviation in microseconds.
    pub rttvar_us: u64,
    /// Smallest RTT in the kernel's window of time, in microseconds; `None` before the first sample.
    pub min_rtt_us: Option<u64>,
    /// Segments of reordering assumed.
    pub reordering: u64,
    /// Pacing rate in bytes per second; `None` without pacing.
    pub pacing_rate: Option<u64>,
    /// Latest sample of the delivery rate in bytes per second; 0 before the first.
    pub delivery_rate: u64,
    /// Segments delivered so far.
    pub delivered: u64,
    /// Of these, segments marked according to the receiver's feedback; with the feedback of RFC 3168, all
    /// segments acknowledged with ECE.
    pub delivered_ce: u64,
    /// Segments sent so far, including those without data.
    pub segments_sent: u64,
    /// Segments received so far.
    pub segments_received: u64,
    /// Bytes acknowledged so far.
    pub acked_bytes: u64,
    /// Bytes written and not sent yet.
    pub unsent_bytes: u64,
    /// Time with data in flight, in microseconds.
    pub busy_us: u64,
    /// Part of it that the peer's window limited.
    pub window_limited_us: u64,
    /// Part of it that the send buffer limited.
    pub buffer_limited_us: u64,
    /// Duplicates that the peer reported by DSACK.
    pub dsacks: u64,
}

impl Info {
    /// State of the connection of `socket`.
    ///
    /// # Errors
    /// If it is not a TCP socket, or the kernel is older than 4.19.
    pub fn of(socket: &impl AsFd) -> io::Result<Self> {
        Ok(Self::parse(&getsockopt(socket, Information)?.0))
    }

    /// Reads the structure.
    #[must_use]
    pub fn parse(raw: &[u8; LENGTH]) -> Self {
        let word = |offset: usize| {
            let bytes = raw[offset..offset + 4].try_into().expect("four bytes");
            u64::from(u32::from_ne_bytes(bytes))
        };
        let long =
            |offset: usize| u64::from_ne_bytes(raw[offset..offset + 8].try_into().expect("eight bytes"));
        Self {
            ca_state: raw[1],
            rto_us: word(8),
            mss_bytes: word(16),
            unacked: word(24),
            sacked: word(28),
            lost: word(32),
            retransmitted_now: word(36),
            srtt_us: word(68),
            rttvar_us: word(72),
            ssthresh: Some(word(76)).filter(|&threshold| threshold < u64::from(NO_THRESHOLD)),
            cwnd: word(80),
            reordering: word(88),
            retransmitted: word(100),
            pacing_rate: Some(long(104)).filter(|&rate| rate != NO_RATE),
            acked_bytes: long(120),
            segments_sent: word(136),
            segments_received: word(140),
            unsent_bytes: word(144),
            min_rtt_us: Some(word(148)).filter(|&rtt| rtt != u64::from(u32::MAX) && rtt != 0),
            delivery_rate: long(160),
            busy_us: long(168),
            window_limited_us: long(176),
            buffer_limited_us: long(184),
            delivered: word(192),
            delivered_ce: word(196),
            dsacks: word(216),
        }
    }

    /// Bytes in flight: neither acknowledged, reported by SACK nor marked lost, plus retransmitted ones
    /// (`tcp_packets_in_flight`).
    #[must_use]
    pub fn in_flight_bytes(&self) -> u64 {
        (self.unacked + self.retransmitted_now).saturating_sub(self.sacked + self.lost) * self.mss_bytes
    }

    /// Phase derived from window and threshold, for congestion controls without other phases.
    #[must_use]
    pub fn phase_of_window(&self) -> Phase {
        Phase::of_window(self.cwnd, self.ssthresh)
    }

    /// Values for time series, with the names common to all stacks; unknown ones are `None`.
    #[must_use]
    pub fn sample(&self) -> Vec<(&'static str, Option<f64>)> {
        let ms = |microseconds: u64| microseconds as f64 / 1e3;
        let mbps = |bytes_per_second: u64| bytes_per_second as f64 * 8.0 / 1e6;
        let known = |value: u64| Some(value as f64);
        vec![
            (LINUX.cwnd_bytes.name, known(self.cwnd * self.mss_bytes)),
            (LINUX.ssthresh_bytes.name, self.ssthresh.map(|threshold| (threshold * self.mss_bytes) as f64)),
            (LINUX.in_flight_bytes.name, known(self.in_flight_bytes())),
            (LINUX.srtt_ms.name, Some(ms(self.srtt_us)).filter(|&srtt| srtt > 0.0)),
            (LINUX.rttvar_ms.name, Some(ms(self.rttvar_us)).filter(|_| self.srtt_us > 0)),
            (LINUX.min_rtt_ms.name, self.min_rtt_us.map(ms)),
            (LINUX.rto_ms.name, Some(ms(self.rto_us))),
            (LINUX.pacing_rate_mbps.name, self.pacing_rate.map(mbps)),
            (LINUX.delivery_rate_mbps.name, Some(mbps(self.delivery_rate)).filter(|&rate| rate > 0.0)),
            (LINUX.retransmitted_packets.name, known(self.retransmitted)),
            (LINUX.marked_lost_packets.name, known(self.lost)),
            (LINUX.delivered_packets.name, known(self.delivered)),
            (LINUX.marked_packets.name, known(self.delivered_ce)),
            (LINUX.reordering_packets.name, known(self.reordering)),
            (LINUX.ca_state.name, known(u64::from(self.ca_state))),
            (LINUX.unsent_bytes.name, known(self.unsent_bytes)),
        ]
    }

    /// Further values over the whole connection.
    #[must_use]
    pub fn totals(&self) -> Vec<(&'static str, Option<f64>)> {
        let known = |value: u64| Some(value as f64);
        vec![
            (LINUX.packets_sent.name, known(self.segments_sent)),
            (LINUX.packets_received.name, known(self.segments_received)),
            (LINUX.acked_bytes.name, known(self.acked_bytes)),
            (LINUX.spurious_losses.name, known(self.dsacks)),
            (LINUX.busy_ms.name, Some(self.busy_us as f64 / 1e3)),
            (LINUX.window_limited_ms.name, Some(self.window_limited_us as f64 / 1e3)),
            (LINUX.buffer_limited_ms.name, Some(self.buffer_limited_us as f64 / 1e3)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    fn put(raw: &mut [u8; LENGTH], offset: usize, value: u32) {
        raw[offset..offset + 4].copy_from_slice(&value.to_ne_bytes());
    }

    #[test]
    fn segments_become_bytes_and_what_is_unlimited_is_unknown() {
        let mut raw = [0; LENGTH];
        raw[1] = CA_LOSS;
        for (offset, value) in [
            (16, 1448),
            (24, 20),
            (28, 3),
            (32, 4),
            (36, 2),
            (68, 20_500),
            (76, NO_THRESHOLD),
            (80, 10),
            (196, 8),
        ] {
            put(&mut raw, offset, value);
        }
        raw[104..112].copy_from_slice(&NO_RATE.to_ne_bytes());
        let info = Info::parse(&raw);
        // 20 sent, 3 reported and 4 lost, 2 of the lost sent again: 15 in flight
        assert_eq!(info.in_flight_bytes(), 15 * 1448);
        let sample = info.sample();
        let value = |name| sample.iter().find(|(known, _)| *known == name).expect("it is sampled").1;
        assert_eq!(value("cwnd_bytes"), Some(14_480.0));
        assert_eq!(value("srtt_ms"), Some(20.5));
        assert_eq!(value("ca_state"), Some(4.0));
        assert_eq!(value("marked_packets"), Some(8.0));
        assert_eq!(["ssthresh_bytes", "pacing_rate_mbps", "min_rtt_ms"].map(value), [None, None, None]);
    }

    /// RFC 6928: the initial window is ten segments. Linux' `rto` starts at a second (RFC 6298).
    #[test]
    fn a_new_connection_has_the_initial_window() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let info = Info::of(&client).unwrap();
        assert_eq!((info.cwnd, info.ssthresh, info.ca_state), (10, None, 0));
        assert!(info.mss_bytes > 500 && info.srtt_us > 0);
    }
}
