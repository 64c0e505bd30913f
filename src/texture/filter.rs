//! Combining the texels around a position.
//!
//! Texels are combined dimension by dimension. Values are computed by linear interpolations, those of the cubic
//! B-spline by three of them (Sigg and Hadwiger, “Fast Third-Order Texture Filtering”, GPU Gems 2, 2005), so equal
//! texels yield their value exactly. Derivatives are B-splines of one degree less on the differences of neighbours, so
//! for equal texels they are 0.

use super::place::Place;
use super::position::Texel;
use super::{Filter, Wrap};
use crate::tensor::Tensor;
use crate::{Array, FloatElement, Mask, Size, UInt};

/// The texels that contribute to the values at some positions, and their weights.
pub(super) struct Taps<Q: FloatElement> {
    /// One for each dimension, `x` first.
    places: Vec<Place<Q>>,
    /// For each dimension and number of derivatives, the weights of texels.
    weights: Vec<[Vec<Array<Q>>; 3]>,
    filter: Filter,
}

impl<Q: FloatElement> Taps<Q> {
    /// Creates the texels for positions, of which `x` is the first coordinate and the last axis of the shape.
    #[track_caller]
    pub(super) fn new(at: &[Array<Q>], shape: &[Size], wrap: Wrap, filter: Filter) -> Self {
        let mut places = Vec::with_capacity(at.len());
        let mut weights = Vec::with_capacity(at.len());
        for (position, &length) in at.iter().zip(shape.iter().rev()) {
            let place = Place::new(position, length, wrap, filter);
            weights.push(weights_of(&place, filter));
            places.push(place);
        }
        Taps { places, weights, filter }
    }

    /// Gathers one channel of all texels around the positions; those along `x` are neighbours.
    #[track_caller]
    pub(super) fn read<T: Texel>(&self, texels: &Tensor<T>, channel: usize, mask: Option<&Mask>) -> Vec<Array<Q>> {
        let shape = texels.sizes();
        let channels = UInt::from(shape[self.places.len()]);
        let mut numbers = vec![UInt::from(0)];
        for (place, &length) in self.places.iter().rev().zip(&shape) {
            let mut finer = Vec::with_capacity(numbers.len() * place.texels.len());
            for number in &numbers {
                for texel in &place.texels {
                    finer.push(number * UInt::from(length) + texel);
                }
            }
            numbers = finer;
        }
        let mut values = Vec::with_capacity(numbers.len());
        for number in &numbers {
            let element = number * &channels + channel as u32;
            let value = match mask {
                Some(mask) => texels.array().gather_masked(&element, mask),
                None => texels.array().gather(&element),
            };
            values.push(value.cast());
        }
        values
    }

    /// Combines the texels to a value or to derivatives: a number of derivatives along each dimension.
    #[track_caller]
    pub(super) fn combine(&self, texels: &[Array<Q>], orders: &[usize]) -> Array<Q> {
        let mut values = texels.to_vec();
        for (weights, &order) in self.weights.iter().zip(orders) {
            let mut combined = Vec::with_capacity(values.len() / 2);
            for taps in values.chunks(self.filter.taps()) {
                combined.push(self.filter.combine(taps, &weights[order], order));
            }
            values = combined;
        }
        values.swap_remove(0)
    }
}

impl Filter {
    /// Returns the number of texels that it combines along a dimension.
    fn taps(self) -> usize {
        match self {
            Filter::Nearest => 1,
            Filter::Linear => 2,
            Filter::Cubic => 4,
        }
    }

    /// Combines the texels along one dimension, by the weights for a number of derivatives.
    #[track_caller]
    fn combine<Q: FloatElement>(self, t: &[Array<Q>], weights: &[Array<Q>], order: usize) -> Array<Q> {
        match (self, order) {
            (Filter::Nearest, _) => t[0].clone(),
            (Filter::Linear, _) => between(&t[0], &t[1], &weights[0]),
            (Filter::Cubic, 0) => {
                let (low, high) = (between(&t[0], &t[1], &weights[0]), between(&t[2], &t[3], &weights[1]));
                between(&low, &high, &weights[2])
            }
            (Filter::Cubic, 1) => {
                let sum = (&t[1] - &t[0]) * &weights[0];
                let sum = (&t[2] - &t[1]).mul_add(&weights[1], sum);
                (&t[3] - &t[2]).mul_add(&weights[2], sum)
            }
            (Filter::Cubic, _) => {
                let (low, high) = ((&t[2] - &t[1]) - (&t[1] - &t[0]), (&t[3] - &t[2]) - (&t[2] - &t[1]));
                between(&low, &high, &weights[0]) * &weights[1]
            }
        }
    }
}

#[track_caller]
fn between<Q: FloatElement>(low: &Array<Q>, high: &Array<Q>, t: &Array<Q>) -> Array<Q> {
    (high - low).mul_add(t, low)
}

/// Returns the weights for a value, its first and its second derivative along one dimension.
#[track_caller]
fn weights_of<Q: FloatElement>(place: &Place<Q>, filter: Filter) -> [Vec<Array<Q>>; 3] {
    let (f, rate) = (&place.fraction, &place.rate);
    match filter {
        Filter::Nearest => [vec![], vec![], vec![]],
        Filter::Linear => [vec![f.clone()], vec![], vec![]],
        Filter::Cubic => {
            let number = Q::from_f64;
            let rest = Array::from(Q::ONE) - f;
            let (f2, rest2) = (f * f, &rest * &rest);
            // Six times the weights of the four texels.
            let (w0, w3) = (&rest2 * &rest, &f2 * f);
            let w1 = (f * number(3.0) - number(6.0)).mul_add(&f2, number(4.0));
            let w2 = (&rest * number(3.0) - number(6.0)).mul_add(&rest2, number(4.0));
            let (low, high) = (&w0 + &w1, &w2 + &w3);
            let value = vec![w1 / low, w3 / &high, high * number(1.0 / 6.0)];
            // The quadratic B-spline on the three differences, and the linear one on those of the differences.
            let half = number(0.5);
            let middle = (f * &rest + half) * rate;
            let slope = vec![rest2 * half * rate, middle, f2 * half * rate];
            [value, slope, vec![f.clone(), rate * rate]]
        }
    }
}
