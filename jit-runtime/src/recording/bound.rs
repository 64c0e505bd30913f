//! All values that follow from the sizes of the inputs. They are cached, since most replays have the same sizes as the
//! one before.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use smallvec::SmallVec;

use crate::Error;
use crate::backend::RawArgument;
use crate::cache::{self, Entry, Found, Origin};
use crate::launch::{self, Argument};
use crate::memory::Buffer;

use super::chain::Chain;
use super::plan::Blocks;
use super::{Bind, Guard, KernelStep, Recording, Scalar, Slot, Step};

/// The number of replays after which the times of the kernels are known well enough to decide how they are run.
const LEARNING: u32 = 3;
/// If replays on the calling thread take longer than this per kernel, the time was not known well enough.
const SURPRISING_NS: u64 = 50_000;
/// The number of input sizes that are cached.
const KEPT: usize = 8;

/// The values for given sizes of the inputs.
pub(crate) struct Bound {
    /// The sizes of the inputs.
    pub(crate) inputs: Vec<usize>,
    /// The value of each size.
    pub(crate) values: Vec<usize>,
    pub(crate) blocks: Blocks,
    /// For each step that is a kernel, its code.
    pub(crate) codes: Vec<Option<Code>>,
    /// The chain for running kernels on the calling thread, if all steps are kernels.
    pub(crate) chain: Option<Chain>,
    /// The number of replays that launched each kernel, up to [`LEARNING`]; [`SMALL`] once its kernels are known to be
    /// short.
    launched: AtomicU32,
}

/// The value of [`Bound::launched`] while kernels are run on the calling thread.
const SMALL: u32 = u32::MAX;

/// The code of a kernel for launches of some sizes.
#[derive(Clone)]
pub(crate) struct Code {
    pub(crate) entry: Arc<Entry>,
    /// Literals of the kernel that this code takes as parameters, in addition to those of the recorded code.
    pub(crate) scalars: SmallVec<[u64; 8]>,
    /// The arguments in the form that code receives, without addresses.
    pub(crate) raw: SmallVec<[RawArgument; 8]>,
}

impl Bound {
    /// The kernels, if they are so short that the calling thread should run them.
    pub(crate) fn small_chain(&self, recording: &Recording) -> Option<&Chain> {
        let chain = self.chain.as_ref()?;
        let launched = self.launched.load(Ordering::Relaxed);
        if launched == SMALL {
            return Some(chain);
        }
        if launched < LEARNING {
            self.launched.store(launched + 1, Ordering::Relaxed);
            return None;
        }
        let is_small = recording.steps.iter().zip(&self.codes).all(|(step, code)| match (step, code) {
            (Step::Kernel(kernel), Some(code)) => {
                code.entry.cost.estimate(self.values[kernel.lanes.index()]).is_small()
            }
            _ => false,
        });
        if !is_small {
            return None;
        }
        self.launched.store(SMALL, Ordering::Relaxed);
        Some(chain)
    }

    /// Checks the time of a replay on the calling thread: kernels whose time depends on their data may have become
    /// slower.
    pub(crate) fn note(&self, elapsed_ns: u64, kernels: usize) {
        if elapsed_ns > SURPRISING_NS.saturating_mul(kernels as u64) {
            self.launched.store(0, Ordering::Relaxed);
        }
    }
}

impl Recording {
    /// Computes the values that follow from the sizes of inputs. If the recording does not fit them, returns none or
    /// the guard that failed.
    pub(crate) fn bind(&self, inputs: &[usize]) -> Result<Result<Arc<Bound>, Option<Guard>>, Error> {
        if let Some(bound) = self.find_bound(inputs) {
            return Ok(Ok(bound));
        }
        let mut values = Vec::new();
        if let Err(guard) = self.sizes.evaluate(inputs, &[], &mut values) {
            return Ok(Err(guard));
        }
        let codes = self.codes(&values)?;
        let blocks = match self.counts {
            true => Blocks { of_slot: vec![None; self.slots.len()], ..Blocks::default() },
            false => self.blocks(|slot| self.bytes_of(slot, &values)),
        };
        let inputs = inputs.to_vec();
        let chain = Chain::new(self, &values, &codes, &blocks);
        let bound = Arc::new(Bound { inputs, values, blocks, codes, chain, launched: AtomicU32::new(0) });
        let mut kept = self.bound.lock();
        kept.insert(0, Arc::clone(&bound));
        kept.truncate(KEPT);
        Ok(Ok(bound))
    }

    fn find_bound(&self, inputs: &[usize]) -> Option<Arc<Bound>> {
        let mut kept = self.bound.lock();
        let position = kept.iter().position(|bound| bound.inputs == inputs)?;
        kept[..=position].rotate_right(1);
        Some(Arc::clone(&kept[0]))
    }

