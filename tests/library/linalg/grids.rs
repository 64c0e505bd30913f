//! Morton codes, spherical harmonics, colours.

use jit::color;
use jit::linalg::{Vec2, Vec3};
use jit::prelude::*;

use super::reference::Random;
use crate::devices::on_each_device;

/// Interleaves the bits of coordinates.
fn interleave(coordinates: &[u64], bits: u32) -> u64 {
    let mut code = 0;
    for bit in 0..bits {
        for (k, coordinate) in coordinates.iter().enumerate() {
            code |= (coordinate >> bit & 1) << (bit as usize * coordinates.len() + k);
        }
    }
    code
}

fn words<const N: usize>(bits: u32) -> Vec<[u64; N]> {
    let mut random = Random(u64::from(bits));
    let limit = 1u64 << bits;
    let mut words: Vec<[u64; N]> =
        (0..64).map(|_| random.vector().map(|x: f64| ((x.abs() * limit as f64) as u64).min(limit - 1))).collect();
    words.extend([[0; N], [limit - 1; N], std::array::from_fn(|k| 1 << k), std::array::from_fn(|k| limit >> (k + 1))]);
    words
}

macro_rules! morton {
    ($Vec:ident $n:literal $T:ident $bits:literal) => {
        let positions = words::<$n>($bits);
        let wanted: Vec<$T> = positions.iter().map(|position| interleave(position, $bits) as $T).collect();
        let lanes: Vec<[$T; $n]> = positions.iter().map(|position| position.map(|x| x as $T)).collect();
        let grid = $Vec::<$T>::from(&lanes);
        assert_eq!(grid.to_morton().to_vec().unwrap(), wanted);
        assert_eq!($Vec::<$T>::from_morton(&Array::from(wanted)).to_vec().unwrap(), lanes);
        // Bits that do not fit are dropped.
        assert_eq!(
            (grid | (1 << $bits)).to_morton().to_vec().unwrap(),
            $Vec::<$T>::from(&lanes).to_morton().to_vec().unwrap()
        );
    };
}

#[test]
fn morton_codes_interleave_bits() {
    on_each_device(|| {
        morton!(Vec2 2 u32 16);
        morton!(Vec2 2 u64 32);
        morton!(Vec3 3 u32 10);
        morton!(Vec3 3 u64 21);
        assert_eq!(Vec2::<u32>::from([3, 0]).to_morton().item().unwrap(), 5);
        assert_eq!(Vec3::<u64>::from([0, 0, 1]).to_morton().item().unwrap(), 4);
    });
}

/// From the polynomials of P.-P. Sloan, “Efficient Spherical Harmonic Evaluation”, 2013, Appendix A2.
fn sloan([x, y, z]: [f64; 3]) -> [f64; 16] {
    let square = z * z;
    [
        0.282_094_791_773_878_14,
        -0.488_602_511_902_919_9 * y,
        0.488_602_511_902_919_9 * z,
        -0.488_602_511_902_919_9 * x,
        1.092_548_430_592_079_2 * x * y,
        -1.092_548_430_592_079_2 * y * z,
        0.946_174_695_757_560_1 * square - 0.315_391_565_252_520_05,
        -1.092_548_430_592_079_2 * x * z,
        0.546_274_215_296_039_6 * (x * x - y * y),
        -0.590_043_589_926_643_5 * y * (3.0 * x * x - y * y),
        2.890_611_442_640_554 * x * y * z,
        0.457_045_799_464_465_8 * y * (1.0 - 5.0 * square),
        0.373_176_332_590_115_4 * z * (5.0 * square - 3.0),
        0.457_045_799_464_465_8 * x * (1.0 - 5.0 * square),
        1.445_305_721_320_277 * z * (x * x - y * y),
        -0.590_043_589_926_643_5 * x * (x * x - 3.0 * y * y),
    ]
}

#[test]
fn spherical_harmonics_agree_with_the_polynomials() {
    on_each_device(|| {
        let mut random = Random(21);
        let unit = |v: [f64; 3]| v.map(|x| x / v.iter().map(|x| x * x).sum::<f64>().sqrt());
        let mut directions: Vec<[f64; 3]> = (0..29).map(|_| unit(random.vector())).collect();
        directions.extend([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]]);
        let values = Vec3::from(&directions).spherical_harmonics(3);
        let wanted: Vec<[f64; 16]> = directions.iter().map(|direction| sloan(*direction)).collect();
        assert_eq!(values.len(), 16);
        for (k, values) in values.iter().enumerate() {
            for (lane, value) in values.to_vec().unwrap().iter().enumerate() {
                assert!((value - wanted[lane][k]).abs() < 2e-15, "{k} of {:?} is {value}", directions[lane]);
            }
        }
        let single = Vec3::from(&directions).cast::<f32>().spherical_harmonics(9);
        assert_eq!((single.len(), single[0].len()), (100, directions.len()));
        // The squares of a degree sum to (2 l + 1) / 4π (Unsöld's theorem).
        for l in 0..10 {
            let squares: Float = single[l * l..(l + 1) * (l + 1)].iter().fold(Float::from(0.0), |sum, y| sum + y * y);
            let wanted = (2 * l + 1) as f32 / (4.0 * std::f32::consts::PI);
            assert!(squares.to_vec().unwrap().iter().all(|sum| (sum / wanted - 1.0).abs() < 1e-5));
        }
    });
}

