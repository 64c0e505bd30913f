//! Library calls on whole arrays, for the libraries that are built on arrays.
//!
//! [`matmul`] multiplies matrices and is the basis of tensor products, [`convolve`] that of convolutions. Prefix
//! reductions, sorting and listing true lanes are methods of [`Array`].

use jit_runtime::Site;
use jit_runtime::launch::native::Call;

use super::{Array, Element, Number};
use crate::graph::payload::RegionId;
use crate::misuse::Misuse;
use crate::size::Size;
use crate::trace::unaffected::unaffected;
use crate::trace::{native, record};

pub use jit_runtime::launch::native::{AXES, Convolution, MatMul, Sought};

/// Returns the products of matrices in row-major order, one after another. `product` states their shapes, whether they
/// are passed as their transposes, and how many there are.
///
/// Stays lazy; the operands are materialised in memory. Products of `f32` and `f64` are added in ascending order, each
/// with a single rounding, as by `mul_add`; if there are at most 2^14 sums of 1024 or more products, in up to 64 parts,
/// which are then added in ascending order. So the bits depend neither on the number of threads nor on the processor.
/// Halves are multiplied and added in single precision and rounded once; integers wrap. An empty sum is 0.
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
/// When the widths of the arrays do not match the shapes of the matrices, or an array is the state of a traced loop.
#[must_use]
#[track_caller]
pub fn matmul<T: Number>(a: &Array<T>, b: &Array<T>, product: MatMul) -> Array<T> {
    let MatMul { rows, inner, columns, batch, .. } = product;
    // The recording of a frozen function is made for these widths.
    let _ = (a.len(), b.len());
    matmul_of_sizes(a, b, product, [rows, inner, columns, batch].map(Size::from))
}

/// Like [`matmul`], with sizes that stay symbolic in a frozen function: rows, inner length, columns and number of
/// products. `product` holds the same numbers.
///
/// # Panics
///
/// As [`matmul`].
#[must_use]
#[track_caller]
pub fn matmul_of_sizes<T: Number>(a: &Array<T>, b: &Array<T>, product: MatMul, sizes: [Size; 4]) -> Array<T> {
    let widths = [a, b].map(|factor| factor.width().value());
    let Some([a_len, b_len, len]) = product.lens().filter(|lens| lens[..2] == widths) else {
        let what = format!("arrays of {} and {} elements are not matrices for {product:?}", widths[0], widths[1]);
        let misuse = Misuse::new(what, Site::here()).value("the first factor", a.var());
        misuse.value("the second factor", b.var()).panic()
    };
    if a_len == 0 || b_len == 0 || len == 0 {
        return Array::from_var(unaffected(record::literal(T::TYPE, 0, len), [a.var(), b.var()]));
    }
    let [rows, _, columns, batch] = sizes;
    let (call, sizes) = (Call::MatMul(product), native::sizes(sizes));
    Array::from_var(native::call(call, sizes, &[a.var(), b.var()], T::TYPE, batch * rows * columns))
}

/// Returns a convolution of two arrays, or one of its transposes: see [`Convolution`] for their shapes. `a` is the
/// input, or the results if something else is sought; `b` are the kernels, or the input if kernels are sought. The
/// numbers of [`Convolution::sizes`] are passed as sizes, too: those stay symbolic in a frozen function.
///
/// Stays lazy; the operands are materialised in memory. Products are added with a single rounding, as by `mul_add`: in
/// ascending order of channel and position in the kernel if results or an input are sought. If kernels are sought, in
/// ascending order of image and place; 2048 places or more in up to 16 parts, which are then added in ascending order.
/// So the bits depend neither on the number of threads nor on the processor. Halves are multiplied and added in single
/// precision and rounded once.
///
/// # Panics
///
/// When the widths of the arrays do not match the shapes, the elements are no floats, or an array is the state of a
/// traced loop.
#[must_use]
#[track_caller]
pub fn convolve<T: Number>(
    a: &Array<T>,
    b: &Array<T>,
    convolution: Convolution,
    sizes: [Size; Convolution::SIZES],
) -> Array<T> {
    let widths = [a, b].map(|operand| operand.width().value());
    let lens = convolution.operand_lens().filter(|lens| lens[..2] == widths && T::TYPE.is_float());
    let Some([_, _, len]) = lens else {
        let what = format!("arrays of {} and {} elements do not fit {convolution:?}", widths[0], widths[1]);
        Misuse::new(what, Site::here()).value("the first one", a.var()).value("the second one", b.var()).panic()
    };
    if widths.contains(&0) || len == 0 {
        return Array::from_var(unaffected(record::literal(T::TYPE, 0, len), [a.var(), b.var()]));
    }
    let [batch, channels, results, lengths @ ..] = sizes;
    let volume = |number: usize| lengths[number * AXES..][..AXES].iter().fold(Size::from(1), |all, &one| all * one);
    let groups = Size::from(convolution.groups);
    let width = match convolution.sought {
        Sought::Result => batch * (groups * results) * volume(2),
        Sought::Input => batch * (groups * channels) * volume(0),
        Sought::Kernel => (groups * results) * channels * volume(1),
    };
    let call = Call::Convolve(convolution);
    Array::from_var(native::call(call, native::sizes(sizes), &[a.var(), b.var()], T::TYPE, width))
}

/// Returns whether an array depends on the state of a traced loop, so that library calls cannot take it as an operand.
#[must_use]
pub fn is_in_loop<T: Element>(array: &Array<T>) -> bool {
    array.var().region() != RegionId::NONE
}
