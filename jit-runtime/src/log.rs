//! Messages: events of `tracing` under the target "jit", and lines on standard error for programs that listen to no events.
//!
//! `JIT_LOG` and [`set_log_level`] decide which lines are written; subscribers of `tracing` have filters of their own.
//! A message is formatted only if somebody listens.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::config;

/// How much is written to standard error.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
#[non_exhaustive]
pub enum Level {
    /// Nothing.
    Off,
    /// What went wrong and could not be returned to a caller.
    Error,
    /// What works, but not as it should. The level at the start.
    Warn,
    /// What was compiled.
    Info,
    /// What was decided: evictions, choices of code.
    Debug,
    /// Each launch.
    Trace,
}

impl Level {
    /// All levels, from quiet to talkative.
    pub const ALL: [Level; 6] = [Level::Off, Level::Error, Level::Warn, Level::Info, Level::Debug, Level::Trace];

    /// The name that `JIT_LOG` takes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Level::Off => "off",
            Level::Error => "error",
            Level::Warn => "warn",
            Level::Info => "info",
            Level::Debug => "debug",
            Level::Trace => "trace",
        }
    }
}

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

/// Says something of a level to whoever listens.
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
