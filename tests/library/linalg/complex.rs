//! Complex numbers.

use half::f16;
use jit::linalg::Complex;
use jit::prelude::*;

use super::complex_values::{POINTS, VALUES};
use super::reference::Random;
use crate::devices::on_each_device;

/// The distance of two numbers divided by the magnitude of the second.
fn error(got: [f64; 2], wanted: [f64; 2]) -> f64 {
    let distance = (got[0] - wanted[0]).hypot(got[1] - wanted[1]);
    let magnitude = wanted[0].hypot(wanted[1]);
    if distance == 0.0 { 0.0 } else { distance / magnitude }
}

#[track_caller]
fn assert_near(got: &Complex<f64>, wanted: &[[f64; 2]], tolerance: f64) {
    let got = got.to_vec().unwrap();
    assert_eq!(got.len(), wanted.len());
    for (lane, (got, wanted)) in got.iter().zip(wanted).enumerate() {
        let error = error(*got, *wanted);
        assert!(error <= tolerance, "lane {lane} is off by {error:e}: {got:?} instead of {wanted:?}");
    }
}

/// A function by its name.
fn apply<T: jit::FloatElement>(name: &str, z: &Complex<T>) -> Complex<T> {
    match name {
        "sqrt" => z.sqrt(),
        "exp" => z.exp(),
        "exp2" => z.exp2(),
        "ln" => z.ln(),
        "log2" => z.log2(),
        "log10" => z.log10(),
        "recip" => z.recip(),
        "sin" => z.sin(),
        "cos" => z.cos(),
        "tan" => z.tan(),
        "sinh" => z.sinh(),
        "cosh" => z.cosh(),
        "tanh" => z.tanh(),
        "asin" => z.asin(),
        "acos" => z.acos(),
        "atan" => z.atan(),
        "asinh" => z.asinh(),
        "acosh" => z.acosh(),
        _ => z.atanh(),
    }
}

#[test]
fn functions_of_complex_numbers_reach_their_accuracy() {
    on_each_device(|| {
        let double = Complex::<f64>::from(POINTS);
        let single = double.cast::<f32>();
        for (name, wanted) in VALUES {
            let got = apply(name, &double).to_vec().unwrap();
            let got_single = apply(name, &single).cast::<f64>().to_vec().unwrap();
            for (lane, wanted) in wanted.iter().enumerate() {
                // The angle of 2 to a power is a rounded product.
                let scale = if *name == "exp2" { 1.0 + POINTS[lane][1].abs() } else { 1.0 };
                let errors = (error(got[lane], *wanted), error(got_single[lane], *wanted));
                let at = POINTS[lane];
                assert!(errors.0 <= 1e-15 * scale, "{name}({at:?}) is off by {errors:?}: {:?}", got[lane]);
                assert!(errors.1 <= 6e-7 * scale, "{name}({at:?}) is off by {errors:?}: {:?}", got_single[lane]);
            }
        }
    });
}

#[test]
fn inverse_functions_return_halves_through_single_precision() {
    on_each_device(|| {
        let z = Complex::<f16>::new(f16::from_f32(0.5), f16::from_f32(0.25));
        let [re, im] = z.asin().item().unwrap().map(f16::to_f32);
        assert_eq!([re, im], [0.501_608_85, 0.281_396_06].map(|x| f16::from_f32(x).to_f32()));
        let [re, im] = z.pow(Complex::new(f16::from_f32(1.5), f16::from_f32(-2.0))).item().unwrap().map(f16::to_f32);
        assert_eq!([re, im], [-0.299_897_95, 1.013_009_2].map(|x| f16::from_f32(x).to_f32()));
    });
}

#[test]
fn complex_numbers_are_made_and_read() {
    on_each_device(|| {
        let z = Complex::new(Float::from([1.0, -2.0]), 0.5);
        assert_eq!(z.to_vec().unwrap(), [[1.0, 0.5], [-2.0, 0.5]]);
        assert_eq!((z.len(), z.conj().get(1).unwrap()), (2, [-2.0, -0.5]));
        assert_eq!(Complex::from(3.0f64).item().unwrap(), [3.0, 0.0]);
        assert_eq!(Complex::from(&z.re).get(1).unwrap(), [-2.0, 0.0]);
        assert_eq!(Complex::from([1.0f32, 2.0]).item().unwrap(), [1.0, 2.0]);
        assert_eq!(Complex::<f32>::i().square().item().unwrap(), [-1.0, 0.0]);
        assert_eq!(Complex::from_interleaved(&z.to_interleaved()).to_vec().unwrap(), z.to_vec().unwrap());
        assert_eq!(z.gather(&UInt::from([1, 1])).to_vec().unwrap(), [[-2.0, 0.5]; 2]);
        assert_eq!(z.to_string(), "[[1, 0.5],\n [-2, 0.5]]");
        assert_eq!(z.sum().item().unwrap(), [-1.0, 1.0]);
        assert_eq!(z.mean().item().unwrap(), [-0.5, 0.5]);
        assert_eq!(Complex::<f32>::ones(2).to_vec().unwrap(), [[1.0, 0.0]; 2]);
        let paths: Vec<String> = jit::leaves(&(z,)).into_iter().map(|(path, _)| path).collect();
        assert_eq!(paths, ["0.re", "0.im"]);
    });
}

