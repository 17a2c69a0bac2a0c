//! How packets are spaced and acknowledged.

pub mod document;
