//! The TUN device: packets of the machine in batches.
//!
//! With `IFF_VNET_HDR` a sender's large segments arrive unsegmented, and are segmented here; packets of one flow that
//! leave together are merged again. That saves most system calls, and most of the work of the kernel's TCP (as
//! WireGuard's user-space program does).

use bytes::BytesMut;
use quiclab_core::{Packet, PacketMemory, Payload};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use tun_rs::{GROTable, SyncDevice, VIRTIO_NET_HDR_LEN};

/// Maximum number of packets of a segment of 64 KiB; with those of 256 bytes and less the rest is lost, and counted.
const SEGMENTS: usize = 256;
/// Maximum number of packets written together.
const WRITES: usize = 64;
/// Largest IP packet.
const MAX_PACKET_BYTES: usize = 65_535;

/// The device.
pub struct Tun {
    device: Arc<SyncDevice>,
    whole: Vec<u8>,
    segments: Vec<Vec<u8>>,
    sizes: Vec<usize>,
    joining: GROTable,
    writes: Vec<Vec<u8>>,
    waiting: usize,
    memory: PacketMemory,
    /// Counters of packets and errors.
    pub counts: TunCounts,
}

/// Counters of packets read and written, and of errors.
#[derive(Clone, Copy, Debug, Default)]
pub struct TunCounts {
    /// Packets read from the device.
    pub read_packets: u64,
    /// Bytes read from the device.
    pub read_bytes: u64,
    /// Packets written to the device.
    pub written_packets: u64,
    /// Bytes written to the device.
    pub written_bytes: u64,
    /// Reads that could not be split into packets.
    pub unreadable: u64,
    /// Batches that the device did not accept completely.
    pub refused: u64,
}

impl Tun {
    /// Creates the device, with packets of at most `mtu` bytes.
    #[must_use]
    pub fn new(device: Arc<SyncDevice>, mtu: u16) -> Self {
        Self {
            device,
            whole: vec![0; VIRTIO_NET_HDR_LEN + MAX_PACKET_BYTES],
            segments: vec![vec![0; usize::from(mtu) + 128]; SEGMENTS],
            sizes: vec![0; SEGMENTS],
            joining: GROTable::default(),
            writes: (0..WRITES).map(|_| Vec::with_capacity(VIRTIO_NET_HDR_LEN + MAX_PACKET_BYTES)).collect(),
            waiting: 0,
            memory: PacketMemory::default(),
            counts: TunCounts::default(),
        }
    }

    /// Reads once, and passes each packet to `each`; false if there is no data to read.
    ///
    /// # Errors
    /// If the device no longer exists.
    pub fn read(&mut self, mut each: impl FnMut(BytesMut)) -> io::Result<bool> {
        let count = match self.device.recv_multiple(&mut self.whole, &mut self.segments, &mut self.sizes, 0) {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(true),
            Err(error) if error.raw_os_error() == Some(libc::EBADFD) => return Err(error),
            // error of the segmentation
            Err(_) => {
                self.counts.unreadable += 1;
                return Ok(true);
            }
        };
        for (segment, &size) in self.segments.iter().zip(&self.sizes).take(count) {
            self.counts.read_packets += 1;
            self.counts.read_bytes += size as u64;
            each(self.memory.copy(&segment[..size]));
        }
        Ok(true)
    }

    /// Writes a packet with the next [`Tun::flush`].
    pub fn write(&mut self, packet: &Packet) {
        let Payload::Ip(bytes) = &packet.payload else { return };
        self.write_bytes(bytes);
    }

    /// Writes the bytes of a packet with the next [`Tun::flush`].
    pub fn write_bytes(&mut self, bytes: &[u8]) {
        if self.waiting == WRITES {
            self.flush();
        }
        let buffer = &mut self.writes[self.waiting];
        buffer.clear();
        buffer.resize(VIRTIO_NET_HDR_LEN, 0);
        buffer.extend_from_slice(bytes);
        self.waiting += 1;
        self.counts.written_packets += 1;
        self.counts.written_bytes += bytes.len() as u64;
    }

    /// Writes the waiting packets.
    pub fn flush(&mut self) {
        if self.waiting == 0 {
            return;
        }
        let buffers = &mut self.writes[..self.waiting];
        if self.device.send_multiple(&mut self.joining, buffers, VIRTIO_NET_HDR_LEN).is_err() {
            self.counts.refused += 1;
        }
        self.waiting = 0;
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}
