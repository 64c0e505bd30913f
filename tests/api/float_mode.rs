//! The calling thread may use another rounding mode, or flush subnormals to zero, as audio libraries require. That does
//! not change results.
#![cfg(target_arch = "x86_64")]

use std::arch::asm;

use jit::prelude::*;
use jit::{eval, sync};

use crate::devices::on_each_device;

/// A mode in which subnormal results and operands are zero, and results are rounded up.
const FLUSH_AND_ROUND_UP: u32 = 0x1f80 | 1 << 15 | 1 << 6 | 2 << 13;

fn mode() -> u32 {
    let mut word = 0_u32;
    // SAFETY: stores the register to a local variable.
    unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut word) };
    word
}

fn set_mode(word: u32) {
    // SAFETY: all exceptions stay masked, and values computed meanwhile are compared by their bits.
    unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const word) };
}

/// Runs a function in a mode of the processor, and checks that the mode is unchanged afterwards.
fn in_mode<R>(word: u32, run: impl FnOnce() -> R) -> R {
    let before = mode();
    set_mode(word);
    let result = run();
    let after = mode();
    set_mode(before);
    assert_eq!(after & 0xffc0, word & 0xffc0, "the mode is the caller's own");
    result
}

#[freeze]
fn replayed(x: &Float, y: &Float) -> Float {
    (x / 3.0 + y * 0.5).sqrt() - (x * y).exp()
}

/// Values that reveal how they were rounded, as bits: of literals, of small launches, of long ones, of library calls
/// and of replays.
fn values() -> Vec<u32> {
    let tiny = f32::from_bits(3);
    let literal = |value: f32| Float::from(value);
    let mut results = vec![
        literal(1.0) / literal(3.0),
        literal(tiny) * literal(0.5),
        literal(tiny) + literal(tiny),
        literal(0.1).mul_add(literal(0.7), literal(0.3)),
        literal(0.3).sin(),
        literal(2.0).sqrt(),
        (literal(16_777_217.0) + UInt::from(16_777_219).cast::<f32>()) / 7.0,
        Float64::from(0.1).cast::<f32>(),
        literal(tiny).gt(0.0).cast::<f32>(),
        Float::opaque(tiny).gt(0.0).cast::<f32>(),
        Float::opaque(1.0) / 3.0,
    ];
    for width in [3, 1000, 50_000] {
        let x = UInt::arange(width).cast::<f32>() + 0.1;
        let y = Float::opaque(tiny) * (UInt::arange(width) % 5).cast::<f32>();
        eval(&(&x, &y)).unwrap();
        results.push((&x / 3.0).exp().sum());
        results.push((&y * 0.5 + &y).reduce_max());
        results.push((&x / 7.0).prefix_sum());
        let mut sums = Float::zeros(3);
        sums.scatter_add(&x / 11.0, &(UInt::arange(width) % 3));
        results.push(sums);
        for _ in 0..6 {
            results.push(replayed(&x, &y));
        }
    }
    results.iter().flat_map(|array| array.to_vec().unwrap()).map(f32::to_bits).collect()
}

#[test]
fn the_mode_of_the_calling_thread_changes_no_result() {
    on_each_device(|| {
        let wanted = in_mode(0x1f80, values);
        sync().unwrap();
        let got = in_mode(FLUSH_AND_ROUND_UP, values);
        let different = got.iter().zip(&wanted).position(|(a, b)| a != b);
        assert_eq!((different, got.len()), (None, wanted.len()));
    });
}
