//! pcapng: packets at vantage points, with the TLS secrets that decrypt them.
//!
//! After draft-ietf-opsawg-pcapng. Packets are whole IP packets (link type RAW) with timestamps in
//! nanoseconds; each vantage point is an interface with its name; each packet has its direction
//! (`epb_flags`) and `Packet::id` (`epb_packetid`: the same packet at two interfaces has the same).
//! Modelled TCP segments have no payload: they are truncated after their headers, as by a snap length. Datagrams of
//! lab-quic become real ones, with secrets; the few that cannot be written have a comment (`opt_comment`) instead.
//! Key log lines go into Decryption Secrets Blocks, so one file is all that Wireshark needs.
//!
//! Blocks are written by the crate pcap-file. It does not know Decryption Secrets Blocks, and its packet
//! block needs a vector of options for each packet, so these two are encoded here and written as raw blocks.
//! Byte order is little-endian on every machine: equal runs, equal bytes.

use crate::EPOCH_UNIX_SECONDS;
use crate::ip;
use crate::lab_quic::{LabQuic, Written};
use crate::tcp::WindowScales;
use pcap_file::pcapng::blocks::ENHANCED_PACKET_BLOCK;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::{PcapNgBlock, PcapNgWriter, RawBlock};
use pcap_file::{DataLink, Endianness, PcapError};
use quiclab_core::{Packet, Payload, Time};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};

/// Block type of Decryption Secrets Blocks.
const DECRYPTION_SECRETS_BLOCK: u32 = 0x0000_000a;
/// Secrets type "TLS Key Log".
const TLS_KEY_LOG: u32 = 0x544c_534b;
/// Resolution of 10^-9 seconds.
const NANOSECONDS: u8 = 9;
/// Block type, two lengths.
const BLOCK_OVERHEAD: usize = 12;
const OUTPUT_BUFFER_BYTES: usize = 1 << 18;

/// Direction in which a packet passes an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heading {
    /// The packet arrives.
    Inbound,
    /// The packet departs.
    Outbound,
}

/// Writes packets and secrets to a pcapng file.
pub struct PcapngWriter<W: Write> {
    blocks: PcapNgWriter<BufWriter<W>>,
    interfaces: usize,
    /// Lines already written: both endpoints report the same secrets.
    secrets: BTreeSet<String>,
    /// Window scales announced by the SYNs in the file.
    scales: WindowScales,
    /// Connections of lab-quic.
    lab_quic: LabQuic,
    /// Body of the current block.
    body: Vec<u8>,
}

