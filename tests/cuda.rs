//! Programs on GPUs of a driver for tests (`fake-cuda/`), and what goes wrong there: each test in a process of its own.
#![allow(clippy::unwrap_used, reason = "tests")]

// Its shared library is built because it is linked here.
use fake_cuda as _;
use jit::prelude::*;
use jit::tensor::Padding;
use jit::{Device, ErrorKind, with_device};

#[path = "shared/alone.rs"]
mod alone;
#[path = "cuda/graphs.rs"]
mod graphs;
#[path = "cuda/lines.rs"]
mod lines;
#[path = "cuda/loops.rs"]
mod loops;
#[path = "cuda/stored.rs"]
mod stored;
#[path = "cuda/streams.rs"]
mod streams;

const FIRST: Device = Device::Cuda(0);
const SECOND: Device = Device::Cuda(1);

/// Runs a test with a driver for tests. Returns whether this is the process of the test.
fn is_alone(test: &str, variables: &str) -> bool {
    let folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let driver = folder.join("libfake_cuda.so").display().to_string();
    let before = format!("export JIT_CACHE=memory JIT_TEST_CUDA_DRIVER='{driver}' {variables};");
    alone::alone(test, &before).is_none()
}

fn floats(device: Device, values: &[f32]) -> Float {
    with_device(device, || Float::from(values))
}

/// The processor still works.
fn assert_cpu_goes_on() {
    assert_eq!((floats(Device::Cpu, &[1.0, 2.0]) + 1.0).to_vec().unwrap(), [2.0, 3.0]);
}

// no device: there is none
#[test]
fn without_a_driver_gpus_are_refused_with_the_reason() {
    if alone::alone("without_a_driver_gpus_are_refused_with_the_reason", "unset JIT_TEST_CUDA_DRIVER;").is_some() {
        return;
    }
    if jit::devices().iter().any(|info| info.device == FIRST) {
        return; // This machine has a GPU.
    }
    let error = jit::set_device(FIRST).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoDevice);
    assert!(error.to_string().contains("the device `cuda:0` cannot be used: "), "{error}");
    assert_cpu_goes_on();
}

// one device: a GPU of a driver for tests
#[test]
fn programs_run_on_two_gpus() {
    if !is_alone("programs_run_on_two_gpus", "") {
        return;
    }
    let devices = jit::devices();
    let named: Vec<_> =
        devices.iter().filter(|info| info.name.starts_with("Fake GPU")).map(|info| info.device).collect();
    assert_eq!(named, [FIRST, SECOND]);
    for device in [FIRST, SECOND] {
        let x = with_device(device, || Float::arange(100_000) + Float::opaque(0.5));
        let y = (&x * 2.0).sin();
        let expected = (floats(Device::Cpu, &x.to_vec().unwrap()) * 2.0).sin();
        assert_eq!(y.to_vec().unwrap(), expected.to_vec().unwrap());
        // Several blocks of threads, whose results are combined in the order that the IR defines.
        assert_eq!(y.sum().item().unwrap().to_bits(), expected.sum().item().unwrap().to_bits());
        assert_eq!(y.block_sum(40_000).to_vec().unwrap(), expected.block_sum(40_000).to_vec().unwrap());
        assert_eq!(y.sort().to_vec().unwrap(), expected.sort().to_vec().unwrap());
        assert_eq!(y.prefix_sum().to_vec().unwrap(), expected.prefix_sum().to_vec().unwrap());
    }
    let there = floats(FIRST, &[1.0, 2.0, 3.0]).to(SECOND).unwrap();
    assert_eq!((there.device(), (there * 2.0).to_vec().unwrap()), (SECOND, vec![2.0, 4.0, 6.0]));
    let error = jit::set_device(Device::Cuda(2)).unwrap_err();
    assert!(error.to_string().contains("`cuda:2` cannot be used: the driver has 2 GPUs"), "{error}");
}

