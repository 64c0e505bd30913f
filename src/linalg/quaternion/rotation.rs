//! Unit quaternions as rotations.

use super::Quaternion;
use crate::linalg::{Component, Mat3, Mat4, Vec3, VectorOperand, epsilon, halves_in_single, is_half};
use crate::{Array, FloatElement, Mask};

impl<T: FloatElement> Quaternion<T> {
    /// Creates the rotation about a unit axis by an angle (in radians), counterclockwise when the axis points towards
    /// the observer.
    #[must_use]
    #[track_caller]
    pub fn from_axis_angle(axis: impl VectorOperand<Vec3<T>>, angle: impl Component<T>) -> Self {
        let (sine, cosine) = (angle.into_component() * T::from_f64(0.5)).sin_cos();
        Self::from_parts(axis.into_vector() * sine, cosine)
    }

    /// Returns the unit axis and the angle, in [0, π], of a rotation. The axis of the identity is `x`.
    #[must_use]
    #[track_caller]
    pub fn to_axis_angle(&self) -> (Vec3<T>, Array<T>) {
        let vector = self.vector() * Array::from(T::ONE).copysign(&self.w);
        let angle = vector.norm().atan2(self.w.abs()) * T::from_f64(2.0);
        (vector.normalize_or(Vec3::unit(0)), angle)
    }

    /// Returns the shortest rotation from one unit vector to another. For opposite vectors it is not unique; its axis
    /// is then perpendicular to them.
    #[must_use]
    #[track_caller]
    pub fn between(from: impl VectorOperand<Vec3<T>>, to: impl VectorOperand<Vec3<T>>) -> Self {
        let (from, to) = (from.into_vector(), to.into_vector());
        // The quaternion, scaled by a common factor: one plus the cosine, without cancellation, and the sine along the
        // axis.
        let real = (&from + &to).squared_norm() * T::from_f64(0.5);
        let vector = from.cross(&to);
        let is_opposite = (real.eq(T::default())) & vector.squared_norm().eq(T::default());
        let (axis, _) = from.orthonormal_pair();
        let vector = crate::trees::select(&is_opposite, &axis, &vector);
        Self::from_parts(vector, real).normalize()
    }

    /// Rotates a vector.
    #[must_use]
    #[track_caller]
    pub fn rotate(&self, vector: impl VectorOperand<Vec3<T>>) -> Vec3<T> {
        let (axis, vector) = (self.vector(), vector.into_vector());
        let twice = axis.cross(&vector) * T::from_f64(2.0);
        twice.mul_add(&self.w, vector) + axis.cross(twice)
    }

    /// Rotates a vector by the inverse of the rotation.
    #[must_use]
    #[track_caller]
    pub fn rotate_back(&self, vector: impl VectorOperand<Vec3<T>>) -> Vec3<T> {
        self.conj().rotate(vector)
    }

    /// Returns the matrix of the rotation.
    #[must_use]
    #[track_caller]
    pub fn to_mat3(&self) -> Mat3<T> {
        let Quaternion { x, y, z, w } = self;
        let two = T::from_f64(2.0);
        let twice = |a: &Array<T>, b: &Array<T>, c: &Array<T>, d: &Array<T>| a.mul_add(b, c * d) * two;
        let diagonal = |a: &Array<T>, b: &Array<T>| -twice(a, a, b, b) + T::ONE;
        Mat3::from_rows([
            [diagonal(y, z), twice(x, y, &-z, w), twice(x, z, y, w)],
            [twice(x, y, z, w), diagonal(x, z), twice(y, z, &-x, w)],
            [twice(x, z, &-y, w), twice(y, z, x, w), diagonal(x, y)],
        ])
    }

    /// Returns the matrix of the rotation for homogeneous coordinates.
    #[must_use]
    #[track_caller]
    pub fn to_mat4(&self) -> Mat4<T> {
        self.to_mat3().to_mat4()
    }

