//! The one error type of the library.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use crate::Label;
use crate::site::{self, Site};

/// The kind of an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A requested device, or its library, is not available.
    NoDevice,
    /// Memory is exhausted.
    OutOfMemory,
    /// An argument is outside the range that the function accepts.
    InvalidArgument,
    /// A value was read that is known only when a kernel runs.
    NotEvaluated,
    /// An environment variable or setting has an invalid value.
    Configuration,
    /// A kernel could not be turned into code.
    Compile,
    /// A launch was aborted: its results do not exist.
    Launch,
    /// A launch was cancelled, by [`cancel`](crate::cancel::cancel) or a time limit: its results do not exist.
    Cancelled,
    /// A frozen function does something that cannot be recorded.
    NotRecordable,
    /// A replay of a frozen function differs from what the function returns.
    Stale,
    /// Text that is not a kernel.
    Parse,
    /// A file or stream failed.
    Io,
    /// A check of the program found what it looks for, such as a value that is not finite.
    CheckFailed,
    /// A bug in this library: please report it.
    Internal,
}

/// What was wrong, where, and what to do about it.
///
/// It is `Clone`, so a frozen function and a traced module may return a `Result`: a replay returns a copy.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    site: Option<Site>,
    cause: Option<Arc<dyn StdError + Send + Sync>>,
    /// Whether a launch had begun and failed with this error.
    is_of_launch: bool,
}

impl Error {
    /// Creates an error of a kind, with a sentence that describes what was wrong.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error(Box::new(Inner {
            kind,
            message: message.into(),
            hint: None,
            site: None,
            cause: None,
            is_of_launch: false,
        }))
    }

    /// Adds a hint what to do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Adds the place in the user's program.
    #[must_use]
    pub fn at(mut self, site: impl Into<Site>) -> Self {
        self.0.site = Some(site.into().of_program());
        self
    }

    /// Adds the error that led to this one.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.cause = Some(Arc::from(cause.into()));
        self
    }

    /// Says which kernel the code was for.
    #[must_use]
    pub(crate) fn of_kernel(mut self, label: Label) -> Self {
        self.0.message = format!("the kernel `{label}` cannot be compiled: {}", self.0.message);
        self
    }

    /// Says which launch needs the memory that there is not, and where the program wants it. Other errors stay.
    #[doc(hidden)]
    #[must_use]
    pub fn of_memory_for(mut self, label: Label, site: Option<Site>) -> Self {
        if self.0.kind == ErrorKind::OutOfMemory {
            self.0.message = format!("`{label}` cannot be launched: {}", self.0.message);
            self.0.site = self.0.site.or(site.map(Site::of_program));
        }
        self
    }

    /// Marks this as the result of a launch.
    #[must_use]
    pub(crate) fn of_launch(mut self) -> Self {
        self.0.is_of_launch = true;
        self
    }

    /// Whether this is the result of a launch that had begun, so that it must not be repeated.
    #[doc(hidden)]
    #[must_use]
    pub fn is_of_launch(&self) -> bool {
        self.0.is_of_launch
    }

    /// The kind of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// A sentence that describes what was wrong.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What to do about it, if anything can be done.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// The place in the user's program.
    #[must_use]
    pub fn site(&self) -> Option<Site> {
        self.0.site
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        if let Some(site) = self.0.site {
            write!(f, "\n  at {site}")?;
            if site.is_in_rust() {
                f.write_str(site::PASSED_BY_NAME)?;
            }
        }
        if let Some(cause) = &self.0.cause {
            write!(f, "\n  because {cause}")?;
        }
        if let Some(hint) = &self.0.hint {
            write!(f, "\n  help: {hint}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    /// All fields. This is what `unwrap` prints.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { kind, message, hint, site, cause, is_of_launch: _ } = &*self.0;
        let mut fields = f.debug_struct("Error");
        fields.field("kind", kind).field("message", message);
        if let Some(site) = site {
            fields.field("site", site);
        }
        if let Some(cause) = cause {
            fields.field("cause", cause);
        }
        if let Some(hint) = hint {
            fields.field("hint", hint);
        }
        fields.finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.cause.as_deref().map(|cause| cause as _)
    }
}
