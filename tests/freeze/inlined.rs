//! Frozen functions in traced regions, in others that are frozen, and in themselves.

use jit::prelude::*;

use crate::{alike, floats, frozen, values};

#[freeze]
fn halved(x: &Float) -> Float {
    x * 0.5
}

#[jit]
fn in_a_loop(x: &Float) -> Float {
    let mut x = x.clone();
    while x.abs() > 0.25 {
        x = halved(&x);
    }
    x
}

#[jit]
fn in_a_branch(x: &Float) -> Float {
    if *x > 0.0 { halved(x) } else { halved(&(x - 1.0)) }
}

#[freeze]
fn both_inside(x: &Float) -> Float {
    in_a_loop(x) + in_a_branch(x) + halved(x)
}

fn halve_until_small(mut x: f32) -> f32 {
    while x.abs() > 0.25 {
        x *= 0.5;
    }
    x
}

// rows: X21
#[test]
fn a_frozen_function_in_a_region_is_part_of_it() {
    for device in crate::tested_devices::all() {
        jit::with_device(device, || {
            for n in [5, 5, 9] {
                let x = floats(n, n);
                let host = values(&x);
                assert_eq!(values(&in_a_loop(&x)), host.iter().map(|&x| halve_until_small(x)).collect::<Vec<_>>());
                let branch = |&x: &f32| if x > 0.0 { x * 0.5 } else { (x - 1.0) * 0.5 };
                assert_eq!(values(&in_a_branch(&x)), host.iter().map(branch).collect::<Vec<_>>());
            }
        });
    }
    assert_eq!((halved::stats().recordings, halved::stats().replays), (0, 0));
    assert!(halved::stats().direct > 0);
    drop(both_inside(&floats(4, 1)));
    crate::frozen_only!(assert_eq!((halved::stats().recordings, both_inside::stats().recordings), (0, 1)));
    alike(frozen!(both_inside), 1, || [4, 7, 5].map(|n| values(&both_inside(&floats(n, n)))));
}

#[freeze]
fn target(x: Float) -> Float {
    x + 1.0
}

// rows: X21
#[test]
fn frozen_functions_are_targets_of_calls() {
    fn doubled(x: Float) -> Float {
        x * 2.0
    }
    crate::on_each_device(|| {
        let targets: [fn(Float) -> Float; 2] = [target, doubled];
        for _ in 0..2 {
            let y = jit::switch(UInt::from([0, 1, 0]), &targets, (Float::from([1.0, 2.0, 3.0]),));
            assert_eq!(values(&y), [2.0, 4.0, 4.0]);
        }
        assert_eq!(target::stats().recordings, 0);
    });
}

// rows: X24
#[test]
fn a_frozen_function_may_call_itself() {
    crate::replays_alone!();
    #[freeze]
    fn power(x: &Float, n: u32) -> Float {
        if n == 0 { Float::ones(x.width()) } else { power(x, n - 1) * x }
    }
    crate::on_each_device(|| {
        power::clear();
        for (width, n) in [(3, 2), (4, 2), (5, 3), (3, 0), (6, 3)] {
            let x = floats(width, 1);
            let wanted = (0..n).fold(Float::ones(width), |product, _| product * &x);
            assert_eq!(values(&power(&x, n)), values(&wanted));
        }
        // Within the recordings for 2, 3 and 0.
        crate::frozen_only!();
        assert_eq!((power::stats().recordings, power::stats().replays, power::stats().direct), (3, 2, 5));
    });
}
