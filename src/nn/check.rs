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
    Misuse::new(format!("{layer} of {wanted} {what} got a tensor of shape {:?}", x.sizes()), Site::here())
        .value("the input", x.array().var())
        .hint(&format!("{place} has the {what} of the layer"))
        .panic()
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
        .hint("axes of length 1 are added by `expand_dims`")
        .panic()
}

/// Panics unless the windows of a layer can move over an input.
#[track_caller]
pub(super) fn check_kernel<T: Element>(layer: &str, x: &Tensor<T>, windows: &impl std::fmt::Debug, fits: bool) {
    if fits {
        return;
    }
    Misuse::new(format!("{layer} got a tensor of shape {:?}", x.sizes()), Site::here())
        .value("the input", x.array().var())
        .hint(&format!(
            "windows are no larger than the padded input, lengths and strides positive, and paddings at most half of \
            a window; here they are {windows:?}"
        ))
        .panic()
}
