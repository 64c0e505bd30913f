//! The number of recordings, and the messages about them; constants among the arguments.

use jit::prelude::*;

use crate::{alike, floats, frozen, values};

/// The recordings, and those that are retained, of a function after calls with three host numbers.
macro_rules! limited {
    ($($name:ident($($option:tt)*) $wanted:expr;)*) => {$({
        #[freeze($($option)*)]
        fn $name(x: &Float, n: i32) -> Float {
            x.powi(n)
        }
        $name::clear();
        for n in [1, 2, 3] {
            assert_eq!($name(&Float::from([2.0, 4.0]), n).to_vec().unwrap(), [2_f32.powi(n), 4_f32.powi(n)]);
        }
        let stats = $name::stats();
        assert_eq!((stats.recordings, stats.cached), $wanted, stringify!($name));
    })*};
}

// rows: F070
#[test]
fn a_limit_bounds_the_retained_recordings() {
    crate::frozen_only!();
    crate::on_each_device(|| {
        limited! {
            unlimited(limit = -1) (3, 3);
            unsaid() (3, 3);
            none(limit = 0) (0, 0);
            one(limit = 1) (3, 1);
            two(limit = 2) (3, 2);
        }
    });
}

#[freeze]
fn cleared(x: &Float) -> Float {
    x + 1.0
}

// rows: F063
#[test]
fn cleared_functions_begin_anew() {
    crate::on_each_device(|| {
        cleared::clear();
        let x = floats(5, 1);
        let call = || assert_eq!(values(&cleared(&x)), values(&(&x + 1.0)));
        call();
        call();
        crate::frozen_only!();
        assert_eq!((cleared::stats().recordings, cleared::stats().replays), (1, 1));
        cleared::clear();
        assert_eq!((cleared::stats().recordings, cleared::stats().replays, cleared::explain().len()), (0, 0, 0));
        call();
        assert_eq!((cleared::stats().recordings, cleared::stats().replays), (1, 0));
    });
}

#[freeze(enabled = false)]
fn switched(x: &Float) -> Float {
    x + 1.0
}

// rows: F104
#[test]
fn a_function_that_is_off_runs_its_body() {
    let check = || {
        let x = floats(5, 1);
        let call = || assert_eq!(values(&switched(&x)), values(&(&x + 1.0)));
        call();
        assert_eq!((switched::stats().recordings, switched::stats().direct), (0, 1));
        switched::set_enabled(true);
        call();
        crate::frozen_only!();
        assert_eq!((switched::stats().recordings, switched::stats().replays), (1, 0));
        call();
        assert_eq!((switched::stats().recordings, switched::stats().replays), (1, 1));
    };
    crate::on_each_device(|| {
        check();
        switched::clear();
        switched::set_enabled(false);
    });
}

#[freeze(warn_after = 2)]
fn warned(x: &Float, n: i32) -> Float {
    x.powi(n)
}

// rows: F072
#[test]
fn many_recordings_are_reported_once() {
    crate::frozen_only!();
    if crate::alone_on_each_device("limits::many_recordings_are_reported_once", |text| {
        let warning = "`warned` was recorded 3 times: `n` was 2 (i32) and is 3 (i32)";
        assert_eq!(text.matches("was recorded").count(), 1, "{text}");
        assert!(text.contains(warning), "{text}");
    }) {
        return;
    }
    jit::set_log_level(jit::Level::Warn);
    let x = floats(3, 1);
    for n in 1..5 {
        assert_eq!(values(&warned(&x, n)), values(&x.powi(n)));
    }
}

#[freeze]
fn indexed(x: &Float, i: &UInt) -> Float {
    x.gather(i) * 2.0
}

// rows: F077
#[test]
fn a_constant_that_changes_stays_a_constant_of_the_caller() {
    alike(frozen!(indexed), 2, || {
        [0_u32, 1, 2, 1].map(|i| {
            let i = UInt::from(i);
            let y = values(&indexed(&floats(4, 9), &i));
            assert!(i.is_literal());
            y
        })
    });
}

#[freeze(auto_opaque = false)]
fn indexed_at_once(x: &Float, i: &UInt) -> Float {
    x.gather(i) * 2.0
}

// rows: F077
#[test]
fn constants_may_be_values_from_the_first_call() {
    alike(frozen!(indexed_at_once), 1, || {
        [0_u32, 1, 2].map(|i| values(&indexed_at_once(&floats(4, 9), &UInt::from(i))))
    });
}

