//! Panics for incorrect programs: the error, its location, and a remedy.

use std::cell::Cell;
use std::fmt::{Display, Write};

use jit_runtime::Site;
use jit_runtime::site::{Entered, PASSED_BY_NAME};

use crate::thread_state::thread_state;

thread_state! {
    /// The layer that runs.
    static LAYER: Cell<Option<Layer>> = Cell::new(None);
}

/// A layer of a sequence.
#[derive(Clone, Copy, Debug)]
pub struct Layer {
    /// Its place in the sequence.
    pub number: usize,
    /// The line that added it to the sequence.
    pub added: Site,
}

impl Layer {
    /// Makes this the layer that runs, until the result is dropped. Messages about lines inside of the library name it.
    #[must_use]
    pub fn enter(self) -> EnteredLayer {
        EnteredLayer(LAYER.replace(Some(self)))
    }
}

/// The rest of a call of a layer; see [`Layer::enter`].
#[derive(Debug)]
pub struct EnteredLayer(Option<Layer>);

impl Drop for EnteredLayer {
    fn drop(&mut self) {
        LAYER.set(self.0);
    }
}

/// A message composed of lines.
pub struct Misuse {
    text: String,
}

impl Misuse {
    /// Starts with the error and the line that caused it.
    #[cold]
    pub fn new(what: impl Into<String>, site: impl Into<Site>) -> Self {
        let (mut text, site): (String, Site) = (what.into(), site.into());
        let of_program = site.of_program();
        let _ = write!(text, "\n  at {of_program}");
        if of_program.is_in_rust() {
            text.push_str(PASSED_BY_NAME);
        }
        if let Some(Layer { number, added }) = LAYER.get().filter(|_| of_program != site) {
            let _ = write!(text, "\n  in layer {number} of a sequence, which was added at {added}");
        }
        Misuse { text }
    }

    /// Adds another location.
    #[must_use]
    pub fn place(mut self, what: impl Display, site: Site) -> Self {
        let _ = write!(self.text, "\n  {what} at {}", site.of_program());
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

/// Makes the caller's line that of all that the library does until the result is dropped, in closures and in functions
/// that do not pass the line of their caller on. Functions of the program that run in it have their own lines.
#[must_use]
#[track_caller]
pub fn enter() -> Entered {
    Site::here().enter(None)
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
