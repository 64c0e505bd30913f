//! Values on two devices beside one another: the processor and the interpreter. All programs run while the other device
//! is the one of new values, so whatever is computed on the current device by mistake is noticed.
#![allow(clippy::unwrap_used, reason = "test helpers may panic, too")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use jit::freeze::Frozen;
use jit::prelude::*;
use jit::{Device, ErrorKind, ad, with_device};

#[path = "shared/tested_devices.rs"]
mod tested_devices;

/// Runs a test with the device that its values are on, while another one is that of new values.
fn beside(test: impl Fn(Device, Device)) {
    let _ = tested_devices::has_llvm();
    let mut pairs = vec![(Device::Cpu, Device::Interpreter), (Device::Interpreter, Device::Cpu)];
    if tested_devices::has_separate_memory() {
        // Memory that the host cannot access, on either side.
        pairs.extend([(Device::Cuda(0), Device::Cpu), (Device::Cpu, Device::Cuda(0))]);
    }
    for (own, other) in pairs {
        with_device(other, || test(own, other));
    }
}

fn floats(device: Device, values: &[f32]) -> Float {
    with_device(device, || Float::from(values))
}

fn numbers(device: Device, values: &[u32]) -> UInt {
    with_device(device, || UInt::from(values))
}

/// The message with which a program is refused.
fn message_of<R>(program: impl FnOnce() -> R) -> String {
    let refused = catch_unwind(AssertUnwindSafe(program)).err().expect("it is refused");
    refused.downcast_ref::<String>().expect("a message").clone()
}

/// Whether all evaluated results of a program are on a device.
fn assert_on(device: Device, results: &[&Float]) {
    for result in results {
        assert_eq!(result.device(), device, "before it is evaluated");
    }
    jit::eval(&results.iter().map(|&result| result.clone()).collect::<Vec<_>>()).unwrap();
    for result in results {
        assert_eq!(result.device(), device, "in memory");
    }
}

#[test]
fn what_is_computed_from_a_value_is_where_it_is() {
    beside(|own, other| {
        let x = floats(own, &[1.0, 2.0, 3.0]);
        assert_eq!(x.device(), own);
        let y = &x * 2.0 + Float::arange(3) - Float::opaque(1.0);
        let sum = y.sum();
        let running = y.prefix_sum() + y.sort();
        let picked = y.gather(&(2 - UInt::arange(3)));
        let filtered = y.filter(&y.gt(2.0));
        assert_on(own, &[&y, &sum, &running, &picked, &filtered]);
        assert_eq!(y.to_vec().unwrap(), [1.0, 4.0, 7.0]);
        assert_eq!((sum.item().unwrap(), picked.to_vec().unwrap()), (12.0, vec![7.0, 4.0, 1.0]));
        assert_eq!(running.to_vec().unwrap(), [2.0, 9.0, 19.0]);
        assert_eq!(filtered.to_vec().unwrap(), [4.0, 7.0]);
        assert_eq!(Float::from([1.0]).device(), other, "a new value is on the current device");
    });
}

#[test]
fn kernels_run_where_their_values_are() {
    let _ = tested_devices::has_llvm();
    jit::set_kernel_history(true);
    beside(|own, _| {
        let x = floats(own, &[1.0, 2.0, 4.0]);
        let site_of = |y: &Float| y.site();
        for _ in 0..2 {
            let y = &x * 3.0 + 0.25;
            let sorted = y.sort();
            jit::eval(&(&y, &sorted)).unwrap();
            let line = site_of(&y).line();
            let ran: Vec<_> = jit::kernel_history().into_iter().filter(|record| record.width == 3).collect();
            let here = ran.iter().filter(|record| record.site.is_some_and(|site| site.line() == line + 2));
            assert_eq!(here.clone().next_back().map(|record| record.device), Some(own));
            assert!(here.count() >= 2);
        }
    });
    jit::set_kernel_history(false);
}

