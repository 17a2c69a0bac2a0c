//! Generates the two enums over all disciplines from a list: their configurations and their algorithms.

/// Declares [`super::QueueConfig`] and [`super::AnyQueue`]. A line `module: Config => Queue` registers the discipline
/// in the file `module.rs`: its configuration, which implements `QueueOptions` and is `kind = "config"` in files, and
/// its algorithm, which implements `QueueDiscipline` and has a function `new(&Config, RandomStream)`. Calls are
/// dispatched by a match, so that they cost no more than the discipline itself.
macro_rules! disciplines {
    ($($(#[$attribute:meta])* $($module:ident)::+: $Config:ident => $Queue:ident,)+) => {
        $($(#[$attribute])* pub use $($module)::+::$Config;)+

        /// Queue discipline: order of service, and which packets are dropped or marked.
        #[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        #[schemars(rename = "Queue")]
        #[expect(missing_docs, reason = "the configurations are documented")]
        pub enum QueueConfig {
            $($(#[$attribute])* $Config($Config),)+
        }

        impl QueueConfig {
            /// Properties that the configuration states.
            #[must_use]
            pub fn options(&self) -> &dyn QueueOptions {
                match self { $($(#[$attribute])* Self::$Config(config) => config,)+ }
            }

            /// Configurations of all disciplines for tests.
            #[cfg(test)]
            pub(crate) fn examples() -> Vec<Self> {
                let mut all = Vec::new();
                $($(#[$attribute])* all.extend($Config::examples().into_iter().map(Self::$Config));)+
                all
            }
        }

        /// A discipline of any kind.
        #[derive(Debug)]
        enum AnyQueue<T: Item> {
            $($(#[$attribute])* $Config($($module)::+::$Queue<T>),)+
        }

        impl<T: Item> AnyQueue<T> {
            fn new(config: &QueueConfig, random: RandomStream) -> Self {
                match config {
                    $($(#[$attribute])* QueueConfig::$Config(config) => {
                        Self::$Config($($module)::+::$Queue::new(config, random))
                    })+
                }
            }
        }

        impl<T: Item> QueueDiscipline<T> for AnyQueue<T> {
            #[inline]
            fn classify(&self, key: impl FnOnce() -> FlowKey) -> QueueIndex {
                match self { $($(#[$attribute])* Self::$Config(queue) => QueueDiscipline::<T>::classify(queue, key),)+ }
            }
            #[inline]
            fn enqueue(
                &mut self,
                item: T,
                arrival: Arrival<impl FnOnce() -> DataRate>,
                exits: &mut Exits<'_, impl FnMut(T, DropReason)>,
            ) {
                match self { $($(#[$attribute])* Self::$Config(queue) => queue.enqueue(item, arrival, exits),)+ }
            }
            #[inline]
            fn dequeue(&mut self, exits: &mut Exits<'_, impl FnMut(T, DropReason)>) -> Option<T> {
                match self { $($(#[$attribute])* Self::$Config(queue) => queue.dequeue(exits),)+ }
            }
            #[inline]
            fn next_wake(&self) -> Option<Time> {
                match self { $($(#[$attribute])* Self::$Config(queue) => queue.next_wake(),)+ }
            }
            #[inline]
            fn waiting(&self) -> Backlog {
                match self { $($(#[$attribute])* Self::$Config(queue) => queue.waiting(),)+ }
            }
            fn active_flows(&self) -> u64 {
                match self { $($(#[$attribute])* Self::$Config(queue) => queue.active_flows(),)+ }
            }
            fn flows(&self) -> Vec<FlowStatistics> {
                match self { $($(#[$attribute])* Self::$Config(queue) => queue.flows(),)+ }
            }
            fn waiting_flows(&self) -> Vec<WaitingFlow> {
                match self { $($(#[$attribute])* Self::$Config(queue) => queue.waiting_flows(),)+ }
            }
            fn statistics(&self, totals: &QueueStatistics, out: &mut Metrics) {
                match self { $($(#[$attribute])* Self::$Config(queue) => queue.statistics(totals, out),)+ }
            }
            fn sample(&mut self, now: Time, totals: &QueueStatistics, out: &mut Metrics) {
                match self { $($(#[$attribute])* Self::$Config(queue) => queue.sample(now, totals, out),)+ }
            }
        }
    };
}
pub(super) use disciplines;
