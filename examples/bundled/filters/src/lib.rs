//! Functions over the brightnesses of a picture. They are compiled by the build script of a program, which then calls
//! them without a compiler: see `../app`.

use jit::prelude::*;

/// Multiplies brightnesses by a power of two, and clamps them to 0 … 1. The number may differ in each call, since it is
/// only combined with arrays.
#[jit]
pub fn expose(picture: &Float, stops: f32) -> Float {
    (picture * stops.exp2()).clamp(0.0, 1.0)
}

/// Counts how many brightnesses are in each of so many intervals between 0 and 1.
#[jit]
pub fn histogram(picture: &Float, #[constexpr] intervals: u32) -> UInt {
    let mut counts = UInt::zeros(intervals as usize);
    let interval = (picture * intervals as f32).cast::<u32>().min(intervals - 1);
    counts.scatter_add(UInt::from(1), &interval);
    counts
}

/// Replaces each brightness by the mean of it and its neighbours, `times` times. What is beyond the ends is black.
#[jit]
pub fn smooth(picture: &mut Float, #[constexpr] times: u32) {
    for _ in 0..times {
        let lane = UInt::arange(picture.width());
        // Indices out of range read zero, also the one before the first.
        let (before, after) = (picture.gather(&(&lane - 1)), picture.gather(&(&lane + 1)));
        *picture = (&before + &*picture + &after) / 3.0;
    }
}
