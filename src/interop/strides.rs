//! Places of elements in the memory of tensors with strides.

/// Returns the distance of an element from the first one, in elements, by its number in row-major order. No length is
/// 0.
pub(super) fn position(mut number: usize, lengths: &[usize], strides: impl DoubleEndedIterator<Item = isize>) -> isize {
    let mut position = 0_isize;
    for (&length, stride) in lengths.iter().rev().zip(strides.rev()) {
        position += (number % length) as isize * stride;
        number /= length;
    }
    position
}
