//! Host lists as long as an array, whose allocation may fail.

use bytemuck::Zeroable;

use super::buffer::out_of_memory;
use crate::Error;

/// A list of zeros.
///
/// # Errors
///
/// [`OutOfMemory`](crate::ErrorKind::OutOfMemory).
pub fn zeroed_list<T: Zeroable>(len: usize) -> Result<Vec<T>, Error> {
    // Pages that are zero already are not written.
    bytemuck::allocation::try_zeroed_vec(len).map_err(|()| out_of_memory(len.saturating_mul(size_of::<T>())))
}

/// A list of equal elements.
///
/// # Errors
///
/// [`OutOfMemory`](crate::ErrorKind::OutOfMemory).
pub fn filled_list<T: Clone>(len: usize, value: T) -> Result<Vec<T>, Error> {
    let mut list = Vec::new();
    list.try_reserve_exact(len).map_err(|_| out_of_memory(len.saturating_mul(size_of::<T>())))?;
    list.resize(len, value);
    Ok(list)
}

/// A list with a copy of some elements.
///
/// # Errors
///
/// [`OutOfMemory`](crate::ErrorKind::OutOfMemory).
pub fn copied_list<T: Copy>(elements: &[T]) -> Result<Vec<T>, Error> {
    let mut list = Vec::new();
    list.try_reserve_exact(elements.len()).map_err(|_| out_of_memory(size_of_val(elements)))?;
    list.extend_from_slice(elements);
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn lists_are_as_long_as_wanted_or_an_error() {
        assert_eq!(zeroed_list::<u16>(3).unwrap(), [0; 3]);
        assert_eq!(filled_list(3, 7_u64).unwrap(), [7; 3]);
        assert_eq!(copied_list(&[1, 2]).unwrap(), [1, 2]);
        for len in [1 << 60, usize::MAX] {
            assert_eq!(zeroed_list::<u64>(len).unwrap_err().kind(), ErrorKind::OutOfMemory);
            assert_eq!(filled_list(len, 1_u64).unwrap_err().kind(), ErrorKind::OutOfMemory);
        }
    }
}
