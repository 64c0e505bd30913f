//! How gradients flow through a call: what the caller's arrays get besides their elements.
//!
//! While the body is recorded, the copies of arguments through which gradients flow are variables of the recording.
//! A returned array that depends on them is, for the caller, a result of an operation whose derivative is another
//! frozen function (`derivative`). A variable that the body has made is a variable for the caller. Gradients that
//! traversals in the body have stored are further outputs of the recording: at a variable they become the stored
//! gradient, and from another argument they flow on.

use jit_runtime::{Error, Site};

use super::derivative::Derivative;
use super::layout::Layout;
use crate::autodiff;
use crate::graph::Var;
use crate::graph::gradients::Scope;
use crate::graph::node::flag;
use crate::graph::tape::{self, Tape};
use crate::trace::record;

/// How gradients flow through the calls of a recording.
pub(super) struct Flows {
    /// For each returned array.
    pub(super) leaves: Vec<Status>,
    /// The gradients that are stored after a call. Those that exist follow the returned arrays among the outputs.
    stored: Vec<Stored>,
}

/// How gradients flow through a returned array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Status {
    /// They do not, or it is an argument.
    None,
    /// It depends on arguments.
    Result,
    /// It is a variable that the body has made.
    Variable,
}

/// A gradient that is stored after a call.
#[derive(Clone, Copy)]
struct Stored {
    place: Place,
    /// Whether there is one; otherwise the body has removed it.
    exists: bool,
}

#[derive(Clone, Copy)]
enum Place {
    /// At an input.
    Input(u32),
    /// At a returned array.
    Leaf(u32),
}

/// Makes variables of the inputs to which gradients flow, with the gradients that are stored there.
pub(super) fn open(layout: &Layout, nodes: &mut [Var], site: Site) {
    for (position, input) in layout.inputs.iter().enumerate().filter(|(_, input)| input.carries) {
        let variable = tape::taped(&nodes[position], Tape::Variable, site);
        if let Some(gradient) = input.gradient {
            autodiff::set_stored(&variable, nodes[gradient as usize].clone());
        }
        nodes[position] = variable;
    }
}

impl Flows {
    /// Finds out how gradients flow through the returned arrays of a body. Makes constants of them, and adds the
    /// gradients that are stored. Returns `None` if no gradients flow.
    pub(super) fn close(layout: &Layout, nodes: &[Var], leaves: &mut Vec<Var>) -> Option<Flows> {
        let (mut flows, mut gradients) = (Flows { leaves: Vec::new(), stored: Vec::new() }, Vec::new());
        for (position, input) in layout.inputs.iter().enumerate().filter(|(_, input)| input.carries) {
            let after = autodiff::stored_at_variable(&nodes[position]);
            let before = input.gradient.map(|gradient| &nodes[gradient as usize]);
            let is_unchanged = match (&after, before) {
                (Some(after), Some(before)) => after.is_same(before),
                (None, None) => true,
                _ => false,
            };
            if !is_unchanged {
                flows.stored.push(Stored { place: Place::Input(position as u32), exists: after.is_some() });
                gradients.extend(after);
            }
        }
        for (position, leaf) in leaves.iter_mut().enumerate() {
            let is_input = nodes.iter().any(|node| node.is_same(leaf));
            let status = match tape::of(leaf) {
                _ if is_input || leaf.flags() & flag::GRAD == 0 => Status::None,
                Some(Tape::Variable) => Status::Variable,
                _ => Status::Result,
            };
            flows.leaves.push(status);
            if status == Status::None {
                continue;
            }
            if let Some(gradient) = autodiff::stored_at_variable(leaf) {
                flows.stored.push(Stored { place: Place::Leaf(position as u32), exists: true });
                gradients.push(gradient);
            }
            *leaf = record::detached(leaf);
        }
        let any = !flows.stored.is_empty() || flows.leaves.iter().any(|status| *status != Status::None);
        leaves.extend(gradients);
        any.then_some(flows)
    }

    /// Returns whether traversals in the body have stored gradients.
    pub(super) fn has_traversals(&self) -> bool {
        !self.stored.is_empty()
    }

    /// Returns whether returned arrays depend on arguments.
    pub(super) fn has_results(&self) -> bool {
        self.leaves.contains(&Status::Result)
    }

    /// Lets gradients flow through the returned arrays of a call, which are followed by the gradients that are stored.
    #[track_caller]
    pub(super) fn connect(
        &self,
        inputs: &[Var],
        values: &mut Vec<Var>,
        derivative: Option<Derivative>,
        site: Site,
    ) -> Result<(), Error> {
        let mut gradients = values.split_off(self.leaves.len()).into_iter();
        for (value, status) in values.iter_mut().zip(&self.leaves) {
            if *status == Status::Variable {
                *value = autodiff::variable(value, site);
            }
        }
        if let Some(derivative) = derivative {
            // Those that carry gradients do so although the caller has suspended them.
            let _scope = Scope::begin(false);
            derivative.attach(values, site);
        }
        let mut arrived = Vec::new();
        for stored in &self.stored {
            let gradient = if stored.exists { gradients.next() } else { None };
            let var = match stored.place {
                Place::Input(input) => &inputs[input as usize],
                Place::Leaf(leaf) => &values[leaf as usize],
            };
            match (tape::of(var), gradient) {
                (Some(Tape::Variable), Some(gradient)) => autodiff::set_stored(var, gradient),
                (Some(Tape::Variable), None) => autodiff::clear_stored(var),
                (_, gradient) => arrived.extend(gradient.map(|gradient| (var.clone(), gradient))),
            }
        }
        if arrived.is_empty() { Ok(()) } else { autodiff::flow_on(&arrived) }
    }
}
