//! Documents in TOML and JSON: parsed, checked against the schema of the Rust type that they describe,
//! decoded.
//!
//! ```text
//! tree      values with their origins
//! document  text to tree, --set, tree to type
//! schema    a type's JSON Schema as rules
//! bounds    bounds of numbers and lengths; singular and plural
//! form      the forms of strings
//! place     position of a value while a document is walked
//! former    former names, which are read as the present ones with a note
//! order     the order of a type's fields
//! check     a tree against the rules
//! describe  description of a rule in words
//! random    random documents that follow the rules, for tests
//! error     a problem with its place in the text
//! ```
//!
//! The JSON Schema of a type holds its field names, types, defaults and limits (`quiclab_core::limits`).
//! Checking a document against it before decoding finds every problem that concerns one field, with the path
//! and the expected values; constraints across fields are checked by the owner of the type afterwards.

mod bounds;
mod check;
#[cfg(test)]
mod check_tests;
mod describe;
mod document;
mod error;
mod form;
mod former;
mod order;
mod place;
mod random;
mod schema;
#[cfg(test)]
mod sentence_tests;
mod tree;

pub use document::Document;
pub use error::{ConfigError, Location};
pub use former::Note;
pub use random::Draw;
pub use schema::{Schema, annotated};
