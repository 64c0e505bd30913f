//! The key of a call: the shape of its arguments, their device and host values, and which arrays are the same.
//!
//! Sizes are not part of it: recordings have guards for them. Nor are the bits of constants, which a recording may have
//! compiled in or may take as inputs.

use jit_runtime::device::{Device, current_device};
use jit_runtime::ir::Type;
use jit_runtime::memory::Buffer;
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::fmt::{self, Write as _};
use std::ptr::NonNull;
use std::sync::Arc;

use super::argument::Arguments;
use super::function::Entry;
use crate::autodiff;
use crate::graph::Op;
use crate::graph::device::Devices;
use crate::graph::node::{Node, Var, flag};
use crate::graph::tape::{self, Tape};
use crate::graph::{gradients, scopes};
use crate::size::Size;
use crate::trace::{fast, record};
use crate::traverse::{HostValue, Leaf, Visitor};

/// The form in which an array is passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// Elements in memory, now or when it is evaluated; for a constant, when it is filled.
    Memory,
    /// A constant.
    Literal,
    /// A value that the host knows and that never becomes part of code.
    Opaque,
}

impl Form {
    /// Returns the form in the word of an array.
    pub(super) fn of_word(word: u64) -> Option<Form> {
        [Form::Memory, Form::Literal, Form::Opaque].get((word >> 8 & 0xff) as usize).copied()
    }
}

/// Whether gradients flow through a call whose arguments carry them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Gradients {
    Flow,
    Stop,
}

/// An array among the arguments; listed once, however often it is passed.
pub(super) struct Input {
    pub(super) var: Var,
    pub(super) form: Form,
    /// It is behind a shared reference inside an argument, and cannot be replaced.
    pub(super) is_shared: bool,
    /// It belongs to an argument that the body may change.
    pub(super) is_exclusive: bool,
    /// The range of its axis lengths among those of all arguments, if it has axes. Their product is its width.
    pub(super) lengths: Option<(u32, u32)>,
    /// Whether gradients flow to it.
    pub(super) carries: bool,
    /// The input that is the gradient stored at it.
    pub(super) gradient: Option<u32>,
}

/// The widths of the arguments of a call.
#[derive(Default)]
pub(super) struct Widths {
    /// Of each array that can be replaced.
    arrays: Vec<usize>,
    /// Of each input behind a shared reference.
    shared: Vec<usize>,
    /// The lengths of all axes.
    lengths: Vec<usize>,
}

/// The description of a call's arguments. Reused from one call to the next to avoid allocations.
#[derive(Default)]
pub(super) struct Layout {
    /// Shape, host values and which arrays are the same.
    pub(super) words: Vec<u64>,
    /// Contents of texts, until they are appended to the other words.
    texts: Vec<u64>,
    pub(super) inputs: Vec<Input>,
    /// The devices of all inputs.
    pub(super) devices: Devices,
    /// The positions of inputs by address, used if there are many.
    by_address: FxHashMap<NonNull<Node>, u32>,
    /// For each array that can be replaced, its input.
    pub(super) order: Vec<u32>,
    /// The lengths of the axes of all arrays that have axes and can be replaced.
    pub(super) lengths: Vec<usize>,
    /// The axes of the next array.
    next_lengths: Option<(u32, u32)>,
    /// The arguments are those of an executor or a traced module: each array is an input in memory of its own, however
    /// it is passed, with the width of its own example.
    is_compiled: bool,
    /// Gradients do not flow through the call, even if arguments carry them.
    is_detached: bool,
    /// The sizes from which recordings compute others: the number of elements of each input, then all lengths of axes.
    pub(super) sizes: Vec<usize>,
    /// The bits of each input that is a constant, in order.
    pub(super) literals: Vec<u64>,
    /// The bits of each plain number that matters only if a decision depends on it.
    pub(super) numbers: Vec<u64>,
    pub(super) buffers: Vec<Arc<Buffer>>,
    pub(super) scalars: Vec<u64>,
    pub(super) donated: Vec<bool>,
    pub(super) values: Vec<Var>,
    pub(super) replayed_sizes: Vec<usize>,
}

impl Layout {
    pub(super) fn clear(&mut self) {
        self.words.clear();
        self.texts.clear();
        self.inputs.clear();
        self.devices = Devices::NONE;
        self.by_address.clear();
        self.order.clear();
        self.lengths.clear();
        self.next_lengths = None;
        self.sizes.clear();
        self.literals.clear();
        self.numbers.clear();
        self.buffers.clear();
        self.scalars.clear();
        self.donated.clear();
        self.values.clear();
    }

