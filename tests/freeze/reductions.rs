//! Reductions and prefix sums of any width, and counted elements.

use jit::prelude::*;
use jit::random::Pcg32;

use crate::{alike, floats, frozen, values};

#[freeze]
fn reduced(x: &Float) -> Vec<Float> {
    let (sum, product, min, max) = (x.sum(), x.product(), x.reduce_min(), x.reduce_max());
    vec![sum.clone(), product, min, max, &sum + x, sum + 4.0]
}

// rows: F040
#[test]
fn all_reductions_at_every_width() {
    alike(frozen!(reduced), 1, || {
        [3, 17, 2, 100_000].map(|n| reduced(&floats(n, n)).iter().map(values).collect::<Vec<_>>())
    });
}

#[freeze]
fn running(x: &Float) -> (Float, Float) {
    (x.prefix_sum(), x.prefix_sum_exclusive())
}

// rows: F041 C07
#[test]
fn prefix_sums_at_every_width() {
    alike(frozen!(running), 1, || {
        [37, 37, 5, 10_000].map(|n| {
            let (inclusive, exclusive) = running(&floats(n, n));
            (values(&inclusive), values(&exclusive))
        })
    });
}

#[freeze]
fn below_half(sampler: &mut Pcg32) -> UInt {
    sampler.next_f32().lt(0.5).compress()
}

// rows: F049
#[test]
fn the_lanes_where_a_mask_is_true() {
    alike(frozen!(below_half), 1, || {
        let mut small = Pcg32::new(100, 3);
        let mut large = Pcg32::new(1000, 4);
        let small = [(); 3].map(|()| values(&below_half(&mut small)));
        (small, [(); 3].map(|()| values(&below_half(&mut large))))
    });
}

#[freeze]
fn centred(x: &Float) -> Float {
    x - x.mean()
}

// rows: C11
#[test]
fn a_mean_divides_by_the_width_of_the_call() {
    alike(frozen!(centred), 1, || [3, 4, 5, 1000].map(|n| values(&centred(&floats(n, n)))));
}

#[freeze]
fn sum_of_all(x: &Float) -> Float {
    x.sum()
}

// rows: C06
#[test]
fn sums_at_every_width() {
    alike(frozen!(sum_of_all), 1, || [3, 30, 2, 65_000].map(|n| values(&sum_of_all(&floats(n, n)))));
}
