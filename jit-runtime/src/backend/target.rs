//! The machine that code is generated for: its instruction set, the number of lanes in a packet, and cheap operations.
//!
//! Only its features describe the processor of this machine ([`Target::host`]), and not its name: in virtual machines
//! the name is often wrong, and code for one processor should be found by another one that has the same instructions.
//! A [`Target`] is plain data, which code generators interpret.

/// Instruction sets that have a code generator and a loader.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Architecture {
    /// 64-bit x86 with SSE4.2 or better.
    X86_64,
    /// 64-bit Arm with NEON.
    Aarch64,
}

/// The target of code generation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Target {
    /// The instruction set.
    pub architecture: Architecture,
    /// LLVM's name of the processors that code is scheduled for: a level of the instruction set, not a product.
    pub cpu: String,
    /// LLVM's feature string, which determines the instructions that are used.
    pub features: String,
    /// The number of lanes in a packet: as many as one register has of 32 bits each. Kernels of narrower numbers have
    /// more.
    pub lanes: usize,
    /// The number of packets that loop bodies process at once, instead of the estimated best number.
    pub interleave: Option<usize>,
    /// Whether accesses that are proven to be in range are checked nevertheless.
    pub(crate) verifies_accesses: bool,
    /// Whether there are mask registers, so that masked arithmetic of every type costs nothing extra.
    has_masks: bool,
    has_f16c: bool,
    selects_bytes: bool,
    register_bits: u32,
}

#[cfg_attr(not(feature = "llvm"), allow(dead_code, reason = "properties that only the code generator needs"))]
impl Target {
    /// A processor specified by name and features.
    #[must_use]
    pub fn new(architecture: Architecture, cpu: String, features: String) -> Target {
        let has = |feature: &str| features.split(',').any(|entry| entry.strip_prefix('+') == Some(feature));
        let has_masks = ["avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"].into_iter().all(has);
        let lanes = if has_masks {
            16
        } else if has("avx2") {
            8
        } else if architecture == Architecture::Aarch64 || has("sse4.2") {
            4
        } else {
            0
        };
        let (has_f16c, selects_bytes) = (has("f16c"), has_masks && has("avx512vbmi"));
        let (interleave, verifies_accesses, register_bits) = (None, false, 32 * lanes as u32);
        Target {
            architecture,
            cpu,
            features,
            lanes,
            interleave,
            verifies_accesses,
            has_masks,
            has_f16c,
            selects_bytes,
            register_bits,
        }
    }

    /// The same with a fixed number of packets per loop body.
    #[must_use]
    pub fn with_interleave(mut self, packets: usize) -> Target {
        self.interleave = Some(packets);
        self
    }

    /// The same with another number of lanes in a packet.
    pub(crate) fn with_lanes(mut self, lanes: usize) -> Target {
        self.lanes = lanes;
        self
    }

    /// The same, with checks of accesses that are proven to be in range.
    #[must_use]
    pub fn with_verified_accesses(mut self) -> Target {
        self.verifies_accesses = true;
        self
    }

    /// Everything that code depends on, as text.
    #[must_use]
    pub fn identity(&self) -> String {
        let Target { architecture, cpu, features, lanes, interleave, verifies_accesses, .. } = self;
        let verified = if *verifies_accesses { ", accesses verified" } else { "" };
        let packets = interleave.map_or(String::new(), |packets| format!(", {packets} packets"));
        format!("{architecture:?} {cpu} x{lanes} {features}{packets}{verified}")
    }

    /// The target with an identity, as far as instructions and their text depend on it; none for other text.
    pub(crate) fn from_identity(identity: &str) -> Option<Target> {
        let (architecture, rest) = identity.split_once(' ')?;
        let known = [Architecture::X86_64, Architecture::Aarch64];
        let architecture = known.into_iter().find(|known| format!("{known:?}") == architecture)?;
        let [cpu, _lanes, rest] = rest.splitn(3, ' ').collect::<Vec<_>>().try_into().ok()?;
        let features = rest.split_once(", ").map_or(rest, |(features, _)| features);
        Some(Target::new(architecture, cpu.to_owned(), features.to_owned()))
    }

    /// Whether there are mask registers, so that masked arithmetic of every type costs nothing extra.
    pub(crate) fn has_masks(&self) -> bool {
        self.has_masks
    }

    /// Whether there are instructions that convert between `f16` and `f32`.
    pub(crate) fn converts_f16(&self) -> bool {
        self.architecture == Architecture::Aarch64 || self.has_f16c
    }

    /// Whether there are instructions that select bytes from registers of 512 bits by bytes.
    pub(crate) fn selects_bytes(&self) -> bool {
        self.selects_bytes
    }

    /// The bits of a vector register.
    pub(crate) fn register_bits(&self) -> u32 {
        self.register_bits
    }

    /// Vector registers.
    pub(crate) fn registers(&self) -> usize {
        if self.has_masks || self.architecture == Architecture::Aarch64 { 32 } else { 16 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_found_by_its_identity() {
        let target = Target::new(Architecture::X86_64, "x86-64-v3".into(), "+sse4.2,+avx2,+f16c".into());
        assert_eq!(Target::from_identity(&target.identity()), Some(target.clone()));
        let checked = target.clone().with_interleave(2).with_verified_accesses();
        assert_eq!(Target::from_identity(&checked.identity()), Some(target));
        assert_eq!(Target::from_identity("Abacus x86-64-v3 x8 +avx2"), None);
    }
}
