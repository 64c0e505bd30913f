//! Launches when the process forks: the locks that are held meanwhile, and how the child handles the threads that it
//! lacks.

use std::sync::{LazyLock, Once};

use crate::fork::{self, Handlers, Held};
use crate::memory::order;
use crate::sync::persist;
use crate::{cache, memory, stats};

use super::host::{pool, private, team};
use super::{failures, separate};

/// Installs the handlers that notice forks from now on.
#[inline]
pub fn watch() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| fork::register(Handlers { hold, reset }));
}

/// Takes all locks of the machine in the order in which a thread may nest them.
fn hold(held: &mut Vec<Held>) {
    held.extend(persist(|| order::REGISTRATION.try_lock()).map(|guard| Box::new(guard) as Held));
    held.extend(persist(|| order::LISTS.try_write()).map(|guard| Box::new(guard) as Held));
    failures::hold(held);
    pool::hold(held);
    team::hold(held);
    cache::hold(held);
    held.extend(persist(|| LazyLock::force(&private::CODE).try_lock()).map(|guard| Box::new(guard) as Held));
    stats::hold(held);
    memory::hold(held);
    separate::hold(held);
}

fn reset() {
    failures::reset();
    pool::reset();
    team::reset();
    cache::reset();
}

#[cfg(all(test, unix))]
pub(super) mod tests {
    use std::sync::mpsc;

    use crate::memory::Buffer;

    /// Runs a function in a forked process; returns whether it held there.
    pub(in crate::machine) fn holds_in_child(test: impl FnOnce() -> bool) -> bool {
        super::watch();
        // SAFETY: the child uses locks that are free there, which is the property under test, and ends without
        // destructors.
        match unsafe { libc::fork() } {
            0 => {
                // SAFETY: ends a child that waits forever, so that the test fails.
                unsafe { libc::alarm(60) };
                let status = i32::from(!test());
                // SAFETY: nothing relies on a child that ends.
                unsafe { libc::_exit(status) }
            }
            child => {
                let mut status = 0;
                // SAFETY: the place lives.
                assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
                status == 0
            }
        }
    }

    #[test]
    fn a_buffer_that_another_thread_was_writing_has_failed_after_a_fork() {
        let buffer = Buffer::from_bytes(&[1, 2, 3]).unwrap();
        let ((begun, has_begun), (end, is_over)) = (mpsc::channel(), mpsc::channel::<()>());
        std::thread::scope(|scope| {
            let buffer = &buffer;
            scope.spawn(move || {
                let _writing = buffer.accesses().begin_host_write().unwrap();
                begun.send(()).unwrap();
                is_over.recv().unwrap_err();
            });
            has_begun.recv().unwrap();
            let is_refused = || {
                let mut byte = [0];
                let is_failed = buffer.read(0, &mut byte).is_err_and(|error| error.message().contains("was forked"));
                is_failed && buffer.overwrite(&[4, 5, 6]).is_ok() && buffer.read(0, &mut byte).is_ok() && byte == [4]
            };
            assert!(holds_in_child(is_refused));
            drop(end);
        });
        let mut bytes = [0; 3];
        buffer.read(0, &mut bytes).unwrap();
        assert_eq!(bytes, [1, 2, 3], "here it was written");
    }
}
