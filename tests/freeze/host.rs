//! Calls of the host in the middle of frozen functions.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use jit::freeze::{Frozen, host};
use jit::prelude::*;

use crate::{alike, floats, frozen, values};

#[freeze]
fn around_median(x: &Float) -> Float {
    let squares = x * x;
    let read = squares.clone();
    let median = host(move || {
        let mut sorted = read.to_vec().unwrap();
        sorted.sort_by(f32::total_cmp);
        Float::from(sorted.get(sorted.len() / 2).copied().unwrap_or(-1.0))
    });
    squares - median
}

// rows: X16
#[test]
fn the_host_sees_the_elements_and_widths_of_each_call() {
    let widths = [5, 3, 8, 5, 100, 1, 1, 0, 0, 7];
    alike(frozen!(around_median), 3, || {
        let each = widths.iter().enumerate().map(|(salt, &width)| values(&around_median(&floats(width, salt))));
        each.collect::<Vec<_>>()
    });
}

/// The elements above 0 and their number, twice, computed on the host.
#[freeze]
fn chosen(x: &Float) -> (Float, UInt, Size, Float) {
    let read = x.clone();
    let (chosen, count) = host(move || {
        let chosen: Vec<f32> = read.view().unwrap().iter().copied().filter(|&x| x > 0.0).collect();
        let count = Size::from(chosen.len());
        (Float::from(chosen), count)
    });
    let index = UInt::arange(count);
    let tail = Float::zeros(x.width() + count);
    (&chosen * 2.0 + chosen.reverse(), index + UInt::from(count), count, tail)
}

#[test]
fn arrays_and_sizes_that_the_host_makes_are_others_in_each_call() {
    // None, one and several elements have separate recordings.
    let calls = [(12, 10), (12, 8), (20, 9), (5, 10), (40, 5), (12, 8)];
    alike(frozen!(chosen), 1, || {
        let each = calls.map(|(width, salt)| {
            let (a, b, count, tail) = chosen(&floats(width, salt));
            (values(&a), values(&b), count.get(), tail.len())
        });
        each.to_vec()
    });
    for (elements, recordings) in
        [(vec![-1.0, -2.0], 2), (vec![-3.0, -4.0, -5.0], 2), (vec![1.0, -1.0], 3), (vec![2.0; 4], 3)]
    {
        let count = elements.iter().filter(|&&x| x > 0.0).count();
        assert_eq!(chosen(&Float::from(elements)).2, count);
        crate::frozen_only!(assert_eq!(chosen::stats().recordings, recordings, "{:?}", chosen::explain()));
    }
}

#[freeze]
fn twice(x: &Float) -> Float {
    let first = {
        let x = x.clone();
        host(move || UInt::from((0..x.len() as u32).rev().collect::<Vec<_>>()))
    };
    let turned = x.gather(&first) * 2.0;
    let read = turned.clone();
    let second = host(move || Float::from(vec![read.get(0).unwrap() + read.to_vec().unwrap().iter().sum::<f32>()]));
    let mut target = x.clone();
    target.scatter_add(&turned, &first);
    target + second
}

#[test]
fn several_calls_feed_gathers_and_scatters() {
    alike(frozen!(twice), 1, || [4, 9, 4, 33].map(|width| values(&twice(&floats(width, width)))).to_vec());
}

#[freeze]
fn inner(x: &Float) -> Float {
    let read = x.clone();
    x * host(move || Float::from(read.to_vec().unwrap().iter().copied().fold(0.0, f32::max)))
}

#[freeze]
fn outer(x: &Float, state: &mut Float) -> Float {
    *state += inner(&(x + 1.0));
    let read = state.clone();
    inner(state) + host(move || Float::opaque(read.to_vec().unwrap()[0]))
}

#[test]
fn frozen_functions_call_frozen_functions_that_call_the_host() {
    alike(frozen!(outer), 1, || {
        let mut state = floats(6, 3);
        let mut seen = Vec::new();
        for salt in 0..5 {
            let given = values(&outer(&floats(6, salt), &mut state));
            seen.push((given, values(&state)));
        }
        seen
    });
}

static SETTING: AtomicU32 = AtomicU32::new(0);
static CALLS: AtomicUsize = AtomicUsize::new(0);