#[test]
fn complex_arithmetic_agrees_with_the_host() {
    on_each_device(|| {
        let mut random = Random(1);
        let (a, b): (Vec<[f64; 2]>, Vec<[f64; 2]>) = (0..37).map(|_| (random.vector(), random.vector())).unzip();
        let (x, y) = (Complex::<f64>::from(&a), Complex::<f64>::from(&b));
        let each = |f: &dyn Fn([f64; 2], [f64; 2]) -> [f64; 2]| -> Vec<[f64; 2]> {
            a.iter().zip(&b).map(|(a, b)| f(*a, *b)).collect()
        };
        let product = |a: [f64; 2], b: [f64; 2]| [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]];
        let quotient = |a: [f64; 2], b: [f64; 2]| {
            let square = b[0] * b[0] + b[1] * b[1];
            product(a, [b[0], -b[1]]).map(|part| part / square)
        };
        assert_near(&(&x + &y), &each(&|a, b| [a[0] + b[0], a[1] + b[1]]), 0.0);
        assert_near(&(x.clone() - y.clone()), &each(&|a, b| [a[0] - b[0], a[1] - b[1]]), 0.0);
        assert_near(&(&x * &y), &each(&product), 1e-15);
        assert_near(&(&x / &y), &each(&quotient), 2e-15);
        assert_near(&(1.0 - &x), &each(&|a, _| [1.0 - a[0], -a[1]]), 0.0);
        assert_near(&(2.0 * &x / 4.0 + 1.0), &each(&|a, _| [a[0] / 2.0 + 1.0, a[1] / 2.0]), 0.0);
        assert_near(&(1.0 / &x), &each(&|a, _| quotient([1.0, 0.0], a)), 2e-15);
        assert_near(&(&x.re * &y - &y.im), &each(&|a, b| [a[0] * b[0] - b[1], a[0] * b[1]]), 0.0);
        assert_near(&x.powi(3), &each(&|a, _| product(product(a, a), a)), 2e-15);
        assert_near(&x.powi(-2), &each(&|a, _| quotient([1.0, 0.0], product(a, a))), 4e-15);
        assert_near(&x.powi(0), &each(&|_, _| [1.0, 0.0]), 0.0);
        assert_near(&-&x, &each(&|a, _| [-a[0], -a[1]]), 0.0);
        let mut z = x.clone();
        z *= &y;
        z += 1.0;
        z /= &y;
        z -= 1.0 / &y;
        assert_near(&(z / &x), &each(&|_, _| [1.0, 0.0]), 1e-13);
        let sum: Complex<f64> = [x.clone(), y.clone()].into_iter().sum();
        assert_near(&sum, &each(&|a, b| [a[0] + b[0], a[1] + b[1]]), 0.0);
        assert_near(&Complex::from_polar(x.abs(), x.arg()), &a, 1e-15);
        assert_near(&(Complex::cis(y.arg()) * y.abs()), &b, 1e-15);
    });
}

#[test]
fn complex_powers() {
    on_each_device(|| {
        let z = Complex::<f64>::from([[0.5, 0.25], [-2.0, 1.0], [3.0, -4.0]]);
        let w = Complex::<f64>::from([[1.5, -2.0], [0.25, 3.0], [-1.0, 0.5]]);
        let wanted = [
            [-0.299_897_953_203_866_25, 1.013_009_245_575_355_2],
            [-0.000_395_905_342_659_225_4, 2.296_824_207_809_809e-5],
            [-0.051_041_070_450_868_926, 0.313_849_223_270_419_4],
        ];
        assert_near(&z.pow(&w), &wanted, 1e-14);
        let wanted = [[6.852_069_010_068_956_5, 2.991_797_071_786_014_5], [0.016, 0.088]];
        assert_near(&z.gather(&UInt::from([1, 2])).pow(Float64::from([2.5, -1.5])), &wanted, 2e-15);
        let zero = Complex::<f64>::default();
        assert_eq!(zero.pow(Complex::from([2.0, 1.0])).item().unwrap(), [0.0, 0.0]);
        assert_eq!(zero.pow(&zero).item().unwrap(), [1.0, 0.0]);
        assert_eq!(zero.powf(2.0).item().unwrap(), [0.0, 0.0]);
    });
}

