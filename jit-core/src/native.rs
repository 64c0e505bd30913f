//! Operations on whole arrays that are no programs of one lane, for the libraries that are built on arrays.
//!
//! [`matmul`] multiplies matrices; tensors are made of it. Prefix reductions, sorting and listing true lanes are methods of [`Array`].

use std::panic::Location;

use jit_runtime::launch::native::Call;

use crate::array::{Array, Element, Number};
use crate::trace::misuse::Misuse;
use crate::trace::region::RegionId;
use crate::trace::{native, record};

pub use jit_runtime::launch::native::MatMul;

/// The products of matrices in row-major order, one after another: `product` says their shapes, whether they are given as their
/// transposes, and how many there are.
///
/// Stays lazy; the operands will lie in memory. Products of `f32` and `f64` are added in an order that depends on the shape and the
/// processor's vector instructions, but not on the number of threads; halves are multiplied and added in single precision and
/// rounded once; integers wrap. A sum of no products is 0.
///
/// ```
/// use jit_core::Float;
/// use jit_core::native::{MatMul, matmul};
///
/// let a = Float::from([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]); // 2 × 3
/// let b = Float::from([1.0, 0.0, 0.0, 1.0, 1.0, 1.0]); // 3 × 2
/// assert_eq!(matmul(&a, &b, MatMul::new(2, 3, 2)).to_vec()?, [4.0, 5.0, 10.0, 11.0]);
/// # Ok::<(), jit_runtime::Error>(())
/// ```
///
/// # Panics
///
/// When the arrays do not have as many elements as the matrices, or are the state of a traced loop.
#[must_use]
#[track_caller]
pub fn matmul<T: Number>(a: &Array<T>, b: &Array<T>, product: MatMul) -> Array<T> {
    let Some([a_len, b_len, len]) = product.lens().filter(|lens| lens[0] == a.len() && lens[1] == b.len()) else {
        let what = format!("arrays of {} and {} elements are no matrices for {product:?}", a.len(), b.len());
        let misuse = Misuse::new(what, Location::caller()).value("the first factor", a.var());
        misuse.value("the second factor", b.var()).panic()
    };
    if a_len == 0 || b_len == 0 || len == 0 {
        return Array::from_var(record::literal(T::TYPE, 0, len));
    }
    Array::from_var(native::call(Call::MatMul(product), &[a.var(), b.var()], T::TYPE, len))
}

/// Whether an array depends on the state of a traced loop, so that native work cannot have it as an operand.
#[must_use]
pub fn is_in_loop<T: Element>(array: &Array<T>) -> bool {
    array.var().region() != RegionId::NONE
}
