//! Slices, and assignment to slices: for a list of indices, the source of each element of the result.
//!
//! Several index arrays broadcast against each other. Their common axes stay in place if they are neighbours; otherwise
//! they come first. Numbers next to index arrays count as index arrays. These are NumPy's rules for "advanced
//! indexing".

use jit_core::misuse::Misuse;

use super::broadcast::{TensorOperand, common_shape, fits, spread};
use super::index::{Index, Kind, Position, Positions, Steps};
use super::lengths::{Sizes, are_always, is, number, product};
use super::view::{Axes, Stride, View, ViewAxis, coordinates, strides};
use super::{Tensor, filled};
use crate::Site;
use crate::{Array, Element, Mask, Size, UInt};

/// The elements that a list of indices selects from a shape.
struct Selection {
    /// The result's axes, as strides in the source; axes made by index arrays have stride 0.
    view: View,
    /// The contribution of index arrays: positions, broadcast to the result's shape, times a stride.
    moves: Vec<(Tensor<u32>, Size)>,
    /// The selection along each axis of the source, if there are no index arrays.
    picks: Vec<Pick>,
}

/// The selection along an axis of the source.
#[derive(Clone, Copy)]
struct Pick {
    start: Size,
    step: isize,
    length: Size,
    /// Its axis in the result, unless it is dropped.
    axis: Option<usize>,
}

/// An index that uses an axis of the source, or adds one.
enum Part<'a> {
    At { axis: usize, position: Size },
    Range { axis: usize, start: Size, step: isize, length: Size },
    NewAxis,
    Positions { axis: usize, positions: &'a Positions },
}

impl Part<'_> {
    /// Returns whether an index counts as an index array if there are others.
    fn is_advanced(&self) -> bool {
        matches!(self, Part::At { .. } | Part::Positions { .. })
    }
}

impl Selection {
    #[track_caller]
    fn new(shape: &[Size], indices: &[Index]) -> Self {
        let parts = parts(shape, indices);
        if parts.iter().any(|part| matches!(part, Part::Positions { .. })) {
            advanced(shape, &parts)
        } else {
            basic(shape, &parts)
        }
    }

    fn shape(&self) -> Sizes {
        self.view.shape()
    }

    /// Returns whether every element is selected in its place.
    fn covers(&self, shape: &[Size]) -> bool {
        let is_whole =
            |(pick, &length): (&Pick, &Size)| pick.axis.is_some() && pick.step == 1 && pick.length.is_always(length);
        are_always(&self.shape(), shape) && self.moves.is_empty() && self.picks.iter().zip(shape).all(is_whole)
    }

    #[track_caller]
    fn read<T: Element>(&self, source: &Array<T>) -> Array<T> {
        if self.moves.is_empty() {
            return self.view.read(source);
        }
        if self.view.is_empty() {
            return source.slice(0..0);
        }
        source.gather(&self.positions())
    }

    /// Returns the position in the source of each element of the result.
    #[track_caller]
    fn positions(&self) -> UInt {
        let shape = self.shape();
        let mut sum = self.view.positions();
        for (positions, step) in &self.moves {
            sum += positions.lanes(&shape) * number(*step);
        }
        sum
    }
}

/// Returns the indices with their axes.
#[track_caller]
fn parts<'a>(shape: &[Size], indices: &'a [Index]) -> Vec<Part<'a>> {
    let uses_axis = |index: &&Index| !matches!(index.0, Kind::NewAxis | Kind::Ellipsis);
    let used = indices.iter().filter(uses_axis).count();
    let ellipses = indices.iter().filter(|index| matches!(index.0, Kind::Ellipsis)).count();
    if used > shape.len() || ellipses > 1 {
        let what = match ellipses {
            0 | 1 => format!("{used} indices are too many for a tensor of shape {shape:?}"),
            _ => format!("{ellipses} ellipses in one list of indices are ambiguous"),
        };
        Misuse::new(what, Site::here()).hint("one index for each axis, and one `Ellipsis` for those left over").panic();
    }
    let whole = |axis: usize| Part::Range { axis, start: Size::from(0), step: 1, length: shape[axis] };
    let (mut parts, mut axis) = (Vec::with_capacity(shape.len()), 0);
    for Index(kind) in indices {
        match kind {
            Kind::NewAxis => parts.push(Part::NewAxis),
            Kind::Ellipsis => {
                parts.extend((axis..axis + shape.len() - used).map(whole));
                axis += shape.len() - used;
            }
            kind => {
                parts.push(part(shape, axis, kind));
                axis += 1;
            }
        }
    }
    parts.extend((axis..shape.len()).map(whole));
    parts
}

