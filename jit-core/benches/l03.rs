//! What recording, freeing and scheduling cost: `cargo bench -p jit-core`.

use std::hint::black_box;
use std::io::Write;
use std::time::Instant;

use jit_core::{Array, Float, eval, sync};

/// Prints the median of a measurement, and the best, which a busy machine disturbs least.
fn report(what: &str, [median, best]: [f64; 2], unit: &str) {
    let _ = writeln!(std::io::stdout(), "{what:44} {median:9.2} {unit}, at best {best:9.2}");
}

fn repeat(repeats: usize, mut measure: impl FnMut() -> f64) -> [f64; 2] {
    let mut values: Vec<f64> = (0..repeats).map(|_| measure()).collect();
    values.sort_by(f64::total_cmp);
    [values[repeats / 2], values[0]]
}

const STEPS: usize = 100_000;

fn chain(x: &Float) -> (Float, f64) {
    let begin = Instant::now();
    let mut a = x.clone();
    for _ in 0..STEPS {
        a = &a + x;
    }
    (a, begin.elapsed().as_nanos() as f64 / STEPS as f64)
}

/// 50 operations on 8 values, as the rows L02 and L03 of the benchmarks have them.
fn program(x: &Float) -> Float {
    let mut r: Vec<Float> = (0..8).map(|k| x * (1.0 / (k as f32 + 1.0))).collect();
    let mut state = 12345_u32;
    for step in 0..50 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (op, d, b) = ((state >> 24) % 6, (state >> 8) as usize & 7, (state >> 11) as usize & 7);
        let constant = step as f32 * 0.01;
        r[d] = match op {
            0 => r[d].mul_add(constant, constant + 0.5),
            1 => r[d].min(&r[b]),
            2 => r[d].max(&r[b]),
            3 => &r[d] * &r[b],
            4 => (-&r[d]).mul_add(&r[b], &r[d]),
            _ => r[d].sqrt(),
        };
    }
    r.into_iter().reduce(|sum, next| sum + next).unwrap_or_default()
}

fn main() {
    let x = Float::from(vec![1.0; 1024]);
    const CALLS: usize = 20000;
    let both = repeat(5, || {
        let begin = Instant::now();
        for _ in 0..CALLS {
            let y = program(&x);
            if eval(&y).is_ok() {
                let _ = black_box(sync());
            }
        }
        begin.elapsed().as_nanos() as f64 / CALLS as f64 / 1000.0
    });
    report("trace, schedule, launch, wait: width 1024", both, "us");
}
