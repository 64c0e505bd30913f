//! Recorded loops and branches against plain Rust, on every device.

#[path = "../../tests/shared/tested_devices.rs"]
mod tested_devices;

use jit_core::graph::Var;
use jit_core::trace::{BranchRecorder, LoopRecorder, current_mask};
use jit_core::{Array, Element, Float, Int, Mask, UInt, eval};
use jit_runtime::device::with_device;
use jit_runtime::{ErrorKind, Site};

fn on_every_device(body: impl Fn()) {
    for device in tested_devices::all() {
        with_device(device, &body);
    }
}

fn typed<T: Element>(var: &Var) -> Array<T> {
    Array::from_var(var.clone())
}

/// A loop over a state of arrays of one type.
#[track_caller]
fn traced_while<T: Element>(
    state: &[&Array<T>],
    condition: impl FnOnce(&[Array<T>]) -> Mask,
    body: impl FnOnce(&[Array<T>]) -> Vec<Array<T>>,
) -> Vec<Array<T>> {
    let inits: Vec<Var> = state.iter().map(|array| array.var().clone()).collect();
    let (mut recorder, params) = LoopRecorder::begin(&inits, Site::here());
    let params: Vec<Array<T>> = params.iter().map(typed).collect();
    recorder.condition(condition(&params).var());
    let next = body(&params).into_iter().map(Array::into_var).collect();
    recorder.finish(next).iter().map(typed).collect()
}

#[track_caller]
fn traced_if<T: Element>(
    condition: &Mask,
    first: impl FnOnce() -> Vec<Array<T>>,
    second: impl FnOnce() -> Vec<Array<T>>,
) -> Vec<Array<T>> {
    let mut recorder = BranchRecorder::begin(condition.var(), Site::here());
    let first = first().into_iter().map(Array::into_var).collect();
    recorder.otherwise();
    let second = second().into_iter().map(Array::into_var).collect();
    recorder.finish(first, second).iter().map(typed).collect()
}

/// The message with which a program is refused.
fn message_of<R>(program: impl FnOnce() -> R) -> String {
    let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(program)).err().expect("it is refused");
    refused.downcast_ref::<String>().expect("a message").clone()
}

/// Enough work that a branch stays one.
fn heavy(x: &Float) -> Float {
    (1..40).fold(x.clone(), |sum, step| sum.mul_add(0.5, step as f32))
}

fn heavy_host(x: f32) -> f32 {
    (1..40).fold(x, |sum, step| sum.mul_add(0.5, step as f32))
}

#[test]
fn lanes_exit_a_loop_one_by_one() {
    on_every_device(|| {
        let start: Vec<u32> = (1..200).collect();
        let n = UInt::from(&start);
        let results = traced_while(
            &[&n, &UInt::from(0)],
            |state| state[0].ne(1),
            |state| {
                let [n, steps] = state else { unreachable!() };
                let next = (n % 2).eq(0).select(n / 2, n * 3 + 1);
                vec![next, steps + 1]
            },
        );
        let expected: Vec<u32> = start
            .iter()
            .map(|&start| {
                let (mut n, mut steps) = (start, 0);
                while n != 1 {
                    n = if n % 2 == 0 { n / 2 } else { n * 3 + 1 };
                    steps += 1;
                }
                steps
            })
            .collect();
        assert_eq!(results[1].len(), 199);
        assert_eq!(results[1].to_vec().unwrap(), expected);
        assert_eq!(results[0].to_vec().unwrap(), vec![1; 199]);
    });
}

#[test]
fn unread_state_is_not_computed() {
    let (i, unused) = (UInt::from([3, 5]), Float::placeholder(2));
    let inits = [i.var().clone(), unused.var().clone()];
    let (mut recorder, params) = LoopRecorder::begin(&inits, Site::here());
    recorder.condition(typed::<u32>(&params[0]).lt(10).var());
    let (next, other) = (typed::<u32>(&params[0]) + 1, typed::<f32>(&params[1]) * 2.0);
    let results = recorder.finish(vec![next.into_var(), other.into_var()]);
    // The second state begins with a placeholder, so evaluating it would be an error.
    assert_eq!(typed::<u32>(&results[0]).to_vec().unwrap(), [10, 10]);
    assert!(typed::<f32>(&results[1]).to_vec().is_err());
}

#[test]
fn states_may_be_swapped() {
    on_every_device(|| {
        let (a, b) = (Int::from([1, 2, 3]), Int::from([10, 20, 30]));
        let results = traced_while(
            &[&a, &b, &Int::from([1, 2, 3])],
            |state| state[2].gt(0),
            |state| vec![state[1].clone(), state[0].clone(), &state[2] - 1],
        );
        assert_eq!(results[0].to_vec().unwrap(), [10, 2, 30]);
        assert_eq!(results[1].to_vec().unwrap(), [1, 20, 3]);
    });
}

