//! How many kernels programs become, and when they are compiled: counted by `jit::stats()`.
//!
//! The counters belong to the process, so these tests have a program of their own and run one after the other.

use std::sync::{Mutex, MutexGuard, PoisonError};

use jit::prelude::*;

/// Held by the test that counts.
fn one_at_a_time() -> MutexGuard<'static, ()> {
    static COUNTING: Mutex<()> = Mutex::new(());
    COUNTING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What `program` caused.
#[derive(Debug, PartialEq)]
struct Counts {
    launches: u64,
    compiles: u64,
    hits: u64,
}

fn count(program: impl FnOnce()) -> Counts {
    let before = jit::stats();
    program();
    let after = jit::stats();
    Counts {
        launches: after.launches - before.launches,
        compiles: after.compiles - before.compiles,
        hits: after.cache_hits - before.cache_hits,
    }
}

fn on_each_device(test: impl Fn()) {
    let _counting = one_at_a_time();
    for device in [Device::Interpreter, Device::Cpu] {
        jit::with_device(device, &test);
    }
}

/// The kernels that a piece of the program launches: how many, and over how many lanes.
fn launches(body: impl FnOnce()) -> Vec<usize> {
    jit::sync().expect("launches succeed");
    jit::set_kernel_history(true);
    let _ = jit::kernel_history();
    body();
    jit::sync().expect("launches succeed");
    jit::set_kernel_history(false);
    jit::kernel_history().iter().map(|record| record.width).collect()
}

/// An evaluated array.
fn resident(values: &[f32]) -> Float {
    let x = Float::from(values);
    jit::eval(&x).expect("the array is evaluated");
    x
}

#[jit]
fn polynomial(x: &Float, k: f32) -> Float {
    let y = x * x + k;
    if y > 3.0 { y * x } else { y - 1.25 }
}

#[test]
fn tracing_alone_launches_nothing() {
    on_each_device(|| {
        let x = resident(&[1.0, 2.0]);
        let counts = count(|| drop(polynomial(&x, 0.5)));
        assert_eq!(counts, Counts { launches: 0, compiles: 0, hits: 0 });
    });
}

#[test]
fn the_second_call_finds_its_kernel() {
    on_each_device(|| {
        let (x, y) = (resident(&[1.0, 2.0, 3.0]), resident(&[4.0; 1000]));
        let first = count(|| assert_eq!(polynomial(&x, 0.625).to_vec().unwrap(), [0.375, 9.25, 28.875]));
        assert_eq!(first.launches, 1);
        let second = count(|| assert_eq!(polynomial(&x, 0.625).to_vec().unwrap(), [0.375, 9.25, 28.875]));
        assert_eq!(second, Counts { launches: 1, compiles: 0, hits: 1 });
        let other_width = count(|| assert_eq!(polynomial(&y, 0.625).to_vec().unwrap(), [66.5; 1000]));
        assert_eq!(other_width, Counts { launches: 1, compiles: 0, hits: 1 });
    });
}

#[test]
fn literals_are_code_and_opaque_values_are_not() {
    on_each_device(|| {
        let x = resident(&[1.0, 2.0]);
        assert_eq!(count(|| assert_eq!((&x * 3.5).to_vec().unwrap(), [3.5, 7.0])).launches, 1);
        let literal = count(|| assert_eq!((&x * 4.5).to_vec().unwrap(), [4.5, 9.0]));
        assert_eq!((literal.compiles, literal.hits), (1, 0));
        assert_eq!((&x - Float::opaque(0.5)).to_vec().unwrap(), [0.5, 1.5]);
        let opaque = count(|| assert_eq!((&x - Float::opaque(0.25)).to_vec().unwrap(), [0.75, 1.75]));
        assert_eq!((opaque.compiles, opaque.hits), (0, 1));
    });
}

#[test]
fn a_chain_and_all_its_results_are_one_kernel() {
    on_each_device(|| {
        let x = resident(&[1.0, 2.0, 3.0]);
        let counts = count(|| {
            let squares = &x * &x;
            let roots = (&squares + 7.0).sqrt();
            jit::eval(&(&squares, &roots)).unwrap();
            assert_eq!(squares.to_vec().unwrap(), [1.0, 4.0, 9.0]);
            assert_eq!(roots.to_vec().unwrap(), [8.0_f32.sqrt(), 11.0_f32.sqrt(), 4.0]);
        });
        assert_eq!(counts.launches, 1);
    });
}