    /// Visits the arguments.
    pub(super) fn fill(&mut self, arguments: &impl Arguments, names: &[&'static str]) {
        self.clear();
        self.words.push(0);
        let (texts, leaves) = (RefCell::new(std::mem::take(&mut self.texts)), Cell::new(0));
        let text = |text: fmt::Arguments<'_>| {
            let mut texts = texts.borrow_mut();
            // Its position among the other leaves.
            texts.push(leaves.get());
            write_text(&mut texts, text);
        };
        arguments.show(names, &mut |is_exclusive, show| {
            let mut visit = |_: &str, leaf: Leaf<'_>| {
                leaves.set(leaves.get() + 1);
                match leaf {
                    Leaf::Array(var) => self.array(var, false, is_exclusive),
                    Leaf::Shared(var) => self.array(var, true, false),
                    Leaf::Host(HostValue::Parameter(ty, bits)) => {
                        self.words.push(tag(Tag::Number) | (ty as u64) << 8 | 1 << 40);
                        self.numbers.push(bits);
                    }
                    Leaf::Host(HostValue::Lengths(lengths)) => self.lengths(&lengths),
                    Leaf::Host(value) => host(&mut self.words, &value),
                }
            };
            show(&mut Visitor::new(&mut visit).and_instances().and_texts(&text));
        });
        self.texts = texts.into_inner();
        self.words.append(&mut self.texts);
        self.words[0] = ambient(self.devices.or_current());
        self.list_sizes();
    }

    fn list_sizes(&mut self) {
        self.sizes.clear();
        self.sizes.extend(self.inputs.iter().map(|input| input.var.lanes()));
        self.sizes.extend_from_slice(&self.lengths);
    }

    /// Visits the arguments of a traced module: each array is an input in memory, and constants are none of the code.
    pub(super) fn fill_separate(&mut self, arguments: &impl Arguments, names: &[&'static str]) {
        self.is_compiled = true;
        self.fill(arguments, names);
        self.is_compiled = false;
    }

    /// Visits the arguments of an executor, the last of which are numbers that are passed to each call.
    pub(super) fn fill_compiled(
        &mut self,
        arguments: &impl Arguments,
        (names, lifted): (&[&'static str], usize),
        flow: Gradients,
    ) {
        let is_suspended = gradients::is_suspended();
        (self.is_compiled, self.is_detached) = (true, flow == Gradients::Stop);
        self.fill(arguments, names);
        (self.is_compiled, self.is_detached) = (false, false);
        // The other settings are those of the compilation.
        self.words[0] = if flow == Gradients::Flow { 1 << u64::from(is_suspended) } else { 0 };
        let first = self.inputs.len().saturating_sub(lifted);
        for input in &mut self.inputs[first..] {
            input.form = Form::Literal;
            let Some(bits) = input.var.known_bits() else { continue };
            self.literals.push(bits);
            if flow == Gradients::Flow {
                // Derivatives take it as a number that changes, too.
                input.var = record::opaque(input.var.ty(), bits, input.var.lanes());
            }
        }
    }

    /// Notes the axes of the next array.
    fn lengths(&mut self, lengths: &[Size]) {
        self.words.push(tag(Tag::Lengths) | (lengths.len() as u64) << 8);
        let begin = self.lengths.len() as u32;
        self.lengths.extend(lengths.iter().map(|length| length.value()));
        self.next_lengths = Some((begin, self.lengths.len() as u32));
    }

    fn array(&mut self, var: &Var, is_shared: bool, is_exclusive: bool) {
        // Where gradients are suspended, the body may resume them.
        let may_resume = || gradients::is_suspended() && !is_shared;
        let carries = var.flags() & flag::GRAD != 0 && (may_resume() || scopes::is_enabled(var));
        let lengths = self.next_lengths.take();
        // Equal constants are one node by value numbering, but may differ in the next call.
        let is_constant = var.op() == Op::Literal;
        let is_recorded = carries && !self.is_detached;
        let is_separate = is_constant || (self.is_compiled && !is_shared);
        let known = if is_separate { None } else { self.known(var) };
        if !is_shared {
            self.order.push(known.unwrap_or(self.inputs.len()) as u32);
        }
        if let Some(known) = known {
            let input = &mut self.inputs[known];
            input.is_shared |= is_shared;
            input.is_exclusive &= is_exclusive;
            self.words.push(tag(Tag::Repeated) | (known as u64) << 8 | u64::from(is_shared) << 40);
            return;
        }
        let form = match var.op() {
            // What the body may change is in memory from the second call on; so it is in the first one.
            _ if is_exclusive || self.is_compiled => Form::Memory,
            Op::Literal => Form::Literal,
            Op::Scalar => Form::Opaque,
            _ => Form::Memory,
        };
        if let (Form::Literal, Some(bits)) = (form, var.known_bits()) {
            self.literals.push(bits);
        }
        self.devices = self.devices.and(var.devices());
        let is_repeated = is_recorded && is_separate && !is_constant && self.known(var).is_some();
        let of_form = (form as u64) << 8 | (var.ty() as u64) << 16 | u64::from(is_shared) << 40;
        self.words.push(tag(Tag::Array) | of_form | u64::from(is_recorded) << 41);
        let var = if is_repeated { tape::taped(var, Tape::Argument(0), var.site()) } else { var.clone() };
        self.inputs.push(Input { var, form, is_shared, is_exclusive, lengths, carries, gradient: None });
        self.index_last(is_constant);
        if is_recorded {
            self.gradient_of_last();
        }
    }

    /// Adds the gradient that is stored at the last input.
    #[cold]
    fn gradient_of_last(&mut self) {
        let Some(of) = self.inputs.last() else { return };
        let Some(var) = autodiff::stored_at_variable(&of.var) else { return };
        let lengths = of.lengths.filter(|_| of.var.lanes() == var.lanes());
        let (form, position) = (Form::Memory, self.inputs.len());
        self.inputs[position - 1].gradient = Some(position as u32);
        self.devices = self.devices.and(var.devices());
        self.words.push(tag(Tag::Array) | (form as u64) << 8 | (var.ty() as u64) << 16 | 1 << 42);
        let (is_shared, is_exclusive, carries) = (false, false, false);
        self.inputs.push(Input { var, form, is_shared, is_exclusive, lengths, carries, gradient: None });
        self.index_last(true);
    }

    /// Returns whether gradients flow to an argument.
    pub(super) fn carries(&self) -> bool {
        self.inputs.iter().any(|input| input.carries)
    }

    /// Returns whether gradients flow to an array behind a shared reference, for which a body has no copy.
    pub(super) fn carries_to_shared(&self) -> bool {
        self.inputs.iter().any(|input| input.carries && input.is_shared)
    }

    /// Returns whether gradients now flow to an argument.
    pub(super) fn is_enabled(&self) -> bool {
        self.inputs.iter().any(|input| scopes::is_enabled(&input.var))
    }

    /// Returns the widths of the arguments.
    pub(super) fn widths(&self) -> Widths {
        let width = |position: &u32| self.inputs[*position as usize].var.lanes();
        let shared = self.inputs.iter().filter(|input| input.is_shared).map(|input| input.var.lanes());
        Widths {
            arrays: self.order.iter().map(width).collect(),
            shared: shared.collect(),
            lengths: self.lengths.clone(),
        }
    }

    /// Takes the widths of other arguments of the same shape. The arrays have no contents then.
    pub(super) fn take_widths(&mut self, widths: &Widths) {
        let mut given: Vec<Option<usize>> = vec![None; self.inputs.len()];
        for (&position, &width) in self.order.iter().zip(&widths.arrays) {
            given[position as usize].get_or_insert(width);
        }
        let is_shared = |(_, input): &(usize, &Input)| input.is_shared;
        for ((position, _), &width) in self.inputs.iter().enumerate().filter(is_shared).zip(&widths.shared) {
            given[position] = Some(width);
        }
        for position in 0..self.inputs.len() {
            let (input, width) = (&self.inputs[position], given[position]);
            if let (Some(gradient), Some(width)) = (input.gradient, width) {
                let is_as_wide = self.inputs[gradient as usize].var.lanes() == input.var.lanes();
                given[gradient as usize] = is_as_wide.then_some(width);
            }
        }
        for (input, width) in self.inputs.iter_mut().zip(given).filter(|(input, _)| !input.is_shared) {
            input.var = record::literal(input.var.ty(), 0, width.unwrap_or_else(|| input.var.lanes()));
        }
        self.lengths.clone_from(&widths.lengths);
        self.list_sizes();
    }

    /// For each input, returns the first one whose width a recording may take to be the same: it is the same now, and
    /// all recordings with this key rely on that, so each equality is assumed until it fails for the first time. Arrays
    /// with axes have sizes of their own, and those behind `Rc` and of instances may belong to other things.
    pub(super) fn equal_widths(&self, recordings: &[Arc<Entry>]) -> Vec<u32> {
        let has_own_width = |input: &Input| input.lengths.is_some() || input.is_shared || input.var.lanes() < 2;
        let is_same = |one: usize, other: usize| {
            let [(a, first), (b, second)] = [one, other].map(|position| (position, &self.inputs[position]));
            first.var.lanes() == second.var.lanes()
                && !has_own_width(first)
                && !has_own_width(second)
                && recordings.iter().all(|entry| entry.widths[a] == entry.widths[b])
        };
        let first = |one: usize| (0..one).find(|&other| is_same(one, other)).unwrap_or(one) as u32;
        (0..self.inputs.len()).map(first).collect()
    }

    /// Returns the position of an array that was visited before.
    fn known(&self, var: &Var) -> Option<usize> {
        match self.inputs.len() <= FEW {
            true => self.inputs.iter().position(|input| input.var.is_same(var)),
            false => self.by_address.get(&var.address()).map(|&position| position as usize),
        }
    }

    /// Adds the last input to the index by address, once there are many. Equal constants are one node, but must be
    /// distinguished.
    fn index_last(&mut self, is_constant: bool) {
        let count = self.inputs.len();
        let first = match count.cmp(&(FEW + 1)) {
            Ordering::Less => return,
            Ordering::Equal => 0,
            Ordering::Greater if is_constant => return,
            Ordering::Greater => count - 1,
        };
        for (position, input) in (0..).zip(&self.inputs).skip(first) {
            if input.var.op() != Op::Literal {
                self.by_address.insert(input.var.address(), position);
            }
        }
    }
}

/// Up to this number of inputs, all are compared.
const FEW: usize = 8;

/// The meaning of a word of a layout.
#[derive(Clone, Copy)]
pub(super) enum Tag {
    Array,
    Repeated,
    Number,
    Shape,
    Lengths,
    Variant,
    Text,
    Shared,
}

impl Tag {
    /// Returns the meaning of a word.
    pub(super) fn of(word: u64) -> Option<Tag> {
        let all =
            [Tag::Array, Tag::Repeated, Tag::Number, Tag::Shape, Tag::Lengths, Tag::Variant, Tag::Text, Tag::Shared];
        all.get((word & 0xff) as usize).copied()
    }
}

fn tag(tag: Tag) -> u64 {
    tag as u64
}

/// Returns what affects a recording besides the arguments: their device, and settings.
fn ambient(device: Device) -> u64 {
    of_device(device) | u64::from(gradients::is_suspended()) << 1 | u64::from(fast::is_on())
}

/// Replaces the device in what affects a recording by the current one.
pub(super) fn set_device(settings: &mut u64) {
    *settings = of_device(current_device()) | (*settings & 3);
}

fn of_device(device: Device) -> u64 {
    (device.index() as u64) << 2
}

fn host(words: &mut Vec<u64>, value: &HostValue) {
    match value {
        HostValue::Number(ty, bits) | HostValue::Parameter(ty, bits) => {
            words.extend([tag(Tag::Number) | (*ty as u64) << 8, *bits])
        }
        HostValue::Shape(length) => words.extend([tag(Tag::Shape), *length as u64]),
        HostValue::Lengths(_) => {}
        HostValue::Variant(name) => {
            words.push(tag(Tag::Variant));
            write_text(words, format_args!("{name}"));
        }
        HostValue::Text(text) => write_text(words, format_args!("{text}")),
        HostValue::Shared(var) => words.extend([tag(Tag::Shared), var.address().addr().get() as u64]),
    }
}

/// Appends a text: its length, then its bytes.
fn write_text(words: &mut Vec<u64>, text: fmt::Arguments<'_>) {
    struct Packed<'a> {
        words: &'a mut Vec<u64>,
        bytes: usize,
    }

    impl fmt::Write for Packed<'_> {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            for byte in text.bytes() {
                let position = self.bytes % 8;
                match self.words.last_mut() {
                    Some(word) if position > 0 => *word |= u64::from(byte) << (8 * position),
                    _ => self.words.push(u64::from(byte)),
                }
                self.bytes += 1;
            }
            Ok(())
        }
    }

    let length = words.len();
    words.push(tag(Tag::Text));
    let mut packed = Packed { words, bytes: 0 };
    // If formatting fails, the text is what was written so far.
    let _ = packed.write_fmt(text);
    let bytes = packed.bytes;
    words[length] |= (bytes as u64) << 8;
}

