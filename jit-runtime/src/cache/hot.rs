//! Compiles frequently run kernels to better code: it is generated in the background, and later launches run it.
//!
//! The first code of a kernel is available quickly; for most straight-line kernels the fast code generator makes it. A
//! kernel that has run for as long as better code takes to generate will probably run for as long again, so generating
//! it is not wasted in any case. Another core does it, and launches continue meanwhile. Kernels that already have the
//! best code are not recompiled.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::fork::Held;
use crate::sync::{Mutex, persist};

use crate::Error;
use crate::backend::{self, CodeOptions, Effort, Executable};
use crate::config::{self, Tier};
use crate::ir::Kernel;
use crate::log::{self, Level};
use crate::stats::events::{self, Activity, Compiled};
use crate::stats::{self, Facts};

use super::entry::Entry;
use super::specialised::Variant;
use super::{OPTIMISED, forms, perf_map};

/// A kernel is hot when it has run for this long...
const HOT_MIN: Duration = Duration::from_millis(10);
/// ...and this long for each of its operations: together about the time to generate better code.
const HOT_PER_OP: Duration = Duration::from_micros(100);

/// Whether kernels with so many bytes of code get better code if they run long; only interpreted ones have none.
pub(super) fn is_recompiled(code_bytes: usize) -> bool {
    code_bytes > 0 && config::get().tier == Tier::Auto
}

/// How long a kernel has run.
pub(super) struct Heat {
    busy_ns: AtomicU64,
    hot_ns: u64,
    /// Whether it has been reported as hot, or need not be measured.
    is_settled: AtomicBool,
}

impl Heat {
    /// For a kernel with this many operations.
    pub(super) fn new(ops: usize, code_bytes: usize, effort: Effort) -> Heat {
        let is_wanted = effort == Effort::Quick && is_recompiled(code_bytes);
        Heat {
            busy_ns: AtomicU64::new(0),
            hot_ns: (HOT_MIN.as_nanos() + HOT_PER_OP.as_nanos() * ops as u128) as u64,
            is_settled: AtomicBool::new(!is_wanted),
        }
    }

    /// Adds time. Returns true once, when that makes the kernel hot.
    #[inline]
    pub(super) fn is_hot(&self, ns: u64) -> bool {
        if self.is_settled() {
            return false;
        }
        let busy_ns = self.busy_ns.fetch_add(ns, Ordering::Relaxed) + ns;
        busy_ns >= self.hot_ns && !self.is_settled.swap(true, Ordering::Relaxed)
    }

    /// The running time after which the kernel is hot.
    pub(super) fn hot_ns(&self) -> u64 {
        self.hot_ns
    }

    #[inline]
    pub(super) fn is_settled(&self) -> bool {
        self.is_settled.load(Ordering::Relaxed)
    }
}

/// Code that somebody waits for, unless he has gone.
enum Wanted {
    Better(Weak<Entry>),
    OfVariant(Box<VariantJob>),
}

/// The kernel of a variant, and what it is compiled for.
struct VariantJob {
    kernel: Kernel,
    options: CodeOptions,
    facts: Arc<Facts>,
    variant: Weak<Variant>,
}

/// Kernels that wait for better code.
struct Queue {
    waiting: VecDeque<Wanted>,
    /// Whether a thread is running that processes the queue.
    is_running: bool,
}

static QUEUE: Mutex<Queue> = Mutex::new(Queue { waiting: VecDeque::new(), is_running: false });

/// Queues a hot kernel for recompilation.
#[cold]
pub(super) fn ask(entry: &Arc<Entry>) {
    push(Wanted::Better(Arc::downgrade(entry)));
}

/// Queues a kernel whose parameters often have the values of a variant, which are literals in it.
#[cold]
pub(super) fn ask_for_variant(kernel: Kernel, entry: &Entry, variant: &Arc<Variant>) {
    let options = CodeOptions { effort: Effort::Thorough, ..entry.options };
    let (facts, variant) = (Arc::clone(&entry.facts), Arc::downgrade(variant));
    push(Wanted::OfVariant(Box::new(VariantJob { kernel, options, facts, variant })));
}

fn push(wanted: Wanted) {
    let mut queue = QUEUE.lock();
    queue.waiting.push_back(wanted);
    if !queue.is_running {
        // The thread is never joined: when the process ends, it is kept out of the code generator.
        queue.is_running = std::thread::Builder::new().name("jit-tier".to_owned()).spawn(work).is_ok();
    }
}

/// Takes the lock, for a fork.
pub(super) fn hold(held: &mut Vec<Held>) {
    held.extend(persist(|| QUEUE.try_lock()).map(|guard| Box::new(guard) as Held));
}

/// The thread does not exist in a forked process. The kernels retain their first code there.
pub(super) fn reset() {
    *QUEUE.lock() = Queue { waiting: VecDeque::new(), is_running: false };
}