// one device: a GPU of a driver for tests
#[test]
fn large_arrays_are_copied_in_parts() {
    if !is_alone("large_arrays_are_copied_in_parts", "") {
        return;
    }
    for len in [0, 1, (1 << 18) - 1, 1 << 18, (5 << 18) + 3] {
        let values: Vec<f32> = (0..len).map(|number| number as f32).collect();
        let x = floats(FIRST, &values);
        assert_eq!(x.to_vec().unwrap(), values);
        assert_eq!(x.to(SECOND).unwrap().to_vec().unwrap(), values);
    }
}

// one device: a GPU of a driver for tests
#[test]
fn a_copy_that_fails_between_others_is_an_error_and_can_be_repeated() {
    let test = "a_copy_that_fails_between_others_is_an_error_and_can_be_repeated";
    // Six parts are sent; of those that come back the second and, later, the fourth fail.
    if !is_alone(test, "FAKE_CUDA_FAIL=copy:8,copy:12") {
        return;
    }
    let values: Vec<f32> = (0..(5 << 18) + 3).map(|number| number as f32).collect();
    let x = floats(FIRST, &values);
    for _ in 0..2 {
        let error = x.to_vec().unwrap_err();
        assert!(error.to_string().contains("a copy on `cuda:0` failed"), "{error}");
    }
    assert_eq!(x.to_vec().unwrap(), values);
    assert_eq!(floats(FIRST, &values[1..]).to_vec().unwrap(), values[1..]);
}

// one device: a GPU of a driver for tests
#[test]
fn a_launch_without_an_event_has_failed_and_the_next_one_runs() {
    // Copies have made two events before.
    if !is_alone("a_launch_without_an_event_has_failed_and_the_next_one_runs", "FAKE_CUDA_FAIL=event:3") {
        return;
    }
    let x = floats(FIRST, &[1.0; 1000]);
    let error = (&x * 3.0).to_vec().unwrap_err();
    assert!(error.to_string().contains("queueing a launch on `cuda:0` failed"), "{error}");
    for factor in 1..10_u8 {
        assert_eq!((&x * f32::from(factor)).to_vec().unwrap(), vec![f32::from(factor); 1000]);
    }
    assert_cpu_goes_on();
}

// one device: a GPU of a driver for tests
#[test]
fn many_threads_use_one_gpu() {
    if !is_alone("many_threads_use_one_gpu", "FAKE_CUDA_SEED=7") {
        return;
    }
    let shared = floats(FIRST, &[1.0; 1000]);
    std::thread::scope(|scope| {
        for thread in 0..4_u16 {
            let x = shared.clone();
            scope.spawn(move || {
                let mut y = &x * f32::from(thread);
                for _ in 0..20 {
                    y = &y + &x;
                    jit::eval(&y).unwrap();
                }
                assert_eq!(y.to_vec().unwrap(), vec![f32::from(thread) + 20.0; 1000]);
            });
        }
    });
    jit::sync().unwrap();
}

// one device: a GPU of a driver for tests
#[test]
fn an_allocation_that_fails_is_tried_again_and_then_an_error() {
    if !is_alone(
        "an_allocation_that_fails_is_tried_again_and_then_an_error",
        "FAKE_CUDA_FAIL=allocation:2,allocation:5+",
    ) {
        return;
    }
    let x = floats(FIRST, &[1.0; 1000]);
    let y = &x + 1.0;
    assert_eq!(y.to_vec().unwrap(), [2.0; 1000], "the second allocation succeeds when it is repeated");
    let mut kept: Vec<Float> = Vec::new();
    let error = loop {
        let next = x.tile(100 + kept.len()) * 2.0;
        match jit::eval(&next) {
            Ok(()) => kept.push(next),
            Err(error) => break error,
        }
        assert!(kept.len() < 10, "no allocation failed");
    };
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    assert!(error.to_string().contains("CUDA_ERROR_OUT_OF_MEMORY"), "{error}");
    assert_eq!(x.to_vec().unwrap(), [1.0; 1000], "nothing is lost");
    assert_cpu_goes_on();
}

