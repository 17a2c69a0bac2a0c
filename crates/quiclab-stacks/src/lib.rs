//! quiclab-stacks
