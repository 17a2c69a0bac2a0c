//! The tests of this crate in one program: to link each alone would take longer than to run it.

mod encapsulations;
mod export;
mod inspect;
mod inspect_hostile;
mod inspect_window;
mod packet_files;
mod packets;
mod packets_open;
mod packets_qlog;
mod pcapng;
mod qlog;
mod quic;
mod quic_files;
mod quic_random;
mod support;
mod tcp;