/// Kernels with reductions and many parameters, library calls, copies, assertions, and replays.
fn of_many_allocations(x: &Float) -> Result<Vec<f32>, jit::Error> {
    let sorted = (x * 2.0).sort();
    let large = sorted.tile(40);
    let sum = large.sum() + streams::noted(&large).reduce_max();
    let frozen = tripled(&(&sorted + sum));
    let positions = frozen.gt(10.0).compress();
    (frozen.gather(&positions).prefix_sum() + 1.0).to_vec()
}

/// Lets all allocations after a number of them fail, for each number.
fn check_each_allocation() {
    let fail: extern "C" fn(u64) -> u64 = streams::of_driver(c"fake_cuda_fail_allocations");
    let x = floats(FIRST, &(0..100).map(|number| (number * 37 % 101) as f32).collect::<Vec<_>>());
    let expected = of_many_allocations(&x).unwrap();
    for after in 0.. {
        // Nothing is cached, so each block is asked for.
        jit::sync().unwrap();
        jit::trim_memory();
        fail(after);
        let outcome = std::panic::catch_unwind(|| of_many_allocations(&x));
        let failed = fail(u64::MAX);
        let text = match outcome {
            Ok(Ok(found)) => {
                assert_eq!(found, expected);
                None
            }
            Ok(Err(error)) => Some(error.to_string()),
            Err(panic) => Some(panic.downcast_ref::<String>().unwrap().clone()),
        };
        text.into_iter().for_each(|text| assert!(text.contains("CUDA_ERROR_OUT_OF_MEMORY"), "{text}"));
        let _ = jit::sync();
        assert_eq!(of_many_allocations(&x).unwrap(), expected, "after {after} allocations");
        if failed == 0 {
            assert!(after > 10, "only {after} allocations");
            return;
        }
    }
}

// one device: a GPU of a driver for tests
#[test]
fn each_allocation_may_fail_and_the_program_goes_on() {
    if is_alone("each_allocation_may_fail_and_the_program_goes_on", "") {
        check_each_allocation();
    }
}

// one device: a GPU of a driver for tests
#[test]
fn each_allocation_may_fail_where_replays_are_graphs() {
    if is_alone("each_allocation_may_fail_where_replays_are_graphs", "JIT_CUDA_GRAPHS=on") {
        check_each_allocation();
    }
}

#[jit]
fn doubled(x: &Float) -> Float {
    x * 2.0
}

// one device: a GPU of a driver for tests
#[test]
fn errors_of_memory_name_the_launch_that_needs_it_and_the_line_that_wants_it() {
    let test = "errors_of_memory_name_the_launch_that_needs_it_and_the_line_that_wants_it";
    if !is_alone(test, "FAKE_CUDA_MEMORY=5000000") {
        return;
    }
    let x = floats(FIRST, &[1.0; 1000]);
    let refused = |wanted: &Float, of: &str, bytes: usize| {
        let error = jit::eval(wanted).unwrap_err();
        let (text, line) = (error.to_string(), format!("at {}:{}:", file!(), line!() - 1));
        assert_eq!(error.kind(), ErrorKind::OutOfMemory);
        assert!(
            text.contains(&format!("`{of}` cannot be launched: no memory for {bytes} bytes on `cuda:0`")),
            "{text}"
        );
        assert!(text.contains(" of its 5000000 bytes are in use here") && text.contains(&line), "{text}");
        assert!(text.contains("help: drop arrays that are no longer needed"), "{text}");
    };
    let fits = doubled(&x.tile(100));
    jit::eval(&fits).unwrap();
    drop(fits);
    // The same trace, whose kernel is known.
    refused(&doubled(&x.tile(2000)), "doubled", 8 << 20);
    // There is memory for the result of the library call, and none for what it needs meanwhile.
    let many = x.tile(500);
    jit::eval(&many).unwrap();
    refused(&many.sort(), "sort", 2 << 20);
    assert_eq!(x.to_vec().unwrap(), [1.0; 1000], "nothing is lost");
}

