//! The number of kernels of programs, and when they are compiled: counted by `jit::stats()`.
//!
//! The counters belong to the process, so these tests are a separate program and run one after another.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers may panic, too")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use jit::prelude::*;

#[path = "shared/alone.rs"]
mod alone;
#[path = "evaluation/cancelling.rs"]
mod cancelling;
#[path = "evaluation/copies.rs"]
mod copies;
#[path = "shared/dice.rs"]
mod dice;
#[path = "evaluation/eager.rs"]
mod eager;
#[path = "evaluation/fusion.rs"]
mod fusion;
#[path = "evaluation/gradients.rs"]
mod gradients;
#[path = "evaluation/history.rs"]
mod history;
#[path = "evaluation/keys.rs"]
mod keys;
#[path = "evaluation/lazy.rs"]
mod lazy;
#[path = "evaluation/levels.rs"]
mod levels;
#[path = "evaluation/literals.rs"]
mod literals;
#[path = "evaluation/loops.rs"]
mod loops;
#[path = "evaluation/page.rs"]
mod page;
#[path = "evaluation/pieces.rs"]
mod pieces;
#[path = "evaluation/processes.rs"]
mod processes;
#[path = "evaluation/random_traces.rs"]
mod random_traces;
#[path = "evaluation/repeated.rs"]
mod repeated;
#[path = "evaluation/replays.rs"]
mod replays;
#[path = "evaluation/reuse.rs"]
mod reuse;
#[path = "shared/tested_devices.rs"]
mod tested_devices;
#[path = "evaluation/tiers.rs"]
mod tiers;
#[path = "evaluation/traces.rs"]
mod traces;

/// Held by the test that counts.
fn one_at_a_time() -> MutexGuard<'static, ()> {
    static COUNTING: Mutex<()> = Mutex::new(());
    COUNTING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The evaluations that `program` caused.
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
    for device in crate::tested_devices::all() {
        jit::with_device(device, &test);
    }
}

/// The kernels that a part of the program launches.
fn kernels(body: impl FnOnce()) -> Vec<jit::KernelRecord> {
    jit::sync().expect("launches succeed");
    jit::set_kernel_history(true);
    let _ = jit::kernel_history();
    body();
    jit::sync().expect("launches succeed");
    jit::set_kernel_history(false);
    jit::kernel_history()
}

/// The numbers of lanes of these kernels.
fn launches(body: impl FnOnce()) -> Vec<usize> {
    kernels(body).iter().map(|record| record.width).collect()
}

