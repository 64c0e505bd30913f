//! Forms of a kernel for people to read: what `JIT_DUMP` writes down for new kernels, and what is made on demand for
//! those in the cache. Nothing is formatted unless somebody asks.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::cache::Entry;
use crate::ir::Kernel;
use crate::log::{self, Level};
use crate::{backend, config};

/// A form in which a kernel can be read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Form {
    /// The trace that it was scheduled from; written by the language above.
    Trace,
    /// Kernel IR, as it was scheduled and as it was compiled.
    Ir,
    /// LLVM's intermediate representation.
    Llvm,
    /// Assembly of the generated code.
    Asm,
}

impl Form {
    const ALL: [Form; 4] = [Form::Trace, Form::Ir, Form::Llvm, Form::Asm];
    pub(crate) const NAMES: &'static [&'static str] = &["trace", "ir", "llvm", "asm"];

    /// The name that `JIT_DUMP` takes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        Form::NAMES[self as usize]
    }

    pub(crate) fn from_name(name: &str) -> Option<Form> {
        Form::ALL.into_iter().find(|form| form.name() == name)
    }
}

/// A set of forms.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Forms(u8);

impl Forms {
    pub(crate) fn insert(&mut self, form: Form) {
        self.0 |= 1 << form as u8;
    }

    pub(crate) fn contains(self, form: Form) -> bool {
        self.0 & (1 << form as u8) != 0
    }
}

/// Whether `JIT_DUMP` asks for a form.
#[must_use]
pub fn is_wanted(form: Form) -> bool {
    config::get().dump.contains(form)
}

/// Writes a form of something down, where `JIT_DUMP_DIR` says or to standard error.
pub fn write(form: Form, name: &str, text: &str) {
    match &config::get().dump_dir {
        Some(folder) => write_file(folder, form, name, text),
        None => eprintln!("---- {form} of {name}\n{text}", form = form.name()),
    }
}

fn write_file(folder: &Path, form: Form, name: &str, text: &str) {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let path = folder.join(format!("{name}.{}", form.name()));
    if let Err(error) = fs::create_dir_all(folder).and_then(|()| fs::write(&path, text)) {
        log::emit(Level::Warn, || format!("JIT_DUMP cannot write {}: {error}", path.display()));
    }
}

/// Writes the wanted forms of a kernel that was just compiled.
pub(crate) fn compiled(entry: &Entry, optimised: &Kernel) {
    for form in [Form::Ir, Form::Llvm, Form::Asm].into_iter().filter(|form| is_wanted(*form)) {
        let name = format!("{}-{:016x}", entry.facts.label, entry.facts.hash);
        match render(entry, optimised, form) {
            Some(text) => write(form, &name, &text),
            None => log::emit(Level::Debug, || format!("`{name}` has no form `{}`", form.name())),
        }
    }
}

/// Writes down the code that a kernel has now, which has got better.
pub(crate) fn improved(entry: &Entry, optimised: &Kernel) {
    for form in [Form::Llvm, Form::Asm].into_iter().filter(|form| is_wanted(*form)) {
        let name = format!("{}-{:016x}-improved", entry.facts.label, entry.facts.hash);
        render(entry, optimised, form).iter().for_each(|text| write(form, &name, text));
    }
}

/// A form of a cached kernel; none if its device has no such form.
pub(crate) fn render(entry: &Entry, optimised: &Kernel, form: Form) -> Option<String> {
    match form {
        Form::Trace => None,
        Form::Ir => {
            let mut text = String::new();
            let _ = write!(text, "// as scheduled\n{}\n// as compiled\n{optimised}", entry.kernel);
            Some(text)
        }
        Form::Llvm | Form::Asm => backend::render(entry.facts.device, optimised, entry.current_options(), form),
    }
}