#[freeze]
fn tripled(x: &Float) -> Float {
    x * 3.0
}

// one device: a GPU of a driver for tests
#[test]
fn errors_of_memory_in_replays_name_the_kernel_and_its_line() {
    if !is_alone("errors_of_memory_in_replays_name_the_kernel_and_its_line", "FAKE_CUDA_MEMORY=5000000") {
        return;
    }
    let x = floats(FIRST, &[1.0; 1000]);
    assert_eq!(tripled(&x).to_vec().unwrap(), [3.0; 1000]);
    let half = x.tile(600);
    jit::eval(&half).unwrap();
    let panic = std::panic::catch_unwind(|| tripled(&half)).map(|_| ()).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(text.contains("`tripled` cannot be launched: no memory for"), "{text}");
    assert!(text.contains(file!()), "{text}");
    assert_eq!(half.sum().item().unwrap(), 600_000.0, "nothing is lost");
}

/// The results of a convolution with strides, and its derivatives, on a device.
fn convolved(device: Device) -> [Vec<f32>; 3] {
    with_device(device, || {
        let tensor = |shape: [usize; 4]| {
            let count: usize = shape.iter().product();
            Tensor::from_array((Float::arange(count) * Float::opaque(0.7)).sin(), shape)
        };
        let (x, k) = (tensor([2, 8, 14, 13]), tensor([9, 8, 3, 3]));
        let convolve = |x: &Tensor<f32>, k: &Tensor<f32>| x.conv2d(k, Padding::Same, [2, 1]);
        let y = convolve(&x, &k);
        let flow = (Float::arange(y.array().len()) * Float::opaque(0.3)).cos();
        let loss = |(x, k): &(Tensor<f32>, Tensor<f32>)| (convolve(x, k).array() * &flow).sum();
        let (of_x, of_k) = jit::ad::grad(loss)(&(x, k)).unwrap();
        [y, of_x, of_k].map(|tensor| tensor.to_vec().unwrap())
    })
}

// one device: a GPU of a driver for tests
#[test]
fn convolutions_and_their_derivatives_run_on_the_gpu_with_the_bits_of_the_host() {
    let test = "convolutions_and_their_derivatives_run_on_the_gpu_with_the_bits_of_the_host";
    // The host makes none of these calls.
    if !is_alone(test, "FAKE_CUDA_FAIL=host-function:1+") {
        return;
    }
    let bits = |all: [Vec<f32>; 3]| all.map(|values| values.into_iter().map(f32::to_bits).collect::<Vec<_>>());
    jit::set_kernel_history(true);
    let there = convolved(FIRST);
    let calls = jit::kernel_history().iter().filter(|record| record.label.as_str() == "convolve").count();
    assert!(calls >= 3, "{calls} convolutions are library calls");
    assert_eq!(bits(there), bits(convolved(Device::Cpu)));
}

/// The label and width of each library call of a program.
fn library_calls(device: Device) -> Vec<(String, usize)> {
    let x = with_device(device, || Tensor::from_array(Float::arange(8192) * Float::opaque(0.5), [128, 64]));
    jit::eval(&x).unwrap();
    jit::set_kernel_history(true);
    let sorted = x.array().gt(10.0).select(x.array(), 0.0).sort();
    let kept = sorted.filter(&sorted.gt(10.0)).prefix_sum();
    jit::eval(&(x.transpose().matmul(&x), kept)).unwrap();
    jit::sync().unwrap();
    jit::set_kernel_history(false);
    let records = jit::kernel_history();
    let calls = records.iter().filter(|record| ["matmul", "sort", "prefix_reduce"].contains(&record.label.as_str()));
    calls.map(|record| (record.label.to_string(), record.width)).collect()
}