#[test]
fn invariants_stay_what_they_were() {
    on_every_device(|| {
        let (x, n) = (Float::from([1.0, 2.0]), Float::from([3.0, 4.0]));
        let results = traced_while(
            &[&x, &n, &Float::from(0.0)],
            |state| state[2].lt(&state[1]),
            |state| {
                // `n` is state that does not change, and what is computed from it alone is computed before the loop.
                let factor = (&state[1] * &state[1]).sqrt();
                vec![&state[0] * factor, state[1].clone(), &state[2] + 1.0]
            },
        );
        assert_eq!(results[0].to_vec().unwrap(), [27.0, 512.0]);
        assert!(results[1].var().is_same(n.var()));
    });
}

#[test]
fn loops_nest() {
    on_every_device(|| {
        let n = UInt::from([0, 1, 4, 7]);
        let results = traced_while(
            &[&UInt::from(0), &UInt::from(0)],
            |outer| outer[0].lt(&n),
            |outer| {
                let inner = traced_while(
                    &[&UInt::from(0), &outer[1]],
                    |inner| inner[0].le(&outer[0]),
                    |inner| vec![&inner[0] + 1, &inner[1] + &inner[0] * &outer[0]],
                );
                vec![&outer[0] + 1, inner[1].clone()]
            },
        );
        let expected = [0_u32, 1, 4, 7].map(|n| (0..n).flat_map(|i| (0..=i).map(move |j| i * j)).sum::<u32>());
        assert_eq!(results[1].to_vec().unwrap(), expected);
    });
}

#[test]
fn branches_take_one_side() {
    on_every_device(|| {
        let x = Float::from([-1.0, 2.0, -3.0, 4.0]);
        let results = traced_if(&x.gt(0.0), || vec![heavy(&x), x.clone()], || vec![-heavy(&-&x), x.clone()]);
        let expected = [-1.0_f32, 2.0, -3.0, 4.0].map(|x| if x > 0.0 { heavy_host(x) } else { -heavy_host(-x) });
        assert_eq!(results[0].to_vec().unwrap(), expected);
        assert!(results[1].var().is_same(x.var()));
    });
}

#[test]
fn branches_nest_and_work_in_loops() {
    on_every_device(|| {
        let x = Float::from([0.0, 1.0, 2.0, 3.0]);
        let results = traced_while(
            &[&x, &Float::from(0.0)],
            |state| state[1].lt(5.0),
            |state| {
                let [x, i] = state else { unreachable!() };
                let sides = traced_if(
                    &x.lt(1.5),
                    || vec![heavy(x) + i],
                    || {
                        let deeper = traced_if(&i.gt(2.0), || vec![heavy(&(x - i))], || vec![heavy(&(x * 0.5))]);
                        vec![&deeper[0] * 0.25]
                    },
                );
                vec![sides[0].clone() - 40.0, i + 1.0]
            },
        );
        let expected = [0.0_f32, 1.0, 2.0, 3.0].map(|mut x| {
            for i in 0..5 {
                let i = i as f32;
                let side = if x < 1.5 {
                    heavy_host(x) + i
                } else if i > 2.0 {
                    heavy_host(x - i) * 0.25
                } else {
                    heavy_host(x * 0.5) * 0.25
                };
                x = side - 40.0;
            }
            x
        });
        assert_eq!(results[0].to_vec().unwrap(), expected);
    });
}

#[test]
fn a_loop_in_a_branch_runs_on_its_lanes_only() {
    on_every_device(|| {
        // On the lanes that do not take the branch the loop would never end.
        let n = UInt::from([6, 1, 8]);
        let even = (&n % 2).eq(0);
        let results = traced_if(
            &even,
            || {
                let done = traced_while(&[&n, &UInt::from(0)], |s| s[0].ne(0), |s| vec![&s[0] - 2, &s[1] + &s[0]]);
                vec![done[1].clone()]
            },
            || vec![UInt::from(99)],
        );
        assert_eq!(results[0].to_vec().unwrap(), [12, 99, 20]);
    });
}

#[test]
fn gathers_in_branches_and_loops_touch_only_what_their_lanes_reach() {
    on_every_device(|| {
        let table = Float::from([10.0, 20.0, 30.0]);
        let index = UInt::from([2, 4_000_000_000, 1]);
        let valid = index.lt(3);
        let read = traced_if(&valid, || vec![heavy(&table.gather(&index))], || vec![Float::from(-1.0)]);
        let expected = [heavy_host(30.0), -1.0, heavy_host(20.0)];
        assert_eq!(read[0].to_vec().unwrap(), expected);
        // The index does not depend on the loop, but only lanes that enter the loop may use it.
        let count = valid.select(Float::from(2.0), 0.0);
        let summed = traced_while(
            &[&Float::from(0.0), &count],
            |state| state[1].gt(0.0),
            |state| vec![&state[0] + table.gather(&index), &state[1] - 1.0],
        );
        assert_eq!(summed[0].to_vec().unwrap(), [60.0, 0.0, 40.0]);
    });
}

