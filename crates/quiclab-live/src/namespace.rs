//! Network namespaces without names: a thread lives in each, and what it starts is in it, too.
//!
//! Nothing of them is in the file system, so that nothing is left behind however the process ends: the kernel
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
    // what makes it unsafe are file descriptors and file systems that threads stop sharing
    assert!(!flags.intersects(UnshareFlags::FILES | UnshareFlags::FS));
    // SAFETY: neither of the two is given, which the line above checks.
    #[expect(unsafe_code, reason = "the kernel's interface; nothing in the safe part of rustix does it")]
    unsafe { unshare_unsafe(flags) }?;
    Ok(())
}

impl Namespace {
    /// Makes a namespace.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn new() -> io::Result<Self> {
        Self::of_thread(|| unshare(UnshareFlags::NEWNET))
    }

    /// The one that the process is in.
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

    /// Does something in the namespace and waits for it. Processes started there are in it.
    ///
    /// # Panics
    /// If `task` does.
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
