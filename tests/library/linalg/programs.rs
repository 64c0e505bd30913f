//! Whole programs in traced functions, whose state is vectors, complex numbers, quaternions and matrices.

use jit::linalg::{Complex, Frame, Mat2, Mat3, Mat4, Quaternion, Vec2, Vec3};
use jit::prelude::*;

use crate::devices::on_each_device;

/// A sphere at the origin and the plane below it: distances to the nearest.
#[jit]
fn distance(p: &Vec3) -> Float {
    let sphere = p.norm() - 1.0;
    let plane = p.y + 1.0;
    sphere.min(plane)
}

#[jit]
fn march(origin: &Vec3, direction: &Vec3) -> (Mask, Vec3) {
    let mut p = origin.clone();
    let (mut travelled, mut hit) = (Float::from(0.0), Mask::from(false));
    while travelled < 20.0 && !hit {
        let d = distance(&p);
        if d < 1e-4 {
            hit = Mask::from(true);
        } else {
            p += direction * d;
            travelled += d;
        }
    }
    (hit, p)
}

#[test]
fn rays_are_marched_to_a_sphere_and_a_plane() {
    on_each_device(|| {
        let direction = Vec3::from([[0.0, 0.0, -1.0], [0.0, -1.0, -0.2], [0.0, 1.0, 0.0]]).normalize();
        let (hit, p) = march(&Vec3::from([0.0, 0.0, 4.0]), &direction);
        assert_eq!(hit.to_vec().unwrap(), [true, true, false]);
        let p = p.to_vec().unwrap();
        assert!((p[0][2] - 1.0).abs() < 1e-3 && (p[1][1] + 1.0).abs() < 1e-3, "{p:?}");
    });
}

#[derive(Clone, Debug, Traverse)]
struct Body {
    position: Vec3,
    attitude: Quaternion,
    spin: Vec3,
}

#[jit]
fn tumble(body: Body, steps: &UInt, dt: f32) -> (Body, Frame) {
    let mut body = body;
    let mut frame = Frame::from_normal(Vec3::unit(2));
    let mut n = UInt::from(0);
    while n < steps {
        let spin = Quaternion::from_parts(body.spin * (0.5 * dt), 0.0).exp();
        body.attitude = (spin * body.attitude).normalize();
        body.position += body.attitude.rotate(Vec3::unit(0)) * dt;
        if body.position.x < 0.0 {
            body.position.x = -body.position.x;
            body.spin = -body.spin;
        }
        frame = Frame::from_normal(body.attitude.rotate(Vec3::unit(2)));
        n += 1;
    }
    (body, frame)
}

#[test]
fn bodies_tumble() {
    on_each_device(|| {
        let body = Body {
            position: Vec3::from([[1.0, 0.0, 0.0], [0.05, 0.0, 0.0]]),
            attitude: Quaternion::from_axis_angle(Vec3::unit(2), Float::from([0.0, 3.0])),
            spin: Vec3::from([0.0, 0.0, 1.0]),
        };
        let (end, frame) = tumble(body, &UInt::from([10, 2]), 0.1);
        // The first moves along a circle; the second bounces in both steps and oscillates.
        let (_, angle) = end.attitude.to_axis_angle();
        let angle = angle.to_vec().unwrap();
        assert!((angle[0] - 1.0).abs() < 1e-5 && (angle[1] - 3.0).abs() < 1e-5, "{angle:?}");
        let x: f64 = 1.0 + (1..=10).map(|k| 0.1 * (0.1 * f64::from(k)).cos()).sum::<f64>();
        let position = end.position.to_vec().unwrap();
        assert!((f64::from(position[0][0]) - x).abs() < 1e-5, "{position:?}");
        let bounced = -(-(0.05 + 0.1 * 3.1f64.cos()) + 0.1 * 3.0f64.cos());
        assert!((f64::from(position[1][0]) - bounced).abs() < 1e-5, "{position:?}");
        assert_eq!(end.spin.to_vec().unwrap(), [[0.0, 0.0, 1.0]; 2]);
        let normal = frame.n.to_vec().unwrap();
        assert!(normal.iter().all(|n| (n[2] - 1.0).abs() < 1e-6), "{normal:?}");
    });
}

