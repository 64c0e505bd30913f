//! LLVM's view of processors: target machines, made once per compiling thread.

use inkwell::OptimizationLevel;
use inkwell::targets::{
    CodeModel, InitializationConfig, RelocMode, Target as LlvmTarget, TargetMachine, TargetMachineOptions, TargetTriple,
};

use super::super::target::{Architecture, Target};
use crate::error::{Error, ErrorKind};

impl Target {
    pub(super) fn triple(&self) -> TargetTriple {
        TargetTriple::create(match self.architecture {
            Architecture::X86_64 => "x86_64-unknown-linux-gnu",
            Architecture::Aarch64 => "aarch64-unknown-linux-gnu",
        })
    }

    /// Creates a target machine, which must stay on the thread that made it.
    pub(crate) fn machine(&self, level: OptimizationLevel) -> Result<TargetMachine, Error> {
        crate::backend::llvm::library::load()?;
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
