//! The one error type of the library.

use std::error::Error as StdError;
use std::fmt;
use std::panic::Location;

/// What kind of thing went wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A device that was asked for is not there, or its library is not.
    NoDevice,
    /// Memory is exhausted.
    OutOfMemory,
    /// An argument is outside of what the function takes.
    InvalidArgument,
    /// A value was read that is known only when a kernel runs.
    NotEvaluated,
    /// An environment variable or setting has a value that it does not take.
    Configuration,
    /// A backend could not turn a kernel into code.
    Compile,
    /// A launch broke off: its results are not there.
    Launch,
    /// A frozen function does what cannot be recorded.
    NotRecordable,
    /// A replay of a frozen function differs from what the function gives.
    Stale,
    /// Text that is no kernel.
    Parse,
    /// A file or stream failed.
    Io,
    /// A promise of this library's own code is broken: please report it.
    Internal,
}

/// What was wrong, where, and what to do about it.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    site: Option<&'static Location<'static>>,
    cause: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// An error of a kind with a sentence that says what was wrong.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error(Box::new(Inner { kind, message: message.into(), hint: None, site: None, cause: None }))
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Adds the place in the user's program.
    #[must_use]
    pub fn at(mut self, site: &'static Location<'static>) -> Self {
        self.0.site = Some(site);
        self
    }

    /// Adds the error that led to this one.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.cause = Some(cause.into());
        self
    }

    /// What kind of thing went wrong.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What was wrong, in a sentence.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What to do about it, where something can be done.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// The place in the user's program.
    #[must_use]
    pub fn site(&self) -> Option<&'static Location<'static>> {
        self.0.site
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        if let Some(site) = self.0.site {
            write!(f, "\n  at {}:{}:{}", site.file(), site.line(), site.column())?;
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

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.cause.as_deref().map(|cause| cause as _)
    }
}
