//! `a[i]`: Rust's own indexing of host containers, gathers and scatters of arrays.
//!
//! Method lookup on the base decides which of the two it is. Rust finds `__jit_read` or `__jit_write` first for types
//! that are [`Indexed`] and, one borrow further, for all other types. A host base is then indexed by Rust itself, with
//! Rust's types, coercions and messages. A traced base stores index and value, and Rust indexes a [`Nowhere`], which
//! has no effect.
//!
//! ```text
//! a[i]        →   *match probe(&a).__jit_read() { k => k.value(&k.base()[k.index(i)]) }
//! a[i] = v    →   { let k = probe(&a).__jit_write(); k.place(a.__jit_lend())[k.index(i)] = k.value(v);
//!                   k.assign(a.__jit_lend()) }
//! ```

mod address;
mod at;
mod local;

pub use address::HasAddress;
pub use at::{
    AddAt, ArrayIndex, AssignAt, BitAndAt, BitOrAt, BitXorAt, DivAt, MulAt, ReadAt, RemAt, ShlAt, ShrAt, SubAt,
};

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::{self, Deref};
use std::rc::Rc;
use std::sync::Arc;

use crate::array::{Array, Element};

/// Values whose elements are traced, and smart pointers to them.
pub trait Indexed {
    /// The indexed type.
    type Base: ?Sized;
    /// Returns the indexed value.
    fn base(&self) -> &Self::Base;
}

/// The same, if elements can be written.
pub trait IndexedMut: Indexed {
    /// Returns the indexed value mutably.
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

/// Smart pointers to indexed values.
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

/// A value whose kind is determined by Rust's method lookup: a method that is implemented for `Probe` is found before
/// one that is implemented for `&Probe`.
pub struct Probe<'a, X: ?Sized>(pub(super) &'a X);

/// Wraps a value for method lookup.
#[inline(always)]
pub fn probe<X: ?Sized>(value: &X) -> Probe<'_, X> {
    Probe(value)
}

/// Method lookup finds this trait for [`Indexed`] types.
pub trait IndexesTraced {
    /// The indexed type.
    type Base: ?Sized;
    /// Begins a read of a traced base.
    fn __jit_read<'a, V>(self) -> TracedRead<'a, Self::Base, V>
    where
        Self: 'a;
    /// Begins a write to a traced base.
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

/// Method lookup finds this trait for all other types.
pub trait IndexesHost<'a> {
    /// The indexed type.
    type Base: ?Sized;
    /// Begins a read of a host base.
    fn __jit_read(self) -> HostRead<'a, Self::Base>;
    /// Begins a write to a host base.
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

/// Borrows a base for the duration of an assignment, through references as methods do.
pub trait Lend {
    /// Returns the base.
    #[inline(always)]
    fn __jit_lend(&mut self) -> &mut Self {
        self
    }
}

impl<X: ?Sized> Lend for X {}

/// A read of a host base.
pub struct HostRead<'a, X: ?Sized>(&'a X);

impl<'a, X: ?Sized> HostRead<'a, X> {
    /// Returns the base that Rust indexes.
    #[inline(always)]
    pub fn base(&self) -> &'a X {
        self.0
    }

    /// Returns the index that Rust uses.
    #[inline(always)]
    pub fn index<I>(&self, index: I) -> I {
        index
    }

    /// Returns the element that Rust found.
    #[inline(always)]
    pub fn value<'r, R: ?Sized>(&self, found: &'r R) -> &'r R {
        found
    }
}

/// A write to a host base.
#[derive(Debug)]
pub struct HostWrite;

/// Declares methods that do nothing, because Rust has changed the element.
macro_rules! done_by_rust {
    ($($name:ident),*) => {$(
        /// Does nothing: Rust has done it.
        #[inline(always)]
        pub fn $name<X: ?Sized>(&self, _: &mut X) {}
    )*};
}

impl HostWrite {
    /// Returns the base that Rust indexes.
    #[inline(always)]
    pub fn place<'a, X: ?Sized>(&self, base: &'a mut X) -> &'a mut X {
        base
    }

    /// Returns the index that Rust uses.
    #[inline(always)]
    pub fn index<I>(&self, index: I) -> I {
        index
    }

    /// Returns the value that Rust uses.
    #[inline(always)]
    pub fn value<V>(&self, value: V) -> V {
        value
    }

    done_by_rust!(assign, add, sub, mul, div, rem, bitand, bitor, bitxor, shl, shr);
}

/// A read of a traced base.
pub struct TracedRead<'a, B: ?Sized, V> {
    base: &'a B,
    value: Cell<Option<V>>,
}

impl<B: ?Sized, V> TracedRead<'_, B, V> {
    /// Returns the base that Rust indexes.
    pub fn base(&self) -> Nowhere {
        Nowhere
    }

    /// Reads the element.
    #[track_caller]
    pub fn index<I>(&self, index: I) -> SetAside
    where
        B: ReadAt<I, Value = V>,
    {
        self.value.set(Some(self.base.read_at(index)));
        SetAside
    }

    /// Returns the element.
    pub fn value(&self, _: &Place) -> Read<V> {
        Read(self.value.take().expect("the element was read when its index was passed"))
    }
}

/// A value that was read.
#[derive(Debug)]
pub struct Read<V>(V);

impl<V> Deref for Read<V> {
    type Target = V;
    fn deref(&self) -> &V {
        &self.0
    }
}

/// A write to a traced base.
pub struct TracedWrite<B: ?Sized, I, V> {
    index: Cell<Option<I>>,
    value: Cell<Option<V>>,
    base: PhantomData<B>,
}

impl<B: ?Sized, I, V> TracedWrite<B, I, V> {
    /// Returns the base that Rust indexes.
    pub fn place<X: ?Sized>(&self, _: &mut X) -> Nowhere {
        Nowhere
    }

    /// Stores the index.
    pub fn index(&self, index: I) -> SetAside {
        self.index.set(Some(index));
        SetAside
    }

    /// Stores the value.
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
/// Represents a traced base where Rust indexes it.
#[derive(Debug)]
pub struct Nowhere;

/// Represents an index, or a value, that was stored for later.
#[derive(Debug)]
pub struct SetAside;

/// Represents an element of a traced base.
#[derive(Debug)]
pub struct Place;

impl ops::Index<SetAside> for Nowhere {
    type Output = Place;
    fn index(&self, _: SetAside) -> &Place {
        const { &Place }
    }
}

impl ops::IndexMut<SetAside> for Nowhere {
    fn index_mut(&mut self, _: SetAside) -> &mut Place {
        // A zero-sized value needs no memory.
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
    /// Returns a clone.
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

/// Returns an element that a program uses by value.
#[inline(always)]
pub fn element<T: CopiedOut>(place: &T) -> T {
    place.copied_out()
}
