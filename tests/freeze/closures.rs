//! Frozen closures.

use jit::freeze::Frozen;
use jit::prelude::*;

#[derive(Clone, Traverse)]
struct State {
    total: Float,
    calls: u32,
}

#[test]
fn each_value_has_its_own_recordings() {
    let make = || Frozen::new(|x: &Float| x * 2.0);
    let (first, second) = (make(), make());
    let x = Float::arange(4).make_opaque();
    for _ in 0..3 {
        assert_eq!(first.call(&x).to_vec().unwrap(), [0.0, 2.0, 4.0, 6.0]);
    }
    assert_eq!(second.call(&x).len(), 4);
    crate::frozen_only!();
    assert_eq!((first.stats().recordings, first.stats().replays), (1, 2));
    assert_eq!((second.stats().recordings, second.stats().replays), (1, 0));
    first.clear();
    assert_eq!((first.stats().recordings, second.stats().recordings), (0, 1));
}

#[test]
fn arguments_are_references_and_numbers() {
    let step = Frozen::new(|state: &mut State, x: &[Float], k: f32, text: &str| {
        state.total += &x[0] * k;
        state.calls += 1;
        (x.len() as u32, text.len() as u32, x[1].width())
    });
    let mut state = State { total: Float::zeros(3), calls: 0 };
    for call in 1..5_u32 {
        state.calls = 0;
        let x = [Float::from([1.0, 2.0, 3.0]), Float::arange(10 + call as usize).make_opaque()];
        let (count, length, width) = step.call((&mut state, &x[..], 0.5_f32, "half"));
        assert_eq!((count, length, width.get()), (2, 4, 10 + call as usize));
        assert_eq!(state.total.to_vec().unwrap(), [1.0, 2.0, 3.0].map(|x| x * 0.5 * call as f32));
        assert_eq!(state.calls, 1);
    }
    // The total, a constant in the first call, was written to memory before it.
    crate::frozen_only!();
    assert_eq!(step.stats().recordings, 1, "{:?}", step.explain());
}

// rows: F067 F084
#[test]
fn captures_are_read_in_each_call() {
    crate::on_each_device(|| {
        let mut scaled = Frozen::with((Float::opaque(3.0), 1_u32), |(scale, power): &(Float, u32), x: &Float| {
            (0..*power).fold(x.clone(), |x, _| x * scale)
        });
        let x = Float::from([1.0, 2.0]);
        assert_eq!(scaled.call(&x).to_vec().unwrap(), [3.0, 6.0]);
        scaled.captures_mut().0 = Float::opaque(5.0);
        assert_eq!(scaled.call(&x).to_vec().unwrap(), [5.0, 10.0]);
        crate::frozen_only!(assert_eq!(scaled.stats().recordings, 1));
        scaled.captures_mut().1 = 2;
        assert_eq!(scaled.call(&x).to_vec().unwrap(), [25.0, 50.0]);
        assert_eq!(scaled.captures().1, 2);
        crate::frozen_only!();
        let why = scaled.explain();
        assert!(why[1].to_string().starts_with("`captures.1` was 1 (u32) and is 2 (u32)"), "{}", why[1]);
    });
}

#[test]
fn options_are_those_of_functions() {
    let power = Frozen::new(|x: &Float, n: i32| x.powi(n)).limit(1);
    let x = Float::from([2.0, 3.0]);
    for (call, n) in [1, 2, 2, 1].into_iter().enumerate() {
        assert_eq!(power.call((&x, n)).to_vec().unwrap(), [2_f32.powi(n), 3_f32.powi(n)], "{call}");
    }
    let stats = power.stats();
    crate::frozen_only!();
    assert_eq!((stats.recordings, stats.replays, stats.evictions, stats.cached), (3, 1, 2, 1));
    let off = Frozen::new(|x: &Float| x + 1.0).enabled(false);
    assert_eq!((off.call(&x).to_vec().unwrap(), off.stats().direct), (vec![3.0, 4.0], 1));
    off.set_enabled(true);
    assert_eq!((off.call(&x).to_vec().unwrap(), off.stats().recordings), (vec![3.0, 4.0], 1));
    let once = Frozen::new(|x: &Float, n: u32| x * n as f32).budget(1).label("times");
    once.call((&x, 1_u32));
    let error = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| once.call((&x, 2_u32)))).unwrap_err();
    let text = error.downcast_ref::<String>().expect("a message");
    assert!(text.contains("`times` was recorded more than 1 times") && text.contains("`args[1]` was 1"), "{text}");
}

#[jit]
fn limited(x: &Float) -> Float {
    let mut x = x.clone();
    while x > 1.0 {
        x *= 0.5;
    }
    x
}

#[test]
fn functions_are_frozen_as_closures_are() {
    let frozen = Frozen::new(limited);
    for width in [5_usize, 9] {
        let x = Float::arange(width).make_opaque();
        assert_eq!(frozen.call(&x).to_vec().unwrap(), limited(&x).to_vec().unwrap());
    }
    crate::frozen_only!();
    assert_eq!(frozen.stats().recordings, 1);
    let nothing = Frozen::new(|| Float::arange(3));
    assert_eq!((nothing.call(()).len(), nothing.call(()).len()), (3, 3));
    assert_eq!(nothing.stats().replays, 1);
}

#[test]
fn threads_share_a_closure() {
    let square = Frozen::new(|x: &Float| x * x);
    square.call(&Float::arange(2).make_opaque());
    std::thread::scope(|scope| {
        for thread in 0..3_usize {
            let square = &square;
            scope.spawn(move || {
                for width in 2..20 {
                    let x = Float::full(thread as f32, width + thread).make_opaque();
                    assert_eq!(square.call(&x).to_vec().unwrap(), vec![(thread * thread) as f32; width + thread]);
                }
            });
        }
    });
    crate::frozen_only!();
    assert_eq!(square.stats().recordings, 2, "one more recording for a constant: {:?}", square.explain());
}
