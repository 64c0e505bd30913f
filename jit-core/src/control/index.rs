//! `a[i]`: Rust's own indexing of host containers, gathers and scatters of arrays.
//!
//! Generated code asks the base which of the two it is: its method `__jit_read` or `__jit_write` is found by Rust's own
//! method lookup, first for what is [`Indexed`] and, one borrow further, for everything else. A host base is then indexed by
//! Rust itself, so that types, coercions and messages are the ones that they always are. A traced base keeps index and value
//! aside, and the indexing that Rust sees is that of [`Nowhere`], which does nothing.
//!
//! ```text
//! a[i]        →   *match probe(&a).__jit_read() { k => k.value(&k.base()[k.index(i)]) }
//! a[i] = v    →   { let k = probe(&a).__jit_write(); k.place(a.__jit_lend())[k.index(i)] = k.value(v);
//!                   k.assign(a.__jit_lend()) }
//! ```

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::{self, Deref};
use std::rc::Rc;
use std::sync::Arc;

use crate::array::{Array, Element, Integer, Logic, Number, Operand};
use jit_runtime::ir::ReduceOp;

/// Values whose elements are traced, and smart pointers to them.
pub trait Indexed {
    /// The value itself.
    type Base: ?Sized;
    /// The value itself.
    fn base(&self) -> &Self::Base;
}

/// The same, where elements can be written.
pub trait IndexedMut: Indexed {
    /// The value itself.
    fn base_mut(&mut self) -> &mut Self::Base;
}

impl<T: Element> Indexed for Array<T> {
    type Base = Self;
    fn base(&self) -> &Self {
        self
    }
}

impl<T: Element> IndexedMut for Array<T> {
    fn base_mut(&mut self) -> &mut Self {
        self
    }
}

/// Pointers to what is indexed.
macro_rules! pointers {
    ($($pointer:ty),*) => {$(
        impl<A: Indexed + ?Sized> Indexed for $pointer {
            type Base = A::Base;
            fn base(&self) -> &A::Base {
                (**self).base()
            }
        }
    )*};
}

pointers!(&A, &mut A, Box<A>, Rc<A>, Arc<A>);

impl<A: IndexedMut + ?Sized> IndexedMut for &mut A {
    fn base_mut(&mut self) -> &mut A::Base {
        (**self).base_mut()
    }
}

impl<A: IndexedMut + ?Sized> IndexedMut for Box<A> {
    fn base_mut(&mut self) -> &mut A::Base {
        (**self).base_mut()
    }
}

/// What can be an index of arrays: arrays of integers, and integers of the host.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no index of an array",
    label = "expected an array of integers, or an integer",
    note = "convert with `.cast::<u32>()`, or `as u32` in a `#[jit]` function"
)]
pub trait ArrayIndex {
    /// The element type.
    type Element: Integer;
    /// The index as an array.
    #[track_caller]
    fn into_index(self) -> Array<Self::Element>;
}

impl<J: Integer> ArrayIndex for Array<J> {
    type Element = J;
    fn into_index(self) -> Array<J> {
        self
    }
}

impl<J: Integer> ArrayIndex for &Array<J> {
    type Element = J;
    fn into_index(self) -> Array<J> {
        self.clone()
    }
}

macro_rules! host_indices {
    ($($ty:ty => $element:ty),*) => {$(
        impl ArrayIndex for $ty {
            type Element = $element;
            #[track_caller]
            fn into_index(self) -> Array<$element> {
                Array::from(self as $element)
            }
        }
    )*};
}

host_indices!(
    u8 => u8, u16 => u16, u32 => u32, u64 => u64, usize => u64, i8 => i8, i16 => i16, i32 => i32, i64 => i64, isize => i64
);

