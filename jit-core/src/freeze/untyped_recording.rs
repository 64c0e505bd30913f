//! One recording of a function from a file, for programs that do not know its types.
//!
//! Its inputs are in the order of its key: arrays in memory; constants, for which a call passes an array of equal
//! elements; and number expressions, which are computed from the numbers that are passed.

use std::sync::Arc;

use jit_runtime::ir::{Type, print, scalar};
use jit_runtime::memory::Buffer;
use jit_runtime::recording::{GuardFailure, ReplayInputs, Replayed, Scalar, SizeId};
use jit_runtime::{Error, ErrorKind};
use smallvec::SmallVec;

use super::function::{Value, condition};
use super::layout::Form;
use super::mismatch::Summary;
use super::number_text::{self, Typed};
use super::saved::ReadEntry;
use super::untyped::{GivenArgument, GivenArray, UntypedResult};
use super::untyped_layout::{
    self, ArgumentKind, Expressions, UntypedArgument, UntypedInput, UntypedLayout, UntypedReturn,
};
use crate::traverse::{HostValue, SignatureLeaf};

/// A recording whose types the program does not know.
pub(super) struct UntypedRecording {
    entry: ReadEntry,
    layout: UntypedLayout,
    /// The names of the sizes from which the recording computes others.
    sizes: Vec<String>,
    results: Vec<UntypedReturn>,
    /// The sizes that are the lengths of the axes of each result; none if the file does not tell.
    shapes: Option<Vec<Vec<SizeId>>>,
}

/// What a file says of a recording.
pub(super) struct About<'a> {
    pub(super) summary: &'a [Summary],
    /// The names and types of the parameters.
    pub(super) signature: (&'a [String], &'a [String]),
    pub(super) expressions: Expressions<'a>,
    /// Values that are part of the recording, besides those in its arguments.
    pub(super) fixed: Vec<(String, String)>,
}

/// What a call comes to.
pub(super) enum Outcome {
    Results(Vec<UntypedResult>),
    /// The recording does not fit the arguments.
    Misfit(Error),
}

/// The inputs of a replay.
#[derive(Default)]
struct Inputs {
    buffers: Vec<Arc<Buffer>>,
    donated: Vec<bool>,
    scalars: Vec<u64>,
    widths: Vec<usize>,
    lengths: Vec<usize>,
    /// For each input, its memory or the bits of the same value in all lanes.
    all: Vec<(Type, Result<Arc<Buffer>, u64>)>,
}

impl UntypedRecording {
    /// Describes a recording that was read.
    pub(super) fn new(entry: ReadEntry, about: About<'_>) -> Result<UntypedRecording, Error> {
        let About { summary, signature, expressions, fixed } = about;
        let mut layout = untyped_layout::describe(&entry.words, summary, signature, &expressions)?;
        layout.fixed.extend(fixed);
        let sizes = layout.names_of_sizes();
        let results = results_of(&layout, &entry)?;
        let shapes = shapes_of(&results, &entry)?;
        let recording = UntypedRecording { entry, layout, sizes, results, shapes };
        recording.check()?;
        Ok(recording)
    }

    /// Checks that the parts of the file belong together.
    fn check(&self) -> Result<(), Error> {
        let ReadEntry { plan, literals, lifted, numbers, .. } = &self.entry;
        let (mut constants, mut scalars, mut buffers) = (0, 0, 0);
        for input in &self.layout.inputs {
            match input {
                UntypedInput::Argument(_, Form::Memory) => buffers += 1,
                UntypedInput::Argument(_, Form::Opaque) => scalars += 1,
                UntypedInput::Argument(_, Form::Literal) | UntypedInput::Expression(..) => {
                    scalars += usize::from(lifted.get(constants) == Some(&true));
                    constants += 1;
                }
            }
        }
        let passed = self.layout.arguments.iter().filter(|one| one.kind == ArgumentKind::Number).count();
        let is_right = plan.may_donate.len() == self.layout.inputs.len()
            && (literals.len(), lifted.len(), numbers.len()) == (constants, constants, passed)
            && plan.recording.inputs() as usize == buffers
            && plan.recording.scalars() as usize == scalars;
        if is_right { Ok(()) } else { Err(strange()) }
    }

    pub(super) fn arguments(&self) -> &[UntypedArgument] {
        &self.layout.arguments
    }

    pub(super) fn results(&self) -> &[UntypedReturn] {
        &self.results
    }

    pub(super) fn fixed(&self) -> &[(String, String)] {
        &self.layout.fixed
    }