#[test]
fn spherical_harmonics_are_orthonormal() {
    on_each_device(|| {
        // Gauss-Legendre nodes along z and equal steps around integrate polynomials of degree 9 exactly.
        let nodes = [
            (0.906_179_845_938_664, 0.236_926_885_056_189_1),
            (0.538_469_310_105_683, 0.478_628_670_499_366_5),
            (0.0, 0.568_888_888_888_888_9),
            (-0.538_469_310_105_683, 0.478_628_670_499_366_5),
            (-0.906_179_845_938_664, 0.236_926_885_056_189_1),
        ];
        let (mut directions, mut weights) = (Vec::new(), Vec::new());
        for (z, weight) in nodes {
            for step in 0..10 {
                let (y, x) = (f64::from(step) * 0.2 * std::f64::consts::PI).sin_cos();
                let radius = (1.0f64 - z * z).sqrt();
                directions.push([x * radius, y * radius, z]);
                weights.push(weight * 0.2 * std::f64::consts::PI);
            }
        }
        let values = Vec3::from(directions).spherical_harmonics(4);
        let weights = Float64::from(weights);
        for (i, a) in values.iter().enumerate() {
            for (k, b) in values.iter().enumerate().take(i + 1) {
                let integral = (a * b * &weights).sum().item().unwrap();
                let wanted = f64::from(u8::from(i == k));
                assert!((integral - wanted).abs() < 1e-14, "{i} and {k}: {integral}");
            }
        }
    });
}

#[test]
fn colours_are_converted() {
    on_each_device(|| {
        let x = Float64::linspace(0.0, 1.0, 10);
        let stored = color::linear_to_srgb(&x);
        for (x, stored) in x.to_vec().unwrap().iter().zip(stored.to_vec().unwrap()) {
            let wanted = if *x <= 0.003_130_8 { 12.92 * x } else { 1.055 * x.powf(1.0 / 2.4) - 0.055 };
            assert!((stored - wanted).abs() < 1e-15);
        }
        let back = color::srgb_to_linear(&stored).to_vec().unwrap();
        assert!(back.iter().enumerate().all(|(k, x)| (x - k as f64 / 9.0).abs() < 1e-15));
        let small = Float64::from([-0.5, 0.002, 0.003_130_8]);
        let ends = color::linear_to_srgb(&small).to_vec().unwrap();
        assert_eq!(ends[..2], [-0.5 * 12.92, 0.002 * 12.92]);
        assert!((ends[2] - 0.040_449_936).abs() < 1e-9);

        let white = Vec3::splat(Float64::from(1.0));
        let near = |got: Vec3<f64>, wanted: [f64; 3], tolerance: f64| {
            let got = got.item().unwrap();
            assert!(got.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < tolerance), "{got:?} instead of {wanted:?}");
        };
        near(color::linear_to_xyz(&white), [0.950_455_93, 1.0, 1.089_057_75], 1e-7);
        near(color::linear_to_oklab(&white), [1.0, 0.0, 0.0], 1e-7);
        // The example colours of Ottosson's article.
        let oklab = |xyz: [f64; 3]| color::linear_to_oklab(&color::xyz_to_linear(&Vec3::from(xyz)));
        near(oklab([0.950, 1.000, 1.089]), [1.000, 0.000, 0.000], 1e-3);
        near(oklab([1.000, 0.000, 0.000]), [0.450, 1.236, -0.019], 1e-3);
        near(oklab([0.000, 1.000, 0.000]), [0.922, -0.671, 0.263], 1e-3);
        near(oklab([0.000, 0.000, 1.000]), [0.153, -1.415, -0.449], 1e-3);
        let mut random = Random(22);
        for _ in 0..8 {
            let c: [f64; 3] = random.vector().map(|x: f64| x.abs());
            let v = Vec3::from(c);
            near(color::oklab_to_linear(&color::linear_to_oklab(&v)), c, 1e-6);
            near(color::xyz_to_linear(&color::linear_to_xyz(&v)), c, 1e-14);
            let y = 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
            assert!((color::luminance(&v).item().unwrap() - y).abs() < 1e-15);
        }
    });
}
