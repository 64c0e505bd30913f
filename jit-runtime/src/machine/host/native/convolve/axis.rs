//! Which elements of the source the elements of the target meet, along one axis.

use super::Convolution;

/// A part of an axis of the target whose elements all meet the source by the same taps. A tap is an element of the
/// kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Line {
    /// The number of elements of the target, the first one, and their distance.
    pub(super) count: usize,
    pub(super) first: usize,
    pub(super) apart: usize,
    /// The length of the source.
    pub(super) source: usize,
    /// The distance in the source from one element to the next.
    pub(super) step: usize,
    /// Positions in the kernel, ascending, and the places in the source that the first element meets.
    pub(super) taps: Vec<(usize, isize)>,
}

impl Line {
    /// The axis of a result: all of its elements meet the input by all taps.
    pub(super) fn of_result(convolution: &Convolution, axis: usize) -> Vec<Line> {
        let (dilation, before) = (convolution.dilations[axis], convolution.before[axis] as isize);
        let tap = |tap: usize| (tap, (tap * dilation) as isize - before);
        vec![Line {
            count: convolution.result[axis],
            first: 0,
            apart: 1,
            source: convolution.input[axis],
            step: convolution.strides[axis],
            taps: (0..convolution.kernel[axis]).map(tap).collect(),
        }]
    }

    /// The axis of an input: elements at the distance of the stride meet results by the same taps.
    pub(super) fn of_input(convolution: &Convolution, axis: usize) -> Vec<Line> {
        let (stride, dilation) = (convolution.strides[axis], convolution.dilations[axis]);
        let length = convolution.input[axis];
        let line = |first: usize| {
            let tap = |tap: usize| {
                let place = (first + convolution.before[axis]) as isize - (tap * dilation) as isize;
                (place.rem_euclid(stride as isize) == 0).then(|| (tap, place.div_euclid(stride as isize)))
            };
            Line {
                count: (length - first).div_ceil(stride),
                first,
                apart: stride,
                source: convolution.result[axis],
                step: 1,
                taps: (0..convolution.kernel[axis]).filter_map(tap).collect(),
            }
        };
        (0..stride.min(length)).map(line).collect()
    }
}

/// Copies of a line of the source, in which each tap finds the elements of consecutive results consecutively.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Copies {
    /// The first place in the source of each copy. The distance of its elements is that of the line.
    pub(super) starts: Vec<isize>,
    /// The number of elements beyond those of the target.
    pub(super) more: usize,
    /// The copy that each tap reads, and the first element in it.
    pub(super) taps: Vec<(usize, usize)>,
}

impl Copies {
    /// One copy for each remainder of places, which taps share. If they are far apart, one for each tap.
    pub(super) fn new(line: &Line) -> Copies {
        let lowest = line.taps.iter().map(|tap| tap.1).min().unwrap_or(0);
        let highest = line.taps.iter().map(|tap| tap.1).max().unwrap_or(0);
        let reach = (highest - lowest) as usize;
        let more = reach / line.step;
        if more > line.count {
            let starts = line.taps.iter().map(|tap| tap.1).collect();
            return Copies { starts, more: 0, taps: (0..line.taps.len()).map(|tap| (tap, 0)).collect() };
        }
        let place = |&(_, place): &(usize, isize)| {
            let distance = (place - lowest) as usize;
            (distance % line.step, distance / line.step)
        };
        let taps: Vec<_> = line.taps.iter().map(place).collect();
        let used = taps.iter().map(|tap| tap.0 + 1).max().unwrap_or(0);
        Copies { starts: (0..used).map(|remainder| lowest + remainder as isize).collect(), more, taps }
    }

    /// One copy for each tap.
    pub(super) fn of_each_tap(line: &Line) -> Copies {
        let starts = line.taps.iter().map(|tap| tap.1).collect();
        Copies { starts, more: 0, taps: (0..line.taps.len()).map(|tap| (tap, 0)).collect() }
    }
}
