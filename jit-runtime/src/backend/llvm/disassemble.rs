//! Machine code → text: the code that was stored, not the one that would be made now.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::fmt::Write as _;

use inkwell::targets::{InitializationConfig, Target as LlvmTarget};
use llvm_sys::disassembler::{
    LLVMCreateDisasmCPUFeatures, LLVMDisasmContextRef, LLVMDisasmDispose, LLVMDisasmInstruction,
};
use object::read::elf::ElfFile64;
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionKind};

use super::super::target::{Architecture, Target};
use super::library;
use crate::error::{Error, ErrorKind};

/// The longest text of an instruction.
const LONGEST: usize = 256;

/// The functions of an object file, with the names of what their instructions refer to.
pub(super) fn object_file(bytes: &[u8], target: &Target) -> Result<String, Error> {
    let invalid = |reason: &dyn std::fmt::Display| {
        Error::new(ErrorKind::Compile, format!("the object file of a kernel cannot be read: {reason}"))
    };
    let file = ElfFile64::<object::Endianness>::parse(bytes).map_err(|error| invalid(&error))?;
    let disassembler = Disassembler::new(target)?;
    let mut text = String::new();
    for section in file.sections().filter(|section| section.kind() == SectionKind::Text && section.size() > 0) {
        let code = section.data().map_err(|error| invalid(&error))?;
        let of_section = file.symbols().filter(|symbol| symbol.section_index() == Some(section.index()));
        let names: BTreeMap<u64, &str> =
            of_section.filter_map(|symbol| Some((symbol.address(), symbol.name().ok()?))).collect();
        let referred = references(&file, &section);
        let mut at = 0;
        while at < code.len() {
            if let Some(name) = names.get(&(at as u64)).filter(|name| !name.is_empty()) {
                let _ = writeln!(text, "{name}:");
            }
            let (length, instruction) = disassembler.instruction(&code[at..], at as u64);
            let _ = write!(text, "{at:6x}: {instruction}");
            for (_, name) in referred.range(at as u64..(at + length) as u64) {
                let _ = write!(text, "    # {name}");
            }
            text.push('\n');
            at += length;
        }
    }
    Ok(text)
}

/// What the bytes of a section refer to, by their offsets.
fn references<'o>(file: &ElfFile64<'o, object::Endianness>, section: &impl ObjectSection<'o>) -> BTreeMap<u64, String> {
    let name = |target| match target {
        RelocationTarget::Symbol(index) => {
            let symbol = file.symbol_by_index(index).ok()?;
            let section = symbol.section_index().and_then(|index| file.section_by_index(index).ok());
            let own = symbol.name().ok().filter(|name| !name.is_empty()).map(str::to_owned);
            own.or_else(|| section?.name().ok().map(str::to_owned))
        }
        _ => None,
    };
    section.relocations().filter_map(|(offset, relocation)| Some((offset, name(relocation.target())?))).collect()
}

struct Disassembler(LLVMDisasmContextRef);

impl Disassembler {
    fn new(target: &Target) -> Result<Disassembler, Error> {
        library::load()?;
        let config = InitializationConfig { disassembler: true, ..InitializationConfig::default() };
        match target.architecture {
            Architecture::X86_64 => LlvmTarget::initialize_x86(&config),
            Architecture::Aarch64 => LlvmTarget::initialize_aarch64(&config),
        }
        let failed = || Error::new(ErrorKind::NoDevice, format!("LLVM cannot disassemble code for {}", target.cpu));
        let triple = target.triple();
        let [cpu, features] =
            [&target.cpu, &target.features].map(|text| CString::new(text.as_bytes()).map_err(|_| failed()));
        let (cpu, features) = (cpu?, features?);
        // SAFETY: the texts live during the call; no functions are called back.
        let context = unsafe {
            LLVMCreateDisasmCPUFeatures(
                triple.as_ptr(),
                cpu.as_ptr(),
                features.as_ptr(),
                std::ptr::null_mut(),
                0,
                None,
                None,
            )
        };
        if context.is_null() { Err(failed()) } else { Ok(Disassembler(context)) }
    }

    /// The first instruction of some code: its length and its text. Bytes that are none are shown as such.
    fn instruction(&self, code: &[u8], address: u64) -> (usize, String) {
        let (mut text, mut copy) = ([0; LONGEST], code[..code.len().min(16)].to_vec());
        // SAFETY: the bytes and the text are valid for their lengths; the context lives.
        let length = unsafe {
            LLVMDisasmInstruction(
                self.0,
                copy.as_mut_ptr(),
                copy.len() as u64,
                address,
                text.as_mut_ptr().cast(),
                text.len(),
            )
        };
        match CStr::from_bytes_until_nul(&text) {
            Ok(text) if length > 0 => (length, text.to_string_lossy().trim().replace('\t', " ")),
            _ => (1, format!(".byte {:#04x}", code[0])),
        }
    }
}

impl Drop for Disassembler {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and dropped once.
        unsafe { LLVMDisasmDispose(self.0) };
    }
}
