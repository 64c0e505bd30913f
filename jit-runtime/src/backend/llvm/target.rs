//! The machine that code is generated for: its instruction set, how wide a packet of lanes is, and what is cheap on it.
//!
//! The processor is asked by name *and* by feature string: in virtual machines the name is often wrong, and only the
//! features decide which instructions may be used. A [`Target`] is plain data; an LLVM target machine is made from it
//! once per compiling thread.

use std::sync::OnceLock;

use inkwell::OptimizationLevel;
use inkwell::targets::{
    CodeModel, InitializationConfig, RelocMode, Target as LlvmTarget, TargetMachine, TargetMachineOptions, TargetTriple,
};

use crate::error::{Error, ErrorKind};

/// Instruction sets that have a code generator and a loader.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Architecture {
    /// 64-bit x86 with SSE4.2 or better.
    X86_64,
    /// 64-bit Arm with NEON.
    Aarch64,
}

/// What code is generated for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Target {
    /// The instruction set.
    pub architecture: Architecture,
    /// LLVM's name of the processor; decides about scheduling only.
    pub cpu: String,
    /// LLVM's feature string; decides which instructions are used.
    pub features: String,
    /// Lanes in a packet: as many as one register holds of 32 bits each.
    pub lanes: usize,
    /// Packets that loop bodies work on at once, instead of the estimated best number.
    pub interleave: Option<usize>,
    /// Accesses that are proven to be in range are checked nevertheless, see [`super::violation`].
    pub(super) verifies_accesses: bool,
    /// There are mask registers, so that masked arithmetic of every type costs nothing extra.
    has_masks: bool,
    has_f16c: bool,
}

impl Target {
    /// The processor that the program runs on.
    pub fn host() -> Result<&'static Target, Error> {
        static HOST: OnceLock<Target> = OnceLock::new();
        super::library::load()?;
        let host = HOST.get_or_init(|| {
            let cpu = TargetMachine::get_host_cpu_name().to_string();
            let features = TargetMachine::get_host_cpu_features().to_string();
            let architecture = if cfg!(target_arch = "aarch64") { Architecture::Aarch64 } else { Architecture::X86_64 };
            let target = Target::new(architecture, cpu, features);
            if super::violation::is_asked_for() { target.with_verified_accesses() } else { target }
        });
        if host.lanes == 0 {
            return Err(Error::new(ErrorKind::NoDevice, "the processor has no SSE4.2, which generated code needs"));
        }
        Ok(host)
    }

    /// A processor given by name and features.
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
        let has_f16c = has("f16c");
        Target { architecture, cpu, features, lanes, interleave: None, verifies_accesses: false, has_masks, has_f16c }
    }

    /// The same with a fixed number of packets per loop body.
    #[must_use]
    pub fn with_interleave(mut self, packets: usize) -> Target {
        self.interleave = Some(packets);
        self
    }

    /// The same with checks of accesses that are proven to be in range.
    #[must_use]
    pub fn with_verified_accesses(mut self) -> Target {
        self.verifies_accesses = true;
        self
    }

    /// Whether there are mask registers, so that masked arithmetic of every type costs nothing extra.
    pub(super) fn has_masks(&self) -> bool {
        self.has_masks
    }

    /// Whether there are instructions that convert between `f16` and `f32`.
    pub(super) fn converts_f16(&self) -> bool {
        self.architecture == Architecture::Aarch64 || self.has_f16c
    }

    /// Vector registers.
    pub(super) fn registers(&self) -> usize {
        if self.has_masks || self.architecture == Architecture::Aarch64 { 32 } else { 16 }
    }

    fn triple(&self) -> TargetTriple {
        TargetTriple::create(match self.architecture {
            Architecture::X86_64 => "x86_64-unknown-linux-gnu",
            Architecture::Aarch64 => "aarch64-unknown-linux-gnu",
        })
    }

    /// A target machine; it must stay on the thread that made it.
    pub(super) fn machine(&self, level: OptimizationLevel) -> Result<TargetMachine, Error> {
        super::library::load()?;
        let config = InitializationConfig { asm_parser: false, disassembler: false, ..InitializationConfig::default() };
        match self.architecture {
            Architecture::X86_64 => LlvmTarget::initialize_x86(&config),
            Architecture::Aarch64 => LlvmTarget::initialize_aarch64(&config),
        }
        let failed =
            |reason: String| Error::new(ErrorKind::NoDevice, format!("LLVM cannot generate code here: {reason}"));
        let triple = self.triple();
        let target = LlvmTarget::from_triple(&triple).map_err(|error| failed(error.to_string()))?;
        let options = TargetMachineOptions::new()
            .set_cpu(&self.cpu)
            .set_features(&self.features)
            .set_level(level)
            .set_reloc_mode(RelocMode::PIC)
            .set_code_model(CodeModel::Small);
        target
            .create_target_machine_from_options(&triple, options)
            .ok_or_else(|| failed(format!("no target machine for {} with {}", self.cpu, self.features)))
    }
}