#[test]
fn values_on_different_devices_do_not_combine() {
    beside(|own, other| {
        let x = floats(own, &[1.0, 2.0]);
        let y = floats(other, &[3.0, 4.0]).with_label("weights");
        let lines = [x.site(), y.site()].map(|site| format!("at {site}"));
        let index = numbers(other, &[0, 1]);
        let programs: [&dyn Fn() -> Float; 6] = [
            &|| &x + &y,
            &|| &x * 2.0 + y.sum(),
            &|| x.gt(0.0).select(&y, 1.0),
            &|| x.gather(&index),
            &|| {
                let mut x = x.clone();
                x.scatter_add(&y, &UInt::arange(2));
                x
            },
            &|| looped(&x, &y),
        ];
        for (number, program) in programs.iter().enumerate() {
            let message = message_of(program);
            assert!(message.contains(&format!("`{own}`")) && message.contains(&format!("`{other}`")), "{message}");
            assert!(message.contains("x.to(device)?"), "{message}");
            assert!(message.contains(file!()), "{message}");
            if number == 0 {
                assert!(lines.iter().all(|line| message.contains(line)) && message.contains("weights"), "{message}");
            }
        }
        assert_eq!((&x + 1.0).to_vec().unwrap(), [2.0, 3.0], "nothing has changed");
        let moved = x.to(other).unwrap() + &y;
        assert_eq!((moved.device(), moved.to_vec().unwrap()), (other, vec![4.0, 6.0]));
    });
}

#[jit(dispatch)]
trait Scale {
    fn scaled(&self, x: &Float) -> Float;
}

#[derive(Traverse)]
struct By {
    by: Float,
}

#[jit]
impl Scale for By {
    fn scaled(&self, x: &Float) -> Float {
        x * &self.by
    }
}

#[jit]
fn looped(x: &Float, step: &Float) -> Float {
    let (mut x, mut count) = (x.clone(), UInt::from(0));
    while count < 3 {
        x += step;
        count += 1;
    }
    x
}

#[test]
fn a_copy_is_another_array_and_gradients_flow_back() {
    beside(|own, other| {
        let mut x = floats(own, &[1.0, 2.0, 3.0]);
        assert!(x.to(own).unwrap().var().is_same(x.var()), "it is there");
        x.enable_grad();
        let y = (&x * 2.0).to(other).unwrap();
        assert_eq!((y.device(), y.to_vec().unwrap()), (other, vec![2.0, 4.0, 6.0]));
        let weights = floats(other, &[1.0, 10.0, 100.0]);
        (&y * &weights).sum().backward().unwrap();
        let gradient = x.grad();
        assert_eq!((gradient.device(), gradient.to_vec().unwrap()), (own, vec![2.0, 20.0, 200.0]));
        let (_, tangent) = ad::jvp(
            |x: &Float| x.to(other).unwrap() * &weights,
            &floats(own, &[1.0, 1.0, 1.0]),
            &floats(own, &[1.0, 2.0, 3.0]),
        )
        .unwrap();
        assert_eq!((tangent.device(), tangent.to_vec().unwrap()), (other, vec![1.0, 20.0, 300.0]));

        let plain = floats(own, &[5.0]);
        let mut copy = plain.to(other).unwrap();
        copy.scatter(6.0, &UInt::from(0));
        assert_eq!((copy.item().unwrap(), plain.item().unwrap()), (6.0, 5.0));
    });
}