    /// Returns the rotation of a matrix, with a real part of either sign. The matrix must be a rotation; for others see
    /// [`polar`](crate::linalg::Matrix::polar). (M. Day, “Converting a Rotation Matrix to a Quaternion”, 2015)
    #[must_use]
    #[track_caller]
    pub fn from_mat3(m: &Mat3<T>) -> Self {
        if is_half::<T>() {
            return Quaternion::from_mat3(&m.cast::<f32>()).cast();
        }
        // The four quaternions are multiples of the result; the one whose factor is certainly not small is taken.
        let [a, b, c] = [&m[(0, 0)], &m[(1, 1)], &m[(2, 2)]];
        let sum = |i: usize, k: usize| &m[(i, k)] + &m[(k, i)];
        let difference = |i: usize, k: usize| &m[(i, k)] - &m[(k, i)];
        let (x, y, z) = (difference(2, 1), difference(0, 2), difference(1, 0));
        let one_plus = |a: Array<T>, b: &Array<T>, c: Array<T>| (a + b) + (c + T::ONE);
        let is_down = c.lt(T::default());
        let by_x = one_plus(a.clone(), &-b, -c);
        let by_y = one_plus(-a, b, -c);
        let by_z = one_plus(-a, &-b, c.clone());
        let by_w = one_plus(a.clone(), b, c.clone());
        let masks = Choice { is_down, first_if_down: a.gt(b), first_if_up: a.lt(-b) };
        let square = masks.of(&by_x, &by_y, &by_z, &by_w);
        let multiple = Quaternion {
            x: masks.of(&by_x, &sum(0, 1), &sum(0, 2), &x),
            y: masks.of(&sum(0, 1), &by_y, &sum(1, 2), &y),
            z: masks.of(&sum(0, 2), &sum(1, 2), &by_z, &z),
            w: masks.of(&x, &y, &z, &by_w),
        };
        multiple * (square.sqrt().recip() * T::from_f64(0.5))
    }

    /// Returns the rotation about the fixed axes `x`, then `y`, then `z`, by the angles (in radians) of a vector: roll,
    /// pitch and yaw.
    #[must_use]
    #[track_caller]
    pub fn from_euler(angles: impl VectorOperand<Vec3<T>>) -> Self {
        let angles = angles.into_vector();
        let about = |axis: usize, angle: &Array<T>| Self::from_axis_angle(Vec3::unit(axis), angle);
        about(2, &angles.z) * about(1, &angles.y) * about(0, &angles.x)
    }

    /// Returns the angles from which [`from_euler`](Self::from_euler) makes the rotation: the second in [-π/2, π/2],
    /// the others in [-π, π]. Where the second is a right angle the others are not unique, and the first is zero. (E.
    /// Bernardes, S. Viollet, “Quaternion to Euler angles conversion: A direct, general and computationally efficient
    /// method”, 2022)
    #[must_use]
    #[track_caller]
    pub fn to_euler(&self) -> Vec3<T> {
        halves_in_single!(self.to_euler());
        let Quaternion { x, y, z, w } = self;
        let (a, b, c, d) = (w - y, x + z, y + w, z - x);
        let (lower, upper) = (a.hypot(&b), c.hypot(&d));
        let pitch = upper.atan2(&lower) * T::from_f64(2.0) - T::from_f64(std::f64::consts::FRAC_PI_2);
        let (half_sum, half_difference) = (b.atan2(&a), d.atan2(&c));
        let least = T::from_f64(8.0 * epsilon::<T>());
        let sum = lower.lt(least).select(&half_difference, &half_sum);
        let difference = upper.lt(least).select(&half_sum, half_difference);
        Vec3 { x: within_turn(&sum - &difference), y: pitch, z: within_turn(sum + difference) }
    }
}

/// Wraps an angle in [-2π, 2π] to [-π, π].
#[track_caller]
fn within_turn<T: FloatElement>(angle: Array<T>) -> Array<T> {
    let [half, turn] = [1.0, 2.0].map(|halves| T::from_f64(halves * std::f64::consts::PI));
    let is_beyond = angle.abs().gt(half);
    let back = &angle - Array::from(turn).copysign(&angle);
    is_beyond.select(back, angle)
}

/// Selects one of four values by three masks.
struct Choice {
    is_down: Mask,
    first_if_down: Mask,
    first_if_up: Mask,
}

impl Choice {
    #[track_caller]
    fn of<T: FloatElement>(&self, x: &Array<T>, y: &Array<T>, z: &Array<T>, w: &Array<T>) -> Array<T> {
        self.is_down.select(self.first_if_down.select(x, y), self.first_if_up.select(z, w))
    }
}