impl<W: Write> PcapngWriter<W> {
    /// Creates a file in `out` with an interface for each name; `out` needs no buffer of its own.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn new(out: W, interfaces: &[&str]) -> io::Result<Self> {
        let out = BufWriter::with_capacity(OUTPUT_BUFFER_BYTES, out);
        let mut blocks = PcapNgWriter::with_endianness(out, Endianness::Little).map_err(io_error)?;
        for name in interfaces {
            let block = InterfaceDescriptionBlock {
                linktype: DataLink::RAW,
                snaplen: 0, // no limit
                options: vec![
                    InterfaceDescriptionOption::IfName(Cow::Borrowed(name)),
                    InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
                ],
            };
            blocks.write_block(&block.into_block()).map_err(io_error)?;
        }
        Ok(Self {
            blocks,
            interfaces: interfaces.len(),
            secrets: BTreeSet::new(),
            scales: WindowScales::default(),
            lab_quic: LabQuic::default(),
            body: Vec::new(),
        })
    }

    /// Sets the seed of the run, from which the keys and connection IDs of lab-quic are derived; default: 0.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { lab_quic: LabQuic::new(seed), ..self }
    }

    /// Adds a line of the NSS key log format, as from [`quiclab_core::TransportEvent::Secret`].
    ///
    /// It takes effect for the packets that follow, so it must come before the first packet that
    /// it decrypts; a transport has its keys before it sends with them. A line that is already in
    /// the file is not repeated.
    ///
    /// # Errors
    /// Errors of the output; `InvalidInput` if `line` contains more than one line.
    pub fn secret(&mut self, line: &str) -> io::Result<()> {
        let line = line.trim_end();
        if line.contains(['\n', '\r']) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a secret is one line of a key log"));
        }
        if line.is_empty() || !self.secrets.insert(line.to_owned()) {
            return Ok(());
        }
        self.body.clear();
        self.words(&[TLS_KEY_LOG, line.len() as u32 + 1]);
        self.body.extend_from_slice(line.as_bytes());
        self.body.push(b'\n');
        self.pad();
        self.write(DECRYPTION_SECRETS_BLOCK)
    }

    /// Adds `packet`, which passes the interface with this index at `now`.
    ///
    /// # Errors
    /// Errors of the output; `InvalidInput` if there is no such interface.
    pub fn packet(
        &mut self,
        now: Time,
        interface: usize,
        packet: &Packet,
        heading: Heading,
    ) -> io::Result<()> {
        if interface >= self.interfaces {
            let message = format!("interface {interface} of {}", self.interfaces);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let Payload::Quic(datagram) = &packet.payload else {
            return self.block(now, interface, packet, heading, (None, None));
        };
        let mut lab_quic = std::mem::take(&mut self.lab_quic);
        let Written { payload, comment, secrets } = lab_quic.write(packet, datagram);
        let written = secrets
            .iter()
            .try_for_each(|line| self.secret(line))
            .and_then(|()| self.block(now, interface, packet, heading, (payload, comment.as_deref())));
        self.lab_quic = lab_quic;
        written
    }

    /// An Enhanced Packet Block, with the content of a datagram of lab-quic and a comment.
    fn block(
        &mut self,
        now: Time,
        interface: usize,
        packet: &Packet,
        heading: Heading,
        (datagram, comment): (Option<&[u8]>, Option<&str>),
    ) -> io::Result<()> {
        let nanos = now.as_nanos().saturating_add(EPOCH_UNIX_SECONDS * 1_000_000_000);
        self.body.clear();
        self.words(&[interface as u32, (nanos >> 32) as u32, nanos as u32]);
        let lengths = self.body.len();
        self.words(&[0, 0]);
        let start = self.body.len();
        let original = ip::packet(&mut self.body, packet, &mut self.scales, datagram);
        let captured = self.body.len() - start;
        self.body[lengths..lengths + 4].copy_from_slice(&(captured as u32).to_le_bytes());
        self.body[lengths + 4..start].copy_from_slice(&(original as u32).to_le_bytes());
        self.pad();
        let direction: u32 = match heading {
            Heading::Inbound => 0b01,
            Heading::Outbound => 0b10,
        };
        self.option(2, &direction.to_le_bytes());
        self.option(5, &packet.id.to_le_bytes());
        if let Some(comment) = comment {
            self.option(1, comment.as_bytes());
        }
        self.option(0, &[]);
        self.write(ENHANCED_PACKET_BLOCK)
    }

    /// Writes the remaining data and returns the output.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn finish(self) -> io::Result<W> {
        let mut out = self.blocks.into_inner();
        out.flush()?;
        out.into_inner().map_err(io::IntoInnerError::into_error)
    }

    fn words(&mut self, words: &[u32]) {
        for word in words {
            self.body.extend_from_slice(&word.to_le_bytes());
        }
    }

    /// Appends an option, padded to four bytes.
    fn option(&mut self, code: u16, value: &[u8]) {
        self.body.extend_from_slice(&code.to_le_bytes());
        self.body.extend_from_slice(&(value.len() as u16).to_le_bytes());
        self.body.extend_from_slice(value);
        self.pad();
    }

    fn pad(&mut self) {
        self.body.resize(self.body.len().next_multiple_of(4), 0);
    }

    fn write(&mut self, type_: u32) -> io::Result<()> {
        let length = (self.body.len() + BLOCK_OVERHEAD) as u32;
        let block =
            RawBlock { type_, initial_len: length, body: Cow::Borrowed(&self.body), trailer_len: length };
        self.blocks.write_raw_block(&block).map(|_bytes| ()).map_err(io_error)
    }
}

/// Converts an error: only the output can fail in writing.
fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}
