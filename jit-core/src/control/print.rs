//! `jit::print!`: lines that lanes print.

use jit_runtime::Site;
use jit_runtime::report::{self as machine, Piece, Spec, Template};

use crate::graph::Var;
use crate::trace::report::{self, Content};
use crate::traverse::leaves::describe;
use crate::traverse::{HostValue, Leaf, Traverse, Visitor};

/// The number of lines shown per `print!`, unless the program sets it.
const LIMIT: usize = 20;

/// Values that lanes can print.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be printed by lanes",
    label = "this is not an array, a number or a string, and does not consist of them",
    note = "derive `Traverse` for your own types, or format the value before, with `format!`"
)]
pub trait Printable {
    #[doc(hidden)]
    fn leaves(&self, leaf: &mut dyn FnMut(Leaf<'_>));

    /// Adds the value to the arguments of a line.
    fn print_to(&self, printing: &mut Printing) {
        printing.values.add(self);
    }
}

#[diagnostic::do_not_recommend]
impl<X: Traverse + ?Sized> Printable for X {
    fn leaves(&self, leaf: &mut dyn FnMut(Leaf<'_>)) {
        self.traverse(&mut Visitor::new(&mut |_, found| leaf(found)));
    }
}

/// A part of a value, ready to be put into a text.
pub(super) enum Shown {
    /// An array: its position among the values of a lane.
    Lane(usize),
    /// A host value.
    Host(HostValue),
}

/// The arguments of a format string.
#[derive(Default)]
pub(super) struct Values {
    pub(super) arrays: Vec<Var>,
    pub(super) arguments: Vec<Vec<Shown>>,
}

impl Values {
    pub(super) fn add(&mut self, value: &(impl Printable + ?Sized)) {
        let mut parts = Vec::new();
        value.leaves(&mut |leaf| match leaf {
            Leaf::Array(var) | Leaf::Shared(var) => match var.literal() {
                Some(bits) => parts.push(Shown::Host(HostValue::Number(var.ty(), bits))),
                None => {
                    parts.push(Shown::Lane(self.arrays.len()));
                    self.arrays.push(var.clone());
                }
            },
            Leaf::Host(HostValue::Shape(_) | HostValue::Lengths(_) | HostValue::Shared(_)) => {}
            Leaf::Host(value) => parts.push(Shown::Host(value)),
        });
        self.arguments.push(parts);
    }

    pub(super) fn template(&self, pieces: &[Piece]) -> Vec<machine::Part> {
        let mut parts = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) => parts.push(machine::Part::Text((*text).to_owned())),
                Piece::Value(argument, spec) => self.value(*argument, *spec, &mut parts),
            }
        }
        parts
    }

    /// Formats a value; several parts form a list.
    pub(super) fn value(&self, argument: usize, spec: Spec, parts: &mut Vec<machine::Part>) {
        let text = |text: &str| machine::Part::Text(text.to_owned());
        let shown = &self.arguments[argument];
        let is_list = shown.len() != 1;
        parts.extend(is_list.then(|| text("[")));
        for (position, part) in shown.iter().enumerate() {
            parts.extend((position != 0).then(|| text(", ")));
            parts.push(match part {
                Shown::Lane(slot) => machine::Part::Value { slot: *slot, ty: self.arrays[*slot].ty(), spec },
                Shown::Host(value) => machine::Part::Text(host_text(value, &spec)),
            });
        }
        parts.extend(is_list.then(|| text("]")));
    }

    /// Returns the known part of a value while recording.
    pub(super) fn known(&self, argument: usize) -> String {
        let known = |part: &Shown| match part {
            Shown::Lane(slot) => {
                let array = &self.arrays[*slot];
                format!("<{} {} lanes>", array.width(), array.ty())
            }
            Shown::Host(value) => describe(value),
        };
        self.arguments[argument].iter().map(known).collect::<Vec<_>>().join(", ")
    }
}

fn host_text(value: &HostValue, spec: &Spec) -> String {
    let mut text = String::new();
    match value {
        HostValue::Number(ty, bits) | HostValue::Parameter(ty, bits) => spec.write(*ty, *bits, &mut text),
        HostValue::Text(value) => spec.write_text(value, &mut text),
        HostValue::Variant(name) => text.push_str(name),
        HostValue::Shape(_) | HostValue::Lengths(_) | HostValue::Shared(_) => {}
    }
    text
}

/// A `print!` whose values are being collected.
pub struct Printing {
    values: Values,
    site: Site,
}

/// Begins a `print!`.
#[must_use]
#[track_caller]
pub fn print() -> Printing {
    Printing { values: Values::default(), site: Site::here() }
}

impl Printing {
    /// Records the lines.
    pub fn record(self, pieces: &[Piece], limit: Option<usize>) {
        let template = Template(self.values.template(pieces));
        let content = Content { template, values: self.values.arrays, site: self.site };
        report::print(content, limit.unwrap_or(LIMIT));
    }
}
