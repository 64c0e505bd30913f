//! Quaternions and frames.

use half::f16;
use jit::linalg::{Frame, Mat3, Quaternion, Vec2, Vec3};
use jit::prelude::*;

use super::reference::{self as host, Host, Random};
use crate::devices::on_each_device;

const LANES: usize = 41;

/// Quaternions with components between -1 and 1.
fn any(seed: u64) -> Vec<[f64; 4]> {
    let mut random = Random(seed);
    (0..LANES).map(|_| random.vector()).collect()
}

/// Quaternions of length one: among them the identity, half turns, and small rotations.
fn rotations(seed: u64) -> Vec<[f64; 4]> {
    let mut all = any(seed);
    all.extend([[0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]);
    all.extend([[0.0, 0.0, 0.0, -1.0], [1e-9, 0.0, 2e-9, 1.0], [1.0, 1.0, 1.0, 1.0], [-1.0, 1.0, -1.0, 1e-12]]);
    all.into_iter().map(unit).collect()
}

fn unit<const N: usize>(v: [f64; N]) -> [f64; N] {
    let norm = v.iter().map(|x| x * x).sum::<f64>().sqrt();
    v.map(|x| x / norm)
}

/// Hamilton's product.
fn product(a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
    let ([ax, ay, az, aw], [bx, by, bz, bw]) = (a, b);
    [
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    ]
}

/// `q v q*`
fn rotated(q: [f64; 4], v: [f64; 3]) -> [f64; 3] {
    let [x, y, z, w] = q;
    let [x, y, z, _] = product(product(q, [v[0], v[1], v[2], 0.0]), [-x, -y, -z, w]);
    [x, y, z]
}

#[track_caller]
fn assert_near<const N: usize>(got: &[[f64; N]], wanted: &[[f64; N]], tolerance: f64) {
    assert_eq!(got.len(), wanted.len());
    for (lane, (got, wanted)) in got.iter().zip(wanted).enumerate() {
        let error = got.iter().zip(wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(error <= tolerance, "lane {lane} is off by {error:e}: {got:?} instead of {wanted:?}");
    }
}

fn of(lanes: &[[f64; 4]]) -> Quaternion<f64> {
    lanes.into()
}

/// Quaternions of which one may be the negative of the other.
#[track_caller]
fn assert_same_rotation(got: &Quaternion<f64>, wanted: &[[f64; 4]], tolerance: f64) {
    let mut got = got.to_vec().unwrap();
    for (got, wanted) in got.iter_mut().zip(wanted) {
        if got.iter().zip(wanted).map(|(a, b)| a * b).sum::<f64>() < 0.0 {
            *got = got.map(|x| -x);
        }
    }
    assert_near(&got, wanted, tolerance);
}

#[test]
fn quaternions_multiply_as_hamilton_says() {
    on_each_device(|| {
        let (a, b) = (any(1), any(2));
        let (p, q) = (of(&a), of(&b));
        let each = |f: &dyn Fn([f64; 4], [f64; 4]) -> [f64; 4]| -> Vec<[f64; 4]> {
            a.iter().zip(&b).map(|(a, b)| f(*a, *b)).collect()
        };
        assert_near(&(&p * &q).to_vec().unwrap(), &each(&product), 1e-15);
        assert_near(&(&p * &q / &q).to_vec().unwrap(), &a, 1e-14);
        assert_near(&(&p * p.recip()).to_vec().unwrap(), &each(&|_, _| [0.0, 0.0, 0.0, 1.0]), 1e-15);
        assert_near(&(1.0 / &p * &p).to_vec().unwrap(), &each(&|_, _| [0.0, 0.0, 0.0, 1.0]), 1e-15);
        assert_near(
            &(2.0 * &p - 1.0).to_vec().unwrap(),
            &each(&|a, _| [2.0 * a[0], 2.0 * a[1], 2.0 * a[2], 2.0 * a[3] - 1.0]),
            0.0,
        );
        assert_near(&(1.0 - &p).to_vec().unwrap(), &each(&|a, _| [-a[0], -a[1], -a[2], 1.0 - a[3]]), 0.0);
        assert_near(&(p.clone() + &q).to_vec().unwrap(), &each(&|a, b| std::array::from_fn(|k| a[k] + b[k])), 0.0);
        assert_near(&p.conj().to_vec().unwrap(), &each(&|a, _| [-a[0], -a[1], -a[2], a[3]]), 0.0);
        let i = Quaternion::<f32>::from([1.0, 0.0, 0.0, 0.0]);
        let j = Quaternion::<f32>::from([0.0, 1.0, 0.0, 0.0]);
        assert_eq!((&i * &j).item().unwrap(), [0.0, 0.0, 1.0, 0.0]);
        assert_eq!((&j * &i).item().unwrap(), [0.0, 0.0, -1.0, 0.0]);
        assert!(!i.eq(&j).item().unwrap());
        assert!((&i * &i).eq(-1.0).item().unwrap());
        assert_eq!(Quaternion::<f32>::default().item().unwrap(), [0.0, 0.0, 0.0, 1.0]);
        let paths: Vec<String> = jit::leaves(&(i,)).into_iter().map(|(path, _)| path).collect();
        assert_eq!(paths, ["0.x", "0.y", "0.z", "0.w"]);
    });
}

#[test]
fn vectors_are_rotated_by_quaternions_and_their_matrices() {
    on_each_device(|| {
        let turns = rotations(3);
        let mut random = Random(4);
        let vectors: Vec<[f64; 3]> = turns.iter().map(|_| random.vector()).collect();
        let wanted: Vec<[f64; 3]> = turns.iter().zip(&vectors).map(|(q, v)| rotated(*q, *v)).collect();
        let (q, v) = (of(&turns), Vec3::from(&vectors));
        assert_near(&q.rotate(&v).to_vec().unwrap(), &wanted, 2e-15);
        assert_near(&(q.to_mat3() * &v).to_vec().unwrap(), &wanted, 2e-15);
        assert_near(&(q.to_mat4() * v.extend(1.0)).xyz().to_vec().unwrap(), &wanted, 2e-15);
        assert_near(&q.rotate_back(q.rotate(&v)).to_vec().unwrap(), &vectors, 2e-15);
        assert_same_rotation(&Quaternion::from_mat3(&q.to_mat3()), &turns, 2e-15);
        let half = Quaternion::from_mat3(&q.to_mat3().cast::<f16>());
        assert_same_rotation(&half.cast(), &turns, 4e-3);
    });
}

#[test]
fn axes_and_angles_make_rotations() {
    on_each_device(|| {
        let turns = rotations(5);
        let (axis, angle) = of(&turns).to_axis_angle();
        assert!(angle.to_vec().unwrap().iter().all(|angle| (0.0..=std::f64::consts::PI).contains(angle)));
        assert_same_rotation(&Quaternion::from_axis_angle(&axis, &angle), &turns, 2e-15);
        let small = Quaternion::from_axis_angle(Vec3::unit(1), 1e-10f64);
        assert!((small.to_axis_angle().1.item().unwrap() / 1e-10 - 1.0).abs() < 1e-15);
        let quarter = Quaternion::from_axis_angle(Vec3::unit(2), std::f64::consts::FRAC_PI_2);
        assert_near(&quarter.rotate(Vec3::unit(0)).to_vec().unwrap(), &[[0.0, 1.0, 0.0]], 1e-15);
    });
}

#[test]
fn the_shortest_rotation_between_vectors() {
    on_each_device(|| {
        let mut random = Random(6);
        let mut from: Vec<[f64; 3]> = (0..LANES).map(|_| unit(random.vector())).collect();
        let mut to: Vec<[f64; 3]> = (0..LANES).map(|_| unit(random.vector())).collect();
        from.extend([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, -1.0], unit([1.0, 2.0, 3.0])]);
        to.extend([[-1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0], unit([-1.0, -2.0, -3.000_000_01])]);
        let turn = Quaternion::between(Vec3::from(&from), Vec3::from(&to));
        assert_near(&turn.rotate(Vec3::from(&from)).to_vec().unwrap(), &to, 4e-15);
        let (axis, angle) = turn.to_axis_angle();
        let cosine: Vec<f64> = from.iter().zip(&to).map(|(a, b)| a.iter().zip(b).map(|(a, b)| a * b).sum()).collect();
        for (angle, cosine) in angle.to_vec().unwrap().iter().zip(&cosine) {
            assert!((angle.cos() - cosine).abs() < 1e-14);
        }
        assert!(axis.dot(Vec3::from(&from)).to_vec().unwrap()[..LANES].iter().all(|share| share.abs() < 1e-14));
    });
}

#[test]
fn euler_angles_make_rotations_also_in_gimbal_lock() {
    on_each_device(|| {
        let turn = |axis: usize, angle: f64| -> Host<3> {
            let (s, c) = angle.sin_cos();
            let (next, last) = ((axis + 1) % 3, (axis + 2) % 3);
            host::build(|i, k| match (i, k) {
                _ if i == axis || k == axis => f64::from(u8::from(i == k)),
                _ if i == k => c,
                _ => {
                    if (i, k) == (next, last) {
                        -s
                    } else {
                        s
                    }
                }
            })
        };
        let mut random = Random(7);
        let mut angles: Vec<[f64; 3]> =
            (0..LANES).map(|_| random.vector::<3>()).map(|[x, y, z]| [3.1 * x, 1.5 * y, 3.1 * z]).collect();
        angles.push([0.3, std::f64::consts::FRAC_PI_2, 0.0]);
        angles.push([-0.4, -std::f64::consts::FRAC_PI_2, 1.0]);
        let wanted: Vec<Host<3>> = angles
            .iter()
            .map(|[x, y, z]| host::product(&turn(2, *z), &host::product(&turn(1, *y), &turn(0, *x))))
            .collect();
        let q = Quaternion::from_euler(Vec3::from(&angles));
        for (got, wanted) in q.to_mat3().to_vec().unwrap().iter().zip(&wanted) {
            assert!(host::distance(got, wanted) < 2e-15, "{got:?} instead of {wanted:?}");
        }
        let back = q.to_euler();
        let got = back.to_vec().unwrap();
        assert_near(&got[..LANES], &angles[..LANES], 1e-13);
        assert_eq!([got[LANES][0], got[LANES + 1][0]], [0.0, 0.0]);
        let again = Quaternion::from_euler(&back).to_mat3().to_vec().unwrap();
        assert!(again.iter().zip(&wanted).all(|(got, wanted)| host::distance(got, wanted) < 1e-14));
    });
}

#[test]
fn interpolation_has_constant_speed() {
    on_each_device(|| {
        let (a, b) = (rotations(8), rotations(9));
        let (p, q) = (of(&a), of(&b));
        assert_near(&p.slerp(&q, 0.0).to_vec().unwrap(), &a, 1e-15);
        assert_same_rotation(&p.slerp(&q, 1.0), &b, 1e-15);
        let third = p.slerp(&q, 1.0 / 3.0);
        assert_same_rotation(&third.slerp(&q, 0.5), &p.slerp(&q, 2.0 / 3.0).to_vec().unwrap(), 2e-15);
        let (_, whole) = (p.conj() * &q).to_axis_angle();
        let (_, part) = (p.conj() * &third).to_axis_angle();
        for (whole, part) in whole.to_vec().unwrap().iter().zip(part.to_vec().unwrap()) {
            assert!((whole / 3.0 - part).abs() < 1e-14, "{part} of {whole}");
        }
        // Neighbours are interpolated, too.
        let near = Quaternion::from_axis_angle(Vec3::unit(0), Float64::from([0.0, 1e-12, 1e-4, 1.0]));
        let middle = Quaternion::identity().slerp(&near, 0.25).to_axis_angle().1.to_vec().unwrap();
        assert_near(&[[middle[1] * 4e12, middle[2] * 4e4, middle[3] * 4.0]], &[[1.0; 3]], 1e-12);
        let lerp = p.nlerp(&p, Float64::from([0.3])).to_vec().unwrap();
        assert_near(&lerp, &a, 1e-15);
    });
}

#[test]
fn exponentials_and_logarithms_of_quaternions() {
    on_each_device(|| {
        let a = any(10);
        let q = of(&a);
        assert_near(&q.ln().exp().to_vec().unwrap(), &a, 2e-15);
        assert_near(&q.sqrt().to_vec().unwrap(), &q.powf(0.5).to_vec().unwrap(), 2e-15);
        let root = q.sqrt();
        assert_near(&(&root * &root).to_vec().unwrap(), &a, 2e-15);
        assert_near(&q.powf(2.0).to_vec().unwrap(), &(&q * &q).to_vec().unwrap(), 4e-15);
        assert_near(&q.pow(&Quaternion::from_real(-1.0)).to_vec().unwrap(), &q.recip().to_vec().unwrap(), 1e-13);
        let real = Quaternion::<f64>::from_real(Float64::from([4.0, -4.0, 0.0]));
        assert_eq!(real.sqrt().to_vec().unwrap(), [[0.0, 0.0, 0.0, 2.0], [2.0, 0.0, 0.0, 0.0], [0.0; 4]]);
        let ln = real.ln().to_vec().unwrap();
        assert_near(&ln[..2], &[[0.0, 0.0, 0.0, 4f64.ln()], [std::f64::consts::PI, 0.0, 0.0, 4f64.ln()]], 1e-15);
        assert_near(&real.exp().to_vec().unwrap()[2..], &[[0.0, 0.0, 0.0, 1.0]], 0.0);
        // As complex numbers along any axis: exp(1 + 2i).
        let along = Quaternion::<f64>::from([0.0, 2.0, 0.0, 1.0]).exp().item().unwrap();
        assert_near(&[along], &[[0.0, 1f64.exp() * 2f64.sin(), 0.0, 1f64.exp() * 2f64.cos()]], 2e-15);
    });
}

#[test]
fn frames_are_orthonormal_and_right_handed() {
    on_each_device(|| {
        let mut random = Random(11);
        let mut normals: Vec<[f64; 3]> = (0..LANES).map(|_| unit(random.vector())).collect();
        normals.extend([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0], unit([1e-9, 0.0, -1.0]), [0.0, 1.0, -0.0]]);
        let frame = Frame::from_normal(Vec3::from(&normals));
        for axes in frame.to_mat3().to_vec().unwrap() {
            let error = host::distance(&host::product(&host::transpose(&axes), &axes), &host::identity());
            assert!(error < 2e-15, "{axes:?}");
        }
        assert!(frame.to_mat3().determinant().to_vec().unwrap().iter().all(|d| (d - 1.0).abs() < 2e-15));
        let v = Vec3::from([0.3f64, -0.5, 0.7]);
        assert_near(
            &frame.to_local(frame.to_world(&v)).to_vec().unwrap(),
            &vec![[0.3, -0.5, 0.7]; normals.len()],
            2e-15,
        );
        assert_near(&frame.to_world(Vec3::unit(2)).to_vec().unwrap(), &normals, 0.0);
        assert_near(&(frame.to_mat3() * &v).to_vec().unwrap(), &frame.to_world(&v).to_vec().unwrap(), 1e-15);
    });
}

