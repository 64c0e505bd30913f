//! Panics for incorrect programs: the error, its location, and a remedy.

use std::cell::Cell;
use std::fmt::{Display, Write};

use jit_runtime::Site;

use crate::thread_state::thread_state;

thread_state! {
    static CALL: Cell<Option<IndirectCall>> = Cell::new(None);
}

/// A call of a layer of a sequence through a trait object, which hides the line of the caller from what is called.
#[derive(Clone, Copy, Debug)]
pub struct IndirectCall {
    /// The line of the caller.
    pub site: Site,
    /// The place of what is called in a sequence.
    pub number: usize,
    /// The line that added it to the sequence.
    pub added: Site,
    /// Whether a line is in the code that is called so: errors there are reported for the line of the caller.
    pub is_inside: fn(Site) -> bool,
}

impl IndirectCall {
    /// Calls a function. A panic in it has the line of the caller.
    pub fn run<R>(mut self, function: impl FnOnce() -> R) -> R {
        let outer = CALL.take();
        if let Some(outer) = outer.filter(|outer| (outer.is_inside)(self.site)) {
            self.site = outer.site;
        }
        CALL.set(Some(self));
        let _restored = Restored(outer);
        function()
    }

    /// Returns the call in which a line of the library reports an error.
    fn around(site: Site) -> Option<IndirectCall> {
        let call = CALL.take();
        CALL.set(call);
        call.filter(|call| (call.is_inside)(site))
    }
}

/// The call around another one, which is the innermost one again when this is dropped.
struct Restored(Option<IndirectCall>);

impl Drop for Restored {
    fn drop(&mut self) {
        CALL.set(self.0);
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
        match IndirectCall::around(site) {
            Some(IndirectCall { site, number, added, .. }) => {
                let _ = write!(text, "\n  at {site}\n  in layer {number} of a sequence, which was added at {added}");
            }
            None => {
                let _ = write!(text, "\n  at {site}");
            }
        }
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