/// What gives an element at an index.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is indexed by arrays of integers and by integers, not by `{I}`",
    label = "`{I}` is no index of `{Self}`",
    note = "convert with `.cast::<u32>()`, or `as u32` in a `#[jit]` function; a range is `.slice(a..b)`"
)]
pub trait ReadAt<I> {
    /// The element.
    type Value;
    /// The element at an index.
    #[track_caller]
    fn read_at(&self, index: I) -> Self::Value;
}

/// What takes an element at an index.
#[diagnostic::on_unimplemented(
    message = "`{V}` cannot be written to `{Self}` at an index of type `{I}`",
    label = "no assignment of `{V}` to an element of `{Self}`",
    note = "an array takes values of its element type, at an array of integers; convert other types with `as` or `.cast::<T>()`"
)]
pub trait AssignAt<I, V> {
    /// `self[index] = value`
    #[track_caller]
    fn assign_at(&mut self, index: I, value: V);
}

#[diagnostic::do_not_recommend]
impl<T: Element, I: ArrayIndex> ReadAt<I> for Array<T> {
    type Value = Array<T>;
    fn read_at(&self, index: I) -> Array<T> {
        self.gather(&index.into_index())
    }
}

#[diagnostic::do_not_recommend]
impl<T: Element, I: ArrayIndex, V: Operand<T>> AssignAt<I, V> for Array<T> {
    fn assign_at(&mut self, index: I, value: V) {
        self.scatter(value, &index.into_index());
    }
}

/// What adds to an element at an index.
#[diagnostic::on_unimplemented(
    message = "`+=` cannot add `{V}` to an element of `{Self}` at an index of type `{I}`",
    label = "no `+=` of `{V}` on an element of `{Self}`",
    note = "arrays of numbers add values of their element type, at an array of integers"
)]
pub trait AddAt<I, V> {
    /// `self[index] += value`
    #[track_caller]
    fn add_at(&mut self, index: I, value: V);
}

/// What subtracts from an element at an index.
#[diagnostic::on_unimplemented(
    message = "`-=` cannot subtract `{V}` from an element of `{Self}` at an index of type `{I}`",
    label = "no `-=` of `{V}` on an element of `{Self}`",
    note = "arrays of numbers subtract values of their element type, at an array of integers"
)]
pub trait SubAt<I, V> {
    /// `self[index] -= value`
    #[track_caller]
    fn sub_at(&mut self, index: I, value: V);
}

/// What combines an element at an index by "and".
#[diagnostic::on_unimplemented(
    message = "`&=` cannot combine `{V}` with an element of `{Self}` at an index of type `{I}`",
    label = "no `&=` of `{V}` on an element of `{Self}`",
    note = "arrays of integers or `bool` combine values of their element type, at an array of integers"
)]
pub trait BitAndAt<I, V> {
    /// `self[index] &= value`
    #[track_caller]
    fn bitand_at(&mut self, index: I, value: V);
}

/// What combines an element at an index by "or".
#[diagnostic::on_unimplemented(
    message = "`|=` cannot combine `{V}` with an element of `{Self}` at an index of type `{I}`",
    label = "no `|=` of `{V}` on an element of `{Self}`",
    note = "arrays of integers or `bool` combine values of their element type, at an array of integers"
)]
pub trait BitOrAt<I, V> {
    /// `self[index] |= value`
    #[track_caller]
    fn bitor_at(&mut self, index: I, value: V);
}

/// What multiplies an element at an index.
#[diagnostic::on_unimplemented(
    message = "`*=` on a device array has no atomic form; use separate gather and scatter, or `scatter_cas`",
    label = "this would multiply an element of `{Self}` while other lanes do so, too",
    note = "where no two lanes have the same index: `let x = a[i]; a[i] = x * v;`"
)]
pub trait MulAt<I, V> {
    /// `self[index] *= value`
    #[track_caller]
    fn mul_at(&mut self, index: I, value: V);
}