#[jit]
fn durand_kerner(mut roots: [Complex<f64>; 3], steps: u32) -> [Complex<f64>; 3] {
    let mut n = UInt::from(0);
    let mut change = Float64::from(1.0);
    while change > 1e-14 && n < steps {
        change = Float64::from(0.0);
        for k in 0..3 {
            let x = roots[k].clone();
            let (a, b) = (&roots[(k + 1) % 3], &roots[(k + 2) % 3]);
            let value = x.powi(3) - 3.0 * x.square() + 3.0 * x - 5.0;
            let step = value / ((x - a) * (x - b));
            roots[k] = x - step;
            change = change.max(step.abs());
        }
        n += 1;
    }
    roots
}

#[test]
fn the_roots_of_a_polynomial() {
    on_each_device(|| {
        let seed = Complex::from([0.4f64, 0.9]);
        let roots = durand_kerner([Complex::from(1.0), seed.clone(), seed.square()], 100);
        // (x - 1)³ = 4
        let r = 4f64.cbrt();
        let mut got: Vec<[f64; 2]> = roots.iter().map(|root| root.item().unwrap()).collect();
        got.sort_by(|a, b| a[1].total_cmp(&b[1]));
        let (x, y) = (1.0 - r / 2.0, r * 3f64.sqrt() / 2.0);
        for (got, wanted) in got.iter().zip([[x, -y], [1.0 + r, 0.0], [x, y]]) {
            assert!((got[0] - wanted[0]).hypot(got[1] - wanted[1]) < 1e-13, "{got:?} instead of {wanted:?}");
        }
    });
}

#[jit]
fn power(matrix: &Mat3, exponent: &UInt) -> Mat3 {
    let (mut result, mut base, mut n) = (Mat3::identity(), matrix.clone(), exponent.clone());
    while n > 0 {
        if n & 1 == 1 {
            result = result * base;
        }
        base = base * base;
        n >>= 1;
    }
    result
}

#[test]
fn matrices_to_whole_powers() {
    on_each_device(|| {
        let fibonacci = Mat3::from([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]);
        let powers = power(&fibonacci, &UInt::from([0, 1, 5, 12]));
        assert_eq!(powers[(0, 1)].to_vec().unwrap(), [0.0, 1.0, 5.0, 144.0]);
    });
}

#[jit]
fn clipped(view: &Mat4, points: &Vec3, half: &Mat2) -> (Vec2, Mask) {
    let seen = view.project_point(points);
    let inside = (seen.abs() <= 1.0).all_components();
    let mut screen = Vec2::zeros(points.width());
    if inside {
        screen = half * seen.xy();
        screen.set_yx(screen.clone());
    }
    (screen, inside)
}

#[test]
fn points_are_seen_by_a_camera() {
    on_each_device(|| {
        let view = Mat4::perspective(std::f32::consts::FRAC_PI_2, 1.0, 1.0, 10.0)
            * Mat4::look_at(Vec3::from([0.0, 0.0, 4.0]), 0.0, Vec3::unit(1));
        let (screen, inside) =
            clipped(&view, &Vec3::from([[2.0, 1.0, 0.0], [0.0, 9.0, 0.0], [0.0, 0.0, 5.0]]), &Mat2::scalar(0.5));
        assert_eq!(inside.to_vec().unwrap(), [true, false, false]);
        let wanted = [[0.125f32, 0.25], [0.0, 0.0], [0.0, 0.0]];
        let got = screen.to_vec().unwrap();
        assert!(got.iter().flatten().zip(wanted.iter().flatten()).all(|(a, b)| (a - b).abs() < 1e-6), "{got:?}");
    });
}
