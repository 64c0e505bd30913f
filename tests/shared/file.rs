//! Files of tests.

use std::path::{Path, PathBuf};

/// A file for one test, removed at the end.
pub(crate) struct File(pub(crate) PathBuf);

impl File {
    pub(crate) fn new(name: &str) -> File {
        let (tests, process) = (env!("CARGO_CRATE_NAME"), std::process::id());
        File(std::env::temp_dir().join(format!("jit-{tests}-{process}-{name}")))
    }
}

impl AsRef<Path> for File {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
