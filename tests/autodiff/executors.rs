//! Gradients through executors.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use jit::prelude::*;
use jit::{Float64, ad};

use crate::{assert_close, on_each_device};

fn variable(values: &[f32]) -> Float {
    let mut x = Float::from(values);
    x.enable_grad();
    x
}

/// How often the bodies ran.
static RUNS: [AtomicU32; 2] = [AtomicU32::new(0), AtomicU32::new(0)];

/// Runs something; returns how often a body ran meanwhile.
fn runs(of: usize, run: impl FnOnce()) -> u32 {
    let before = RUNS[of].load(Ordering::Relaxed);
    run();
    RUNS[of].load(Ordering::Relaxed) - before
}

#[jit]
fn counted_wave(x: &Float, w: &Float, phase: f32) -> Float {
    RUNS[0].fetch_add(1, Ordering::Relaxed);
    (x * w + phase).sin()
}

// rows: K190
#[test]
fn gradients_flow_through_executors() {
    on_each_device(|| {
        let exe = counted_wave::compile(&Float::placeholder(9), &Float::placeholder(1), 0.0).unwrap();
        for (step, phase) in [0.0_f32, 0.5, 0.5, -2.0].into_iter().enumerate() {
            let values: Vec<f32> = (0..5 + step).map(|lane| lane as f32 * 0.25).collect();
            let (x, w) = (variable(&values), variable(&[1.5]));
            let mut y = Float::from(0.0);
            let count = runs(0, || y = exe.call(&x, &w, phase).unwrap());
            assert_eq!(count, u32::from(step == 0), "in step {step}");
            assert!(y.grad_enabled());
            let count = runs(0, || (&y * &y).sum().backward().unwrap());
            assert_eq!(count, u32::from(step == 0), "backwards in step {step}");
            let slope = |x: f32| 2.0 * (x * 1.5 + phase).sin() * (x * 1.5 + phase).cos();
            let of_x: Vec<f64> = values.iter().map(|x| f64::from(slope(*x) * 1.5)).collect();
            let of_w: f64 = values.iter().map(|x| f64::from(slope(*x) * x)).sum();
            assert_close(&x.grad().cast::<f64>().to_vec().unwrap(), &of_x, 1e-5);
            assert_close(&w.grad().cast::<f64>().to_vec().unwrap(), &[of_w], 1e-5);
        }
        let (x, w) = (Float::from([1.0, 2.0]), variable(&[1.0]));
        let y = exe.call(&x, &w, 0.0).unwrap();
        w.forward().unwrap();
        let wanted = [1.0, 2.0].map(|x: f64| x * x.cos());
        assert_close(&y.grad().cast::<f64>().to_vec().unwrap(), &wanted, 1e-6);
        assert!(!exe.call(&x, &w.detach(), 0.0).unwrap().grad_enabled());
        assert!(!ad::suspend(|| exe.call(&x, &w, 0.0)).unwrap().grad_enabled());
    });
}

#[jit]
fn scaled_wave(x: &Float, w: &Float) -> Float {
    RUNS[1].fetch_add(1, Ordering::Relaxed);
    (x * w).sin()
}

// rows: K192
#[test]
fn examples_that_carry_gradients_compile_the_call_with_gradients() {
    on_each_device(|| {
        let mut x = Float::placeholder(1 << 31);
        x.enable_grad();
        let before = jit::memory().live_bytes;
        let exe = scaled_wave::compile(&x, &Float::placeholder(1)).unwrap();
        // Other tests run at the same time.
        assert!(jit::memory().live_bytes < before + (1 << 31), "the example takes memory");
        let (x, w) = (variable(&[0.0, 1.0]), Float::from([2.0]).make_opaque());
        assert_eq!(runs(1, || assert!(exe.call(&x, &w).unwrap().grad_enabled())), 0);
        assert_eq!(runs(1, || assert!(!exe.call(&x.detach(), &w).unwrap().grad_enabled())), 1);
        assert_eq!(runs(1, || exe.call(&x, &w).unwrap().sum().backward().unwrap()), 1);
        assert_close(&x.grad().cast::<f64>().to_vec().unwrap(), &[2.0, 2.0 * 2.0_f64.cos()], 1e-6);
    });
}

#[jit]
fn quartic(x: &Float64) -> Float64 {
    let square = x * x;
    &square * &square
}

