//! The format npz: a zip archive of files in the format npy.

use std::io::{Cursor, Read, Write};
use std::path::Path;
use std::sync::Arc;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::{Header, Source, files, parse_next, to_bytes};
use crate::tensor::Tensor;
use crate::{Element, Error, ErrorKind, Result, Site};

/// Tensors by name, as `numpy.savez` writes them. Each is read when it is requested.
#[derive(Clone)]
pub struct Npz {
    archive: ZipArchive<Cursor<Arc<[u8]>>>,
    names: Vec<String>,
    /// What it was read from, for errors.
    name: String,
}

impl Npz {
    /// Opens a file in the format npz.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or is not an archive.
    #[track_caller]
    pub fn open(path: impl AsRef<Path>) -> Result<Npz> {
        let (path, site) = (path.as_ref(), Site::here());
        Npz::parse(files::read(path, site)?, format!("`{}`", path.display()), site)
    }

    /// Opens the contents of a file in the format npz.
    ///
    /// # Errors
    ///
    /// When they are not an archive.
    #[track_caller]
    pub fn from_bytes(bytes: impl Into<Arc<[u8]>>) -> Result<Npz> {
        Npz::parse(bytes, "the memory".into(), Site::here())
    }

    fn parse(bytes: impl Into<Arc<[u8]>>, name: String, site: Site) -> Result<Npz> {
        let opened = ZipArchive::new(Cursor::new(bytes.into())).and_then(|archive| {
            let names = (0..archive.len()).filter_map(|index| archive.name_for_index(index));
            let names = names.map(|name| name.map(|name| name.strip_suffix(".npy").unwrap_or(&name).to_owned()));
            let names = names.collect::<Result<Vec<_>, _>>()?;
            Ok((archive, names))
        });
        match opened {
            Ok((archive, names)) => Ok(Npz { archive, names, name }),
            Err(error) => {
                let what = format!("{name} is not in the format npz, which is a zip archive");
                let hint = "the file is of another kind, or damaged; `numpy.savez` writes this format";
                Err(Error::new(ErrorKind::Io, what).at(site).with_hint(hint).caused_by(error))
            }
        }
    }

    /// The names, in the order of the archive.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Reads the tensor of a name.
    ///
    /// # Errors
    ///
    /// When there is none, it is malformed, or has elements of another type.
    #[track_caller]
    pub fn get<T: Element>(&self, name: &str) -> Result<Tensor<T>> {
        self.read(name, Site::here(), |stream, source| {
            let tensor = parse_next(stream, source)?;
            // Reads to the end, where the checksum of the archive is compared.
            match std::io::copy(stream, &mut std::io::sink()) {
                Ok(0) => Ok(tensor),
                Ok(rest) => Err(source.malformed(format_args!("{rest} bytes follow the elements"))),
                Err(error) => Err(source.malformed("it is damaged").caused_by(error)),
            }
        })
    }

    /// Reads the type and the shape of a tensor, without its elements.
    ///
    /// # Errors
    ///
    /// When there is none, or it is malformed.
    #[track_caller]
    pub fn header(&self, name: &str) -> Result<Header> {
        self.read(name, Site::here(), |stream, source| Header::read(stream, source))
    }

    fn read<R>(&self, name: &str, site: Site, read: impl FnOnce(&mut dyn Read, Source<'_>) -> Result<R>) -> Result<R> {
        let Some(index) = self.names().position(|known| known == name) else {
            let what = format!("{} has no tensor `{name}`", self.name);
            let hint = format!("it has {}", self.names().collect::<Vec<_>>().join(", "));
            return Err(Error::new(ErrorKind::InvalidArgument, what).at(site).with_hint(hint));
        };
        let entry = format!("`{name}` of {}", self.name);
        let source = Source { name: &entry, site };
        let mut archive = self.archive.clone();
        let mut stream =
            archive.by_index(index).map_err(|error| source.malformed("it cannot be unpacked").caused_by(error))?;
        read(&mut stream, source)
    }
}

impl std::fmt::Debug for Npz {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// Collects tensors for a file in the format npz.
#[derive(Clone, Debug, Default)]
pub struct NpzWriter {
    entries: Vec<(String, Vec<u8>)>,
    is_compressed: bool,
}

impl NpzWriter {
    /// Creates a writer without tensors.
    #[must_use]
    pub fn new() -> NpzWriter {
        NpzWriter::default()
    }

    /// Compresses the archive, as `numpy.savez_compressed` does.
    #[must_use]
    pub fn compressed(mut self) -> NpzWriter {
        self.is_compressed = true;
        self
    }

    /// Evaluates a tensor, and adds it.
    ///
    /// # Errors
    ///
    /// When there is a tensor of this name already, or this one cannot be computed.
    #[track_caller]
    pub fn add<T: Element>(&mut self, name: impl Into<String>, tensor: &Tensor<T>) -> Result<&mut NpzWriter> {
        let (name, site) = (name.into(), Site::here());
        if self.entries.iter().any(|(known, _)| *known == name) {
            let what = format!("two tensors of an archive have the name `{name}`");
            return Err(Error::new(ErrorKind::InvalidArgument, what).at(site));
        }
        self.entries.push((name, to_bytes(tensor)?));
        Ok(self)
    }

    /// Writes a file in the format npz. A file of this name is replaced when the new one is complete.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    #[track_caller]
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let site = Site::here();
        files::replace(path.as_ref(), &self.to_bytes()?, site)
    }

    /// Returns the contents of a file in the format npz.
    ///
    /// # Errors
    ///
    /// When a name is too long for an archive.
    #[track_caller]
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let site = Site::here();
        let method = if self.is_compressed { CompressionMethod::Deflated } else { CompressionMethod::Stored };
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        let failed = |error| Error::new(ErrorKind::Io, "the archive cannot be made").at(site).caused_by(error);
        for (name, bytes) in &self.entries {
            let is_large = bytes.len() >= u32::MAX as usize;
            let options = SimpleFileOptions::default().compression_method(method).large_file(is_large);
            archive.start_file(format!("{name}.npy"), options).map_err(failed)?;
            archive.write_all(bytes).map_err(|error| failed(error.into()))?;
        }
        Ok(archive.finish().map_err(failed)?.into_inner())
    }
}