#[test]
fn constants_go_along() {
    beside(|own, other| {
        let x = floats(own, &[1.0, 2.0, 3.0]);
        let line = with_device(other, || Float::linspace(0.0, 1.0, 3) + Float::opaque(1.0));
        let y = &x + &line;
        assert_on(own, &[&y]);
        assert_eq!(y.to_vec().unwrap(), [2.0, 3.5, 5.0]);
        assert_eq!(line.device(), other);
        assert!(!line.is_evaluated());
        // Evaluated, they have a place.
        let there = Float::arange(3) * 2.0;
        assert_eq!(there.to(own).unwrap().device(), own);
        assert_eq!((&there + &x).to_vec().unwrap(), [1.0, 4.0, 7.0]);
        let here = Float::arange(3) * 3.0;
        jit::eval(&here).unwrap();
        assert_eq!(here.device(), other);
        assert!(message_of(|| &here + &x).contains("x.to(device)?"));
        // Recorded before, it is read where it was stored meanwhile.
        let late = Float::arange(3) * 4.0;
        let sum = &late + &x;
        jit::eval(&late).unwrap();
        assert_eq!((late.device(), sum.device()), (other, own));
        assert_eq!(sum.to_vec().unwrap(), [1.0, 6.0, 11.0]);
    });
}

#[test]
fn one_evaluation_of_values_on_several_devices() {
    beside(|own, other| {
        let (x, y) = (floats(own, &[1.0, 2.0]), floats(other, &[3.0, 4.0]));
        let all = (&x + 1.0, &y * 2.0, Float::arange(2) + 0.5, x.sum());
        jit::eval(&all).unwrap();
        let devices = [&all.0, &all.1, &all.2, &all.3].map(|value| value.device());
        assert_eq!(devices, [own, other, other, own]);
        assert!([&all.0, &all.1, &all.2, &all.3].iter().all(|value| value.is_evaluated()));
        assert_eq!(all.0.to_vec().unwrap(), [2.0, 3.0]);
        assert_eq!(all.1.to_vec().unwrap(), [6.0, 8.0]);
        jit::schedule(&(&x * 5.0));
        let marked = &x * 5.0;
        jit::schedule(&marked);
        jit::eval(&(&y * 7.0)).unwrap();
        assert!(marked.is_evaluated() && marked.device() == own);
    });
}

#[jit]
fn counted(x: &Float, rounds: &UInt) -> (Float, UInt) {
    let (mut x, mut count, mut sums) = (x.clone(), UInt::from(0), Float::zeros(4));
    #[evaluated]
    while count < rounds {
        x = x * 0.5 + 1.0;
        sums.scatter_add(&x, &(&count % 4));
        count += 1;
    }
    (x + sums.sum(), count)
}

#[test]
fn control_flow_is_where_its_values_are() {
    beside(|own, other| {
        let many: Vec<f32> = (0..5000).map(|i| i as f32).collect();
        let rounds: Vec<u32> = (0..5000).map(|i| if i == 0 { 40 } else { i % 3 }).collect();
        let run = |device, current| {
            let (x, rounds) = (floats(device, &many), numbers(device, &rounds));
            with_device(current, || {
                let (x, count) = counted(&x, &rounds);
                assert_eq!((x.device(), count.device()), (device, device));
                (x.to_vec().unwrap(), count.to_vec().unwrap())
            })
        };
        assert_eq!(run(own, other), run(own, own), "evaluated loops");

        let x = floats(own, &[1.0, 2.0, 3.0, 4.0]);
        let looped = looped(&x, &(&x * 0.5));
        assert_on(own, &[&looped]);
        assert_eq!(looped.to_vec().unwrap(), [2.5, 5.0, 7.5, 10.0]);
        let targets = [|x: Float| &x + &x, |x: Float| &x * &x];
        for index in [UInt::arange(4) % 2, numbers(own, &[0, 1, 0, 1])] {
            let sorted = jit::switch_sorted(&index, &targets, (x.clone(),));
            let called = jit::switch(&index, &targets, (x.clone(),));
            assert_on(own, &[&called]);
            assert_eq!(sorted.device(), own);
            assert_eq!(sorted.to_vec().unwrap(), [2.0, 4.0, 6.0, 16.0]);
            assert_eq!(called.to_vec().unwrap(), [2.0, 4.0, 6.0, 16.0]);
        }
        let scale = |by: f32| Box::new(By { by: floats(own, &[by]) }) as Box<dyn Scale>;
        let scales: Instances<dyn Scale> = Instances::from_iter([2.0, 3.0].map(scale));
        let pointer = scales.at(&numbers(own, &[1, 2, 2, 1]));
        for pointer in [pointer.sorted(), pointer] {
            let scaled = pointer.scaled(&x);
            assert_eq!((scaled.device(), scaled.to_vec().unwrap()), (own, vec![2.0, 6.0, 9.0, 8.0]));
        }
    });
}