#[test]
fn spherical_coordinates() {
    on_each_device(|| {
        let angles = [[0.5f64, 1.0], [3.0, -3.0], [1e-12, 2.0], [1.5, 0.0]];
        let v = Vec3::from_spherical(Float64::from(angles.map(|a| a[0])), Float64::from(angles.map(|a| a[1])));
        let wanted =
            angles.map(|[polar, azimuth]| [polar.sin() * azimuth.cos(), polar.sin() * azimuth.sin(), polar.cos()]);
        assert_near(&v.to_vec().unwrap(), &wanted, 1e-15);
        assert_near(&(v * 3.0).to_spherical().to_vec().unwrap(), &angles, 1e-15);
        let between =
            Vec3::from([1.0f64, 0.0, 0.0]).angle(Vec3::from([[1.0, 1e-12, 0.0], [0.0, -2.0, 0.0], [-1.0, 0.0, 0.0]]));
        let wanted = [[1e-12], [std::f64::consts::FRAC_PI_2], [std::f64::consts::PI]];
        assert_near(&between.to_vec().unwrap().iter().map(|angle| [*angle]).collect::<Vec<_>>(), &wanted, 1e-15);
        assert_near(&[[Vec2::from_angle(2.5f64).to_angle().item().unwrap()]], &[[2.5]], 1e-15);
    });
}

