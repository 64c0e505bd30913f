//! What recording, freeing and scheduling cost: `cargo bench -p jit-core`.

use std::hint::black_box;
use std::io::Write;
use std::time::Instant;

use jit_core::{Array, Float, eval, sync};

/// Repeats a measurement and prints the median, and the best, which a busy machine disturbs least. Words on the command
/// line choose the measurements whose names contain one of them.
fn report(what: &str, unit: &str, mut measure: impl FnMut() -> f64) {
    let mut words = std::env::args().skip(1).filter(|word| !word.starts_with("--")).peekable();
    if words.peek().is_some() && !words.any(|word| what.contains(&word)) {
        return;
    }
    let mut values: Vec<f64> = (0..41).map(|_| measure()).collect();
    values.sort_by(f64::total_cmp);
    let _ = writeln!(std::io::stdout(), "{what:44} {:9.2} {unit}, at best {:9.2}", values[values.len() / 2], values[0]);
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

const CALLS: usize = 200;

/// Microseconds that one of many calls takes.
fn time_calls(mut call: impl FnMut()) -> f64 {
    let begin = Instant::now();
    (0..CALLS).for_each(|_| call());
    let _ = sync();
    begin.elapsed().as_nanos() as f64 / CALLS as f64 / 1000.0
}

fn main() {
    let x = Float::from(vec![1.0; 1024]);
    report("record a = a + x", "ns/op", || chain(&x).1);
    report("free that graph", "ns/op", || {
        let (a, _) = chain(&x);
        let begin = Instant::now();
        drop(black_box(a));
        begin.elapsed().as_nanos() as f64 / STEPS as f64
    });
    report("record an expression that exists already, drop", "ns/op", || {
        let _kept = &x + &x;
        let begin = Instant::now();
        (0..STEPS).for_each(|_| drop(black_box(&x + &x)));
        begin.elapsed().as_nanos() as f64 / STEPS as f64
    });
    report("trace and drop 50 operations", "us", || time_calls(|| drop(black_box(program(&x)))));
    report("trace, schedule, launch, wait: width 1024", "us", || {
        time_calls(|| {
            let _ = eval(&program(&x));
            let _ = sync();
        })
    });
    report("the same, waiting once", "us", || time_calls(|| drop(eval(&program(&x)))));
    let narrow = Array::<f32>::from([1.0; 4]);
    report("the same, of width 4", "us", || time_calls(|| drop(eval(&program(&narrow)))));
    report("x + 1 of width 4", "us", || time_calls(|| drop(eval(&(&narrow + 1.0)))));
}
