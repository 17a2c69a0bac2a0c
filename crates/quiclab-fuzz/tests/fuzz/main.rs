//! All parsers of external bytes, of the tunnel, of captures and of qlog files, with arbitrary input.

#![allow(missing_docs)]

mod capture;
mod config;
mod connect_ip;
mod hub;
mod ip;
mod packets;
mod protocol;
mod qlog;
mod tunnel;
mod wire;

use bolero::ValueGenerator;
use bolero::produce;

/// Up to `most` arbitrary bytes.
fn bytes(most: usize) -> impl ValueGenerator<Output = Vec<u8>> + std::panic::RefUnwindSafe {
    produce::<Vec<u8>>().with().len(0..=most)
}

/// Mutates a message: replaces, inserts and removes bytes.
fn mutate(mut message: Vec<u8>, changes: &[(u16, u8, u8)]) -> Vec<u8> {
    for &(at, kind, value) in changes {
        if message.is_empty() {
            message.push(value);
            continue;
        }
        let at = usize::from(at) % message.len();
        match kind % 8 {
            0 => message.insert(at, value),
            1 => drop(message.remove(at)),
            2 => message.truncate(at),
            3 => message.extend_from_within(at..),
            4 => message[at] ^= 1 << (value % 8),
            _ => message[at] = value,
        }
    }
    message
}
