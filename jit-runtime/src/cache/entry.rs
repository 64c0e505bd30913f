//! A cached kernel: its key, its code, and the facts that launches need.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::CacheEntry;
use super::cost::Cost;
use super::determinism::Shown;
use super::hot::{self, Heat};
use super::perf_map;
use super::permuted::Moves;
use super::specialised::Specialised;
use super::transposed::Transposed;
use crate::backend::{CodeOptions, Effort, Executable, RawArgument, Target};
use crate::config::Device;
use crate::ir::{Access, Kernel, Op, Param};
use crate::stats::{Facts, ParamFacts};
use crate::{Label, Site};

/// Narrower launches take about as long as finding code for the values of their parameters.
const MIN_SPECIALISED_WIDTH: usize = 2048;

/// A kernel with its code.
pub(crate) struct Entry {
    pub(crate) kernel: Kernel,
    pub(crate) options: CodeOptions,
    pub(crate) facts: Arc<Facts>,
    /// How its results depend on the order of lanes.
    pub(crate) shown: Shown,
    executable: Box<dyn Executable>,
    /// The options with which it was compiled: code from disk may be better than requested, or stand in.
    made_with: CodeOptions,
    /// The number of operations after the passes.
    pub(super) compiled_ops: usize,
    /// Code that was compiled with more effort.
    better: OnceLock<Box<dyn Executable>>,
    heat: Heat,
    /// Reads for which lanes may run in another order.
    pub(crate) transposed: Option<Transposed>,
    /// The elements that it moves, if it has code and does nothing else.
    pub(crate) moves: Option<Moves>,
    /// Code for some values of its parameters.
    specialised: Option<Box<Specialised>>,
    pub(crate) cost: Cost,
    pub(crate) launches: AtomicU64,
    /// The clock of the cache when the entry was last used.
    pub(super) last_used: AtomicU64,
}

/// Information about a new kernel for reports.
pub(super) struct Origin {
    pub(super) hash: u64,
    pub(super) device: Device,
    pub(super) options: CodeOptions,
    pub(super) label: Label,
    pub(super) site: Option<Site>,
    pub(super) compile_time: Duration,
    /// The time that reading the code from disk took; none if it was compiled.
    pub(super) load_time: Option<Duration>,
    /// The number of operations after the passes, with functions expanded.
    pub(super) compiled_ops: usize,
    /// The options with which the code was compiled.
    pub(super) made_with: CodeOptions,
}

impl Entry {
    /// Creates an entry for a kernel, as the scheduler built it, and its code.
    pub(super) fn new(kernel: Kernel, executable: Box<dyn Executable>, origin: &Origin) -> Entry {
        let params = param_facts(&kernel);
        let facts = Facts {
            label: origin.label,
            site: origin.site,
            hash: origin.hash,
            device: origin.device,
            ops: kernel.op_count(),
            reduces: params.iter().any(|param| param.reduction.is_some()),
            has_loop: kernel.has_loop(),
            combining_scatters: kernel.combining_scatters(),
            params,
            lanes_per_step: executable.lanes_per_step(),
            code_bytes: executable.code_bytes(),
            compile_time: origin.compile_time,
            load_time: origin.load_time,
        };
        perf_map::note(&facts, &*executable);
        // Only interpreted kernels have no code.
        let cost = Cost::new(origin.compiled_ops, facts.has_loop, facts.code_bytes == 0, facts.lanes_per_step);
        let specialised = hot::is_recompiled(facts.code_bytes).then(|| Specialised::of(&kernel)).flatten();
        Entry {
            shown: Shown::by(&kernel),
            transposed: Transposed::of(&kernel),
            moves: moves(&kernel, &facts),
            specialised,
            kernel,
            options: origin.options,
            executable,
            made_with: origin.made_with,
            compiled_ops: origin.compiled_ops,
            better: OnceLock::new(),
            heat: Heat::new(facts.ops, facts.code_bytes, wanted_effort(origin)),
            cost,
            launches: AtomicU64::new(0),
            last_used: AtomicU64::new(0),
            facts: Arc::new(facts),
        }
    }

    /// The code for a launch of some width. A launch that is narrower than the step of the better code uses the first
    /// code.
    #[inline]
    pub(crate) fn executable(&self, width: usize) -> &dyn Executable {
        match self.better.get() {
            Some(better) if width >= better.lanes_per_step() => &**better,
            _ => &*self.executable,
        }
    }

    /// The code for some lanes of a launch of some width. It may be specialised to the values of its parameters.
    #[inline(always)]
    pub(crate) fn executable_for(&self, width: usize, lanes: u64, arguments: &[RawArgument]) -> &dyn Executable {
        match &self.specialised {
            Some(specialised) if width >= MIN_SPECIALISED_WIDTH => {
                self.specialised(specialised, width, lanes, arguments)
            }
            _ => self.executable(width),
        }
    }

