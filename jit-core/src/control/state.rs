//! The leaves of a value: the arrays in it, which regions replace, and the host values, which must not change in them.

use crate::trace::misuse::Misuse;
use crate::trace::{Var, record};
use crate::traverse::{HostValue, Leaf, Traverse, Visitor, VisitorMut};
use jit_runtime::ir::{Type, scalar};
use std::panic::Location;

/// The arrays of a value, in the order of its traversal, and what else it consists of.
#[derive(Clone, Default)]
pub(crate) struct Leaves {
    /// The arrays.
    pub(crate) arrays: Vec<Var>,
    /// What the host decides: lengths, variants and numbers.
    host: Vec<HostValue>,
}

impl Leaves {
    /// The leaves of a value.
    pub(crate) fn of<X: Traverse + ?Sized>(value: &X) -> Self {
        let mut leaves = Leaves::default();
        value.traverse(&mut Visitor::new(&mut |_, leaf| match leaf {
            Leaf::Array(var) => leaves.arrays.push(var.clone()),
            // It cannot be replaced, so it must stay: as the host's values must.
            Leaf::Shared(var) => leaves.host.push(HostValue::Shared(var.clone())),
            Leaf::Host(value) => leaves.host.push(value),
        }));
        leaves
    }

    /// The leaves of arrays.
    pub(super) fn of_arrays(arrays: Vec<Var>) -> Self {
        Leaves { arrays, host: Vec::new() }
    }

    /// Replaces the arrays of a value that consists of the same parts.
    pub(crate) fn write<X: Traverse + ?Sized>(&self, value: &mut X) {
        let mut arrays = self.arrays.iter();
        value.traverse_mut(&mut VisitorMut::new(&mut |_, var| {
            if let Some(array) = arrays.next() {
                var.clone_from(array);
            }
        }));
    }

    /// Takes the arrays out; as many that stand for nothing stay.
    pub(super) fn take_arrays(&mut self) -> Vec<Var> {
        let nothing = vec![record::literal(Type::Bool, 0, 1); self.arrays.len()];
        std::mem::replace(&mut self.arrays, nothing)
    }

    /// The same parts with other arrays, as many of them as belong to this value.
    pub(crate) fn with_arrays(&self, arrays: &mut impl Iterator<Item = Var>) -> Self {
        Leaves { arrays: arrays.take(self.arrays.len()).collect(), host: self.host.clone() }
    }

    /// Whether two values cannot be merged, because parts of them that the host decides are different.
    pub(crate) fn differs_in_host_values(&self, other: &Leaves) -> bool {
        self.host != other.host || self.arrays.len() != other.arrays.len()
    }

    /// Where the first host value that differs stands among the host values.
    pub(crate) fn position_of_difference(&self, other: &Leaves) -> Option<usize> {
        self.host.iter().zip(&other.host).position(|(a, b)| a != b)
    }

    /// The first host value that differs, in both.
    pub(crate) fn first_difference(&self, other: &Leaves) -> Option<(String, String)> {
        let differing = self.host.iter().zip(&other.host).find(|(a, b)| a != b);
        differing.map(|(a, b)| (describe(a), describe(b)))
    }
}

/// A host value, as a program would write it.
fn describe(value: &HostValue) -> String {
    match value {
        HostValue::Number(Type::Bool, bits) => (*bits != 0).to_string(),
        HostValue::Number(Type::F32, bits) => format!("{:?}", f32::from_bits(*bits as u32)),
        HostValue::Number(ty, bits) if ty.is_float() => {
            format!("{:?}", f64::from_bits(scalar::cast(*ty, Type::F64, *bits)))
        }
        HostValue::Number(ty, bits) if ty.is_signed_integer() => {
            (scalar::cast(*ty, Type::I64, *bits) as i64).to_string()
        }
        HostValue::Number(_, bits) => bits.to_string(),
        HostValue::Shape(count) => format!("{count} elements"),
        HostValue::Variant(name) => format!("`{name}`"),
        HostValue::Text(text) => text.clone(),
        HostValue::Shared(var) => {
            let site = var.site();
            format!("a reference to the array made at {}:{}", site.file(), site.line())
        }
    }
}

/// A place's name in the program, and its leaves before a region.
pub(crate) struct Named {
    pub(super) name: &'static str,
    pub(super) leaves: Leaves,
}

impl Named {
    /// Refuses a change of how many arrays there are, where the lanes of each are blended.
    pub(super) fn check_arrays(&self, after: &Leaves, site: &'static Location<'static>) {
        if self.leaves.arrays.len() != after.arrays.len() {
            let (name, before, after) = (self.name, self.leaves.arrays.len(), after.arrays.len());
            refuse(
                format!("`{name}` changes from {before} arrays to {after} inside a `while` with a traced condition"),
                "lanes that are done keep what they have, so there must be something for each array: make them before the loop",
                site,
            );
        }
    }

    /// Refuses a change of what the host decides: it would hold for all lanes.
    pub(super) fn check_host_values(&self, after: &Leaves, region: &str, site: &'static Location<'static>) {
        if !self.leaves.differs_in_host_values(after) {
            return;
        }
        let name = self.name;
        let change = match self.leaves.first_difference(after) {
            Some((before, after)) => format!("changes from {before} to {after}"),
            None => format!("changes from {} arrays to {}", self.leaves.arrays.len(), after.arrays.len()),
        };
        refuse(
            format!("the host variable `{name}` {change} inside {region} with a traced condition"),
            "such code is recorded once, for all lanes: make the variable an array, as in `UInt::from(0)`",
            site,
        );
    }
}

/// Stops a wrong program.
pub(super) fn refuse(what: String, hint: &str, site: &'static Location<'static>) -> ! {
    Misuse::new(what, site).hint(hint).panic()
}
