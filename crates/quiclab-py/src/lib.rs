//! quiclab-py
