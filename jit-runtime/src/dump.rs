//! Readable forms of kernels that `JIT_DUMP` requests. Nothing is formatted unless requested.

use std::fs;
use std::path::Path;

use crate::config;
pub use crate::config::Form;
use crate::log::{self, Level};

/// Whether `JIT_DUMP` requests a form.
#[must_use]
pub fn is_wanted(form: Form) -> bool {
    config::get().dump.contains(form)
}

/// Whether a requested form names the source lines of instructions.
#[must_use]
pub fn are_lines_wanted() -> bool {
    is_wanted(Form::Ptx)
}

/// Writes a form of a kernel to the directory in `JIT_DUMP_DIR` or to standard error.
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