#[derive(Clone, Traverse)]
struct Holder {
    inner: Float,
    offset: Float,
}

#[freeze]
fn of_constants(x: &Float) -> (Float, UInt) {
    (x + 1.0, UInt::arange(x.width()))
}

#[freeze]
fn of_held_constants(holder: &Holder) -> Holder {
    Holder { inner: &holder.inner + &holder.offset, offset: holder.offset.clone() }
}

// rows: F078 F079
#[test]
fn constants_of_every_width() {
    alike(frozen!(of_constants), 1, || {
        std::array::from_fn::<_, 10, _>(|i| {
            let (y, lanes) = of_constants(&Float::zeros(10 * (i + 1)));
            (values(&y), values(&lanes))
        })
    });
    alike(frozen!(of_held_constants), 1, || {
        std::array::from_fn::<_, 10, _>(|i| {
            let n = 10 * (i + 1);
            let holder = of_held_constants(&Holder { inner: Float::zeros(n), offset: floats(n, i) });
            (values(&holder.inner), values(&holder.offset))
        })
    });
}

#[derive(Clone, Traverse)]
struct Point {
    x: Float,
    z: Float,
}

#[freeze]
fn paths(list: &[Float], point: &Point, k: &Float) -> Float {
    &list[0] * &list[1] + &point.x * &point.z + k
}

// rows: F096
#[test]
fn changed_values_are_named_by_their_path() {
    crate::on_each_device(|| {
        paths::clear();
        let call = |second: f32, z: f32, k: f32| {
            let list = [floats(3, 1), Float::from(second)];
            let point = Point { x: floats(3, 2), z: Float::from(z) };
            values(&paths(&list, &point, &Float::from(k)))
        };
        let wanted = |second: f32, z: f32, k: f32| values(&(floats(3, 1) * second + floats(3, 2) * z + k));
        let calls = [(1.0, 2.0, 3.0), (4.0, 2.0, 3.0), (4.0, 5.0, 3.0), (4.0, 5.0, 6.0), (7.0, 8.0, 9.0)];
        for (a, b, c) in calls {
            assert_eq!(call(a, b, c), wanted(a, b, c));
        }
        let explained: Vec<String> = paths::explain().iter().map(ToString::to_string).collect();
        let lines = paths::explain().to_string();
        assert_eq!(lines.lines().count(), explained.len(), "{lines}");
        assert!(
            explained.iter().zip(lines.lines()).all(|(explained, line)| explained.lines().next() == Some(line)),
            "{lines}"
        );
        crate::frozen_only!();
        assert_eq!(explained.len(), 4, "{explained:?}");
        for (explained, path) in explained[1..].iter().zip(["`list[1]`", "`point.z`", "`k`"]) {
            assert!(explained.starts_with(path), "{explained}");
        }
    });
}

#[freeze]
fn without_arguments() -> Float {
    Float::arange(10) * 2.0
}

// rows: F075
#[test]
fn functions_without_arguments() {
    alike(frozen!(without_arguments), 1, || [0, 1, 2].map(|_| values(&without_arguments())));
    let on = |device| jit::with_device(device, || values(&without_arguments()));
    without_arguments::clear();
    let wanted = on(Device::Interpreter);
    if !crate::tested_devices::has_llvm() {
        return;
    }
    assert_eq!(on(Device::Cpu), wanted);
    crate::frozen_only!();
    assert_eq!(without_arguments::stats().recordings, 2, "each device has its own recordings");
}

#[freeze(limit = 2)]
fn few(x: &Float, n: i32, name: &str) -> Float {
    x.powi(n) + name.len() as f32
}

#[test]
fn dropped_recordings_are_not_found_and_retained_ones_are() {
    let x = floats(4, 1);
    let call = |n: i32, name: &str| {
        assert_eq!(values(&few(&x, n, name)), values(&(x.powi(n) + name.len() as f32)), "{n} {name}");
    };
    for round in 0..3 {
        for name in ["", "a", "bc", "def", "a"] {
            call(round, name);
            call(round, name);
            call(round + 1, "kept");
        }
    }
    crate::frozen_only!();
    let stats = few::stats();
    assert_eq!((stats.cached, stats.replays + stats.recordings, stats.direct), (2, 45, 0));
    assert_eq!(stats.evictions, stats.recordings - 2);
    assert!(stats.replays >= 15, "{stats:?}");
}
