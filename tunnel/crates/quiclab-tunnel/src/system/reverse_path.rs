//! The kernel's filter of source addresses (`rp_filter`, RFC 3704; Documentation/networking/ip-sysctl.rst of Linux).
//!
//! A strict filter drops packets that arrive on an interface other than that of the route to their source.
//! This applies to packets of the server: routes to it lead through the tunnel, or through the first uplink.
//! The filter of an interface is the larger value of its own and that of `all`. IPv6 has none. It is not
//! changed here: with a loose filter, a host on an uplink could send to the addresses inside
//! (CVE-2019-14899).

use super::forwarding::read;
use std::io;

const STRICT: &str = "1";
const LOOSE: &str = "2";

/// Whether the filter of an interface drops packets of a server if the route to it leads through another one.
///
/// # Errors
/// If a sysctl cannot be read.
pub fn drops_detours(interface: &str) -> io::Result<bool> {
    let value = |interface: &str| read(&format!("net/ipv4/conf/{interface}/rp_filter"));
    // the name of an interface may contain a dot, but no slash
    let (all, own) = (value("all")?, value(interface)?);
    Ok(own.is_some_and(|own| is_strict(all.as_deref(), &own)))
}

fn is_strict(all: Option<&str>, own: &str) -> bool {
    own != LOOSE && all != Some(LOOSE) && (own == STRICT || all == Some(STRICT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_value_counts() {
        for (all, own, strict) in [
            ("0", "0", false),
            ("0", "1", true),
            ("1", "0", true),
            ("1", "1", true),
            ("0", "2", false),
            ("1", "2", false),
            ("2", "1", false),
        ] {
            assert_eq!(is_strict(Some(all), own), strict, "{all} {own}");
        }
        assert!(is_strict(None, "1") && !is_strict(None, "0"));
    }
}
