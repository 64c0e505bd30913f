//! Recordings in files.
//!
//! A file has the kernels of its recordings as IR, their machine code for several levels of the instruction set, and
//! everything else that a replay needs. It is replayed without a compiler, at all sizes that the guards admit. On a
//! processor or in a version of the library for which it has no code, its IR is compiled, or interpreted where there is
//! no LLVM.
//!
//! ```no_run
//! use jit_runtime::device::Device;
//! use jit_runtime::memory::Buffer;
//! use jit_runtime::recording::{ReplayInputs, file::SavedRecordings};
//!
//! // SAFETY: the file is ours.
//! let saved = unsafe { SavedRecordings::load("saxpy.jit", Device::Cpu) }?;
//! let buffers = [Buffer::from_bytes(bytemuck::bytes_of(&[1.0_f32, 2.0]))?];
//! let given = ReplayInputs { buffers: &buffers, scalars: &[], sizes: &[2], donated: &[false] };
//! let (mut outputs, mut sizes) = (Default::default(), Vec::new());
//! saved.entries[0].recording.replay(given, &mut outputs, &mut sizes)?;
//! # Ok::<(), jit_runtime::Error>(())
//! ```
//!
//! What does not follow from the rest is written; the plan of memory, tiles and donated copies are derived again. What
//! is read is checked as the launches of a program are: a file never causes a panic, or an allocation out of
//! proportion to its size.
//!
//! | part | file |
//! |---|---|
//! | header and checksum | `format` |
//! | numbers, texts, lists | `bytes` |
//! | the parts of steps that have a form of their own | `parts` |
//! | recording → bytes | `encode` |
//! | bytes → recording | `decode` |
//! | several executors in one file, and code that was made before | `bundle` |

mod bundle;
mod bytes;
mod decode;
mod encode;
mod format;
mod parts;
#[cfg(test)]
mod tests;

use std::path::Path;

pub use bundle::{Bundle, bundle_bytes, code_bytes, know_code};
pub use bytes::{Damaged, Read, Reader, Writer};
pub use format::{FileKind, OLDEST, VERSION};

use super::Recording;
pub use crate::backend::Architecture;
pub use crate::cache::{CodeMaker, CodeTarget};
use crate::config::Device;
use crate::{Error, ErrorKind};

/// The contents of a file.
pub struct SavedRecordings {
    /// What it is.
    pub kind: FileKind,
    /// The name of the function.
    pub name: String,
    /// What the recordings have in common: data of the layer above.
    pub about: Vec<u8>,
    /// The recordings.
    pub entries: Vec<SavedRecording>,
}

/// A recording in a file.
pub struct SavedRecording {
    /// For which calls it is, and what becomes of its outputs: data of the layer above.
    pub about: Vec<u8>,
    /// The recording.
    pub recording: Recording,
}

/// What is written to a file.
#[derive(Clone, Copy)]
pub struct ToSave<'a> {
    /// See [`SavedRecordings::kind`].
    pub kind: FileKind,
    /// See [`SavedRecordings::name`].
    pub name: &'a str,
    /// See [`SavedRecordings::about`].
    pub about: &'a [u8],
    /// The recordings, each with [`SavedRecording::about`].
    pub entries: &'a [(Vec<u8>, &'a Recording)],
}

impl ToSave<'_> {
    /// Returns the bytes of the file.
    ///
    /// # Errors
    ///
    /// A recording that calls the host, with the line; a kernel that does not compile.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        self.to_bytes_with(&mut CodeMaker::for_devices_of_recordings())
    }

    /// Returns the bytes of the file, with the code of a maker.
    ///
    /// # Errors
    ///
    /// As [`ToSave::to_bytes`].
    pub fn to_bytes_with(&self, maker: &mut CodeMaker) -> Result<Vec<u8>, Error> {
        let mut writer = Writer::default();
        writer.text(self.name);
        writer.blob(self.about);
        writer.number(self.entries.len() as u64);
        for (about, recording) in self.entries {
            writer.blob(about);
            encode::recording(&mut writer, recording, maker)?;
        }
        Ok(format::seal(self.kind, &writer.finish()))
    }

    /// Writes the file. Its name then has all of it, or what it had before.
    ///
    /// # Errors
    ///
    /// As [`ToSave::to_bytes`]; a failure of the file system.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        format::write(path.as_ref(), &self.to_bytes()?)
    }
}

impl SavedRecordings {
    /// Reads a file, for replays on a device.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or that is foreign, too new, or damaged.
    ///
    /// # Safety
    ///
    /// The file contains machine code, which replays run: whoever could write the file is trusted, as with a shared
    /// library.
    pub unsafe fn load(path: impl AsRef<Path>, device: Device) -> Result<SavedRecordings, Error> {
        let path = path.as_ref();
        // SAFETY: the caller's promise.
        let outcome = format::read(path).map(|bytes| unsafe { Self::from_bytes(&bytes, device) })?;
        outcome.map_err(|error| {
            Error::new(ErrorKind::Io, format!("the file {} cannot be loaded", path.display())).caused_by(error)
        })
    }

    /// Reads the bytes of a file, for replays on a device.
    ///
    /// # Errors
    ///
    /// As [`SavedRecordings::load`].
    ///
    /// # Safety
    ///
    /// As [`SavedRecordings::load`].
    pub unsafe fn from_bytes(bytes: &[u8], device: Device) -> Result<SavedRecordings, Error> {
        let (kind, contents) = format::open(bytes)?;
        // SAFETY: the caller's promise.
        unsafe { Self::of_contents(kind, contents, device, true) }
    }

    /// Reads bytes that anybody may have written: their machine code is not used, and their kernels are compiled or
    /// interpreted.
    ///
    /// # Errors
    ///
    /// As [`SavedRecordings::load`].
    pub fn from_untrusted_bytes(bytes: &[u8], device: Device) -> Result<SavedRecordings, Error> {
        let (kind, contents) = format::open(bytes)?;
        // SAFETY: no code is used.
        unsafe { Self::of_contents(kind, contents, device, false) }
    }

    unsafe fn of_contents(
        kind: FileKind,
        contents: &[u8],
        device: Device,
        uses_code: bool,
    ) -> Result<SavedRecordings, Error> {
        let mut reader = Reader::new(contents)?;
        let (name, about) = (reader.text()?.to_owned(), reader.blob()?.to_vec());
        let count = reader.size()?;
        let mut entries = Vec::new();
        for _ in 0..count {
            let about = reader.blob()?.to_vec();
            // SAFETY: the caller's promise.
            let recording = unsafe { decode::recording(&mut reader, device, uses_code) }?;
            entries.push(SavedRecording { about, recording });
        }
        reader.end()?;
        Ok(SavedRecordings { kind, name, about, entries })
    }
}

/// Replaces the checksum of a file by that of its contents, as somebody who tampers with it would.
#[cfg(any(test, feature = "random"))]
#[doc(hidden)]
#[must_use]
pub fn sealed_again(bytes: &[u8]) -> Vec<u8> {
    format::seal(FileKind::Executor, bytes.get(format::HEADER_BYTES..).unwrap_or_default())
}