#[freeze]
fn decided(x: &Float) -> Float {
    let (is_large, factor) = host(|| {
        CALLS.fetch_add(1, Ordering::Relaxed);
        let setting = SETTING.load(Ordering::Relaxed);
        (setting > 10, Float::opaque(setting as f32))
    });
    if is_large { x * factor } else { x + factor }
}

#[test]
fn numbers_that_the_host_returns_are_guards() {
    crate::replays_alone!();
    let x = Float::from([1.0, 2.0]);
    // The recording is for the decision; the contents of the array may change.
    for (setting, wanted, recordings, calls) in [
        (1, [2.0, 3.0], 1, 1),
        (5, [6.0, 7.0], 1, 2),
        // It does not fit, and the body calls again.
        (20, [20.0, 40.0], 2, 4),
        (30, [30.0, 60.0], 2, 5),
    ] {
        SETTING.store(setting, Ordering::Relaxed);
        assert_eq!(values(&decided(&x)), wanted);
        crate::frozen_only!(assert_eq!(decided::stats().recordings, recordings));
        crate::frozen_only!(assert_eq!(CALLS.load(Ordering::Relaxed), calls));
    }
    crate::frozen_only!();
    let why = decided::explain()[1].to_string();
    assert!(why.contains("`jit::freeze::host` at tests/freeze/host.rs:") && why.contains("Float::opaque"), "{why}");
    // The latest recording that fits is the second that is tried.
    SETTING.store(2, Ordering::Relaxed);
    assert_eq!(values(&decided(&x)), [3.0, 4.0]);
    assert_eq!((decided::stats().recordings, CALLS.load(Ordering::Relaxed)), (2, 7));
}

#[derive(Clone, Traverse)]
enum Found {
    Nothing,
    One(Float),
    Many { parts: Vec<Float>, name: String },
}

static SHAPE: AtomicUsize = AtomicUsize::new(0);

fn find(x: &Float) -> Found {
    let largest = Float::from(x.to_vec().unwrap().iter().copied().fold(f32::MIN, f32::max));
    match SHAPE.load(Ordering::Relaxed) {
        0 => Found::Nothing,
        1 => Found::One(largest),
        n => Found::Many { parts: vec![largest; n], name: "x".repeat(n) },
    }
}

#[freeze]
fn shaped(x: &Float) -> (Found, BTreeMap<String, Float>) {
    let read = x.clone();
    let found = host(move || find(&read));
    let map = host(|| BTreeMap::from([("a".to_owned(), Float::from([1.0, 2.0])), ("b".to_owned(), Float::zeros(3))]));
    (found, map)
}

#[test]
fn another_shape_of_the_result_is_another_recording() {
    for (shape, recordings) in [(0, 1), (0, 1), (1, 2), (1, 2), (2, 3), (3, 4), (2, 4), (1, 4), (0, 4)] {
        SHAPE.store(shape, Ordering::Relaxed);
        let top = shape as f32 + 3.0;
        let (found, map) = shaped(&Float::from([top, 1.0]));
        let parts = match found {
            Found::Nothing => 0,
            Found::One(one) => {
                assert_eq!(values(&one), [top]);
                1
            }
            Found::Many { parts, name } => {
                parts.iter().for_each(|part| assert_eq!(values(part), [top]));
                assert_eq!(name.len(), parts.len());
                parts.len()
            }
        };
        assert_eq!((parts, values(&map["a"]), values(&map["b"])), (shape, vec![1.0, 2.0], vec![0.0; 3]));
        crate::frozen_only!(assert_eq!(shaped::stats().recordings, recordings));
    }
}

#[freeze]
fn scaled(x: &mut Float, frame: u32, dt: f32) -> Float {
    let step = dt * 2.0;
    *x += &*x * dt;
    let table = host(move || Float::from([frame as f32, step]));
    &*x + table.gather(&UInt::from(0)) + table.gather(&UInt::from(1))
}