#[track_caller]
fn part<'a>(shape: &[Size], axis: usize, kind: &'a Kind) -> Part<'a> {
    match kind {
        Kind::At(position) => Part::At { axis, position: checked(shape, axis, *position) },
        Kind::Range(steps) => {
            let (start, length) = steps.resolve(shape[axis]);
            let Steps { step, .. } = *steps;
            Part::Range { axis, start, step, length }
        }
        Kind::Positions(positions) => {
            if let Some((least, greatest)) = positions.bounds {
                checked(shape, axis, least.into());
                checked(shape, axis, greatest.into());
            }
            Part::Positions { axis, positions }
        }
        Kind::NewAxis | Kind::Ellipsis => Part::NewAxis,
    }
}

/// Returns a position that the host knows, counted from the front.
#[track_caller]
fn checked(shape: &[Size], axis: usize, position: Position) -> Size {
    let length = shape[axis];
    let found = match position {
        Position::Number(number) if number < 0 => {
            let distance = number.unsigned_abs();
            (length >= distance).then(|| length - distance)
        }
        Position::Number(number) => (length > number.unsigned_abs()).then(|| number.unsigned_abs().into()),
        Position::Size(size) => (length > size).then_some(size),
    };
    if let Some(found) = found {
        return found;
    }
    let what = format!(
        "index {position} is outside of axis {axis}, which has length {length}, of a tensor of shape {shape:?}"
    );
    Misuse::new(what, Site::here()).hint("indices go from 0, or from −1 backwards, to the length of the axis").panic()
}

