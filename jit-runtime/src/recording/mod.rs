//! Recordings: launches over slots and sizes whose values are known when they are replayed.
//!
//! A [`Recorder`] observes the launches of a program and records each of them: the buffers that it reads and writes, as
//! numbers of *slots*; the number of lanes, as an expression of the sizes of the inputs; and its code. The finished
//! [`Recording`] is immutable and shared between threads. A replay is passed the buffers of the inputs, computes all
//! sizes, checks the guards, and launches the same code.
//!
//! Invariants: a replay writes no input buffer that is not donated; it allocates all its storage before the
//! first launch; and it launches nothing when a guard on the inputs fails.
//!
//! | part | file |
//! |---|---|
//! | sizes and guards | `size` |
//! | recording launches | `recorder` |
//! | loops, whose iterations a replay counts | `loop_rolling`, `iteration_match`, `repeat` |
//! | the storage of each slot | `plan` |
//! | all values that follow from the sizes of the inputs, cached between replays | `bound` |
//! | memory that is retained between replays | `kept` |
//! | launching | `replay` |
//! | launches that the machine queues together | `batches` |
//! | short kernels one after another, without launching them | `chain` |
//! | which short kernels may run tile by tile | `tiles` |
//! | host calls between launches | `host` |
//! | its kernels, for reports | `kernels` |
//! | recordings in files | `file` |

mod batches;
mod bound;
mod chain;
pub mod file;
mod host;
mod iteration_match;
mod kept;
mod kernels;
mod loop_rolling;
mod plan;
mod recorder;
mod repeat;
mod replay;
mod size;
mod tiles;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::sync::Mutex;
use crate::{Label, Site};
use smallvec::SmallVec;

use crate::cache::Entry;
use crate::config::Device;
use crate::ir::{Kernel, Type};
use crate::launch::Checks;
use crate::launch::native::Call;
use crate::memory::Buffer;

use bound::Bound;
use host::HostStep;
pub use host::{HostCall, HostGiven, HostInput, HostMade, HostSource};
pub use kernels::RecordedKernel;
pub use loop_rolling::Unchanged;
pub use recorder::{ObservedValue, Recorder, Unknown};
pub use replay::{GuardFailure, ReplayInputs, Replayed};
pub use size::{Guard, Relation, SizeExpr, SizeId, SizeOp, Sizes};

/// The position of a slot in its recording.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SlotId(pub u32);

impl SlotId {
    /// As an index.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Memory in a recording.
#[derive(Clone, Debug)]
pub struct Slot {
    /// The type of the elements.
    pub ty: Type,
    /// How many there are.
    pub len: SizeId,
    /// Where they come from.
    pub origin: Origin,
}

/// Where the contents of a slot come from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// The caller of the replay passes them; the number of the input.
    Input(u32),
    /// They are the same in each replay.
    Constant(Arc<Buffer>),
    /// A step writes them.
    Step,
}

/// A value of width 1 that is an argument of a step.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Scalar {
    /// The same in each replay.
    Constant(u64),
    /// The caller of the replay passes its bits; the number among the scalars that are passed.
    Input(u32),
    /// A size, as a number of a type.
    Size(SizeId, Type),
}

/// An argument of a step.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Bind {
    Slot(SlotId),
    Scalar(Scalar),
}

/// A launch in a recording.
#[derive(Clone)]
pub(crate) enum Step {
    Kernel(KernelStep),
    Library(LibraryStep),
    Count(CountStep),
    Test(TestStep),
    Host(HostStep),
    Loop(LoopStep),
    Repeat(RepeatStep),
}

