//! Code for NVIDIA GPUs: kernel IR → PTX, the assembly language that the driver compiles.
//!
//! Emitting needs no GPU, no driver and no CUDA toolkit: it makes text ([`Module`]) and describes how a launch passes
//! its arguments ([`Layout`]). With the feature `cuda`, `code` hands the text to the driver, whose linker compiles it
//! to machine code, which the cache stores, and `machine/cuda/` launches it.
//!
//! One thread runs one lane at a time, so lanes that diverge are threads that branch: the code has no masks. A kernel
//! without reductions is a loop over the lanes of a thread, a whole grid apart. Any grid is correct, the launch decides
//! how many threads there are, and what all lanes share is computed before the loop. A kernel with reductions has the
//! same loop with other bounds: one block of [`REDUCE_ROW`] threads runs one chunk of lanes, and each thread holds one
//! of the running results that [`crate::ir`] defines. So the order of a reduction is that of the interpreter.
//!
//! All bits equal those of the interpreter, except for sums of `f32` by atomic operations: the instruction flushes
//! subnormal numbers to zero. Instructions round to nearest, keep subnormals, and are neither approximate nor
//! contracted.
//!
//! | file | contents |
//! |---|---|
//! | `ptx.rs` | registers, operands and instructions, and their text |
//! | `layout.rs` | the parameters of a kernel and their bytes |
//! | `emit/` | the code of kernels, and what code is written with |
//! | `library/` | kernels of library calls |
//! | `driver/` | the driver: what it offers, and loading code |
//! | `code.rs` | kernel → code that launches run |
//! | `tests/` | the code on an interpreter of PTX against that of the IR; tests that `ptxas` accepts it |

#[cfg(feature = "cuda")]
pub(crate) mod code;
#[cfg(feature = "cuda")]
pub(crate) mod driver;
mod emit;
mod layout;
pub mod library;
mod ptx;
#[cfg(test)]
pub(crate) mod tests;

use std::fmt;

pub use layout::{Grid, Layout};

use crate::ir::{Kernel, Op, REDUCE_ROW, TOP};
use ptx::Function;

/// The processor that code is emitted for, and the version of the language.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Target {
    /// The compute capability without the dot: 90 for `sm_90`. At least 70.
    pub capability: u32,
    /// The version of PTX, major and minor: what the driver accepts, at least 6.4.
    pub version: (u32, u32),
}

impl Target {
    /// Whether there are instructions of `sm_80`: conversions to `bf16`, minima that propagate NaN.
    fn is_ampere(self) -> bool {
        self.capability >= 80 && self.version >= (7, 0)
    }
}

/// A digest of the sources that determine the PTX of kernels, made when this crate is built: for cache keys.
pub const CODE_DIGEST: &str = env!("JIT_CUDA_CODE_DIGEST");

/// What machine code depends on besides its PTX: who compiles it, and for which GPU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct GpuMaker {
    /// The version of the driver.
    pub(crate) driver: String,
    /// The compute capability of the GPU, and the target of the PTX.
    pub(crate) target: String,
}

/// What the text of a module contains besides the code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Comments {
    /// Nothing: for the driver.
    #[default]
    None,
    /// Each instruction of the IR before its code, and source lines that were recorded
    /// ([`crate::ir::Builder::record_lines`]): for people.
    Instructions,
}

/// A module of PTX: kernels for one target. Its text is its [`Display`](fmt::Display).
///
/// ```
/// use jit_runtime::backend::cuda::{Comments, Module, Target};
/// use jit_runtime::ir;
///
/// let text = "kernel(p0: read f32, p1: write f32) { v0: f32 = load p0 v1: f32 = mul v0, v0 store p1, v1 }";
/// let kernel = ir::parse(text).unwrap();
/// let mut module = Module::new(Target { capability: 90, version: (8, 0) }, Comments::Instructions);
/// module.add("square", &kernel);
/// assert!(module.to_string().contains("mul.rn.f32 %f1, %f0, %f0;"));
/// ```
#[derive(Debug)]
pub struct Module {
    target: Target,
    comments: Comments,
    functions: Vec<Function>,
}

impl Module {
    /// An empty module.
    #[must_use]
    pub fn new(target: Target, comments: Comments) -> Self {
        Module { target, comments, functions: Vec::new() }
    }

    /// Adds the code of a kernel under a name: letters, digits and underscores, beginning with a letter.
    ///
    /// The kernel must be valid ([`crate::ir::verify()`]), and its transcendental functions must be expanded
    /// ([`crate::ir::passes::expand_math`]).
    pub fn add(&mut self, name: &str, kernel: &Kernel) {
        self.functions.push(emit::function(name, kernel, self.target, self.comments));
    }
}

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Target { capability, version: (major, minor) } = self.target;
        write!(f, ".version {major}.{minor}\n.target sm_{capability}\n.address_size 64\n")?;
        self.functions.iter().try_for_each(|function| write!(f, "\n{function}"))
    }
}

/// The threads of each block, if the kernel determines them: those with reductions do.
#[must_use]
pub fn threads_per_block(kernel: &Kernel) -> Option<u32> {
    has_reductions(kernel).then_some(REDUCE_ROW as u32)
}

fn has_reductions(kernel: &Kernel) -> bool {
    kernel.region(TOP).insts.iter().any(|inst| matches!(inst.op, Op::Reduce { .. }))
}