#[test]
fn plain_numbers_that_the_host_uses_are_those_of_the_call() {
    for device in crate::tested_devices::all() {
        jit::with_device(device, || {
            let mut x = Float::from([1.0, 3.0]);
            let mut wanted = [1.0_f32, 3.0];
            for (frame, dt) in [(1, 0.5), (2, 0.25), (2, 0.5), (1, 0.25), (3, 0.125)] {
                wanted = wanted.map(|x| x + x * dt);
                let given = values(&scaled(&mut x, frame, dt));
                assert_eq!(given, wanted.map(|x| x + frame as f32 + dt * 2.0), "{frame} {dt}");
                assert_eq!(values(&x), wanted);
            }
        });
    }
    // The second number makes another recording, of any number.
    let stats = scaled::stats();
    crate::frozen_only!();
    assert_eq!((stats.recordings, stats.replays), (3, 7), "{:?}", scaled::explain());
}

#[freeze]
fn repeated(x: &Float, n: usize) -> Float {
    x + host(move || Float::from(n as f32))
}

#[test]
fn lengths_that_the_host_uses_are_guards() {
    for (n, recordings) in [(2, 1), (3, 2), (2, 2), (3, 2), (4, 3)] {
        assert_eq!(values(&repeated(&Float::from([0.0, 1.0]), n)), [n as f32, n as f32 + 1.0]);
        crate::frozen_only!(assert_eq!(repeated::stats().recordings, recordings));
    }
}

#[freeze]
fn summed(x: &Float, with: &Float) -> Float {
    let (read, other) = (x.clone(), with.clone());
    let sum = host(move || {
        let both = read.to_vec().unwrap().into_iter().zip(other.to_vec().unwrap());
        Float::from(both.map(|(a, b)| a + b).collect::<Vec<_>>())
    });
    sum * with
}

#[test]
fn threads_replay_at_once() {
    let check = |salt: usize| {
        let (x, with) = (floats(50 + salt, salt), floats(50 + salt, salt + 1));
        let wanted: Vec<f32> = values(&x).iter().zip(values(&with)).map(|(a, b)| (a + b) * b).collect();
        assert_eq!(values(&summed(&x, &with)), wanted);
    };
    check(1);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || (0..50).for_each(|round| check(thread * 7 + round % 5)));
        }
    });
    crate::frozen_only!();
    assert_eq!((summed::stats().recordings, summed::stats().replays), (1, 200));
}

static BRANCH: AtomicBool = AtomicBool::new(false);

#[freeze]
fn branching(x: &Float, y: &Float) -> Float {
    let (a, b) = (x.clone(), y * 2.0);
    host(move || {
        if BRANCH.load(Ordering::Relaxed) { Float::from(b.to_vec().unwrap()) } else { Float::from(a.to_vec().unwrap()) }
    })
}

#[test]
fn arrays_that_were_not_read_while_recording_are_read_by_another_recording() {
    for (is_second, recordings) in [(false, 1), (false, 1), (true, 2), (true, 2), (false, 2)] {
        BRANCH.store(is_second, Ordering::Relaxed);
        let given = values(&branching(&Float::from([1.0, 2.0]), &Float::from([3.0, 4.0])));
        assert_eq!(given, if is_second { [6.0, 8.0] } else { [1.0, 2.0] });
        crate::frozen_only!(assert_eq!(branching::stats().recordings, recordings));
    }
}

#[freeze]
fn looped(x: &Float) -> Float {
    let mut x = x.clone();
    let mut largest = x.reduce_max();
    #[evaluated]
    while largest > 1.0 {
        let read = x.clone();
        let half = host(move || Float::from(read.to_vec().unwrap().iter().map(|x| x / 2.0).collect::<Vec<_>>()));
        x = half + 0.0;
        largest = x.reduce_max();
    }
    x
}

#[test]
fn a_loop_that_the_host_runs_calls_it_in_each_iteration() {
    alike(frozen!(looped), 3, || {
        [8.0_f32, 7.0, 3.0, 1.5, 8.0].map(|top| values(&looped(&Float::from([top, top / 2.0])))).to_vec()
    });
}

#[freeze]
fn printed(x: &Float) -> Float {
    let read = x * 2.0;
    host(move || {
        let mut pair = [0.0; 2];
        read.read_into(&mut pair).unwrap();
        let text = format!("{read} {} {:?}", read.sum_of(), pair);
        Float::from(vec![text.len() as f32])
    })
}

trait SumOf {
    fn sum_of(&self) -> f32;
}

