//! Relocations and stubs of the two supported instruction sets.
//!
//! Numbers and formulas are those of the ELF supplements: "System V Application Binary Interface, AMD64 Architecture
//! Processor Supplement" §4.4 and "ELF for the Arm 64-bit Architecture" §5.7.

/// The bytes that a relocation writes at its position.
pub(crate) struct Patch {
    pub(super) bytes: [u8; 8],
    pub(super) length: usize,
}

impl Patch {
    fn word(value: u32) -> Self {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&value.to_le_bytes());
        Patch { bytes, length: 4 }
    }

    fn address(value: i64) -> Self {
        Patch { bytes: value.to_le_bytes(), length: 8 }
    }
}

/// A jump to an absolute address: instructions that read the eight bytes after them.
fn stub(instructions: [u8; 8], target: usize) -> [u8; 16] {
    let mut stub = [0; 16];
    stub[..8].copy_from_slice(&instructions);
    stub[8..].copy_from_slice(&target.to_le_bytes());
    stub
}

#[cfg(target_arch = "aarch64")]
pub(super) use aarch64::{apply, write_stub};
#[cfg(target_arch = "x86_64")]
pub(super) use x86_64::{apply, write_stub};

/// The instruction cache of this instruction set is coherent with writes.
#[cfg(target_arch = "x86_64")]
pub(super) fn synchronise_instructions(_start: usize, _size_bytes: usize) {}

/// Makes written instructions visible to execution, line by line.
#[cfg(target_arch = "aarch64")]
pub(super) fn synchronise_instructions(start: usize, size_bytes: usize) {
    // The smallest cache line that the architecture allows is 16 bytes; smaller steps than needed are harmless.
    for line in (start & !15..start + size_bytes).step_by(16) {
        // SAFETY: cache maintenance on mapped memory of this process.
        unsafe { std::arch::asm!("dc cvau, {0}", in(reg) line, options(nostack)) };
    }
    // SAFETY: a barrier.
    unsafe { std::arch::asm!("dsb ish", options(nostack)) };
    for line in (start & !15..start + size_bytes).step_by(16) {
        // SAFETY: cache maintenance on mapped memory of this process.
        unsafe { std::arch::asm!("ic ivau, {0}", in(reg) line, options(nostack)) };
    }
    // SAFETY: barriers.
    unsafe { std::arch::asm!("dsb ish", "isb", options(nostack)) };
}

/// 64-bit x86.
#[cfg(any(test, target_arch = "x86_64"))]
pub(crate) mod x86_64 {
    use super::Patch;

    /// Computes a relocation: `word` is the content of `place`, `target` is the symbol plus the addend.
    pub(crate) fn apply(kind: u32, _word: u32, place: usize, target: i64) -> Result<Patch, String> {
        const R_X86_64_64: u32 = 1;
        const R_X86_64_PC32: u32 = 2;
        const R_X86_64_PLT32: u32 = 4;
        match kind {
            R_X86_64_64 => Ok(Patch::address(target)),
            R_X86_64_PC32 | R_X86_64_PLT32 => {
                let distance =
                    i32::try_from(target - place as i64).map_err(|_| "a distance exceeds 2 GiB".to_owned())?;
                Ok(Patch::word(distance as u32))
            }
            _ => Err(format!("relocation {kind} is not supported")),
        }
    }

    /// A jump to an absolute address.
    pub(crate) fn write_stub(target: usize) -> [u8; 16] {
        // jmp qword ptr [rip + 2]; two bytes of padding
        super::stub([0xff, 0x25, 2, 0, 0, 0, 0xcc, 0xcc], target)
    }
}

/// 64-bit Arm.
#[cfg(any(test, target_arch = "aarch64"))]
pub(crate) mod aarch64 {
    use super::Patch;

    /// Computes a relocation: `word` is the content of `place`, `target` is the symbol plus the addend.
    pub(crate) fn apply(kind: u32, word: u32, place: usize, target: i64) -> Result<Patch, String> {
        const ABS64: u32 = 257;
        const ADR_PREL_PG_HI21: u32 = 275;
        const ADD_ABS_LO12_NC: u32 = 277;
        const LDST8_ABS_LO12_NC: u32 = 278;
        const JUMP26: u32 = 282;
        const CALL26: u32 = 283;
        const LDST16_ABS_LO12_NC: u32 = 284;
        const LDST32_ABS_LO12_NC: u32 = 285;
        const LDST64_ABS_LO12_NC: u32 = 286;
        const LDST128_ABS_LO12_NC: u32 = 299;
        let low12 = |scale: u32| word | ((((target as u32) & 0xfff) >> scale) << 10);
        let patched = match kind {
            ABS64 => return Ok(Patch::address(target)),
            ADR_PREL_PG_HI21 => {
                let pages = (target >> 12) - (place as i64 >> 12);
                let pages = i32::try_from(pages).map_err(|_| "a distance exceeds 4 GiB".to_owned())? as u32;
                word | ((pages & 3) << 29) | (((pages >> 2) & 0x7_ffff) << 5)
            }
            ADD_ABS_LO12_NC | LDST8_ABS_LO12_NC => low12(0),
            LDST16_ABS_LO12_NC => low12(1),
            LDST32_ABS_LO12_NC => low12(2),
            LDST64_ABS_LO12_NC => low12(3),
            LDST128_ABS_LO12_NC => low12(4),
            JUMP26 | CALL26 => word | ((((target - place as i64) >> 2) as u32) & 0x03ff_ffff),
            _ => return Err(format!("relocation {kind} is not supported")),
        };
        Ok(Patch::word(patched))
    }

    /// A jump to an absolute address.
    pub(crate) fn write_stub(target: usize) -> [u8; 16] {
        // ldr x16, #8; br x16
        super::stub([0x50, 0, 0, 0x58, 0, 0x02, 0x1f, 0xd6], target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arm_relocations_fill_their_fields() {
        // From the ELF supplement: adrp x0, 0; add x0, x0, #0; ldr q0, [x0]; bl 0.
        let patched = |kind, word, place, target| {
            let patch = aarch64::apply(kind, word, place, target).map_err(|_| "refused").unwrap();
            u32::from_le_bytes(patch.bytes[..4].try_into().unwrap())
        };
        assert_eq!(patched(275, 0x9000_0000, 0x1000, 0x6123), 0xb000_0020, "five pages on: low bits 01, high bits 1");
        assert_eq!(patched(277, 0x9100_0000, 0x1000, 0x6123), 0x9104_8c00);
        assert_eq!(patched(299, 0x3dc0_0000, 0x1000, 0x6120), 0x3dc0_4800);
        assert_eq!(patched(283, 0x9400_0000, 0x1000, 0x0ff0), 0x97ff_fffc);
        assert!(aarch64::apply(1, 0, 0, 0).is_err());
        let stub = aarch64::write_stub(0x1122_3344_5566_7788);
        assert_eq!(stub[..4], 0x5800_0050u32.to_le_bytes(), "ldr x16, #8");
        assert_eq!(stub[4..8], 0xd61f_0200u32.to_le_bytes(), "br x16");
        assert_eq!(stub[8..], 0x1122_3344_5566_7788u64.to_le_bytes());
    }

    #[test]
    fn distances_that_do_not_fit_are_refused() {
        assert!(x86_64::apply(2, 0, 0, 1 << 31).is_err());
        assert!(x86_64::apply(2, 0, 0, (1 << 31) - 1).is_ok());
        assert!(x86_64::apply(9, 0, 0, 0).is_err());
    }
}
