//! Elements of arrays have no address: the compile error of `&a[i]`.

use crate::array::{Array, Element};
use std::ops;

/// Arrays whose elements have addresses: none.
#[diagnostic::on_unimplemented(
    message = "a traced element has no address; read it into a variable first",
    label = "elements of `{Self}` are computed when the kernel runs",
    note = "in a `#[jit]` function `let x = a[i];` gathers and `a[i] = x;` scatters; elsewhere, and in \
            statements marked `#[host]` and macros other than Rust's own, `a.gather(&i)` and \
            `a.scatter(&x, &i)` do, and `a.get(i)` reads one element to the host; a range is `a.slice(lo..hi)`"
)]
pub trait HasAddress {}

/// Implemented only for the message: there is nothing to refer to.
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