// rows: K190
#[test]
fn executors_have_derivatives_of_any_order() {
    on_each_device(|| {
        let exe = quartic::compile(&Float64::placeholder(3)).unwrap();
        let f = |x: &Float64| exe.call(x).unwrap().sum();
        let first = ad::grad(f);
        let second = ad::grad(|x: &Float64| first(x).unwrap().sum());
        let third = ad::grad(|x: &Float64| second(x).unwrap().sum());
        let x = Float64::from([1.0, 2.0, -1.5]);
        let wanted = |power: i32, factor: f64| [1.0, 2.0, -1.5_f64].map(|x| factor * x.powi(power));
        assert_eq!(first(&x).unwrap().to_vec().unwrap(), wanted(3, 4.0));
        assert_eq!(second(&x).unwrap().to_vec().unwrap(), wanted(2, 12.0));
        assert_eq!(third(&x).unwrap().to_vec().unwrap(), wanted(1, 24.0));
        let vector = Float64::from([1.0, 0.5, 2.0]);
        let forward_over_reverse = ad::jvp(|x: &Float64| first(x).unwrap(), &x, &vector).unwrap().1;
        assert_eq!(ad::hvp(f, &x, &vector).unwrap().to_vec().unwrap(), forward_over_reverse.to_vec().unwrap());
        assert_eq!(forward_over_reverse.to_vec().unwrap(), [12.0, 24.0, 54.0]);
    });
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Powers(Vec<u32>);

#[jit]
fn polynomial(
    x: &Float64,
    #[constexpr] powers: Powers,
    #[constexpr] skipped: &[u32],
    #[constexpr] name: &str,
    #[constexpr] offset: Option<i32>,
) -> Float64 {
    let mut sum = Float64::from(f64::from(offset.unwrap_or(0)));
    for power in powers.0.iter().filter(|power| !skipped.contains(power)) {
        sum = sum + x.powi(*power as i32);
    }
    if name == "negative" { -sum } else { sum }
}

// rows: K191
#[test]
fn derivatives_keep_the_values_of_constexprs() {
    on_each_device(|| {
        let (exe, other) = {
            let (powers, skipped, name) = (Powers(vec![1, 2, 3]), vec![2], "negative".to_owned());
            let x = Float64::placeholder(2);
            let exe = polynomial::compile(&x, powers.clone(), &skipped, &name, Some(5)).unwrap();
            (exe, polynomial::compile(&x, powers, &[], "", None).unwrap())
        };
        let x = Float64::from([1.0, 2.0]);
        let slopes = |exe: &jit::Executor<fn(&Float64) -> Float64>| {
            let slope = ad::grad(|x: &Float64| exe.call(x).unwrap().sum())(&x).unwrap();
            slope.to_vec().unwrap()
        };
        assert_eq!(exe.call(&x).unwrap().to_vec().unwrap(), [-7.0, -15.0]);
        assert_eq!(slopes(&exe), [-4.0, -13.0]);
        assert_eq!(slopes(&other), [6.0, 17.0]);
    });
}

#[jit]
fn named(x: &Float, #[constexpr] names: &[&str]) -> Float {
    x * names.len() as f32
}

#[jit]
fn repeated<T: std::hash::Hash + Eq + Into<u32>>(x: &Float, #[constexpr] times: T) -> Float {
    let times: u32 = times.into();
    x * times as f32
}

#[jit]
fn repeated_static<T: std::hash::Hash + Eq + Copy + Send + Sync + Into<u32> + 'static>(
    x: &Float,
    #[constexpr] times: T,
) -> Float {
    let times: u32 = times.into();
    x * times as f32
}

#[test]
fn a_value_that_cannot_be_kept_is_named() {
    on_each_device(|| {
        let x = variable(&[1.0, 2.0]);
        let text = "three".to_owned();
        let exe = named::compile(&x, &[&text, "two"]).unwrap();
        let error = exe.call(&x).unwrap_err().to_string();
        assert!(error.contains("gradients cannot flow to an argument of the executor of `named`"), "{error}");
        assert!(error.contains("a `#[constexpr]` value of it cannot be kept"), "{error}");
        assert!(error.contains("executors.rs"), "{error}");
        assert_eq!(ad::suspend(|| exe.call(&x)).unwrap().to_vec().unwrap(), [2.0, 4.0]);
        assert_eq!(exe.call(&x.detach()).unwrap().to_vec().unwrap(), [2.0, 4.0]);
        assert!(repeated::compile(&x, 3_u16).unwrap().call(&x).is_err());
        let y = repeated_static::compile(&x, 3_u16).unwrap().call(&x).unwrap();
        y.backward().unwrap();
        assert_eq!(x.grad().to_vec().unwrap(), [3.0, 3.0]);
    });
}

static CAPTURED: AtomicU32 = AtomicU32::new(0);

#[jit]
fn times_captured(x: &Float) -> Float {
    x * CAPTURED.load(Ordering::Relaxed) as f32
}

