//! Fuzz targets on stable Rust: bolero's generators produce the input of parsers, in one of two ways.
//!
//! | | `cargo test` | `make fuzz` |
//! | --- | --- | --- |
//! | cases | a few hundred of each target | for `FUZZ_SECONDS` |
//! | seed | the number of the case: always the same | from the operating system; printed with the failure |
//! | engine | [`target`] itself | bolero's default, with shrinking; without nightly compiler and libFuzzer |
//!
//! To reproduce failed input, run `QUICLAB_FUZZ_SECONDS=1 BOLERO_RANDOM_SEED=... cargo test -p quiclab-fuzz NAME`.

use bolero::ValueGenerator;
use bolero::generator::bolero_generator::driver::{ByteSliceDriver, Options};
use quiclab_core::RandomStream;
use std::fmt::Debug;
use std::panic::RefUnwindSafe;
use std::time::Duration;

/// Environment variable with the duration of each target in seconds; if unset, a fixed sample is run.
pub const SECONDS: &str = "QUICLAB_FUZZ_SECONDS";
/// Number of random bytes from which the input of a case of the fixed sample is generated.
const BYTES: usize = 8192;

/// Checks `property` for inputs from `generator`: `cases` fixed inputs, or random ones for the time in [`SECONDS`].
///
/// # Panics
/// If the property panics, or [`SECONDS`] is not a number.
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