    /// Returns whether calls pass arguments of these types.
    pub(super) fn takes(&self, given: &[GivenArgument<'_>]) -> bool {
        let arguments = self.arguments();
        arguments.len() == given.len() && arguments.iter().zip(given).all(|(argument, given)| takes(argument, given))
    }

    /// Replays the recording, if it fits arguments of the types that it takes.
    pub(super) fn call(&self, name: &str, given: &[GivenArgument<'_>]) -> Result<Outcome, Error> {
        let inputs = match self.inputs(name, given)? {
            Ok(inputs) => inputs,
            Err(misfit) => return Ok(Outcome::Misfit(misfit)),
        };
        let sizes = [&inputs.widths[..], &inputs.lengths].concat();
        let (mut outputs, mut values) = (SmallVec::new(), Vec::new());
        let Inputs { buffers, donated, scalars, .. } = &inputs;
        let launched = ReplayInputs { buffers, scalars, sizes: &sizes, donated };
        match self.entry.plan.recording.replay(launched, &mut outputs, &mut values)? {
            Replayed::Rejected(failure) => return Ok(Outcome::Misfit(self.other_sizes(name, failure, &sizes))),
            Replayed::Done => {}
        }
        self.entry.plan.check_outputs(&outputs, &values)?;
        let result = |(at, value): (usize, &Value)| {
            let shape = self.shapes.as_ref().map_or(&[][..], |shapes| &shapes[at]);
            let shape = shape.iter().map(|size| values[size.index()]).collect();
            Ok(UntypedResult { shape, ..self.result(*value, &inputs, &outputs, &values)? })
        };
        self.entry.plan.values.iter().enumerate().map(result).collect::<Result<_, Error>>().map(Outcome::Results)
    }

    /// Returns the inputs of a replay, or why the recording does not fit.
    fn inputs(&self, name: &str, given: &[GivenArgument<'_>]) -> Result<Result<Inputs, Error>, Error> {
        let mut numbers: Vec<(&str, Typed)> = Vec::new();
        for (argument, given) in self.arguments().iter().zip(given) {
            match (argument.kind, *given) {
                (ArgumentKind::Array { .. }, GivenArgument::Array(_, array)) => check_array(argument, array)?,
                (_, GivenArgument::Number(ty, bits)) => numbers.push((&argument.path, (ty, bits))),
                _ => {}
            }
        }
        if let Some(misfit) = self.other_number(name, &numbers) {
            return Ok(Err(misfit));
        }
        let (mut inputs, mut constants) = (Inputs::default(), 0);
        for input in &self.layout.inputs {
            let misfit = match *input {
                UntypedInput::Argument(at, form) => {
                    let argument = &self.arguments()[at];
                    let GivenArgument::Array(_, array) = given[at] else { return Err(strange()) };
                    match form {
                        Form::Memory => {
                            self.give_memory(argument, array, &mut inputs)?;
                            None
                        }
                        _ => self.give_constant((name, argument), array, form, &mut constants, &mut inputs),
                    }
                }
                UntypedInput::Expression(ty, ref text) => {
                    let bits = computed(ty, text, &numbers)?;
                    self.give_bits((name, text), (ty, bits, 1), &mut constants, &mut inputs)
                }
            };
            if let Some(misfit) = misfit {
                return Ok(Err(misfit));
            }
        }
        for &at in &self.layout.with_axes {
            let GivenArgument::Array(_, array) = given[at] else { return Err(strange()) };
            inputs.lengths.extend_from_slice(array.shape);
        }
        Ok(Ok(inputs))
    }

    /// Adds an array in memory.
    fn give_memory(&self, argument: &UntypedArgument, array: GivenArray<'_>, inputs: &mut Inputs) -> Result<(), Error> {
        let buffer = Buffer::from_bytes(array.bytes)?;
        let is_changed = matches!(argument.kind, ArgumentKind::Array { is_changed: true, .. });
        inputs.donated.push(is_changed && self.entry.plan.may_donate[inputs.widths.len()]);
        inputs.widths.push(array.bytes.len() / argument.ty.size_bytes());
        inputs.all.push((argument.ty, Ok(Arc::clone(&buffer))));
        inputs.buffers.push(buffer);
        Ok(())
    }

    /// Adds an array that the recording takes as a constant. Returns why it does not fit.
    fn give_constant(
        &self,
        (name, argument): (&str, &UntypedArgument),
        array: GivenArray<'_>,
        form: Form,
        constants: &mut usize,
        inputs: &mut Inputs,
    ) -> Option<Error> {
        let UntypedArgument { path, ty, .. } = argument;
        let mut elements = array.bytes.chunks_exact(ty.size_bytes());
        let width = elements.len();
        let mut word = [0; 8];
        if let Some(first) = elements.next() {
            if elements.any(|element| element != first) {
                let what = format!("`{name}` was recorded for the same value in all elements of `{path}`");
                return Some(refuse(what).with_hint("record the function with an array in memory: `x.make_opaque()`"));
            }
            word[..first.len()].copy_from_slice(first);
        }
        let bits = u64::from_le_bytes(word);
        if form == Form::Literal {
            return self.give_bits((name, path), (*ty, bits, width), constants, inputs);
        }
        inputs.scalars.push(bits);
        inputs.widths.push(width);
        inputs.all.push((*ty, Err(bits)));
        None
    }

    /// Adds a constant: an input of the recording, or a part of it. Returns why it does not fit.
    fn give_bits(
        &self,
        (name, path): (&str, &str),
        (ty, bits, width): (Type, u64, usize),
        constants: &mut usize,
        inputs: &mut Inputs,
    ) -> Option<Error> {
        let at = std::mem::replace(constants, *constants + 1);
        if self.entry.lifted[at] {
            inputs.scalars.push(bits);
        } else if width > 0 && self.entry.literals[at] != bits {
            return Some(other_value(name, path, ty, [self.entry.literals[at], bits]));
        }
        inputs.widths.push(width);
        inputs.all.push((ty, Err(bits)));
        None
    }

    /// Returns why a recording does not fit, if the function decided by a number with another value.
    fn other_number(&self, name: &str, numbers: &[(&str, Typed)]) -> Option<Error> {
        let mut all = self.entry.numbers.iter().zip(numbers);
        all.find_map(|(own, (path, (ty, bits)))| {
            let own = own.filter(|own| own != bits)?;
            Some(other_value(name, path, *ty, [own, *bits]))
        })
    }

    fn result(
        &self,
        value: Value,
        inputs: &Inputs,
        outputs: &[Arc<Buffer>],
        sizes: &[usize],
    ) -> Result<UntypedResult, Error> {
        match value {
            Value::Input(number) | Value::Detached(number) => {
                let (ty, input) = inputs.all.get(number as usize).ok_or_else(strange)?;
                let width = inputs.widths[number as usize];
                match input {
                    Ok(buffer) => Ok(in_memory(*ty, width, buffer)),
                    Err(bits) => filled(*ty, *bits, width),
                }
            }
            Value::Output(number, ty, len) => Ok(in_memory(ty, sizes[len.index()], &outputs[number as usize])),
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
                    (None, Some(buffer)) => Ok(in_memory(var.ty(), var.lanes(), &buffer)),
                    (None, None) => Err(strange()),
                }
            }
        }
    }

    /// The error of a call whose arguments have other types than those of the recording.
    #[cold]
    pub(super) fn other_arguments(&self, name: &str, given: &[GivenArgument<'_>]) -> Error {
        let count = self.arguments().len();
        if given.len() != count {
            return refuse(format!("`{name}` takes {count} arguments, not {}", given.len()));
        }
        let mut pairs = self.arguments().iter().zip(given);
        let Some((argument, given)) = pairs.find(|(argument, given)| !takes(argument, given)) else {
            return strange();
        };
        let UntypedArgument { path, ty, kind } = argument;
        if let (ArgumentKind::Array { axes, .. }, GivenArgument::Array(own, array)) = (kind, given)
            && own == ty
        {
            return refuse(format!("the argument `{path}` has {axes} axes, not {}", array.shape.len()));
        }
        let wanted = if *kind == ArgumentKind::Number { "a number" } else { "an array" };
        let (form, own) = match given {
            GivenArgument::Array(own, _) => ("an array", own),
            GivenArgument::Number(own, _) => ("a number", own),
        };
        refuse(format!("the argument `{path}` of `{name}` is {wanted} of type {ty}, not {form} of type {own}"))
    }

    #[cold]
    fn other_sizes(&self, name: &str, failure: GuardFailure, sizes: &[usize]) -> Error {
        let GuardFailure::Guard(guard) = failure else {
            return refuse(format!("`{name}` computes a size that has no value for these arguments"));
        };
        let condition = condition(&self.entry.plan.recording, &guard, &self.sizes);
        let named = self.sizes.iter().zip(sizes).filter(|(name, _)| condition.contains(name.as_str()));
        let values: Vec<String> = named.map(|(name, size)| format!("{name} is {size}")).collect();
        refuse(format!("`{name}` was recorded for `{condition}`, but {}", values.join(", ")))
    }
}

/// Returns whether an argument may be passed so. Lengths are checked later.
fn takes(argument: &UntypedArgument, given: &GivenArgument<'_>) -> bool {
    match (argument.kind, given) {
        (ArgumentKind::Array { axes, .. }, GivenArgument::Array(ty, array)) => {
            *ty == argument.ty && array.shape.len() == axes
        }
        (ArgumentKind::Number, GivenArgument::Number(ty, _)) => *ty == argument.ty,
        _ => false,
    }
}

/// Checks the contents of an array.
fn check_array(argument: &UntypedArgument, given: GivenArray<'_>) -> Result<(), Error> {
    let UntypedArgument { path, ty, .. } = argument;
    let (bytes, width) = (given.bytes, given.bytes.len() / ty.size_bytes());
    if width * ty.size_bytes() != bytes.len() {
        return Err(refuse(format!("the argument `{path}` has {} bytes, not whole elements", bytes.len())));
    }
    let product = given.shape.iter().try_fold(1_usize, |product, length| product.checked_mul(*length));
    if !given.shape.is_empty() && product != Some(width) {
        let shape = given.shape;
        let message = format!("the argument `{path}` has {width} elements, which are not those of the shape {shape:?}");
        return Err(refuse(message));
    }
    if *ty == Type::Bool && bytes.iter().any(|byte| *byte > 1) {
        return Err(refuse(format!("the argument `{path}` has bytes other than 0 and 1, which are no `bool`")));
    }
    Ok(())
}

/// Computes a number expression that is combined with arrays.
fn computed(ty: Type, text: &str, numbers: &[(&str, Typed)]) -> Result<u64, Error> {
    let of_parameter = |name: &str| numbers.iter().find(|(path, _)| *path == name).map(|(_, typed)| *typed);
    let computed = number_text::evaluate(text, &of_parameter).filter(|(own, _)| *own == ty);
    let refused = || refuse(format!("the number `{text}` cannot be computed outside of Rust"));
    computed.map(|(_, bits)| bits).ok_or_else(refused)
}

fn in_memory(ty: Type, width: usize, buffer: &Arc<Buffer>) -> UntypedResult {
    UntypedResult { ty, width, shape: Vec::new(), buffer: Arc::clone(buffer) }
}

/// An array of the same value in all lanes.
fn filled(ty: Type, bits: u64, width: usize) -> Result<UntypedResult, Error> {
    let element = &bits.to_le_bytes()[..ty.size_bytes()];
    let mut bytes = jit_runtime::memory::filled_list(width.saturating_mul(element.len()), 0)?;
    bytes.chunks_exact_mut(element.len()).for_each(|lane| lane.copy_from_slice(element));
    Ok(in_memory(ty, width, &Buffer::from_bytes(&bytes)?))
}

/// The arrays that calls return: those that they change, then those of the result.
fn results_of(layout: &UntypedLayout, entry: &ReadEntry) -> Result<Vec<UntypedReturn>, Error> {
    let (mut arrays, mut axes) = (Vec::new(), 0);
    for leaf in entry.signature.leaves() {
        match leaf {
            SignatureLeaf::Host(HostValue::Lengths(lengths)) => axes = lengths.len(),
            SignatureLeaf::Host(_) => {}
            SignatureLeaf::Array(ty, _) => arrays.push((*ty, std::mem::take(&mut axes))),
        }
    }
    let is_only = arrays.len() == 1;
    let path = |at: usize| if is_only { "result".to_owned() } else { format!("result[{at}]") };
    let own = arrays.iter().enumerate().map(|(at, &(ty, axes))| UntypedReturn { path: path(at), ty, axes });
    let results: Vec<UntypedReturn> = layout.changed.iter().cloned().chain(own).collect();
    if results.len() == entry.plan.values.len() { Ok(results) } else { Err(strange()) }
}

/// Deals the lengths of axes out to the results.
fn shapes_of(results: &[UntypedReturn], entry: &ReadEntry) -> Result<Option<Vec<Vec<SizeId>>>, Error> {
    let Some(are_lengths) = &entry.plan.are_lengths else { return Ok(None) };
    let lengths = entry.plan.sizes.iter().zip(are_lengths).filter(|(_, is_length)| **is_length);
    let lengths: Vec<SizeId> = lengths.map(|(size, _)| *size).collect();
    if results.iter().map(|result| result.axes).sum::<usize>() != lengths.len() {
        return Err(strange());
    }
    let mut lengths = lengths.into_iter();
    Ok(Some(results.iter().map(|result| lengths.by_ref().take(result.axes).collect()).collect()))
}

#[cold]
fn other_value(name: &str, path: &str, ty: Type, bits: [u64; 2]) -> Error {
    let [was, is] = bits.map(|bits| print::Literal(ty, bits).to_string());
    refuse(format!("`{name}` was recorded for another `{path}`: it was {was}, and is {is}"))
}

#[cold]
fn refuse(message: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
}

#[cold]
fn strange() -> Error {
    Error::new(ErrorKind::Io, "its parts do not belong together").with_hint("save the function anew")
}
