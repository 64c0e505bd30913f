//! Whole files: reading, and replacing at once.

use std::path::Path;

use crate::{Error, ErrorKind, Result, Site};

/// Reads a file.
pub(crate) fn read(path: &Path, site: Site) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| {
        Error::new(ErrorKind::Io, format!("cannot read `{}`", path.display())).at(site).caused_by(error)
    })
}

/// Writes a file under another name, and renames it when it is complete.
pub(crate) fn replace(path: &Path, bytes: &[u8], site: Site) -> Result<()> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(format!(".{}.partial", std::process::id()));
    let written = std::fs::write(&partial, bytes).and_then(|()| std::fs::rename(&partial, path));
    written.map_err(|error| {
        // A file that was not begun cannot be removed, either.
        _ = std::fs::remove_file(&partial);
        Error::new(ErrorKind::Io, format!("cannot write `{}`", path.display())).at(site).caused_by(error)
    })
}
