//! Bundles: several executors in one file, by name; and the code that a bundle was made with, for the next one.
//!
//! The executors in a bundle are files themselves, each with its own header, so whoever reads one checks nothing else.

use super::bytes::{Read, Reader, Writer};
use super::format::{self, FileKind};
use crate::cache::CodeMaker;
use crate::{Error, ErrorKind};

/// A bundle that was read.
#[derive(Debug)]
pub struct Bundle<'a> {
    name: &'a str,
    entries: Vec<(&'a str, &'a [u8])>,
}

/// Returns the bytes of a bundle: its name, and the name and file of each executor.
#[must_use]
pub fn bundle_bytes(name: &str, entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.text(name);
    writer.list(entries.iter(), |writer, (name, file)| {
        writer.text(name);
        writer.blob(file);
    });
    format::seal(FileKind::Bundle, &writer.finish())
}

impl<'a> Bundle<'a> {
    /// Reads a bundle. Its executors are not read yet. A file with one function is a bundle with this entry.
    ///
    /// # Errors
    ///
    /// Bytes that are foreign, too new, or damaged; a file that contains something else.
    pub fn open(bytes: &'a [u8]) -> Result<Bundle<'a>, Error> {
        match format::open(bytes)? {
            (FileKind::Bundle, contents) => Bundle::read(contents).map_err(Error::from),
            (FileKind::Executor | FileKind::Frozen, contents) => {
                let name = Reader::new(contents)?.text()?;
                Ok(Bundle { name, entries: vec![(name, bytes)] })
            }
            (kind, _) => {
                let message = format!("it contains {}, not functions", kind.name());
                let hint = "pass a file of `jit::bundle` or of `save` of a function";
                Err(Error::new(ErrorKind::InvalidArgument, message).with_hint(hint))
            }
        }
    }

    fn read(contents: &'a [u8]) -> Read<Bundle<'a>> {
        let mut reader = Reader::new(contents)?;
        let name = reader.text()?;
        let entries = reader.list(|reader| Ok((reader.text()?, reader.blob()?)))?;
        reader.end()?;
        Ok(Bundle { name, entries })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// The names of its entries, in order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &'a str> {
        self.entries.iter().map(|(name, _)| *name)
    }

    /// Returns the file of an entry.
    ///
    /// # Errors
    ///
    /// A name that no entry has: the error lists those that there are.
    pub fn entry(&self, name: &str) -> Result<&'a [u8], Error> {
        if let Some((_, file)) = self.entries.iter().find(|(known, _)| *known == name) {
            return Ok(file);
        }
        let known: Vec<String> = self.names().map(|name| format!("`{name}`")).collect();
        let message = format!("the bundle `{}` has no entry `{name}`", self.name);
        let hint = format!("it has {}", known.join(", "));
        Err(Error::new(ErrorKind::InvalidArgument, message).with_hint(hint))
    }
}

/// Returns the bytes of a file with all code that a maker has made.
#[must_use]
pub fn code_bytes(maker: &CodeMaker) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.list(maker.made(), |writer, (key, object)| {
        writer.blob(key);
        writer.blob(object);
    });
    format::seal(FileKind::Code, &writer.finish())
}

/// Passes the code of such a file to a maker. A file that is damaged or of another kind has none.
pub fn know_code(maker: &mut CodeMaker, bytes: &[u8]) {
    if let Ok((FileKind::Code, contents)) = format::open(bytes)
        && let Ok(codes) = read_codes(contents)
    {
        maker.know(codes);
    }
}

/// An object file, with the key of what it was made of.
type Code = (Vec<u8>, Box<[u8]>);

fn read_codes(contents: &[u8]) -> Read<Vec<Code>> {
    let mut reader = Reader::new(contents)?;
    let codes = reader.list(|reader| Ok((reader.blob()?.to_vec(), reader.blob()?.into())))?;
    reader.end()?;
    Ok(codes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_by_name_and_others_are_listed() {
        let bytes = bundle_bytes("kernels", &[("add", b"first"), ("scale", b"second")]);
        let bundle = Bundle::open(&bytes).unwrap();
        assert_eq!((bundle.name(), bundle.names().collect::<Vec<_>>()), ("kernels", vec!["add", "scale"]));
        assert_eq!(bundle.entry("scale").unwrap(), b"second");
        let missing = bundle.entry("sub").unwrap_err().to_string();
        assert!(missing.contains("`kernels` has no entry `sub`") && missing.contains("`add`, `scale`"), "{missing}");
        for length in 0..bytes.len() {
            assert!(Bundle::open(&bytes[..length]).is_err(), "{length} bytes");
        }
        let other = format::seal(FileKind::Code, b"");
        assert!(Bundle::open(&other).unwrap_err().message().contains("code without recordings"));
    }
}