/// A human-readable description of a leaf of the arguments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ArgumentSummary {
    pub(super) path: String,
    pub(super) what: String,
}

/// Describes the arguments: each host value and each array with its path. The arrays may be separate inputs in memory,
/// as those of a traced module.
pub(super) fn describe(arguments: &impl Arguments, names: &[&'static str], are_separate: bool) -> Vec<ArgumentSummary> {
    let mut summary: Vec<ArgumentSummary> = Vec::new();
    let mut known: Vec<(Var, String)> = Vec::new();
    arguments.show(names, &mut |is_exclusive, show| {
        let mut visit = |path: &str, leaf: Leaf<'_>| {
            let what = match leaf {
                Leaf::Array(var) | Leaf::Shared(var) => match known.iter().find(|(other, _)| other.is_same(var)) {
                    Some((_, other)) if !are_separate => format!("the same array as `{other}`"),
                    _ => {
                        known.push((var.clone(), path.to_owned()));
                        array_in_words(var, is_exclusive || are_separate)
                    }
                },
                Leaf::Host(value) => host_in_words(&value),
            };
            summary.push(ArgumentSummary { path: path.to_owned(), what });
        };
        show(&mut Visitor::with_paths(&mut visit).and_instances());
    });
    summary
}

/// Returns human-readable names of the sizes of a call: widths of inputs, then lengths of axes, as in
/// [`Layout::sizes`].
pub(super) fn names_of_sizes(
    arguments: &impl Arguments,
    names: &[&'static str],
    is_compiled: bool,
    gradients: Gradients,
) -> Vec<String> {
    let mut layout = Layout { is_compiled, is_detached: gradients == Gradients::Stop, ..Layout::default() };
    let (mut widths, mut lengths) = (Vec::new(), Vec::new());
    arguments.show(names, &mut |is_exclusive, show| {
        let mut visit = |path: &str, leaf: Leaf<'_>| match leaf {
            leaf @ (Leaf::Array(var) | Leaf::Shared(var)) => {
                let is_shared = matches!(leaf, Leaf::Shared(_));
                layout.array(var, is_shared, is_exclusive && !is_shared);
                while widths.len() < layout.inputs.len() {
                    widths.push(format!("{path}.width()"));
                }
            }
            Leaf::Host(HostValue::Lengths(all)) => {
                lengths.extend((0..all.len()).map(|axis| format!("{path}.shape[{axis}]")));
            }
            Leaf::Host(_) => {}
        };
        show(&mut Visitor::with_paths(&mut visit).and_instances());
    });
    widths.extend(lengths);
    widths
}

