//! The statements of `docs/evaluation.md` that no other test covers.

use jit::prelude::*;

use crate::{count, launches, messages, on_each_device, one_at_a_time, resident};

/// The number of evaluations.
fn evaluations(program: impl FnOnce()) -> u64 {
    let before = jit::stats().evaluations;
    program();
    jit::stats().evaluations - before
}

#[jit]
fn count_down(x: &Float) -> UInt {
    let (mut rest, mut steps) = (x.clone(), UInt::zeros(x.width()));
    while rest > 0.0 {
        if rest > 10.0 {
            rest -= 5.0;
        } else {
            rest -= 1.0;
        }
        steps += 1;
    }
    steps
}

#[test]
fn recording_evaluates_nothing() {
    on_each_device(|| {
        let (x, n) = (resident(&[1.5, 2.5, 30.0]), Int::from([2, 0, 1]));
        let mut everything: Vec<Float> = Vec::new();
        assert_eq!(
            evaluations(|| {
                let mask = x.lt(2.0) | x.gt(&n);
                everything.push(mask.select(&x * 2.0, -&x).sin() + x.cast::<f64>().cast::<f32>());
                everything.push(&x / x.sum() + x.mean() + x.norm() + x.variance() + x.reduce_max());
                everything.push(x.prefix_sum() + x.gather(&n) + x.gather(&x.argmax()) + x.sort() + x.median());
                everything.push(Float::concat(&[
                    x.reverse(),
                    x.tile(2),
                    x.repeat(2),
                    x.slice(1..),
                    x.roll(1),
                    x.shift(1),
                ]));
                everything.push(jit::meshgrid(&x, &n).0);
                everything.push(x.histogram(0.0, 40.0, 4).cast());
                everything.push(count_down(&x).cast());
                everything.push(mask.count().cast());
                let mut target = x.clone();
                target.scatter(1.0, &n);
                target.scatter_add(&x, &n);
                everything.push(target.scatter_exchange(2.0, &n));
                everything.push(target);
                let lengths: usize = everything.iter().map(Float::len).sum();
                assert!(lengths > 0 && !format!("{everything:?}").is_empty());
                drop(everything.clone());
            }),
            0
        );
        assert!(everything.iter().all(|array| !array.is_evaluated()));
        assert_eq!(evaluations(|| jit::eval(&everything).unwrap()), 1);
        assert!(everything.iter().all(Float::is_evaluated));
    });
}

