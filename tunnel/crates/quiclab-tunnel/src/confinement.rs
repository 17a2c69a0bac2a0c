//! System calls that the program may use after setup (seccomp, seccomp(2)): a filter that needs no service manager.
//!
//! | | |
//! | --- | --- |
//! | any other call | EPERM, as in the systemd unit: a new call of a later C library costs a feature, where a kill would cost the tunnel, and the call has no effect either way |
//! | sockets | UDP, TCP, Unix and netlink: no packet sockets, which bypass the kill switch |
//! | memory | none that is executable, as with `MemoryDenyWriteExecute` of systemd |
//! | programs | none, unless `dns` was set by resolvconf(8), which is run again at the end |
//! | a kernel without seccomp | the tunnel does not start: a protection that an operator relies on must not be missing silently |
//!
//! There is no filter for architectures other than x86-64, AArch64 and RISC-V (64 bits): the log then reports
//! this.

use std::io;

/// Calls with any arguments.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
const CALLS: &[libc::c_long] = &[
    // packets, requests, signals, log
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_ppoll,
    libc::SYS_accept4,
    libc::SYS_bind,
    libc::SYS_connect,
    libc::SYS_shutdown,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
    libc::SYS_close,
    libc::SYS_fcntl,
    // quinn-udp: whether the kernel has segmentation offload
    libc::SYS_uname,
    // the device: addresses and MTU
    libc::SYS_ioctl,
    // files: configuration, journal, sysctls, the name servers, the control socket
    libc::SYS_openat,
    libc::SYS_newfstatat,
    libc::SYS_fstat,
    libc::SYS_statx,
    libc::SYS_readlinkat,
    libc::SYS_getdents64,
    libc::SYS_lseek,
    libc::SYS_pread64,
    libc::SYS_ftruncate,
    libc::SYS_unlinkat,
    // memory
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    // time, random numbers, the process itself
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_getrandom,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_membarrier,
    libc::SYS_rseq,
    libc::SYS_set_robust_list,
    libc::SYS_restart_syscall,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_tgkill,
    libc::SYS_tkill,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// Calls by their earlier names, which the C library uses where they exist.
#[cfg(target_arch = "x86_64")]
const EARLIER: &[libc::c_long] = &[
    libc::SYS_open,
    libc::SYS_access,
    libc::SYS_poll,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_readlink,
    libc::SYS_unlink,
    libc::SYS_rmdir,
    libc::SYS_time,
    libc::SYS_gettimeofday,
];
#[cfg(any(target_arch = "aarch64", target_arch = "riscv64"))]
const EARLIER: &[libc::c_long] = &[libc::SYS_gettimeofday];

/// Further calls that a shell script such as resolvconf(8) needs, with any arguments.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
const PROGRAMS: &[libc::c_long] = &[
    libc::SYS_execve,
    libc::SYS_clone,
    libc::SYS_clone3,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_pipe2,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_prctl,
    libc::SYS_prlimit64,
    libc::SYS_set_tid_address,
    libc::SYS_kill,
    libc::SYS_getppid,
    libc::SYS_getpgid,
    libc::SYS_setpgid,
    libc::SYS_getgroups,
    libc::SYS_getcwd,
    libc::SYS_chdir,
    libc::SYS_umask,
    libc::SYS_sysinfo,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_mkdirat,
    libc::SYS_symlinkat,
    libc::SYS_linkat,
    libc::SYS_renameat2,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_flock,
    libc::SYS_fsync,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_fadvise64,
    libc::SYS_copy_file_range,
    libc::SYS_pselect6,
    libc::SYS_pwrite64,
];
#[cfg(target_arch = "x86_64")]
const EARLIER_PROGRAMS: &[libc::c_long] = &[
    libc::SYS_arch_prctl,
    libc::SYS_vfork,
    libc::SYS_fork,
    libc::SYS_pipe,
    libc::SYS_dup2,
    libc::SYS_getpgrp,
    libc::SYS_mkdir,
    libc::SYS_symlink,
    libc::SYS_link,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_chmod,
    libc::SYS_select,
];
#[cfg(target_arch = "aarch64")]
const EARLIER_PROGRAMS: &[libc::c_long] = &[libc::SYS_renameat];
#[cfg(target_arch = "riscv64")]
const EARLIER_PROGRAMS: &[libc::c_long] = &[];

/// Restricts the process, with all its threads, to the calls that it needs from now on; with `programs` including those for
/// running programs.
///
/// # Errors
/// If the kernel has no seccomp.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
pub fn confine(programs: bool) -> io::Result<()> {
    seccompiler::apply_filter_all_threads(&filter(programs)).map_err(of_kernel)
}

/// Reports in the log that there is no filter for this architecture.
///
/// # Errors
/// None.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
pub fn confine(_programs: bool) -> io::Result<()> {
    tracing::warn!("system calls are not filtered: no filter is known for this architecture");
    Ok(())
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
fn of_kernel(error: seccompiler::Error) -> io::Error {
    match error {
        seccompiler::Error::Prctl(error) | seccompiler::Error::Seccomp(error) => error,
        error => io::Error::other(error.to_string()),
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
fn filter(programs: bool) -> seccompiler::BpfProgram {
    use seccompiler::{SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompFilter, SeccompRule};
    use std::collections::BTreeMap;
    let condition = |argument, operator, value: i32| {
        let condition =
            seccompiler::SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value as u64);
        SeccompRule::new(vec![condition.expect("a call has six arguments")]).expect("there is a condition")
    };
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    let families = [libc::AF_INET, libc::AF_INET6, libc::AF_UNIX, libc::AF_NETLINK];
    let family = |family| condition(0, SeccompCmpOp::Eq, family);
    rules.insert(libc::SYS_socket, families.map(family).to_vec());
    let executable = SeccompCmpOp::MaskedEq(libc::PROT_EXEC as u64);
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        rules.insert(call, vec![condition(2, executable.clone(), 0)]);
    }
    rules.extend(CALLS.iter().chain(EARLIER).map(|call| (*call, Vec::new())));
    if programs {
        rules.extend(PROGRAMS.iter().chain(EARLIER_PROGRAMS).map(|call| (*call, Vec::new())));
    }
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let arch = std::env::consts::ARCH.try_into().expect("the architecture is one of those above");
    let filter = SeccompFilter::new(rules, refused, SeccompAction::Allow, arch);
    filter.and_then(TryInto::try_into).expect("the rules are a program")
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketType, socket};
    use std::process::Command;

    /// Result of `task` in a thread with the filter.
    fn confined<T: Send + 'static>(programs: bool, task: impl FnOnce() -> T + Send + 'static) -> T {
        let thread = std::thread::spawn(move || {
            seccompiler::apply_filter(&filter(programs)).unwrap();
            task()
        });
        thread.join().unwrap()
    }

    #[test]
    fn the_program_can_do_what_it_needs_and_nothing_else() {
        let kinds = |family| socket(family, SocketType::DGRAM, None).map(drop);
        let refused = Err(rustix::io::Errno::PERM);
        let found = confined(false, move || {
            let execute = Command::new("/bin/true").status().map(|_| ()).map_err(|error| error.kind());
            // the allocator maps memory for it
            let written = vec![7_u8; 64 << 20].iter().all(|byte| *byte == 7);
            let mount = rustix::process::chroot("/").map(drop);
            (
                [AddressFamily::INET, AddressFamily::INET6, AddressFamily::UNIX].map(kinds),
                [AddressFamily::PACKET, AddressFamily::from_raw(40)].map(kinds),
                written,
                execute,
                mount,
            )
        });
        assert_eq!(found.0, [Ok(()); 3]);
        assert_eq!(found.1, [refused; 2]);
        assert!(found.2);
        assert_eq!(found.3, Err(io::ErrorKind::PermissionDenied));
        assert_eq!(found.4, refused);
    }

    #[test]
    fn segmentation_offload_is_found() {
        let segments = || {
            let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
            quinn_udp::UdpSocketState::new(quinn_udp::UdpSockRef::from(&socket)).unwrap().max_gso_segments()
        };
        let found = confined(false, segments);
        assert_eq!(found, segments());
    }

    #[test]
    fn a_script_runs_where_programs_are_needed() {
        let said = confined(true, || {
            let script = "umask 022; for x in a b; do echo $x; done | cat; (exit 3); echo $?";
            let done = Command::new("/bin/sh").args(["-c", script]).output().unwrap();
            String::from_utf8(done.stdout).unwrap()
        });
        assert_eq!(said, "a\nb\n3\n");
    }
}