    fn specialised<'a>(
        &'a self,
        specialised: &'a Specialised,
        width: usize,
        lanes: u64,
        arguments: &[RawArgument],
    ) -> &'a dyn Executable {
        let Some(variant) = specialised.find(arguments) else { return self.executable(width) };
        match variant.code() {
            Some(code) if width >= code.lanes_per_step() => code,
            Some(_) => self.executable(width),
            None => {
                let ns = lanes as f32 * self.cost.lane_ns();
                if variant.is_hot(ns as u64, self.heat.hot_ns()) {
                    hot::ask_for_variant(specialised.kernel(&self.kernel, variant), self, variant);
                }
                self.executable(width)
            }
        }
    }

    /// Records that the kernel ran on a core for some time. When that adds up, it is compiled to better code.
    #[inline]
    pub(crate) fn ran(self: &Arc<Self>, ns: u64) {
        if self.heat.is_hot(ns) {
            hot::ask(self);
        }
    }

    /// Whether its running time has no further effect.
    pub(crate) fn is_settled(&self) -> bool {
        self.heat.is_settled()
    }

    /// Whether the code that wide launches run was read from disk.
    #[cfg(loads_code)]
    pub(super) fn is_read(&self) -> bool {
        self.facts.load_time.is_some() && self.better.get().is_none()
    }

    /// Whether there is code that was compiled with more effort.
    pub(crate) fn is_improved(&self) -> bool {
        self.better.get().is_some() || self.made_with.effort != self.options.effort
    }

    /// The running time after which the kernel is hot.
    #[cfg(test)]
    pub(super) fn heat_ns(&self) -> u64 {
        self.heat.hot_ns()
    }

    /// The options of the code that wide launches run.
    pub(crate) fn current_options(&self) -> CodeOptions {
        let better = CodeOptions { effort: Effort::Thorough, ..self.options };
        if self.better.get().is_some() { better } else { self.made_with }
    }

    /// Whether its first code was made for other stores than requested.
    pub(super) fn is_standing_in(&self) -> bool {
        self.made_with.streaming_stores != self.options.streaming_stores
    }

    /// Sets the code that later launches run.
    pub(super) fn improve(&self, better: Box<dyn Executable>) {
        perf_map::note_better(&self.facts, &*better);
        let _ = self.better.set(better);
    }

    /// An entry that is not in a cache, for code that was prepared elsewhere.
    pub(crate) fn uncached(
        kernel: Kernel,
        options: CodeOptions,
        executable: Box<dyn Executable>,
        (label, site): (Label, Option<Site>),
    ) -> Entry {
        let (compile_time, compiled_ops) = (Duration::ZERO, kernel.op_count());
        let device = Device::Interpreter;
        let (hash, load_time, made_with) = (0, None, options);
        let origin = Origin { hash, device, options, label, site, compile_time, load_time, compiled_ops, made_with };
        Entry::new(kernel, executable, &origin)
    }

    /// An entry that is not in a cache, with a hash.
    #[cfg(test)]
    pub(crate) fn for_test(hash: u64, kernel: Kernel, options: CodeOptions, executable: Box<dyn Executable>) -> Entry {
        let mut entry = Entry::uncached(kernel, options, executable, ("test".into(), None));
        Arc::get_mut(&mut entry.facts).expect("the facts of a new entry are not shared").hash = hash;
        entry
    }

    /// Whether this is the code of a kernel for a device and options.
    pub(super) fn is_for(&self, device: Device, options: CodeOptions, kernel: &Kernel) -> bool {
        self.facts.device == device && self.options == options && self.kernel == *kernel
    }

    pub(super) fn describe(&self) -> CacheEntry {
        CacheEntry {
            label: self.facts.label,
            hash: self.facts.hash,
            device: self.facts.device,
            ops: self.facts.ops,
            code_bytes: self.facts.code_bytes + self.better.get().map_or(0, |better| better.code_bytes()),
            is_improved: self.is_improved(),
            compile_time: self.facts.compile_time,
            launches: self.launches.load(Ordering::Relaxed),
            ns_per_lane: self.cost.ns_per_lane(),
        }
    }
}

/// The effort of the code, as far as compiling it again is concerned: code that stands in for other is worth that.
fn wanted_effort(origin: &Origin) -> Effort {
    if origin.made_with.streaming_stores == origin.options.streaming_stores {
        origin.made_with.effort
    } else {
        Effort::Quick
    }
}

