//! `jit::check`: what makes values that are not finite, and whether generated code agrees with the interpreter.
#![allow(clippy::unwrap_used, reason = "test helpers may panic, too")]

use jit::check::{self, Tolerance};
use jit::prelude::*;
use jit::{Error, ErrorKind};
use jit_runtime::ir::{BinaryOp, Kernel, Op};
use jit_runtime::launch::inspect::with_fault;

/// Asserts that a check found something at a line of this file, and says all of this.
#[track_caller]
fn assert_found(found: Result<impl Sized, Error>, line: u32, parts: &[&str]) {
    let error = found.err().expect("something is found");
    let text = error.to_string();
    assert_eq!(error.kind(), ErrorKind::CheckFailed, "{text}");
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
    let site = error.site().expect("a line");
    assert_eq!((site.file().rsplit('/').next(), site.line()), (Some("check.rs"), line), "{text}");
}

fn data(values: &[f32]) -> Float {
    Float::from(values).make_opaque()
}

// rows: P34
// no device: it inspects launches on the interpreter, whichever device they are for
#[test]
fn the_operation_its_line_lane_and_operands_are_named() {
    let x = data(&[1.0, 2.0, 0.0, 0.0]);
    let line = line!() + 2;
    let found = check::numerics(|| {
        let y = 3.0 / &x;
        y * 2.0 + 1.0
    });
    assert_found(found, line, &["lane 2: `div` of 3.0 and 0.0 is inf (f32)", "over 4 lanes"]);
    let found = check::numerics(|| (&x - 1.0).sqrt());
    assert_found(found, line!() - 1, &["lane 2: `sqrt` of -1.0 is NaN"]);
    let found = check::numerics(|| (&x * 1e20) * 1e30);
    assert_found(found, line!() - 1, &["lane 0: `mul` of 1e20 and 1e30 is inf"]);
    let wide = Float::arange(10_000) - 9_000.0;
    let found = check::numerics(|| (&wide * 2.0).recip());
    assert_found(found, line!() - 1, &["lane 9000: `", "is inf (f32)", "over 10000 lanes"]);
}

#[test]
fn finite_programs_return_their_result() {
    let x = data(&[1.0, 2.0, 0.0]);
    let (y, sum) = check::numerics(|| (&x * 2.0, x.exp().sum())).unwrap();
    assert_eq!(y.to_vec().unwrap(), [2.0, 4.0, 0.0]);
    assert_eq!(sum.item().unwrap(), x.exp().sum().item().unwrap());
}

#[test]
fn what_is_selected_away_does_not_count() {
    let x = data(&[1.0, 0.0, -1.0]);
    let safe = |x: &Float| x.gt(0.0).select(x.ln(), Float::from(0.0));
    assert_eq!(check::numerics(|| safe(&x)).unwrap().to_vec().unwrap(), [0.0; 3]);
    let least = check::numerics(|| x.full_like(f32::INFINITY).min(&x)).unwrap();
    assert_eq!(least.to_vec().unwrap(), [1.0, 0.0, -1.0]);
    let line = line!() + 1;
    let found = check::numerics(|| x.ge(0.0).select(x.ln(), Float::from(0.0)));
    assert_found(found, line, &["lane 1: `ln` of 0.0 is -inf"]);
}

#[test]
fn infinities_on_purpose_are_no_finding_but_what_is_made_of_them_is() {
    let x = data(&[f32::INFINITY, 1.0]);
    assert_eq!(check::numerics(|| &x + 1.0).unwrap().to_vec().unwrap(), [f32::INFINITY, 2.0]);
    let found = check::numerics(|| (&x - &x) + 1.0);
    assert_found(found, line!() - 1, &["lane 0: `sub` of inf and inf is NaN"]);
    let x = data(&[1.0, f32::NAN]);
    let found = check::numerics(|| &x * 2.0);
    assert!(found.unwrap_err().message().starts_with("lane 1: an element that is read by `input` is NaN"));
}

#[jit]
fn inverted(mut x: Float, steps: u32) -> Float {
    let mut n = x.zeros_like().cast::<u32>();
    while n < steps {
        if x > 3.0 {
            x = 1.0 / (x - 5.0);
        } else {
            x = x * 2.5;
        }
        n += 1;
    }
    x
}
const DIVISION: u32 = line!() - 8;

// rows: P34
// no device: it inspects launches on the interpreter, whichever device they are for
#[test]
fn loops_and_branches_are_seen_into() {
    let x = data(&[0.25, 4.0, 2.0]);
    check::numerics(|| inverted(x.clone(), 1)).unwrap();
    // The last lane is at the pole after one iteration; only lanes above 3 divide.
    let found = check::numerics(|| inverted(x.clone(), 2));
    assert_found(found, DIVISION, &["lane 2: `div` of 1.0 and 0.0 is inf", "`inverted`"]);
    // After another one it is zero again.
    assert_eq!(check::numerics(|| inverted(x.clone(), 3)).unwrap().to_vec().unwrap()[2], 0.0);
}

