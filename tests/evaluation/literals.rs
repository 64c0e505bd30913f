//! Literals that change often become parameters of kernels.

use jit::prelude::*;

use crate::{count, messages, on_each_device, resident};

#[test]
fn a_literal_that_keeps_changing_becomes_a_parameter() {
    on_each_device(|| {
        let x = resident(&[1.0, 2.0]);
        let expected = |k: f32| [1.0_f32, 2.0].map(|v| (v - k).mul_add(v, 0.125) / 7.5);
        let program = |k: f32| (&x - k).mul_add(&x, 0.125) / 7.5;
        let before = jit::stats().promoted_literals;
        let mut line = 0;
        let logged = messages(|| {
            let five = count(|| {
                for k in [0.3, 0.4, 1e-40, f32::INFINITY, -2.5] {
                    line = line!() + 1;
                    let got = program(k).to_vec().unwrap();
                    assert_eq!(got, expected(k), "for {k}");
                }
            });
            assert_eq!((five.launches, five.compiles, five.hits), (5, 2, 3));
        });
        assert_eq!(jit::stats().promoted_literals - before, 1, "the other literals remain part of the code");
        let promotions: Vec<&String> = logged.iter().filter(|text| text.contains("keeps changing")).collect();
        let [promotion] = promotions[..] else { panic!("one promotion, not {promotions:?}") };
        assert!(promotion.contains("the literal 0.4 (f32) of tests/evaluation/literals.rs:"), "{promotion}");
        assert!(logged.iter().any(|text| {
            text.contains(&format!("evaluation at tests/evaluation/literals.rs:{line}, since its elements are read"))
        }));
        // The very first one is still cached unchanged.
        assert_eq!(count(|| assert_eq!(program(0.3).to_vec().unwrap(), expected(0.3))).hits, 1);
    });
}

#[test]
fn two_literals_may_change() {
    on_each_device(|| {
        let x = Int::from([5, -7]);
        jit::eval(&x).unwrap();
        let program = |a: i32, b: i32| (&x ^ a) * 3 + x.max(b);
        let expected = |a: i32, b: i32| [5_i32, -7].map(|v| (v ^ a) * 3 + v.max(b));
        let counts = count(|| {
            for (a, b) in [(9, 11), (10, 11), (12, 13), (14, 15), (9, 15), (10, 11)] {
                assert_eq!(program(a, b).to_vec().unwrap(), expected(a, b));
            }
        });
        // With both as literals, then with one parameter, then with two; the last one is known from the second.
        assert_eq!((counts.launches, counts.compiles), (6, 3));
    });
}

#[test]
fn promoted_literals_compute_the_same_bits() {
    on_each_device(|| {
        let values = [0.0_f32, -0.0, 1.5, -3.25, f32::MAX, 1e-41, f32::INFINITY, f32::NAN];
        let x = resident(&values);
        let bits = |y: Float| y.to_vec().unwrap().iter().map(|v| if v.is_nan() { 1 } else { v.to_bits() }).collect();
        for k in [0.1_f32, -0.0, 3.0, 1e30, f32::NAN, -1e-42] {
            let program = |k: &Float| (&x + k).min(&x * k) - x.copysign(k) / k;
            let literal: Vec<u32> = bits(program(&Float::from(k)));
            let opaque: Vec<u32> = bits(program(&Float::opaque(k)));
            assert_eq!(literal, opaque, "for {k}");
        }
    });
}

#[test]
fn threads_promote_at_the_same_time() {
    on_each_device(|| {
        let x = UInt::arange(100) + UInt::opaque(0);
        jit::eval(&x).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4_u32 {
                let x = &x;
                scope.spawn(move || {
                    for k in 0..50 {
                        let k = 1000 + 50 * thread + k;
                        let sum = ((x | 5) * k).sum().item().unwrap();
                        assert_eq!(sum, (0..100).map(|v| (v | 5) * k).sum::<u32>());
                    }
                });
            }
        });
    });
}
