//! The handle that programs hold and call.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use jit_runtime::device::Device;
use jit_runtime::dump::Form;
use jit_runtime::recording::{RecordedKernel, Recording};
use jit_runtime::{Error, Site};

use crate::freeze::Program;

/// A `#[jit]` function, compiled once for all calls: the result of `f::compile(…)`.
///
/// `F` is the signature of the function without its `#[constexpr]` parameters: `Executor<fn(&Float, f32) -> Float>`.
///
/// Compiling runs the function once, on arrays without contents, and loads the code; nothing is launched. A call checks
/// its arguments and launches. It does not trace, schedule or look anything up, and costs as much as the replay of a
/// `#[freeze]` function.
///
/// Gradients flow through calls, as through those of `#[freeze]` functions. Arguments that carry gradients need a
/// recording of their own: the compilation makes it if its examples carry gradients, otherwise the first such call,
/// which runs the function again; so does the first derivative.
///
/// What an executor recorded never changes. Numbers and arrays that the function took from elsewhere, such as a
/// `static`, remain those of the compilation; so do fast math and the values of `#[constexpr]` parameters. Clones share
/// everything. Evicting kernels from the cache does not affect it.
///
/// # Arguments of calls
///
/// Contents are free. Widths are free, too, up to what the function relies on:
///
/// - Widths that are equal when it is compiled are equal in each call.
/// - Widths 0 and 1 have meanings of their own: an array compiled with another width is never called with these, and
///   conversely.
/// - Decisions of the function by a size, such as `x.len() > 100`, hold in each call.
///
/// Lengths of lists, variants of enums, texts and numbers in structures are those of the compilation. A plain number
/// among the parameters may change if it is only used in arithmetic with arrays; a number by which the host decides may
/// not. Everything else is an error, which names the argument and the path in it; the arguments are then unchanged.
pub struct Executor<F> {
    pub(super) program: Arc<Program>,
    constexprs: Arc<[(&'static str, String)]>,
    pub(super) invoke: F,
}

/// A kernel of an [`Executor`].
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct KernelInfo {
    /// Its name: the function that recorded its results.
    pub label: String,
    /// Hash of kernel, device and options, as in [`jit::cache::entries`](jit_runtime::cache::entries).
    pub hash: u64,
    /// The number of its operations.
    pub ops: usize,
    /// The bytes of its code; 0 if it is interpreted.
    pub code_bytes: usize,
    /// The number of lanes, as a formula: `x.width()`.
    pub lanes: String,
}

impl<F> Executor<F> {
    pub(super) fn new(program: Arc<Program>, constexprs: Arc<[(&'static str, String)]>, invoke: F) -> Self {
        Executor { program, constexprs, invoke }
    }

    /// Returns the name of the function.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.program.name()
    }

    /// Returns the line that compiled it.
    #[must_use]
    pub fn site(&self) -> Site {
        self.program.site()
    }

    /// Returns the device that it was compiled for.
    #[must_use]
    pub fn device(&self) -> Device {
        self.program.device()
    }

    /// Returns the names and values of the `#[constexpr]` parameters, in order. Values of types that are not `Debug`
    /// are given by their type.
    #[must_use]
    pub fn constexprs(&self) -> &[(&'static str, String)] {
        &self.constexprs
    }

    /// Returns the launches of a call.
    #[must_use]
    pub fn recording(&self) -> &Recording {
        self.program.recording()
    }

    /// Returns its kernels, in the order of their launches.
    #[must_use]
    pub fn kernels(&self) -> Vec<KernelInfo> {
        let names = |number: u16| self.program.name_of_size(number);
        let info = |kernel: RecordedKernel<'_>| KernelInfo {
            label: kernel.label().to_string(),
            hash: kernel.hash(),
            ops: kernel.ops(),
            code_bytes: kernel.code_bytes(),
            lanes: kernel.lanes(&names),
        };
        self.recording().kernels().map(info).collect()
    }

    /// Returns its kernels in kernel IR: as they were scheduled, and as they were compiled.
    #[must_use]
    pub fn ir(&self) -> String {
        self.text(Form::Ir).unwrap_or_default()
    }

    /// Returns its kernels in LLVM's IR, generated anew; none if the device has no code generator.
    #[must_use]
    pub fn llvm_ir(&self) -> Option<String> {
        self.text(Form::Llvm)
    }

    /// Returns the assembly of its kernels, generated anew; none if the device has no code generator.
    #[must_use]
    pub fn asm(&self) -> Option<String> {
        self.text(Form::Asm)
    }

    fn text(&self, form: Form) -> Option<String> {
        let texts: Option<Vec<String>> = self.recording().kernels().map(|kernel| kernel.text(form)).collect();
        texts.map(|texts| texts.join("\n"))
    }
}

impl<F> Executor<F> {
    /// Writes the executor to a file, from which `f::load(path)` reads it, in programs without a compiler, too.
    ///
    /// The file has machine code for several levels of the instruction set, and kernels as IR for other processors and
    /// later versions of the library. The file then has all of this or, after an error, its old contents.
    ///
    /// # Errors
    ///
    /// A function that calls the host ([`freeze::host`](crate::freeze::host())), with the line; one that changes
    /// lengths, variants or numbers in its arguments; one that was compiled with arguments that carry gradients; a
    /// failure of the file system.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        self.program.save::<F>(&self.constexprs, path.as_ref())
    }
}

impl<F: Clone> Clone for Executor<F> {
    fn clone(&self) -> Self {
        let Executor { program, constexprs, invoke } = self;
        Executor { program: Arc::clone(program), constexprs: Arc::clone(constexprs), invoke: invoke.clone() }
    }
}

impl<F> fmt::Debug for Executor<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A number that may change is passed once as it is, and once as an array.
        let mut parameters = self.program.parameters().to_vec();
        let mut seen = Vec::new();
        parameters.retain(|name| {
            !seen.contains(name) && {
                seen.push(*name);
                true
            }
        });
        let mut shown = f.debug_struct("Executor");
        shown.field("name", &self.name()).field("parameters", &parameters);
        shown.field("constexprs", &self.constexprs).field("launches", &self.recording().launches()).finish()
    }
}