#[jit]
fn stepwise(mut x: Float) -> Float {
    #[evaluated]
    while x > 1.0 {
        x = 1.0 / (x - 2.0);
    }
    x
}
const STEP: u32 = line!() - 4;

#[test]
fn lanes_of_evaluated_loops_have_their_numbers() {
    let mut values = vec![0.5; 10_000];
    values[7_000] = 2.0;
    values[8_000] = 3.0;
    let x = data(&values);
    let found = check::numerics(|| stepwise(x.clone()));
    assert_found(found, STEP, &["lane 7000: `div` of 1.0 and 0.0 is inf"]);
}

#[jit]
fn guarded(x: Float) -> Float {
    if x > 0.0 { 1.0 / x } else { x.zeros_like() }
}

#[test]
fn lanes_that_do_not_take_a_branch_do_not_count() {
    let x = data(&[0.0, 2.0]);
    assert_eq!(check::numerics(|| guarded(x.clone())).unwrap().to_vec().unwrap(), [0.0, 0.5]);
}

// rows: P34
// no device: it inspects launches on the interpreter, whichever device they are for
#[test]
fn derivatives_are_checked() {
    let x = data(&[4.0, 0.0]);
    let line = line!() + 5;
    let found = check::numerics(|| {
        let mut x = x.clone();
        x.enable_grad();
        let y = x.sqrt();
        y.sum().backward()?;
        Ok::<_, Error>(x.grad())
    });
    assert_found(found, line, &["lane 1: `div` of 0.5 and 0.0 is inf"]);
}

#[test]
fn reductions_scatters_and_library_calls_are_checked() {
    let big = Float::full(3e38, 100).make_opaque();
    let found = check::numerics(|| big.sum());
    assert_found(found, line!() - 1, &["`sum` of finite elements is inf"]);
    let index = UInt::zeros(100);
    let line = line!() + 3;
    let found = check::numerics(|| {
        let mut target = Float::zeros(2);
        target.scatter_add(&big, &index);
        target
    });
    assert_found(found, line, &["`scatter_reduce` of finite elements is inf"]);
    let line = line!() + 1;
    let found = check::numerics(|| big.prefix_sum());
    assert_found(found, line, &["finite elements is inf"]);
    let none = Float::zeros(0);
    assert_eq!(check::numerics(|| none.reduce_max()).unwrap().item().unwrap(), f32::NEG_INFINITY);
}

#[freeze]
fn ratio(a: &Float, b: &Float) -> Float {
    a / b
}
const RATIO: u32 = line!() - 2;

#[test]
fn frozen_functions_are_seen_into() {
    let (a, b) = (data(&[1.0, 2.0]), data(&[1.0, 0.0]));
    let before = ratio(&a, &b);
    assert_eq!(before.to_vec().unwrap(), [1.0, f32::INFINITY]);
    let found = check::numerics(|| ratio(&a, &b));
    assert_found(found, RATIO, &["lane 1: `div` of 2.0 and 0.0 is inf"]);
    let same = check::against_interpreter(|| ratio(&a, &b)).unwrap();
    assert_eq!(same.to_vec().unwrap(), [1.0, f32::INFINITY]);
}

#[jit]
fn root(x: &Float, scale: &mut Float) -> Float {
    *scale = 1.0 / *scale;
    x.sqrt()
}
const SCALED: u32 = line!() - 3;

#[test]
fn executors_are_seen_into() {
    let x = data(&[4.0, -1.0]);
    let compiled = root::compile(&x, &mut data(&[1.0])).unwrap();
    let found = check::numerics(|| compiled.call(&x, &mut data(&[2.0])));
    assert_found(found, SCALED + 1, &["lane 1: `sqrt` of -1.0 is NaN"]);
    let x = data(&[4.0, 1.0]);
    let found = check::numerics(|| compiled.call(&x, &mut data(&[0.0])));
    assert_found(found, SCALED, &["lane 0: `div` of 1.0 and 0.0 is inf"]);
    // The check runs the function on copies: arguments change once.
    let mut scale = data(&[4.0]);
    let roots = check::numerics(|| compiled.call(&x, &mut scale).unwrap()).unwrap();
    assert_eq!((roots.to_vec().unwrap(), scale.to_vec().unwrap()), (vec![2.0, 1.0], vec![0.25]));
}

#[test]
fn results_of_loaded_executors_are_checked_for_nan() {
    let x = data(&[4.0, -1.0]);
    let path = std::env::temp_dir().join(format!("jit-check-{}", std::process::id()));
    root::compile(&x, &mut data(&[1.0])).unwrap().save(&path).unwrap();
    let loaded = root::load(&path);
    std::fs::remove_file(&path).unwrap();
    let error = check::numerics(|| loaded.unwrap().call(&x, &mut data(&[1.0]))).unwrap_err();
    assert!(error.message().starts_with("element 1 of `result`"), "{error}");
    assert!(error.message().contains("NaN") && error.hint().unwrap().contains("loaded from a file"), "{error}");
}

