//! Lets one of several processes compile a kernel while the others wait for it.
//!
//! A process locks a byte of the file `locks` for each kernel that it compiles. The system releases the lock however
//! the process ends, and tells who holds it. Nobody waits for a process that is stopped, or longer than a compilation
//! should take: then one of those that wait locks a second byte and compiles too. Correctness never depends on a lock;
//! if there are none on this file system, each process compiles for itself.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// The name of the file.
pub(super) const LOCKS: &str = "locks";

const FIRST_PAUSE: Duration = Duration::from_micros(500);
const LONGEST_PAUSE: Duration = Duration::from_millis(10);

/// Loading LLVM, and compiling the smallest kernel.
const LEAST_TIME: Duration = Duration::from_millis(150);
/// Compiling one more operation.
const TIME_PER_OP: Duration = Duration::from_micros(200);

/// The variable by which tests lengthen the time that processes wait for each other, since a test must not depend on
/// how fast the machine is. Builds without debug assertions do not read it.
const PATIENCE: &str = "JIT_TEST_PATIENCE";

/// How long compiling a kernel should take at most.
pub(super) fn expected_time(ops: usize) -> Duration {
    LEAST_TIME + TIME_PER_OP * u32::try_from(ops).unwrap_or(u32::MAX)
}

/// How long to wait for another process that should take this time.
pub(super) fn time_to_wait(expected: Duration) -> Duration {
    let longer =
        if cfg!(debug_assertions) { std::env::var(PATIENCE).ok().and_then(|times| times.parse().ok()) } else { None };
    expected * longer.unwrap_or(1)
}

pub(super) struct Locks(Option<File>);

/// The lock of a kernel, until it is dropped.
pub(in crate::cache) struct Lease<'l> {
    locks: &'l Locks,
    byte: i64,
}

/// The outcome of waiting.
pub(super) enum Turn<'l, T> {
    /// Another process has finished.
    Found(T),
    /// The caller compiles; with a lease, nobody else should.
    Mine(Option<Lease<'l>>),
}

impl Locks {
    pub(super) fn none() -> Locks {
        Locks(None)
    }

    pub(super) fn open(folder: &Path) -> Locks {
        let mut options = OpenOptions::new();
        // Never closed before the process ends: closing any copy of the file releases the locks of the process.
        Locks(options.read(true).write(true).create(true).truncate(false).mode(0o600).open(folder.join(LOCKS)).ok())
    }

    /// Waits until it is the caller's turn to compile a kernel, or `look` finds it.
    pub(super) fn wait<T>(&self, digest: &[u8; 32], expected: Duration, look: impl Fn() -> Option<T>) -> Turn<'_, T> {
        let number = i64::from_le_bytes(std::array::from_fn(|i| digest[i])) & (i64::MAX >> 2);
        for byte in [2 * number, 2 * number + 1] {
            let (deadline, mut pause) = (Instant::now() + expected, FIRST_PAUSE);
            loop {
                match self.change(byte, libc::F_WRLCK) {
                    Ok(true) => {
                        let lease = Lease { locks: self, byte };
                        return look().map_or(Turn::Mine(Some(lease)), Turn::Found);
                    }
                    Ok(false) if Instant::now() < deadline && !self.is_holder_stopped(byte) => {}
                    Ok(false) => break,
                    Err(_) => return Turn::Mine(None),
                }
                std::thread::sleep(pause);
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
        Turn::Mine(None)
    }

    fn is_holder_stopped(&self, byte: i64) -> bool {
        self.holder(byte).is_some_and(is_stopped)
    }

    /// Takes or releases the lock of a byte; false if another process has it.
    fn change(&self, byte: i64, kind: libc::c_int) -> io::Result<bool> {
        let file = self.0.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        let lock = region(byte, kind);
        // SAFETY: the file is open, and the structure is that of the command.
        match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLK, &raw const lock) } {
            -1 => match io::Error::last_os_error() {
                error if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
                error => Err(error),
            },
            _ => Ok(true),
        }
    }

    /// The process that has the lock of a byte.
    fn holder(&self, byte: i64) -> Option<i32> {
        let file = self.0.as_ref()?;
        let mut lock = region(byte, libc::F_WRLCK);
        // SAFETY: as above; the structure is valid for writes.
        let status = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLK, &raw mut lock) };
        (status == 0 && lock.l_type != libc::F_UNLCK as libc::c_short && lock.l_pid > 0).then_some(lock.l_pid)
    }
}

fn region(byte: i64, kind: libc::c_int) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: byte,
        l_len: 1,
        l_pid: 0,
    }
}

/// Whether a process is stopped, by a signal or a debugger.
fn is_stopped(process: i32) -> bool {
    let Ok(text) = std::fs::read_to_string(format!("/proc/{process}/stat")) else { return false };
    // The name of the program may contain anything.
    let state = text.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
    matches!(state, Some('T' | 't'))
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let _ = self.locks.change(self.byte, libc::F_UNLCK);
    }
}