    /// Bytes of a slot.
    pub(crate) fn bytes_of(&self, slot: usize, values: &[usize]) -> usize {
        let Slot { ty, len, .. } = &self.slots[slot];
        values[len.index()].saturating_mul(ty.size_bytes())
    }

    fn codes(&self, values: &[usize]) -> Result<Vec<Option<Code>>, Error> {
        let code = |step: &Step| match step {
            Step::Kernel(kernel) if !self.counts || self.is_known_at_first(kernel) => {
                self.code(kernel, values).map(Some)
            }
            _ => Ok(None),
        };
        self.steps.iter().map(code).collect()
    }

    /// Whether all sizes that the code of a kernel depends on are known before any step has run.
    fn is_known_at_first(&self, kernel: &KernelStep) -> bool {
        let is_known = |argument: &Bind| match *argument {
            Bind::Slot(slot) => self.sizes.is_known_at_first(self.slots[slot.index()].len),
            Bind::Scalar(Scalar::Size(size, _)) => self.sizes.is_known_at_first(size),
            Bind::Scalar(_) => true,
        };
        self.sizes.is_known_at_first(kernel.lanes) && kernel.arguments.iter().all(is_known)
    }

    /// The code of a kernel for launches of these sizes. The sizes determine its constants, how results are stored and
    /// how scatters combine.
    pub(crate) fn code(&self, kernel: &KernelStep, values: &[usize]) -> Result<Code, Error> {
        let raw: SmallVec<[RawArgument; 8]> =
            kernel.arguments.iter().map(|argument| self.raw_of(*argument, values)).collect();
        let lengths: Vec<Argument> = self.lengths(kernel, values)?;
        let (width, entry) = (values[kernel.lanes.index()], &kernel.entry);
        let options = launch::code_options(self.device, kernel.kernel(), width, &lengths)?;
        // How scatters combine must follow from the sizes; how results are stored affects the time alone.
        let is_for = |entry: &&Arc<Entry>| entry.options.scatters == options.scatters;
        let shipped = || kernel.shipped.iter().filter(is_for);
        let is_best = |entry: &&Arc<Entry>| entry.options.streaming_stores == options.streaming_stores;
        if let Some(entry) = shipped().find(is_best).or_else(|| shipped().next()) {
            return Ok(Code { entry: Arc::clone(entry), scalars: SmallVec::new(), raw });
        }
        let made = match &kernel.template {
            None if options == entry.options => {
                return Ok(Code { entry: Arc::clone(entry), scalars: SmallVec::new(), raw });
            }
            None => entry.kernel.clone(),
            Some(template) => template.with_constants(|param| match kernel.arguments[param.index()] {
                Bind::Scalar(scalar @ Scalar::Size(size, _)) if self.sizes.is_known_at_first(size) => {
                    Some(bits(scalar, values, &[]))
                }
                _ => None,
            }),
        };
        let origin = Origin { label: kernel.label, site: kernel.site, literals: &[] };
        let Found { entry, scalars, .. } = cache::find_or_compile(self.device, made, options, origin)?;
        let mut raw = raw;
        raw.extend(scalars.iter().map(|&(_, word)| RawArgument { word, length: 0 }));
        Ok(Code { entry, scalars: scalars.into_iter().map(|(_, bits)| bits).collect(), raw })
    }

    /// The arguments with their numbers of elements, which is all that is needed here.
    fn lengths(&self, kernel: &KernelStep, values: &[usize]) -> Result<Vec<Argument>, Error> {
        let nothing = Buffer::alloc(0)?;
        let length = |argument: &Bind| match argument {
            Bind::Slot(slot) => Argument::Buffer(Arc::clone(&nothing), values[self.slots[slot.index()].len.index()]),
            Bind::Scalar(_) => Argument::Scalar(0),
        };
        Ok(kernel.arguments.iter().map(length).collect())
    }

    /// An argument without an address, or the bits of a scalar as far as they follow from sizes.
    fn raw_of(&self, argument: Bind, values: &[usize]) -> RawArgument {
        match argument {
            Bind::Slot(slot) => RawArgument { word: 0, length: values[self.slots[slot.index()].len.index()] as u64 },
            Bind::Scalar(scalar) => RawArgument { word: bits(scalar, values, &[]), length: 0 },
        }
    }
}

/// The bits of a scalar. For one that the caller passes, 0 if none are passed.
pub(crate) fn bits(scalar: Scalar, values: &[usize], given: &[u64]) -> u64 {
    use crate::ir::{Type, scalar as arithmetic};
    match scalar {
        Scalar::Constant(bits) => bits,
        Scalar::Input(number) => given.get(number as usize).copied().unwrap_or_default(),
        Scalar::Size(size, ty) => arithmetic::cast(Type::U64, ty, values[size.index()] as u64),
    }
}
