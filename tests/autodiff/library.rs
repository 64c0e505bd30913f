//! Each function of linear algebra, colours, textures and distributions: its derivative against differences, in both
//! modes.

use std::panic::{AssertUnwindSafe, catch_unwind};

use jit::linalg::{Complex, Frame, Mat2, Mat3, Mat4, Matrix, Quaternion, Vec2, Vec3, Vec4};
use jit::prelude::*;
use jit::texture::{Filter, Texture1, Texture2, Texture3, Wrap};
use jit::{color, random};

use crate::{check_function, check_second, on_each_device};

type F = Float64;

/// The lanes of each component.
const LANES: usize = 2;

/// The components of an argument: the parts of an array.
fn parts<const N: usize>(x: &F, first: usize) -> [F; N] {
    std::array::from_fn(|i| x.slice((first + i) * LANES..(first + i + 1) * LANES))
}

fn vec3(x: &F, first: usize) -> Vec3<f64> {
    Vec3::from(parts(x, first))
}

fn mat3(x: &F) -> Mat3<f64> {
    matrix(x)
}

fn matrix<const N: usize>(x: &F) -> Matrix<f64, N> {
    Matrix::from(std::array::from_fn(|row| parts::<N>(x, row * N)))
}

/// All components, one after another.
fn flat<const N: usize>(parts: [F; N]) -> F {
    F::concat(&parts)
}

fn of_matrix<const N: usize>(m: &Matrix<f64, N>) -> F {
    let entries: Vec<F> = (0..N * N).map(|i| m[(i / N, i % N)].clone()).collect();
    F::concat(&entries)
}

fn of_vec3(v: Vec3<f64>) -> F {
    flat(v.into())
}

fn complex(x: &F, first: usize) -> Complex<f64> {
    Complex::from(parts(x, first))
}

fn quaternion(x: &F, first: usize) -> Quaternion<f64> {
    Quaternion::from(parts(x, first))
}

fn of_quaternion(q: Quaternion<f64>) -> F {
    flat(q.into())
}

type Case<'a> = (&'a str, usize, &'a dyn Fn(&F) -> F);

/// Numbers without pattern, between -1.3 and 1.3.
fn numbers(count: usize) -> Vec<f64> {
    (0..count).map(|i| ((i * i * 37 + i * 11 + 5) % 101) as f64 / 101.0 * 2.6 - 1.3).collect()
}

