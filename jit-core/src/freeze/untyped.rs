//! Executors from files, for programs that do not know the types of their functions: interfaces for other languages.
//!
//! A call passes the arrays and numbers among the arguments as memory of the host, in the order of
//! [`UntypedExecutor::arguments`], and gets the arrays among the results. Everything else is as in a call of an
//! executor: the conditions on sizes, the numbers by which the function decided, and errors that name the argument.

use std::sync::Arc;

use jit_runtime::device::{Device, DeviceScope};
use jit_runtime::ir::{Type, scalar};
use jit_runtime::memory::Buffer;
use jit_runtime::recording::file::{FileKind, Reader, SavedRecordings};
use jit_runtime::recording::{GuardFailure, ReplayInputs, Replayed, Scalar};
use jit_runtime::{Error, ErrorKind, Site, cancel};
use smallvec::SmallVec;

use super::function::{Value, condition};
use super::mismatch::Summary;
use super::number_text::{self, Typed};
use super::saved::{self, ReadEntry};
use super::saved_types::{SavedTypes, read_types};
use super::untyped_layout::{self, ArgumentKind, UntypedArgument, UntypedLayout};

/// An executor whose types the program does not know.
pub struct UntypedExecutor {
    name: String,
    device: Device,
    entry: ReadEntry,
    arguments: Vec<UntypedArgument>,
    /// The types of the number expressions that are combined with arrays, and the expressions.
    lifted: Vec<(Type, String)>,
    /// The names of the sizes from which the recording computes others.
    sizes: Vec<String>,
    results: Vec<(String, Type)>,
}

/// An array that is passed to a call.
#[derive(Clone, Copy, Debug)]
pub struct GivenArray<'a> {
    /// Its elements, as they are in memory.
    pub bytes: &'a [u8],
    /// The lengths of its axes, if it has axes.
    pub shape: &'a [usize],
}

/// An argument of a call.
#[derive(Clone, Copy, Debug)]
pub enum GivenArgument<'a> {
    /// An array with elements of a type.
    Array(Type, GivenArray<'a>),
    /// The bits of a number of a type.
    Number(Type, u64),
}

/// An array that a call returns.
#[derive(Clone, Debug)]
pub struct UntypedResult {
    /// The type of its elements.
    pub ty: Type,
    /// The number of its elements.
    pub width: usize,
    buffer: Arc<Buffer>,
}

impl UntypedResult {
    /// Copies its elements. Waits until they are computed.
    ///
    /// # Errors
    ///
    /// A failure of the launches that compute it; a target of another size.
    pub fn read(&self, target: &mut [u8]) -> Result<(), Error> {
        let size = self.width * self.ty.size_bytes();
        if target.len() != size {
            let message = format!("a result of {size} bytes is copied to {} bytes", target.len());
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        self.buffer.read(0, target)
    }
}

/// The inputs of a replay.
#[derive(Default)]
struct Inputs {
    buffers: Vec<Arc<Buffer>>,
    donated: Vec<bool>,
    scalars: Vec<u64>,
    widths: Vec<usize>,
    lengths: Vec<usize>,
    /// The numbers, with their paths.
    numbers: Vec<(String, Typed)>,
    /// For each input, its memory or the bits of the same value in all lanes.
    all: Vec<Result<Arc<Buffer>, u64>>,
}

impl UntypedExecutor {
    /// Reads an executor from the bytes of its file, for calls on a device.
    ///
    /// # Errors
    ///
    /// A file that is foreign, damaged, or of something else; arguments that arrays and numbers cannot stand for.
    ///
    /// # Safety
    ///
    /// Machine code in the file is run: whoever could write it is trusted, as with a shared library.
    pub unsafe fn from_bytes(bytes: &[u8], device: Device) -> Result<UntypedExecutor, Error> {
        // SAFETY: the caller's promise.
        let saved = unsafe { SavedRecordings::from_bytes(bytes, device) }?;
        let SavedRecordings { kind, name, about, mut entries } = saved;
        let (Some(entry), true, true) = (entries.pop(), entries.is_empty(), kind == FileKind::Executor) else {
            let message = format!("it contains {}, not an executor", kind.name());
            let hint = "`save` of an executor writes one, and `jit::bundle` several";
            return Err(Error::new(ErrorKind::InvalidArgument, message).with_hint(hint));
        };
        let mut reader = Reader::new(&about)?;
        let SavedTypes { names, types, lifted } = read_types(&mut reader)?;
        reader.list(|reader| Ok((reader.text()?, reader.text()?)))?;
        let summary = reader.list(Summary::read)?;
        let sizes = reader.list(|reader| reader.text().map(str::to_owned))?;
        reader.end()?;
        let entry = saved::read_untyped(entry, Site::here())?;
        let UntypedLayout { arguments, lifted } =
            untyped_layout::describe(&entry.words, &summary, (&names, &types), lifted)?;
        let inputs = lifted.len() + arguments.iter().filter(|one| one.kind != ArgumentKind::Number).count();
        let expression = |at: usize| sizes.get(inputs - lifted.len() + at)?.strip_suffix(".width()").map(str::to_owned);
        let lifted = lifted.iter().enumerate().map(|(at, ty)| (*ty, expression(at).unwrap_or_default())).collect();
        let results = results_of(&arguments, &entry)?;
        let executor = UntypedExecutor { name, device, entry, arguments, lifted, sizes, results };
        executor.check(inputs)?;
        Ok(executor)
    }

