//! Panics for incorrect programs: the error, its location, and a remedy.

use std::fmt::{Display, Write};

use jit_runtime::Site;

/// A message composed of lines.
pub struct Misuse {
    text: String,
}

impl Misuse {
    /// Starts with the error and the line that caused it.
    #[cold]
    pub fn new(what: impl Into<String>, site: impl Into<Site>) -> Self {
        let (mut text, site): (String, Site) = (what.into(), site.into());
        let _ = write!(text, "\n  at {site}");
        Misuse { text }
    }

    /// Adds another location.
    #[must_use]
    pub fn place(mut self, what: impl Display, site: Site) -> Self {
        let _ = write!(self.text, "\n  {what} at {site}");
        self
    }

    /// Adds a remedy.
    #[must_use]
    pub fn hint(mut self, hint: &str) -> Self {
        let _ = write!(self.text, "\n  help: {hint}");
        self
    }

    /// Returns the message as the text of an error.
    #[must_use]
    pub fn into_text(self) -> String {
        self.text
    }

    /// Panics with the message.
    #[cold]
    #[track_caller]
    #[expect(clippy::panic, reason = "the calling program is wrong, and there is no value to return")]
    pub fn panic(self) -> ! {
        panic!("{}", self.text)
    }
}

/// Panics with an error where none can be returned.
#[cold]
#[track_caller]
pub(crate) fn panic_with(error: jit_runtime::Error) -> ! {
    panic_at(Site::here(), error)
}

/// Panics with an error where none can be returned, for a line of the user's program that is not our caller.
#[cold]
#[track_caller]
#[expect(clippy::panic, reason = "the signature cannot return an error")]
pub fn panic_at(site: Site, error: jit_runtime::Error) -> ! {
    panic!("{}", error.at(site))
}