/// What divides an element at an index.
#[diagnostic::on_unimplemented(
    message = "`/=` on a device array has no atomic form; use separate gather and scatter, or `scatter_cas`",
    label = "this would divide an element of `{Self}` while other lanes do so, too",
    note = "where no two lanes have the same index: `let x = a[i]; a[i] = x / v;`"
)]
pub trait DivAt<I, V> {
    /// `self[index] /= value`
    #[track_caller]
    fn div_at(&mut self, index: I, value: V);
}

/// What takes the remainder of an element at an index.
#[diagnostic::on_unimplemented(
    message = "`%=` on a device array has no atomic form; use separate gather and scatter, or `scatter_cas`",
    label = "this would divide an element of `{Self}` while other lanes do so, too",
    note = "where no two lanes have the same index: `let x = a[i]; a[i] = x % v;`"
)]
pub trait RemAt<I, V> {
    /// `self[index] %= value`
    #[track_caller]
    fn rem_at(&mut self, index: I, value: V);
}

/// What combines an element at an index by "exclusive or".
#[diagnostic::on_unimplemented(
    message = "`^=` on a device array has no atomic form; use separate gather and scatter, or `scatter_cas`",
    label = "this would change an element of `{Self}` while other lanes do so, too",
    note = "where no two lanes have the same index: `let x = a[i]; a[i] = x ^ v;`"
)]
pub trait BitXorAt<I, V> {
    /// `self[index] ^= value`
    #[track_caller]
    fn bitxor_at(&mut self, index: I, value: V);
}

/// What shifts an element at an index to the left.
#[diagnostic::on_unimplemented(
    message = "`<<=` on a device array has no atomic form; use separate gather and scatter, or `scatter_cas`",
    label = "this would shift an element of `{Self}` while other lanes do so, too",
    note = "where no two lanes have the same index: `let x = a[i]; a[i] = x << v;`"
)]
pub trait ShlAt<I, V> {
    /// `self[index] <<= value`
    #[track_caller]
    fn shl_at(&mut self, index: I, value: V);
}

/// What shifts an element at an index to the right.
#[diagnostic::on_unimplemented(
    message = "`>>=` on a device array has no atomic form; use separate gather and scatter, or `scatter_cas`",
    label = "this would shift an element of `{Self}` while other lanes do so, too",
    note = "where no two lanes have the same index: `let x = a[i]; a[i] = x >> v;`"
)]
pub trait ShrAt<I, V> {
    /// `self[index] >>= value`
    #[track_caller]
    fn shr_at(&mut self, index: I, value: V);
}

#[diagnostic::do_not_recommend]
impl<T: Number, I: ArrayIndex, V: Operand<T>> AddAt<I, V> for Array<T> {
    fn add_at(&mut self, index: I, value: V) {
        self.scatter_add(value, &index.into_index());
    }
}

#[diagnostic::do_not_recommend]
impl<T: Number, I: ArrayIndex, V: Operand<T>> SubAt<I, V> for Array<T> {
    fn sub_at(&mut self, index: I, value: V) {
        let negated = Array::from(T::default()) - value.into_array();
        self.scatter_add(negated, &index.into_index());
    }
}

#[diagnostic::do_not_recommend]
impl<T: Logic, I: ArrayIndex, V: Operand<T>> BitAndAt<I, V> for Array<T> {
    fn bitand_at(&mut self, index: I, value: V) {
        self.scatter_reduce(ReduceOp::And, value, &index.into_index());
    }
}

#[diagnostic::do_not_recommend]
impl<T: Logic, I: ArrayIndex, V: Operand<T>> BitOrAt<I, V> for Array<T> {
    fn bitor_at(&mut self, index: I, value: V) {
        self.scatter_reduce(ReduceOp::Or, value, &index.into_index());
    }
}

/// A value that is asked what it is, by Rust's method lookup: a method that is implemented for `Probe` is found before
/// one that is implemented for `&Probe`.
pub struct Probe<'a, X: ?Sized>(pub(super) &'a X);

