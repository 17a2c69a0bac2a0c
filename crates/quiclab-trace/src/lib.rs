//! quiclab-trace
