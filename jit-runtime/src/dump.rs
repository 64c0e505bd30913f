//! Forms of a kernel for people to read, which `JIT_DUMP` has written down. Nothing is formatted unless asked for.

use std::fs;
use std::path::Path;

use crate::config;
pub use crate::config::Form;
use crate::log::{self, Level};

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