    /// Checks that the parts of the file belong together.
    fn check(&self, inputs: usize) -> Result<(), Error> {
        let ReadEntry { plan, literals, lifted, .. } = &self.entry;
        let is_right = plan.may_donate.len() == inputs
            && literals.len() == self.lifted.len()
            && lifted.len() == self.lifted.len()
            && lifted.iter().all(|is| *is)
            && plan.recording.inputs() as usize == inputs - self.lifted.len()
            && plan.recording.scalars() as usize == self.lifted.len();
        if is_right {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Io, "its parts do not belong together").with_hint("save the function anew"))
    }

    /// The name of the function.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What calls pass, in order.
    #[must_use]
    pub fn arguments(&self) -> &[UntypedArgument] {
        &self.arguments
    }

    /// The arrays that calls return: first those among the arguments that calls change, then those of the result; each
    /// with its path and the type of its elements.
    #[must_use]
    pub fn results(&self) -> &[(String, Type)] {
        &self.results
    }

    /// Calls the function. Returns when its kernels are launched.
    ///
    /// # Errors
    ///
    /// Arguments of another number, type or shape; sizes for which the function was not compiled; a number by which it
    /// decided, with another value; a failure of a launch.
    pub fn call(&self, given: &[GivenArgument<'_>]) -> Result<Vec<UntypedResult>, Error> {
        let _operation = cancel::begin();
        let _device = DeviceScope::enter(self.device);
        let mut inputs = self.inputs(given)?;
        self.check_numbers(&inputs)?;
        self.compute_numbers(&mut inputs)?;
        let sizes = [&inputs.widths[..], &inputs.lengths].concat();
        let (mut outputs, mut values) = (SmallVec::new(), Vec::new());
        let recording = &self.entry.plan.recording;
        let Inputs { buffers, donated, scalars, .. } = &inputs;
        match recording.replay(ReplayInputs { buffers, scalars, sizes: &sizes, donated }, &mut outputs, &mut values)? {
            Replayed::Rejected(failure) => return Err(self.does_not_fit(failure, &sizes)),
            Replayed::Done => {}
        }
        self.entry.plan.check_outputs(&outputs, &values)?;
        let result = |value: &Value| self.result(*value, &inputs, &outputs, &values);
        self.entry.plan.values.iter().map(result).collect()
    }

    fn inputs(&self, given: &[GivenArgument<'_>]) -> Result<Inputs, Error> {
        if given.len() != self.arguments.len() {
            let message = format!("`{}` takes {} arguments, not {}", self.name, self.arguments.len(), given.len());
            return Err(self.refuse(message));
        }
        let mut inputs = Inputs::default();
        for (argument, given) in self.arguments.iter().zip(given) {
            match (argument.kind, *given) {
                (ArgumentKind::Array { is_changed, axes }, GivenArgument::Array(ty, array)) if ty == argument.ty => {
                    let buffer = self.array(argument, array, axes)?;
                    let may_donate = self.entry.plan.may_donate[inputs.widths.len()];
                    inputs.donated.push(is_changed && may_donate);
                    inputs.widths.push(array.bytes.len() / ty.size_bytes());
                    inputs.lengths.extend_from_slice(array.shape);
                    inputs.all.push(Ok(Arc::clone(&buffer)));
                    inputs.buffers.push(buffer);
                }
                (ArgumentKind::Number, GivenArgument::Number(ty, bits)) if ty == argument.ty => {
                    inputs.numbers.push((argument.path.clone(), (ty, bits)));
                }
                _ => return Err(self.other_type(argument, given)),
            }
        }
        Ok(inputs)
    }

    fn array(&self, argument: &UntypedArgument, given: GivenArray<'_>, axes: usize) -> Result<Arc<Buffer>, Error> {
        let UntypedArgument { path, ty, .. } = argument;
        let (bytes, width) = (given.bytes, given.bytes.len() / ty.size_bytes());
        if width * ty.size_bytes() != bytes.len() {
            return Err(self.refuse(format!("the argument `{path}` has {} bytes, not whole elements", bytes.len())));
        }
        if given.shape.len() != axes {
            return Err(self.refuse(format!("the argument `{path}` has {axes} axes, not {}", given.shape.len())));
        }
        let product = given.shape.iter().try_fold(1_usize, |product, length| product.checked_mul(*length));
        if axes > 0 && product != Some(width) {
            let message = format!(
                "the argument `{path}` has {width} elements, which are not those of the shape {:?}",
                given.shape
            );
            return Err(self.refuse(message));
        }
        if *ty == Type::Bool && bytes.iter().any(|byte| *byte > 1) {
            return Err(self.refuse(format!("the argument `{path}` has bytes other than 0 and 1, which are no `bool`")));
        }
        Buffer::from_bytes(bytes)
    }

    /// Checks the numbers by which the function decided while it was compiled.
    fn check_numbers(&self, inputs: &Inputs) -> Result<(), Error> {
        for (own, (path, (ty, bits))) in self.entry.numbers.iter().zip(&inputs.numbers) {
            if let Some(own) = own.filter(|own| own != bits) {
                let [was, is] = [own, *bits].map(|bits| jit_runtime::ir::print::Literal(*ty, bits).to_string());
                let message = format!(
                    "the executor of `{}` was compiled for another `{path}`: it was {was}, and is {is}",
                    self.name
                );
                return Err(self.refuse(message));
            }
        }
        Ok(())
    }

    /// Computes the number expressions that are combined with arrays.
    fn compute_numbers(&self, inputs: &mut Inputs) -> Result<(), Error> {
        for (ty, text) in &self.lifted {
            let numbers = &inputs.numbers;
            let of_parameter = |name: &str| numbers.iter().find(|(path, _)| path == name).map(|(_, typed)| *typed);
            let computed = number_text::evaluate(text, &of_parameter).filter(|(own, _)| own == ty);
            let Some((_, bits)) = computed else {
                return Err(self.refuse(format!("the number `{text}` cannot be computed outside of Rust")));
            };
            inputs.scalars.push(bits);
            inputs.widths.push(1);
            inputs.all.push(Err(bits));
        }
        Ok(())
    }

    fn result(
        &self,
        value: Value,
        inputs: &Inputs,
        outputs: &[Arc<Buffer>],
        sizes: &[usize],
    ) -> Result<UntypedResult, Error> {
        let strange = || self.refuse("a result has no memory".to_owned());
        match value {
            Value::Input(number) | Value::Detached(number) => {
                let number = number as usize;
                let (input, width) = (inputs.all.get(number).ok_or_else(strange)?, inputs.widths[number]);
                match input {
                    Ok(buffer) => {
                        let arrays = self.arguments.iter().filter(|one| one.kind != ArgumentKind::Number);
                        let ty = arrays.map(|one| one.ty).nth(number).ok_or_else(strange)?;
                        Ok(UntypedResult { ty, width, buffer: Arc::clone(buffer) })
                    }
                    Err(bits) => {
                        let arrays = self.entry.plan.recording.inputs() as usize;
                        filled(self.lifted[number - arrays].0, *bits, width)
                    }
                }
            }
            Value::Output(number, ty, len) => {
                let buffer = Arc::clone(&outputs[number as usize]);
                Ok(UntypedResult { ty, width: sizes[len.index()], buffer })
            }
            Value::Known(known, ty, len, _) => {
                let bits = match known {
                    Scalar::Constant(bits) => bits,
                    Scalar::Input(number) => inputs.scalars[number as usize],
                    Scalar::Size(size, of) => scalar::cast(Type::U64, of, sizes[size.index()] as u64),
                };
                filled(ty, bits, sizes[len.index()])
            }
            Value::Retained(number) => {
                let var = &self.entry.plan.kept[number as usize];
                match (var.known_bits(), var.data()) {
                    (Some(bits), _) => filled(var.ty(), bits, var.lanes()),
                    (None, Some(buffer)) => Ok(UntypedResult { ty: var.ty(), width: var.lanes(), buffer }),
                    (None, None) => Err(strange()),
                }
            }
        }
    }

    #[cold]
    fn other_type(&self, argument: &UntypedArgument, given: &GivenArgument<'_>) -> Error {
        let UntypedArgument { path, ty, kind } = argument;
        let wanted = if *kind == ArgumentKind::Number { "a number" } else { "an array" };
        let (form, own) = match given {
            GivenArgument::Array(own, _) => ("an array", own),
            GivenArgument::Number(own, _) => ("a number", own),
        };
        let name = &self.name;
        self.refuse(format!("the argument `{path}` of `{name}` is {wanted} of type {ty}, not {form} of type {own}"))
    }

    #[cold]
    fn does_not_fit(&self, failure: GuardFailure, sizes: &[usize]) -> Error {
        let name = &self.name;
        let GuardFailure::Guard(guard) = failure else {
            return self
                .refuse(format!("the executor of `{name}` computes a size that has no value for these arguments"));
        };
        let condition = condition(&self.entry.plan.recording, &guard, &self.sizes);
        let named = self.sizes.iter().zip(sizes).filter(|(name, _)| condition.contains(name.as_str()));
        let values: Vec<String> = named.map(|(name, size)| format!("{name} is {size}")).collect();
        let message = format!("the executor of `{name}` was compiled for `{condition}`, but {}", values.join(", "));
        self.refuse(message)
    }

    #[cold]
    fn refuse(&self, message: String) -> Error {
        Error::new(ErrorKind::InvalidArgument, message)
    }
}

/// An array of the same value in all lanes.
fn filled(ty: Type, bits: u64, width: usize) -> Result<UntypedResult, Error> {
    let element = &bits.to_le_bytes()[..ty.size_bytes()];
    let mut bytes = jit_runtime::memory::filled_list(width.saturating_mul(element.len()), 0)?;
    bytes.chunks_exact_mut(element.len()).for_each(|lane| lane.copy_from_slice(element));
    Ok(UntypedResult { ty, width, buffer: Buffer::from_bytes(&bytes)? })
}

/// The arrays that calls return, with their types: those that they change, then those of the result.
fn results_of(arguments: &[UntypedArgument], entry: &ReadEntry) -> Result<Vec<(String, Type)>, Error> {
    let is_changed = |one: &&UntypedArgument| matches!(one.kind, ArgumentKind::Array { is_changed: true, .. });
    let mut results: Vec<(String, Type)> =
        arguments.iter().filter(is_changed).map(|one| (one.path.clone(), one.ty)).collect();
    let arrays: Vec<Type> = entry
        .signature
        .leaves()
        .iter()
        .filter_map(|leaf| match leaf {
            crate::traverse::SignatureLeaf::Array(ty, _) => Some(*ty),
            crate::traverse::SignatureLeaf::Host(_) => None,
        })
        .collect();
    let name = |at: usize| if arrays.len() == 1 { "result".to_owned() } else { format!("result[{at}]") };
    results.extend(arrays.iter().enumerate().map(|(at, ty)| (name(at), *ty)));
    if results.len() == entry.plan.values.len() {
        return Ok(results);
    }
    Err(Error::new(ErrorKind::Io, "its results do not belong to its arguments").with_hint("save the function anew"))
}

impl std::fmt::Debug for UntypedExecutor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("UntypedExecutor");
        shown.field("name", &self.name).field("arguments", &self.arguments).field("results", &self.results).finish()
    }
}
