//! Objects that LLVM creates while it compiles are not destroyed when the process ends.
//!
//! LLVM has tables that the first kernel which needs them creates, and whose destructors it registers with the C
//! library in that moment. When the process ends, what was registered last runs first: before the function that waits
//! for threads in LLVM (`usage`). A process that ended during the first kernel destroyed tables that this kernel was
//! using. Nothing can run before such destructors, so they are not registered: the entry of libLLVM's table of imported
//! functions that it registers them by refers to a function that does nothing.
//!
//! This is for ELF, which the dynamic linkers of Linux load. Destructors of other systems and of an LLVM that is linked
//! into the program are registered as ever.

use std::ffi::{CStr, c_int, c_void};

/// What LLVM registers destructors with.
const REGISTERS: &CStr = c"__cxa_atexit";

/// An entry of the dynamic section.
#[repr(C)]
struct Dynamic {
    tag: isize,
    value: usize,
}

/// A relocation with an addend.
#[repr(C)]
struct Relocation {
    offset: usize,
    info: usize,
    addend: isize,
}

const END: isize = 0;
const STRINGS: isize = 5;
const SYMBOLS: isize = 6;
const RELOCATIONS: isize = 7;
const RELOCATIONS_BYTES: isize = 8;
const CALLS: isize = 23;
const CALLS_BYTES: isize = 2;

/// A loaded library: where its file begins in memory, and its dynamic section.
struct Loaded {
    base: usize,
    dynamic: *const Dynamic,
    /// What is read-only since the library was relocated.
    protected: std::ops::Range<usize>,
}

/// Makes the library with an address not register destructors from now on. Returns the number of references to the
/// function that are changed: 0 if it has none, as when its code has another form.
///
/// # Safety
///
/// The library stays loaded, and its destructors may be omitted.
pub(super) unsafe fn omit(address: usize) -> usize {
    let mut found: (usize, Option<Loaded>) = (address, None);
    // SAFETY: the function is called with the address of `found`, and only during the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut found).cast()) };
    // SAFETY: the linker has described the library, which stays loaded.
    found.1.map_or(0, |library| unsafe { library.references().into_iter().filter(|at| library.replace(*at)).count() })
}

/// In place of what registers a destructor; zero means that it did.
extern "C" fn leave(_destroy: *const c_void, _object: *const c_void, _library: *const c_void) -> c_int {
    0
}

/// Takes what is known of a library if it has the address.
unsafe extern "C" fn visit(facts: *mut libc::dl_phdr_info, _bytes: usize, found: *mut c_void) -> c_int {
    // SAFETY: the linker passes the description of a library, and the pointer that it was called with.
    let (facts, found) = unsafe { (&*facts, &mut *found.cast::<(usize, Option<Loaded>)>()) };
    let base = facts.dlpi_addr as usize;
    // SAFETY: so many headers are at this address.
    let headers = unsafe { std::slice::from_raw_parts(facts.dlpi_phdr, facts.dlpi_phnum.into()) };
    let part = |header: &libc::Elf64_Phdr| {
        let begin = base + header.p_vaddr as usize;
        begin..begin + header.p_memsz as usize
    };
    let of_type = |wanted| headers.iter().find(move |header| header.p_type == wanted).map(part);
    let is_it = headers.iter().any(|header| header.p_type == libc::PT_LOAD && part(header).contains(&found.0));
    let Some(dynamic) = of_type(libc::PT_DYNAMIC).filter(|_| is_it) else { return 0 };
    let protected = of_type(libc::PT_GNU_RELRO).unwrap_or(0..0);
    found.1 = Some(Loaded { base, dynamic: dynamic.start as *const Dynamic, protected });
    1
}

impl Loaded {
    /// Returns the value of an entry of the dynamic section.
    unsafe fn value(&self, tag: isize) -> Option<usize> {
        // SAFETY: the section ends with an entry of this tag.
        let entries = (0..).map(|position| unsafe { &*self.dynamic.add(position) });
        entries.take_while(|entry| entry.tag != END).find(|entry| entry.tag == tag).map(|entry| entry.value)
    }

    /// Returns an address in the dynamic section, which some linkers write in place of its distance from the base.
    unsafe fn address(&self, tag: isize) -> Option<usize> {
        // SAFETY: as above.
        let value = unsafe { self.value(tag) }?;
        Some(if value < self.base { self.base + value } else { value })
    }

    /// Returns the places in which the library has the address of the function.
    unsafe fn references(&self) -> Vec<usize> {
        let mut references = Vec::new();
        for (table, bytes) in [(CALLS, CALLS_BYTES), (RELOCATIONS, RELOCATIONS_BYTES)] {
            // SAFETY: the dynamic section describes tables of the library, which are in memory.
            unsafe {
                let known = (self.address(table), self.value(bytes), self.address(SYMBOLS), self.address(STRINGS));
                let (Some(table), Some(bytes), Some(symbols), Some(strings)) = known else { continue };
                let count = bytes / size_of::<Relocation>();
                for relocation in std::slice::from_raw_parts(table as *const Relocation, count) {
                    let symbol = &*(symbols as *const libc::Elf64_Sym).add(relocation.info >> 32);
                    let is_import = relocation.info >> 32 != 0 && relocation.addend == 0 && symbol.st_shndx == 0;
                    if is_import && CStr::from_ptr((strings + symbol.st_name as usize) as *const _) == REGISTERS {
                        references.push(self.base + relocation.offset);
                    }
                }
            }
        }
        references
    }

    /// Writes the address of [`leave`] to a place; returns whether that was possible.
    unsafe fn replace(&self, place: usize) -> bool {
        let is_protected = self.protected.contains(&place);
        // SAFETY: a page of the library's data, which the linker has made read-only, and its former state; threads that
        // read the place meanwhile find one of the addresses.
        unsafe {
            let page_bytes = libc::sysconf(libc::_SC_PAGESIZE) as usize;
            let page = (place & !(page_bytes - 1)) as *mut c_void;
            if is_protected && libc::mprotect(page, page_bytes, libc::PROT_READ | libc::PROT_WRITE) != 0 {
                return false;
            }
            let slot = &*(place as *const std::sync::atomic::AtomicUsize);
            slot.store(leave as *const () as usize, std::sync::atomic::Ordering::Release);
            if is_protected {
                libc::mprotect(page, page_bytes, libc::PROT_READ);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_the_first_kernel_creates_is_not_destroyed() {
        super::super::library::load().unwrap();
        let address = super::super::symbols::bound("LLVMGetVersion").unwrap();
        // SAFETY: it was changed when it was loaded, in the same way.
        assert_ne!(unsafe { super::omit(address) }, 0, "libLLVM registers destructors in another way");
    }
}