/// Where the derivative should have them, too, the examples carry gradients.
#[test]
fn calls_keep_what_the_body_captured() {
    CAPTURED.store(2, Ordering::Relaxed);
    let x = variable(&[1.0, 2.0]);
    let exe = times_captured::compile(&x).unwrap();
    CAPTURED.store(30, Ordering::Relaxed);
    assert_eq!(exe.call(&x).unwrap().to_vec().unwrap(), [2.0, 4.0]);
}

#[jit]
fn sum_of(x: &Float, y: &Float) -> Float {
    x + y
}

// rows: K193
/// The first call through which gradients flow decides nothing: its recording is made for the examples.
#[test]
fn the_conditions_of_calls_with_gradients_are_those_of_the_compilation() {
    on_each_device(|| {
        let equal = sum_of::compile(&Float::placeholder(8), &Float::placeholder(8)).unwrap();
        let (three, four, one) = (variable(&[1.0, 2.0, 3.0]), variable(&[1.0; 4]), variable(&[1.0]));
        for _ in 0..2 {
            let error = equal.call(&three, &one).unwrap_err().to_string();
            assert!(error.contains("x.width() is 3, y.width() is 1"), "{error}");
            let error = equal.call(&three, &four.detach()).unwrap_err().to_string();
            assert!(error.contains("x.width() is 3, y.width() is 4"), "{error}");
            equal.call(&three, &three).unwrap().backward().unwrap();
            assert_eq!(three.grad().to_vec().unwrap(), [2.0; 3]);
            three.clear_grad();
        }
        let broadcast = sum_of::compile(&Float::placeholder(8), &Float::placeholder(1)).unwrap();
        broadcast.call(&three, &one).unwrap().backward().unwrap();
        assert_eq!(one.grad().to_vec().unwrap(), [3.0]);
        assert!(broadcast.call(&three, &three.detach()).is_err());
        // One variable as two arguments has the widths of both examples.
        assert!(broadcast.call(&three, &three).is_err());
    });
}

#[derive(Clone, Traverse)]
struct State {
    position: Float64,
    velocity: Float64,
    steps: UInt,
}

#[jit]
fn spring(state: &mut State, stiffness: &Float64, count: &UInt, dt: f64) {
    let mut n = UInt::from(0);
    while n.lt(count) {
        state.velocity -= stiffness * state.position.sin() * dt;
        state.position += &state.velocity * dt;
        state.steps += 1;
        n += 1;
    }
}

// rows: K190
#[test]
fn arguments_that_are_changed_carry_gradients_from_call_to_call() {
    on_each_device(|| {
        let example =
            State { position: Float64::placeholder(3), velocity: Float64::placeholder(3), steps: UInt::placeholder(3) };
        let exe = spring::compile(&mut example.clone(), &Float64::placeholder(1), &UInt::placeholder(3), 0.1).unwrap();
        let run = |stiffness: &Float64, call: &dyn Fn(&mut State, &Float64, &UInt)| {
            let mut state = State {
                position: Float64::from([1.0, 0.5, -2.0]),
                velocity: Float64::from([0.0, 1.0, 0.1]),
                steps: UInt::from([0, 0, 0]),
            };
            for _ in 0..3 {
                call(&mut state, stiffness, &UInt::from([4, 0, 7]));
            }
            assert_eq!(state.steps.to_vec().unwrap(), [12, 0, 21]);
            (&state.position * &state.position).sum()
        };
        let compiled = |k: &Float64| run(k, &|state, k, n| exe.call(state, k, n, 0.1).unwrap());
        let direct = |k: &Float64| run(k, &|state, k, n| spring(state, k, n, 0.1));
        let k = Float64::from([1.3]);
        assert_eq!(compiled(&k).item().unwrap(), direct(&k).item().unwrap());
        let [by_call, by_function] = [ad::grad(compiled)(&k).unwrap(), ad::grad(direct)(&k).unwrap()];
        assert_close(&by_call.to_vec().unwrap(), &by_function.to_vec().unwrap(), 1e-12);
        let at = |by: f64| compiled(&Float64::from([1.3 + by])).item().unwrap();
        assert_close(&by_call.to_vec().unwrap(), &[(at(1e-6) - at(-1e-6)) / 2e-6], 1e-7);
        let tangent = ad::jvp(compiled, &k, &Float64::from([1.0])).unwrap().1;
        assert_close(&tangent.to_vec().unwrap(), &by_call.to_vec().unwrap(), 1e-12);
    });
}

#[jit]
fn descent(x: &mut Float, rate: f32) -> Float {
    let mut own = x.detach();
    own.enable_grad();
    let loss = (&own * &own).sum();
    loss.backward().unwrap();
    *x = own.detach() - rate * own.grad();
    loss.detach()
}

#[jit]
fn stores(x: &Float, y: &Float) -> Float {
    let product = x * y;
    ad::backward_keep(&product.sum()).unwrap();
    product
}

