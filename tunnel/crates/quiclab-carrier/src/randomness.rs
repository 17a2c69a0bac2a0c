//! Where the random numbers of an endpoint come from.

use quiclab_core::RandomStream;
use ring::rand::{SecureRandom, SystemRandom};

/// Where random numbers come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Randomness {
    /// The operating system's: for a tunnel between real hosts.
    System,
    /// A stream of the run with this seed: the same bytes each time. **Its keys are no secrets.**
    Seeded(u64),
}

/// The source of random numbers that an end draws itself.
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

    /// A stream for what needs no secrets.
    pub(crate) fn stream(&mut self, name: &str) -> RandomStream {
        RandomStream::new(u64::from_le_bytes(self.draw()), name)
    }
}
