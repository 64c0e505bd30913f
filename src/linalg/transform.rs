//! Matrices of homogeneous coordinates: translation, scaling, rotation, cameras and projection.
//!
//! A point has an additional component, one; for a direction it is zero. `a * b` applies `b` first. Space is
//! right-handed: a camera looks along `-z`, with `y` up.

use super::matrix::MatrixOperand;
use super::{Component, Mat2, Mat3, Mat4, Matrix, Quaternion, Vec2, Vec3, VectorOperand};
use crate::{Array, FloatElement, Number};

macro_rules! homogeneous {
    ($Matrix:ident $to_large:ident, $Vec:ident $small:literal $to_small:ident: $($c:ident $index:literal),*) => {
        impl<T: Number> $Matrix<T> {
            /// Translates points by a vector.
            #[must_use]
            #[track_caller]
            pub fn translation(offset: impl VectorOperand<$Vec<T>>) -> Self {
                let offset = offset.into_vector();
                let mut matrix = Self::identity();
                $(matrix.rows[$index][$small] = offset.$c;)*
                matrix
            }

            /// Multiplies each component of points and directions by its own factor.
            #[must_use]
            #[track_caller]
            pub fn scaling(factors: impl VectorOperand<$Vec<T>>) -> Self {
                Matrix::<T, $small>::from_diagonal(factors.into_vector()).$to_large()
            }

            /// Transforms a point by an affine matrix. Its last row must be that of the identity and is not read.
            #[must_use]
            #[track_caller]
            pub fn transform_point(&self, point: impl VectorOperand<$Vec<T>>) -> $Vec<T> {
                let point = point.into_vector();
                $Vec { $($c: self.affine_row($index, &point.to_array())),* }
            }

            /// Transforms a direction by an affine matrix, without its translation.
            #[must_use]
            #[track_caller]
            pub fn transform_vector(&self, direction: impl VectorOperand<$Vec<T>>) -> $Vec<T> {
                self.$to_small() * direction.into_vector()
            }

            #[track_caller]
            fn affine_row(&self, row: usize, point: &[Array<T>; $small]) -> Array<T> {
                let row = &self.rows[row];
                (0..$small).fold(row[$small].clone(), |sum, k| row[k].mul_add(&point[k], sum))
            }
        }

        impl<T: FloatElement> $Matrix<T> {
            /// Transforms a point by any matrix, including projections: divides by its additional component.
            #[must_use]
            #[track_caller]
            pub fn project_point(&self, point: impl VectorOperand<$Vec<T>>) -> $Vec<T> {
                let point = point.into_vector();
                let weight = self.affine_row($small, &point.to_array());
                self.transform_point(point) / weight
            }

            /// Transforms a surface normal for an affine matrix of the surface: by the transpose of its inverse.
            /// Vectors perpendicular to the surface stay so; the length changes.
            #[must_use]
            #[track_caller]
            pub fn transform_normal(&self, normal: impl VectorOperand<$Vec<T>>) -> $Vec<T> {
                self.$to_small().inverse_transpose() * normal.into_vector()
            }
        }
    };
}

homogeneous!(Mat3 to_mat3, Vec2 2 to_mat2: x 0, y 1);
homogeneous!(Mat4 to_mat4, Vec3 3 to_mat3: x 0, y 1, z 2);

impl<T: FloatElement> Mat2<T> {
    /// Rotates vectors by an angle (in radians) from `x` to `y`.
    #[must_use]
    #[track_caller]
    pub fn rotation(angle: impl Component<T>) -> Self {
        let (sine, cosine) = angle.into_component().sin_cos();
        Self::from_rows([[cosine.clone(), -&sine], [sine, cosine]])
    }
}

impl<T: FloatElement> Mat3<T> {
    /// Rotates vectors about a unit axis: see [`Quaternion::from_axis_angle`].
    #[must_use]
    #[track_caller]
    pub fn rotation(axis: impl VectorOperand<Vec3<T>>, angle: impl Component<T>) -> Self {
        Quaternion::from_axis_angle(axis, angle).to_mat3()
    }
}

impl<T: FloatElement> Mat4<T> {
    /// Rotates points and directions about a unit axis through the origin: see [`Quaternion::from_axis_angle`].
    #[must_use]
    #[track_caller]
    pub fn rotation(axis: impl VectorOperand<Vec3<T>>, angle: impl Component<T>) -> Self {
        Mat3::rotation(axis, angle).to_mat4()
    }