#[test]
fn a_loop_serves_several_kernels_once() {
    on_every_device(|| {
        let x = Float::from([1.0, 2.0, 3.0]);
        let grown = traced_while(&[&x], |state| state[0].lt(100.0), |state| vec![&state[0] * 2.0]);
        let mean = grown[0].mean();
        let spread = (&grown[0] - &mean).abs().sum();
        eval(&(&mean, &spread)).unwrap();
        // The first kernel has written the result of the loop for the second one.
        assert!(grown[0].is_evaluated());
        let values = [128.0_f32, 128.0, 192.0];
        let expected = values.iter().sum::<f32>() / 3.0;
        assert_eq!(mean.item().unwrap(), expected);
        assert_eq!(spread.item().unwrap(), values.iter().map(|value| (value - expected).abs()).sum::<f32>());
    });
}

#[test]
fn values_inside_of_a_loop_cannot_be_read() {
    let before = Float::from([1.0]) + 1.0;
    let (mut recorder, params) = LoopRecorder::begin(&[Float::from([1.0, 2.0]).into_var()], Site::here());
    let x = typed::<f32>(&params[0]);
    let error = x.to_vec().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotEvaluated);
    assert!(error.to_string().contains("control.rs"), "{error}");
    recorder.condition(x.lt(3.0).var());
    // What was made before the loop can.
    assert_eq!(before.to_vec().unwrap(), [2.0]);
    assert!(message_of(|| x.sum()).contains("cannot be reduced"));
    drop(recorder);
    assert!(current_mask().is_none());
}

#[test]
fn narrow_loops_widen_by_their_condition() {
    on_every_device(|| {
        let limit = UInt::from([2, 5, 3]);
        let i = traced_while(&[&UInt::from(0)], |state| state[0].lt(&limit), |state| vec![&state[0] + 1]);
        assert_eq!(i[0].to_vec().unwrap(), [2, 5, 3]);
        let narrow = traced_while(&[&UInt::opaque(1)], |state| state[0].lt(100), |state| vec![&state[0] * 3]);
        assert_eq!((&narrow[0] + &limit).to_vec().unwrap(), [245 - 2 + 2, 243 + 5, 243 + 3]);
        assert_eq!(narrow[0].item().unwrap(), 243);
    });
}

#[test]
fn a_branch_on_a_condition_from_before_a_loop_is_taken_in_each_iteration() {
    on_every_device(|| {
        let (x, mask) = (Float::from([0.5, 1.0, 2.0, 3.0]), Mask::from([true, false, true, false]));
        let results = traced_while(
            &[&x, &Float::from(0.0)],
            |state| state[1].lt(3.0),
            |state| {
                let next = traced_if(&mask, || vec![heavy(&state[0])], || vec![-heavy(&-&state[0])]);
                vec![&next[0] - 40.0, &state[1] + 1.0]
            },
        );
        let expected = [(0.5_f32, true), (1.0, false), (2.0, true), (3.0, false)]
            .map(|(x, is_first)| (0..3).fold(x, |x, _| if is_first { heavy_host(x) } else { -heavy_host(-x) } - 40.0));
        assert_eq!(results[0].to_vec().unwrap(), expected);
    });
}

#[test]
fn a_branch_of_values_of_other_widths_is_refused() {
    let mask = Mask::from([true, false]);
    let of = |a: usize, b: usize| message_of(|| traced_if(&mask, || vec![Float::zeros(a)], || vec![Float::ones(b)]));
    for (a, b) in [(2, 3), (3, 2), (3, 1), (1, 3), (3, 3)] {
        let message = of(a, b);
        assert!(message.contains("of a branch's condition and values do not match"), "{message}");
        assert!(message.contains("the value of the second side") && message.contains("control.rs"), "{message}");
    }
    assert!(current_mask().is_none());
}

#[test]
fn a_loop_over_states_of_other_widths_is_refused() {
    let of = |a: usize, b: usize| {
        let states = [&Float::zeros(a), &Float::zeros(b)];
        message_of(|| traced_while(&states, |s| s[0].lt(4.0), |s| vec![&s[0] + 1.0, &s[1] + 1.0]))
    };
    for (a, b) in [(2, 3), (3, 2), (3, 0)] {
        let message = of(a, b);
        let what = format!("a loop over {a} lanes cannot carry an array of width {b}");
        assert!(message.contains(&what) && message.contains("the state variable"), "{message}");
    }
    assert!(current_mask().is_none());
}
