//! Functions over the brightnesses of a picture. They are compiled by the build script of a program, which then calls
//! them without a compiler: see `../app`.

use jit::prelude::*;

/// Raises brightnesses to a power, and clamps them to 0 … 1.
#[jit]
pub fn gamma(picture: &Float, exponent: f32) -> Float {
    picture.clamp(0.0, 1.0).powf(exponent)
}

/// Counts how many brightnesses are in each of so many intervals between 0 and 1.
#[jit]
pub fn histogram(picture: &Float, #[constexpr] intervals: u32) -> UInt {
    let mut counts = UInt::zeros(intervals as usize);
    let interval = (picture * intervals as f32).cast::<u32>().min(intervals - 1);
    counts.scatter_add(UInt::from(1), &interval);
    counts
}

/// Replaces each brightness by the mean of it and its neighbours, `times` times; the ends keep theirs.
#[jit]
pub fn smooth(picture: &mut Float, #[constexpr] times: u32) {
    for _ in 0..times {
        let lane = UInt::arange(picture.width());
        let last = picture.width() - 1;
        let before = picture.gather(&(&lane - lane.gt(0).cast::<u32>()));
        let after = picture.gather(&(&lane + 1).min(last.to_array::<u32>()));
        *picture = (&before + &*picture + &after) / 3.0;
    }
}
