//! What an executor does: nothing while it is made, then the same for each call.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};

use jit::prelude::*;
use jit::{CachePolicy, Executor};

use crate::on_each_device;

#[jit]
fn saxpy(a: f32, x: &Float, y: Float) -> Float {
    a * x + y
}

// rows: K101 K108
#[test]
fn compiling_launches_nothing_and_takes_no_memory() {
    on_each_device(|| {
        jit::cache::clear();
        let before = (jit::stats(), jit::memory());
        let exe = saxpy::compile(2.0, &Float::placeholder(1 << 31), Float::placeholder(1 << 31))?;
        let (stats, memory) = (jit::stats(), jit::memory());
        assert_eq!(stats.launches, before.0.launches);
        assert!(memory.live_bytes < before.1.live_bytes + (1 << 16), "{memory:?}");
        assert_eq!(stats.compiles, before.0.compiles + 1, "the code was not compiled");
        let (x, y) = (Float::from([1.0, 2.0, 3.0]), Float::from([10.0, 20.0, 30.0]));
        assert_eq!(exe.call(2.0, &x, y.clone())?.to_vec()?, [12.0, 24.0, 36.0]);
        assert_eq!(exe.call(-1.0, &x, y)?.to_vec()?, [9.0, 18.0, 27.0]);
        assert_eq!(exe.recording().launches(), 1);
        Ok(())
    });
}

// rows: K104
#[test]
fn the_first_call_compiles_and_traces_nothing() {
    on_each_device(|| {
        let (x, y) = (Float::from([1.0, 2.0]), Float::from([3.0, 4.0]));
        let exe = saxpy::compile(0.5, &x, y.clone())?;
        let before = jit::stats();
        assert_eq!(exe.call(4.0, &x, y)?.to_vec()?, [7.0, 12.0]);
        let after = jit::stats();
        assert_eq!((after.traces, after.compiles), (before.traces, before.compiles));
        assert_eq!(after.launches, before.launches + 1);
        Ok(())
    });
}

static CAPTURED: AtomicU32 = AtomicU32::new(0);

#[jit]
fn plus_captured(x: &UInt) -> UInt {
    x + CAPTURED.load(Ordering::Relaxed)
}

// rows: K101 K102 K107
/// Two executors of one function with different captured numbers, in a map of the user's.
#[test]
fn executors_keep_what_the_body_captured() {
    on_each_device(|| {
        type OfIntegers = Executor<fn(&UInt) -> UInt>;
        let mut executors: HashMap<u32, OfIntegers> = HashMap::new();
        for captured in [1, 20] {
            CAPTURED.store(captured, Ordering::Relaxed);
            executors.insert(captured, plus_captured::compile(&UInt::placeholder(4))?);
        }
        CAPTURED.store(300, Ordering::Relaxed);
        jit::cache::clear();
        for (captured, exe) in &executors {
            assert_eq!(exe.call(&UInt::from([1, 2]))?.to_vec()?, [1 + captured, 2 + captured]);
        }
        assert_eq!(plus_captured(&UInt::from([1])).to_vec()?, [301]);
        Ok(())
    });
}

#[jit]
fn power(x: &Float, #[constexpr] n: usize, #[constexpr] name: &str) -> Float {
    let mut y = x.clone();
    for _ in 1..n {
        y = y * x;
    }
    if name == "negative" { -y } else { y }
}

// rows: K105 K106
#[test]
fn constexprs_are_gone_from_calls_and_can_be_read() {
    on_each_device(|| {
        let exe: Executor<fn(&Float) -> Float> = power::compile(&Float::placeholder(2), 3, "negative")?;
        assert_eq!(exe.constexprs(), [("n", "3".to_owned()), ("name", "\"negative\"".to_owned())]);
        assert_eq!(exe.call(&Float::from([2.0, 3.0]))?.to_vec()?, [-8.0, -27.0]);
        Ok(())
    });
}

