//! Events in a process: exit, fork, out of memory, arrays in destructors. Each is tested in a separate process.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

use jit::prelude::*;

/// Runs a test of this file in a separate process.
fn run(name: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([&format!("processes::{name}"), "--exact", "--ignored", "--nocapture"]);
    command.envs(variables.iter().copied()).output().unwrap()
}

fn text(output: &Output) -> String {
    format!(
        "{:?}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

static COMPILED: AtomicUsize = AtomicUsize::new(0);

/// Starts threads that compile one kernel after another, forever.
fn compile_all_the_time(threads: usize) {
    for thread in 0..threads {
        std::thread::spawn(move || {
            for number in 0.. {
                let mut x = Float::linspace(0.5, 2.0, 100);
                for bit in 0..24 {
                    let is_set = (number * threads + thread) >> bit & 1 == 1;
                    x = if is_set { (&x * 1.5).sin() } else { (&x + 0.5).sqrt() };
                }
                jit::eval(&x).unwrap();
                COMPILED.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
}

fn wait_for_kernels(count: usize) {
    while COMPILED.load(Ordering::Relaxed) < count {
        std::thread::yield_now();
    }
}

#[test]
#[ignore = "run by another test in separate processes"]
fn exit_in_between() {
    compile_all_the_time(3);
    match &*std::env::var("KERNELS").unwrap() {
        // The first kernel, which creates what all kernels use.
        "first" => {
            while jit::stats().llvm_loads == 0 {
                std::thread::yield_now();
            }
        }
        count => wait_for_kernels(count.parse().unwrap()),
    }
    print!("the last words");
    std::process::exit(7);
}

#[test]
fn the_process_ends_while_threads_compile() {
    if crate::tested_devices::has_llvm() {
        (0..20).for_each(|_| ends_with_its_status("first"));
    }
    [0, 0, 0, 1, 1, 2, 3, 5, 8, 13].iter().for_each(|kernels| ends_with_its_status(&kernels.to_string()));
}

fn ends_with_its_status(kernels: &str) {
    let output = run("exit_in_between", &[("KERNELS", kernels)]);
    assert_eq!(output.status.code(), Some(7), "after {kernels} kernels: {}", text(&output));
    assert!(text(&output).contains("the last words"), "{}", text(&output));
}

/// Runs a function in a forked process, which ends with `exit`. Returns how it ended.
fn in_child(run: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child uses what is documented to work there: this is the test of it.
    match unsafe { libc::fork() } {
        0 => {
            // SAFETY: ends a child that hangs, so that the test fails.
            unsafe { libc::alarm(60) };
            std::process::exit(run())
        }
        child => {
            let mut status = 0;
            // SAFETY: the place lives.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            status
        }
    }
}

fn use_arrays() -> i32 {
    let x = UInt::arange(1 << 18) * 3 + 1;
    let sum = x.sum().item().unwrap();
    let sorted = (UInt::arange(1000) ^ 0x155).sort().to_vec().unwrap();
    let is_right = sum == (0..1_u32 << 18).fold(0_u32, |sum, lane| sum.wrapping_add(lane * 3 + 1));
    if is_right && sorted.is_sorted() { 3 } else { 4 }
}

#[test]
#[ignore = "run by another test in a separate process"]
fn fork_in_between() {
    let threads = std::env::var("COMPILING").unwrap().parse().unwrap();
    jit::set_threads(3);
    assert_eq!(use_arrays(), 3);
    compile_all_the_time(threads);
    for round in 0..8 {
        wait_for_kernels(if threads > 0 { round } else { 0 });
        assert_eq!(in_child(|| 3), 3 << 8, "exit, round {round}");
        assert_eq!(in_child(use_arrays), 3 << 8, "arrays, round {round}");
    }
    assert_eq!(use_arrays(), 3);
    println!("all children ended well");
    std::process::exit(0);
}

#[test]
fn a_forked_process_uses_arrays_and_exits() {
    for threads in ["0", "3"] {
        let output = run("fork_in_between", &[("COMPILING", threads)]);
        assert!(output.status.success() && text(&output).contains("all children ended well"), "{}", text(&output));
    }
}

/// Ends for 1 alone.
#[jit]
fn spin(x: &UInt) -> UInt {
    let mut x = x.clone();
    while x != 1 {
        x *= 2;
    }
    x
}

#[test]
#[ignore = "run by another test in a separate process"]
fn fork_while_computing() {
    let width: usize = std::env::var("WIDTH").unwrap().parse().unwrap();
    let mut sums = UInt::arange(width);
    jit::eval(&sums).unwrap();
    jit::sync().unwrap();
    // Written in place by the first evaluation.
    sums.scatter_add(spin(&UInt::full(2, width).make_opaque()), &UInt::arange(width));
    let before = jit::stats().launches;
    let shared = sums.clone();
    let thread = std::thread::spawn(move || shared.to_vec());
    while jit::stats().launches == before {
        std::thread::yield_now();
    }
    let is_refused = || {
        // If the other thread had not begun to write, this one does, forever.
        let result = jit::with_timeout(std::time::Duration::from_secs(1), || sums.to_vec());
        i32::from(result.is_ok()) + use_arrays()
    };
    assert_eq!(in_child(is_refused), 3 << 8);
    jit::cancel();
    assert_eq!(thread.join().unwrap().unwrap_err().kind(), jit::ErrorKind::Cancelled);
    assert_eq!(use_arrays(), 3);
    println!("the child did not wait");
}

#[test]
fn a_forked_process_does_not_wait_for_what_was_being_computed() {
    for width in ["3", "100000"] {
        let output = run("fork_while_computing", &[("WIDTH", width)]);
        assert!(output.status.success() && text(&output).contains("the child did not wait"), "{}", text(&output));
    }
}

thread_local! {
    static LAST: RefCell<Vec<AtTheEnd>> = const { RefCell::new(Vec::new()) };
}

/// Uses arrays when it is dropped.
struct AtTheEnd {
    array: Float,
    result: std::sync::mpsc::Sender<Vec<f32>>,
}

#[jit::freeze]
fn frozen(x: &Float) -> Float {
    x * 2.0 + 1.0
}

#[jit]
fn halve(mut x: Float) -> Float {
    while x > 1.0 {
        x = x * 0.5;
    }
    x
}

impl Drop for AtTheEnd {
    fn drop(&mut self) {
        let y = frozen(&(&self.array + 1.0));
        let z = frozen(&(&self.array + 2.0));
        let mut memory = Local::<f32>::new(4);
        memory.write(&UInt::from([1, 2]), &y);
        let text = format!("{:?} {y} {}", self.array, y.sum());
        let values = [y, halve(z), memory.read(&UInt::from(2))].map(|array| array.to_vec().unwrap()).concat();
        assert!(text.contains("[3, 5]"), "{text}");
        self.result.send(values).unwrap();
    }
}

#[test]
fn arrays_are_used_in_destructors_of_thread_locals() {
    let _turn = crate::one_at_a_time();
    for is_used_before in [false, true] {
        let (result, received) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            // Destructors run in the reverse order of first use.
            if is_used_before {
                assert_eq!((Float::from([1.0, 2.0]) * 2.0).to_vec().unwrap(), [2.0, 4.0]);
            }
            let array = std::thread::spawn(|| Float::from([0.0, 1.0])).join().unwrap();
            LAST.with_borrow_mut(|last| last.push(AtTheEnd { array, result }));
            if !is_used_before {
                assert_eq!((Float::from([1.0, 2.0]) * 2.0).to_vec().unwrap(), [2.0, 4.0]);
            }
        });
        thread.join().unwrap();
        assert_eq!(received.recv().unwrap(), [3.0, 5.0, 0.625, 0.875, 0.0, 5.0]);
    }
}

/// Allows this process this many more bytes.
fn limit_memory(bytes: u64) {
    let pages: u64 = std::fs::read_to_string("/proc/self/statm").unwrap().split(' ').next().unwrap().parse().unwrap();
    let limit = libc::rlimit { rlim_cur: pages * 4096 + bytes, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the limit is read only.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) }, 0);
}

/// Each lane has nearly the maximum amount of memory.
fn large_local(x: &UInt) -> UInt {
    let mut memory = Local::<u32>::new(200_000);
    memory.write(&(x * 100), &(x + 1));
    memory.read(&(x * 100).min(1600))
}

#[jit::freeze]
fn frozen_sum(x: &UInt) -> UInt {
    x + 1
}

#[test]
#[ignore = "run by another test in separate processes"]
fn run_out_of_memory() {
    let x = UInt::arange(32);
    let expected = jit::with_device(Device::Interpreter, || large_local(&x).to_vec().unwrap());
    assert_eq!(large_local(&x).to_vec().unwrap(), expected);
    let large = UInt::arange(16 << 20);
    jit::eval(&large).unwrap();
    let constant = UInt::full(7, 16 << 20);
    let (bytes, words) = (vec![1_u8; 64 << 20], vec![1_u32; 16 << 20]);
    assert_eq!(expected[2], 3);
    limit_memory(16 << 20);
    // The remaining memory, and the memory of earlier kernels that the allocator caches, except for small pieces.
    let mut taken: Vec<Vec<u8>> = Vec::new();
    loop {
        let mut piece = Vec::new();
        if piece.try_reserve_exact(1 << 20).is_err() {
            break;
        }
        taken.push(piece);
    }
    let errors = [large.to_vec(), constant.to_vec(), large_local(&x).to_vec(), (&large + 1).to_vec()];
    for (number, result) in errors.into_iter().enumerate() {
        let error = result.expect_err("there is no memory");
        assert_eq!(error.kind(), jit::ErrorKind::OutOfMemory, "{number}: {error}");
    }
    let errors = [
        UInt::from_bytes(&bytes).map(drop),
        Mask::from_bytes(&bytes).map(drop),
        large.to_bytes().map(drop),
        large.sort().to_vec().map(drop),
        jit::eval(&(&constant * &large)),
        jit::eval(&constant.prefix_sum()),
    ];
    for (number, result) in errors.into_iter().enumerate() {
        let error = result.expect_err("there is no memory");
        assert_eq!(error.kind(), jit::ErrorKind::OutOfMemory, "{number}: {error}");
    }
    // A function that returns an array can only report it by a panic.
    let text = |work: &dyn Fn() -> UInt| {
        let panic = catch_unwind(AssertUnwindSafe(work)).expect_err("there is no memory");
        panic.downcast_ref::<String>().cloned().unwrap_or_default()
    };
    let frozen = || frozen_sum(&large);
    let from = || UInt::from(&words);
    for (number, work) in [&from as &dyn Fn() -> UInt, &frozen].into_iter().enumerate() {
        assert!(text(work).contains("no memory for 67108864 bytes"), "{number}: {}", text(work));
    }
    // No list is stored for equal elements.
    assert_eq!(Float::full(0.5, 1 << 31).sum().item().unwrap(), (1 << 30) as f32);
    drop(taken);
    assert_eq!((UInt::arange(3) + 1).to_vec().unwrap(), [1, 2, 3]);
    println!("refused all");
}

#[test]
fn without_memory_there_is_an_error() {
    for device in ["cpu", "interpreter"] {
        let output = run("run_out_of_memory", &[("JIT_DEVICE", device), ("JIT_THREADS", "1")]);
        assert!(output.status.success() && text(&output).contains("refused all"), "{device}: {}", text(&output));
    }
}

#[test]
#[ignore = "run by another test in a separate process"]
fn print_an_array() {
    println!("{}", Float::arange(3) + 1.0);
    println!("went on");
}

#[test]
fn a_wrong_device_is_not_a_value_of_an_array() {
    let output = run("print_an_array", &[("JIT_DEVICE", "cuda"), ("JIT_TEST_GPUS", "0")]);
    assert!(!output.status.success() && !text(&output).contains("went on"), "{}", text(&output));
    assert!(String::from_utf8_lossy(&output.stderr).contains("JIT_DEVICE"), "{}", text(&output));
    assert!(run("print_an_array", &[("JIT_DEVICE", "cpu")]).status.success());
}

#[freeze]
fn advanced(x: &Float, by: &Float) -> Float {
    x * 0.5 + by
}

/// Makes steps of a state without waiting for any of them, on several threads, and sends some of the states to others.
fn advance(threads: u32, steps: u32, advanced: impl Fn(&Float, &Float) -> Float + Sync) {
    let width = 1 << 18;
    let by = Float::full(1.0, width).make_opaque();
    std::thread::scope(|scope| {
        let (sender, states) = std::sync::mpsc::channel::<Float>();
        for thread in 0..threads {
            let (sender, by, advanced) = (sender.clone(), &by, &advanced);
            scope.spawn(move || {
                let mut x = Float::full(thread as f32, width).make_opaque();
                for step in 0..steps {
                    x = advanced(&x, by);
                    if step % 100 == 0 {
                        sender.send(x.clone()).unwrap();
                    }
                }
                assert_eq!(x.get(width - 1).unwrap(), 2.0);
            });
        }
        drop(sender);
        states.into_iter().for_each(drop);
    });
}

#[test]
#[ignore = "run by another test in separate processes"]
fn advance_without_waiting() {
    advance(3, 400, |x, by| advanced(x, by));
    println!("frozen: {} bytes", jit::memory().peak_bytes);
    advance(3, 400, |x, by| {
        let x = x * 0.5 + by;
        jit::eval(&x).unwrap();
        x
    });
    println!("lazy: {} bytes", jit::memory().peak_bytes);
}

#[test]
fn long_loops_without_a_wait_hold_few_arrays() {
    let output = run("advance_without_waiting", &[("JIT_THREADS", "3")]);
    assert!(output.status.success(), "{}", text(&output));
    let peaks: Vec<usize> = text(&output)
        .lines()
        .filter_map(|line| line.strip_suffix(" bytes")?.split_once(": ")?.1.parse().ok())
        .collect();
    // Each of the three threads has a state, its next one and some that were sent; 64 MiB are the launches of a large
    // cache.
    assert!(matches!(peaks[..], [frozen, lazy] if frozen < 128 << 20 && lazy < 128 << 20), "{}", text(&output));
}
