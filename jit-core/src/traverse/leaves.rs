//! The leaves of a value: its arrays, which regions replace, and its host values, which must not change in regions.

use super::{HostValue, Leaf, Traverse, Visitor};
use crate::graph::Var;
use crate::trace::record;
use jit_runtime::ir::{Type, scalar};

/// The arrays of a value, in the order of its traversal, and its other leaves.
#[derive(Clone, Default)]
pub(crate) struct Leaves {
    /// The arrays.
    pub(crate) arrays: Vec<Var>,
    /// The host values: lengths, variants and numbers.
    pub(crate) host: Vec<HostValue>,
    /// The paths of the arrays, and of the host values, if they were requested.
    pub(crate) paths: [Vec<String>; 2],
}

impl Leaves {
    /// Returns the leaves of a value.
    pub(crate) fn of<X: Traverse + ?Sized>(value: &X) -> Self {
        let mut leaves = Leaves::default();
        value.traverse(&mut Visitor::new(&mut |_, leaf| match leaf {
            Leaf::Array(var) => leaves.arrays.push(var.clone()),
            // It cannot be replaced, so it must stay the same, like host values.
            Leaf::Shared(var) => leaves.host.push(HostValue::Shared(var.clone())),
            Leaf::Host(value) => leaves.host.push(value),
        }));
        leaves
    }

    /// Returns arrays as leaves.
    pub(crate) fn of_arrays(arrays: Vec<Var>) -> Self {
        Leaves { arrays, ..Leaves::default() }
    }

    /// Returns the leaves of a value with their paths.
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

    /// Replaces the arrays of a value with the same structure.
    pub(crate) fn write<X: Traverse + ?Sized>(&self, value: &mut X) {
        super::replace(value, self.arrays.iter().cloned());
    }

    /// Takes the arrays out; as many placeholders remain.
    pub(crate) fn take_arrays(&mut self) -> Vec<Var> {
        let nothing = vec![record::literal(Type::Bool, 0, 1); self.arrays.len()];
        std::mem::replace(&mut self.arrays, nothing)
    }

    /// Returns the same structure with zeros for arrays.
    pub(crate) fn zeroed(&self) -> Self {
        self.with_arrays(&mut self.arrays.iter().map(super::zero_like))
    }

    /// Returns the same structure with other arrays, taking as many as belong to this value.
    pub(crate) fn with_arrays(&self, arrays: &mut impl Iterator<Item = Var>) -> Self {
        Leaves { arrays: arrays.take(self.arrays.len()).collect(), host: self.host.clone(), paths: Default::default() }
    }

    /// Returns the host values.
    pub(crate) fn host_values(&self) -> Vec<HostValue> {
        self.host.clone()
    }

    /// Returns whether two values cannot be merged, because their host values differ.
    pub(crate) fn differs_in_host_values(&self, other: &Leaves) -> bool {
        self.host != other.host || self.arrays.len() != other.arrays.len()
    }

    /// Returns the position of the first different host value.
    pub(crate) fn position_of_difference(&self, other: &Leaves) -> Option<usize> {
        self.host.iter().zip(&other.host).position(|(a, b)| a != b)
    }

    /// Returns the first different host value, from both.
    pub(crate) fn first_difference(&self, other: &Leaves) -> Option<(String, String)> {
        let differing = self.host.iter().zip(&other.host).find(|(a, b)| a != b);
        differing.map(|(a, b)| (describe(a), describe(b)))
    }

    /// Returns how a program writes the first different number as an array, for the hint of an error.
    pub(crate) fn advice(&self, other: &Leaves) -> String {
        let differing = self.host.iter().zip(&other.host).find(|(a, b)| a != b);
        let (name, number) = match differing {
            Some((value @ HostValue::Number(ty, _), _)) => (alias(*ty), describe(value)),
            _ => ("Float", "1.0".to_owned()),
        };
        format!("write `{name}::from({number})` for `{number}`")
    }
}

/// Returns the name of arrays of a type.
fn alias(ty: Type) -> &'static str {
    match ty {
        Type::Bool => "Mask",
        Type::I8 => "Int8",
        Type::I16 => "Int16",
        Type::I32 => "Int",
        Type::I64 => "Int64",
        Type::U8 => "UInt8",
        Type::U16 => "UInt16",
        Type::U32 => "UInt",
        Type::U64 => "UInt64",
        Type::F16 => "Half",
        Type::BF16 => "BFloat",
        Type::F32 => "Float",
        Type::F64 => "Float64",
    }
}

/// Describes a host value as a program would write it.
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