impl SumOf for Float {
    fn sum_of(&self) -> f32 {
        Vec::<f32>::try_from(self).unwrap().iter().sum()
    }
}

// rows: X15
#[test]
fn every_way_to_read_is_open_to_the_host() {
    alike(frozen!(printed), 1, || {
        [[1.0, 2.0], [10.0, 20.5], [1000.25, 3.0]].map(|x| values(&printed(&Float::from(x)))).to_vec()
    });
}

#[test]
fn elsewhere_the_closure_just_runs() {
    let x = Float::from([1.0, 2.0]);
    let read = x.clone();
    assert_eq!(values(&host(move || (&read * 2.0).sum())), [6.0]);
    assert_eq!(host(|| 7), 7);
}

#[test]
fn closures_and_shared_state_call_the_host() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let step = Frozen::with(3.0_f32, |factor: &f32, x: &Float| {
        let (x, factor) = (x.clone(), *factor);
        host(move || Float::from(x.to_vec().unwrap().iter().map(|x| x * factor).collect::<Vec<_>>())) + 1.0
    });
    for width in [2, 5, 3] {
        seen.lock().unwrap().push(values(&step.call(&Float::arange(width).make_opaque())));
    }
    let wanted = [2, 5, 3].map(|width| (0..width).map(|i| 3.0 * i as f32 + 1.0).collect::<Vec<_>>());
    assert_eq!(*seen.lock().unwrap(), wanted);
    crate::frozen_only!();
    assert_eq!(step.stats().recordings, 1);
}

static KEPT: Mutex<Option<Float>> = Mutex::new(None);

#[freeze]
fn overwritten() -> Float {
    let mut table = host(|| KEPT.lock().unwrap().clone().unwrap());
    table.scatter(7.0, &UInt::from(1));
    table + 1.0
}

#[test]
fn arrays_that_the_host_returns_and_retains_are_not_overwritten() {
    for salt in 0..3 {
        let first = salt as f32;
        *KEPT.lock().unwrap() = Some(Float::from([first, 2.0, 3.0]));
        assert_eq!(values(&overwritten()), [first + 1.0, 8.0, 4.0]);
        assert_eq!(values(KEPT.lock().unwrap().as_ref().unwrap()), [first, 2.0, 3.0]);
    }
    crate::frozen_only!();
    assert_eq!(overwritten::stats().replays, 2);
}

#[freeze]
fn sized(x: &Float) -> (Float, Size) {
    let (width, double) = (x.width(), x.width() * 2);
    let read = x.clone();
    let (ramp, sum) = host(move || {
        let (three, length) = (Size::from(3), Size::from(read.len()));
        assert!(width == length && double / 2 == width && double.min(3) == three && width < double);
        (Float::linspace(0.0, 1.0, double), width + double.get())
    });
    (ramp + Float::concat(&[x, x]), sum)
}

#[test]
fn sizes_of_the_function_are_those_of_the_call() {
    for width in [4, 9, 1000, 4] {
        let x = floats(width, 2);
        let (ramp, sum) = sized(&x);
        assert_eq!(values(&ramp), values(&(Float::linspace(0.0, 1.0, 2 * width) + Float::concat(&[&x, &x]))));
        assert_eq!(sum, 3 * width);
    }
    // The widths of the operands of the addition are compared.
    crate::frozen_only!();
    assert_eq!((sized::stats().recordings, sized::stats().replays), (1, 3), "{:?}", sized::explain());
}

#[derive(Clone, Traverse)]
struct Scene {
    weights: Arc<Float>,
    hidden: Float,
}

#[freeze(state = |scene| (&scene.hidden,))]
fn lit(scene: &Scene, x: &Float) -> Float {
    let (weights, hidden) = (Arc::clone(&scene.weights), scene.hidden.clone());
    let sum = host(move || {
        let both = weights.to_vec().unwrap().into_iter().zip(hidden.to_vec().unwrap());
        Float::from(both.map(|(a, b)| a * b).sum::<f32>())
    });
    x * sum
}

