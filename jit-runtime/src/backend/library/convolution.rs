//! Convolutions, and their transposes, as library calls: what they compute.

use crate::ir::Type;

/// The axes over which kernels move. Signals and images have axes of length 1 before their own.
pub const AXES: usize = 3;

/// What a convolution computes from the other two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sought {
    /// The result, from input and kernels.
    Result,
    /// Something in the shape of the input, from results and kernels: the transpose by the input.
    Input,
    /// Something in the shape of the kernels, from results and input: the transpose by the kernels.
    Kernel,
}

/// A convolution of floats, in the sense of neural networks, or one of its transposes.
///
/// An input is `[batch, groups · channels, …]`, kernels are `[groups · results, channels, …]`, and a result is `[batch,
/// groups · results, …]`, in row-major order. The element of a kernel at `k` meets the element of the input at
/// `result · stride + k · dilation − before`; elements outside of the input are zeros.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Convolution {
    /// What is computed.
    pub sought: Sought,
    /// The number of inputs.
    pub batch: usize,
    /// The number of groups of channels.
    pub groups: usize,
    /// The channels of the input in a group.
    pub channels: usize,
    /// The channels of the result in a group.
    pub results: usize,
    /// The lengths of the input.
    pub input: [usize; AXES],
    /// The lengths of a kernel.
    pub kernel: [usize; AXES],
    /// The lengths of the result.
    pub result: [usize; AXES],
    /// The number of zeros before the input.
    pub before: [usize; AXES],
    /// The distances between the places of a kernel.
    pub strides: [usize; AXES],
    /// The distances between the elements of a kernel.
    pub dilations: [usize; AXES],
}

/// A part of a sum has at least so many places …
const PART: usize = 1024;
/// … there are at most so many parts …
const MAX_PARTS: usize = 16;
/// … and their sums, and those with lanes, are at most so many.
const MAX_SUMS: usize = 1 << 20;

/// So many groups are work enough for all threads.
const MANY_GROUPS: usize = 64;
/// The lanes of a sum, where sums have lanes …
pub(crate) const LANES: usize = 16;
/// … because groups have fewer results than this.
const MANY_RESULTS: usize = 8;

/// Whether matrices of an element type can be convolved: floats.
#[must_use]
pub fn is_supported_convolution(ty: Type) -> bool {
    ty.is_float()
}

impl Convolution {
    /// One product: all sizes are 1, and there are no zeros before the input.
    #[must_use]
    pub const fn new(sought: Sought) -> Convolution {
        let ones = [1; AXES];
        Convolution {
            sought,
            batch: 1,
            groups: 1,
            channels: 1,
            results: 1,
            input: ones,
            kernel: ones,
            result: ones,
            before: [0; AXES],
            strides: ones,
            dilations: ones,
        }
    }

    /// The number of sizes that [`with_sizes`](Convolution::with_sizes) takes.
    pub const SIZES: usize = 3 + 4 * AXES;

    /// The sizes, in the form that [`with_sizes`](Convolution::with_sizes) takes: batch, channels, results, and the
    /// lengths of input, kernel, result and of the zeros before the input.
    #[must_use]
    pub fn sizes(&self) -> [usize; Self::SIZES] {
        let axes = [self.input, self.kernel, self.result, self.before];
        let mut sizes = [self.batch, self.channels, self.results].into_iter().chain(axes.into_iter().flatten());
        std::array::from_fn(|_| sizes.next().unwrap_or_default())
    }

    /// The same operation with other sizes; without sizes, unchanged.
    #[must_use]
    pub fn with_sizes(self, sizes: &[usize]) -> Convolution {
        let &[batch, channels, results, ref axes @ ..] = sizes else { return self };
        let of = |number: usize| axes.get(number * AXES..(number + 1) * AXES)?.try_into().ok();
        let (Some(input), Some(kernel), Some(result), Some(before)) = (of(0), of(1), of(2), of(3)) else { return self };
        Convolution { batch, channels, results, input, kernel, result, before, ..self }
    }

    /// The number of elements of input, kernels and result; none if that is more than memory can hold.
    #[must_use]
    pub fn lens(&self) -> Option<[usize; 3]> {
        let len = |channels: [usize; 3], lengths: [usize; AXES]| {
            channels.into_iter().chain(lengths).try_fold(1_usize, usize::checked_mul)
        };
        Some([
            len([self.batch, self.groups, self.channels], self.input)?,
            len([self.groups, self.results, self.channels], self.kernel)?,
            len([self.batch, self.groups, self.results], self.result)?,
        ])
    }

    /// The operands' numbers of elements, in the order in which they are passed: two inputs and one output.
    #[must_use]
    pub fn operand_lens(&self) -> Option<[usize; 3]> {
        let [input, kernel, result] = self.lens()?;
        Some(match self.sought {
            Sought::Result => [input, kernel, result],
            Sought::Input => [result, kernel, input],
            Sought::Kernel => [result, input, kernel],
        })
    }

    /// The number of parts into which each sum of a transpose by the kernels is divided; 1 for the others. Part *i* of
    /// *n* begins at line *lines i / n* of the results of all images, where a line is what the last axis has. It is a
    /// part of the semantics of floats, and depends on the shape alone.
    #[must_use]
    pub fn parts(&self) -> usize {
        if self.sought != Sought::Kernel {
            return 1;
        }
        let places = self.result.into_iter().fold(self.batch, usize::saturating_mul);
        let parts = (places / PART).min(MAX_PARTS).min(MAX_SUMS / self.sums().max(1));
        let most = if self.lanes() > 1 { MANY_GROUPS.div_ceil(self.groups) } else { MAX_PARTS };
        parts.min(most).min(self.lines()).max(1)
    }

    /// The number of lanes of each part of a sum: in a transpose by the kernels, if there are groups with few results;
    /// 1 otherwise. Product *n* of a part belongs to lane *n* modulo this number. Lanes are added in ascending order,
    /// and then the parts. It is a part of the semantics of floats, and depends on the shape alone.
    #[must_use]
    pub fn lanes(&self) -> usize {
        let has_few = self.results < self.groups.min(MANY_RESULTS) && self.sums() <= MAX_SUMS;
        if self.sought == Sought::Kernel && has_few { LANES } else { 1 }
    }

    /// The number of elements of all kernels.
    fn sums(&self) -> usize {
        self.kernel.into_iter().fold(self.groups * self.results * self.channels, usize::saturating_mul)
    }

    /// The number of lines of the results of all images.
    pub(crate) fn lines(&self) -> usize {
        self.batch.saturating_mul(self.result[0]).saturating_mul(self.result[1])
    }

    /// Whether positions can be computed without overflow.
    pub(crate) fn has_positions(&self) -> bool {
        const MOST: usize = isize::MAX as usize / 8;
        let is_possible = |axis: usize| {
            let (stride, dilation) = (self.strides[axis], self.dilations[axis]);
            let reach = self.result[axis].checked_mul(stride)?.checked_add(self.kernel[axis].checked_mul(dilation)?)?;
            let all = reach.checked_add(self.input[axis])?.checked_add(self.before[axis])?;
            Some(stride > 0 && dilation > 0 && all < MOST)
        };
        self.groups > 0 && (0..AXES).all(|axis| is_possible(axis) == Some(true))
    }
}