// one device: the processor beside it
#[test]
fn library_calls_are_as_wide_in_statistics_as_those_of_the_host() {
    if !is_alone("library_calls_are_as_wide_in_statistics_as_those_of_the_host", "") {
        return;
    }
    let mut widths = library_calls(Device::Cpu);
    let mut there = library_calls(FIRST);
    widths.sort();
    there.sort();
    assert!(widths.contains(&("matmul".to_owned(), 64 * 64)), "its results, not its operands: {widths:?}");
    assert_eq!(there, widths);
}

// one device: a GPU of a driver for tests
#[test]
fn memory_of_gpus_is_counted_and_their_caches_are_trimmed() {
    if !is_alone("memory_of_gpus_is_counted_and_their_caches_are_trimmed", "") {
        return;
    }
    // Asking opens no device.
    assert_eq!(jit::memory().devices, []);
    let x = floats(SECOND, &[1.0; 1000]);
    let of_second = || {
        let [second] = &jit::memory().devices[..] else { panic!("one device is in use") };
        assert_eq!(second.device, SECOND);
        second.clone()
    };
    let one = of_second();
    // The size of an allocation that holds 4000 bytes.
    assert_eq!((one.live_bytes, one.cached_bytes, one.peak_bytes, one.system_allocations), (4096, 0, 4096, 1));
    assert_eq!(one.free_bytes, Some(one.total_bytes - 4096));
    let y = &x + 1.0;
    assert_eq!(y.to_vec().unwrap(), [2.0; 1000]);
    jit::sync().unwrap();
    let two = of_second();
    assert_eq!((two.live_bytes, two.cached_bytes, two.system_allocations), (8192, 0, 2));
    drop(y);
    let cached = of_second();
    assert_eq!((cached.live_bytes, cached.cached_bytes, cached.peak_bytes), (4096, 4096, 8192));
    assert_eq!(cached.free_bytes, two.free_bytes, "what is cached is not free");
    // A cached block is used again.
    assert_eq!((&x + 2.0).to_vec().unwrap(), [3.0; 1000]);
    jit::sync().unwrap();
    assert_eq!(of_second(), cached);
    jit::trim_memory();
    let trimmed = of_second();
    assert_eq!((trimmed.live_bytes, trimmed.cached_bytes, trimmed.peak_bytes), (4096, 0, 8192));
    assert_eq!(trimmed.free_bytes, one.free_bytes);
    assert_eq!(x.to_vec().unwrap(), [1.0; 1000]);
    // The other device is listed when it is used.
    let _other = floats(FIRST, &[1.0]);
    let devices: Vec<Device> = jit::memory().devices.iter().map(|memory| memory.device).collect();
    assert_eq!(devices, [FIRST, SECOND]);
}

// one device: a GPU of a driver for tests
#[test]
fn profiles_show_the_memory_of_gpus() {
    if !is_alone("profiles_show_the_memory_of_gpus", "") {
        return;
    }
    let x = floats(FIRST, &[1.0; 100_000]);
    let one = jit::memory().devices[0].live_bytes;
    // A peak before the profile is none of it.
    jit::eval(&x.tile(10)).unwrap();
    jit::sync().unwrap();
    let profile = jit::profile(|| {
        let y = &x + 1.0;
        jit::eval(&y).unwrap();
        let inner = jit::profile(|| drop(jit::eval(&(&y * 2.0)))).unwrap();
        assert_eq!(inner.totals().devices[0].peak_bytes, 3 * one);
        drop(y);
        let later = jit::profile(|| ()).unwrap();
        assert_eq!(later.totals().devices[0].peak_bytes, one);
    });
    let profile = profile.unwrap();
    let [memory] = &profile.totals().devices[..] else { panic!("one device is in use") };
    assert_eq!((memory.device, memory.peak_bytes, memory.live_bytes), (FIRST, 3 * one, one));
    assert!(memory.cached_bytes > 10 * one, "what was used before is cached");
    assert!(jit::memory().devices[0].peak_bytes > 10 * one, "the program's own peak is retained");
    let megabytes = |bytes: usize| format!("{:.1}", bytes as f64 / 1e6);
    let line = format!("at most {} MB in arrays of cuda:0 at a time, {} MB now;", megabytes(3 * one), megabytes(one));
    assert!(profile.to_string().contains(&line), "{profile}");
    let trace = profile.trace_json();
    for bytes in [one, 2 * one, 3 * one] {
        let sample = format!("\"bytes\":{bytes}}}");
        assert!(trace.lines().any(|event| event.contains("memory of cuda:0") && event.contains(&sample)), "{trace}");
    }
}