/// Whether calls of frozen functions launch their recordings and nothing else: not with `JIT_FREEZE=off`, nor if
/// `JIT_FREEZE_VERIFY` also runs bodies.
fn replays_alone() -> bool {
    ["JIT_FREEZE", "JIT_FREEZE_VERIFY"].iter().all(|name| std::env::var_os(name).is_none())
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
fn opaque_values_are_parameters_from_the_first_call() {
    on_each_device(|| {
        let x = resident(&[1.0, 2.0]);
        assert_eq!((&x - Float::opaque(0.5)).to_vec().unwrap(), [0.5, 1.5]);
        let opaque = count(|| assert_eq!((&x - Float::opaque(0.25)).to_vec().unwrap(), [0.75, 1.75]));
        assert_eq!((opaque.compiles, opaque.hits), (0, 1));
    });
}

#[test]
fn values_made_of_arrays_become_opaque_by_one_kernel() {
    on_each_device(|| {
        let x = Float::arange(3) + 1.0;
        let opaque = count(|| {
            let (a, (b, c)) = jit::trees::make_opaque(&(&x * 2.0, (Int::from(3), &x + 4.0)));
            assert!(a.is_evaluated() && c.is_evaluated() && !b.is_literal());
        });
        assert_eq!(opaque.launches, 1);
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
fn evaluated_values_are_not_computed_again() {
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
fn permutations_of_other_sizes_and_seeds_are_made_by_the_same_kernel() {
    on_each_device(|| {
        let draw = |seed, size| drop(jit::random::rng(seed).permutation(size).to_vec().unwrap());
        draw(1, 900);
        let others = count(|| {
            draw(2, 900);
            draw(1, 1311);
            draw(3, 70);
        });
        assert_eq!((others.launches, others.compiles), (3, 0));
    });
}

#[test]
fn random_numbers_are_made_where_they_are_used() {
    on_each_device(|| {
        let mut rng = jit::random::rng(0);
        let x: Float = rng.uniform(0.0, 1.0, 1000);
        assert!(!x.is_evaluated());
        let counts = count(|| assert!(((x * 2.0).mean().item().unwrap() - 1.0).abs() < 0.1));
        // The sum and its division; the numbers are never in memory.
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

// rows: C304
#[test]
fn the_sole_owner_is_written_in_place() {
    on_each_device(|| {
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
    });
}

// rows: C209
#[test]
fn reductions_one_after_another_are_one_kernel_and_writes_are_not() {
    on_each_device(|| {
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
    });
}

// rows: C209
#[test]
fn packets_are_scattered_by_one_kernel() {
    on_each_device(|| {
        let index = UInt::from([3, 0]);
        let values = [UInt::from([1, 2]), UInt::from([3, 4]), UInt::from([5, 6])];
        let mut x = UInt::from(vec![9; 12]);
        jit::eval(&(&index, &values, &x)).unwrap();
        let write = |x: &mut UInt| {
            x.scatter_packet(&values, &index);
            jit::eval(&*x).unwrap();
        };
        assert_eq!(launches(|| write(&mut x)), [2]);
        assert_eq!(x.to_vec().unwrap(), [2, 4, 6, 9, 9, 9, 9, 9, 9, 1, 3, 5]);
        let counted = launches(|| {
            x.scatter(100, &UInt::from([0, 1]));
            write(&mut x);
        });
        assert_eq!(counted, [2, 2], "earlier writes are another kernel");
        assert_eq!(x.to_vec().unwrap(), [2, 4, 6, 9, 9, 9, 9, 9, 9, 1, 3, 5]);
        let counted = launches(|| {
            x.scatter_add_packet(&values, &index);
            x.scatter_add(1, &index);
            jit::eval(&x).unwrap();
        });
        assert_eq!(counted, [2]);
        assert_eq!(x.to_vec().unwrap(), [5, 8, 12, 10, 9, 9, 9, 9, 9, 2, 6, 10]);
    });
}

// rows: C186
#[test]
fn unread_values_are_not_computed() {
    on_each_device(|| {
        assert_eq!(
            launches(|| {
                let mut x = Int::from([1, 2, 3]);
                x.scatter(9, &UInt::from([1]));
                drop(x);
                jit::eval(&()).unwrap();
            }),
            [0; 0]
        );
        let mut x = Int::zeros(3) + Int::opaque(1);
        jit::eval(&x).unwrap();
        let kept = launches(|| {
            x.scatter(9, &UInt::from([1, 2]));
            jit::eval(&x).unwrap();
        });
        assert_eq!((kept, x.to_vec().unwrap()), (vec![2], vec![1, 9, 9]), "the array that is read is one scatter");
    });
}

// rows: C187
#[test]
fn unread_writes_of_a_called_function_are_not_run() {
    #[jit]
    fn count(index: &UInt, bins: &mut UInt) -> UInt {
        bins.scatter_add(1, index);
        index + 1
    }
    on_each_device(|| {
        let index = UInt::from([2, 0, 2]);
        jit::eval(&index).unwrap();
        let (mut kept, mut dropped) = (UInt::zeros(4), UInt::zeros(5));
        let counted = launches(|| {
            let next = count(&index, &mut dropped);
            drop(std::mem::replace(&mut dropped, UInt::zeros(1)));
            jit::eval(&next).unwrap();
        });
        assert_eq!(counted, [3], "one kernel, which does not fill the bins");
        let counted = launches(|| {
            let next = count(&index, &mut kept);
            jit::eval(&(&next, &kept)).unwrap();
        });
        assert_eq!(counted, [3, 4, 3], "the bins are filled with zeros, and added to");
        assert_eq!(kept.to_vec().unwrap(), [1, 0, 2, 0]);
    });
}

#[test]
fn library_calls_run_when_a_value_is_needed() {
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
fn library_calls_are_in_the_history_under_their_name() {
    let _counting = one_at_a_time();
    let x = UInt::from(vec![1; 100_000]);
    jit::set_kernel_history(true);
    drop(jit::kernel_history());
    assert_eq!(x.prefix_sum().get(99_999).unwrap(), 100_000);
    let records = jit::kernel_history();
    jit::set_kernel_history(false);
    let [record] = &records[..] else { panic!("one launch, not {records:?}") };
    assert_eq!((record.label.as_str(), record.width, record.hash), ("prefix_reduce", 100_000, 0));
    assert_eq!((record.inputs, record.outputs), (1, 1));
    assert!(record.execution_time.is_some());
}

#[jit(dispatch)]
trait Curve {
    fn at(&self, x: &Float) -> Float;
}

#[derive(Traverse)]
struct Line(Float);

#[derive(Traverse)]
struct Wave(Float);

#[jit]
impl Curve for Line {
    fn at(&self, x: &Float) -> Float {
        x * self.0
    }
}

#[jit]
impl Curve for Wave {
    fn at(&self, x: &Float) -> Float {
        let mut y = x.clone();
        while y > 1.0 {
            y -= self.0;
        }
        y
    }
}

// rows: C286
#[test]
fn calls_of_other_widths_and_ids_find_their_kernel() {
    on_each_device(|| {
        let curves: Instances<dyn Curve> = Instances::from_iter([
            Box::new(Line(Float::opaque(10.0))) as Box<dyn Curve>,
            Box::new(Wave(resident(&[0.5]))),
        ]);
        let run = |ids: &[u32], x: &[f32]| curves.at(&UInt::from(ids)).at(&Float::from(x)).to_vec().unwrap();
        let first = count(|| assert_eq!(run(&[1, 2, 0], &[2.0, 2.25, 7.0]), [20.0, 0.75, 0.0]));
        assert_eq!(first.launches, 1);
        let second =
            count(|| assert_eq!(run(&[2, 1, 2, 3, 1], &[7.0, 1.0, 0.25, 1.0, -2.0]), [1.0, 10.0, 0.25, 0.0, -20.0]));
        assert_eq!(second, Counts { launches: 1, compiles: 0, hits: 1 });
    });
}

/// Listens to the messages of one thread.
#[derive(Clone, Default)]
struct Messages(std::sync::Arc<Mutex<Vec<String>>>);

impl tracing::Subscriber for Messages {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target() == "jit"
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        struct Text(String);
        impl tracing::field::Visit for Text {
            fn record_debug(&mut self, _: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                self.0 = format!("{value:?}");
            }
        }
        let mut text = Text(String::new());
        event.record(&mut text);
        self.0.lock().expect("no test panics while it holds the messages").push(text.0);
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

/// The messages while a part of the program runs.
fn messages(body: impl FnOnce()) -> Vec<String> {
    // With a single subscriber, whether a place in the code is heard depends on the thread that comes there first.
    static OTHER: std::sync::LazyLock<tracing::Dispatch> =
        std::sync::LazyLock::new(|| tracing::Dispatch::new(Messages::default()));
    std::sync::LazyLock::force(&OTHER);
    let heard = Messages::default();
    tracing::subscriber::with_default(heard.clone(), body);
    heard.0.lock().expect("no test panics while it holds the messages").clone()
}

#[test]
fn messages_state_why_something_is_evaluated() {
    let _counting = one_at_a_time();
    let x = resident(&[1.0, 4.0, 2.0]);
    let before = jit::stats().evaluations;
    let logged = messages(|| {
        let _ = (&x / x.sum()).make_opaque();
        jit::eval(&(&x + 1.0)).unwrap();
        assert_eq!(format!("{}", &x * &x), "[1, 16, 4]");
    });
    assert_eq!(jit::stats().evaluations - before, 3);
    let reasons: Vec<&String> = logged.iter().filter(|text| text.starts_with("evaluation at")).collect();
    let [opaque, eval, printed] = reasons[..] else { panic!("three evaluations, not {reasons:?}") };
    assert!(opaque.contains("since `make_opaque` stores it in memory: f32[3] of tests/evaluation.rs:"), "{opaque}");
    assert!(opaque.contains("in 2 kernels; with f32[1] of tests/evaluation.rs:"), "{opaque}");
    assert!(opaque.ends_with("a reduction over all lanes"), "{opaque}");
    assert!(eval.contains("since `eval` requests it"), "{eval}");
    assert!(printed.contains("since it is printed"), "{printed}");
}

#[test]
fn blocks_are_reduced_in_the_kernel_that_computes_them() {
    on_each_device(|| {
        let x = resident(&[1.5; 1000]);
        for block in [4, 20, 100] {
            let widths = launches(|| assert_eq!((&x * 2.0).block_sum(block).get(0).unwrap(), 3.0 * block as f32));
            assert_eq!(widths, [1000 / block], "lanes that each add a short block");
        }
        let x = resident(&[1.5; 6000]);
        let widths = launches(|| {
            let y = &x * 2.0;
            let sums = y.block_sum(600);
            jit::eval(&(&y, &sums)).unwrap();
            assert_eq!((y.get(7).unwrap(), sums.get(9).unwrap()), (3.0, 1800.0));
        });
        assert_eq!(widths, [6000], "a long block is reduced in addition to the store");
    });
}

#[test]
fn blocks_of_a_literal_need_no_elements() {
    on_each_device(|| {
        let counts = count(|| assert_eq!(Int::full(3, 10).block_sum(5).get(1).unwrap(), 15));
        assert_eq!(counts.launches, 0);
    });
}

#[jit]
fn unrolled(x: &Float, turns: usize, accepted: bool) -> Float {
    let mut y = x.clone();
    if accepted {
        #[unroll]
        for k in 0..turns {
            y = (y * x + k as f32).sin();
        }
    } else {
        for k in 0..turns {
            y = (y * x + k as f32).sin();
        }
    }
    y
}

// rows: K6
// no device: the warning comes while recording
#[test]
fn a_loop_that_is_unrolled_into_many_nodes_is_reported_once() {
    let x = Float::from([0.5, 0.25]);
    let of = |turns, accepted| messages(|| drop(unrolled(&x, turns, accepted)));
    let line =
        include_str!("evaluation.rs").lines().zip(1..).filter(|(line, _)| line.contains("for k in 0..turns {")).nth(1);
    let warnings = of(5000, false);
    let [warning] = &warnings[..] else { panic!("one warning, not {warnings:?}") };
    let place = format!("tests/evaluation.rs:{}", line.expect("the loop is in this file").1);
    assert!(
        warning.contains(&place) && warning.contains("unrolled 1000 × (") && warning.contains("#[symbolic]"),
        "{warning}"
    );
    assert_eq!(
        (of(5000, false), of(100, false), of(5000, true)),
        (vec![], vec![], vec![]),
        "another call, few iterations, and accepted ones are not reported"
    );
}

#[test]
fn sorted_calls_run_targets_on_their_lanes() {
    on_each_device(|| {
        let index = UInt::from(
            (0..900).map(|lane| u32::from(lane % 9 == 0) + 2 * u32::from(lane % 3 == 1)).collect::<Vec<_>>(),
        );
        let (x, mut counts) = (UInt::arange(900) + 0, UInt::from([0, 0, 0, 0]));
        jit::eval(&(&index, &x, &counts)).expect("arguments are evaluated");
        let loops = |x: UInt, mut counts: UInt| {
            let before = counts.scatter_inc(&(&x % 4));
            (&x * 3 + before / 1000, counts)
        };
        let other = |x: UInt, counts: UInt| (x + 1, counts);
        let mut y = UInt::from(0);
        let widths = launches(|| {
            (y, counts) =
                jit::switch_sorted(&index, &[loops, other, loops, other], (x.clone(), std::mem::take(&mut counts)));
        });
        // Each target runs on its lanes, and its results are scattered to their positions; the first results begin as
        // zeros.
        assert_eq!(widths, [500, 900, 500, 100, 100, 300, 300]);
        let expected = |lane: u32| if lane.is_multiple_of(9) { lane + 1 } else { lane * 3 };
        assert_eq!(y.to_vec().expect("the call ran"), (0..900).map(expected).collect::<Vec<_>>());
        assert_eq!(counts.to_vec().expect("the call ran").iter().sum::<u32>(), 800);
    });
}
