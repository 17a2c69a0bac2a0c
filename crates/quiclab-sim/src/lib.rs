//! quiclab-sim
