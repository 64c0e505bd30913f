//! Errors for inputs that a layer does not take.

use std::ops::RangeInclusive;

use jit_core::misuse::Misuse;

use crate::tensor::Tensor;
use crate::{Element, Site, Size};

/// Panics unless an axis of an input has the length that a layer takes.
#[track_caller]
pub(super) fn check_axis<T: Element>(layer: &str, x: &Tensor<T>, axis: isize, what: &str, wanted: Size) {
    let exists = if axis < 0 { x.ndim() as isize >= -axis } else { (x.ndim() as isize) > axis };
    if exists && x.size(axis) == wanted {
        return;
    }
    let place = match axis {
        -1 => "the last axis".to_owned(),
        _ => format!("axis {axis}"),
    };
    let misuse = Misuse::new(format!("{layer} of {wanted} {what} got a tensor of shape {:?}", x.sizes()), Site::here())
        .value("the input", x.array().var())
        .hint(&format!("{place} has the {what} of the layer: {}", expected(x, axis, wanted)));
    let remedy = if exists { remedy(x, axis, wanted) } else { None };
    remedy.into_iter().fold(misuse, |misuse, remedy| misuse.hint(&remedy)).panic()
}

/// Describes the shape that would fit.
#[track_caller]
fn expected<T: Element>(x: &Tensor<T>, axis: isize, wanted: Size) -> String {
    let (mut lengths, last) = (x.sizes(), x.ndim() as isize - 1);
    let position = if axis < 0 { last + 1 + axis } else { axis };
    match lengths.get_mut(position as usize) {
        Some(length) => {
            *length = wanted;
            format!("a tensor of shape {lengths:?} fits")
        }
        None => format!("a tensor of {} axes or more fits", if axis < 0 { -axis } else { axis + 1 }),
    }
}

/// Returns what brings an input to the shape that a layer takes, if its other axes suggest it.
#[track_caller]
fn remedy<T: Element>(x: &Tensor<T>, axis: isize, wanted: Size) -> Option<String> {
    let (lengths, count) = (x.sizes(), x.ndim());
    let position = if axis < 0 { (count as isize + axis) as usize } else { axis as usize };
    // Channels behind rows and columns, as in many image files.
    if let Some(other) = (1..count).rev().find(|&other| other != position && lengths[other] == wanted) {
        return Some(format!("axis {other} has this length: `x.move_axis({other}, {axis})` moves it there"));
    }
    let is_flat = |first: &usize| lengths[*first..].iter().fold(Size::from(1), |all, &length| all * length) == wanted;
    if axis == -1
        && let Some(first) = (1..count - 1).find(is_flat)
    {
        return Some(match first {
            1 => "the axes behind the batch have so many elements: put `nn::Flatten` before the layer".to_owned(),
            _ => format!("the axes from {first} on have so many elements together: `reshape` makes one of them"),
        });
    }
    Some(format!("or create the layer for {}", lengths[position]))
}

/// Panics unless an input has a number of axes that a layer takes.
#[track_caller]
pub(super) fn check_axes<T: Element>(layer: &str, x: &Tensor<T>, wanted: RangeInclusive<usize>) {
    if wanted.contains(&x.ndim()) {
        return;
    }
    let counts = match wanted.start() == wanted.end() {
        true => format!("{}", wanted.start()),
        false => format!("{} to {}", wanted.start(), wanted.end()),
    };
    Misuse::new(format!("{layer} takes {counts} axes, and got a tensor of shape {:?}", x.sizes()), Site::here())
        .value("the input", x.array().var())
        .hint(match x.ndim() + 1 == *wanted.start() {
            true => "a single sample becomes a batch of one by `x.expand_dims(0)`",
            false => "axes of length 1 are added by `x.expand_dims(axis)`, and removed by `x.squeeze(axis)`",
        })
        .panic()
}

/// Panics unless windows can be as a layer has them.
#[track_caller]
pub(super) fn check_windows<T: Element>(
    layer: &str,
    x: &Tensor<T>,
    windows: &impl std::fmt::Debug,
    are_possible: bool,
) {
    if are_possible {
        return;
    }
    Misuse::new(format!("{layer} got a tensor of shape {:?}", x.sizes()), Site::here())
        .value("the input", x.array().var())
        .hint(&format!(
            "lengths, strides and dilations of windows are positive, and paddings at most half of a window; here they \
            are {windows:?}"
        ))
        .panic()
}

/// Panics unless an axis of an input, with its padding, has as many elements as a window reaches over.
#[track_caller]
pub(super) fn check_reach<T: Element>(layer: &str, x: &Tensor<T>, axis: usize, reach: Size, padded: Size) {
    if padded >= reach {
        return;
    }
    let (length, more) = (x.size(axis as isize), padded - x.size(axis as isize));
    let padding = if more >= 1 { format!(" and {more} of padding") } else { String::new() };
    Misuse::new(format!("{layer} got a tensor of shape {:?}", x.sizes()), Site::here())
        .value("the input", x.array().var())
        .hint(&format!("axis {axis} has {length} elements{padding}, and a window reaches over {reach} of them"))
        .hint("use smaller windows, or larger inputs")
        .panic()
}

/// Panics unless the last axes of an input have the lengths that a layer takes.
#[track_caller]
pub(super) fn check_last_axes<T: Element>(layer: &str, x: &Tensor<T>, wanted: &[usize]) {
    let (lengths, count) = (x.sizes(), wanted.len());
    let first = lengths.len().checked_sub(count);
    if first.is_some_and(|first| lengths[first..].iter().zip(wanted).all(|(length, wanted)| *length == *wanted)) {
        return;
    }
    let fitting = match first {
        Some(first) => {
            let last = wanted.iter().map(|&length| Size::from(length));
            format!("a tensor of shape {:?} fits", lengths[..first].iter().copied().chain(last).collect::<Vec<_>>())
        }
        None => format!("a tensor of {count} axes or more fits"),
    };
    Misuse::new(format!("{layer} over axes of shape {wanted:?} got a tensor of shape {lengths:?}"), Site::here())
        .value("the input", x.array().var())
        .hint(&format!("the last axes have the lengths of the layer: {fitting}"))
        .hint(&match first {
            Some(first) => format!("or create the layer for {:?}", &lengths[first..]),
            None => format!("axes of length 1 are added by `x.expand_dims(axis)`, if {wanted:?} is meant so"),
        })
        .panic()
}
