//! `memory[i]`, `memory[i] = v` and `memory[i] += v` on per-lane local memory. An update is a read followed by a write,
//! since no other lane accesses it.

use std::ops::{
    AddAssign, BitAndAssign, BitOrAssign, BitXorAssign, DivAssign, MulAssign, RemAssign, ShlAssign, ShrAssign,
    SubAssign,
};

use super::{
    AddAt, ArrayIndex, AssignAt, BitAndAt, BitOrAt, BitXorAt, DivAt, Indexed, IndexedMut, MulAt, ReadAt, RemAt, ShlAt,
    ShrAt, SubAt,
};
use crate::array::{IntoEntry, Local, LocalEntry};

impl<T: LocalEntry> Indexed for Local<T> {
    type Base = Self;
    fn base(&self) -> &Self {
        self
    }
}

impl<T: LocalEntry> IndexedMut for Local<T> {
    fn base_mut(&mut self) -> &mut Self {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<T: LocalEntry, I: ArrayIndex> ReadAt<I> for Local<T> {
    type Value = T::Value;
    fn read_at(&self, index: I) -> T::Value {
        self.read(&index.into_index())
    }
}

#[diagnostic::do_not_recommend]
impl<T: LocalEntry, I: ArrayIndex, V: IntoEntry<T::Value>> AssignAt<I, V> for Local<T> {
    fn assign_at(&mut self, index: I, value: V) {
        self.write(&index.into_index(), value);
    }
}

/// Operators that update an element like Rust's operator.
macro_rules! changes {
    ($($trait:ident $method:ident $operator:ident $assign:ident;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<T: LocalEntry<Value: $operator<V>>, I: ArrayIndex, V> $trait<I, V> for Local<T> {
            fn $method(&mut self, index: I, value: V) {
                let index = index.into_index();
                let mut element = self.read(&index);
                element.$assign(value);
                self.write(&index, element);
            }
        }
    )*};
}

changes! {
    AddAt add_at AddAssign add_assign;
    SubAt sub_at SubAssign sub_assign;
    MulAt mul_at MulAssign mul_assign;
    DivAt div_at DivAssign div_assign;
    RemAt rem_at RemAssign rem_assign;
    BitAndAt bitand_at BitAndAssign bitand_assign;
    BitOrAt bitor_at BitOrAssign bitor_assign;
    BitXorAt bitxor_at BitXorAssign bitxor_assign;
    ShlAt shl_at ShlAssign shl_assign;
    ShrAt shr_at ShrAssign shr_assign;
}
