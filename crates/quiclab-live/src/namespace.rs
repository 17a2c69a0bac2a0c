//! Network namespaces without names: each has a thread, and the processes that it starts are in it, too.
//!
//! They have no entry in the file system, so that nothing remains however the process ends: the kernel
//! removes namespace and devices with the last process in it.

use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::io;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

type Task = Box<dyn FnOnce() + Send>;

/// A network namespace and the thread in it.
pub struct Namespace {
    tasks: Option<Sender<Task>>,
    thread: Option<JoinHandle<()>>,
}

/// Moves the calling thread into new namespaces.
///
/// # Errors
/// If the kernel refuses it.
pub fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // it is unsafe because threads may stop sharing file descriptors and file systems
    assert!(!flags.intersects(UnshareFlags::FILES | UnshareFlags::FS));
    // SAFETY: neither of the two is given, which the line above checks.
    #[expect(unsafe_code, reason = "the kernel's interface; nothing in the safe part of rustix does it")]
    unsafe { unshare_unsafe(flags) }?;
    Ok(())
}

impl Namespace {
    /// Creates a namespace.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn new() -> io::Result<Self> {
        Self::of_thread(|| unshare(UnshareFlags::NEWNET))
    }

    /// Namespace of the process.
    #[must_use]
    pub fn of_the_machine() -> Self {
        Self::of_thread(|| Ok(())).expect("nothing is asked of the kernel")
    }

    fn of_thread(enter: impl FnOnce() -> io::Result<()> + Send + 'static) -> io::Result<Self> {
        let (sender, tasks) = channel::<Task>();
        let (report, result) = channel();
        let thread = std::thread::spawn(move || {
            let made = enter();
            let refused = made.is_err();
            let _ = report.send(made);
            if !refused {
                tasks.into_iter().for_each(|task| task());
            }
        });
        result.recv().expect("the thread reports before it ends")?;
        Ok(Self { tasks: Some(sender), thread: Some(thread) })
    }

    /// Runs `task` in the namespace and waits for it. Processes started by it are in the namespace.
    ///
    /// # Panics
    /// If `task` panics.
    pub fn within<T: Send + 'static>(&self, task: impl FnOnce() -> T + Send + 'static) -> T {
        let (sender, result) = channel();
        let task = Box::new(move || drop(sender.send(task())));
        self.tasks.as_ref().expect("taken only when dropped").send(task).expect("the thread waits for tasks");
        result.recv().expect("the task does not panic")
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        self.tasks = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