#[test]
fn what_is_evaluated_is_not_computed_again() {
    on_each_device(|| {
        let y = resident(&[1.0, 2.0]) * 5.0;
        assert_eq!(count(|| jit::eval(&y).unwrap()).launches, 1);
        let counts = count(|| {
            jit::eval(&y).unwrap();
            assert_eq!(y.to_vec().unwrap(), [5.0, 10.0]);
            assert_eq!(y.get(1).unwrap(), 10.0);
        });
        assert_eq!(counts.launches, 0);
    });
}

#[test]
fn a_reduction_is_part_of_its_producers_kernel() {
    on_each_device(|| {
        let x = resident(&[1.0, 2.0, 3.0]);
        let counts = count(|| assert_eq!((&x * &x + 1.0).sum().item().unwrap(), 17.0));
        assert_eq!(counts.launches, 1);
    });
}

#[test]
fn the_result_of_a_reduction_is_used_by_a_second_kernel() {
    on_each_device(|| {
        let x = resident(&[1.0, 2.0, 5.0]);
        let counts = count(|| assert_eq!((&x / x.sum()).to_vec().unwrap(), [0.125, 0.25, 0.625]));
        assert_eq!(counts.launches, 2);
    });
}

#[test]
fn equal_expressions_are_computed_once() {
    on_each_device(|| {
        let x = resident(&[2.0]);
        // The same kernel, although the second program writes its expression twice.
        assert_eq!((&x * 11.0 + &x).to_vec().unwrap(), [24.0]);
        assert_eq!((&x * 11.0).to_vec().unwrap(), [22.0]);
        let once = count(|| {
            let y = &x * 11.0;
            assert_eq!((&y * &y).to_vec().unwrap(), [484.0]);
        });
        let twice = count(|| assert_eq!(((&x * 11.0) * (&x * 11.0)).to_vec().unwrap(), [484.0]));
        assert_eq!(once.launches, 1);
        assert_eq!(twice, Counts { launches: 1, compiles: 0, hits: 1 });
    });
}

#[test]
fn random_numbers_of_other_seeds_calls_and_parameters_are_made_by_the_same_kernels() {
    use jit::random::{Pcg32, Philox4x32, rng};
    let draw = |seed: u64, low: f32, high: f32| {
        let mut rng = rng(seed);
        drop(rng.random::<f32>(1));
        let floats: [Float; 2] = [rng.uniform(low, high, 100), rng.normal(low, high, 100)];
        let (exponential, split): (Float, Float) = (rng.exponential(high, 100), rng.split().random(100));
        let integers: Int = rng.integers(3..17, 100);
        let (mut pcg, mut philox) = (Pcg32::new(100, seed), Philox4x32::new(100, seed));
        philox.advance(seed);
        let results = [&floats[0], &floats[1], &exponential, &split, &pcg.next_f32(), &philox.next_f32x4()[0]];
        let mut values: Vec<f32> = results.iter().map(|result| result.to_vec().unwrap()[5]).collect();
        values.extend(integers.to_vec().unwrap().iter().map(|x| *x as f32));
        values.push(f32::from(u8::from(rng.bernoulli(0.5, 100).to_vec().unwrap()[3])));
        values
    };
    on_each_device(|| {
        jit::cache::clear();
        let first = draw(1, 0.0, 1.0);
        let mut second = Vec::new();
        let counts = count(|| second = draw(2, -2.0, 7.0));
        assert!(first[..6].iter().zip(&second[..6]).all(|(a, b)| a != b), "{first:?} {second:?}");
        assert_eq!((counts.compiles, counts.launches), (0, 8));
    });
}

#[test]
fn random_numbers_are_made_where_they_are_used() {
    on_each_device(|| {
        let mut rng = jit::random::rng(0);
        let x: Float = rng.uniform(0.0, 1.0, 1000);
        assert!(!x.is_evaluated());
        let counts = count(|| assert!(((x * 2.0).mean().item().unwrap() - 1.0).abs() < 0.1));
        // The sum and its division; the numbers never lie in memory.
        assert_eq!(counts.launches, 2);
    });
}

