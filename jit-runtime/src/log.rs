//! Messages: events of `tracing` under the target "jit", and lines on standard error for programs without a subscriber.
//!
//! `JIT_LOG` and [`set_log_level`] determine which lines are written; subscribers of `tracing` have their own filters.
//! A message is formatted only if it has a receiver.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{LazyLock, Once};

pub use crate::config::Level;
use crate::{Error, config};

static LEVEL: LazyLock<AtomicU8> = LazyLock::new(|| AtomicU8::new(config::get().log_level as u8));

/// Sets how much is written to standard error.
pub fn set_log_level(level: Level) {
    LEVEL.store(level as u8, Ordering::Relaxed);
}

/// How much is written to standard error.
#[must_use]
pub fn log_level() -> Level {
    Level::ALL[usize::from(LEVEL.load(Ordering::Relaxed)) % Level::ALL.len()]
}

/// Emits a message of a level to all receivers.
#[inline]
pub fn emit(level: Level, message: impl Fn() -> String) {
    match level {
        Level::Off => return,
        Level::Error => tracing::error!(target: "jit", "{}", message()),
        Level::Warn => tracing::warn!(target: "jit", "{}", message()),
        Level::Info => tracing::info!(target: "jit", "{}", message()),
        Level::Debug => tracing::debug!(target: "jit", "{}", message()),
        Level::Trace => tracing::trace!(target: "jit", "{}", message()),
    }
    if level as u8 <= LEVEL.load(Ordering::Relaxed) {
        eprintln!("jit: {}: {}", level.name(), message());
    }
}

/// Whether a message of the level [`Level::Debug`] would have a receiver.
#[must_use]
pub fn is_debugged() -> bool {
    tracing::enabled!(target: "jit", tracing::Level::DEBUG) || Level::Debug as u8 <= LEVEL.load(Ordering::Relaxed)
}

/// As [`config::check`]; the first call also warns of variables that have no effect, since their names look misspelled
/// or others rule them out.
///
/// # Errors
///
/// As [`config::check`].
pub fn check_environment() -> Result<(), Error> {
    static HAS_WARNED: Once = Once::new();
    HAS_WARNED.call_once(warn_of_variables);
    config::check()
}

fn warn_of_variables() {
    for error in config::all_without_effect() {
        emit(Level::Warn, || format!("{}; {}", error.message(), error.hint().unwrap_or_default()));
    }
}
