//! Forwarding between interfaces by sysctls (Documentation/networking/ip-sysctl.rst of Linux), and its side effects.
//!
//! The two switches for all interfaces set further sysctls, which are recorded before, to restore their values:
//!
//! | switch | also sets |
//! | --- | --- |
//! | `net.ipv4.ip_forward` | `forwarding` of each interface, `accept_redirects` of `all` |
//! | `net.ipv6.conf.all.forwarding` | `forwarding` of each interface; without `accept_ra = 2`, addresses and routes by router advertisement end |

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

const SYSCTLS: &str = "/proc/sys";
const SWITCHES: [&str; 2] = ["net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"];
const REDIRECTS: &str = "net/ipv4/conf/all/accept_redirects";

/// A sysctl that is about to change.
#[derive(Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name below /proc/sys.
    pub name: String,
    /// Its earlier value.
    pub before: String,
    /// Value to write; `None` if a later switch changes it.
    pub value: Option<&'static str>,
}

/// Whether a journal may restore this sysctl to this value: only those of this module.
#[must_use]
pub fn is_restorable(name: &str, value: &str) -> bool {
    let of_interface = |family: &str, field: &str| {
        let interface = name.strip_prefix(family).and_then(|rest| rest.strip_suffix(field));
        interface.is_some_and(|name| !name.is_empty() && !name.contains('/') && !name.starts_with('.'))
    };
    let known = SWITCHES.contains(&name)
        || name == REDIRECTS
        || of_interface("net/ipv4/conf/", "/forwarding")
        || of_interface("net/ipv6/conf/", "/forwarding")
        || of_interface("net/ipv6/conf/", "/accept_ra");
    known && value.len() == 1 && value.bytes().all(|byte| byte.is_ascii_digit())
}

/// Reads a sysctl; `None` on a machine without it, such as one without IPv6.
pub(super) fn read(name: &str) -> io::Result<Option<String>> {
    match fs::read_to_string(Path::new(SYSCTLS).join(name)) {
        Ok(value) => Ok(Some(value.trim().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes a sysctl.
///
/// # Errors
/// If the kernel refuses it.
pub fn write(name: &str, value: &str) -> io::Result<()> {
    fs::write(Path::new(SYSCTLS).join(name), value)
}

/// Settings that make the machine forward packets, in order; they are undone in reverse order. `advertised` are the
/// interfaces that have an address or a route by router advertisement.
///
/// # Errors
/// If a sysctl cannot be read.
pub fn settings(advertised: &BTreeSet<String>) -> io::Result<Vec<Setting>> {
    let mut out = Vec::new();
    for (switch, family) in SWITCHES.into_iter().zip(["net/ipv4/conf", "net/ipv6/conf"]) {
        let Some(before) = read(switch)?.filter(|value| value != "1") else { continue };
        if switch == SWITCHES[0] {
            out.extend(read(REDIRECTS)?.map(|before| Setting {
                name: REDIRECTS.into(),
                before,
                value: None,
            }));
        } else {
            for interface in advertised {
                let name = format!("{family}/{interface}/accept_ra");
                let before = read(&name)?.filter(|value| value == "1");
                out.extend(before.map(|before| Setting { name, before, value: Some("2") }));
            }
        }
        // the switch off again would clear those that were set one by one
        let mut interfaces: Vec<_> = fs::read_dir(Path::new(SYSCTLS).join(family))?
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|interface| interface != "all")
            .collect();
        interfaces.sort_unstable();
        for interface in interfaces {
            let name = format!("{family}/{interface}/forwarding");
            let before = read(&name)?.filter(|value| value == "1");
            out.extend(before.map(|before| Setting { name, before, value: None }));
        }
        out.push(Setting { name: switch.to_owned(), before, value: Some("1") });
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_restores_sysctls_of_forwarding_only() {
        for (name, value, restorable) in [
            ("net/ipv4/ip_forward", "0", true),
            ("net/ipv6/conf/all/forwarding", "0", true),
            ("net/ipv4/conf/all/accept_redirects", "1", true),
            ("net/ipv4/conf/eth0.7/forwarding", "1", true),
            ("net/ipv6/conf/eth0/accept_ra", "1", true),
            ("net/ipv6/conf/../accept_ra", "1", false),
            ("net/ipv6/conf/a/../../accept_ra", "1", false),
            ("net/ipv6/conf//accept_ra", "1", false),
            ("net/ipv4/conf/all/accept_source_route", "1", false),
            ("kernel/core_pattern", "1", false),
            ("net/ipv4/ip_forward", "|/bin/sh", false),
        ] {
            assert_eq!(is_restorable(name, value), restorable, "{name} {value}");
        }
    }
}