#[test]
fn arrays_that_stay_where_they_are_are_read() {
    let mut scene = Scene { weights: Arc::new(floats(3, 1)), hidden: floats(3, 2) };
    let x = Float::from([1.0, 2.0]);
    for salt in 0..4 {
        let both = values(&scene.weights).into_iter().zip(values(&scene.hidden));
        let sum = both.map(|(a, b)| a * b).sum::<f32>();
        assert_eq!(values(&lit(&scene, &x)), [sum, 2.0 * sum], "{salt}");
        scene = Scene { weights: Arc::new(floats(3, salt)), hidden: floats(3, salt + 9) };
    }
    crate::frozen_only!();
    assert_eq!((lit::stats().recordings, lit::stats().replays), (1, 3), "{:?}", lit::explain());
}

#[freeze]
fn blurred(x: &Float) -> Float {
    (x + x.reverse()) * host(|| Float::opaque(0.5))
}

#[freeze]
fn with_frozen(x: &Float) -> Float {
    let read = x.clone();
    let blurred = host(move || {
        let own = Float::from(read.to_vec().unwrap());
        let before = Float::from(2.0) * 3.0 + UInt::arange(3).cast::<f32>().sum();
        blurred(&own) + before
    });
    // The same expressions as in the closure.
    blurred * (Float::from(2.0) * 3.0) + UInt::arange(3).cast::<f32>().sum()
}

#[test]
fn the_host_calls_frozen_functions_of_its_own() {
    alike(frozen!(with_frozen), 1, || [3, 8, 5, 3].map(|width| values(&with_frozen(&floats(width, width)))).to_vec());
}

#[freeze]
fn masked(x: &Float) -> (Float, Float) {
    let read = x.gt(0.0);
    let mask = host(move || Mask::from(read.to_vec().unwrap().into_iter().rev().collect::<Vec<_>>()));
    let mut y = x.clone();
    if mask {
        y = y + 10.0;
    }
    (y, x.filter(&mask))
}

#[test]
fn arrays_that_the_host_makes_are_traced_conditions() {
    alike(frozen!(masked), 1, || {
        let each = [(12, 8), (20, 9), (40, 5), (13, 8)].map(|(width, salt)| {
            let (y, chosen) = masked(&floats(width, salt));
            (values(&y), values(&chosen))
        });
        each.to_vec()
    });
}

#[freeze]
fn with_tensor(x: &Float) -> Tensor<f32> {
    let read = x.clone();
    let rows = host(move || {
        let pairs = Float::from(read.to_vec().unwrap().into_iter().flat_map(|x| [x, -x]).collect::<Vec<_>>());
        let length = read.len();
        Tensor::from_array(pairs, [length, 2])
    });
    rows * 2.0
}

#[test]
fn tensors_come_from_the_host() {
    for width in [3, 4, 3, 4, 3] {
        let x = floats(width, width);
        let tensor = with_tensor(&x);
        assert_eq!(tensor.shape().to_vec(), [width, 2]);
        let wanted: Vec<f32> = values(&x).into_iter().flat_map(|x| [x * 2.0, -x * 2.0]).collect();
        assert_eq!(tensor.to_vec().unwrap(), wanted);
    }
    crate::frozen_only!();
    assert!(with_tensor::stats().replays >= 3, "{:?}", with_tensor::explain());
}

static STASH: Mutex<Vec<jit::View<f32>>> = Mutex::new(Vec::new());

#[freeze]
fn stashed(x: &Float) -> Float {
    let twice = x * 2.0;
    let read = twice.clone();
    let sum = host(move || {
        let view = read.view().unwrap();
        let sum = view.iter().sum::<f32>();
        STASH.lock().unwrap().push(view);
        Float::from(sum)
    });
    let sorted = (twice.sort() + 1.0).sort();
    sorted * sum
}

#[test]
fn a_view_that_outlives_the_call_keeps_its_elements() {
    crate::replays_alone!();
    for salt in 0..5 {
        let x = floats(64, salt);
        let sum: f32 = values(&x).iter().map(|x| x * 2.0).sum();
        assert_eq!(values(&stashed(&x)), values(&(((&x * 2.0).sort() + 1.0) * sum)));
    }
    for (salt, view) in STASH.lock().unwrap().iter().enumerate() {
        assert_eq!(view[..], values(&(floats(64, salt) * 2.0)));
    }
    crate::frozen_only!();
    assert_eq!((stashed::stats().recordings, STASH.lock().unwrap().len()), (1, 5));
}
