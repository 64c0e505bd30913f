//! The leaves of a value: the arrays in it, which regions replace, and the host values, which must not change in them.

use super::{HostValue, Leaf, Traverse, Visitor};
use crate::graph::Var;
use crate::trace::record;
use jit_runtime::ir::{Type, scalar};

/// The arrays of a value, in the order of its traversal, and what else it consists of.
#[derive(Clone, Default)]
pub(crate) struct Leaves {
    /// The arrays.
    pub(crate) arrays: Vec<Var>,
    /// What the host decides: lengths, variants and numbers.
    pub(crate) host: Vec<HostValue>,
    /// Where the arrays, and what the host decides, are in the value, if that was asked for.
    pub(crate) paths: [Vec<String>; 2],
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
    pub(crate) fn of_arrays(arrays: Vec<Var>) -> Self {
        Leaves { arrays, ..Leaves::default() }
    }

    /// The leaves of a value, and where they are in it.
    pub(crate) fn with_paths<X: Traverse + ?Sized>(value: &X) -> Self {
        let mut leaves = Leaves::default();
        let mut paths = [Vec::new(), Vec::new()];
        value.traverse(&mut Visitor::with_paths(&mut |path, leaf| match leaf {
            Leaf::Array(var) => {
                leaves.arrays.push(var.clone());
                paths[0].push(path.to_owned());
            }
            Leaf::Shared(var) => {
                leaves.host.push(HostValue::Shared(var.clone()));
                paths[1].push(path.to_owned());
            }
            Leaf::Host(value) => {
                leaves.host.push(value);
                paths[1].push(path.to_owned());
            }
        }));
        leaves.paths = paths;
        leaves
    }

    /// Replaces the arrays of a value that consists of the same parts.
    pub(crate) fn write<X: Traverse + ?Sized>(&self, value: &mut X) {
        super::replace(value, self.arrays.iter().cloned());
    }

    /// Takes the arrays out; as many that represent nothing stay.
    pub(crate) fn take_arrays(&mut self) -> Vec<Var> {
        let nothing = vec![record::literal(Type::Bool, 0, 1); self.arrays.len()];
        std::mem::replace(&mut self.arrays, nothing)
    }

    /// The same parts with zeros for arrays.
    pub(crate) fn zeroed(&self) -> Self {
        self.with_arrays(&mut self.arrays.iter().map(super::zero_like))
    }

    /// The same parts with other arrays, as many of them as belong to this value.
    pub(crate) fn with_arrays(&self, arrays: &mut impl Iterator<Item = Var>) -> Self {
        Leaves { arrays: arrays.take(self.arrays.len()).collect(), host: self.host.clone(), paths: Default::default() }
    }

    /// What the host decides.
    pub(crate) fn host_values(&self) -> Vec<HostValue> {
        self.host.clone()
    }

    /// Whether two values cannot be merged, because parts of them that the host decides are different.
    pub(crate) fn differs_in_host_values(&self, other: &Leaves) -> bool {
        self.host != other.host || self.arrays.len() != other.arrays.len()
    }

    /// Where the first host value that differs is among the host values.
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
pub(crate) fn describe(value: &HostValue) -> String {
    match value {
        HostValue::Number(Type::Bool, bits) | HostValue::Parameter(Type::Bool, bits) => (*bits != 0).to_string(),
        HostValue::Number(Type::F32, bits) | HostValue::Parameter(Type::F32, bits) => {
            format!("{:?}", f32::from_bits(*bits as u32))
        }
        HostValue::Number(ty, bits) | HostValue::Parameter(ty, bits) if ty.is_float() => {
            format!("{:?}", f64::from_bits(scalar::cast(*ty, Type::F64, *bits)))
        }
        HostValue::Number(ty, bits) | HostValue::Parameter(ty, bits) if ty.is_signed_integer() => {
            (scalar::cast(*ty, Type::I64, *bits) as i64).to_string()
        }
        HostValue::Number(_, bits) | HostValue::Parameter(_, bits) => bits.to_string(),
        HostValue::Shape(count) => format!("{count} elements"),
        HostValue::Lengths(lengths) => format!("the shape {lengths:?}"),
        HostValue::Variant(name) => format!("`{name}`"),
        HostValue::Text(text) => text.clone(),
        HostValue::Shared(var) => {
            let site = var.site();
            format!("a reference to the array made at {}:{}", site.file(), site.line())
        }
    }
}
