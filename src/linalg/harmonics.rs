//! Real spherical harmonics of directions.

use std::f64::consts::{PI, SQRT_2};

use super::Vec3;
use crate::{Array, FloatElement};

impl<T: FloatElement> Vec3<T> {
    /// Returns the real spherical harmonics, up to an order, of a unit vector: `(order + 1)²` arrays, with degree `l`
    /// and order `m` at position `l * (l + 1) + m`.
    ///
    /// They are orthonormal over the sphere, with the sign (-1)^m of Condon and Shortley, as in P.-P. Sloan, “Efficient
    /// Spherical Harmonic Evaluation”, 2013. The recursions along the degree are those of S. Holmes, W. Featherstone,
    /// “A unified approach to the Clenshaw summation and the recursive computation of very high degree and order
    /// normalised associated Legendre functions”, 2002. They use polynomials of the coordinates, so there are no
    /// divisions and no special directions.
    #[must_use]
    #[track_caller]
    pub fn spherical_harmonics(&self, order: usize) -> Vec<Array<T>> {
        let mut values = vec![Array::default(); (order + 1) * (order + 1)];
        // cos(m φ) sin(θ)^m and sin(m φ) sin(θ)^m
        let (mut cosine, mut sine) = (Array::from(T::ONE), Array::from(T::default()));
        let mut sectoral = (0.25 / PI).sqrt();
        for m in 0..=order {
            let along = self.legendre(m, order, sectoral * if m == 0 { 1.0 } else { SQRT_2 });
            for (l, value) in (m..).zip(along) {
                values[l * (l + 1) + m] = &value * &cosine;
                if m > 0 {
                    values[l * (l + 1) - m] = value * &sine;
                }
            }
            let next = (m + 1) as f64;
            sectoral *= -((2.0 * next + 1.0) / (2.0 * next)).sqrt();
            let (x, y) = (&self.x, &self.y);
            (cosine, sine) = (x.mul_add(&cosine, -(y * &sine)), x.mul_add(&sine, y * cosine));
        }
        let width = self.len();
        values[0] = values[0].repeat(width);
        values
    }

    /// Returns the normalised Legendre functions of `z` for one order, for the degrees from it to a last one, divided
    /// by `sin(θ)^m`; the first is a constant.
    #[track_caller]
    fn legendre(&self, m: usize, last: usize, first: f64) -> Vec<Array<T>> {
        let mut values: Vec<Array<T>> = vec![T::from_f64(first).into()];
        for l in m + 1..=last {
            let (square, degree, before) = ((m * m) as f64, (l * l) as f64, ((l - 1) * (l - 1)) as f64);
            let scale = ((4.0 * degree - 1.0) / (degree - square)).sqrt();
            let step = &self.z * T::from_f64(scale);
            let next = match values.as_slice() {
                [.., older, newer] => {
                    let share = scale * ((before - square) / (4.0 * before - 1.0)).sqrt();
                    step.mul_add(newer, older * T::from_f64(-share))
                }
                newer => step * &newer[0],
            };
            values.push(next);
        }
        values
    }
}
