//! Requirements of tests. If one is missing, the test prints a message and is skipped.

use super::Lab;
use std::path::Path;
use std::process::Command;

/// Prints that a test is skipped, and the reason.
pub fn skip(why: &str) {
    eprintln!("skipped: {why}");
}

/// Whether a requirement is met; otherwise the test is skipped because of `why`.
pub fn has(is_there: bool, why: &str) -> bool {
    if !is_there {
        skip(why);
    }
    is_there
}

/// Whether there are namespaces and devices.
pub fn has_namespaces() -> bool {
    let succeeds = |program, arguments: &[&str]| {
        Command::new(program).args(arguments).output().is_ok_and(|done| done.status.success())
    };
    let is_there = Path::new("/dev/net/tun").exists()
        && succeeds("unshare", &["--net", "--mount", "true"])
        && succeeds("ip", &["-Version"]);
    has(is_there, "network namespaces and TUN devices need root, /dev/net/tun, iproute2 and util-linux")
}

/// Whether the program that creates certificates is installed.
#[cfg(feature = "connect-ip")]
pub fn has_openssl() -> bool {
    has(Command::new("openssl").arg("version").output().is_ok(), "certificates need openssl")
}

impl Lab {
    /// Whether the program that sets firewall rules is installed, which a firewall does not require.
    pub fn has_nft(&self) -> bool {
        has(self.run('s', &["nft", "--version"]).0 == Some(0), "no nft")
    }
}
