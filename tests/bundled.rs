//! A program that includes a bundle: the module that `tests/bundle` writes, compiled here.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers may panic, too")]

#[allow(dead_code, reason = "the bundle itself is written by other tests")]
#[path = "bundle/functions.rs"]
mod functions;
#[path = "shared/tested_devices.rs"]
mod tested_devices;

use std::sync::{Mutex, PoisonError};

use functions::{Outcome, State};
use jit::prelude::*;
use jit::{ErrorKind, Result};

jit::include_bundle!(kernels in "bundle/golden");

/// Runs a test on every device, alone: counters are those of the process.
fn on_each_device(run: impl Fn() -> Result<()>) {
    static ONE: Mutex<()> = Mutex::new(());
    let _alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    for device in tested_devices::all() {
        jit::with_device(device, || run().unwrap_or_else(|error| panic!("on {device}: {error}")));
    }
}

// rows: N03
#[test]
fn functions_of_a_bundle_are_called_at_other_sizes_without_tracing() {
    on_each_device(|| {
        kernels::saxpy::executor()?;
        for count in [2, 99, 100, 1000] {
            let (x, y) = (Float::arange(count).make_opaque(), Float::full(2.0, count).make_opaque());
            jit::eval(&(&x, &y))?;
            let before = jit::stats();
            for (a, n) in [(2.0, 3), (-4.0, 1)] {
                let z = kernels::saxpy(a, n, &x, y.clone())?.to_vec()?;
                let wanted = |x: f32| (a * x + a * 0.5 * 2.0) + (-a).abs().max(1.5) + n as f32 * x;
                assert!(z.iter().zip(0..).all(|(z, x)| *z == wanted(x as f32)), "{a} {n} {count}");
            }
            assert_eq!(jit::stats().traces, before.traces, "{count}");
        }
        Ok(())
    });
}

#[test]
fn arguments_are_changed_and_results_are_built() {
    on_each_device(|| {
        let mut state = State { sum: Float::from([1.0, 2.0]), counts: vec![UInt::zeros(3), UInt::from([7, 8])] };
        let x = Float::from([1.0, 2.0]);
        for _ in 0..2 {
            let Outcome { value, width, steps } = kernels::accumulate(&mut state, &x, &[UInt::from([1, 1, 2])])?;
            assert_eq!((value.unwrap().to_vec()?, width.get(), steps), (vec![1.0, 3.0], 3, 5));
        }
        assert_eq!((state.sum.to_vec()?, state.counts[0].to_vec()?), (vec![11.0, 22.0], vec![0, 4, 2]));
        assert_eq!(kernels::accumulate::executor()?.constexprs(), [("scale", "5".to_owned())]);
        assert_eq!(kernels::threes()?.to_vec()?, [0, 3, 6, 9]);
        Ok(())
    });
}

#[test]
fn arguments_that_do_not_fit_are_errors_of_the_call() {
    on_each_device(|| {
        let x = Float::from([2.0, 3.0]);
        assert_eq!(kernels::cube(&x, 3)?.0.to_vec()?, [8.0, 27.0]);
        let refused = kernels::cube(&x, 4).unwrap_err();
        assert_eq!(refused.site().unwrap().file(), file!());
        let refused = refused.to_string();
        assert!(refused.contains("another `n`: it was 3 (u32), and is 4 (u32)"), "{refused}");
        let refused = kernels::saxpy(1.0, 1, &x, Float::zeros(3)).unwrap_err().to_string();
        assert!(refused.contains("y.width() == x.width()"), "{refused}");
        Ok(())
    });
}

// one device: another one than the tested ones
#[test]
fn a_device_without_code_is_an_error() {
    let refused = jit::with_device(Device::Cuda(0), || kernels::threes::executor().map(drop)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NoDevice);
    assert!(refused.to_string().contains("`threes` cannot be called on the device `cuda:0`"), "{refused}");
}