/// Asks a value what it is.
#[inline(always)]
pub fn probe<X: ?Sized>(value: &X) -> Probe<'_, X> {
    Probe(value)
}

/// Finds what is [`Indexed`].
pub trait IndexesTraced {
    /// What is indexed.
    type Base: ?Sized;
    /// A traced base that is read.
    fn __jit_read<'a, V>(self) -> TracedRead<'a, Self::Base, V>
    where
        Self: 'a;
    /// A traced base that is written.
    fn __jit_write<I, V>(self) -> TracedWrite<Self::Base, I, V>;
}

impl<A: Indexed + ?Sized> IndexesTraced for Probe<'_, A> {
    type Base = A::Base;
    fn __jit_read<'a, V>(self) -> TracedRead<'a, A::Base, V>
    where
        Self: 'a,
    {
        TracedRead { base: self.0.base(), value: Cell::new(None) }
    }
    fn __jit_write<I, V>(self) -> TracedWrite<A::Base, I, V> {
        TracedWrite { index: Cell::new(None), value: Cell::new(None), base: PhantomData }
    }
}

/// Finds all other types.
pub trait IndexesHost<'a> {
    /// What is indexed.
    type Base: ?Sized;
    /// A host base that is read.
    fn __jit_read(self) -> HostRead<'a, Self::Base>;
    /// A host base that is written.
    fn __jit_write(self) -> HostWrite;
}

impl<'a, X: ?Sized> IndexesHost<'a> for &Probe<'a, X> {
    type Base = X;
    #[inline(always)]
    fn __jit_read(self) -> HostRead<'a, X> {
        HostRead(self.0)
    }
    #[inline(always)]
    fn __jit_write(self) -> HostWrite {
        HostWrite
    }
}

/// Borrows a base for the time of an assignment, through references as methods do.
pub trait Lend {
    /// The base.
    #[inline(always)]
    fn __jit_lend(&mut self) -> &mut Self {
        self
    }
}

impl<X: ?Sized> Lend for X {}

/// A host base that is read.
pub struct HostRead<'a, X: ?Sized>(&'a X);

impl<'a, X: ?Sized> HostRead<'a, X> {
    /// What Rust indexes.
    #[inline(always)]
    pub fn base(&self) -> &'a X {
        self.0
    }

    /// The index that Rust uses.
    #[inline(always)]
    pub fn index<I>(&self, index: I) -> I {
        index
    }

    /// What Rust has found.
    #[inline(always)]
    pub fn value<'r, R: ?Sized>(&self, found: &'r R) -> &'r R {
        found
    }
}

/// A host base that is written.
#[derive(Debug)]
pub struct HostWrite;

/// Declares that nothing is left to do after Rust has changed an element.
macro_rules! done_by_rust {
    ($($name:ident),*) => {$(
        /// Nothing: Rust has done it.
        #[inline(always)]
        pub fn $name<X: ?Sized>(&self, _: &mut X) {}
    )*};
}

impl HostWrite {
    /// What Rust indexes.
    #[inline(always)]
    pub fn place<'a, X: ?Sized>(&self, base: &'a mut X) -> &'a mut X {
        base
    }

    /// The index that Rust uses.
    #[inline(always)]
    pub fn index<I>(&self, index: I) -> I {
        index
    }

    /// The value that Rust uses.
    #[inline(always)]
    pub fn value<V>(&self, value: V) -> V {
        value
    }

    done_by_rust!(assign, add, sub, mul, div, rem, bitand, bitor, bitxor, shl, shr);
}

/// A traced base that is read.
pub struct TracedRead<'a, B: ?Sized, V> {
    base: &'a B,
    value: Cell<Option<V>>,
}