/// A kernel to launch.
#[derive(Clone)]
pub(crate) struct KernelStep {
    pub(crate) entry: Arc<Entry>,
    /// The kernel with sizes as parameters, if it computes with sizes that follow from those of the inputs: the code is
    /// specialised to their values.
    pub(crate) template: Option<Arc<Kernel>>,
    pub(crate) lanes: SizeId,
    pub(crate) reduce_block: Option<SizeId>,
    pub(crate) arguments: SmallVec<[Bind; 8]>,
    pub(crate) label: Label,
    pub(crate) site: Option<Site>,
    /// The slots if the kernel only copies one slot to another: from, to.
    pub(crate) copy: Option<(SlotId, SlotId)>,
    /// How the kernel reports errors, if it checks anything.
    pub(crate) checks: Option<Checks>,
    /// Code from a file, which serves all sizes: one entry for each of the options that it was compiled with.
    pub(crate) shipped: Vec<Arc<Entry>>,
}

impl KernelStep {
    /// The kernel, with the parameters that the arguments are for.
    pub(crate) fn kernel(&self) -> &Kernel {
        self.template.as_deref().unwrap_or(&self.entry.kernel)
    }
}

/// A library call.
#[derive(Clone)]
pub(crate) struct LibraryStep {
    pub(crate) call: Call,
    /// The sizes in the call.
    pub(crate) sizes: SmallVec<[SizeId; 4]>,
    /// The value that a fill writes, if it is not constant.
    pub(crate) fill: Option<Scalar>,
    pub(crate) inputs: SmallVec<[SlotId; 2]>,
    pub(crate) outputs: SmallVec<[SlotId; 2]>,
    pub(crate) site: Option<Site>,
}

/// A step that lists and counts the true elements of a mask.
#[derive(Clone)]
pub(crate) struct CountStep {
    pub(crate) mask: SlotId,
    pub(crate) positions: SlotId,
    pub(crate) site: Option<Site>,
}

/// A value that the program decided by, as an `#[evaluated]` loop does by whether any lane continues.
#[derive(Clone, Copy)]
pub(crate) struct TestStep {
    pub(crate) slot: SlotId,
    pub(crate) expected: u64,
    pub(crate) site: Option<Site>,
}

/// The beginning of steps that are repeated while a value is true.
#[derive(Clone)]
pub(crate) struct LoopStep {
    pub(crate) carried: SmallVec<[Carried; 4]>,
    /// The value that is read before each iteration, as the number of a carried slot.
    pub(crate) test: u32,
    /// The number of repeated steps; the step after them is [`Step::Repeat`].
    pub(crate) length: u32,
    /// The maximum number of iterations, and how many the program has made before.
    pub(crate) limit: Option<(u32, u32)>,
    pub(crate) site: Site,
}

/// A slot that one iteration makes and the next one reads.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Carried {
    /// The slot that iterations read, and that has the result after the loop.
    pub(crate) param: SlotId,
    /// The slot that the first iteration reads.
    pub(crate) init: SlotId,
    /// The slot that each iteration writes.
    pub(crate) out: SlotId,
}

/// The end of steps that are repeated.
#[derive(Clone)]
pub(crate) struct RepeatStep {
    /// How many there are.
    pub(crate) length: u32,
    /// The carried slots: parameters, and the outputs of iterations for them.
    pub(crate) slots: SmallVec<[SlotId; 8]>,
}

/// A copy of an input that is made in order to overwrite it. If the input is not needed otherwise, it is overwritten
/// instead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DonatedCopy {
    step: u32,
    from: SlotId,
    to: SlotId,
    input: u32,
}

impl DonatedCopy {
    fn is_donated(&self, given: ReplayInputs<'_>) -> bool {
        given.donated.get(self.input as usize) == Some(&true)
    }
}

