//! The texels for a position, along one dimension.

use super::{Filter, Wrap};
use crate::{Array, FloatElement, Int, Size, UInt};

/// The texels along one dimension that contribute to the value at a position.
pub(super) struct Place<Q: FloatElement> {
    /// Their numbers.
    pub(super) texels: Vec<UInt>,
    /// The relative position between the centre of the texel before it and that of the next one: 0 to 1.
    pub(super) fraction: Array<Q>,
    /// The derivative of positions along texels with respect to the given positions: the number of texels, negated
    /// where the texture is mirrored.
    pub(super) rate: Array<Q>,
}

impl<Q: FloatElement> Place<Q> {
    #[track_caller]
    pub(super) fn new(position: &Array<Q>, length: Size, wrap: Wrap, filter: Filter) -> Self {
        let count = Array::<Q>::from(length);
        let (inside, rate) = folded(position, &count, wrap);
        if filter == Filter::Nearest {
            let texel = (inside * count).floor().cast::<i32>().clamp(0, Int::from(length - 1)).cast::<u32>();
            return Place { texels: vec![texel], fraction: Q::default().into(), rate };
        }
        let mut at = inside.mul_add(count, Q::from_f64(-0.5));
        if wrap == Wrap::Clamp {
            // Farther outside, every filter reads only one texel.
            at = at.clamp(Q::from_f64(-3.0), Array::<Q>::from(length + 1));
        }
        let before = at.floor();
        let fraction = at - &before;
        // Where floats cannot distinguish texels, the position may have been rounded to one after the last.
        let before = before.cast::<i32>().min(Int::from(length + 1));
        let neighbours = if filter == Filter::Linear { 0..2 } else { -1..3 };
        let mut texels = Vec::with_capacity(neighbours.len());
        for neighbour in neighbours {
            texels.push(wrapped(&(&before + neighbour), length, wrap));
        }
        Place { texels, fraction, rate }
    }
}

/// Returns a position brought into 0 to 1 where the texture continues, before anything is rounded, and the derivative
/// of positions along texels.
#[track_caller]
fn folded<Q: FloatElement>(position: &Array<Q>, count: &Array<Q>, wrap: Wrap) -> (Array<Q>, Array<Q>) {
    match wrap {
        Wrap::Clamp => (position.clone(), count.clone()),
        Wrap::Repeat => (position - position.floor(), count.clone()),
        Wrap::Mirror => {
            let half = Q::from_f64(0.5);
            let period = position - (position * half).floor() * Q::from_f64(2.0);
            let is_mirrored = period.gt(Q::ONE);
            let inside = is_mirrored.select(Array::from(Q::from_f64(2.0)) - &period, &period);
            (inside, is_mirrored.select(-count, count))
        }
    }
}

/// Returns the texel with a number that is at most three outside.
#[track_caller]
fn wrapped(number: &Int, length: Size, wrap: Wrap) -> UInt {
    if length == 1 {
        return UInt::from(0);
    }
    let count = &Int::from(length);
    let inside = match wrap {
        Wrap::Clamp => number.clamp(0, Int::from(length - 1)),
        Wrap::Repeat => number.lt(0).select(number + count, number.ge(count).select(number - count, number)),
        Wrap::Mirror => {
            let last_mirrored = Int::from(length * 2 - 1);
            number.lt(0).select(!number, number.ge(count).select(last_mirrored - number, number))
        }
    };
    inside.cast()
}
