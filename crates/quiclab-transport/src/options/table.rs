//! From a list of options to the types that hold them.

/// Declares `QuicOptions`, the options that a scenario sets, and `QuicValues`, the same with values. A line
/// `name: Type = default, "source";` below its meaning and its limits is an option. The default holds where a profile has
/// no value, and `source` says where it comes from. `Type, or "text"` stands for an option that may have no value.
macro_rules! quic_options {
    (@type $Type:ty) => { $Type };
    (@type $Type:ty, $none:literal) => { Option<$Type> };
    (@print $value:expr) => { describe(&$value) };
    (@print $value:expr, $none:literal) => {
        $value.as_ref().map_or_else(|| $none.to_owned(), describe)
    };
    ($(
        $(#[doc = $meaning:literal])+
        $(#[schemars($($limits:tt)*)])?
        $name:ident: $Type:ty $(, or $none:literal)? = $default:expr, $source:literal;
    )+) => {
        /// Options of QUIC; unset fields inherit from the profile.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct QuicOptions {
            $(
                $(#[doc = $meaning])+
                #[serde(skip_serializing_if = "Option::is_none")]
                $(#[schemars($($limits)*)])?
                pub $name: Option<$Type>,
            )+
        }

        /// The options of QUIC with the values of a profile, or of a scenario.
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) struct QuicValues {
            $($(#[doc = $meaning])+ pub(crate) $name: quic_options!(@type $Type $(, $none)?),)+
        }

        impl QuicValues {
            /// The default of each option.
            pub(crate) const DEFAULTS: Self = Self { $($name: $default,)+ };

            /// All options, in this order.
            pub(crate) const FIELDS: &'static [Field<Self>] = &[$(
                Field {
                    name: stringify!($name),
                    meaning: &[$($meaning),+],
                    source: $source,
                    print: |values| quic_options!(@print values.$name $(, $none)?),
                },
            )+];

            /// Takes the values that `options` set.
            pub(crate) fn take(&mut self, options: &QuicOptions) {
                $(if let Some(value) = &options.$name {
                    self.$name = value.clone().into();
                })+
            }
        }
    };
}
pub(super) use quic_options;
