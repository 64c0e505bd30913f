//! Maps the object file of a kernel into memory, without LLVM.
//!
//! The code generator emits position-independent ELF objects of the small code model with one function. Loading copies
//! the allocated sections into one mapping, applies the relocations and makes the mapping executable. The only external
//! symbols are the runtime functions in [`runtime_function`]; an object that needs any other is rejected. So an object
//! that was stored in a file can be loaded by a process without LLVM.

mod machine_code;
pub(crate) mod relocate;
pub(crate) mod stack;
pub(super) mod violation;

use std::collections::HashMap;
use std::ptr::NonNull;

use object::read::elf::ElfFile64;
use object::{Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SectionFlags, SectionIndex, elf};

use crate::error::{Error, ErrorKind};
pub use machine_code::MachineCode;
use relocate::{apply, write_stub};

/// The prefix of the name of an object's function. The number of lanes per step follows, and, after an underscore, the
/// number of bytes of scratch memory. At their end is a record, if [`VERIFIED`] follows.
pub(crate) const ENTRY: &str = "jit_kernel_";

/// The bytes of the record that code writes if it verifies its accesses.
pub(crate) const RECORD_BYTES: usize = 64;

/// The suffix of the name if the function verifies its accesses, see [`violation`].
pub(crate) const VERIFIED: &str = "_verified";

/// The bytes of the jump to a runtime function.
const STUB_BYTES: usize = 16;

/// A mapping with the code of one kernel; unmapped when dropped.
#[derive(Debug)]
pub(crate) struct LoadedObject {
    memory: Mapping,
    entry: usize,
    lanes_per_step: usize,
    scratch_bytes: usize,
    /// The bytes of the frame of code that needs a thread of its own for that.
    frame_bytes: usize,
    is_verified: bool,
}

impl LoadedObject {
    /// Loads an object file.
    pub(crate) fn load(bytes: &[u8]) -> Result<Self, Error> {
        let file = ElfFile64::<object::Endianness>::parse(bytes).map_err(|error| invalid(error.to_string()))?;
        let layout = Layout::of(&file)?;
        let memory = Mapping::new(layout.size_bytes)?;
        layout.copy_sections(&file, &memory)?;
        layout.relocate(&file, &memory)?;
        let numbers = |name: &str| {
            let numbers = name.strip_prefix(ENTRY)?;
            let unverified = numbers.strip_suffix(VERIFIED);
            let (step, scratch) = unverified.unwrap_or(numbers).split_once('_')?;
            Some((step.parse().ok()?, scratch.parse().ok()?, unverified.is_some()))
        };
        let mut named = file.symbols().filter_map(|symbol| Some((numbers(symbol.name().ok()?)?, symbol)));
        let ((lanes_per_step, scratch_bytes, is_verified), entry) =
            named.next().ok_or_else(|| invalid("it has no entry"))?;
        let entry = layout.address_of(&entry, &memory)?;
        memory.make_executable()?;
        let frame_bytes = stack::frame_bytes(bytes);
        Ok(LoadedObject { memory, entry, lanes_per_step, scratch_bytes, frame_bytes, is_verified })
    }

    /// The address of the kernel's function.
    pub(crate) fn entry(&self) -> usize {
        self.entry
    }

    /// The number of lanes that the kernel computes together.
    pub(crate) fn lanes_per_step(&self) -> usize {
        self.lanes_per_step
    }

    /// The bytes of scratch memory that a run needs.
    pub(crate) fn scratch_bytes(&self) -> usize {
        self.scratch_bytes
    }

    /// The bytes of stack that a run needs, if threads may not have them; otherwise 0.
    pub(crate) fn frame_bytes(&self) -> usize {
        self.frame_bytes
    }

    /// Whether a run needs nothing but a call.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.scratch_bytes | self.frame_bytes == 0
    }

    /// The offset of the record in that memory, if the function writes one.
    pub(crate) fn record_offset(&self) -> Option<usize> {
        self.is_verified.then(|| self.scratch_bytes - RECORD_BYTES)
    }

    /// The addresses of the code and its constants.
    pub(crate) fn addresses(&self) -> std::ops::Range<usize> {
        self.memory.address()..self.memory.address() + self.memory.size_bytes
    }

    /// The bytes of the code and its constants.
    pub(crate) fn size_bytes(&self) -> usize {
        self.memory.size_bytes
    }
}

fn invalid(reason: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Compile, format!("the object file of a kernel cannot be loaded: {reason}"))
}

