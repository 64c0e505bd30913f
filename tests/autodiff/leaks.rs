//! What differentiation frees.

use jit::ad;
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

#[test]
fn detached_values_keep_nothing_alive() {
    let _turn = crate::alone();
    let kept_by = |line: u32| {
        let is_it = |kept: &&ad::Retained| kept.site.file().ends_with("leaks.rs") && kept.site.line() == line;
        ad::retained().iter().find(is_it).map_or(0, |kept| kept.values)
    };
    let mut x = Float::from([1.0, 2.0]);
    x.enable_grad();
    let (y, line) = (&x * 2.0, line!());
    jit::eval(&y).unwrap();
    assert_eq!(kept_by(line), 1);
    let constant = y.detach();
    drop((x, y));
    assert_eq!(kept_by(line), 0);
    assert_eq!(constant.to_vec().unwrap(), [2.0, 4.0]);
}