#[test]
fn resetting_starts_from_zero() {
    on_each_device(|| {
        jit::eval(&(resident(&[1.0]) + 2.0)).unwrap();
        jit::reset_stats();
        assert_eq!(jit::stats().launches, 0);
        jit::eval(&(resident(&[1.0]) + 2.0)).unwrap();
        assert_eq!(jit::stats().launches, 1);
    });
}

#[test]
fn the_sole_owner_is_written_in_place() {
    let _counting = one_at_a_time();
    let mut x = Int::from(vec![0; 100]);
    let index = UInt::from([5, 5]);
    assert_eq!(
        launches(|| {
            x.scatter_add(1, &index);
            jit::eval(&x).unwrap();
        }),
        [2]
    );
    let clone = x.clone();
    assert_eq!(
        launches(|| {
            x.scatter_add(1, &index);
            jit::eval(&x).unwrap();
        }),
        [100, 2]
    );
    drop(clone);
    let gather = x.gather(&index);
    assert_eq!(
        launches(|| {
            x.scatter_add(1, &index);
            jit::eval(&x).unwrap();
        }),
        [100, 2]
    );
    assert_eq!(gather.to_vec().unwrap(), [4, 4]);
    assert_eq!(
        launches(|| {
            x.scatter_add(1, &index);
            jit::eval(&x).unwrap();
        }),
        [2]
    );
    assert_eq!(x.get(5).unwrap(), 8);
}

#[test]
fn reductions_one_after_another_are_one_kernel_and_writes_are_not() {
    let _counting = one_at_a_time();
    let index = UInt::from([0, 1, 2, 2]);
    let value = Int::from([1, 2, 3, 4]);
    let mut x = Int::from(vec![10; 3]);
    assert_eq!(
        launches(|| {
            x.scatter_add(&value, &index);
            x.scatter_add(1, &index);
            jit::eval(&x).unwrap();
        }),
        [4]
    );
    assert_eq!(x.to_vec().unwrap(), [12, 13, 19]);
    assert_eq!(
        launches(|| {
            x.scatter(&value, &index);
            x.scatter(5, &index);
            jit::eval(&x).unwrap();
        }),
        [4, 4]
    );
    assert_eq!(x.to_vec().unwrap(), [5; 3]);
    x.scatter_reduce(ReduceOp::Max, 6, &UInt::from([0]));
    x.scatter_reduce(ReduceOp::Add, &value, &index);
    assert_eq!(x.to_vec().unwrap(), [7, 7, 12]);
}

#[test]
fn what_nobody_reads_is_not_run() {
    let _counting = one_at_a_time();
    assert_eq!(
        launches(|| {
            let mut x = Int::from([1, 2, 3]);
            x.scatter(9, &UInt::from([1]));
            drop(x);
            jit::eval(&()).unwrap();
        }),
        [0; 0]
    );
}

#[test]
fn native_work_is_done_when_a_value_is_needed() {
    on_each_device(|| {
        let x = UInt::from([1, 2, 3]);
        let traced = count(|| drop(x.prefix_sum()));
        assert_eq!(traced.launches, 0);
        let y = (&x * 5 + 1).prefix_sum() * 2;
        let evaluated = count(|| jit::eval(&y).unwrap());
        assert_eq!(evaluated.launches, 3, "a kernel, the prefix sum, a kernel");
        assert_eq!(y.to_vec().unwrap(), [12, 34, 66]);
    });
}

#[test]
fn native_work_stands_in_the_history_under_its_name() {
    let _counting = one_at_a_time();
    let x = UInt::from(vec![1; 100_000]);
    drop(jit::kernel_history());
    assert_eq!(x.prefix_sum().get(99_999).unwrap(), 100_000);
    let records = jit::kernel_history();
    let [record] = &records[..] else { panic!("one launch, not {records:?}") };
    assert_eq!((record.label, record.width, record.hash), ("prefix_reduce", 100_000, 0));
    assert_eq!((record.inputs, record.outputs), (1, 1));
    assert!(record.execution_time.is_some());
}
