//! The failure of a launch that had already returned to its caller.
//!
//! The failure is stored at the buffers that the launch should have written. Every later launch that reads them fails
//! in the same way, without running, since their contents, for example indices, are meaningless.

use std::any::Any;
use std::error::Error as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Error, ErrorKind, Label, Site};

/// Why a launch has no result.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    site: Option<Site>,
    reported: AtomicBool,
}

impl Failure {
    /// The failure for the outcome of a piece of work: a panic in the code of a launch, or an error around it.
    pub(crate) fn of(
        outcome: std::thread::Result<Result<(), Error>>,
        label: Label,
        site: Option<Site>,
    ) -> Option<Arc<Failure>> {
        // Code that runs out of memory unwinds with the error.
        let outcome = match outcome {
            Err(payload) => payload.downcast::<Error>().map(|error| Err(*error)),
            outcome => outcome,
        };
        match outcome {
            Ok(Ok(())) => None,
            Ok(Err(error)) => {
                let (hint, site) = (error.hint().map(str::to_owned), error.site().or(site));
                let kind = match error.kind() {
                    // The error itself names what was cancelled.
                    ErrorKind::Cancelled => return Some(Self::with_message(error.kind(), error.message(), site, hint)),
                    ErrorKind::OutOfMemory => ErrorKind::OutOfMemory,
                    _ => ErrorKind::Launch,
                };
                let what = match error.source() {
                    Some(cause) => format!("{}, because {cause}", error.message()),
                    None => error.message().to_owned(),
                };
                Some(Self::new(kind, &what, label, site, hint))
            }
            Err(payload) => Some(Self::new(ErrorKind::Launch, panic_message(&*payload), label, site, None)),
        }
    }

    /// The failure of a launch that was not done when the process was forked.
    pub(crate) fn of_fork(label: Option<Label>, site: Option<Site>) -> Arc<Failure> {
        let what = label.map_or_else(|| "a launch".to_owned(), |label| format!("the launch of `{label}`"));
        let message = format!("{what} failed: the process was forked before it was done");
        let hint = "call `jit::sync()` before a fork, or compute the array again".to_owned();
        Self::with_message(ErrorKind::Launch, &message, site, Some(hint))
    }

    /// The failure of memory that no launch will ever write.
    pub(crate) fn of_error(error: &Error) -> Arc<Failure> {
        Self::with_message(error.kind(), error.message(), error.site(), error.hint().map(str::to_owned))
    }

    fn new(kind: ErrorKind, what: &str, label: Label, site: Option<Site>, hint: Option<String>) -> Arc<Failure> {
        Self::with_message(kind, &format!("the launch of `{label}` failed: {what}"), site, hint)
    }

    fn with_message(kind: ErrorKind, message: &str, site: Option<Site>, hint: Option<String>) -> Arc<Failure> {
        Arc::new(Failure { kind, message: message.to_owned(), site, hint, reported: AtomicBool::new(false) })
    }

    /// Converts the failure to an error for the user, and marks it as reported.
    pub(crate) fn report(&self) -> Error {
        self.reported.store(true, Ordering::Relaxed);
        let error = Error::new(self.kind, self.message.clone()).of_launch();
        let error = match &self.hint {
            Some(hint) => error.with_hint(hint.clone()),
            None => error,
        };
        match self.site {
            Some(site) => error.at(site),
            None => error,
        }
    }

    /// Whether the failure has been reported to the user.
    pub(crate) fn is_reported(&self) -> bool {
        self.reported.load(Ordering::Relaxed)
    }
}

fn panic_message(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without a message")
}