// rows: K103
#[test]
fn executors_are_shared_between_threads() {
    fn check<T: Clone + Send + Sync + 'static>(_: &T) {}
    on_each_device(|| {
        let exe = saxpy::compile(2.0, &Float::placeholder(9), Float::placeholder(9))?;
        check(&exe);
        let device = exe.device();
        let threads: Vec<_> = (0..4)
            .map(|thread| {
                let exe = exe.clone();
                std::thread::spawn(move || {
                    jit::with_device(device, || {
                        (0..20).all(|call| {
                            let x = Float::full(call as f32, 100 + thread).make_opaque();
                            let y = exe.call(thread as f32, &x, Float::full(1.0, 100 + thread).make_opaque());
                            y.unwrap().to_vec().unwrap() == vec![thread as f32 * call as f32 + 1.0; 100 + thread]
                        })
                    })
                })
            })
            .collect();
        assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
        Ok(())
    });
}

// rows: K112
#[test]
fn what_is_compiled_can_be_read() {
    on_each_device(|| {
        let exe = saxpy::compile(2.0, &Float::placeholder(1000), Float::placeholder(1000))?;
        let kernels = exe.kernels();
        assert_eq!((kernels.len(), &*kernels[0].label, &*kernels[0].lanes), (1, "saxpy", "x.width()"));
        assert!(exe.ir().contains("mul"), "{}", exe.ir());
        if kernels[0].code_bytes > 0 {
            assert!(exe.llvm_ir().is_some_and(|text| text.contains("fmul")));
            assert!(exe.asm().is_some_and(|text| text.contains("ret")));
        } else {
            assert_eq!((exe.llvm_ir(), exe.asm()), (None, None));
        }
        let shown = format!("{exe:?}");
        assert!(shown.contains("saxpy") && shown.contains("launches: 1"), "{shown}");
        assert!(shown.contains(r#"parameters: ["a", "x", "y"]"#), "each once: {shown}");
        Ok(())
    });
}

#[jit]
fn cubed_minus_one(x: &Float) -> Float {
    x * x * x - 1.0
}

#[jit(label = "under another name")]
fn counted(x: &Float, k: f32) -> Float {
    x * k
}

#[test]
fn recordings_and_calls_are_counted_at_the_function() {
    on_each_device(|| {
        counted::clear();
        let exes = [counted::compile(&Float::placeholder(9), 1.0)?, counted::compile(&Float::placeholder(9), 2.0)?];
        for calls in 1..4 {
            exes[0].call(&Float::arange(3), 0.5)?.to_vec()?;
            let stats = counted::stats();
            assert_eq!((stats.traces, stats.recordings, stats.replays), (2, 2, calls));
        }
        let mut x = Float::arange(3);
        x.enable_grad();
        exes[1].call(&x, 0.5)?.backward()?;
        assert_eq!((counted::stats().recordings, counted::stats().replays), (3, 4));
        counted::clear();
        assert_eq!((counted::stats().recordings, counted::stats().replays), (0, 0));
        Ok(())
    });
}

/// A function whose name is a keyword.
#[jit]
fn r#yield(x: &Float) -> Float {
    x + 1.0
}

#[test]
fn functions_may_have_raw_names() {
    on_each_device(|| {
        let exe = r#yield::compile(&Float::placeholder(9))?;
        assert_eq!(exe.call(&Float::from([1.0, 2.0]))?.to_vec()?, [2.0, 3.0]);
        assert_eq!(r#yield(&Float::from([4.0])).to_vec()?, [5.0]);
        Ok(())
    });
}

// rows: K114
#[test]
fn policies_decide_whether_the_cache_is_used() {
    on_each_device(|| {
        jit::cache::clear();
        let x = Float::placeholder(100);
        let (entries, compiled) = (|| jit::cache::stats().entries, || jit::stats().compiles);
        let before = compiled();
        for (policy, new_compiles, new_entries) in [
            (CachePolicy::Bypass, 1, 0),
            (CachePolicy::ReadOnly, 2, 0),
            (CachePolicy::ReadWrite, 3, 1),
            (CachePolicy::ReadWrite, 3, 1),
            (CachePolicy::ReadOnly, 3, 1),
            (CachePolicy::Bypass, 4, 1),
        ] {
            let exe = cubed_minus_one::compile_with(policy, &x)?;
            assert_eq!((compiled() - before, entries()), (new_compiles, new_entries), "{policy:?}");
            assert_eq!(exe.call(&Float::from([2.0, 3.0]))?.to_vec()?, [7.0, 26.0]);
        }
        Ok(())
    });
}
