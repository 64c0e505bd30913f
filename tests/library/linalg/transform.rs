//! Transforms of homogeneous coordinates.

use jit::linalg::{Mat2, Mat3, Mat4, Matrix, Quaternion, Vec2, Vec3};
use jit::prelude::*;

use super::reference::{self as host, Host, Random};
use crate::devices::on_each_device;

const LANES: usize = 31;

#[track_caller]
fn assert_near<const N: usize>(got: &[[f64; N]], wanted: &[[f64; N]], tolerance: f64) {
    assert_eq!(got.len(), wanted.len());
    for (lane, (got, wanted)) in got.iter().zip(wanted).enumerate() {
        let error = got.iter().zip(wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(error <= tolerance, "lane {lane} is off by {error:e}: {got:?} instead of {wanted:?}");
    }
}

fn vectors(seed: u64) -> Vec<[f64; 3]> {
    let mut random = Random(seed);
    (0..LANES).map(|_| random.vector()).collect()
}

/// Affine matrices.
fn affine(seed: u64) -> Vec<Host<4>> {
    let mut random = Random(seed);
    let mut lanes: Vec<Host<4>> = (0..LANES).map(|_| random.matrix()).collect();
    lanes.iter_mut().for_each(|matrix| matrix[3] = [0.0, 0.0, 0.0, 1.0]);
    lanes
}

#[test]
fn points_are_moved_and_directions_are_not() {
    on_each_device(|| {
        let (a, p) = (affine(1), vectors(2));
        let (matrix, points) = (Matrix::<f64, 4>::from(a.as_slice()), Vec3::from(&p));
        let each = |last: f64| -> Vec<[f64; 3]> {
            let lane = |(a, p): (&Host<4>, &[f64; 3])| {
                let [x, y, z, _] = host::apply(a, &[p[0], p[1], p[2], last]);
                [x, y, z]
            };
            a.iter().zip(&p).map(lane).collect()
        };
        assert_near(&matrix.transform_point(&points).to_vec().unwrap(), &each(1.0), 1e-15);
        assert_near(&matrix.transform_vector(&points).to_vec().unwrap(), &each(0.0), 1e-15);
        assert_near(&matrix.project_point(&points).to_vec().unwrap(), &each(1.0), 1e-15);
        // A vector that was perpendicular to a surface remains so.
        let (along, normal) = (Vec3::from(&vectors(3)), Vec3::from(&vectors(4)));
        let along = &along - along.project_onto(&normal);
        let slope = matrix.transform_vector(&along).dot(matrix.transform_normal(&normal));
        let size = matrix.transform_normal(&normal).norm();
        assert!((slope / size).to_vec().unwrap().iter().all(|slope| slope.abs() < 1e-14));
    });
}

#[test]
fn elementary_transforms() {
    on_each_device(|| {
        let p = Vec3::from([1.0f64, 2.0, 3.0]);
        let moved = Mat4::translation(Vec3::new(Float64::from([1.0, -1.0]), 0.5, 0.0)).transform_point(&p);
        assert_eq!(moved.to_vec().unwrap(), [[2.0, 2.5, 3.0], [0.0, 2.5, 3.0]]);
        let scale = Mat4::scaling(Vec3::from([2.0, 3.0, -1.0]));
        assert_eq!(scale.transform_point(&p).item().unwrap(), [2.0, 6.0, -3.0]);
        assert_eq!((Mat4::translation(1.0) * scale).transform_point(&p).item().unwrap(), [3.0, 7.0, -2.0]);
        let right = std::f64::consts::FRAC_PI_2;
        assert_near(
            &[Mat4::rotation(Vec3::unit(0), right).transform_point(&p).item().unwrap()],
            &[[1.0, -3.0, 2.0]],
            1e-15,
        );
        assert_near(&[(Mat3::rotation(Vec3::unit(1), right) * &p).item().unwrap()], &[[3.0, 2.0, -1.0]], 1e-15);
        assert_near(&[(Mat2::rotation(right) * Vec2::from([1.0, 2.0])).item().unwrap()], &[[-2.0, 1.0]], 1e-15);
        let plane = Mat3::translation(Vec2::from([1i32, 2])) * Mat3::scaling(Vec2::from([3, 4]));
        assert_eq!(plane.transform_point(Vec2::from([10, 20])).item().unwrap(), [31, 82]);
        assert_eq!(plane.transform_vector(Vec2::from([10, 20])).item().unwrap(), [30, 80]);
    });
}

#[test]
fn cameras_look_at_targets() {
    on_each_device(|| {
        let (eye, target) = (Vec3::from(&vectors(5)), Vec3::from(&vectors(6)));
        let view = Mat4::look_at(&eye, &target, Vec3::unit(1));
        assert_near(&view.transform_point(&eye).to_vec().unwrap(), &[[0.0; 3]; LANES], 1e-15);
        let distance = eye.distance(&target).to_vec().unwrap();
        let ahead: Vec<[f64; 3]> = distance.iter().map(|distance| [0.0, 0.0, -distance]).collect();
        assert_near(&view.transform_point(&target).to_vec().unwrap(), &ahead, 2e-15);
        let up = view.transform_vector(Vec3::unit(1));
        assert!(up.y.to_vec().unwrap().iter().all(|&y| y > 0.0));
        assert!(up.x.to_vec().unwrap().iter().all(|x| x.abs() < 1e-15));
        assert!(view.determinant().to_vec().unwrap().iter().all(|d| (d - 1.0).abs() < 1e-14));
        let known = Mat4::look_at(Vec3::from([0.0f32, 0.0, 5.0]), 0.0, Vec3::unit(1)).item().unwrap();
        assert_eq!(known, [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, -5.0], [0.0, 0.0, 0.0, 1.0]]);
    });
}

