//! Why the machine cannot be set up.

use crate::system::{DeviceError, JournalError, kill_switch_table};
use quiclab_core::problem::system_reason;
use quiclab_core::{Problem, ProblemKind};
use std::io;
use thiserror::Error;

/// Why the machine cannot be set up.
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
        /// Which.
        field: &'static str,
        /// Why.
        error: io::Error,
    },
    /// What a killed process has left in the firewall cannot be removed.
    #[error(
        "the firewall's tables of `{interface}` cannot be removed, a kill switch ({}) may be left: {}",
        kill_switch_table(.interface),
        system_reason(.error)
    )]
    Firewall {
        /// Its device.
        interface: String,
        /// Why.
        error: io::Error,
    },
    /// Hosts beside the machine cannot be kept from addresses inside.
    #[error(
        "hosts on other interfaces cannot be kept from addresses inside, as the kernel has no nftables with `ct` (modules nf_tables, nft_ct): {}",
        system_reason(.0)
    )]
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

impl SetupError {
    /// Whether another start ends in the same way unless this machine changes.
    #[must_use]
    pub fn is_permanent(&self) -> bool {
        match self {
            // an address or a name that is in use may be free later
            Self::Field(problem) => {
                matches!(problem.kind, ProblemKind::UnknownName | ProblemKind::Conflict | ProblemKind::File)
            }
            Self::Device(error) => {
                matches!(error, DeviceError::Missing | DeviceError::NotTun(_) | DeviceError::Forbidden(_))
            }
            Self::Journal(error) => matches!(error, JournalError::Running { .. }),
            Self::NotPermitted | Self::Privileges(_) | Self::Confinement(_) | Self::Filter(_) => true,
            Self::Capabilities(_) | Self::Interfaces(_) | Self::Machine(_) => false,
            Self::Unset { .. } | Self::Firewall { .. } => false,
        }
    }

    /// Whether the user of this process may not do it.
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

    /// A field that this machine cannot have, if the error lasts; otherwise one that it does not have now.
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
