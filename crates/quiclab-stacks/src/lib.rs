//! Real QUIC stacks behind `quiclab_core::Endpoint`: unchanged code of quinn and noq, in virtual time.
//!
//! ```text
//! stack::quinn, stack::noq ── entry in the catalogue, and differences between the libraries
//!   ├── stack::family ── options (allowed values), options in the catalogue, an endpoint
//!   │     └── driver: an Endpoint of a Stack and an application (on_streams, streams)
//!   └── stack::adapter: a Stack (library) ── common code of the libraries
//!         ├── controller (bytes in flight), crypto_observer (plaintext)
//!         ├── lab_controller (congestion control of quiclab-transport)
//!         ├── tls ── seeded (random numbers for TLS)
//!         └── observation (events for observers; lost packets)
//! ```
//!
//! Everything that a stack would draw from the operating system is seeded, and it takes time as an
//! argument: the same seed gives the same bytes on the wire.

mod body;
mod controller;
mod crypto_observer;
mod driver;
mod frames;
pub mod lab_controller;
pub mod library;
mod metric_groups;
mod observation;
mod on_streams;
mod options;
pub mod seeded;
mod stack;
mod streams;
pub mod time;
mod tls;

pub use body::MAX_WRITE;
pub use metric_groups::metric_groups;
pub use on_streams::OnStreams;
pub use options::check_workload;
pub use tls::{APPLICATION_PROTOCOL, NOW, SERVER_NAME, certificate};

use quiclab_transport::NativeStack;

/// The stacks of this crate.
pub static STACKS: &[&dyn NativeStack] = &[&stack::quinn::QuinnStack, &stack::noq::NoqStack];
