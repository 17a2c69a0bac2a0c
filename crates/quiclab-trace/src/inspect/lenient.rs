//! Lenient JSON values: a reader uses what it understands and skips the rest.
//!
//! Stacks write numbers as strings, objects where the draft has text, and fields of their own. A value of an
//! unexpected type counts as missing; only text that is not JSON at all fails.

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// An unsigned integer, also as a string (draft-01) or as a float without fraction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Uint(pub(super) Option<u64>);

/// A finite number, also as a string.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Real(pub(super) Option<f64>);

/// Text, or a number as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Text<'a>(pub(super) Option<Cow<'a, str>>);

impl Text<'_> {
    /// The text; empty if there is none.
    pub(super) fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }
}

/// A list of which the first [`List::MAX`] elements are kept.
#[derive(Clone, Debug)]
pub(super) struct List<T>(pub(super) Vec<T>);

impl<T> List<T> {
    /// Maximum number of elements. No packet of 64 KiB has more relevant frames; an ACK frame of this many
    /// ranges fills two packets.
    const MAX: usize = 2048;
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// Implements the methods of a visitor whose values are skipped.
macro_rules! otherwise {
    ($none:expr; $($kind:ident)*) => {
        fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("JSON")
        }
        $($crate::inspect::lenient::otherwise!(@$kind $none);)*
    };
    (@unit $none:expr) => {
        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> { Ok($none) }
        fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> { Ok($none) }
    };
    (@number $none:expr) => {
        fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> { Ok($none) }
        fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> { Ok($none) }
        fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> { Ok($none) }
    };
    (@text $none:expr) => {
        fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> { Ok($none) }
    };
    (@list $none:expr) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            while list.next_element::<IgnoredAny>()?.is_some() {}
            Ok($none)
        }
    };
    (@object $none:expr) => {
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok($none)
        }
    };
}
pub(super) use otherwise;

impl<'de> Deserialize<'de> for Uint {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Uint;
            otherwise!(Uint(None); unit list object);
            fn visit_u64<E: Error>(self, value: u64) -> Result<Uint, E> {
                Ok(Uint(Some(value)))
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<Uint, E> {
                Ok(Uint(u64::try_from(value).ok()))
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<Uint, E> {
                Ok(Uint((0.0..u64::MAX as f64).contains(&value).then_some(value as u64)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Uint, E> {
                Ok(Uint(text.trim().parse().ok()))
            }
        }
        from.deserialize_any(Any)
    }
}

impl<'de> Deserialize<'de> for Real {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Real;
            otherwise!(Real(None); unit list object);
            fn visit_u64<E: Error>(self, value: u64) -> Result<Real, E> {
                Ok(Real(Some(value as f64)))
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<Real, E> {
                Ok(Real(Some(value as f64)))
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<Real, E> {
                Ok(Real(Some(value).filter(|value| value.is_finite())))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Real, E> {
                Ok(Real(text.trim().parse().ok().filter(|value: &f64| value.is_finite())))
            }
        }
        from.deserialize_any(Any)
    }
}

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Text<'de>;
            otherwise!(Text(None); unit list object);
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Some(Cow::Borrowed(text))))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Some(Cow::Owned(text.to_owned()))))
            }
            fn visit_u64<E: Error>(self, value: u64) -> Result<Text<'de>, E> {
                Ok(Text(Some(Cow::Owned(value.to_string()))))
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<Text<'de>, E> {
                Ok(Text(Some(Cow::Owned(value.to_string()))))
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<Text<'de>, E> {
                Ok(Text(Some(Cow::Owned(value.to_string()))))
            }
        }
        from.deserialize_any(Any)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Any<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Any<T> {
            type Value = List<T>;
            otherwise!(List::default(); unit number text object);
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<List<T>, A::Error> {
                let mut kept = Vec::new();
                while kept.len() < List::<T>::MAX {
                    match list.next_element()? {
                        Some(element) => kept.push(element),
                        None => return Ok(List(kept)),
                    }
                }
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(List(kept))
            }
        }
        from.deserialize_any(Any(PhantomData))
    }
}

/// Declares a structure that is read from an object: fields in any order, unknown ones skipped, the last of
/// duplicates, and the default where the value is no object.
macro_rules! record {
    ($(#[$meta:meta])* $name:ident { $($(#[$note:meta])* $field:ident: $type:ty = $($key:literal)|+,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default)]
        pub(super) struct $name<'a> {
            $($(#[$note])* pub(super) $field: $type,)*
            pub(super) lifetime: std::marker::PhantomData<&'a ()>,
        }
        impl<'a> serde::Deserialize<'a> for $name<'a> {
            fn deserialize<D: serde::Deserializer<'a>>(from: D) -> Result<Self, D::Error> {
                use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
                use std::fmt;
                struct Any;
                impl<'de> Visitor<'de> for Any {
                    type Value = $name<'de>;
                    $crate::inspect::lenient::otherwise!($name::default(); unit number text list);
                    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<$name<'de>, A::Error> {
                        let mut record = $name::default();
                        while let Some(key) = map.next_key::<$crate::inspect::lenient::Text<'de>>()? {
                            match key.as_str() {
                                $($($key)|+ => record.$field = map.next_value()?,)*
                                _ => drop(map.next_value::<IgnoredAny>()?),
                            }
                        }
                        Ok(record)
                    }
                }
                from.deserialize_any(Any)
            }
        }
    };
}
pub(super) use record;
