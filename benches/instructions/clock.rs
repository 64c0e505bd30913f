//! A clock that returns the same times in every run.
//!
//! How a launch is divided, and whether it runs on the calling thread, depends on how long launches of the same code
//! took before. To make instruction counts independent of that, this executable has a clock that takes precedence over
//! that of the C library: each query is one step. The library's measurements of launches read the processor's counter
//! and stand still (`jit_runtime::stats::stop_clock`). All kernels then seem to be short, and run on the launching
//! thread.

use std::ffi::c_int;
use std::sync::atomic::{AtomicI64, Ordering};

/// Nanoseconds between two queries.
const STEP_NS: i64 = 200;

static NOW_NS: AtomicI64 = AtomicI64::new(1_000_000_000);

/// `struct timespec` in which all fields are 64-bit numbers.
#[repr(C)]
struct Time {
    seconds: i64,
    nanoseconds: i64,
}

/// The function that `std::time` calls, for any clock.
///
/// # Safety
///
/// As in POSIX: the second argument points to a `struct timespec`.
// SAFETY: it fulfils the POSIX contract of the function of this name: the time never goes back.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(_clock: c_int, time: *mut Time) -> c_int {
    let now = NOW_NS.fetch_add(STEP_NS, Ordering::Relaxed);
    // SAFETY: the caller passes a valid place.
    unsafe { time.write(Time { seconds: now / 1_000_000_000, nanoseconds: now % 1_000_000_000 }) };
    0
}