// one device: a GPU of a driver for tests
#[test]
fn the_memory_of_a_lost_gpu_is_not_listed() {
    if !is_alone("the_memory_of_a_lost_gpu_is_not_listed", "FAKE_CUDA_FAIL=lost:1") {
        return;
    }
    let x = floats(FIRST, &[1.0; 100]);
    assert_eq!(jit::memory().devices.len(), 1);
    (&x * 3.0).to_vec().unwrap_err();
    assert_eq!(jit::memory().devices, []);
    jit::trim_memory();
    assert_cpu_goes_on();
}

/// Elements of a memory per lane: twice each value, since what was not written is zero.
fn through_local_memory(values: &Float, len: usize) -> Float {
    let mut memory = Local::<f32>::new(len);
    let index = UInt::arange(values.len()) % len as u32;
    memory.write(&index, values);
    memory.read(&index) * 2.0 + memory.read(&((index + 1) % len as u32))
}

// one device: a GPU of a driver for tests
#[test]
fn lanes_with_much_local_memory_run_a_few_at_a_time_where_a_gpu_has_little() {
    let test = "lanes_with_much_local_memory_run_a_few_at_a_time_where_a_gpu_has_little";
    if !is_alone(test, "FAKE_CUDA_MEMORY=4194304") {
        return;
    }
    let values: Vec<f32> = (0..1000).map(|number| number as f32).collect();
    let x = floats(FIRST, &values);
    let doubled: Vec<f32> = values.iter().map(|value| 2.0 * value).collect();
    assert_eq!(through_local_memory(&x, 1024).to_vec().unwrap(), doubled);
    // Less than a block of the usual size has memory at a time.
    let few = floats(FIRST, &values[..100]);
    assert_eq!(through_local_memory(&few, 16_384).to_vec().unwrap(), doubled[..100]);
    // Reductions have a block of threads for each chunk, and so run in several grids.
    let y = through_local_memory(&x, 1024);
    let sums = y.block_sum(16);
    jit::eval(&(&y, &sums)).unwrap();
    let expected: Vec<f32> = doubled.chunks(16).map(|chunk| chunk.iter().sum()).collect();
    assert_eq!((y.to_vec().unwrap(), sums.to_vec().unwrap()), (doubled, expected));
}

#[jit]
fn printed(x: &Float) -> Float {
    jit::print!("x = {}", x);
    x + 1.0
}

// one device: a GPU of a driver for tests, and the processor
#[test]
fn lines_of_a_gpu_are_printed_when_the_processor_is_evaluated() {
    if !is_alone("lines_of_a_gpu_are_printed_when_the_processor_is_evaluated", "") {
        return;
    }
    let y = printed(&floats(FIRST, &[1.0, 2.0, 3.0]));
    assert_cpu_goes_on();
    let z = printed(&floats(Device::Cpu, &[4.0, 5.0]));
    assert_eq!((y.to_vec().unwrap(), z.to_vec().unwrap()), (vec![2.0, 3.0, 4.0], vec![5.0, 6.0]));
}