#[jit]
fn turn_until_up(q: Quaternion, step: &Quaternion, basis: Mat3) -> (Quaternion, Mat3, UInt) {
    let (mut q, mut basis, mut n) = (q, basis, UInt::from(0));
    while q.rotate(Vec3::unit(0)).z < 0.99 && n < 100 {
        q = step * q;
        if n % 2 == 1 {
            basis = step.to_mat3() * basis;
        }
        n += 1;
    }
    (q, basis, n)
}

#[test]
fn rotations_are_state_of_traced_loops() {
    on_each_device(|| {
        let step = Quaternion::from_axis_angle(Vec3::unit(1), -0.1f32);
        let start = Quaternion::from_axis_angle(Vec3::unit(1), Float::from([0.0, -1.0, -1.55]));
        let (q, basis, n) = turn_until_up(start, &step, Mat3::identity());
        assert_eq!(n.to_vec().unwrap(), [15, 5, 0]);
        let angle = q.to_axis_angle().1.to_vec().unwrap();
        assert!(angle.iter().zip([1.5, 1.5, 1.55]).all(|(a, b): (&f32, f32)| (a - b).abs() < 1e-5), "{angle:?}");
        let turned = basis.row(2).x.to_vec().unwrap();
        assert!(turned.iter().zip([0.7f32.sin(), 0.2f32.sin(), 0.0]).all(|(a, b)| (a - b).abs() < 1e-5), "{turned:?}");
    });
}