fn array_in_words(var: &Var, is_exclusive: bool) -> String {
    let (ty, width) = (var.ty(), var.lanes());
    match (var.op(), var.known_bits().filter(|_| !is_exclusive)) {
        _ if scopes::is_enabled(var) => format!("{ty} × {width} that carries gradients"),
        (Op::Literal, Some(bits)) => format!("the constant {} × {width}", number(ty, bits)),
        (_, Some(_)) => format!("an opaque {ty} × {width}"),
        _ => format!("{ty} × {width}"),
    }
}

pub(super) fn host_in_words(value: &HostValue) -> String {
    match value {
        HostValue::Number(ty, bits) | HostValue::Parameter(ty, bits) => number(*ty, *bits),
        HostValue::Shape(1) => "1 element".to_owned(),
        HostValue::Shape(length) => format!("{length} elements"),
        HostValue::Lengths(lengths) => format!("a shape of {} axes × {lengths:?}", lengths.len()),
        HostValue::Variant(name) => (*name).to_owned(),
        HostValue::Text(text) => text.clone(),
        HostValue::Shared(_) => "an array behind a shared reference".to_owned(),
    }
}

fn number(ty: Type, bits: u64) -> String {
    format!("{} ({ty})", jit_runtime::ir::print::Literal(ty, bits))
}