#[test]
fn projections_map_what_is_seen_to_a_box() {
    on_each_device(|| {
        let (near, far, aspect) = (0.5f64, 20.0, 2.0);
        let lens = Mat4::perspective(std::f64::consts::FRAC_PI_2, aspect, near, far);
        // With a right angle the view is as high as it is distant, on each side.
        let corners = Vec3::from([[near * aspect, near, -near], [-far * aspect, -far, -far], [0.0, 0.0, -2.0]]);
        let wanted = [[1.0, 1.0, 0.0], [-1.0, -1.0, 1.0], [0.0, 0.0, far / (far - near) * (1.0 - near / 2.0)]];
        assert_near(&lens.project_point(&corners).to_vec().unwrap(), &wanted, 1e-15);
        let flat = Mat4::orthographic(Vec3::from([-1.0, 2.0, 0.5]), Vec3::from([3.0, 4.0, 10.5]));
        let corners = Vec3::from([[-1.0, 2.0, -0.5], [3.0, 4.0, -10.5], [1.0, 3.0, -5.5]]);
        let wanted = [[-1.0, -1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.5]];
        assert_near(&flat.transform_point(&corners).to_vec().unwrap(), &wanted, 1e-15);
    });
}

#[test]
fn affine_matrices_are_taken_apart_and_put_together() {
    on_each_device(|| {
        let a = affine(7);
        let matrix = Matrix::<f64, 4>::from(a.as_slice());
        let (stretch, rotation, translation) = matrix.decompose();
        let again = Mat4::compose(&stretch, &rotation, &translation).to_vec().unwrap();
        assert!(again.iter().zip(&a).all(|(got, wanted)| host::distance(got, wanted) < 4e-15));
        assert!(rotation.norm().to_vec().unwrap().iter().all(|norm| (norm - 1.0).abs() < 1e-15));
        for stretch in stretch.to_vec().unwrap() {
            assert!(host::distance(&stretch, &host::transpose(&stretch)) < 1e-15);
        }
        let reflects: Vec<bool> = matrix.determinant().lt(0.0).to_vec().unwrap();
        let signs = stretch.symmetric_eigen().0;
        let (low, high) = (signs.z.to_vec().unwrap(), signs.x.to_vec().unwrap());
        assert!(reflects.iter().any(|reflects| *reflects) && reflects.iter().any(|reflects| !reflects));
        for (lane, reflects) in reflects.iter().enumerate() {
            assert!(if *reflects { high[lane] <= 1e-15 } else { low[lane] >= -1e-15 });
        }
        let (turn, offset) = (Quaternion::from_axis_angle(Vec3::unit(2), 0.3f64), Vec3::from([1.0, 2.0, 3.0]));
        let (stretch, rotation, translation) = Mat4::compose(2.0, &turn, &offset).decompose();
        assert!(
            host::distance(&stretch.item().unwrap(), &host::build(|i, k| 2.0 * f64::from(u8::from(i == k)))) < 1e-15
        );
        assert_near(&[rotation.item().unwrap()], &[turn.item().unwrap()], 1e-15);
        assert_eq!(translation.item().unwrap(), [1.0, 2.0, 3.0]);
    });
}

#[jit]
fn settle(start: Mat4, point: &Vec3) -> (Mat4, Vec3) {
    let (mut total, mut p) = (start, point.clone());
    let step = Mat4::translation(Vec3::new(-0.5, 0.0, 0.0));
    while p.x > 1.0 {
        total = step * total;
        p = if p.y > 0.0 { step.transform_point(&p) } else { step.transform_point(&p) * 0.5 };
    }
    (total, p)
}

#[test]
fn transforms_are_state_of_traced_loops() {
    on_each_device(|| {
        let (total, p) = settle(Mat4::identity(), &Vec3::from([[3.0, 1.0, 0.0], [3.0, -1.0, 0.0], [0.5, 1.0, 2.0]]));
        assert_eq!(p.to_vec().unwrap(), [[1.0, 1.0, 0.0], [0.375, -0.25, 0.0], [0.5, 1.0, 2.0]]);
        assert_eq!(total[(0, 3)].to_vec().unwrap(), [-2.0, -1.0, 0.0]);
    });
}