#[test]
fn bodies_of_executors_may_contain_traversals() {
    on_each_device(|| {
        let exe = descent::compile(&mut Float::placeholder(4), 0.1).unwrap();
        let mut x = Float::from([1.0, 2.0]);
        assert_eq!(exe.call(&mut x, 0.25).unwrap().item().unwrap(), 5.0);
        assert_eq!(x.to_vec().unwrap(), [0.5, 1.0]);
        let mut examples = [Float::placeholder(4), Float::placeholder(4)];
        examples[0].enable_grad();
        let exe = stores::compile(&examples[0], &examples[1]).unwrap();
        let (x, y) = (variable(&[1.0, 2.0]), Float::from([3.0, 4.0]));
        for round in 1..4 {
            let product = exe.call(&x, &y).unwrap();
            assert_eq!(product.to_vec().unwrap(), [3.0, 8.0]);
            assert_eq!(x.grad().to_vec().unwrap(), [3.0, 4.0].map(|slope| slope * round as f32));
        }
        exe.call(&x, &y).unwrap().sum().backward().unwrap();
        assert_eq!(x.grad().to_vec().unwrap(), [15.0, 20.0]);
        // One variable as two arguments.
        x.clear_grad();
        exe.call(&x, &x).unwrap();
        assert_eq!(x.grad().to_vec().unwrap(), [2.0, 4.0]);
        exe.call(&x, &x).unwrap().sum().backward().unwrap();
        assert_eq!(x.grad().to_vec().unwrap(), [6.0, 12.0]);
    });
}

#[derive(Clone, Traverse)]
struct Table {
    shared: Arc<Float>,
}

#[jit]
fn looked_up(table: &Table, x: &Float) -> Float {
    &*table.shared * x
}

#[test]
fn gradients_of_shared_arrays_are_refused_with_the_reason() {
    on_each_device(|| {
        let constant = Table { shared: Arc::new(Float::from([1.0, 2.0])) };
        let exe = looked_up::compile(&constant, &Float::placeholder(2)).unwrap();
        let x = variable(&[3.0, 4.0]);
        exe.call(&constant, &x).unwrap().backward().unwrap();
        assert_eq!(x.grad().to_vec().unwrap(), [1.0, 2.0]);
        let table = Table { shared: Arc::new(variable(&[1.0, 2.0])) };
        let exe = looked_up::compile(&table, &Float::placeholder(2)).unwrap();
        let error = exe.call(&table, &x).unwrap_err().to_string();
        assert!(error.contains("it is behind `Rc` or `Arc`"), "{error}");
    });
}

#[jit]
fn wave(x: &Float, w: &Float, phase: f32) -> Float {
    (x * w + phase).sin()
}

#[test]
fn clones_on_threads_share_the_recordings_for_gradients() {
    let exe = wave::compile(&Float::placeholder(9), &Float::placeholder(9), 0.0).unwrap();
    exe.call(&variable(&[1.0, 2.0]), &Float::from([1.0, 2.0]), 0.0).unwrap().sum().backward().unwrap();
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            let exe = exe.clone();
            std::thread::spawn(move || {
                let w = vec![thread as f32; 50 + thread];
                (0..10).all(|_| {
                    let x = variable(&w);
                    let y = exe.call(&x, &Float::from(&w[..]).make_opaque(), 0.5).unwrap();
                    y.sum().backward().unwrap();
                    let wanted = w[0] * (w[0] * w[0] + 0.5).cos();
                    x.grad().to_vec().unwrap().iter().all(|found| (found - wanted).abs() < 1e-5)
                })
            })
        })
        .collect();
    assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
}

#[jit]
fn exponential(x: &Float) -> Float {
    x.exp()
}

// rows: K191
#[test]
fn calls_with_gradients_have_the_settings_of_the_compilation() {
    on_each_device(|| {
        let values: Vec<f32> = (0..1000).map(|lane| lane as f32 * 0.017 - 3.0).collect();
        let x = variable(&values);
        let fast = jit::fast_math(|| exponential::compile(&x.detach())).unwrap();
        let exact = exponential::compile(&x.detach()).unwrap();
        let wanted = |exe: &jit::Executor<fn(&Float) -> Float>| exe.call(&x.detach()).unwrap().to_vec().unwrap();
        assert_ne!(wanted(&fast), wanted(&exact));
        for exe in [&fast, &exact] {
            let y = exe.call(&x).unwrap();
            assert_eq!(y.to_vec().unwrap(), wanted(exe));
            x.clear_grad();
            y.sum().backward().unwrap();
            assert_eq!(x.grad().to_vec().unwrap(), wanted(exe));
        }
        let y = jit::fast_math(|| exact.call(&x)).unwrap();
        assert_eq!(y.to_vec().unwrap(), wanted(&exact));
    });
}
