//! Functions from files, for programs that do not know their types: interfaces for other languages.
//!
//! A call passes the arrays and numbers among the arguments as memory of the host, in the order of
//! [`UntypedFunction::arguments`], and gets the arrays among the results. An executor has one recording, a frozen
//! function or traced module several: a call replays the one that was used last of those that fit. Where several differ
//! in host values, which no call passes, the caller chooses the recording.

use std::sync::Arc;

use jit_runtime::device::{Device, DeviceScope};
use jit_runtime::ir::Type;
use jit_runtime::memory::Buffer;
use jit_runtime::recording::file::{FileKind, Reader, SavedRecording, SavedRecordings};
use jit_runtime::{Error, ErrorKind, Site, cancel};

use super::mismatch::Summary;
use super::saved;
use super::saved_types::{More, SavedTypes, read_types};
use super::untyped_layout::{Expressions, UntypedArgument, UntypedReturn};
use super::untyped_recording::{About, Outcome, UntypedRecording};

/// A function from a file, whose types the program does not know.
pub struct UntypedFunction {
    name: Arc<str>,
    device: Device,
    /// The one that was used last comes first.
    recordings: Vec<Arc<UntypedRecording>>,
}

/// An array that is passed to a call.
#[derive(Clone, Copy, Debug)]
pub struct GivenArray<'a> {
    /// Its elements, as they are in memory.
    pub bytes: &'a [u8],
    /// The lengths of its axes, if it has axes.
    pub shape: &'a [usize],
}

/// An argument of a call.
#[derive(Clone, Copy, Debug)]
pub enum GivenArgument<'a> {
    /// An array with elements of a type.
    Array(Type, GivenArray<'a>),
    /// The bits of a number of a type.
    Number(Type, u64),
}

/// An array that a call returns.
#[derive(Clone, Debug)]
pub struct UntypedResult {
    /// The type of its elements.
    pub ty: Type,
    /// The number of its elements.
    pub width: usize,
    /// The lengths of its axes, if it has axes.
    pub shape: Vec<usize>,
    pub(super) buffer: Arc<Buffer>,
}

impl UntypedResult {
    /// Copies its elements. Waits until they are computed.
    ///
    /// # Errors
    ///
    /// A failure of the launches that compute it; a target of another size.
    pub fn read(&self, target: &mut [u8]) -> Result<(), Error> {
        let size = self.width * self.ty.size_bytes();
        if target.len() != size {
            let message = format!("a result of {size} bytes is copied to {} bytes", target.len());
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        self.buffer.read(0, target)
    }
}

impl UntypedFunction {
    /// Reads a function from the bytes of its file, for calls on a device.
    ///
    /// # Errors
    ///
    /// A file that is foreign, damaged, or of something else; arguments that arrays and numbers cannot stand for.
    ///
    /// # Safety
    ///
    /// Machine code in the file is run: whoever could write it is trusted, as with a shared library.
    pub unsafe fn from_bytes(bytes: &[u8], device: Device) -> Result<UntypedFunction, Error> {
        // SAFETY: the caller's promise.
        let saved = unsafe { SavedRecordings::from_bytes(bytes, device) }?;
        let recordings = match saved.kind {
            FileKind::Executor => vec![of_executor(saved.about, saved.entries)?],
            FileKind::Frozen => of_frozen(&saved.about, saved.entries)?,
            kind => {
                let message = format!("it contains {}, not a function", kind.name());
                let hint = "`save` of an executor, a frozen function or a traced module writes one";
                return Err(Error::new(ErrorKind::InvalidArgument, message).with_hint(hint));
            }
        };
        let recordings = recordings.into_iter().map(Arc::new).collect();
        Ok(UntypedFunction { name: saved.name.into(), device, recordings })
    }

    /// The name of the function.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many recordings it has.
    #[must_use]
    pub fn recordings(&self) -> usize {
        self.recordings.len()
    }

    /// Returns the function with the recording at a position alone. The one that was used last before the function was
    /// saved has the position 0.
    #[must_use]
    pub fn recording(&self, position: usize) -> Option<UntypedFunction> {
        let recordings = vec![Arc::clone(self.recordings.get(position)?)];
        Some(UntypedFunction { name: Arc::clone(&self.name), device: self.device, recordings })
    }

    /// What calls pass, in order; where there are several recordings, for the first one.
    #[must_use]
    pub fn arguments(&self) -> &[UntypedArgument] {
        self.first().arguments()
    }

    /// The arrays that calls return: first those among the arguments that calls change, then those of the result.
    #[must_use]
    pub fn results(&self) -> &[UntypedReturn] {
        self.first().results()
    }

    /// The values that are part of the recording, with their paths: numbers in structures, lengths of lists, variants,
    /// texts, `#[constexpr]` parameters.
    #[must_use]
    pub fn fixed(&self) -> &[(String, String)] {
        self.first().fixed()
    }

    fn first(&self) -> &UntypedRecording {
        self.recordings.first().expect("a function has a recording")
    }