impl<B: ?Sized, V> TracedRead<'_, B, V> {
    /// What Rust indexes.
    pub fn base(&self) -> Nowhere {
        Nowhere
    }

    /// Reads.
    #[track_caller]
    pub fn index<I>(&self, index: I) -> Kept
    where
        B: ReadAt<I, Value = V>,
    {
        self.value.set(Some(self.base.read_at(index)));
        Kept
    }

    /// What was read.
    pub fn value(&self, _: &Place) -> Read<V> {
        Read(self.value.take().expect("an element is read where its index is given"))
    }
}

/// A value that was read.
#[derive(Debug)]
pub struct Read<V>(V);

impl<V> Read<V> {
    pub(super) fn new(value: V) -> Self {
        Read(value)
    }
}

impl<V> Deref for Read<V> {
    type Target = V;
    fn deref(&self) -> &V {
        &self.0
    }
}

/// A traced base that is written.
pub struct TracedWrite<B: ?Sized, I, V> {
    index: Cell<Option<I>>,
    value: Cell<Option<V>>,
    base: PhantomData<B>,
}

impl<B: ?Sized, I, V> TracedWrite<B, I, V> {
    /// What Rust indexes.
    pub fn place<X: ?Sized>(&self, _: &mut X) -> Nowhere {
        Nowhere
    }

    /// Keeps the index.
    pub fn index(&self, index: I) -> Kept {
        self.index.set(Some(index));
        Kept
    }

    /// Keeps the value.
    pub fn value(&self, value: V) -> Place {
        self.value.set(Some(value));
        Place
    }

    fn kept(&self) -> Option<(I, V)> {
        self.index.take().zip(self.value.take())
    }

    /// `base[index] = value`
    #[track_caller]
    pub fn assign<X: IndexedMut<Base = B> + ?Sized>(&self, base: &mut X)
    where
        B: AssignAt<I, V>,
    {
        if let Some((index, value)) = self.kept() {
            base.base_mut().assign_at(index, value);
        }
    }

    /// `base[index] += value`
    #[track_caller]
    pub fn add<X: IndexedMut<Base = B> + ?Sized>(&self, base: &mut X)
    where
        B: AddAt<I, V>,
    {
        if let Some((index, value)) = self.kept() {
            base.base_mut().add_at(index, value);
        }
    }

    /// `base[index] -= value`
    #[track_caller]
    pub fn sub<X: IndexedMut<Base = B> + ?Sized>(&self, base: &mut X)
    where
        B: SubAt<I, V>,
    {
        if let Some((index, value)) = self.kept() {
            base.base_mut().sub_at(index, value);
        }
    }

    /// `base[index] *= value`
    #[track_caller]
    pub fn mul<X: IndexedMut<Base = B> + ?Sized>(&self, base: &mut X)
    where
        B: MulAt<I, V>,
    {
        if let Some((index, value)) = self.kept() {
            base.base_mut().mul_at(index, value);
        }
    }

    /// `base[index] /= value`
    #[track_caller]
    pub fn div<X: IndexedMut<Base = B> + ?Sized>(&self, base: &mut X)
    where
        B: DivAt<I, V>,
    {
        if let Some((index, value)) = self.kept() {
            base.base_mut().div_at(index, value);
        }
    }

    /// `base[index] %= value`
    #[track_caller]
    pub fn rem<X: IndexedMut<Base = B> + ?Sized>(&self, base: &mut X)
    where
        B: RemAt<I, V>,
    {
        if let Some((index, value)) = self.kept() {
            base.base_mut().rem_at(index, value);
        }
    }

    /// `base[index] &= value`
    #[track_caller]
    pub fn bitand<X: IndexedMut<Base = B> + ?Sized>(&self, base: &mut X)
    where
        B: BitAndAt<I, V>,
    {
        if let Some((index, value)) = self.kept() {
            base.base_mut().bitand_at(index, value);
        }
    }

    /// `base[index] |= value`
    #[track_caller]
    pub fn bitor<X: IndexedMut<Base = B> + ?Sized>(&self, base: &mut X)
    where
        B: BitOrAt<I, V>,
    {
        if let Some((index, value)) = self.kept() {
            base.base_mut().bitor_at(index, value);
        }
    }