// rows: O09
#[test]
fn each_cause_of_an_evaluation_is_logged() {
    type Cause = (&'static str, fn(&Float));
    let causes: [Cause; 12] = [
        ("its elements are read", |x| drop(x.to_vec().unwrap())),
        ("its elements are read", |x| assert_eq!(x.get(0).unwrap(), 1.5)),
        ("its elements are read", |x| assert_eq!(x.slice(..1).item().unwrap(), 1.5)),
        ("its elements are read", |x| drop(x.view().unwrap())),
        ("its elements are read", |x| x.read_into(&mut [0.0; 2]).unwrap()),
        ("its elements are read", |x| drop(x.to_bytes().unwrap())),
        ("its elements are read", |x| drop(Vec::try_from(x).unwrap())),
        ("it is printed", |x| drop(x.to_string())),
        ("`eval` requests it", |x| jit::eval(x).unwrap()),
        ("`make_opaque` stores it in memory", |x| drop(x.make_opaque())),
        ("its true lanes are counted", |x| drop(x.filter(&x.gt(1.0)))),
        ("its true lanes are counted", |x| drop(x.unique())),
    ];
    on_each_device(|| {
        let x = resident(&[1.0, 2.0]);
        for (why, cause) in causes {
            let logged = messages(|| assert_eq!(evaluations(|| cause(&(&x + 0.5))), 1, "{why}"));
            let evaluations_logged: Vec<&String> =
                logged.iter().filter(|text| text.starts_with("evaluation at")).collect();
            let [line] = evaluations_logged[..] else { panic!("one evaluation, not {evaluations_logged:?}") };
            assert!(line.contains(&format!("since {why}")), "{line}");
            assert!(line.starts_with("evaluation at tests/evaluation/page.rs:"), "{line}");
        }
    });
}

#[jit]
fn reads_inside(x: &Float) -> Float {
    let mut y = x.clone();
    while y < 10.0 {
        let error = y.to_vec().expect_err("the value differs by iteration");
        assert_eq!(error.kind(), jit::ErrorKind::NotEvaluated);
        let text = error.to_string();
        assert_eq!(text.matches("tests/evaluation/page.rs:").count(), 3, "the read, the value and the region: {text}");
        y += 4.0;
    }
    y
}

#[test]
fn values_of_a_traced_loop_cannot_be_read_there() {
    let _counting = one_at_a_time();
    assert_eq!(reads_inside(&Float::from([1.0, 20.0])).to_vec().unwrap(), [13.0, 20.0]);
}

#[test]
fn scheduled_values_are_computed_with_the_next_evaluation() {
    on_each_device(|| {
        let x = resident(&[1.0, 2.0]);
        let (a, b, c) = (&x + 1.0, &x + 2.0, &x + 3.0);
        assert_eq!(evaluations(|| jit::schedule(&(&a, &b))), 0);
        assert_eq!(count(|| drop(c.to_vec().unwrap())).launches, 1);
        assert!(a.is_evaluated() && b.is_evaluated());
    });
}

#[test]
fn scheduled_values_that_are_dropped_are_not_computed() {
    on_each_device(|| {
        let (x, wide) = (resident(&[1.0, 2.0]), resident(&[1.0; 5]));
        let dropped = &wide + 1.0;
        jit::schedule(&dropped);
        drop(dropped);
        assert_eq!(launches(|| jit::eval(&(&x + 1.0)).unwrap()), [2]);
    });
}

#[test]
fn an_evaluated_array_frees_its_operands() {
    on_each_device(|| {
        let source = resident(&[0.0; 100_000]);
        let y = &source + 1.0;
        drop(source);
        let before = jit::memory().live_bytes;
        jit::eval(&y).unwrap();
        jit::sync().unwrap();
        let after = jit::memory().live_bytes;
        assert!(after <= before, "the source is freed, the result is retained: {before} {after}");
    });
}

#[test]
fn a_failed_evaluation_can_be_inspected_and_repeated() {
    on_each_device(|| {
        let x = resident(&[1.0, 2.0]);
        let (good, bad) = (&x * 3.0, &x + Float::placeholder(2));
        let error = jit::eval(&(&good, &bad)).unwrap_err();
        assert_eq!(error.kind(), jit::ErrorKind::NotEvaluated);
        assert!(!good.is_evaluated() && !bad.is_evaluated());
        assert_eq!(good.to_vec().unwrap(), [3.0, 6.0]);
        assert_eq!(jit::eval(&bad).unwrap_err().kind(), jit::ErrorKind::NotEvaluated);
    });
}

#[test]
fn each_width_is_a_kernel_and_single_values_are_part_of_it() {
    let _counting = one_at_a_time();
    let (x, wide, one) = (resident(&[1.0, 2.0]), resident(&[1.0; 5]), resident(&[3.0]));
    let single = &one * 2.0 + 1.0;
    let (a, b) = (&x * &single, &wide * &single);
    let mut widths = launches(|| jit::eval(&(&a, &b, &a + 1.0)).unwrap());
    widths.sort_unstable();
    assert_eq!(widths, [2, 5]);
    assert!(!single.is_evaluated());
}

#[test]
fn large_sources_of_gathers_are_written_to_memory() {
    let _counting = one_at_a_time();
    let (x, index) = (resident(&[1.0, 2.0, 3.0]), UInt::from([2, 0]));
    jit::eval(&index).unwrap();
    let small = (&x + 1.0).gather(&index);
    assert_eq!(launches(|| assert_eq!(small.to_vec().unwrap(), [4.0, 2.0])), [2]);
    let mut large = x.clone();
    for step in 0..250 {
        large = large * &x + step as f32;
    }
    assert_eq!(launches(|| jit::eval(&large.gather(&index)).unwrap()), [3, 2]);
    // It depends on other lanes, so there is no expression for a single one.
    let sums = x.prefix_sum().gather(&index);
    assert_eq!(sums.to_vec().unwrap(), [6.0, 1.0]);
}

// rows: C188
#[test]
fn literals_are_computed_while_recording() {
    on_each_device(|| {
        let counts = count(|| {
            let x = Float::full(0.1, 100_000);
            let y = (&x * 3.0 + 1.0).sqrt().sin();
            assert!(y.is_literal() && y.sum().is_literal() && y.mean().is_literal() && y.norm().is_literal());
            assert!(y.lt(2.0).all().is_literal() && y.lt(2.0).count().is_literal());
            assert_eq!(y.gt(0.5).count().item().unwrap(), 100_000);
        });
        assert_eq!(counts.launches, 0);
    });
}

#[test]
fn a_state_that_is_evaluated_in_each_step_has_one_kernel() {
    on_each_device(|| {
        let mut state = resident(&[1.0, 2.0, 4.0]);
        let step = |state: &Float| (state * 0.5 + 3.25).sqrt();
        jit::eval(&step(&state)).unwrap();
        let counts = count(|| {
            for _ in 0..10 {
                state = step(&state);
                jit::eval(&state).unwrap();
            }
        });
        assert_eq!((counts.launches, counts.compiles), (10, 0));
    });
}

#[test]
fn sizes_are_known_while_recording() {
    let _counting = one_at_a_time();
    assert_eq!(
        evaluations(|| {
            let x = Float::arange(10) * Float::opaque(2.0);
            let padded = (x.width() + 3).div_ceil(4) * 4;
            assert_eq!((padded, padded.min(7), padded.max(100) % 64), (16.into(), 7.into(), 36.into()));
            assert_eq!(Float::zeros(padded - x.width()).len(), 6);
            assert_eq!(jit::meshgrid(&x, &Int::arange(padded / 2)).0.len(), 80);
            assert_eq!((x.tile(x.width()).len(), x.slice(3..).len()), (100, 7));
        }),
        0
    );
}

#[test]
fn states_of_arrays_are_named() {
    let _counting = one_at_a_time();
    let (evaluated, unevaluated) = (resident(&[1.0]), resident(&[1.0, 2.0]) + 1.0);
    let arrays = [Float::from(1.0), Float::opaque(1.0), Float::placeholder(3), unevaluated, evaluated];
    let states: Vec<&str> = jit::leaves(&arrays).iter().map(|(_, leaf)| leaf.state).collect();
    assert_eq!(states, ["literal", "opaque", "placeholder", "unevaluated", "evaluated"]);
    for (array, state) in arrays.iter().zip(states) {
        assert!(format!("{array:?}").contains(state), "{array:?}");
    }
}

#[test]
fn every_statement_names_a_test() {
    let sources = [
        include_str!("page.rs"),
        include_str!("eager.rs"),
        include_str!("literals.rs"),
        include_str!("loops.rs"),
        include_str!("../devices.rs"),
        include_str!("../evaluation.rs"),
        include_str!("../api/determinism.rs"),
        include_str!("../api/float_mode.rs"),
        include_str!("../operations/nan.rs"),
        include_str!("../conformance/loops.rs"),
        include_str!("../conformance/calls.rs"),
        include_str!("../conformance/instances.rs"),
    ]
    .concat();
    let page = include_str!("../../docs/evaluation.md");
    let rows = page.split("| statement | test |").nth(1).unwrap().lines().filter(|line| line.starts_with("| "));
    let mut checked = 0;
    for row in rows {
        for name in row.rsplit('|').nth(1).unwrap().split('`').skip(1).step_by(2) {
            assert!(sources.contains(&format!("fn {name}(")), "there is no test {name}");
            checked += 1;
        }
    }
    assert!(checked > 20, "{checked} tests are named");
}