/// Launches to be replayed.
pub struct Recording {
    device: Device,
    sizes: Sizes,
    slots: Vec<Slot>,
    steps: Vec<Step>,
    /// The outputs of a replay.
    outputs: Vec<SlotId>,
    /// For each step, the slots that are not used after it.
    plan: plan::Lifetimes,
    /// For each slot, whether it is an output.
    is_output: Vec<bool>,
    /// For each slot, whether loops exchange its memory with that of slots of which one is an output.
    is_exchanged: Vec<bool>,
    /// Copies that need not be made if inputs may be overwritten.
    yields: Vec<DonatedCopy>,
    /// Whether some step determines sizes, so that they are known only in the middle of a replay.
    counts: bool,
    /// Whether some step determines sizes, reads a value or calls the host, so that a replay may be rejected after it
    /// has begun.
    is_tentative: bool,
    inputs: u32,
    scalars: u32,
    /// The number of sizes that a replay is passed.
    input_sizes: usize,
    /// The values that follow from the sizes of the inputs of some previous replays, latest first.
    bound: Mutex<Vec<Arc<Bound>>>,
    /// Memory of completed replays.
    states: Arc<kept::States>,
    replays: AtomicU64,
}

impl Recording {
    /// The number of launches.
    #[must_use]
    pub fn launches(&self) -> usize {
        self.steps.len()
    }

    /// The sizes and guards.
    #[must_use]
    pub fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    /// The slots.
    #[must_use]
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The slots whose memory a replay returns, in order.
    #[must_use]
    pub fn outputs(&self) -> &[SlotId] {
        &self.outputs
    }

    /// The number of inputs whose memory a replay is passed.
    #[must_use]
    pub fn inputs(&self) -> u32 {
        self.inputs
    }

    /// The number of scalars that a replay is passed.
    #[must_use]
    pub fn scalars(&self) -> u32 {
        self.scalars
    }

    /// The number of replays.
    #[must_use]
    pub fn replays(&self) -> u64 {
        self.replays.load(Ordering::Relaxed)
    }

    /// Whether any step calls the host.
    #[must_use]
    pub fn calls_host(&self) -> bool {
        self.is_tentative && self.steps.iter().any(|step| matches!(step, Step::Host(_)))
    }

    /// Whether any step reads an input's elements.
    #[must_use]
    pub fn is_read(&self, input: u32) -> bool {
        let is_it = |slot: &SlotId| matches!(self.slots[slot.index()].origin, Origin::Input(number) if number == input);
        self.steps.iter().any(|step| step.slots().any(|slot| is_it(&slot)))
    }

    /// The launches as text, with sizes as formulas. `names` returns the names of the inputs.
    #[must_use]
    pub fn dump(&self, names: &dyn Fn(u16) -> String) -> String {
        use std::fmt::Write as _;
        let mut text = String::new();
        for guard in self.sizes.guards() {
            let relation = match guard.relation {
                Relation::Eq => "==",
                Relation::Ne => "!=",
                Relation::Lt => "<",
                Relation::Ge => ">=",
            };
            let [left, right] = [guard.left, guard.right].map(|size| self.sizes.display(size, names).to_string());
            let _ = writeln!(
                text,
                "requires {left} {relation} {right}, because of {}:{}",
                guard.site.file(),
                guard.site.line()
            );
        }
        let mut depth: usize = 0;
        for step in &self.steps {
            depth = depth.saturating_sub(usize::from(matches!(step, Step::Repeat(_))));
            text.push_str(&"  ".repeat(depth));
            depth += usize::from(matches!(step, Step::Loop(_)));
            let slots: Vec<String> = step.slots().map(|slot| self.describe(slot, names)).collect();
            let (name, site) = step.name();
            let lanes = match step {
                Step::Kernel(kernel) => format!(" over {} lanes", self.sizes.display(kernel.lanes, names)),
                _ => String::new(),
            };
            let line = site.map(|site| format!(", {}:{}", site.file(), site.line())).unwrap_or_default();
            let _ = writeln!(text, "{name}({}){lanes}{line}", slots.join(", "));
        }
        text
    }

    fn describe(&self, slot: SlotId, names: &dyn Fn(u16) -> String) -> String {
        let Slot { ty, len, origin } = &self.slots[slot.index()];
        let kind = match origin {
            Origin::Input(number) => format!("input {number}"),
            Origin::Constant(_) => "constant".to_owned(),
            Origin::Step => format!("#{}", slot.0),
        };
        format!("{kind}: {ty}[{}]", self.sizes.display(*len, names))
    }
}