/// The functions that generated code may call, by their LLVM names.
fn runtime_function(name: &str) -> Option<usize> {
    extern "C" fn fma_f32(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
    extern "C" fn fma_f64(a: f64, b: f64, c: f64) -> f64 {
        a.mul_add(b, c)
    }
    extern "C" fn rem_f32(a: f32, b: f32) -> f32 {
        a % b
    }
    extern "C" fn rem_f64(a: f64, b: f64) -> f64 {
        a % b
    }
    // LLVM calls it to round the sign of a copied sign. A half is returned where a float is, in the low bits.
    extern "C" fn f64_to_f16(a: f64) -> f32 {
        f32::from_bits(half::f16::from_f64(a).to_bits().into())
    }
    Some(match name {
        "__truncdfhf2" => f64_to_f16 as *const () as usize,
        "fmaf" => fma_f32 as *const () as usize,
        "fma" => fma_f64 as *const () as usize,
        "fmodf" => rem_f32 as *const () as usize,
        "fmod" => rem_f64 as *const () as usize,
        "memset" => libc::memset as *const () as usize,
        "memcpy" => libc::memcpy as *const () as usize,
        _ => return None,
    })
}

/// Whether generated code may call a function.
#[cfg(all(test, feature = "llvm"))]
pub(crate) fn is_known_function(name: &str) -> bool {
    runtime_function(name).is_some()
}

type File<'a> = ElfFile64<'a, object::Endianness>;

/// The position of each section and each stub in the mapping.
struct Layout {
    sections: HashMap<SectionIndex, usize>,
    stubs: HashMap<String, usize>,
    size_bytes: usize,
}

impl Layout {
    fn of(file: &File<'_>) -> Result<Self, Error> {
        let mut layout = Layout { sections: HashMap::new(), stubs: HashMap::new(), size_bytes: 0 };
        for section in file.sections().filter(is_loaded) {
            layout.size_bytes = layout.size_bytes.next_multiple_of(section.align().max(1) as usize);
            layout.sections.insert(section.index(), layout.size_bytes);
            layout.size_bytes += section.size() as usize;
        }
        layout.size_bytes = layout.size_bytes.next_multiple_of(STUB_BYTES);
        for symbol in file.symbols().filter(|symbol| symbol.is_undefined()) {
            let name = symbol.name().map_err(invalid)?;
            if !name.is_empty() {
                layout.stubs.insert(name.to_owned(), layout.size_bytes);
                layout.size_bytes += STUB_BYTES;
            }
        }
        Ok(layout)
    }

    fn copy_sections(&self, file: &File<'_>, memory: &Mapping) -> Result<(), Error> {
        for section in file.sections().filter(is_loaded) {
            let data = section.data().map_err(invalid)?;
            memory.write(self.sections[&section.index()], data)?;
        }
        for (name, &offset) in &self.stubs {
            let target = runtime_function(name).ok_or_else(|| invalid(format!("unknown function `{name}`")))?;
            memory.write(offset, &write_stub(target))?;
        }
        Ok(())
    }

    fn relocate(&self, file: &File<'_>, memory: &Mapping) -> Result<(), Error> {
        for section in file.sections().filter(is_loaded) {
            let base = self.sections[&section.index()];
            for (offset, relocation) in section.relocations() {
                let RelocationFlags::Elf { r_type, .. } = relocation.flags() else { return Err(invalid("not ELF")) };
                let RelocationTarget::Symbol(index) = relocation.target() else { return Err(invalid("no symbol")) };
                let symbol = file.symbol_by_index(index).map_err(invalid)?;
                let target = self.address_of(&symbol, memory)? as i64 + relocation.addend();
                let place = base + offset as usize;
                let word = memory.read(place)?;
                let patched = apply(r_type.0, word, memory.address() + place, target).map_err(invalid)?;
                memory.write(place, &patched.bytes[..patched.length])?;
            }
        }
        Ok(())
    }

    fn address_of<'data>(&self, symbol: &impl ObjectSymbol<'data>, memory: &Mapping) -> Result<usize, Error> {
        let offset = match symbol.section_index() {
            Some(section) => self.sections.get(&section).map(|base| base + symbol.address() as usize),
            None => self.stubs.get(symbol.name().map_err(invalid)?).copied(),
        };
        offset.map(|offset| memory.address() + offset).ok_or_else(|| invalid("a symbol has no address"))
    }
}

/// Code and constants; unwinding tables are omitted, as generated code does not unwind.
fn is_loaded<'data>(section: &impl ObjectSection<'data>) -> bool {
    let allocated = matches!(section.flags(), SectionFlags::Elf { sh_flags, .. } if sh_flags.0 & elf::SHF_ALLOC.0 != 0);
    allocated && section.size() > 0 && section.name() != Ok(".eh_frame")
}

/// Private pages: writable until [`Mapping::make_executable`], never both.
#[derive(Debug)]
struct Mapping {
    start: NonNull<u8>,
    size_bytes: usize,
}

// SAFETY: after loading the pages are only read and executed.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(size_bytes: usize) -> Result<Self, Error> {
        let size_bytes = size_bytes.max(1);
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a fresh anonymous mapping at an address that the system chooses.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), size_bytes, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            let error = Error::new(ErrorKind::OutOfMemory, format!("{size_bytes} bytes for code could not be mapped"));
            return Err(error.caused_by(std::io::Error::last_os_error()));
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| invalid("mapped at address zero"))?;
        Ok(Mapping { start, size_bytes })
    }

    fn address(&self) -> usize {
        self.start.as_ptr() as usize
    }

    fn write(&self, offset: usize, data: &[u8]) -> Result<(), Error> {
        if offset + data.len() > self.size_bytes {
            return Err(invalid("a section exceeds its size"));
        }
        // SAFETY: the range is inside the mapping, which is not shared before it is executable.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), self.start.as_ptr().add(offset), data.len()) };
        Ok(())
    }

    /// Reads the four bytes that every relocation has.
    fn read(&self, offset: usize) -> Result<u32, Error> {
        if offset + 4 > self.size_bytes {
            return Err(invalid("a relocation is out of range"));
        }
        // SAFETY: the range is inside the mapping.
        Ok(unsafe { self.start.as_ptr().add(offset).cast::<u32>().read_unaligned() })
    }

    fn make_executable(&self) -> Result<(), Error> {
        crate::backend::loader::relocate::synchronise_instructions(self.address(), self.size_bytes);
        // SAFETY: this value owns the mapping.
        let result =
            unsafe { libc::mprotect(self.start.as_ptr().cast(), self.size_bytes, libc::PROT_READ | libc::PROT_EXEC) };
        if result != 0 {
            return Err(invalid("its memory cannot be made executable").caused_by(std::io::Error::last_os_error()));
        }
        Ok(())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping, and nothing refers to it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.size_bytes) };
    }
}
