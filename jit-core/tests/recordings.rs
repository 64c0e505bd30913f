//! Recording and replaying, without macros.

use jit_core::freeze::{ByValue, Exclusive, Function, Options, Shared, call};
use jit_core::{Float, UInt};

static ADD: Function = Function::new("add", &["x", "y"], Options::DEFAULT);

fn add(x: &Float, y: &Float) -> Float {
    call(&ADD, (Shared(x), Shared(y)), |(x, y)| &*x * 2.0 + &*y).unwrap_or_else(|| x * 2.0 + y)
}

#[test]
fn elementwise_functions_are_recorded_once_for_all_sizes() {
    for width in [3, 64, 5, 2, 100_000] {
        let (x, y) = (Float::arange(width).make_opaque(), (Float::arange(width) + 1.0).make_opaque());
        let z = add(&x, &y);
        assert_eq!(z.to_vec().unwrap(), (0..width).map(|i| 3.0 * i as f32 + 1.0).collect::<Vec<_>>());
    }
    let stats = ADD.stats();
    assert_eq!((stats.recordings, stats.replays, stats.direct), (1, 4, 0), "{:?}", ADD.explain());
    for width in [1, 0, 1, 0] {
        let (x, y) = (Float::arange(width).make_opaque(), (Float::arange(width) + 1.0).make_opaque());
        assert_eq!(add(&x, &y).len(), width);
    }
    assert_eq!(ADD.stats().recordings, 3, "{:?}", ADD.explain());
}

static REVERSE: Function = Function::new("reverse", &["x"], Options::DEFAULT);

#[test]
fn sizes_are_expressions() {
    for width in [8_usize, 16, 5, 1000] {
        let x = Float::from((0..width).map(|i| i as f32).collect::<Vec<_>>());
        let [reversed, half, last, sum] = call(&REVERSE, (Shared(&x),), |(x,)| {
            let half = x.gather(&(UInt::arange(x.width() / 2) * 2));
            let last = x.gather(&UInt::arange(x.width() - 1));
            [x.reverse(), half, last, x.sum() + x.mean()]
        })
        .unwrap();
        let wanted: Vec<f32> = (0..width).map(|i| i as f32).collect();
        assert_eq!(reversed.to_vec().unwrap(), wanted.iter().rev().copied().collect::<Vec<_>>());
        assert_eq!(half.to_vec().unwrap(), wanted.iter().step_by(2).take(width / 2).copied().collect::<Vec<_>>());
        assert_eq!(last.to_vec().unwrap(), wanted[..width - 1]);
        let total: f32 = wanted.iter().sum();
        assert_eq!(sum.item().unwrap(), total + total / width as f32);
    }
    assert_eq!(REVERSE.stats().recordings, 1, "{:?}", REVERSE.explain());
}

static STEP: Function = Function::new("step", &["state", "x", "k"], Options::DEFAULT);

#[test]
fn state_is_scattered_to_and_grows() {
    let mut state = (Float::zeros(4).make_opaque(), vec![UInt::arange(2).make_opaque()], 0_u32);
    let mut wanted = vec![0.0; 4];
    for round in 0..6_usize {
        let x = Float::from(vec![round as f32; 3]);
        let before = state.0.clone();
        let snapshot = before.to_vec().unwrap();
        call(&STEP, (Exclusive(&mut state), Shared(&x), ByValue(&1_u32)), |(state, x, k)| {
            state.0.scatter_add(&*x, &UInt::from([0, 2, 2]));
            state.1[0] = &state.1[0] + *k;
            state.2 = 7;
        })
        .unwrap();
        wanted[0] += round as f32;
        wanted[2] += 2.0 * round as f32;
        assert_eq!(state.0.to_vec().unwrap(), wanted);
        assert_eq!(state.1[0].to_vec().unwrap(), [round as u32 + 1, round as u32 + 2]);
        assert_eq!(state.2, 7);
        assert_eq!(before.to_vec().unwrap(), snapshot, "another owner retains its elements");
    }
    // The number in the state was 0 in the first call, and 7 in the others.
    assert_eq!(STEP.stats().recordings, 2, "{:?}", STEP.explain());
}

static COMPRESS: Function = Function::new("compress", &["x"], Options::DEFAULT);

#[test]
fn true_lanes_are_counted_in_each_replay() {
    for width in [10_usize, 20, 7, 30] {
        let x = Float::from((0..width).map(|i| (i % 3) as f32).collect::<Vec<_>>());
        let (kept, sum) = call(&COMPRESS, (Shared(&x),), |(x,)| {
            let kept = x.filter(&x.gt(0.5));
            (kept.clone() + 1.0, kept.sum())
        })
        .unwrap();
        let wanted: Vec<f32> = (0..width).map(|i| (i % 3) as f32).filter(|&x| x > 0.5).collect();
        assert_eq!(kept.to_vec().unwrap(), wanted.iter().map(|x| x + 1.0).collect::<Vec<_>>());
        assert_eq!(sum.item().unwrap(), wanted.iter().sum::<f32>());
    }
    assert_eq!(COMPRESS.stats().recordings, 1, "{:?}", COMPRESS.explain());
}

static HIDDEN: Function = Function::new("hidden", &["x"], Options::DEFAULT);

#[test]
fn arrays_from_elsewhere_are_refused() {
    let x = Float::arange(4).make_opaque();
    for hidden in [Float::arange(4), Float::from(2.0), Float::from([1.0, 2.0, 3.0, 4.0])] {
        let run = || call(&HIDDEN, (Shared(&x),), |(x,)| &*x * &hidden);
        let error = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).unwrap_err();
        let text = error.downcast_ref::<String>().expect("a message");
        assert!(text.contains("not an argument of it"), "{text}");
    }
    let fine = call(&HIDDEN, (Shared(&x),), |(x,)| &*x + 1.0).unwrap();
    assert_eq!(fine.to_vec().unwrap(), [1.0, 2.0, 3.0, 4.0]);
    let read = || call(&HIDDEN, (Shared(&(&x * 1.0)),), |(x,)| if x.get(0).is_ok() { x.clone() } else { &*x + 1.0 });
    // Another body has recordings of its own.
    let error = std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)).unwrap_err();
    let text = error.downcast_ref::<String>().expect("a message");
    assert!(text.contains("reads the contents"), "{text}");
}
