//! Enums whose variant differs by lane.
//!
//! A [`Traced`] value consists of the number of each lane's variant and the fields of all variants, as a structure of
//! arrays. `#[derive(TracedEnum)]` generates the mapping of the user's enum to it. `#[traced] match` dispatches on it
//! (`control/variants.rs`).

use std::fmt;

use jit_runtime::{Error, Site};

use super::{Array, Integer, LocalEntry, Mask, UInt, trees};
use crate::graph::Var;
use crate::misuse::{self, Misuse};
use crate::schedule;
use crate::trace::{record, tables};
use crate::traverse::leaves::{Leaves, describe};
use crate::traverse::{Build, LeafReader, Signature, SignatureLeaf, Traverse, Visitor, VisitorMut, zero_like};

/// An enum whose variant can differ by lane. It is derived: `#[derive(TracedEnum)]`.
///
/// Variants are numbered from 0 in declaration order.
#[diagnostic::on_unimplemented(
    message = "derive `TracedEnum` for `{Self}`",
    label = "the variant of this type cannot differ by lane",
    note = "`#[derive(TracedEnum)]` applies to enums whose fields consist of arrays"
)]
pub trait TracedEnum: Sized {
    /// The fields of all variants.
    #[doc(hidden)]
    type Fields;
    /// The names of the variants.
    const VARIANTS: &'static [&'static str];
    /// Returns the number of the variant, and the fields of all variants; those of other variants are zero.
    #[doc(hidden)]
    fn __jit_parts(&self) -> (u32, Self::Fields);
    /// Returns the fields of all variants, all zero.
    #[doc(hidden)]
    fn __jit_zero() -> Self::Fields;
    /// Returns the value of a variant.
    #[doc(hidden)]
    fn __jit_variant(variant: u32, fields: &Self::Fields) -> Self;
    /// Returns a clone of the fields.
    #[doc(hidden)]
    fn __jit_clone_arg(fields: &Self::Fields) -> Self::Fields;
    /// Passes all fields to a visitor.
    #[doc(hidden)]
    fn __jit_show(fields: &Self::Fields, visitor: &mut Visitor<'_>);
    /// Passes all fields to a mutable visitor.
    #[doc(hidden)]
    fn __jit_lend(fields: &mut Self::Fields, visitor: &mut VisitorMut<'_>);
}

/// The types that fields of a [`TracedEnum`] may have.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of an enum whose variant differs by lane",
    label = "this does not consist of arrays, or has no default",
    note = "fields must be `Traverse`, `Clone` and `Default`, like arrays, tuples and structures of them: each lane \
        stores the fields of all variants, with zeros for those that it does not have"
)]
pub trait VariantField: Sized {
    /// Returns zeros.
    #[must_use]
    fn zero() -> Self;
    /// Returns a clone of the field.
    #[must_use]
    fn again(&self) -> Self;
    /// Passes the field to a visitor.
    fn show(&self, visitor: &mut Visitor<'_>);
    /// Passes the field to a mutable visitor.
    fn lend(&mut self, visitor: &mut VisitorMut<'_>);
}

#[diagnostic::do_not_recommend]
impl<T: Traverse + Clone + Default> VariantField for T {
    fn zero() -> T {
        let mut value = T::default();
        let mut zeros = Leaves::of(&value);
        zeros.arrays.iter_mut().for_each(|array| *array = zero_like(array));
        zeros.write(&mut value);
        value
    }
    fn again(&self) -> T {
        self.clone()
    }
    fn show(&self, visitor: &mut Visitor<'_>) {
        self.traverse(visitor);
    }
    fn lend(&mut self, visitor: &mut VisitorMut<'_>) {
        self.traverse_mut(visitor);
    }
}

/// An enum value per lane: each lane has its own variant.
///
/// It is made from one value of the enum, which gives all lanes the same variant, or from one value per lane by
/// [`collect`](Iterator::collect). In `#[jit]` functions `#[traced] match` dispatches on it, and it can be assigned in
/// traced branches and loops. It consists of an array for the variant and arrays for the fields of all variants. Every
/// function on values made of arrays accepts it: [`trees::select`], [`trees::gather`], [`eval`](crate::eval). In each
/// lane, the fields of the other variants have unspecified values.
///
/// ```
/// # extern crate jit_core as jit;
/// # mod example {
/// use jit::{Float, Mask, Traced, trees};
/// # use jit::{TracedEnum, Visitor, VisitorMut};
///
/// // #[derive(TracedEnum)]
/// pub enum Shape {
///     Sphere(Float),
///     Plane,
/// }
/// # impl TracedEnum for Shape {
/// #     type Fields = Float;
/// #     const VARIANTS: &'static [&'static str] = &["Sphere", "Plane"];
/// #     fn __jit_parts(&self) -> (u32, Float) {
/// #         match self { Shape::Sphere(r) => (0, r.clone()), Shape::Plane => (1, Float::from(0.0)) }
/// #     }
/// #     fn __jit_zero() -> Float { Float::from(0.0) }
/// #     fn __jit_variant(variant: u32, fields: &Float) -> Self {
/// #         if variant == 0 { Shape::Sphere(fields.clone()) } else { Shape::Plane }
/// #     }
/// #     fn __jit_clone_arg(fields: &Float) -> Float { fields.clone() }
/// #     fn __jit_show(fields: &Float, visitor: &mut Visitor<'_>) { visitor.field("r", fields); }
/// #     fn __jit_lend(fields: &mut Float, visitor: &mut VisitorMut<'_>) { visitor.field("r", fields); }
/// # }
///
/// # pub fn run() -> Result<(), jit_runtime::Error> {
/// let shapes: Traced<Shape> = [Shape::Sphere(Float::from(2.0)), Shape::Plane].into_iter().collect();
/// assert_eq!(shapes.variant().to_vec()?, [0, 1]);
/// let plane = Traced::from(Shape::Plane);
/// assert_eq!(trees::select(&Mask::from([true, false]), &plane, &shapes).variant().to_vec()?, [1, 1]);
/// # Ok(())
/// # }
/// # }
/// # example::run()?;
/// # Ok::<(), jit_runtime::Error>(())
/// ```
pub struct Traced<E: TracedEnum> {
    variant: UInt,
    fields: E::Fields,
}

impl<E: TracedEnum> Traced<E> {
    /// Returns the number of each lane's variant, counted from 0 in declaration order.
    #[must_use]
    pub fn variant(&self) -> UInt {
        self.variant.clone()
    }

    /// Returns the mask of the lanes that have a variant, by its number.
    #[must_use]
    #[track_caller]
    pub(crate) fn is_variant(&self, variant: u32) -> Mask {
        self.variant.eq(variant)
    }

    /// Returns the value that the lanes of a variant have.
    pub(crate) fn value(&self, variant: u32) -> E {
        E::__jit_variant(variant, &self.fields)
    }

    /// Returns the values at some positions, like [`trees::gather`].
    #[must_use]
    #[track_caller]
    pub fn gather<I: Integer>(&self, index: &Array<I>) -> Self {
        trees::gather(self, index)
    }

    /// Like [`Traced::gather`] where the mask is true; the first variant, with zeros, where it is false.
    #[must_use]
    #[track_caller]
    pub fn gather_masked<I: Integer>(&self, index: &Array<I>, mask: &Mask) -> Self {
        trees::gather_masked(self, index, mask)
    }
}

impl<E: TracedEnum> Clone for Traced<E> {
    fn clone(&self) -> Self {
        Traced { variant: self.variant.clone(), fields: E::__jit_clone_arg(&self.fields) }
    }
}

impl<E: TracedEnum> Default for Traced<E> {
    /// Creates the first variant, with zeros, in all lanes. So enums may be fields of others, and of structures that
    /// derive `Default`, such as the elements of a [`Local`](crate::Local).
    fn default() -> Self {
        Traced { variant: UInt::default(), fields: E::__jit_zero() }
    }
}

impl<E: TracedEnum> LocalEntry for Traced<E> {
    type Value = Self;
}

impl<E: TracedEnum> From<&E> for Traced<E> {
    /// Creates a value with the same variant in all lanes.
    #[track_caller]
    fn from(value: &E) -> Self {
        let (variant, fields) = value.__jit_parts();
        Traced { variant: UInt::from(variant), fields }
    }
}

impl<E: TracedEnum> From<E> for Traced<E> {
    /// Creates a value with the same variant in all lanes.
    #[track_caller]
    fn from(value: E) -> Self {
        Traced::from(&value)
    }
}

impl<E: TracedEnum> FromIterator<E> for Traced<E> {
    /// Creates one lane for each value, or as many as its arrays are wide. Values that are not known yet are evaluated.
    ///
    /// # Panics
    ///
    /// When there is no value, when values hold arrays of two widths or differ in a host value, or when the evaluation
    /// fails.
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = E>>(values: I) -> Self {
        let site = Site::here();
        let mut values = values.into_iter().map(|value| Traced::from(&value));
        let Some(mut first) = values.next() else {
            Misuse::new("there is no value to make the lanes from", site)
                .hint("pass at least one value; it determines the structure of the fields")
                .panic()
        };
        let parts: Vec<Leaves> = std::iter::once(Leaves::of(&first)).chain(values.map(|v| Leaves::of(&v))).collect();
        if let Some(other) = parts.iter().find(|part| part.differs_in_host_values(&parts[0])) {
            Misuse::new("two lanes differ in a host value", site)
                .hint(&format!("a value that differs by lane must be an array: {}", parts[0].advice(other)))
                .panic();
        }
        let has_same_types = |part: &Leaves| part.arrays.iter().map(Var::ty).eq(parts[0].arrays.iter().map(Var::ty));
        if !parts.iter().all(has_same_types) {
            Misuse::new("two values of an enum have arrays of different types", site)
                .hint("`Traverse` must visit the same arrays, in the same order, each time")
                .panic();
        }
        let parts: Vec<Vec<Var>> = parts.iter().map(|part| as_lanes(&part.arrays, site)).collect();
        let lazy: Vec<&Var> = parts.iter().flatten().filter(|var| var.known_bits().is_none()).collect();
        if let Err(error) = schedule::evaluate(&lazy, "the lanes of an enum are combined from it", site) {
            misuse::panic_with(error);
        }
        let joined = (0..parts[0].len()).map(|leaf| {
            let sources: Vec<Var> = parts.iter().map(|part| part[leaf].clone()).collect();
            tables::joined(&sources)
                .unwrap_or_else(|| Misuse::new("there is not enough memory for all lanes", site).panic())
        });
        Leaves::of_arrays(joined.collect()).write(&mut first);
        first
    }
}

/// Returns the arrays of one value, repeated to the width of the widest.
fn as_lanes(arrays: &[Var], site: Site) -> Vec<Var> {
    let width_of = |var: &Var| var.width().get();
    let width = arrays.iter().map(width_of).find(|&width| width != 1).unwrap_or(1);
    let widen = |var: &Var| match width_of(var) {
        own if own == width => var.clone(),
        1 => record::broadcast(var, width),
        other => {
            let what = format!("the fields of a value have the widths {width} and {other}");
            Misuse::new(what, site).value("one field", var).hint("widths must be equal, or 1").panic()
        }
    };
    arrays.iter().map(widen).collect()
}

impl<E: TracedEnum> Traverse for Traced<E> {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        visitor.field("variant", &self.variant);
        E::__jit_show(&self.fields, visitor);
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        visitor.field("variant", &mut self.variant);
        E::__jit_lend(&mut self.fields, visitor);
    }
}

/// The host values of the fields must be those of their defaults, as those of arrays and structures of them always are.
impl<E: TracedEnum> Build for Traced<E> {
    fn build(leaves: &mut LeafReader<'_>) -> Result<Self, Error> {
        let mut value = Traced::default();
        let mut arrays = Vec::new();
        for leaf in Signature::of(&value)?.leaves() {
            match leaf {
                SignatureLeaf::Array(ty, _) => arrays.push(leaves.array(*ty)?),
                SignatureLeaf::Host(default) => {
                    let expected = format!("{} by default", describe(default));
                    let found = leaves.host(&expected)?;
                    if found != *default {
                        return Err(leaves.wrong(&describe(&found), &expected));
                    }
                }
            }
        }
        Leaves::of_arrays(arrays).write(&mut value);
        Ok(value)
    }
}

impl<E: TracedEnum> fmt::Debug for Traced<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "variants of {:?} {:?}", E::VARIANTS, self.variant)
    }
}
