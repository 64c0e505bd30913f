//! What differentiation frees.

use jit::prelude::*;

#[test]
fn deep_graphs_are_differentiated_and_dropped_without_recursion() {
    let mut x = Float::from([1.0, 1.0]);
    x.enable_grad();
    let mut y = x.clone();
    for _ in 0..20_000 {
        y = y.prefix_sum() * 0.5;
    }
    y.backward().unwrap();
    drop(y);
    let mut z = x.clone();
    for _ in 0..100_000 {
        z *= 1.0001_f32;
    }
    z.backward().unwrap();
}