/// Checks functions of so many components each.
#[track_caller]
fn check(cases: &[Case<'_>], shift: f64) {
    let mut failed = Vec::new();
    for (name, components, function) in cases {
        let x: Vec<f64> = numbers(components * LANES).into_iter().map(|x| x + shift).collect();
        if catch_unwind(AssertUnwindSafe(|| check_function(name, function, &x))).is_err() {
            failed.push(*name);
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn vectors_have_derivatives() {
    on_each_device(|| {
        let cases: &[Case<'_>] = &[
            ("dot", 6, &|x| vec3(x, 0).dot(vec3(x, 3))),
            ("abs_dot", 6, &|x| vec3(x, 0).abs_dot(vec3(x, 3))),
            ("cross", 6, &|x| of_vec3(vec3(x, 0).cross(vec3(x, 3)))),
            ("norm", 3, &|x| vec3(x, 0).norm()),
            ("squared_norm", 3, &|x| vec3(x, 0).squared_norm()),
            ("normalize", 3, &|x| of_vec3(vec3(x, 0).normalize())),
            ("distance", 6, &|x| vec3(x, 0).distance(vec3(x, 3))),
            ("project_onto", 6, &|x| of_vec3(vec3(x, 0).project_onto(vec3(x, 3)))),
            ("reflect", 6, &|x| of_vec3(vec3(x, 0).reflect(vec3(x, 3)))),
            ("refract", 6, &|x| of_vec3(vec3(x, 0).normalize().refract(vec3(x, 3).normalize(), 0.3))),
            ("lerp", 7, &|x| of_vec3(vec3(x, 0).lerp(vec3(x, 3), parts::<1>(x, 6)[0].clone()))),
            ("component_product", 4, &|x| Vec4::from(parts(x, 0)).component_product()),
            ("component_max", 4, &|x| Vec4::from(parts(x, 0)).component_max()),
            ("mul_add", 6, &|x| of_vec3(vec3(x, 0).mul_add(vec3(x, 3), vec3(x, 0)))),
            ("min", 6, &|x| of_vec3(vec3(x, 0).min(vec3(x, 3)))),
            ("orthonormal_pair", 3, &|x| {
                let (a, b) = vec3(x, 0).normalize().orthonormal_pair();
                of_vec3(a + b * 2.0)
            }),
            ("to_spherical", 3, &|x| flat(vec3(x, 0).normalize().to_spherical().into())),
            ("from_spherical", 2, &|x| {
                let [polar, azimuth] = parts(x, 0);
                of_vec3(Vec3::from_spherical(polar, azimuth))
            }),
            ("angle", 6, &|x| vec3(x, 0).normalize().angle(vec3(x, 3).normalize())),
            ("frame", 6, &|x| of_vec3(Frame::from_normal(vec3(x, 0).normalize()).to_world(vec3(x, 3)))),
            ("frame back", 6, &|x| of_vec3(Frame::from_normal(vec3(x, 0).normalize()).to_local(vec3(x, 3)))),
            ("perpendicular_dot", 4, &|x| Vec2::from(parts(x, 0)).perpendicular_dot(Vec2::from(parts(x, 2)))),
            ("to_angle", 2, &|x| Vec2::from(parts(x, 0)).to_angle()),
            ("spherical_harmonics", 3, &|x| F::concat(&vec3(x, 0).normalize().spherical_harmonics(3))),
            ("sums", 3, &|x| of_vec3(vec3(x, 0).sum() + vec3(x, 0).reduce_max() + vec3(x, 0).product())),
        ];
        check(cases, 0.0);
    });
}

#[test]
fn matrices_have_derivatives() {
    on_each_device(|| {
        let cases: &[Case<'_>] = &[
            ("determinant 2", 4, &|x| matrix::<2>(x).determinant()),
            ("determinant 3", 9, &|x| mat3(x).determinant()),
            ("determinant 4", 16, &|x| matrix::<4>(x).determinant()),
            ("adjugate", 9, &|x| of_matrix(&mat3(x).adjugate())),
            ("inverse 2", 4, &|x| of_matrix(&matrix::<2>(x).inverse())),
            ("inverse 3", 9, &|x| of_matrix(&mat3(x).inverse())),
            ("inverse 4", 16, &|x| of_matrix(&matrix::<4>(x).inverse())),
            ("inverse_transpose", 9, &|x| of_matrix(&mat3(x).inverse_transpose())),
            ("product", 9, &|x| of_matrix(&(mat3(x) * mat3(x).transpose()))),
            ("with a vector", 12, &|x| of_vec3(mat3(x) * vec3(x, 9))),
            ("frobenius_norm", 9, &|x| mat3(x).frobenius_norm()),
            ("trace", 9, &|x| mat3(x).trace()),
            ("max_norm", 9, &|x| mat3(x).max_norm()),
            ("lu", 9, &|x| {
                let (_, l, u) = mat3(x).lu();
                of_matrix(&(l * 2.0 + u))
            }),
            ("solve", 12, &|x| of_vec3(mat3(x).solve(vec3(x, 9)))),
            ("solve 4", 16, &|x| of_matrix(&matrix::<4>(x).solve_matrix(&Mat4::identity()))),
            ("qr 2", 4, &|x| {
                let (q, r) = matrix::<2>(x).qr();
                of_matrix(&(q + r * 2.0))
            }),
            ("qr 3", 9, &|x| {
                let (q, r) = mat3(x).qr();
                of_matrix(&(q + r * 2.0))
            }),
            ("cholesky", 9, &|x| of_matrix(&(mat3(x) * mat3(x).transpose() + Mat3::identity()).cholesky())),
            ("eigen values", 9, &|x| of_vec3((mat3(x) + mat3(x).transpose()).symmetric_eigen().0)),
            ("eigen 2", 4, &|x| {
                let (values, v) = matrix::<2>(x).symmetric_eigen();
                of_matrix(&(Mat2::from_diagonal(values) + v * 0.5))
            }),
            ("eigen", 9, &|x| {
                let (values, v) = mat3(x).symmetric_eigen();
                of_matrix(&(Mat3::from_diagonal(values) + v * 0.5))
            }),
            ("eigen 4", 16, &|x| {
                let (values, v) = matrix::<4>(x).symmetric_eigen();
                of_matrix(&(Mat4::from_diagonal(values) + v * 0.5))
            }),
            ("svd", 9, &|x| {
                let (u, values, v) = mat3(x).svd();
                of_matrix(&(u * 2.0 + Mat3::from_diagonal(values) + v * 0.5))
            }),
            ("svd 2", 4, &|x| {
                let (u, values, v) = matrix::<2>(x).svd();
                of_matrix(&(u * 2.0 + Mat2::from_diagonal(values) + v * 0.5))
            }),
            ("polar", 9, &|x| {
                let (q, p) = mat3(x).polar();
                of_matrix(&(q + p * 2.0))
            }),
            ("polar of a rotation", 3, &|x| {
                let (q, p) = Mat3::rotation(vec3(x, 0).normalize(), 0.7).polar();
                of_matrix(&(q + p * 2.0))
            }),
            // Some entries are the same in all lanes.
            ("shared entries", 9, &|x| {
                let mut rows: [[F; 3]; 3] = std::array::from_fn(|row| parts(x, row * 3));
                rows[1] = rows[1].each_ref().map(|entry| entry.slice(0..1));
                let m = Matrix::from(rows);
                let (u, values, v) = m.svd();
                let (q, p) = m.polar();
                let vectors = m.symmetric_eigen().1;
                of_matrix(&(u * v + q * 0.5 + p + Mat3::from_diagonal(values) + vectors))
            }),
            ("rotation", 4, &|x| of_matrix(&Mat3::rotation(vec3(x, 0).normalize(), parts::<1>(x, 3)[0].clone()))),
            ("look_at", 9, &|x| of_matrix(&Mat4::look_at(vec3(x, 0), vec3(x, 3), vec3(x, 6)))),
            ("perspective", 2, &|x| {
                let [angle, near] = parts(x, 0);
                of_matrix(&Mat4::perspective(angle.abs(), 1.5, near.abs() + 0.1, 10.0))
            }),
            ("transforms", 19, &|x| {
                let m = matrix::<4>(x);
                of_vec3(m.transform_point(vec3(x, 16)) + m.project_point(vec3(x, 16)) + m.transform_normal(vec3(x, 16)))
            }),
            ("decompose", 16, &|x| {
                let (stretch, rotation, offset) = matrix::<4>(x).decompose();
                F::concat(&[of_matrix(&stretch), of_quaternion(rotation), of_vec3(offset)])
            }),
        ];
        check(cases, 0.0);
    });
}

#[test]
fn decompositions_have_second_derivatives() {
    on_each_device(|| {
        let x = numbers(9 * LANES);
        let eigen = |x: &F| {
            let (values, v) = mat3(x).symmetric_eigen();
            of_matrix(&(Mat3::from_diagonal(values) + v * 0.5))
        };
        check_second("eigen", &eigen, &x);
        let svd = |x: &F| {
            let (u, values, v) = mat3(x).svd();
            of_matrix(&(u * 2.0 + Mat3::from_diagonal(values) + v * 0.5))
        };
        check_second("svd", &svd, &x);
        check_second("polar", &|x| of_matrix(&mat3(x).polar().0), &x);
        check_second("inverse", &|x| of_matrix(&mat3(x).inverse()), &x);
    });
}

#[test]
fn complex_numbers_and_quaternions_have_derivatives() {
    on_each_device(|| {
        let of = |z: Complex<f64>| flat(z.into());
        let cases: &[Case<'_>] = &[
            ("product", 4, &|x| of(complex(x, 0) * complex(x, 2))),
            ("quotient", 4, &|x| of(complex(x, 0) / complex(x, 2))),
            ("abs", 2, &|x| complex(x, 0).abs()),
            ("arg", 2, &|x| complex(x, 0).arg()),
            ("from_polar", 2, &|x| {
                let [magnitude, angle] = parts(x, 0);
                of(Complex::from_polar(magnitude, angle))
            }),
            ("recip", 2, &|x| of(complex(x, 0).recip())),
            ("sqrt", 2, &|x| of(complex(x, 0).sqrt())),
            ("exp", 2, &|x| of(complex(x, 0).exp())),
            ("exp2", 2, &|x| of(complex(x, 0).exp2())),
            ("ln", 2, &|x| of(complex(x, 0).ln())),
            ("log2", 2, &|x| of(complex(x, 0).log2())),
            ("log10", 2, &|x| of(complex(x, 0).log10())),
            ("pow", 4, &|x| of(complex(x, 0).pow(complex(x, 2)))),
            ("powf", 3, &|x| of(complex(x, 0).powf(parts::<1>(x, 2)[0].clone()))),
            ("powi", 2, &|x| of(complex(x, 0).powi(-3))),
            ("square", 2, &|x| of(complex(x, 0).square())),
            ("sin", 2, &|x| of(complex(x, 0).sin())),
            ("cos", 2, &|x| of(complex(x, 0).cos())),
            ("tan", 2, &|x| of(complex(x, 0).tan())),
            ("sinh", 2, &|x| of(complex(x, 0).sinh())),
            ("cosh", 2, &|x| of(complex(x, 0).cosh())),
            ("tanh", 2, &|x| of(complex(x, 0).tanh())),
            ("asin", 2, &|x| of(complex(x, 0).asin())),
            ("acos", 2, &|x| of(complex(x, 0).acos())),
            ("atan", 2, &|x| of(complex(x, 0).atan())),
            ("asinh", 2, &|x| of(complex(x, 0).asinh())),
            ("acosh", 2, &|x| of(complex(x, 0).acosh())),
            ("atanh", 2, &|x| of(complex(x, 0).atanh())),
            ("quaternion product", 8, &|x| of_quaternion(quaternion(x, 0) * quaternion(x, 4))),
            ("quaternion recip", 4, &|x| of_quaternion(quaternion(x, 0).recip())),
            ("quaternion norm", 4, &|x| quaternion(x, 0).norm()),
            ("quaternion exp", 4, &|x| of_quaternion(quaternion(x, 0).exp())),
            ("quaternion ln", 4, &|x| of_quaternion(quaternion(x, 0).ln())),
            ("quaternion sqrt", 4, &|x| of_quaternion(quaternion(x, 0).sqrt())),
            ("quaternion powf", 5, &|x| of_quaternion(quaternion(x, 0).powf(parts::<1>(x, 4)[0].clone()))),
            ("quaternion pow", 8, &|x| of_quaternion(quaternion(x, 0).pow(&quaternion(x, 4)))),
            ("slerp", 9, &|x| {
                let [a, b] = [0, 4].map(|first| quaternion(x, first).normalize());
                of_quaternion(a.slerp(&b, parts::<1>(x, 8)[0].clone()))
            }),
            ("nlerp", 8, &|x| of_quaternion(quaternion(x, 0).nlerp(&quaternion(x, 4), 0.25))),
            ("from_axis_angle", 4, &|x| {
                of_quaternion(Quaternion::from_axis_angle(vec3(x, 0).normalize(), parts::<1>(x, 3)[0].clone()))
            }),
            ("to_axis_angle", 4, &|x| {
                let (axis, angle) = quaternion(x, 0).normalize().to_axis_angle();
                of_vec3(axis * angle)
            }),
            ("between", 6, &|x| of_quaternion(Quaternion::between(vec3(x, 0).normalize(), vec3(x, 3).normalize()))),
            ("rotate", 7, &|x| of_vec3(quaternion(x, 0).normalize().rotate(vec3(x, 4)))),
            ("rotate_back", 7, &|x| of_vec3(quaternion(x, 0).normalize().rotate_back(vec3(x, 4)))),
            ("to_mat3", 4, &|x| of_matrix(&quaternion(x, 0).normalize().to_mat3())),
            ("from_mat3", 4, &|x| of_quaternion(Quaternion::from_mat3(&quaternion(x, 0).normalize().to_mat3()))),
            ("from_euler", 3, &|x| of_quaternion(Quaternion::from_euler(vec3(x, 0)))),
            ("to_euler", 4, &|x| of_vec3(quaternion(x, 0).normalize().to_euler())),
        ];
        check(cases, 0.1);
    });
}

#[test]
fn colours_and_distributions_have_derivatives() {
    on_each_device(|| {
        let unit = |x: &F| x * 0.35 + 0.5;
        let point = |f: fn(&F, &F) -> [F; 3], x: &F| {
            let [u, v] = parts(&unit(x), 0);
            flat(f(&u, &v))
        };
        let cases: &[Case<'_>] = &[
            ("linear_to_srgb", 2, &|x| color::linear_to_srgb(&unit(x))),
            ("srgb_to_linear", 2, &|x| color::srgb_to_linear(&unit(x))),
            ("luminance", 3, &|x| color::luminance(&vec3(x, 0))),
            ("linear_to_xyz", 3, &|x| of_vec3(color::linear_to_xyz(&vec3(x, 0)))),
            ("xyz_to_linear", 3, &|x| of_vec3(color::xyz_to_linear(&vec3(x, 0)))),
            ("linear_to_oklab", 3, &|x| of_vec3(color::linear_to_oklab(&vec3(&unit(x), 0)))),
            ("oklab_to_linear", 3, &|x| of_vec3(color::oklab_to_linear(&vec3(x, 0)))),
            ("normal_from_uniform", 2, &|x| random::normal_from_uniform(&unit(x))),
            ("exponential_from_uniform", 2, &|x| random::exponential_from_uniform(&unit(x))),
            ("box_muller", 2, &|x| {
                let [u, v] = parts(&unit(x), 0);
                flat(random::box_muller(&u, &v))
            }),
            ("disk", 2, &|x| {
                let [u, v] = parts(&unit(x), 0);
                flat(random::disk(&u, &v))
            }),
            ("sphere", 2, &|x| point(random::sphere, x)),
            ("hemisphere", 2, &|x| point(random::hemisphere, x)),
            ("cosine_hemisphere", 2, &|x| point(random::cosine_hemisphere, x)),
            ("triangle", 2, &|x| point(random::triangle, x)),
            // Numbers of a generator are constants; gradients flow through what is made of them.
            ("scaled noise", 2, &|x| {
                let noise = random::Pcg32::new(2 * LANES, 7).next_normal::<f64>();
                x + x.exp() * noise
            }),
        ];
        check(cases, 0.0);
        // At black, the slope of the linear part.
        let slope = jit::ad::grad(|x: &F| color::linear_to_srgb(x).sum())(&F::from([0.0, 1e-3])).unwrap();
        crate::assert_close(&slope.to_vec().unwrap(), &[12.92, 12.92], 1e-12);
    });
}

#[test]
fn textures_have_derivatives_by_position_and_texels() {
    on_each_device(|| {
        let at = |x: &F, i: usize| parts::<1>(x, i)[0].clone() * 0.9 + 0.4;
        for (filter, name) in [(Filter::Linear, "linear"), (Filter::Cubic, "cubic"), (Filter::Nearest, "nearest")] {
            for wrap in [Wrap::Repeat, Wrap::Clamp, Wrap::Mirror] {
                let line = |x: &F| {
                    let texels = Tensor::from_array(x.slice(0..10), [5, 2]);
                    let texture = Texture1::<f64>::new(texels).with_filter(filter).with_wrap(wrap);
                    F::concat(&texture.eval(&at(x, 5)))
                };
                let image = |x: &F| {
                    let texels = Tensor::from_array(x.slice(0..24), [4, 3, 2]);
                    let texture = Texture2::<f64>::new(texels).with_filter(filter).with_wrap(wrap);
                    let mask = Mask::from([true, false]);
                    let position = Vec2::from([at(x, 12), at(x, 13)]);
                    F::concat(&[F::concat(&texture.eval(&position)), texture.eval_masked(&position, &mask)[1].clone()])
                };
                let volume = |x: &F| {
                    let texels = Tensor::from_array(x.slice(0..8), [2, 2, 2, 1]);
                    let texture = Texture3::<f64>::new(texels).with_filter(filter).with_wrap(wrap);
                    texture.eval(&Vec3::from([at(x, 4), at(x, 5), at(x, 6)]))[0].clone()
                };
                let name = |of: &str| format!("{name} {wrap:?} {of}");
                check_function(&name("line"), &line, &numbers(12));
                check_function(&name("image"), &image, &numbers(28));
                check_function(&name("volume"), &volume, &numbers(14));
            }
        }
    });
}

#[test]
fn listed_lanes_sorted_elements_and_segments_have_derivatives() {
    on_each_device(|| {
        let mask = |x: &F| x.detach().gt(-0.2);
        let cases: &[Case<'_>] = &[
            ("filter", 6, &|x| x.filter(&mask(x)).square()),
            ("compress", 6, &|x| (x * x).gather(&mask(x).compress()) * x.gather(&mask(x).compress())),
            ("filtered tree", 6, &|x| {
                let (a, b) = jit::trees::filter(&(x.sin(), x * x), &mask(x));
                a * b
            }),
            ("sort", 6, &|x| x.sort().square()),
            ("sort_by_key", 6, &|x| x.sort_by_key(&x.square().detach())),
            ("segment_sum", 6, &|x| x.segment_sum(&(UInt::arange(12) % 5), 5).square()),
            ("segment maximum", 6, &|x| x.segment_reduce(ReduceOp::Max, &(UInt::arange(12) % 5), 5).square()),
            ("block maximum", 6, &|x| x.block_reduce(ReduceOp::Max, 5).square()),
            ("concat", 6, &|x| F::concat(&[x.slice(3..), x.square(), x.slice(..2)])),
            ("shift", 6, &|x| x.shift(3) * x.shift(-2) + x.roll(5)),
            ("tile, repeat", 3, &|x| x.tile(3) * x.repeat(3)),
            ("slice_step", 6, &|x| x.slice_step(1..11, 3) * x.slice_step(0..12, -3)),
            ("reverse", 6, &|x| x.reverse() * x),
            ("take", 6, &|x| x.take(&Int::from([-1, 3, -1, 0]))),
            ("meshgrid", 2, &|x| {
                let (a, b) = jit::meshgrid(x, &x.square());
                a * b
            }),
        ];
        check(cases, 0.0);
    });
}