#[freeze]
fn halved(x: &Float, sum: &mut Float) -> Float {
    let table = Float::from([10.0, 20.0]);
    *sum += x.sum();
    x * 0.5 + table.gather(&(UInt::arange(x.width()) % 2))
}

#[test]
fn frozen_functions_have_recordings_for_each_device() {
    halved::clear();
    beside(|own, _| {
        for call in 0..3_u8 {
            let (x, mut sum) = (floats(own, &[1.0, 2.0, f32::from(call)]), floats(own, &[0.5]));
            let y = halved(&x, &mut sum);
            assert_eq!((y.device(), sum.device()), (own, own));
            assert_eq!(y.to_vec().unwrap(), [10.5, 21.0, 10.0 + 0.5 * f32::from(call)]);
            assert_eq!(sum.item().unwrap(), 3.5 + f32::from(call));
        }
    });
    let stats = halved::stats();
    let (devices, calls) = if tested_devices::has_separate_memory() { (3, 12) } else { (2, 6) };
    assert_eq!((stats.recordings, stats.replays), (devices, calls - devices));
}

fn opposite(device: Device) -> Device {
    if device == Device::Cpu { Device::Interpreter } else { Device::Cpu }
}

#[test]
fn frozen_functions_between_devices_run_their_body() {
    beside(|own, other| {
        let copied = Frozen::new(|x: &Float| x.to(opposite(x.device())).unwrap() * 2.0);
        let apart = Frozen::new(|x: &Float, y: &Float| (x + 1.0, y * 2.0));
        for start in [1.0, 5.0] {
            let (x, y) = (floats(own, &[start, 2.0]), floats(other, &[start]));
            let there = copied.call(&x);
            assert_eq!((there.device(), there.to_vec().unwrap()), (opposite(own), vec![2.0 * start, 4.0]));
            let (a, b) = apart.call((&x, &y));
            assert_eq!((a.device(), b.device()), (own, other));
            assert_eq!((a.to_vec().unwrap(), b.to_vec().unwrap()), (vec![start + 1.0, 3.0], vec![2.0 * start]));
        }
        assert_eq!((copied.stats().replays, apart.stats().replays), (0, 0));
    });
}

#[jit]
fn combined(x: &Float, y: &Float) -> Float {
    x * 2.0 + y
}

#[jit]
fn moved(x: &Float) -> Float {
    x * 7.0 + 1.5
}

#[test]
fn arguments_elsewhere_are_a_cause_of_compilation() {
    for device in [Device::Cpu, Device::Interpreter] {
        let x = floats(device, &[1.0, 2.0, 3.0]);
        assert_eq!(moved(&x).to_vec().unwrap(), [8.5, 15.5, 22.5]);
    }
    let text = moved::explain().to_string();
    assert!(text.contains("`x` was on the device `cpu`, and is on `interpreter`"), "{text}");
}

#[test]
fn executors_are_for_one_device() {
    beside(|own, other| {
        let x = floats(own, &[1.0, 2.0]);
        let exe = combined::compile(&x, &Float::placeholder(2)).unwrap();
        assert_eq!(exe.device(), own);
        let sum = exe.call(&x, &Float::full(0.5, 2)).unwrap();
        assert_eq!((sum.device(), sum.to_vec().unwrap()), (own, vec![2.5, 4.5]));
        let there = floats(other, &[1.0, 2.0]);
        let error = exe.call(&x, &there).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        let text = error.to_string();
        assert!(text.contains(&there.site().to_string()) && text.contains(&format!("x.to(Device::{own:?})")), "{text}");
        let error = combined::compile(&x, &there).unwrap_err().to_string();
        assert!(error.contains(&x.site().to_string()) && error.contains("different devices"), "{error}");
    });
}

