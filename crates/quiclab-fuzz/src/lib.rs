//! Fuzz targets on stable Rust: input for parsers is made by bolero's generators, in one of two ways.
//!
//! | | `cargo test` | `make fuzz` |
//! | --- | --- | --- |
//! | how many | a few hundred of each target | for `FUZZ_SECONDS` |
//! | seed | the number of the case: always the same | of the operating system; printed with what fails |
//! | engine | [`target`] itself | bolero's default, with shrinking; no nightly compiler, no libFuzzer |
//!
//! Input that failed is made again by `QUICLAB_FUZZ_SECONDS=1 BOLERO_RANDOM_SEED=... cargo test -p quiclab-fuzz NAME`.

use bolero::ValueGenerator;
use bolero::generator::bolero_generator::driver::{ByteSliceDriver, Options};
use quiclab_core::RandomStream;
use std::fmt::Debug;
use std::panic::RefUnwindSafe;
use std::time::Duration;

/// How long each target runs, in seconds; not set: a fixed sample.
pub const SECONDS: &str = "QUICLAB_FUZZ_SECONDS";
/// Random bytes that the input of a case of the fixed sample is made of.
const BYTES: usize = 8192;

/// Checks `property` for what `generator` makes: `cases` inputs that are always the same, or random ones for the time set.
///
/// # Panics
/// If the property panics, or the time set is no number.
pub fn target<G>(cases: u64, generator: G, property: impl Fn(&G::Output) + RefUnwindSafe)
where
    G: ValueGenerator + RefUnwindSafe,
    G::Output: Debug + RefUnwindSafe,
{
    if let Ok(seconds) = std::env::var(SECONDS) {
        let seconds =
            seconds.parse().unwrap_or_else(|_| panic!("{SECONDS} = {seconds}: not a number of seconds"));
        let time = Duration::from_secs(seconds);
        return bolero::check!()
            .with_test_time(time)
            .with_generator(generator)
            .for_each(|input| property(input));
    }
    let options = Options::default();
    let mut made = 0;
    for case in 0..cases {
        let mut bytes = vec![0; BYTES];
        RandomStream::new(case, "fuzz").fill(&mut bytes);
        if let Some(input) = generator.generate(&mut ByteSliceDriver::new(&bytes, &options)) {
            made += 1;
            let shown = Shown(case, &input);
            property(&input);
            std::mem::forget(shown);
        }
    }
    assert!(made * 2 > cases, "{made} of {cases}: the bytes are too few for the generator");
}

/// Prints a case if the property panics.
struct Shown<'a, T: Debug>(u64, &'a T);

impl<T: Debug> Drop for Shown<'_, T> {
    fn drop(&mut self) {
        eprintln!("case {}: {:?}", self.0, self.1);
    }
}
