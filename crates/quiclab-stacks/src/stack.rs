//! The stacks of this crate: quinn and noq, each with its entry in the catalogue.

mod family;
pub(crate) mod noq;
mod paths;
pub(crate) mod quinn;
