//! [`Traverse`] for arrays, and for numbers of their element types.

use super::{Array, Element};
use crate::traverse::{Build, HostValue, LeafReader, Traverse, Visitor, VisitorMut};
use jit_runtime::Error;

impl<T: Element> Traverse for Array<T> {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        visitor.array(self.var());
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        visitor.array(self.var_mut());
    }
}

impl<T: Element> Build for Array<T> {
    fn build(leaves: &mut LeafReader<'_>) -> Result<Self, Error> {
        leaves.array(T::TYPE).map(Array::from_var)
    }
}

macro_rules! numbers {
    ($($ty:ty),*) => {$(
        impl Traverse for $ty {
            fn traverse(&self, visitor: &mut Visitor<'_>) {
                visitor.host(HostValue::Number(<$ty as Element>::TYPE, Element::to_bits(*self)));
            }

            fn traverse_mut(&mut self, _visitor: &mut VisitorMut<'_>) {}
        }

        impl Build for $ty {
            fn build(leaves: &mut LeafReader<'_>) -> Result<Self, Error> {
                leaves.number(<$ty as Element>::TYPE).map(Element::from_bits)
            }
        }
    )*};
}

numbers!(bool, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, half::f16, half::bf16);
