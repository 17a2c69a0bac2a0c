//! Registry of congestion controls with their names in scenarios and their controllers.

use quiclab_core::Ecn;

/// Kinds of congestion control, by the options that they have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Changes its window by AIMD: it can emulate several connections, and has a slow start with an exit.
    Window,
    /// As [`Family::Window`], but reduces its window by the share of packets with marks, so it needs ECN; it
    /// emulates one connection.
    Scalable,
    /// Reduces its window by the share of packets with marks, has a pacing rate, and sends ECT(1), by which
    /// L4S queues identify it (RFC 9331).
    L4s,
    /// Controls a rate, so packets are paced.
    Rate,
    /// As [`Family::Rate`]; with ECN it sends ECT(1) and follows the share of packets with marks, but also
    /// works without ECN.
    RateL4s,
    /// As [`Family::Window`] in congestion avoidance, over several paths; it emulates one connection.
    Coupled,
    /// None of these.
    Plain,
}

impl Family {
    /// Whether the receiver must count marks, if there are any.
    #[must_use]
    pub const fn counts_marks(self) -> bool {
        matches!(self, Self::Scalable | Self::L4s | Self::RateL4s)
    }

    /// Whether a window grows by acknowledged bytes.
    #[must_use]
    pub const fn grows_by_window(self) -> bool {
        matches!(self, Self::Window | Self::Scalable | Self::L4s | Self::Coupled)
    }

    /// Whether packets must be ECN-capable.
    #[must_use]
    pub const fn needs_marks(self) -> bool {
        matches!(self, Self::Scalable | Self::L4s)
    }

    /// Whether packets must be paced.
    #[must_use]
    pub const fn paces(self) -> bool {
        matches!(self, Self::Rate | Self::L4s | Self::RateL4s)
    }

    /// ECN field of packets that are ECN-capable (RFC 8311, RFC 9331 section 4.1).
    #[must_use]
    pub const fn codepoint(self) -> Ecn {
        if matches!(self, Self::L4s | Self::RateL4s) { Ecn::Ect1 } else { Ecn::Ect0 }
    }
}

/// Declares `CongestionControl` and `build`. A line `Variant = "name", family => make;` registers a
/// congestion control: its name in scenarios, the options that it has, and a function from `&Settings` and a
/// separate `RandomStream` to the controller.
macro_rules! controls {
    ($($(#[$attribute:meta])* $Variant:ident = $name:literal, $family:expr => $make:expr;)+) => {
        /// Congestion control of a sender.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord,
            serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        pub enum CongestionControl {
            $($(#[$attribute])* #[serde(rename = $name)] $Variant,)+
        }

        impl CongestionControl {
            /// All congestion controls.
            pub const ALL: &'static [Self] = &[$(Self::$Variant),+];

            /// Name in scenarios.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$Variant => $name,)+ }
            }

            /// Family of options that it has.
            #[must_use]
            pub const fn family(self) -> Family {
                match self { $(Self::$Variant => $family,)+ }
            }
        }

        /// Builds the controller that `settings` describe; `random` is for those that draw random numbers.
        ///
        /// # Panics
        /// If `mss` is 0.
        #[must_use]
        pub fn build(settings: &Settings, random: RandomStream) -> Box<dyn Controller> {
            match settings.control {
                $(CongestionControl::$Variant => {
                    fn make<C: Controller + 'static>(
                        settings: &Settings,
                        random: RandomStream,
                        new: impl FnOnce(&Settings, RandomStream) -> C,
                    ) -> Box<dyn Controller> {
                        Box::new(new(settings, random))
                    }
                    make(settings, random, $make)
                })+
            }
        }
    };
}
pub(super) use controls;
