//! Per-lane local memory, with elements at computed positions.

use std::fmt;

use jit_runtime::Site;

use super::{Array, Element, Integer, Mask};
use crate::graph::Var;
use crate::misuse::Misuse;
use crate::trace::{local, record};
use crate::traverse::{self, HostValue, Leaf, Traverse, Visitor, VisitorMut};

/// The types that can be elements of a [`Local`]: element types, and values made of arrays.
///
/// A user-defined type that is `Traverse` and `Clone` implements this trait:
///
/// ```
/// # use jit_core as jit;
/// # use jit::prelude::*;
/// # use jit::{LocalEntry, Visitor, VisitorMut};
/// #[derive(Clone, Default)]
/// struct Hit {
///     distance: Float,
///     shape: UInt,
/// }
/// # impl Traverse for Hit {
/// #     fn traverse(&self, v: &mut Visitor<'_>) {
/// #         v.field("distance", &self.distance);
/// #         v.field("shape", &self.shape);
/// #     }
/// #     fn traverse_mut(&mut self, v: &mut VisitorMut<'_>) {
/// #         v.field("distance", &mut self.distance);
/// #         v.field("shape", &mut self.shape);
/// #     }
/// # }
/// // With `#[derive(Traverse)]`.
/// impl LocalEntry for Hit {
///     type Value = Hit;
/// }
///
/// let mut hits = Local::<Hit>::new(4);
/// hits.write(&UInt::from([0, 3]), &Hit { distance: Float::from([1.5, 2.5]), shape: UInt::from(7) });
/// let hit = hits.read(&UInt::from(0));
/// assert_eq!((hit.distance.to_vec()?, hit.shape.to_vec()?), (vec![1.5, 0.0], vec![7, 0]));
/// # Ok::<(), jit_runtime::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an element of per-lane local memory",
    label = "expected the type of an array's elements, or a struct with `LocalEntry`",
    note = "a struct of arrays with `#[derive(Clone, Traverse)]` also needs `impl LocalEntry`, with itself as `Value`"
)]
pub trait LocalEntry {
    /// The type of an element in all lanes: arrays.
    type Value: Traverse + Clone;
}

macro_rules! element_entries {
    ($($ty:ty),*) => {$(
        impl LocalEntry for $ty {
            type Value = Array<$ty>;
        }
    )*};
}

element_entries!(bool, i8, i16, i32, i64, u8, u16, u32, u64, half::f16, half::bf16, f32, f64);

impl<T: Element> LocalEntry for Array<T> {
    type Value = Self;
}

impl<E: LocalEntry, const N: usize> LocalEntry for [E; N] {
    type Value = [E::Value; N];
}

macro_rules! tuple_entries {
    ($(($($name:ident)*))*) => {$(
        impl<$($name: LocalEntry),*> LocalEntry for ($($name,)*) {
            type Value = ($($name::Value,)*);
        }
    )*};
}

tuple_entries!((A)(A B)(A B C)(A B C D)(A B C D E)(A B C D E F));

/// The types that can be written as an element: the value, a reference to it, or a number.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element of a `Local` of `{V}`",
    label = "expected `{V}`, a reference to it, or a number of its element type",
    note = "convert other element types with `.cast::<T>()`"
)]
pub trait IntoEntry<V> {
    /// Returns the element.
    #[track_caller]
    fn into_entry(self) -> V;
}

impl<V> IntoEntry<V> for V {
    fn into_entry(self) -> V {
        self
    }
}

impl<V: Clone> IntoEntry<V> for &V {
    fn into_entry(self) -> V {
        self.clone()
    }
}

impl<T: Element> IntoEntry<Array<T>> for T {
    #[track_caller]
    fn into_entry(self) -> Array<T> {
        Array::from(self)
    }
}

/// Per-lane local memory: a private scratch array that each lane reads and writes at computed positions, like a Rust
/// array on the stack. Examples are a stack of nodes to visit, the nearest hits so far, or a table that each lane fills
/// in.
///
/// It is a value: a clone is independent, traced loops and branches carry it like any other variable, and only active
/// lanes write. It is as wide as the values written to it, with width 1 at first. It exists only inside kernels and
/// cannot be evaluated itself; its elements can. Each evaluation of elements recomputes the writes.
///
/// An index may have any integer type. Where it is out of range, reads return zero and writes do nothing; with
/// `JIT_DEBUG` such lanes are reported. A constant index is checked while tracing.
///
/// ```
/// # use jit_core as jit;
/// use jit::prelude::*;
///
/// let mut table = Local::<u32>::new(4);
/// let lane = UInt::arange(3);
/// table.write(&lane, &(&lane * 10));
/// table.write(&UInt::from(3), 7);
/// assert_eq!(table.read(&UInt::from(1)).to_vec()?, [0, 10, 0]);
/// assert_eq!((table.read(&lane) + table.read(&UInt::from(3))).to_vec()?, [7, 17, 27]);
/// # Ok::<(), jit_runtime::Error>(())
/// ```
pub struct Local<T: LocalEntry> {
    /// An element, used to make others of its shape.
    shape: T::Value,
    /// For each array of an element, the memory after the last write.
    memories: Vec<Var>,
    len: u32,
}

impl<T: LocalEntry> Clone for Local<T> {
    fn clone(&self) -> Self {
        Local { shape: self.shape.clone(), memories: self.memories.clone(), len: self.len }
    }
}

