//! Plain numbers among the arguments that change from call to call.
//!
//! As an operand combined with an array such a number is an array of width 1, an input of the recording like any other.
//! Anywhere else it is a host number, which the host may use for any decision; the recording then guards on its value.

use std::any::Any;

use jit_runtime::ir::Type;

use super::argument::Argument;
use crate::array::{Array, Element};
use crate::capture::{host_call, launches};
use crate::traverse::{HostValue, Leaf, Traverse, Visitor, VisitorMut};

/// A number that matters to a recording only if a decision depends on it.
pub struct Number<'a, T>(pub &'a T);

impl<T: Traverse + Clone + Send + Sync + 'static> Argument for Number<'_, T> {
    type Proxy = T;
    const IS_EXCLUSIVE: bool = false;

    fn show(&self, visitor: &mut Visitor<'_>) {
        Self::show_proxy(self.0, visitor);
    }

    fn show_proxy(given: &T, visitor: &mut Visitor<'_>) {
        let any: &dyn Any = given;
        // `usize` and `isize` are not element types.
        let size = any.downcast_ref::<usize>().map(|number| *number as u64);
        let size = size.or_else(|| any.downcast_ref::<isize>().map(|number| *number as u64));
        let mut number = size.map(|bits| HostValue::Parameter(Type::U64, bits));
        if number.is_none() {
            given.traverse(&mut Visitor::new(&mut |_, leaf| {
                if let Leaf::Host(HostValue::Number(ty, bits)) = leaf {
                    number = Some(HostValue::Parameter(ty, bits));
                }
            }));
        }
        number.into_iter().for_each(|number| visitor.host(number));
    }

    fn proxy(&self) -> T {
        self.0.clone()
    }

    fn copy(proxy: &T) -> T {
        proxy.clone()
    }

    fn put(&mut self, _: &T, _: bool, _: &mut VisitorMut<'_>) {}
}

/// A number in the form that is combined with arrays.
pub struct Lifted<T: Element>(pub Array<T>);

impl<T: Element> Argument for Lifted<T> {
    type Proxy = Array<T>;
    const IS_EXCLUSIVE: bool = false;

    fn show(&self, visitor: &mut Visitor<'_>) {
        visitor.array(self.0.var());
    }

    fn proxy(&self) -> Array<T> {
        self.0.clone()
    }

    fn copy(proxy: &Array<T>) -> Array<T> {
        proxy.clone()
    }

    fn put(&mut self, _: &Array<T>, _: bool, _: &mut VisitorMut<'_>) {}
}

/// The other operand of a number.
pub struct Beside<'a, O>(pub &'a O);

/// An array, or a reference to one.
pub trait IsArray {}

impl<U: Element> IsArray for Array<U> {}
impl<U: Element> IsArray for &Array<U> {}
impl<U: Element> IsArray for &mut Array<U> {}

// One block for all of these: where the other operand has an error of its own, there is no second one.
impl<O: IsArray> Beside<'_, O> {
    /// Returns the number as an operand of an array.
    pub fn number<T: Element>(&self, lifted: &Array<T>, _: impl FnOnce() -> T) -> Array<T> {
        lifted.clone()
    }
}

/// A number whose other operand is not an array.
pub trait HostNumber {
    /// Returns the number itself.
    fn number<T: Element>(&self, _: &Array<T>, number: impl FnOnce() -> T) -> T {
        number()
    }
}

impl<O> HostNumber for Beside<'_, O> {}

/// Computes a value once and passes it on.
pub fn mixed<O, R>(other: O, combine: impl FnOnce(O) -> R) -> R {
    combine(other)
}

/// Records that a decision depends on numbers.
pub fn decide(numbers: &[usize]) {
    if launches::is_recording() {
        launches::decide(numbers);
    } else {
        host_call::decide(numbers);
    }
}

/// Returns a number for a closure that runs in a host call of a frozen function: its value in that call.
#[must_use]
pub fn current<T: Element>(number: &T, position: usize) -> T {
    host_call::number(position).map_or(*number, T::from_bits)
}

/// Returns a number on which a decision depends.
pub fn decided<'a, T>(number: &'a T, numbers: &[usize]) -> &'a T {
    decide(numbers);
    number
}