// one device: a GPU of a driver for tests
#[test]
fn what_lanes_of_a_lost_gpu_were_to_print_is_dropped() {
    if !is_alone("what_lanes_of_a_lost_gpu_were_to_print_is_dropped", "FAKE_CUDA_FAIL=lost:1") {
        return;
    }
    let x = floats(FIRST, &[1.0, 2.0, 3.0]);
    let _waiting = printed(&x);
    std::thread::scope(|scope| {
        let lose = || (&x * 3.0).to_vec().unwrap_err();
        scope.spawn(lose).join().unwrap();
    });
    let there = floats(Device::Cpu, &[1.0, 2.0]) + 1.0;
    let error = jit::eval(&there).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoDevice, "{error}");
    assert_eq!(there.to_vec().unwrap(), [2.0, 3.0]);
    assert_cpu_goes_on();
    // Lines that can no longer be recorded name the line of the program.
    let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| printed(&x))).err().unwrap();
    let message = refused.downcast_ref::<String>().unwrap();
    assert!(message.contains("`cuda:0` was lost") && message.contains("at tests/cuda.rs"), "{message}");
    assert_cpu_goes_on();
}

/// Launches when its thread ends.
struct AtTheEnd(std::cell::RefCell<Option<(Float, std::sync::mpsc::Sender<Float>)>>);

impl Drop for AtTheEnd {
    fn drop(&mut self) {
        if let Some((x, sender)) = self.0.take() {
            let y = x + 1.0;
            jit::eval(&y).unwrap();
            sender.send(y).unwrap();
        }
    }
}

thread_local! {
    static AT_THE_END: AtTheEnd = const { AtTheEnd(std::cell::RefCell::new(None)) };
}

// one device: a GPU of a driver for tests
#[test]
fn a_thread_launches_on_a_gpu_while_it_ends() {
    if !is_alone("a_thread_launches_on_a_gpu_while_it_ends", "") {
        return;
    }
    let x = floats(FIRST, &[1.0, 2.0]);
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || AT_THE_END.with(|end| *end.0.borrow_mut() = Some((x + 1.0, sender)))).join().unwrap();
    assert_eq!(receiver.recv().unwrap().to_vec().unwrap(), [3.0, 4.0]);
}

// one device: a GPU of a driver for tests
#[test]
fn a_launch_that_the_driver_refuses_has_failed_and_the_next_one_runs() {
    if !is_alone("a_launch_that_the_driver_refuses_has_failed_and_the_next_one_runs", "FAKE_CUDA_FAIL=launch:1") {
        return;
    }
    let x = floats(FIRST, &[1.0; 100]);
    let error = (&x * 3.0).with_label("tripled").to_vec().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Launch);
    let text = error.to_string();
    assert!(text.contains("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES") && text.contains("tests/cuda.rs"), "{text}");
    assert_eq!((&x * 4.0).to_vec().unwrap(), [4.0; 100]);
}

// one device: a GPU of a driver for tests
#[test]
fn a_lost_gpu_is_an_error_and_other_devices_go_on() {
    if !is_alone("a_lost_gpu_is_an_error_and_other_devices_go_on", "FAKE_CUDA_FAIL=lost:2") {
        return;
    }
    let (x, other) = (floats(FIRST, &[1.0; 100]), floats(SECOND, &[5.0; 100]));
    assert_eq!((&x * 3.0).to_vec().unwrap(), [3.0; 100]);
    let lost = &x * 4.0;
    let error = jit::eval(&lost).and_then(|()| lost.to_vec().map(drop)).unwrap_err();
    assert!(error.to_string().contains("CUDA_ERROR_ILLEGAL_ADDRESS"), "{error}");
    // What was in its memory is gone, and it takes nothing new.
    let error = x.to_vec().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoDevice);
    assert!(error.to_string().contains("`cuda:0` was lost"), "{error}");
    assert_eq!(jit::set_device(FIRST).unwrap_err().kind(), ErrorKind::NoDevice);
    assert_eq!((&other * 2.0).to_vec().unwrap(), [10.0; 100]);
    drop((x, lost));
    assert_cpu_goes_on();
}