/// The main loop of the thread, which ends when the queue is empty.
fn work() {
    while let Some(wanted) = next() {
        // After a panic here, the queue would not be processed any more.
        if catch_unwind(AssertUnwindSafe(|| wanted.compile())).is_err() {
            log::emit(Level::Error, || "a hot kernel keeps its first code: compiling it panicked".to_owned());
        }
    }
}

fn next() -> Option<Wanted> {
    let mut queue = QUEUE.lock();
    let wanted = queue.waiting.pop_front();
    queue.is_running = wanted.is_some();
    wanted
}

impl Wanted {
    fn compile(&self) {
        match self {
            Wanted::Better(entry) => entry.upgrade().iter().for_each(|entry| improve(entry)),
            Wanted::OfVariant(job) => job.variant.upgrade().iter().for_each(|variant| job.compile(variant)),
        }
    }
}

impl VariantJob {
    fn compile(&self, variant: &Variant) {
        let (facts, started, span) = (&self.facts, Instant::now(), events::begin());
        match backend::recompile(facts.device, &OPTIMISED.of(&self.kernel), self.options) {
            Ok(None) => {}
            Ok(Some(code)) => {
                perf_map::note_better(facts, &*code);
                variant.set_code(code);
                stats::count_recompile();
                let Facts { label, hash, ops, .. } = **facts;
                span.end(facts.site, || Activity::Compile(Compiled { label, hash, ops, is_better: true }));
                log::emit(Level::Info, || {
                    format!("compiled `{label}` ({hash:016x}) for values that it often has: {:?}", started.elapsed())
                });
            }
            Err(error) => log::emit(Level::Warn, || format!("`{}` keeps its first code: {error}", facts.label)),
        }
    }
}

/// Generates better code; none if the first code is the best.
fn better(entry: &Entry, optimised: &Kernel) -> Result<Option<Box<dyn Executable>>, Error> {
    let thorough = CodeOptions { effort: Effort::Thorough, ..entry.options };
    if entry.is_standing_in() {
        return backend::recompile(entry.facts.device, optimised, thorough);
    }
    backend::improve(entry.facts.device, optimised, entry.options)
}

