//! Readable forms of cached kernels: those that `JIT_DUMP` writes for new kernels, and those made on demand.

use std::fmt::Write as _;

use super::Entry;
use crate::backend;
#[cfg(loads_code)]
use crate::config::Device;
use crate::dump::{Form, is_wanted, write};
use crate::ir::Kernel;
use crate::log::{self, Level};

/// Whether any form of new kernels is requested.
pub(crate) fn is_any_wanted() -> bool {
    [Form::Ir, Form::Llvm, Form::Ptx, Form::Asm].into_iter().any(is_wanted)
}

/// Writes the requested forms of a kernel that is new in this process.
pub(crate) fn compiled(entry: &Entry, optimised: &Kernel) {
    for form in [Form::Ir, Form::Llvm, Form::Ptx, Form::Asm].into_iter().filter(|form| is_wanted(*form)) {
        let name = format!("{}-{:016x}", entry.facts.label, entry.facts.hash);
        match render(entry, optimised, form) {
            Some(text) => write(form, &name, &text),
            None => log::emit(Level::Debug, || format!("`{name}` has no form `{}`", form.name())),
        }
    }
}

/// Writes the improved code of a kernel.
pub(crate) fn improved(entry: &Entry, optimised: &Kernel) {
    for form in [Form::Llvm, Form::Asm].into_iter().filter(|form| is_wanted(*form)) {
        let name = format!("{}-{:016x}-improved", entry.facts.label, entry.facts.hash);
        render(entry, optimised, form).iter().for_each(|text| write(form, &name, text));
    }
}

/// Whether its code is that of an object file. The code of GPUs is emitted again, as text.
#[cfg(loads_code)]
fn is_read_for_host(entry: &Entry) -> bool {
    entry.is_read() && entry.facts.device == Device::Cpu
}

/// The instructions of code that was read from disk; where there is no LLVM, what is missing.
#[cfg(loads_code)]
fn disassembly(entry: &Entry) -> String {
    let shown = entry.executable(usize::MAX).object().map(backend::disassemble_for_host);
    match shown {
        Some(Ok(text)) => text,
        Some(Err(error)) => missing("assembly", &error),
        None => String::new(),
    }
}

/// A form that is not on disk, and that LLVM makes again.
#[cfg(loads_code)]
fn made_again(entry: &Entry, optimised: &Kernel, form: Form) -> String {
    // Where there is no LLVM, rendering would report that kernels are interpreted, which this one is not.
    if let Err(error) = backend::llvm_version() {
        return missing("LLVM IR", &error);
    }
    backend::render(entry.facts.device, optimised, entry.current_options(), form).unwrap_or_default()
}

#[cfg(loads_code)]
fn missing(what: &str, error: &crate::Error) -> String {
    let hint = error.hint().map_or(String::new(), |hint| format!("; {hint}"));
    format!("; the code was read from disk, and its {what} cannot be shown: {}{hint}\n", error.message())
}

/// A comment with the name of a kernel, and the line that evaluated it first.
fn heading(entry: &Entry) -> String {
    let (label, site) = (entry.facts.label, entry.facts.site);
    site.map_or(format!("// `{label}`\n"), |site| format!("// `{label}`, evaluated at {site}\n"))
}

/// A form of a cached kernel; none if its device does not support it.
pub(crate) fn render(entry: &Entry, optimised: &Kernel, form: Form) -> Option<String> {
    match form {
        Form::Trace => None,
        Form::Ir => {
            let mut text = String::new();
            let _ = write!(text, "// as scheduled\n{}\n// as compiled\n{optimised}", entry.kernel);
            Some(text)
        }
        #[cfg(loads_code)]
        Form::Asm if is_read_for_host(entry) => Some(disassembly(entry)),
        #[cfg(loads_code)]
        Form::Llvm if is_read_for_host(entry) => Some(made_again(entry, optimised, form)),
        Form::Ptx => {
            let code = backend::render(entry.facts.device, optimised, entry.current_options(), form)?;
            Some(format!("{}{code}", heading(entry)))
        }
        Form::Llvm | Form::Asm => backend::render(entry.facts.device, optimised, entry.current_options(), form),
    }
}
