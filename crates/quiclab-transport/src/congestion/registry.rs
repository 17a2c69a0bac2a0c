//! From a list of congestion controls to their names in scenarios and to their controllers.

/// Kinds of congestion control, by the options that go with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Changes its window by AIMD: it can stand for several connections, and has a slow start to leave.
    Window,
    /// As [`Family::Window`], and reduces its window by the share of packets with marks, so that it needs ECN; it stands for
    /// one connection.
    Scalable,
    /// Controls a rate, so packets are paced.
    Rate,
    /// As [`Family::Window`] in congestion avoidance, over several paths; it stands for one connection.
    Coupled,
    /// None of these.
    Plain,
}

/// Declares `CongestionControl` and `build`. A line `Variant = "name", family => make;` registers a congestion control:
/// its name in scenarios, the options that go with it, and a function from `&Settings` and a `RandomStream` of its own
/// to the controller.
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
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$Variant),+];

            /// Name in scenarios.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$Variant => $name,)+ }
            }

            /// The options that go with it.
            #[must_use]
            pub const fn family(self) -> Family {
                match self { $(Self::$Variant => $family,)+ }
            }
        }

        /// The controller that `settings` describe; `random` is for those that draw.
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
