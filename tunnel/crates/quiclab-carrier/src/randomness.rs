//! Sources of the random numbers of an endpoint.

use quiclab_core::RandomStream;
use ring::rand::{SecureRandom, SystemRandom};

/// Source of random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Randomness {
    /// The operating system, for a tunnel between real hosts.
    System,
    /// A stream of the run with this seed: the same bytes each time. **Its keys are no secrets.**
    Seeded(u64),
}

/// Generator of the random numbers that an endpoint draws itself.
pub(crate) enum Source {
    System,
    Stream(RandomStream),
}

impl Source {
    pub(crate) fn new(randomness: Randomness, name: &str) -> Self {
        match randomness {
            Randomness::System => Self::System,
            Randomness::Seeded(seed) => Self::Stream(RandomStream::new(seed, name)),
        }
    }

    pub(crate) fn draw<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        match self {
            Self::System => SystemRandom::new().fill(&mut bytes).expect("the system has random numbers"),
            Self::Stream(stream) => stream.fill(&mut bytes),
        }
        bytes
    }

    /// Random stream for purposes that need no secrets.
    pub(crate) fn stream(&mut self, name: &str) -> RandomStream {
        RandomStream::new(u64::from_le_bytes(self.draw()), name)
    }
}