    /// Calls the function. Returns when its kernels are launched.
    ///
    /// # Errors
    ///
    /// Arguments of another number, type or shape; sizes that no recording fits; a number by which the function
    /// decided, with another value; recordings that differ in values which no call passes; a failure of a launch.
    pub fn call(&self, given: &[GivenArgument<'_>]) -> Result<Vec<UntypedResult>, Error> {
        let _operation = cancel::begin();
        let _device = DeviceScope::enter(self.device);
        let mut taking = self.recordings.iter().filter(|recording| recording.takes(given));
        self.check_choice(taking.clone())?;
        let mut failed = Vec::new();
        for recording in taking.by_ref() {
            match recording.call(&self.name, given)? {
                Outcome::Results(results) => return Ok(results),
                Outcome::Misfit(error) => failed.push(error),
            }
        }
        match failed.into_iter().next() {
            None => Err(self.first().other_arguments(&self.name, given)),
            Some(error) if self.recordings.len() == 1 => Err(error),
            Some(error) => Err(self.fits_none(error)),
        }
    }

    /// Checks that the recordings that take the types of some arguments have the same host values.
    fn check_choice<'a>(&self, mut taking: impl Iterator<Item = &'a Arc<UntypedRecording>>) -> Result<(), Error> {
        let Some(first) = taking.next() else { return Ok(()) };
        let Some(other) = taking.find(|other| other.fixed() != first.fixed()) else { return Ok(()) };
        let [mut own, mut others] = [first, other].map(|one| one.fixed().iter());
        let difference = loop {
            match (own.next(), others.next()) {
                (Some(own), Some(other)) if own == other => {}
                (Some((path, own)), Some((other, value))) if path == other => {
                    break format!("`{path}`, which is {own} or {value}");
                }
                (Some((path, _)), _) | (None, Some((path, _))) => break format!("`{path}`"),
                (None, None) => break "host values".to_owned(),
            }
        };
        let message = format!("several recordings of `{}` take these arguments, and differ in {difference}", self.name);
        Err(Error::new(ErrorKind::InvalidArgument, message).with_hint("choose one of its recordings, and call that"))
    }

    #[cold]
    fn fits_none(&self, first: Error) -> Error {
        let message =
            format!("none of the {} recordings of `{}` fits these arguments", self.recordings.len(), self.name);
        Error::new(ErrorKind::InvalidArgument, message)
            .caused_by(first)
            .with_hint("call the function with such arguments before it is saved")
    }
}

/// Reads the recording of an executor.
fn of_executor(about: Vec<u8>, mut entries: Vec<SavedRecording>) -> Result<UntypedRecording, Error> {
    let (Some(entry), true) = (entries.pop(), entries.is_empty()) else {
        return Err(Error::new(ErrorKind::Io, "an executor has one recording").with_hint("save the function anew"));
    };
    let mut reader = Reader::new(&about)?;
    let SavedTypes { names, types, lifted } = read_types(&mut reader)?;
    let constexprs = reader.list(|reader| Ok((reader.text()?.to_owned(), reader.text()?.to_owned())))?;
    let summary = reader.list(Summary::read)?;
    // They follow from the summary.
    reader.list(|reader| reader.text().map(str::to_owned))?;
    reader.end()?;
    let entry = saved::read_untyped(entry, Site::here())?;
    let expressions = Expressions { last: lifted, texts: &[] };
    let about = About { summary: &summary, signature: (&names, &types), expressions, fixed: constexprs };
    UntypedRecording::new(entry, about)
}

/// Reads the recordings of a frozen function that arrays and numbers can be passed to.
fn of_frozen(about: &[u8], entries: Vec<SavedRecording>) -> Result<Vec<UntypedRecording>, Error> {
    let mut reader = Reader::new(about)?;
    let SavedTypes { names, types, .. } = read_types(&mut reader)?;
    let More { texts, .. } = More::read(&mut reader)?;
    reader.end()?;
    let (mut recordings, mut refused) = (Vec::new(), None);
    for entry in entries.into_iter().rev() {
        let mut entry = saved::read_untyped(entry, Site::here())?;
        let summary = std::mem::take(&mut entry.summary);
        if summary.is_empty() && entry.plan.may_donate.len() + entry.numbers.len() > 0 {
            let message = "it was saved by an earlier version of the library, without the paths of its arguments";
            return Err(Error::new(ErrorKind::InvalidArgument, message).with_hint("save the function anew"));
        }
        let is_fast = entry.words.first().is_some_and(|settings| settings & 1 == 1);
        let fixed = is_fast.then(|| ("fast math".to_owned(), "on".to_owned())).into_iter().collect();
        let expressions = Expressions { last: 0, texts: &texts };
        let about = About { summary: &summary, signature: (&names, &types), expressions, fixed };
        match UntypedRecording::new(entry, about) {
            Ok(recording) => recordings.push(recording),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    match refused {
        Some(error) if recordings.is_empty() => Err(error),
        _ => Ok(recordings),
    }
}

impl std::fmt::Debug for UntypedFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("UntypedFunction");
        shown.field("name", &self.name).field("recordings", &self.recordings.len());
        shown.field("arguments", &self.arguments()).field("results", &self.results()).finish()
    }
}
