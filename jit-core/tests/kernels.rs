//! What is launched: how programs are cut into kernels, and which of them are found in the cache. One test, since it
//! counts what the whole process does.

use jit_core::{Float, UInt, eval, schedule, sync};
use jit_runtime::stats::{reset_stats, stats};

/// Launches and cache misses of a piece of work.
fn count(work: impl FnOnce()) -> (u64, u64) {
    sync().expect("launches succeed");
    reset_stats();
    work();
    sync().expect("launches succeed");
    (stats().launches, stats().launches - stats().cache_hits)
}

#[test]
fn programs_become_as_few_kernels_as_they_need() {
    let x = Float::from((0..1000).map(|i| i as f32).collect::<Vec<_>>());

    // Elementwise work of one width is one kernel, whatever is wanted of it.
    let (a, b) = (&x * 2.0 + 1.0, (&x * 2.0).sqrt());
    assert_eq!(count(|| eval(&(&a, &b)).unwrap()).0, 1);
    assert_eq!(count(|| eval(&(&a, &b)).unwrap()).0, 0);

    // A reduction is part of the kernel that computes what is reduced.
    let sum = (&x * &x).sum();
    assert_eq!(count(|| eval(&sum).unwrap()).0, 1);

    // The variance: the mean must be known before the second pass.
    let squares = (&x - x.mean()).powi(2).sum();
    assert_eq!(count(|| eval(&squares).unwrap()).0, 2);
    assert!((squares.item().unwrap() / 83_333_250.0 - 1.0).abs() < 1e-5);

    // Several reductions share a kernel.
    let (low, high) = (x.reduce_min(), x.reduce_max());
    assert_eq!(count(|| eval(&(&low, &high)).unwrap()).0, 1);

    // What was scheduled joins the next evaluation; what was dropped does not.
    let (kept, dropped) = (&x + 3.0, &x + 4.0);
    schedule(&(&kept, &dropped));
    drop(dropped);
    let other = &x - 1.0;
    assert_eq!(count(|| eval(&other).unwrap()).0, 1);
    assert!(kept.is_evaluated());

    // Widths are separate kernels.
    let (wide, narrow) = (&x + 5.0, UInt::arange(10) * 3);
    assert_eq!(count(|| eval(&(&wide, &narrow)).unwrap()).0, 2);

    // The same program again is found; other opaque values too; other literals are not.
    let program = |factor: Float, addend: f32| eval(&((&x * factor).sin() + addend)).unwrap();
    assert_eq!(count(|| program(Float::opaque(2.0), 1.0)), (1, 1));
    assert_eq!(count(|| program(Float::opaque(3.0), 1.0)), (1, 0));
    assert_eq!(count(|| program(Float::opaque(3.0), 7.0)), (1, 1));
    let again = |n: usize| eval(&((UInt::arange(n) ^ 0x55) * 3)).unwrap();
    assert_eq!(count(|| again(100)), (1, 1));
    assert_eq!(count(|| again(5000)), (1, 0), "the width is not part of a kernel");

    // Operands of a sum number alike in either order, and the order of addresses does not reach the kernel.
    let commute = |first: bool| {
        let (p, q) = (Float::from([1.0, 2.0]), Float::from([3.0, 4.0]));
        let (a, b) = if first { (q.clone(), p.clone()) } else { (p.clone(), q.clone()) };
        drop((p, q));
        eval(&((&a + &b) * (&b + &a))).unwrap();
    };
    assert_eq!(count(|| commute(false)), (1, 1));
    assert_eq!(count(|| commute(true)), (1, 0));

    // A gather from a large expression needs it in memory; from a small one it does not.
    let large = (0..300).fold(x.clone(), |sum, step| sum.mul_add(0.5, &x * step as f32));
    let index = UInt::from([5, 6]);
    assert_eq!(count(|| eval(&large.gather(&index)).unwrap()).0, 2);
    assert!(large.is_evaluated());
    assert_eq!(count(|| eval(&(&x * 3.0).gather(&index)).unwrap()).0, 1);
}