// one device: a GPU of a driver for tests
// rows: O58
#[test]
fn code_that_the_driver_refuses_is_an_error_with_its_reason() {
    if !is_alone("code_that_the_driver_refuses_is_an_error_with_its_reason", "FAKE_CUDA_FAIL=link:1") {
        return;
    }
    let x = floats(FIRST, &[1.0; 100]);
    let error = (&x * 3.0).to_vec().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Compile);
    let text = error.to_string();
    assert!(text.contains("line 7; error") && text.contains("CUDA_ERROR_INVALID_PTX"), "{text}");
    assert_eq!((&x * 3.0).to_vec().unwrap(), [3.0; 100], "errors are not cached");
}

/// What a process says of a driver that cannot be used.
fn reason(test: &str, variables: &str) -> Option<String> {
    if !is_alone(test, variables) {
        return None;
    }
    let error = jit::set_device(FIRST).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoDevice);
    assert!(jit::devices().iter().all(|info| info.device != FIRST));
    assert_cpu_goes_on();
    Some(error.to_string())
}

// no device: there is none
#[test]
fn a_driver_without_a_gpu_is_named() {
    if let Some(reason) = reason("a_driver_without_a_gpu_is_named", "FAKE_CUDA_FAIL=no-device") {
        assert!(reason.contains("CUDA_ERROR_NO_DEVICE"), "{reason}");
    }
}

// no device: it is not used
#[test]
fn an_old_driver_is_named() {
    if let Some(reason) = reason("an_old_driver_is_named", "FAKE_CUDA_DRIVER=11020") {
        assert!(reason.contains("CUDA 11.2, and 11.4 or newer is needed"), "{reason}");
    }
}

// one device: a GPU of a driver for tests
#[test]
fn old_and_new_drivers_get_code_that_they_know() {
    if is_alone("old_and_new_drivers_get_code_that_they_know", "FAKE_CUDA_DRIVER=11040 FAKE_CUDA_DEVICES=4") {
        for device in [FIRST, SECOND, Device::Cuda(2), Device::Cuda(3)] {
            assert_eq!((floats(device, &[1.0; 10]) + 1.0).to_vec().unwrap(), [2.0; 10]);
        }
    }
}

// one device: a GPU of a driver for tests
#[test]
fn indices_out_of_range_are_found_on_a_gpu() {
    if !is_alone("indices_out_of_range_are_found_on_a_gpu", "JIT_DEBUG=on") {
        return;
    }
    let x = floats(FIRST, &[1.0, 2.0, 3.0]);
    let index = with_device(FIRST, || UInt::from([0, 7, 1]));
    let error = x.gather(&index).to_vec().unwrap_err();
    assert!(error.to_string().contains("lane 1 gathers element 7 of an array of 3"), "{error}");
    assert_eq!(x.gather(&with_device(FIRST, || UInt::from([2]))).to_vec().unwrap(), [3.0]);
}

// one device: a GPU of a driver for tests
#[cfg(unix)]
#[test]
fn a_gpu_that_another_process_opened_is_refused() {
    if !is_alone("a_gpu_that_another_process_opened_is_refused", "") {
        return;
    }
    let x = floats(FIRST, &[1.0; 100]);
    let y = &x + 1.0;
    jit::eval(&y).unwrap();
    // SAFETY: the child only uses this library, whose locks survive a fork, and ends without destructors.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let is_refused =
            jit::set_device(FIRST).is_err_and(|error| error.to_string().contains("before the process was forked"));
        drop((x, y));
        // SAFETY: ends the child.
        unsafe { libc::_exit(if is_refused { 0 } else { 1 }) };
    }
    let mut status = -1;
    // SAFETY: waits for the child, whose number is that of the fork.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(status, 0);
    assert_eq!(y.to_vec().unwrap(), [2.0; 100]);
}
