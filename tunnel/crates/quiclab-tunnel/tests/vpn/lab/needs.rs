//! What a test needs of the machine. Where it is missing, the test says so and is skipped.

use super::Lab;
use std::path::Path;
use std::process::Command;

/// Tells that a test is skipped, and why.
pub fn skip(why: &str) {
    eprintln!("skipped: {why}");
}

/// Whether something is there; else a test is skipped because of `why`.
pub fn has(is_there: bool, why: &str) -> bool {
    if !is_there {
        skip(why);
    }
    is_there
}

/// Namespaces and devices.
pub fn has_namespaces() -> bool {
    let succeeds = |program, arguments: &[&str]| {
        Command::new(program).args(arguments).output().is_ok_and(|done| done.status.success())
    };
    let is_there = Path::new("/dev/net/tun").exists()
        && succeeds("unshare", &["--net", "--mount", "true"])
        && succeeds("ip", &["-Version"]);
    has(is_there, "network namespaces and TUN devices need root, /dev/net/tun, iproute2 and util-linux")
}

/// The program that makes certificates.
#[cfg(feature = "connect-ip")]
pub fn has_openssl() -> bool {
    has(Command::new("openssl").arg("version").output().is_ok(), "certificates need openssl")
}

impl Lab {
    /// The program that sets rules of the firewall, which the machine may have without it.
    pub fn has_nft(&self) -> bool {
        has(self.run('s', &["nft", "--version"]).0 == Some(0), "no nft")
    }
}