fn improve(entry: &Entry) {
    let (facts, started, span) = (&entry.facts, Instant::now(), events::begin());
    let optimised = OPTIMISED.of(&entry.kernel);
    match better(entry, &optimised) {
        Ok(None) => {}
        Ok(Some(better)) => {
            #[cfg(loads_code)]
            if let Some(disk) = super::disk::get() {
                let options = CodeOptions { effort: Effort::Thorough, ..entry.options };
                let about = (facts.label, entry.compiled_ops);
                disk.store(facts.device, &entry.kernel, options, &*better, started.elapsed(), about);
            }
            entry.improve(better);
            stats::count_recompile();
            let Facts { label, hash, ops, .. } = **facts;
            span.end(facts.site, || Activity::Compile(Compiled { label, hash, ops, is_better: true }));
            log::emit(Level::Info, || {
                format!("compiled `{}` ({:016x}) with more effort: {:?}", facts.label, facts.hash, started.elapsed())
            });
            forms::improved(entry, &optimised);
        }
        Err(error) => {
            log::emit(Level::Warn, || format!("`{}` keeps its first code: {error}", facts.label));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::RawArgument;
    use crate::cache::{Origin, find_or_compile};
    use crate::device::Device;
    use crate::ir::{Access, BinaryOp, Builder, Kernel, Type};
    use crate::memory::Buffer;

    /// `y = x * x - x + 0.3`
    fn parabola() -> Kernel {
        let mut builder = Builder::new();
        let [x, y] = [Access::Read, Access::Write].map(|access| builder.buffer(Type::F32, access));
        let x = builder.load(x);
        let square = builder.binary(BinaryOp::Mul, x, x);
        let difference = builder.binary(BinaryOp::Sub, square, x);
        let constant = builder.constant(Type::F32, 0.3_f32.to_bits().into());
        let result = builder.binary(BinaryOp::Add, difference, constant);
        builder.store(y, result);
        builder.finish()
    }

    fn entry() -> Arc<Entry> {
        let origin = Origin { label: "parabola".into(), site: None, literals: &[] };
        find_or_compile(Device::Cpu, parabola(), CodeOptions::default(), origin).unwrap().entry
    }

    fn run(entry: &Entry, width: usize) -> Vec<u32> {
        let x: Vec<f32> = (0..1024).map(|lane| lane as f32 / 100.0).collect();
        let x = Buffer::from_bytes(bytemuck::cast_slice(&x)).unwrap();
        let y = Buffer::from_bytes(&[0; 4 * 1024]).unwrap();
        let table = [&x, &y].map(|buffer| RawArgument { word: buffer.address(), length: 1024 });
        // SAFETY: the buffers are not shared, and contain the range.
        unsafe { entry.executable(width).run(0..width as u64, &table) };
        let mut values = vec![0_u32; 1024];
        y.read(0, bytemuck::cast_slice_mut(&mut values)).unwrap();
        values
    }

    fn wait() {
        while QUEUE.lock().is_running {
            std::thread::yield_now();
        }
    }

    #[test]
    fn what_has_no_code_is_never_hot() {
        let interpreted = Heat::new(10, 0, Effort::Quick);
        assert!(interpreted.is_settled() && !interpreted.is_hot(interpreted.hot_ns()));
    }

    #[test]
    fn a_hot_kernel_gets_better_code_once() {
        let entry = entry();
        let before = [900, 3].map(|width| run(&entry, width));
        assert_eq!(f32::from_bits(before[0][200]), 2.0 * 2.0 - 2.0 + 0.3);
        if !crate::tested_devices::has_llvm() {
            assert!(entry.is_settled(), "interpreted kernels remain interpreted");
            return;
        }
        let hot_ns = entry.heat_ns();
        entry.ran(hot_ns - 1);
        assert!(!entry.is_settled(), "not hot yet");
        entry.ran(1);
        assert!(entry.is_settled());
        wait();
        assert!(entry.is_improved() && entry.describe().is_improved);
        assert_eq!(entry.current_options().effort, crate::backend::Effort::Thorough);
        assert!(entry.executable(900).lanes_per_step() > entry.executable(3).lanes_per_step(), "few lanes, first code");
        assert_eq!([900, 3].map(|width| run(&entry, width)), before);
    }

    #[test]
    fn a_hot_kernel_whose_code_stands_in_gets_its_own() {
        if !crate::tested_devices::has_llvm() {
            return;
        }
        let options = CodeOptions { streaming_stores: true, effort: Effort::Quick, ..CodeOptions::default() };
        let made_with = CodeOptions { streaming_stores: false, effort: Effort::Thorough, ..options };
        let optimised = OPTIMISED.of(&parabola());
        let code = backend::compile(Device::Cpu, &optimised, made_with).unwrap();
        let origin = super::super::entry::Origin {
            hash: 0,
            device: Device::Cpu,
            options,
            label: "parabola".into(),
            site: None,
            compile_time: Duration::ZERO,
            load_time: Some(Duration::ZERO),
            compiled_ops: optimised.op_count(),
            made_with,
        };
        let entry = Arc::new(Entry::new(parabola(), code, &origin));
        let before = run(&entry, 900);
        entry.ran(entry.heat_ns());
        wait();
        assert_eq!(entry.current_options(), CodeOptions { effort: Effort::Thorough, ..options });
        assert_eq!(run(&entry, 900), before);
    }

    #[test]
    fn values_that_a_hot_kernel_often_has_get_code_of_their_own() {
        if !crate::tested_devices::has_llvm() {
            return;
        }
        let mut builder = Builder::new();
        let output = builder.buffer(Type::U32, Access::Write);
        let divisor = builder.scalar_param(Type::U32);
        let (lane, divisor) = (builder.lane_index(), builder.scalar(divisor));
        let [quotient, rest] = [BinaryOp::Div, BinaryOp::Rem].map(|op| builder.binary(op, lane, divisor));
        let shifted = builder.binary(BinaryOp::Shl, quotient, divisor);
        let sum = builder.binary(BinaryOp::Add, shifted, rest);
        builder.store(output, sum);
        let origin = Origin { label: "divided".into(), site: None, literals: &[] };
        let entry = find_or_compile(Device::Cpu, builder.finish(), CodeOptions::default(), origin).unwrap().entry;
        let output = Buffer::from_bytes(&[0; 4 * 4000]).unwrap();
        let run = |divisor: u64, width: u64| {
            let words = [(output.address(), 4000), (divisor, 0)];
            let table = words.map(|(word, length)| RawArgument { word, length });
            let code = entry.executable_for(width as usize, width, &table);
            // SAFETY: the buffer is not shared, and contains the range.
            unsafe { code.run(0..width, &table) };
            let mut values = vec![0_u32; width as usize];
            output.read(0, bytemuck::cast_slice_mut(&mut values)).unwrap();
            (std::ptr::from_ref(code).cast::<()>(), values)
        };
        let wanted = |divisor: u32| (0..4000).map(move |lane: u32| ((lane / divisor) << divisor) + lane % divisor);
        let first = run(3, 4000).0;
        for divisor in [3, 7] {
            let code = (0..100_000_000).map(|_| run(divisor, 4000).0).find(|code| {
                wait();
                *code != first
            });
            assert!(code.is_some_and(|code| code != run(5, 4000).0), "others have the first code");
        }
        for divisor in [3, 5, 7] {
            for width in [4000, 3900, 3] {
                let wanted: Vec<u32> = wanted(divisor as u32).take(width as usize).collect();
                assert_eq!(run(divisor, width).1, wanted);
            }
        }
        assert_ne!(run(3, 4000).0, run(7, 4000).0);
    }
}