    /// `base[index] ^= value`
    #[track_caller]
    pub fn bitxor<X: IndexedMut<Base = B> + ?Sized>(&self, base: &mut X)
    where
        B: BitXorAt<I, V>,
    {
        if let Some((index, value)) = self.kept() {
            base.base_mut().bitxor_at(index, value);
        }
    }

    /// `base[index] <<= value`
    #[track_caller]
    pub fn shl<X: IndexedMut<Base = B> + ?Sized>(&self, base: &mut X)
    where
        B: ShlAt<I, V>,
    {
        if let Some((index, value)) = self.kept() {
            base.base_mut().shl_at(index, value);
        }
    }

    /// `base[index] >>= value`
    #[track_caller]
    pub fn shr<X: IndexedMut<Base = B> + ?Sized>(&self, base: &mut X)
    where
        B: ShrAt<I, V>,
    {
        if let Some((index, value)) = self.kept() {
            base.base_mut().shr_at(index, value);
        }
    }
}
/// Stands for a traced base where Rust indexes it.
#[derive(Debug)]
pub struct Nowhere;

/// Stands for an index, or a value, that was kept aside.
#[derive(Debug)]
pub struct Kept;

/// Stands for an element of a traced base.
#[derive(Debug)]
pub struct Place;

impl ops::Index<Kept> for Nowhere {
    type Output = Place;
    fn index(&self, _: Kept) -> &Place {
        const { &Place }
    }
}

impl ops::IndexMut<Kept> for Nowhere {
    fn index_mut(&mut self, _: Kept) -> &mut Place {
        // A value without a size needs no memory.
        Box::leak(Box::new(Place))
    }
}

macro_rules! assigned_nowhere {
    ($($trait:ident $method:ident),*) => {$(
        impl ops::$trait for Place {
            fn $method(&mut self, _: Place) {}
        }
    )*};
}

assigned_nowhere!(
    AddAssign add_assign, SubAssign sub_assign, MulAssign mul_assign, DivAssign div_assign, RemAssign rem_assign,
    BitAndAssign bitand_assign, BitOrAssign bitor_assign, BitXorAssign bitxor_assign, ShlAssign shl_assign,
    ShrAssign shr_assign
);

/// Values that can be read out of a container.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be copied out of a container",
    label = "this element has type `{Self}`, which is not `Clone`",
    note = "take a reference to it with `&`"
)]
pub trait CopiedOut: Sized {
    /// The value, once more.
    #[must_use]
    fn copied_out(&self) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: Clone> CopiedOut for T {
    #[inline(always)]
    fn copied_out(&self) -> T {
        self.clone()
    }
}

/// An element that a program uses by value.
#[inline(always)]
pub fn element<T: CopiedOut>(place: &T) -> T {
    place.copied_out()
}

/// Arrays whose elements lie in memory of their own: none.
#[diagnostic::on_unimplemented(
    message = "a traced element has no address; read it into a variable first",
    label = "elements of `{Self}` are computed when the kernel runs",
    note = "in a `#[jit]` function `let x = a[i];` gathers and `a[i] = x;` scatters; elsewhere `a.gather(&i)` and \
            `a.scatter(&x, &i)` do, and `a.get(i)` reads one element to the host; a range is `a.slice(lo..hi)`"
)]
pub trait HasAddress {}

/// For its message: there is nothing to refer to.
#[diagnostic::do_not_recommend]
impl<T: Element, I> ops::Index<I> for Array<T>
where
    Array<T>: HasAddress,
{
    type Output = Array<T>;
    fn index(&self, _: I) -> &Array<T> {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<T: Element, I> ops::IndexMut<I> for Array<T>
where
    Array<T>: HasAddress,
{
    fn index_mut(&mut self, _: I) -> &mut Array<T> {
        self
    }
}