#[test]
fn reports_of_values_elsewhere_are_delivered() {
    beside(|own, _| {
        let x = floats(own, &[1.0, 2.0]);
        let (mut step, mut sum) = (UInt::from(0), x.clone());
        counted_and_printed(&mut step, &mut sum);
        jit::print!("sum = {sum}");
        assert_on(own, &[&sum]);
        assert_eq!(sum.to_vec().unwrap(), [8.0, 16.0]);
        jit::sync().unwrap();
    });
}

#[jit]
fn counted_and_printed(step: &mut UInt, sum: &mut Float) {
    while *step < 3 {
        jit::print!("step {step}");
        *sum *= 2.0;
        *step += 1;
    }
}

#[test]
fn a_gpu_is_refused_with_the_reason() {
    let gpu = Device::Cuda(3);
    let x = Float::from([1.0]);
    let copied = x.to(gpu).unwrap_err();
    let chosen = jit::set_device(gpu).unwrap_err();
    let evaluated = with_device(gpu, || jit::eval(&(Float::arange(4) + 1.0))).unwrap_err();
    for error in [copied, chosen, evaluated] {
        assert_eq!(error.kind(), ErrorKind::NoDevice);
        assert!(error.to_string().contains("`cuda:3`"), "{error}");
    }
    assert!(message_of(|| with_device(gpu, || Float::from([1.0]))).contains("`cuda:3`"));
    assert_eq!(with_device(gpu, || (&x + 1.0).item()).unwrap(), 2.0, "existing values are computed where they are");
}

/// A value of a user, with a table that two parts share, and text.
#[derive(Clone, Traverse)]
struct Model {
    name: String,
    weight: Tensor<f32>,
    tables: Vec<Float>,
    steps: UInt,
}

fn model(device: Device) -> Model {
    let table = floats(device, &[3.0, 4.0]);
    let mut weight = Tensor::from_array(floats(device, &[1.0, 2.0]), [1, 2]);
    weight.enable_grad();
    Model { name: "line".into(), weight, tables: vec![table.clone(), table], steps: numbers(device, &[7]) }
}

#[test]
fn whole_values_move_to_a_device() {
    beside(|own, other| {
        let mut there = model(other);
        (&there.weight * 5.0).sum(..).backward().unwrap();
        there.weight.array().set_label("moving weight");
        jit::move_to(&mut there, own).unwrap();
        assert_eq!(there.name, "line");
        assert_eq!(there.weight.device(), own);
        assert!(there.weight.grad_enabled(), "a variable is one on the other device");
        assert!(ad::whos().contains("moving weight"));
        assert_eq!(there.weight.grad().to_vec().unwrap(), [0.0, 0.0], "its gradient was that of another one");
        assert_on(own, &[&there.tables[0], &there.tables[1], there.weight.array()]);
        let loss = (&there.weight * &Tensor::from_array(there.tables[0].clone(), [2])).sum(..);
        loss.backward().unwrap();
        assert_eq!(there.weight.grad().to_vec().unwrap(), [3.0, 4.0]);
        assert_eq!(there.steps.to_vec().unwrap(), [7]);
        let before = there.clone();
        jit::move_to(&mut there, own).unwrap();
        assert_eq!(there.weight.grad().to_vec().unwrap(), [3.0, 4.0], "what is there already is not copied");
        assert_eq!(before.tables[0].to_vec().unwrap(), [3.0, 4.0]);
    });
}

#[test]
fn a_value_that_cannot_be_moved_is_as_it_was() {
    let mut here = with_device(Device::Interpreter, || model(Device::Interpreter));
    let error = jit::move_to(&mut here, Device::Cuda(40)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoDevice, "{error}");
    assert_eq!(here.weight.device(), Device::Interpreter);
    assert_eq!(here.weight.to_vec().unwrap(), [1.0, 2.0]);
}
