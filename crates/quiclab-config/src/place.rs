//! Position of a value while a document is walked. It becomes a path, which allocates, only where a problem
//! is reported.

use quiclab_core::FieldPath;

/// See the module documentation.
#[derive(Clone, Copy)]
pub(crate) enum Place<'a> {
    Root,
    Field(&'a Place<'a>, &'a str),
    Entry(&'a Place<'a>, usize),
}

impl Place<'_> {
    pub(crate) fn path(&self) -> FieldPath {
        match self {
            Self::Root => FieldPath::default(),
            Self::Field(above, name) => above.path().child(name),
            Self::Entry(above, index) => above.path().child(index),
        }
    }

    pub(crate) fn is_root(&self) -> bool {
        matches!(self, Self::Root)
    }
}
