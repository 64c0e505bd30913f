//! The elements of nodes in memory, and the device that they are on.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use jit_runtime::memory::Buffer;

use super::device::{self, Devices};
use super::node::{Var, flag};
use super::op::Op;

impl Var {
    /// Returns the elements in memory, if the node has any.
    #[inline]
    pub(crate) fn data(&self) -> Option<Arc<Buffer>> {
        let op = self.op();
        if op.holds_bits() || op.holds_payload() {
            return None;
        }
        let word = self.node().word.load(Ordering::Acquire);
        if word == 0 {
            return None;
        }
        let buffer = ptr::with_exposed_provenance::<Buffer>(word as usize);
        // SAFETY: the word is a leaked `Arc` that the live node owns; we count one more reference.
        unsafe {
            Arc::increment_strong_count(buffer);
            Some(Arc::from_raw(buffer))
        }
    }

    /// Returns whether the node has elements in memory.
    #[inline]
    pub(crate) fn has_data(&self) -> bool {
        let op = self.op();
        !op.holds_bits() && !op.holds_payload() && self.node().word.load(Ordering::Acquire) != 0
    }

    /// Returns whether the elements in memory must not be overwritten, even if the node has one owner: those of a node
    /// that is another one's value may be the other one's, derivatives read those that gradients flow through, and some
    /// memory is not ours.
    pub(crate) fn may_share_memory(&self) -> bool {
        let is_foreign = || self.op() == Op::Data && self.data().is_some_and(|buffer| buffer.is_foreign());
        self.op() == Op::Identity || self.flags() & flag::GRAD != 0 || is_foreign()
    }

    /// Returns whether the value needs no kernel: it is known, or in memory.
    #[inline]
    pub(crate) fn is_evaluated(&self) -> bool {
        self.op().holds_bits() || self.has_data()
    }

    /// Returns the device of the value.
    #[inline]
    pub(crate) fn devices(&self) -> Devices {
        Devices::from_bits(self.node().head().devices.load(Ordering::Relaxed))
    }

    /// Sets the device of a node that nobody else has seen.
    pub(super) fn set_devices(&self, devices: Devices) {
        self.node().head().devices.store(devices.bits(), Ordering::Relaxed);
        if devices.are_several() {
            device::refuse_several(self);
        }
    }

    /// Assigns elements to the node, which is then on their device. If another thread was faster, its elements are
    /// retained.
    pub(crate) fn set_data(&self, buffer: Arc<Buffer>) {
        let devices = Devices::of(buffer.device());
        if self.set_constant_data(buffer) {
            self.node().head().devices.store(devices.bits(), Ordering::Relaxed);
        }
    }

    /// Assigns elements that are the same constants on every device: the node remains without one. Returns false if
    /// another thread was faster.
    pub(crate) fn set_constant_data(&self, buffer: Arc<Buffer>) -> bool {
        debug_assert!(!self.op().holds_bits() && !self.op().holds_payload());
        let word = Arc::into_raw(buffer).expose_provenance() as u64;
        if self.node().word.compare_exchange(0, word, Ordering::AcqRel, Ordering::Acquire).is_err() {
            // SAFETY: the word was leaked above and did not get into the node.
            drop(unsafe { Arc::from_raw(ptr::with_exposed_provenance::<Buffer>(word as usize)) });
            return false;
        }
        true
    }

    /// Assigns the elements of another node, if it has any.
    pub(crate) fn share_data(&self, other: &Var) {
        let Some(buffer) = other.data() else { return };
        if other.devices() == Devices::NONE {
            self.set_constant_data(buffer);
        } else {
            self.set_data(buffer);
        }
    }
}
