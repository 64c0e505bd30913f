//! Single elements in buffers.
//!
//! All accesses are relaxed atomics of the element's size. They cost the same as plain ones, and lanes of one launch
//! that run on several threads may scatter to the same element.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

use crate::backend::RawArgument;
use crate::ir::Type;

/// A buffer argument with its element type.
#[derive(Clone, Copy)]
pub(super) struct Elements {
    address: u64,
    length: u64,
    ty: Type,
}

/// Runs an expression with a reference to the atomic of the element's size.
macro_rules! with_atomic {
    ($self:ident, $index:ident, $atomic:ident => $result:expr) => {{
        let address = $self.address + $index * $self.ty.size_bytes() as u64;
        // SAFETY: the caller guarantees that the element is inside a live buffer of this type, whose start is aligned
        // to at least the size of an element, and that all concurrent accesses are made by this module.
        unsafe {
            match $self.ty.size_bytes() {
                1 => {
                    let $atomic = AtomicU8::from_ptr(address as *mut u8);
                    $result
                }
                2 => {
                    let $atomic = AtomicU16::from_ptr(address as *mut u16);
                    $result
                }
                4 => {
                    let $atomic = AtomicU32::from_ptr(address as *mut u32);
                    $result
                }
                _ => {
                    let $atomic = AtomicU64::from_ptr(address as *mut u64);
                    $result
                }
            }
        }
    }};
}

impl Elements {
    /// The elements of an argument.
    pub(super) fn new(argument: RawArgument, ty: Type) -> Self {
        Elements { address: argument.word, length: argument.length, ty }
    }

    /// The position of an element for an index by value; none if it is out of range.
    pub(super) fn place(self, index: u64) -> Option<u64> {
        (index < self.length).then_some(index)
    }

    /// The carrier of an element.
    ///
    /// # Safety
    ///
    /// The index must be in range, and the argument a live buffer of elements of the type.
    #[allow(clippy::unnecessary_cast, reason = "one of four sizes is the carrier's own")]
    pub(super) unsafe fn read(self, index: u64) -> u64 {
        let bits = with_atomic!(self, index, atomic => atomic.load(Relaxed) as u64);
        if self.ty == Type::Bool { u64::from(bits != 0) } else { bits }
    }

    /// Writes an element.
    ///
    /// # Safety
    ///
    /// As for [`Elements::read`].
    #[allow(clippy::unnecessary_cast, reason = "one of four sizes is the carrier's own")]
    pub(super) unsafe fn write(self, index: u64, bits: u64) {
        with_atomic!(self, index, atomic => atomic.store(bits as _, Relaxed));
    }

    /// Combines a value into an element in one atomic step. Returns the old element.
    ///
    /// # Safety
    ///
    /// As for [`Elements::read`].
    #[allow(clippy::unnecessary_cast, reason = "one of four sizes is the carrier's own")]
    pub(super) unsafe fn combine(self, index: u64, bits: u64, function: impl Fn(u64, u64) -> u64) -> u64 {
        let old = with_atomic!(self, index, atomic => {
            let update = |old| Some(function(old as u64, bits) as _);
            // The update never declines, so the loop inside ends with a success.
            atomic.fetch_update(Relaxed, Relaxed, update).unwrap_or_else(|old| old) as u64
        });
        if self.ty == Type::Bool { u64::from(old != 0) } else { old }
    }
}