/// The elements that are moved without the kernel's code, which is run where accesses are verified. Kernels without
/// code are interpreted.
fn moves(kernel: &Kernel, facts: &Facts) -> Option<Moves> {
    let verifies = Target::host().is_ok_and(|target| target.verifies_accesses);
    if facts.code_bytes == 0 || verifies { None } else { Moves::of(kernel) }
}

fn param_facts(kernel: &Kernel) -> Vec<ParamFacts> {
    let mut params: Vec<ParamFacts> = kernel.params.iter().map(declared).collect();
    params.iter_mut().zip(kernel.combined_buffers()).for_each(|(param, combined)| param.combined = combined);
    for inst in kernel.regions.iter().flat_map(|region| &region.insts) {
        match inst.op {
            Op::Load(buffer) | Op::Store { buffer, .. } => params[buffer.index()].by_lane = true,
            Op::Gather { buffer, .. }
            | Op::Scatter { buffer, .. }
            | Op::Atomic { buffer, .. }
            | Op::CompareExchange { buffer, .. } => {
                let param = &mut params[buffer.index()];
                param.indexed = param.indexed.saturating_add(1);
            }
            Op::Reduce { op, buffer, .. } => params[buffer.index()].reduction = Some(op),
            _ => {}
        }
    }
    params
}

/// The facts in the declaration of a parameter.
fn declared(param: &Param) -> ParamFacts {
    let access = match param {
        Param::Buffer { access, .. } => Some(*access),
        Param::Scalar { .. } => None,
    };
    ParamFacts {
        ty: param.ty(),
        is_buffer: access.is_some(),
        reads: matches!(access, Some(Access::Read | Access::ReadWrite)),
        writes: matches!(access, Some(Access::Write | Access::ReadWrite | Access::Reduce)),
        by_lane: false,
        indexed: 0,
        reduction: None,
        combined: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Builder, ReduceOp, Type};

    #[test]
    fn each_kind_of_access_is_known() {
        let mut b = Builder::new();
        let modes = [Access::Read, Access::Read, Access::ReadWrite, Access::Write, Access::Reduce];
        let [plain, indexed, target, output, total] = modes.map(|mode| b.buffer(Type::U32, mode));
        let lane = b.lane_index();
        let (x, y) = (b.load(plain), b.gather(indexed, lane, None));
        b.scatter(Some(ReduceOp::Add), target, lane, x, None);
        b.store(output, y);
        b.reduce(ReduceOp::Max, total, x);
        let facts = param_facts(&b.finish());
        let of = |read: fn(&ParamFacts) -> bool| facts.iter().map(read).collect::<Vec<_>>();
        assert_eq!(of(|param| param.reads), [true, true, true, false, false]);
        assert_eq!(of(|param| param.writes), [false, false, true, true, true]);
        assert_eq!(of(|param| param.by_lane), [true, false, false, true, false]);
        assert_eq!(of(|param| param.indexed == 1), [false, true, true, false, false]);
        assert_eq!(of(|param| param.reduction == Some(ReduceOp::Max)), [false, false, false, false, true]);
        assert_eq!(of(|param| param.combined == Some(ReduceOp::Add)), [false, false, true, false, false]);
    }

    /// Code that does nothing.
    struct Nothing;

    impl Executable for Nothing {
        unsafe fn run_polled(
            &self,
            _: std::ops::Range<u64>,
            _: &[crate::backend::RawArgument],
            _: crate::cancel::Poll<'_>,
        ) {
        }

        fn lanes_per_step(&self) -> usize {
            1
        }

        fn code_bytes(&self) -> usize {
            10
        }
    }

    #[test]
    fn better_code_that_comes_from_disk_is_known_to_be_better() {
        let options = CodeOptions { effort: Effort::Quick, ..CodeOptions::default() };
        let entry = |made_with| {
            let (compile_time, load_time) = (Duration::ZERO, Some(Duration::ZERO));
            let (device, label, compiled_ops) = (Device::Cpu, "test".into(), 1);
            let origin = Origin {
                hash: 0,
                device,
                options,
                label,
                site: None,
                compile_time,
                load_time,
                compiled_ops,
                made_with,
            };
            Entry::new(Builder::new().finish(), Box::new(Nothing), &origin)
        };
        let better = CodeOptions { effort: Effort::Thorough, ..options };
        let (quick, thorough) = (entry(options), entry(better));
        assert!(!quick.is_improved() && !quick.describe().is_improved && thorough.is_improved());
        assert_eq!(thorough.current_options().effort, Effort::Thorough);
        assert!(thorough.is_settled(), "there is no better code");
        let other_stores = CodeOptions { streaming_stores: !options.streaming_stores, ..better };
        let standing_in = entry(other_stores);
        assert!(standing_in.is_standing_in() && !standing_in.is_settled(), "its own code is better");
        assert_eq!(standing_in.current_options(), other_stores);
    }
}