impl<T: LocalEntry> fmt::Debug for Local<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local").field("len", &self.len).field("memories", &self.memories).finish()
    }
}

/// Returns the arrays of an element, in order.
fn arrays(value: &impl Traverse) -> Vec<Var> {
    let mut arrays = Vec::new();
    value.traverse(&mut Visitor::new(&mut |_, leaf| {
        if let Leaf::Array(var) = leaf {
            arrays.push(var.clone());
        }
    }));
    arrays
}

impl<T: LocalEntry> Local<T> {
    /// Creates memory of `len` elements, all zero.
    ///
    /// # Panics
    ///
    /// For zero elements, or more than a kernel can have.
    #[must_use]
    #[track_caller]
    pub fn new(len: usize) -> Self
    where
        T::Value: Default,
    {
        let shape = T::Value::default();
        // The default of an array may have width 0.
        let zeros = arrays(&shape).iter().map(|array| record::literal(array.ty(), 0, 1)).collect();
        Self::of(shape, zeros, len)
    }

    /// Creates memory of `len` elements, all with the same value.
    ///
    /// # Panics
    ///
    /// As [`Local::new`].
    #[must_use]
    #[track_caller]
    pub fn full(value: impl IntoEntry<T::Value>, len: usize) -> Self {
        let shape = value.into_entry();
        let values = arrays(&shape);
        Self::of(shape, values, len)
    }

    #[track_caller]
    fn of(shape: T::Value, values: Vec<Var>, len: usize) -> Self {
        let site = Site::here();
        let bytes = values.iter().map(|value| value.ty().size_bytes()).max().unwrap_or(1).saturating_mul(len);
        if len == 0 || bytes > jit_runtime::ir::MAX_LOCAL_BYTES as usize {
            let limit = jit_runtime::ir::MAX_LOCAL_BYTES;
            Misuse::new(format!("a `Local` cannot have {len} elements"), site)
                .hint(&format!("a `Local` has at least one element, and at most {limit} bytes"))
                .panic();
        }
        let mut memories = Vec::with_capacity(values.len());
        for value in &values {
            memories.push(local::fresh(len as u32, value));
        }
        Local { shape, memories, len: len as u32 }
    }

    /// Returns the number of elements.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it has elements")]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns the element at an index.
    ///
    /// # Panics
    ///
    /// When widths differ.
    #[must_use]
    #[track_caller]
    pub fn read<I: Integer>(&self, index: &Array<I>) -> T::Value {
        self.read_where(index.var(), None)
    }

    /// Returns the element at an index where the mask is true, zero elsewhere; where it is false the index may have any
    /// value.
    ///
    /// # Panics
    ///
    /// As [`Local::read`].
    #[must_use]
    #[track_caller]
    pub fn read_masked<I: Integer>(&self, index: &Array<I>, mask: &Mask) -> T::Value {
        self.read_where(index.var(), Some(mask.var()))
    }

    #[track_caller]
    fn read_where(&self, index: &Var, mask: Option<&Var>) -> T::Value {
        let mut elements = Vec::with_capacity(self.memories.len());
        for memory in &self.memories {
            elements.push(local::read(memory, self.len, index, mask));
        }
        let mut value = self.shape.clone();
        traverse::replace(&mut value, elements.into_iter());
        value
    }

    /// Writes the element at an index.
    ///
    /// # Panics
    ///
    /// When widths differ, in the condition of a traced loop, or when a value made of arrays does not match the
    /// elements.
    #[track_caller]
    pub fn write<I: Integer>(&mut self, index: &Array<I>, value: impl IntoEntry<T::Value>) {
        self.write_where(index.var(), &value.into_entry(), None);
    }

    /// Writes the element at an index where the mask is true; elsewhere the index may have any value.
    ///
    /// # Panics
    ///
    /// As [`Local::write`].
    #[track_caller]
    pub fn write_masked<I: Integer>(&mut self, index: &Array<I>, value: impl IntoEntry<T::Value>, mask: &Mask) {
        self.write_where(index.var(), &value.into_entry(), Some(mask.var()));
    }

    #[track_caller]
    fn write_where(&mut self, index: &Var, value: &T::Value, mask: Option<&Var>) {
        let values = arrays(value);
        let types = |vars: &[Var]| vars.iter().map(Var::ty).collect::<Vec<_>>();
        if types(&values) != types(&self.memories) {
            Misuse::new("the value written to a `Local` has different arrays from its elements", Site::here())
                .hint("its lists must be as long as in the value that the `Local` was made with")
                .panic();
        }
        for (memory, value) in self.memories.iter_mut().zip(&values) {
            local::write(memory, self.len, index, value, mask);
        }
    }

    /// Replaces the element at an index by the result of a function of it.
    ///
    /// # Panics
    ///
    /// As [`Local::write`].
    #[track_caller]
    pub fn update<I: Integer>(&mut self, index: &Array<I>, change: impl FnOnce(T::Value) -> T::Value) {
        let value = change(self.read(index));
        self.write_where(index.var(), &value, None);
    }
}

impl<T: LocalEntry> Traverse for Local<T> {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        visitor.host(HostValue::Shape(self.len as usize));
        self.memories.iter().for_each(|memory| visitor.array(memory));
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        self.memories.iter_mut().for_each(|memory| visitor.array(memory));
    }
}
