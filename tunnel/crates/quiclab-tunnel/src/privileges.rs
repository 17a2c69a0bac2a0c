//! Privileges of the program after setup: it runs as another user, with one capability.
//!
//! CAP_NET_ADMIN is kept: addresses, routes and the MTU of the device follow what the server assigns after a reconnect, and
//! are undone at the end. All others are dropped permanently, also for programs that it might start (`no_new_privs`).

use nix::unistd::{Gid, Group, Uid, User, setgroups, setresgid, setresuid};
use quiclab_core::problem::quoted;
use quiclab_core::{Problem, ProblemKind};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_keep_capabilities, set_no_new_privs,
};
use std::io;
use std::path::Path;

/// An existing user.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    user: Uid,
    group: Gid,
}

impl Account {
    /// Looks up the `user` and the `group` of a configuration; by default the login group of the user.
    ///
    /// # Errors
    /// If one of them does not exist; with the path of its field.
    pub fn find(user: &str, group: Option<&str>) -> Result<Self, Problem> {
        let unknown =
            |field, name, expected| Problem::new(ProblemKind::UnknownName, field, expected).got(quoted(name));
        let found = User::from_name(user).ok().flatten();
        let User { uid, gid, .. } = found.ok_or_else(|| unknown("user", user, "a user of this system"))?;
        let group = match group {
            None => gid,
            Some(name) => {
                let found = Group::from_name(name).ok().flatten();
                found.ok_or_else(|| unknown("group", name, "a group of this system"))?.gid
            }
        };
        Ok(Self { user: uid, group })
    }

    /// Number of the user.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.user.as_raw()
    }

    /// Whether this process has its user and group already.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.user == nix::unistd::geteuid() && self.group == nix::unistd::getegid()
    }

    /// Changes the group of a file to the user's; links are not followed.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn admit(&self, file: &Path) -> io::Result<()> {
        std::os::unix::fs::lchown(file, None, Some(self.group.as_raw()))
    }
}

/// Whether this process may become another user with other groups (CAP_SETUID, CAP_SETGID).
#[must_use]
pub fn may_change_user() -> bool {
    let needed = CapabilitySet::SETUID | CapabilitySet::SETGID;
    capabilities(None).is_ok_and(|held| held.permitted.contains(needed))
}

/// Name of a user, or its number if it has none.
#[must_use]
pub fn user_name(number: u32) -> String {
    User::from_uid(Uid::from_raw(number)).ok().flatten().map_or_else(|| number.to_string(), |user| user.name)
}

/// Checks that only root and the user of this process can write to `directory`: files left by an unprivileged
/// process must not mislead the next one.
///
/// # Errors
/// A message with its owner.
pub fn trusted(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let found = std::fs::symlink_metadata(directory)?;
    let own = found.uid() == 0 || found.uid() == nix::unistd::geteuid().as_raw();
    let others = found.mode() & 0o002 != 0 || found.mode() & 0o020 != 0 && found.gid() != 0;
    if found.is_dir() && own && !others {
        return Ok(());
    }
    let sentence = format!(
        "the directory is not one that only root can write to (user {}, mode {:o}): remove it, or make it so",
        found.uid(),
        found.mode() & 0o7777
    );
    Err(io::Error::new(io::ErrorKind::PermissionDenied, sentence))
}

/// Drops all privileges except CAP_NET_ADMIN, and becomes `account` if there is one.
///
/// # Errors
/// If the kernel refuses it.
pub fn drop_privileges(account: Option<Account>) -> io::Result<()> {
    set_no_new_privs(true)?;
    // all others, while it may
    for bit in 0..64 {
        let Some(capability) = CapabilitySet::from_bits(1 << bit) else { continue };
        if capability != CapabilitySet::NET_ADMIN {
            // refused for those that the kernel does not know
            let _ = remove_capability_from_bounding_set(capability);
        }
    }
    if let Some(Account { user, group }) = account.filter(|account| !account.is_own()) {
        set_keep_capabilities(true)?;
        setgroups(&[])?;
        setresgid(group, group, group)?;
        setresuid(user, user, user)?;
    }
    // never refused; a kernel without ambient capabilities has none to drop
    let _ = clear_ambient_capability_set();
    let CapabilitySets { effective, permitted, .. } = capabilities(None)?;
    let kept = CapabilitySets {
        effective: CapabilitySet::NET_ADMIN,
        permitted: CapabilitySet::NET_ADMIN,
        inheritable: CapabilitySet::empty(),
    };
    // a service manager may have left only this one, and forbidden the system call
    if (effective, permitted) != (kept.effective, kept.permitted) {
        set_capabilities(None, kept)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_that_does_not_exist_is_a_problem_of_its_field() {
        let problem = |user, group| {
            let problem = Account::find(user, group).unwrap_err();
            (problem.path.to_string(), problem.kind, problem.value.unwrap_or_default())
        };
        let absent = "quiclab-absent";
        let value = format!("\"{absent}\"");
        assert_eq!(problem(absent, None), ("user".to_owned(), ProblemKind::UnknownName, value.clone()));
        assert_eq!(problem("root", Some(absent)), ("group".to_owned(), ProblemKind::UnknownName, value));
        let root = Account::find("root", None).unwrap();
        assert_eq!((root.user.as_raw(), root.group.as_raw()), (0, 0));
    }
}
