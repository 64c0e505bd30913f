//! The shared memory of a block, with a detector of races.
//!
//! Two accesses of a byte by different threads, one of which writes, must be separated by a barrier: of the block, or
//! of the warp that both are in. Atomic operations do not conflict with one another.

use super::memory;
use super::warp::WARP;

/// A moment of a thread: how many barriers its block and its warp have passed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) thread: u32,
    pub(super) block_barriers: u32,
    pub(super) warp_barriers: u32,
}

impl Moment {
    /// Whether no barrier is between the accesses of two threads.
    fn is_concurrent(self, other: Moment) -> bool {
        let is_same_warp = self.thread / WARP as u32 == other.thread / WARP as u32;
        self.thread != other.thread
            && self.block_barriers == other.block_barriers
            && (!is_same_warp || self.warp_barriers == other.warp_barriers)
    }
}

/// How an access uses memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Use {
    Read,
    Write,
    Atomic,
}

/// The last accesses of a byte. Of the reads, the last one and the last one of another thread.
#[derive(Clone, Copy, Default)]
struct History {
    written: Option<(Moment, bool)>,
    read: Option<Moment>,
    read_by_other: Option<Moment>,
}

pub(super) struct Shared {
    bytes: Vec<u8>,
    history: Vec<History>,
}

impl Shared {
    pub(super) fn new(bytes: Vec<u8>) -> Shared {
        Shared { history: vec![History::default(); bytes.len()], bytes }
    }

    pub(super) fn read(&mut self, now: Moment, address: u64, size_bytes: usize) -> Result<u64, String> {
        let bits = memory::read(&self.bytes, address, size_bytes)?;
        self.note(now, address, size_bytes, Use::Read)?;
        Ok(bits)
    }

    pub(super) fn write(&mut self, now: Moment, address: u64, size_bytes: usize, bits: u64) -> Result<(), String> {
        memory::write(&mut self.bytes, address, size_bytes, bits)?;
        self.note(now, address, size_bytes, Use::Write)
    }

    /// Replaces an element in one step. Returns the old one.
    pub(super) fn update(
        &mut self,
        now: Moment,
        address: u64,
        size_bytes: usize,
        function: impl Fn(u64) -> u64,
    ) -> Result<u64, String> {
        let old = memory::read(&self.bytes, address, size_bytes)?;
        memory::write(&mut self.bytes, address, size_bytes, function(old))?;
        self.note(now, address, size_bytes, Use::Atomic)?;
        Ok(old)
    }

    /// Compares an access with the last ones, and notes it.
    fn note(&mut self, now: Moment, address: u64, size_bytes: usize, access: Use) -> Result<(), String> {
        for (offset, history) in self.history[address as usize..][..size_bytes].iter_mut().enumerate() {
            if history.conflicts(now, access) {
                return Err(format!("a race on byte {} of shared memory", address as usize + offset));
            }
            history.note(now, access);
        }
        Ok(())
    }
}

impl History {
    fn conflicts(&self, now: Moment, access: Use) -> bool {
        let with_write = self
            .written
            .is_some_and(|(other, is_atomic)| now.is_concurrent(other) && !(is_atomic && access == Use::Atomic));
        let with_read = [self.read, self.read_by_other].into_iter().flatten().any(|other| now.is_concurrent(other));
        with_write || access != Use::Read && with_read
    }

    fn note(&mut self, now: Moment, access: Use) {
        if access != Use::Read {
            self.written = Some((now, access == Use::Atomic));
            return;
        }
        if self.read.is_some_and(|last| last.thread != now.thread) {
            self.read_by_other = self.read;
        }
        self.read = Some(now);
    }
}
