//! The size classes of the allocator: multiples of 64 bytes up to 512, then eight sizes per power of two.
//!
//! A request is rounded up to its class, so at most an eighth of a large block is wasted, and blocks of nearby sizes
//! are interchangeable. The padding behind each block is not part of the class: powers of two, the most common sizes,
//! fit exactly.

/// The number of steps of 64 bytes below the first power of two that is subdivided.
const LINEAR_CLASSES: usize = 8;
const LINEAR_STEP: usize = 64;
const LINEAR_MAX: usize = LINEAR_CLASSES * LINEAR_STEP;
const LINEAR_MAX_LOG2: usize = LINEAR_MAX.ilog2() as usize;
const STEPS_LOG2: usize = 3;
const STEPS: usize = 1 << STEPS_LOG2;

/// Requests above this size are refused: no machine addresses more.
const MAX_SIZE_LOG2: usize = 47;

/// The number of classes.
pub(super) const CLASS_COUNT: usize = LINEAR_CLASSES + (MAX_SIZE_LOG2 - LINEAR_MAX_LOG2) * STEPS;

/// One of the sizes that the allocator provides.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct SizeClass(u16);

impl SizeClass {
    /// The smallest class that holds this many bytes; none for sizes above the largest.
    pub(crate) fn of(size_bytes: usize) -> Option<SizeClass> {
        if size_bytes <= LINEAR_MAX {
            return Some(SizeClass((size_bytes.max(1) - 1).div_euclid(LINEAR_STEP) as u16));
        }
        if size_bytes > 1 << MAX_SIZE_LOG2 {
            return None;
        }
        let last = size_bytes - 1;
        let octave = last.ilog2() as usize;
        let step = (last >> (octave - STEPS_LOG2)) & (STEPS - 1);
        Some(SizeClass((LINEAR_CLASSES + (octave - LINEAR_MAX_LOG2) * STEPS + step) as u16))
    }

    /// The number of bytes that a block of the class holds.
    pub(crate) const fn size_bytes(self) -> usize {
        let class = self.0 as usize;
        if class < LINEAR_CLASSES {
            return (class + 1) * LINEAR_STEP;
        }
        let (octave, step) = ((class - LINEAR_CLASSES) / STEPS, (class - LINEAR_CLASSES) % STEPS);
        (STEPS + step + 1) << (octave + LINEAR_MAX_LOG2 - STEPS_LOG2)
    }

    /// The position in a table of all classes.
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }

    /// The class at a position.
    #[cfg(test)]
    pub(super) const fn at(index: usize) -> SizeClass {
        assert!(index < CLASS_COUNT, "there is no such size class");
        SizeClass(index as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn classes_ascend_in_steps_of_whole_cache_lines() {
        for index in 0..CLASS_COUNT {
            let class = SizeClass::at(index);
            assert_eq!(class.size_bytes() % 64, 0);
            assert_eq!(SizeClass::of(class.size_bytes()), Some(class));
            if index + 1 < CLASS_COUNT {
                assert_eq!(SizeClass::of(class.size_bytes() + 1), Some(SizeClass::at(index + 1)));
            }
        }
        assert_eq!(SizeClass::at(CLASS_COUNT - 1).size_bytes(), 1 << MAX_SIZE_LOG2);
    }

    #[test]
    fn powers_of_two_fit_exactly_and_absurd_sizes_have_no_class() {
        for log2 in 6..=MAX_SIZE_LOG2 {
            assert_eq!(SizeClass::of(1 << log2).unwrap().size_bytes(), 1 << log2);
        }
        assert_eq!(SizeClass::of((1 << MAX_SIZE_LOG2) + 1), None);
        assert_eq!(SizeClass::of(usize::MAX), None);
        assert_eq!(SizeClass::of(0).unwrap().size_bytes(), 64);
    }

    proptest! {
        #[test]
        fn an_eighth_is_the_most_that_is_wasted(size in 513_usize..1 << 40) {
            let held = SizeClass::of(size).unwrap().size_bytes();
            prop_assert!(held >= size);
            prop_assert!((held - size) * 8 <= size, "{size} became {held}");
        }
    }
}
