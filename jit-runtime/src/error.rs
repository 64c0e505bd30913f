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
    /// A launch was aborted: its results are not there.
    Launch,
    /// A launch was cancelled, by [`cancel`](crate::cancel::cancel) or a time limit: its results are not there.
    Cancelled,
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
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    site: Option<&'static Location<'static>>,
    cause: Option<Box<dyn StdError + Send + Sync>>,
    /// A launch had begun, and has this as its result.
    is_of_launch: bool,
}

impl Error {
    /// An error of a kind with a sentence that says what was wrong.
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

    /// Notes that this is what became of a launch.
    #[must_use]
    pub(crate) fn of_launch(mut self) -> Self {
        self.0.is_of_launch = true;
        self
    }

    /// Whether a launch had begun and this is what became of it, so that it must not be made again.
    #[doc(hidden)]
    #[must_use]
    pub fn is_of_launch(&self) -> bool {
        self.0.is_of_launch
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

impl fmt::Debug for Error {
    /// All that is known, field by field. What `unwrap` prints.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { kind, message, hint, site, cause, is_of_launch: _ } = &*self.0;
        let mut fields = f.debug_struct("Error");
        fields.field("kind", kind).field("message", message);
        if let Some(site) = site {
            fields.field("site", &format_args!("{}:{}:{}", site.file(), site.line(), site.column()));
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