#[test]
fn magnitudes_do_not_overflow_on_the_way() {
    on_each_device(|| {
        let huge = Complex::<f32>::from([3e38, 1e38]);
        assert!((huge.abs().item().unwrap() / 3.162_277_7e38 - 1.0).abs() < 1e-6);
        assert_eq!((&huge / &huge).item().unwrap(), [1.0, 0.0]);
        let root = huge.sqrt().square().cast::<f64>().item().unwrap();
        assert!(error(root, [3e38, 1e38]) < 1e-6, "{root:?}");
        let ln = huge.ln().cast::<f64>().item().unwrap();
        assert!(error(ln, [3.162_277_7e38f64.ln(), (1.0f64 / 3.0).atan()]) < 1e-6);
        let tiny = Complex::<f32>::from([-4e-45, 3e-45]);
        assert!(error(tiny.sqrt().square().cast().item().unwrap(), tiny.cast().item().unwrap()) < 0.3);
        let quarter = Complex::<f32>::from([0.0, -4e-40]);
        assert!(error(quarter.sqrt().cast().item().unwrap(), [2f64.sqrt() * 1e-20, -(2f64.sqrt()) * 1e-20]) < 1e-5);
        let large = Complex::<f64>::from([1e300, -1e300]);
        assert_eq!((1e300 / large).item().unwrap(), [0.5, 0.5]);
        // e^89 overflows and its product with a small sine does not.
        let steep = Complex::<f32>::new(89.0, 1e-3).exp().item().unwrap();
        assert!(steep[0].is_infinite() && (f64::from(steep[1]) / (89f64.exp() * 1e-3f64.sin()) - 1.0).abs() < 1e-5);
    });
}

#[test]
fn logarithms_keep_their_digits_near_magnitude_one() {
    on_each_device(|| {
        // ln|z| = ln(1 - 2^-26 + …)/2 where the squares sum to nearly one.
        let (re, im) = (0.6f64, 0.8f64);
        let exact = {
            let (p, q) = (re * re, im * im);
            let errors = re.mul_add(re, -p) + im.mul_add(im, -q);
            ((p - 1.0) + q + errors) / 2.0
        };
        let got = Complex::<f64>::from([re, im]).ln().item().unwrap()[0];
        assert!((got / exact - 1.0).abs() < 1e-12, "{got:e} instead of {exact:e}");
        assert!(exact != 0.0 && exact.abs() < 1e-15);
    });
}

#[test]
fn special_complex_numbers() {
    on_each_device(|| {
        let inf = f32::INFINITY;
        let of = |re: f32, im: f32| Complex::<f32>::from([re, im]);
        assert_eq!(of(1.0, inf).sqrt().item().unwrap(), [inf, inf]);
        assert_eq!(of(f32::NAN, -inf).sqrt().item().unwrap(), [inf, -inf]);
        assert_eq!(of(inf, 0.0).exp().item().unwrap(), [inf, 0.0]);
        assert_eq!(of(-inf, 1.0).exp().item().unwrap(), [0.0, 0.0]);
        assert_eq!(of(0.0, 0.0).ln().item().unwrap(), [-inf, 0.0]);
        assert_eq!(of(1.0, 0.0).atanh().item().unwrap(), [inf, 0.0]);
        assert_eq!(of(inf, 0.0).cosh().item().unwrap(), [inf, 0.0]);
        assert_eq!(of(inf, 2.0).tanh().item().unwrap()[0], 1.0);
        assert_eq!(of(2.0, -0.0).asin().item().unwrap()[1].signum(), -1.0);
        assert_eq!((of(1.0, 2.0) / of(0.0, 0.0)).item().unwrap(), [inf, inf]);
        assert_eq!((of(1.0, 2.0) / of(inf, 3.0)).item().unwrap(), [0.0, 0.0]);
        // The sign of a zero determines on which side of the cut a number is.
        assert_eq!(of(-4.0, 0.0).sqrt().item().unwrap(), [0.0, 2.0]);
        assert_eq!(of(-4.0, -0.0).sqrt().item().unwrap(), [0.0, -2.0]);
        assert_eq!(of(-1.0, -0.0).ln().item().unwrap(), [0.0, -std::f32::consts::PI]);
        assert!(of(f32::NAN, 1.0).is_nan().item().unwrap() && !of(1.0, inf).is_finite().item().unwrap());
    });
}

#[jit]
fn newton(z: Complex, steps: u32) -> (Complex, UInt) {
    let (mut z, mut n) = (z, UInt::from(0));
    while n < steps {
        let next = z - (z * z * z - 1.0) / (3.0 * z * z);
        if next == z {
            n = UInt::from(steps);
        } else {
            n += 1;
        }
        z = next;
    }
    let is_real = z.eq(1.0);
    (z, is_real.cast())
}

#[test]
fn complex_numbers_are_state_of_traced_loops() {
    on_each_device(|| {
        let start = Complex::<f32>::from([[2.0, 0.1], [-1.0, 1.0], [-1.0, -1.0], [1.0, 0.0]]);
        let (roots, is_real) = newton(start, 50);
        let half = 3f64.sqrt() / 2.0;
        assert_near(&roots.cast(), &[[1.0, 0.0], [-0.5, half], [-0.5, -half], [1.0, 0.0]], 1e-6);
        assert_eq!(is_real.to_vec().unwrap()[3], 1);
    });
}
