//! Guards that may be traced, beside patterns of the host.

#![allow(clippy::clone_on_copy, reason = "a program is the same code for arrays and numbers")]

use jit::prelude::*;

#[derive(Clone)]
enum Step {
    Scale(Float),
    Shift { by: f32, times: u32 },
    Stop,
}

#[jit]
fn stepped(step: &Step, x: &Float) -> Float {
    match step {
        Step::Scale(factor) if x > 1.0 && *factor > 0.0 => x * factor,
        &Step::Shift { by, times } if x < by => x + by * times as f32,
        Step::Shift { by, .. } if *by > 10.0 => x * 100.0,
        Step::Scale(_) | Step::Stop => x.clone(),
        Step::Shift { by, .. } => x - by,
    }
}

#[jit]
fn run(step: &Step, x: &Float) -> (Float, UInt) {
    let (mut y, mut n) = (x.clone(), UInt::from(0));
    while n < 10 {
        match step {
            Step::Scale(factor) if y < 100.0 => y = y * factor,
            Step::Shift { by, .. } if y < 3.0 => y += by,
            _ => break,
        }
        n += 1;
    }
    (y, n)
}

#[jit]
fn first_value(factor: Option<Float>, x: &Float) -> Float {
    let y;
    match &factor {
        Some(factor) if x > 0.0 => y = factor + x,
        Some(_) => y = x.clone(),
        None => y = -x,
    }
    for k in 0..2 {
        match (k, &factor) {
            (1, Some(_)) if x > 2.0 => return y + 100.0,
            _ => {}
        }
    }
    y * 2.0
}

#[test]
fn a_traced_guard_beside_a_pattern_of_the_host_differs_by_lane() -> Result<(), jit::Error> {
    let x = Float::from([1.0, -1.0, 5.0]);
    let (scale, shift) = (Step::Scale(2.0.into()), Step::Shift { by: 0.5, times: 3 });
    assert_eq!(stepped(&scale, &x).to_vec()?, [1.0, -1.0, 10.0]);
    assert_eq!(stepped(&shift, &x).to_vec()?, [0.5, 0.5, 4.5]);
    assert_eq!(stepped(&Step::Shift { by: 20.0, times: 1 }, &Float::from([1.0, 30.0])).to_vec()?, [21.0, 3000.0]);
    assert_eq!(stepped(&Step::Stop, &x).to_vec()?, [1.0, -1.0, 5.0]);
    let (y, n) = run(&scale, &x);
    assert_eq!((y.to_vec()?, n.to_vec()?), (vec![128.0, -1024.0, 160.0], vec![7, 10, 5]));
    let (y, n) = run(&shift, &x);
    assert_eq!((y.to_vec()?, n.to_vec()?), (vec![3.0, 3.0, 5.0], vec![4, 8, 0]));
    assert_eq!(run(&Step::Stop, &x).0.to_vec()?, [1.0, -1.0, 5.0]);
    assert_eq!(first_value(Some(10.0.into()), &x).to_vec()?, [22.0, -2.0, 115.0]);
    assert_eq!(first_value(None, &x).to_vec()?, [-2.0, 2.0, -10.0]);
    Ok(())
}

/// A function of arrays, and the same one of numbers.
macro_rules! on_both {
    ($traced:ident, $plain:ident: ($x:ident $(, $name:ident: $ty:ty)*) $body:block) => {
        #[jit]
        fn $traced($x: Float, $($name: $ty),*) -> Float $body

        fn $plain($x: f32, $($name: $ty),*) -> f32 $body
    };
}

on_both!(limited, limited_number: (x, limit: Option<f32>, mode: &str) {
    match (limit, mode) {
        (Some(l), "strict") if x > l => return x * 0.0 + l,
        (Some(l), _) if x > 2.0 * l => return 2.0 * l - x,
        (None, "negative") if x < 0.0 => return -x,
        _ => {}
    }
    let mut n = x.clone() * 0.0;
    let mut y = x;
    while y > 0.5 {
        match limit {
            Some(l) if y > l * 4.0 => break,
            Some(l) if y > l => {
                y -= 0.25;
                continue;
            }
            _ => y *= 0.5,
        }
        n += 1.0;
    }
    y + n
});

#[jit]
fn numbered(x: &Float, k: usize) -> Float {
    match k {
        0 if x > 1.0 => x * 10.0,
        0 | 1 => x + 1.0,
        n if n % 2 == 0 => x * n as f32,
        n if x < 0.0 => x - n as f32,
        _ => x.clone(),
    }
}

#[test]
fn values_that_are_known_to_be_of_the_host_have_traced_guards_too() -> Result<(), jit::Error> {
    let numbers = [-3.0_f32, -0.5, 0.0, 0.3, 0.9, 1.5, 2.0, 5.0, 9.5];
    let x = Float::from(numbers);
    for limit in [None, Some(0.7), Some(2.0)] {
        for mode in ["strict", "negative", ""] {
            let wanted = numbers.map(|x| limited_number(x, limit, mode));
            assert_eq!(limited(x.clone(), limit, mode).to_vec()?, wanted, "{limit:?} {mode}");
        }
    }
    let x = Float::from([-1.0, 0.5, 2.0]);
    let of = |k| numbered(&x, k).to_vec();
    assert_eq!((of(0)?, of(1)?), (vec![0.0, 1.5, 20.0], vec![0.0, 1.5, 3.0]));
    assert_eq!((of(2)?, of(3)?), (vec![-2.0, 1.0, 4.0], vec![-4.0, 0.5, 2.0]));
    Ok(())
}
