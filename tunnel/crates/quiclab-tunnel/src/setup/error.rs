//! Errors of setting up the machine.

use crate::system::{DeviceError, JournalError, kill_switch_table, lacks_nftables};
use quiclab_core::problem::system_reason;
use quiclab_core::{Problem, ProblemKind};
use std::io;
use thiserror::Error;

/// Error for which the machine cannot be set up.
#[derive(Debug, Error)]
pub enum SetupError {
    /// A field of the configuration does not suit this machine.
    #[error(transparent)]
    Field(#[from] Problem),
    /// The device cannot be created.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The process may not change the network.
    #[error("the capability CAP_NET_ADMIN is missing: run as root, or by the systemd unit")]
    NotPermitted,
    /// The capabilities of the process cannot be read.
    #[error("capabilities cannot be read: {}", system_reason(.0))]
    Capabilities(io::Error),
    /// The network devices cannot be read.
    #[error("interfaces cannot be read: {}", system_reason(.0))]
    Interfaces(io::Error),
    /// An address or a route is refused.
    #[error("the machine cannot be set up: {}", system_reason(.0))]
    Machine(io::Error),
    /// A field of the configuration cannot be set now.
    #[error("{field} cannot be set: {}", system_reason(.error))]
    Unset {
        /// Name of the field.
        field: &'static str,
        /// Reason.
        error: io::Error,
    },
    /// The firewall tables of a killed process cannot be removed.
    #[error(
        "the firewall's tables of `{interface}` cannot be removed, a kill switch ({}) may be left: {}",
        kill_switch_table(.interface),
        system_reason(.error)
    )]
    Firewall {
        /// Its device.
        interface: String,
        /// Reason.
        error: io::Error,
    },
    /// Other hosts cannot be kept from addresses inside.
    #[error("hosts on other interfaces cannot be kept from addresses inside{}: {}", missing(.0), system_reason(.0))]
    Filter(io::Error),
    /// System calls cannot be filtered.
    #[error("system calls cannot be filtered (seccomp): {}", system_reason(.0))]
    Confinement(io::Error),
    /// Privileges cannot be dropped.
    #[error(
        "privileges cannot be given up: {} (a drop-in of the systemd unit with further capabilities needs `SystemCallFilter=capset`, and with `User=root` also `AmbientCapabilities=CAP_SETUID`)",
        system_reason(.0)
    )]
    Privileges(io::Error),
}

/// Note on the parts of nftables that the filter needs, if the error means that one is missing.
fn missing(error: &io::Error) -> &'static str {
    if lacks_nftables(error) {
        ", as the kernel has no nftables with `ct` and `fib` (modules nf_tables, nft_ct, nft_fib_inet)"
    } else {
        ""
    }
}

impl SetupError {
    /// Whether another start fails in the same way unless this machine changes.
    #[must_use]
    pub fn is_permanent(&self) -> bool {
        match self {
            // an address or name in use may be free later
            Self::Field(problem) => {
                matches!(problem.kind, ProblemKind::UnknownName | ProblemKind::Conflict | ProblemKind::File)
            }
            Self::Device(error) => {
                matches!(error, DeviceError::Missing | DeviceError::NotTun(_) | DeviceError::Forbidden(_))
            }
            Self::Journal(error) => matches!(error, JournalError::Running { .. }),
            Self::NotPermitted | Self::Privileges(_) | Self::Confinement(_) => true,
            Self::Filter(error) => lacks_nftables(error) || error.kind() == io::ErrorKind::PermissionDenied,
            Self::Capabilities(_) | Self::Interfaces(_) | Self::Machine(_) => false,
            Self::Unset { .. } | Self::Firewall { .. } => false,
        }
    }

    /// Whether the error is a missing permission of the user.
    #[must_use]
    pub fn is_not_permitted(&self) -> bool {
        match self {
            Self::NotPermitted => true,
            Self::Journal(JournalError::Io { error, .. }) | Self::Firewall { error, .. } => {
                error.kind() == io::ErrorKind::PermissionDenied
            }
            _ => false,
        }
    }

    /// Error about a field: unsupported by this machine if permanent, otherwise not available now.
    pub(super) fn of_field(
        field: &'static str,
        error: io::Error,
        lasting: impl FnOnce(&io::Error) -> Problem,
    ) -> Self {
        use io::ErrorKind::{InvalidInput, NotFound, PermissionDenied, ReadOnlyFilesystem, Unsupported};
        let kinds = [InvalidInput, NotFound, PermissionDenied, ReadOnlyFilesystem, Unsupported];
        let absent = [libc::EPROTONOSUPPORT, libc::EAFNOSUPPORT];
        let lasts =
            kinds.contains(&error.kind()) || error.raw_os_error().is_some_and(|code| absent.contains(&code));
        if lasts { lasting(&error).into() } else { Self::Unset { field, error } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The unit restarts a tunnel after errors that may be temporary.
    #[test]
    fn only_a_kernel_that_lacks_the_filter_is_permanent() {
        let filter = |code| SetupError::Filter(io::Error::from_raw_os_error(code));
        let lacking =
            [libc::EPROTONOSUPPORT, libc::EAFNOSUPPORT, libc::EOPNOTSUPP, libc::EINVAL, libc::ENOENT];
        for code in lacking {
            assert!(filter(code).is_permanent() && filter(code).to_string().contains("nft_ct"), "{code}");
        }
        for (code, lasts) in
            [(libc::EPERM, true), (libc::ENOBUFS, false), (libc::ENOMEM, false), (libc::EBUSY, false)]
        {
            assert_eq!(filter(code).is_permanent(), lasts, "{code}");
            assert!(!filter(code).to_string().contains("nft_ct"), "{code}");
        }
    }
}