/// Numbers, ranges and new axes.
#[track_caller]
fn basic(shape: &[Size], parts: &[Part<'_>]) -> Selection {
    let steps = strides(shape);
    let one = Size::from(1);
    let mut view = View { axes: Axes::new(), offset: Size::from(0) };
    let mut picks = Vec::with_capacity(shape.len());
    for part in parts {
        match *part {
            Part::At { axis, position } => {
                view.offset = view.offset + position * steps[axis];
                picks.push(Pick { start: position, step: 1, length: one, axis: None });
            }
            Part::Range { axis, start, step, length } => {
                view.offset = view.offset + start * steps[axis];
                picks.push(Pick { start, step, length, axis: Some(view.axes.len()) });
                view.axes.push(ViewAxis { length, stride: Stride::from(steps[axis]).every(step) });
            }
            Part::NewAxis | Part::Positions { .. } => view.axes.push(ViewAxis { length: one, stride: Stride::none() }),
        }
    }
    Selection { view, moves: Vec::new(), picks }
}

/// With index arrays: their common axes are created once.
#[track_caller]
fn advanced(shape: &[Size], parts: &[Part<'_>]) -> Selection {
    let steps = strides(shape);
    let arrays = parts.iter().filter_map(|part| match part {
        Part::Positions { positions, .. } => Some(&*positions.bits.shape),
        _ => None,
    });
    let common = common_shape(arrays);
    let first = parts.iter().position(Part::is_advanced).unwrap_or(0);
    let last = parts.iter().rposition(Part::is_advanced).unwrap_or(0);
    let are_neighbours = parts[first..=last].iter().all(Part::is_advanced);
    let place = if are_neighbours { first } else { 0 };

    let mut view = View { axes: Axes::new(), offset: Size::from(0) };
    let common_axes = || common.iter().map(|&length| ViewAxis { length, stride: Stride::none() });
    for (number, part) in parts.iter().enumerate() {
        if number == place {
            view.axes.extend(common_axes());
        }
        match *part {
            Part::At { axis, position } => view.offset = view.offset + position * steps[axis],
            Part::Range { axis, start, step, length } => {
                view.offset = view.offset + start * steps[axis];
                view.axes.push(ViewAxis { length, stride: Stride::from(steps[axis]).every(step) });
            }
            Part::NewAxis => view.axes.push(ViewAxis { length: Size::from(1), stride: Stride::none() }),
            Part::Positions { .. } => {}
        }
    }
    let behind = view.axes.len() - common.len() - parts[..place].iter().filter(|part| !part.is_advanced()).count();
    let mut moves = Vec::new();
    for part in parts {
        if let Part::Positions { axis, positions } = part {
            let positions = positions.wrapped(shape[*axis]);
            let mut aligned = Sizes::from_slice(&positions.shape);
            aligned.extend(std::iter::repeat_n(Size::from(1), behind));
            moves.push((Tensor::shaped(positions.array, &aligned), steps[*axis]));
        }
    }
    Selection { moves, view, picks: Vec::new() }
}

impl Positions {
    /// Returns the positions counted from the front of an axis.
    #[track_caller]
    fn wrapped(&self, length: Size) -> Tensor<u32> {
        match &self.is_negative {
            Some(is_negative) => is_negative.select(&self.bits + number(length), &self.bits),
            None => self.bits.clone(),
        }
    }
}

impl<T: Element> Tensor<T> {
    /// Returns the elements that a list of indices selects: see [`s!`](crate::s). Nothing is copied.
    ///
    /// Positions in index arrays may be negative; they then count from the end. Positions beyond the ends of the axis
    /// are a program error that is detected only in debug mode, as with [`Array::gather`].
    ///
    /// # Panics
    ///
    /// When there are more indices than axes, or a number is outside its axis.
    #[must_use]
    #[track_caller]
    pub fn slice(&self, indices: impl AsRef<[Index]>) -> Self {
        let selection = Selection::new(&self.shape, indices.as_ref());
        Tensor::shaped(selection.read(&self.array), &selection.shape())
    }

    /// Replaces the elements selected by a list of indices of numbers, ranges and index arrays. The value broadcasts to
    /// them.
    ///
    /// Where index arrays name an element several times, one of its values is stored.
    ///
    /// ```
    /// use jit::prelude::*;
    ///
    /// let mut x = Tensor::<i32>::zeros([2, 3]);
    /// x.set(s![.., 1..], Tensor::from([[1], [2]]));
    /// assert_eq!(x.to_vec()?, [0, 1, 1, 0, 2, 2]);
    /// # Ok::<(), jit::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// As [`Tensor::slice`], and when the value does not broadcast to the selection.
    #[track_caller]
    pub fn set(&mut self, indices: impl AsRef<[Index]>, value: impl TensorOperand<T>) {
        let selection = Selection::new(&self.shape, indices.as_ref());
        let (value, shape) = (value.into_tensor(), selection.shape());
        check_fits(&value, &shape);
        if selection.view.is_empty() {
            return;
        }
        if selection.covers(&self.shape) {
            self.array = value.spread_to(&self.shape).array;
            return;
        }
        if selection.moves.is_empty() {
            self.array = self.with_slice(&selection.picks, &value, &shape);
        } else {
            self.array.scatter(value.lanes(&shape), &selection.positions());
        }
    }

    /// Replaces the elements where a mask is true. Mask and value broadcast to the tensor.
    ///
    /// # Panics
    ///
    /// When they do not broadcast.
    #[track_caller]
    pub fn set_where(&mut self, mask: &Tensor<bool>, value: impl TensorOperand<T>) {
        let value = value.into_tensor();
        check_fits(mask, &self.shape);
        check_fits(&value, &self.shape);
        let array = mask.lanes(&self.shape).select(value.lanes(&self.shape), &self.array);
        self.array = filled(array, self.width());
    }

    /// Each element computes whether it is in the slice, and where, so that the assignment fuses with the surrounding
    /// code.
    #[track_caller]
    fn with_slice(&self, picks: &[Pick], value: &Tensor<T>, shape: &[Size]) -> Array<T> {
        let steps: Sizes = spread(&value.shape, shape).axes.iter().map(|axis| axis.stride.distance).collect();
        let count = self.width();
        let at = coordinates(&self.shape, &UInt::arange(count));
        let (mut inside, mut position): (Option<Mask>, _) = (None, UInt::from(0));
        for ((pick, at), &length) in picks.iter().zip(&at).zip(&*self.shape) {
            let distance = pick.distance(at);
            if let Some(condition) = pick.contains(&distance, length) {
                inside = Some(inside.map_or(condition.clone(), |inside| inside & &condition));
            }
            let step = pick.axis.map_or(Size::from(0), |axis| steps[axis]);
            position += (distance / pick.step.unsigned_abs() as u32) * number(step);
        }
        let is_one = is(product(&value.shape), 1);
        let Some(inside) = inside else {
            return if is_one {
                filled(value.array.clone(), count)
            } else {
                filled(value.array.gather(&position), count)
            };
        };
        let inside = filled(inside, count);
        let value = if is_one { value.array.clone() } else { value.array.gather_masked(&position, &inside) };
        inside.select(value, &self.array)
    }
}

impl Pick {
    /// Returns the distance of an element from the first selected one, in the direction of the step; modulo 2^32.
    #[track_caller]
    fn distance(&self, at: &UInt) -> UInt {
        if self.step > 0 { at - number(self.start) } else { number(self.start) - at }
    }

    /// Returns which elements are selected, unless it is the whole axis.
    #[track_caller]
    fn contains(&self, distance: &UInt, length: Size) -> Option<Mask> {
        let step = self.step.unsigned_abs();
        if self.length.is_always(length) {
            return None;
        }
        let is_within = distance.le(number((self.length - 1) * step));
        Some(if step == 1 { is_within } else { is_within & (distance % step as u32).eq(0) })
    }
}

#[track_caller]
fn check_fits<T: Element>(value: &Tensor<T>, shape: &[Size]) {
    if !fits(&value.shape, shape) {
        let what = format!("a value of shape {:?} cannot be assigned to elements of shape {shape:?}", &*value.shape);
        Misuse::new(what, Site::here())
            .value("the value", value.array.var())
            .hint("the value's axes, counted from the last, must have the length of those of the elements, or 1")
            .panic();
    }
}