impl Step {
    /// The slots that the step uses.
    pub(crate) fn slots(&self) -> impl Iterator<Item = SlotId> + '_ {
        let (mut binds, mut carried): (&[Bind], &[Carried]) = (&[], &[]);
        let (mut inputs, mut outputs): (&[SlotId], &[SlotId]) = (&[], &[]);
        match self {
            Step::Kernel(kernel) => binds = &kernel.arguments,
            Step::Library(native) => (inputs, outputs) = (&native.inputs, &native.outputs),
            Step::Count(count) => {
                (inputs, outputs) = (std::slice::from_ref(&count.mask), std::slice::from_ref(&count.positions));
            }
            Step::Test(test) => inputs = std::slice::from_ref(&test.slot),
            Step::Host(host) => (binds, outputs) = (&host.reads, &host.outputs),
            Step::Loop(inner) => carried = &inner.carried,
            Step::Repeat(inner) => inputs = &inner.slots,
        }
        let bound = binds.iter().filter_map(|bind| match bind {
            Bind::Slot(slot) => Some(*slot),
            Bind::Scalar(_) => None,
        });
        let carried = carried.iter().flat_map(|carried| [carried.param, carried.init, carried.out]);
        bound.chain(inputs.iter().copied()).chain(outputs.iter().copied()).chain(carried)
    }

    /// Replaces the slots that the step uses, in the order of [`Step::slots`].
    pub(crate) fn rename(&mut self, mut other: impl FnMut(SlotId) -> SlotId) {
        let mut put = |slot: &mut SlotId| *slot = other(*slot);
        match self {
            Step::Kernel(kernel) => {
                for bind in &mut kernel.arguments {
                    if let Bind::Slot(slot) = bind {
                        put(slot);
                    }
                }
                kernel.copy = recorder::copied(kernel.kernel(), &kernel.arguments);
            }
            Step::Library(native) => native.inputs.iter_mut().chain(&mut native.outputs).for_each(put),
            Step::Host(host) => {
                let reads = host.reads.iter_mut().filter_map(|bind| match bind {
                    Bind::Slot(slot) => Some(slot),
                    Bind::Scalar(_) => None,
                });
                reads.chain(&mut host.outputs).for_each(put);
            }
            Step::Count(count) => [&mut count.mask, &mut count.positions].into_iter().for_each(put),
            Step::Test(test) => put(&mut test.slot),
            Step::Loop(inner) => {
                for Carried { param, init, out } in &mut inner.carried {
                    [param, init, out].into_iter().for_each(&mut put);
                }
            }
            Step::Repeat(inner) => inner.slots.iter_mut().for_each(put),
        }
    }

    /// Whether it determines sizes that are not known before.
    fn counts(&self) -> bool {
        match self {
            Step::Count(_) => true,
            Step::Host(host) => host.counts(),
            Step::Kernel(_) | Step::Library(_) | Step::Test(_) | Step::Loop(_) | Step::Repeat(_) => false,
        }
    }

    /// Whether it allocates the memory of a slot itself.
    fn makes(&self, slot: SlotId) -> bool {
        match self {
            Step::Count(count) => count.positions == slot,
            Step::Host(host) => host.outputs.contains(&slot),
            Step::Kernel(_) | Step::Library(_) | Step::Test(_) | Step::Loop(_) | Step::Repeat(_) => false,
        }
    }

    fn name(&self) -> (&'static str, Option<Site>) {
        match self {
            Step::Kernel(kernel) => (kernel.label.as_str(), kernel.site),
            Step::Library(native) => (native.call.name(), native.site),
            Step::Count(count) => ("compress", count.site),
            Step::Test(test) => ("test", test.site),
            Step::Host(host) => ("host", Some(host.site)),
            Step::Loop(inner) => ("loop", Some(inner.site)),
            Step::Repeat(_) => ("repeat", None),
        }
    }
}

#[cfg(test)]
mod tests;