#[test]
fn traced_modules_are_seen_into() {
    use jit::nn::{Function, Module};
    let root = Function::new(|x: &Tensor<f32>| x.sqrt());
    let line = line!() - 1;
    let mut traced = jit::trace(root, &Tensor::<f32>::ones([2])).unwrap();
    let found = check::numerics(|| traced.forward(&Tensor::from([4.0, -1.0])));
    assert_found(found, line, &["lane 1: `sqrt` of -1.0 is NaN"]);
}

#[test]
fn half_and_double_precision_are_checked() {
    let x = Half::from([half::f16::from_f32(300.0)]).make_opaque();
    let found = check::numerics(|| &x * &x);
    assert_found(found, line!() - 1, &["`mul` of 300.0 and 300.0 is inf (f16)"]);
    let wide = Float64::from([1e300]).make_opaque();
    let found = check::numerics(|| wide.cast::<f32>());
    assert_found(found, line!() - 1, &["`cast` of 1e300 is inf (f32)"]);
}

#[test]
fn a_finding_outlives_the_panic_that_it_causes() {
    let x = data(&[0.0]);
    let line = line!() + 2;
    let found = check::numerics(|| {
        let y = x.recip();
        assert!(y.item().unwrap().is_finite(), "on purpose");
        y
    });
    assert_found(found, line, &["is inf"]);
    check::numerics(|| &x + 1.0).unwrap();
}

#[test]
fn programs_agree_with_the_interpreter() {
    let x = Float::linspace(-3.0, 3.0, 10_000).make_opaque();
    let (a, b, c) = check::against_interpreter(|| (x.sin() * x.exp(), x.sum(), inverted(x.clone(), 7))).unwrap();
    assert_eq!((a.len(), b.len(), c.len()), (10_000, 1, 10_000));
}

/// Generates an addition for each multiplication outside of loops.
fn add_instead(kernel: &mut Kernel) {
    for inst in &mut kernel.regions[0].insts {
        if let Op::Binary(BinaryOp::Mul, a, b) = inst.op {
            inst.op = Op::Binary(BinaryOp::Add, a, b);
        }
    }
}

#[test]
fn the_first_operation_with_wrong_code_is_named() {
    if jit::devices().iter().any(|info| info.device == Device::Cpu && info.unavailable.is_some()) {
        println!("skipped: needs LLVM: wrong code is only generated with it");
        return;
    }
    let x = data(&[2.0, 3.0, 4.0]);
    let line = line!() + 4;
    let program = || {
        jit::with_device(Device::Cpu, || {
            let y = &x - 0.625;
            let z = &y * &x;
            [z.sqrt() + 0.375, &x + 7.625]
        })
    };
    let found = with_fault(add_instead, || check::against_interpreter(program));
    let parts = ["element 0 of `result[0]`", "the first operation with different results is `mul`", "report it"];
    assert_found(found, line, &parts);
}

#[test]
fn closures_that_change_are_told_from_wrong_code() {
    let mut calls = 0.0;
    let line = line!() + 3;
    let found = check::against_interpreter(|| {
        calls += 1.0;
        (Float::from(2.0), data(&[0.0, calls]) * 2.0)
    });
    assert_found(found, line, &["element 1 of `result.1` is 2.0, and 4.0 on the interpreter (f32)", "from run to run"]);
    let mut payload = 0x7fc0_0000;
    let not_numbers = check::against_interpreter(|| {
        payload += 1;
        data(&[f32::from_bits(payload)])
    });
    assert!(not_numbers.unwrap().item().unwrap().is_nan(), "all NaNs are the same");
    let mut lens = 0;
    let found = check::against_interpreter(|| {
        lens += 1;
        Float::zeros(lens)
    });
    assert!(found.unwrap_err().message().contains("has 1 elements, and 2"));
}

#[test]
fn tolerances_are_absolute_or_relative() {
    let within = |absolute, relative, second: f32| {
        let mut calls = 0;
        let values = [1000.0, second];
        check::against_interpreter_within(Tolerance { absolute, relative }, || {
            calls += 1;
            Float::from(values[if calls == 1 { 0 } else { 1 }])
        })
    };
    assert!(within(0.5, 0.0, 1000.5).is_ok() && within(0.4, 0.0, 1000.5).is_err());
    assert!(within(0.0, 1e-3, 1000.5).is_ok() && within(0.0, 1e-4, 1000.5).is_err());
    assert!(within(f64::INFINITY, 0.0, f32::NAN).is_err() && within(f64::INFINITY, 1.0, f32::INFINITY).is_err());
    assert_eq!(within(-1.0, 0.0, 1000.0).unwrap_err().kind(), ErrorKind::InvalidArgument);
    let mut calls = 0;
    let counts = check::against_interpreter_within(Tolerance { absolute: 9.0, relative: 0.0 }, || {
        calls += 1;
        UInt::from(calls)
    });
    assert!(counts.is_err(), "whole numbers are equal or not");
}
