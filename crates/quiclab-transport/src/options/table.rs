//! Definition of types from a list of options, or of other values.

/// Declares `pub struct Options`, which a scenario sets, and `Values`, the same with values (see [`values!`]):
/// `options! { /// Meaning. Options, Values; entries }`. An entry has its limits below its meaning. Without `Values`, an
/// entry is `name: Type;`.
macro_rules! options {
    (
        $(#[doc = $text:literal])+
        $Options:ident;
        $(
            $(#[doc = $meaning:literal])+
            $(#[schemars($($limits:tt)*)])?
            $name:ident: $Type:ty;
        )+
    ) => {
        $(#[doc = $text])+
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $Options {
            $(
                $(#[doc = $meaning])+
                #[serde(skip_serializing_if = "Option::is_none")]
                $(#[schemars($($limits)*)])?
                pub $name: Option<$Type>,
            )+
        }

        impl $Options {
            /// Meaning of the option `name` in a phrase.
            ///
            /// # Panics
            /// If there is no such option.
            #[must_use]
            pub fn meaning(name: &str) -> String {
                match name {
                    $(stringify!($name) => $crate::profile::phrase(&[$($meaning),+]),)+
                    _ => panic!("no option `{name}`"),
                }
            }
        }
    };
    (
        $(#[doc = $text:literal])+
        $Options:ident, $Values:ident;
        $(
            $(#[doc = $meaning:literal])+
            $(#[schemars($($limits:tt)*)])?
            $name:ident: $Type:ty $(, or $none:literal)? = $default:expr, $source:literal;
        )+
    ) => {
        $crate::options::table::options! {
            $(#[doc = $text])+
            $Options;
            $($(#[doc = $meaning])+ $(#[schemars($($limits)*)])? $name: $Type;)+
        }

        $crate::options::table::values! {
            #[doc = concat!("[`", stringify!($Options), "`] with the values of a profile, or of a scenario.")]
            pub(crate) struct $Values;
            $($(#[doc = $meaning])+ $name: $Type $(, or $none)? = $default, $source;)+
        }

        impl $Values {
            /// Takes the values that `options` set.
            pub(crate) fn take(&mut self, options: &$Options) {
                $(if let Some(value) = &options.$name {
                    self.$name = value.clone().into();
                })+
            }
        }
    };
}

/// Declares a struct of values with `DEFAULTS` and `FIELDS`, the entries of tables.
///
/// An entry `name: Type = default, "source";` below its meaning is a value. The default applies if a profile
/// has none, and `source` is its source. `Type, or "text"` is a value that may be missing; `as |values| text`
/// prints one that depends on others, or is not plain data. `.. { part: Values }` at the end adds separate
/// lists. In a struct of values `of Options`, an entry without a meaning has that of the option of its name.
macro_rules! values {
    (@type $Type:ty) => { $Type };
    (@type $Type:ty, $none:literal) => { Option<$Type> };
    (@print $name:ident) => { |values| $crate::profile::describe(&values.$name) };
    (@print $name:ident or $none:literal) => {
        |values| values.$name.as_ref().map_or_else(|| $none.to_owned(), $crate::profile::describe)
    };
    (@print $name:ident as $print:expr) => { $print };
    (@meaning $name:ident) => { || (Self::MEANING)(stringify!($name)) };
    (@of) => { |name| panic!("`{name}` has no meaning") };
    (@of $Options:ident) => { $Options::meaning };
    (@meaning $name:ident $($meaning:literal)+) => { || $crate::profile::phrase(&[$($meaning),+]) };
    (
        $(#[$attribute:meta])+
        $visibility:vis struct $Values:ident $(of $Options:ident)?;
        $(
            $(#[doc = $meaning:literal])*
            $name:ident: $Type:ty $(, or $none:literal)? = $default:expr, $source:literal $(, as $print:expr)?;
        )+
        $(.. { $($part:ident: $Part:ty),+ })?
    ) => {
        $(#[$attribute])+
        #[derive(Clone, Debug, PartialEq)]
        $visibility struct $Values {
            $(
                $(#[doc = $meaning])*
                pub(crate) $name: $crate::options::table::values!(@type $Type $(, $none)?),
            )+
            $($(pub(crate) $part: $Part,)+)?
        }

        impl $Values {
            /// Default of each value.
            pub(crate) const DEFAULTS: Self =
                Self { $($name: $default,)+ $($($part: <$Part>::DEFAULTS,)+)? };

            /// Meaning of an entry without one.
            #[allow(dead_code)] // not every list has such entries
            const MEANING: fn(&str) -> String = $crate::options::table::values!(@of $($Options)?);

            /// All values, in this order.
            pub(crate) const FIELDS: &'static [$crate::profile::Field<Self>] = &[$(
                $crate::profile::Field {
                    name: stringify!($name),
                    meaning: $crate::options::table::values!(@meaning $name $($meaning)*),
                    source: $source,
                    print: $crate::options::table::values!(@print $name $(or $none)? $(as $print)?),
                },
            )+];
        }
    };
}
pub(crate) use {options, values};
