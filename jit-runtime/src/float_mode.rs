//! The floating-point mode of the processor: round to nearest, preserve subnormals, no traps.
//!
//! A caller may have set another mode, as audio libraries do: different rounding, subnormals flushed to zero.
//! Everything that is computed on its thread, or on one that inherits its mode, would have other bits. So [`Standard`]
//! sets the mode that the kernel IR's semantics require, for as long as it lives. That costs a few cycles if the mode
//! is already set.

use std::marker::PhantomData;

/// While it lives, floats are computed as the kernel IR specifies; then the previous mode is restored.
#[must_use = "the mode ends with the value"]
pub(crate) struct Standard {
    /// The mode to restore.
    before: Option<register::Word>,
    /// The mode belongs to the thread.
    _not_send: PhantomData<*const ()>,
}

impl Standard {
    #[inline]
    pub(crate) fn enter() -> Standard {
        let word = register::read();
        let before = (word & register::MODE != register::STANDARD).then(|| {
            register::write(register::STANDARD);
            word
        });
        Standard { before, _not_send: PhantomData }
    }
}

impl Drop for Standard {
    #[inline]
    fn drop(&mut self) {
        if let Some(word) = self.before {
            register::write(word);
        }
    }
}

/// `MXCSR` (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, 10.2.3).
#[cfg(target_arch = "x86_64")]
mod register {
    pub(super) type Word = u32;

    /// All bits except the exception flags.
    pub(super) const MODE: Word = 0xffc0;
    /// All exceptions are masked.
    pub(super) const STANDARD: Word = 0x1f80;

    #[inline]
    pub(super) fn read() -> Word {
        let mut word: Word = 0;
        // SAFETY: stores the register to a local variable.
        unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut word, options(nostack, preserves_flags)) };
        word
    }

    #[inline]
    pub(super) fn write(word: Word) {
        // SAFETY: the word is the standard one, or was read from the register, so no reserved bit is set.
        unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const word, options(nostack, preserves_flags)) };
    }
}

/// `FPCR` (Arm Architecture Reference Manual, C5.2.8).
#[cfg(target_arch = "aarch64")]
mod register {
    pub(super) type Word = u64;

    /// Rounding, flushing, default NaNs and traps.
    pub(super) const MODE: Word = 0x07ff_9f07;
    pub(super) const STANDARD: Word = 0;

    #[inline]
    pub(super) fn read() -> Word {
        let word: Word;
        // SAFETY: reads a register.
        unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) word, options(nomem, nostack, preserves_flags)) };
        word
    }

    #[inline]
    pub(super) fn write(word: Word) {
        // SAFETY: the word is the standard one, or was read from the register.
        unsafe { std::arch::asm!("msr fpcr, {}", in(reg) word, options(nostack, preserves_flags)) };
    }
}

/// On other processors the mode is not changed.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod register {
    pub(super) type Word = u32;

    pub(super) const MODE: Word = 0;
    pub(super) const STANDARD: Word = 0;

    pub(super) fn read() -> Word {
        0
    }

    pub(super) fn write(_word: Word) {}
}