    /// Returns the matrix from world coordinates to those of a camera at `eye` that looks at `target`. The eye becomes
    /// the origin, the target is on `-z`, and `up` points to positive `y`. NaN where `up` is parallel to the direction
    /// of view. The inverse places the camera in the world.
    #[must_use]
    #[track_caller]
    pub fn look_at(
        eye: impl VectorOperand<Vec3<T>>,
        target: impl VectorOperand<Vec3<T>>,
        up: impl VectorOperand<Vec3<T>>,
    ) -> Self {
        let eye = eye.into_vector();
        let back = (&eye - target.into_vector()).normalize();
        let right = up.into_vector().cross(&back).normalize();
        let up = back.cross(&right);
        let matrix = Mat3::from_rows([right, up, back]).to_mat4();
        let offset = matrix.transform_vector(-eye);
        matrix.then_moved(offset)
    }

    /// Returns a perspective projection with an angle (in radians) between the lower and upper edge, and `aspect` as
    /// width over height. `x` and `y` become -1 to 1, and `z` becomes 0 at the distance `near` and 1 at `far`. Points
    /// need [`project_point`](Self::project_point).
    #[must_use]
    #[track_caller]
    pub fn perspective(
        vertical_angle: impl Component<T>,
        aspect: impl Component<T>,
        near: impl Component<T>,
        far: impl Component<T>,
    ) -> Self {
        let (near, far) = (near.into_component(), far.into_component());
        let height = (vertical_angle.into_component() * T::from_f64(0.5)).tan().recip();
        let depth = &far / (&near - &far);
        let mut matrix = Self::splat(T::default());
        matrix.rows[0][0] = &height / aspect.into_component();
        matrix.rows[1][1] = height;
        matrix.rows[2][3] = near * &depth;
        matrix.rows[2][2] = depth;
        matrix.rows[3][2] = T::from_f64(-1.0).into_component();
        matrix
    }

    /// Returns an orthographic projection: `low.x` to `high.x` becomes -1 to 1, so does `low.y` to `high.y`, and the
    /// distances (along `-z`) `low.z` to `high.z` become 0 to 1.
    #[must_use]
    #[track_caller]
    pub fn orthographic(low: impl VectorOperand<Vec3<T>>, high: impl VectorOperand<Vec3<T>>) -> Self {
        let (low, high) = (low.into_vector(), high.into_vector());
        let size = &high - &low;
        let factors = Vec3::new(T::from_f64(2.0), T::from_f64(2.0), T::from_f64(-1.0)) / &size;
        let offset = Vec3 { x: -(&low.x + &high.x), y: -(&low.y + &high.y), z: -&low.z } / size;
        Self::translation(offset) * Self::scaling(factors)
    }

    /// Returns the matrix that first stretches, then rotates, then translates: `translation * rotation * stretch`. An
    /// array or a number as the stretch applies in all directions; factors along the axes are
    /// `Mat3::from_diagonal(factors)`.
    #[must_use]
    #[track_caller]
    pub fn compose(
        stretch: impl MatrixOperand<T, 3>,
        rotation: &Quaternion<T>,
        translation: impl VectorOperand<Vec3<T>>,
    ) -> Self {
        let translation = translation.into_vector();
        (rotation.to_mat3() * stretch.into_matrix()).to_mat4().then_moved(translation)
    }

    /// Returns a linear map followed by a translation.
    fn then_moved(mut self, translation: Vec3<T>) -> Self {
        self.rows[0][3] = translation.x;
        self.rows[1][3] = translation.y;
        self.rows[2][3] = translation.z;
        self
    }

    /// Returns the stretch, the rotation and the translation from which [`compose`](Self::compose) makes an affine
    /// matrix.
    ///
    /// The stretch is symmetric: it acts along three perpendicular directions, which need not be the axes. Its factors
    /// are not negative, or all not positive where the matrix includes a reflection. Where the matrix has no inverse
    /// the rotation is not unique. (K. Shoemake, T. Duff, “Matrix animation and polar decomposition”, 1992)
    #[must_use]
    #[track_caller]
    pub fn decompose(&self) -> (Mat3<T>, Quaternion<T>, Vec3<T>) {
        let (orthogonal, stretch) = self.to_mat3().polar();
        let sign = Array::from(T::ONE).copysign(orthogonal.determinant());
        let [x, y, z] = [0, 1, 2].map(|row: usize| self.rows[row][3].clone());
        (stretch * &sign, Quaternion::from_mat3(&(orthogonal * sign)).normalize(), Vec3 { x, y, z })
    }
}
