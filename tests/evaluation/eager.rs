//! Eager mode: each operation is evaluated when it returns. The mode is that of the process, so each test has its own.

use jit::nn::Module;
use jit::prelude::*;
use jit::{ErrorKind, Mode};

use crate::alone::alone;
use crate::on_each_device;

/// Runs a test in eager mode, in a process of its own.
fn in_eager_mode(test: &str, run: impl Fn()) {
    if alone(&format!("eager::{test}"), "").is_none() {
        on_each_device(|| {
            assert_eq!(jit::set_mode(Mode::Eager), Mode::Lazy);
            run();
            assert_eq!((jit::set_mode(Mode::Lazy), jit::mode()), (Mode::Eager, Mode::Lazy));
        });
    }
}

fn launches(run: impl FnOnce()) -> u64 {
    let before = jit::stats().launches;
    run();
    jit::stats().launches - before
}

// rows: O11
#[test]
fn each_operation_is_evaluated_when_it_returns() {
    in_eager_mode("each_operation_is_evaluated_when_it_returns", || {
        let x = Float::from([1.0, 2.0, 3.0]);
        let launched = launches(|| {
            let y = &x + 1.0;
            assert!(y.is_evaluated());
            let z = (&y * &x).sum();
            assert!(z.is_evaluated());
            assert_eq!(z.item().unwrap(), 20.0);
        });
        assert_eq!(launched, 3, "an addition, a product, a sum");
        let mut x = x;
        x.scatter(Float::from([7.0]), &UInt::from([1]));
        assert!(x.is_evaluated());
        assert_eq!(x.to_vec().unwrap(), [1.0, 7.0, 3.0]);
        // Constants stay constants: they take no memory.
        assert!(Float::zeros(3).is_literal() && (Float::zeros(3) + 1.0).is_literal());
    });
}

#[jit]
fn halved(mut x: UInt) -> UInt {
    let mut steps = UInt::from(0);
    while x > 1 {
        x = if x % 2 == 0 { x / 2 } else { 3 * x + 1 };
        steps += 1;
    }
    steps
}

#[freeze]
fn frozen(x: &Float) -> Float {
    (x * 2.0 + 1.0).sqrt()
}

// rows: O11
#[test]
fn regions_and_recordings_are_evaluated_whole() {
    in_eager_mode("regions_and_recordings_are_evaluated_whole", || {
        let (x, y) = (UInt::from([1, 6, 7]), Float::from([0.0, 4.0]));
        assert_eq!(halved(x).to_vec().unwrap(), [0, 8, 16]);
        for _ in 0..2 {
            let launched = launches(|| assert_eq!(frozen(&y).to_vec().unwrap(), [1.0, 3.0]));
            assert_eq!(launched, 1, "a replay is one operation");
        }
        let mut traced = jit::trace(jit::nn::Relu, &Tensor::<f32>::zeros([2, 2])).unwrap();
        assert_eq!(launches(|| drop(traced.forward(&Tensor::from([[1.0f32, -1.0]])))), 1);
    });
}

// rows: O11
#[test]
fn values_without_contents_stay_lazy_and_gradients_flow() {
    in_eager_mode("values_without_contents_stay_lazy_and_gradients_flow", || {
        let later = Float::placeholder(3) + 1.0;
        assert_eq!(later.to_vec().unwrap_err().kind(), ErrorKind::NotEvaluated);
        let mut x = Float::from([1.0, 2.0]);
        x.enable_grad();
        let y = (&x * &x).sum();
        y.backward().unwrap();
        assert_eq!(x.grad().to_vec().unwrap(), [2.0, 4.0]);
    });
}

/// The memory of this process that is in use, in KiB.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

// one device: the graph is the same on all
// rows: O70
#[test]
fn a_million_operations_leave_nothing_behind() {
    if alone("eager::a_million_operations_leave_nothing_behind", "").is_some() {
        return;
    }
    jit::set_mode(Mode::Eager);
    let mut x = Float::opaque(4.0);
    let mut steps = |count: u32| {
        for _ in 0..count {
            x = &x * 0.5 + 1.0;
        }
        assert_eq!(x.item().unwrap(), 2.0);
        (jit::whos().lines().count(), jit::memory().live_bytes)
    };
    let before = steps(250_000);
    let mut resident = vec![resident_kib()];
    for _ in 0..2 {
        assert_eq!(steps(250_000), before);
        resident.push(resident_kib());
    }
    // The better code of hot kernels comes once, in any part, and its compiler keeps something; what operations leave
    // behind would grow in each.
    assert!(resident.windows(2).any(|pair| pair[1] < pair[0] + 1024), "{resident:?} KiB");
}
