//! Gradients that are not too large.

use jit_core::trees::{FloatRule, map_floats};

use crate::{Array, Float, Float64, FloatElement, Traverse};

/// Returns the results of a rule in the form of gradients.
#[track_caller]
fn mapped<P: Traverse + Clone>(rule: &mut impl FloatRule, gradients: &P) -> P {
    map_floats(rule, &[gradients], 1).swap_remove(0)
}

/// Returns gradients whose norm, over all arrays together, is at most a bound: longer ones are scaled down. The norm
/// is computed in double precision, so it does not overflow. If it is NaN, as that of gradients with a NaN, all are.
#[must_use]
#[track_caller]
pub fn clip_norm<P: Traverse + Clone>(gradients: &P, bound: f32) -> P {
    struct Scale(Float64);
    impl FloatRule for Scale {
        fn apply<T: FloatElement>(&mut self, _: usize, g: Vec<Array<T>>) -> Vec<Array<T>> {
            vec![(g[0].cast::<f64>() * &self.0).cast::<T>()]
        }
    }
    let norm = super::combine::squares(gradients).sqrt();
    let bound = f64::from(bound);
    let scale = norm.le(bound).select(1.0, bound / &norm);
    mapped(&mut Scale(scale), gradients)
}

/// Returns gradients each of whose elements is between minus a bound and the bound.
#[must_use]
#[track_caller]
pub fn clip_value<P: Traverse + Clone>(gradients: &P, bound: f32) -> P {
    struct Clip(Float);
    impl FloatRule for Clip {
        fn apply<T: FloatElement>(&mut self, _: usize, g: Vec<Array<T>>) -> Vec<Array<T>> {
            let bound = self.0.cast::<T>();
            vec![g[0].clamp(-&bound, &bound)]
        }
    }
    mapped(&mut Clip(Float::opaque(bound)), gradients)
}
