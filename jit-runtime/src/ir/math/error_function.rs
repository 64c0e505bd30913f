//! The error function, its complement and its inverse.
//!
//! Below ½ or 1 a polynomial of the square is used. Beyond, it is e^(-x²) times erfcx, the scaled complement, for which
//! one polynomial of (x - 3) / (x + 3) suffices (after M. Shepherd and J. Laframboise, "Chebyshev Approximation of (1 +
//! 2x)exp(x²)erfc x", 1981). The inverse is a function of -ln(1 - x²) (after M. Giles, "Approximating the erfinv
//! function", 2010). Polynomials are near-minimax fits of this project.

use super::exponential::clamp;
use super::logarithm::{exponent_to_float, ln_of, split_f64};
use super::power::{Parts, exp_of_parts, exp_single};
use super::{Arithmetic, Precision};
use crate::ir::op::CompareOp;

/// The error function.
pub(super) fn erf<A: Arithmetic>(m: &mut A, x: A::Value, precision: Precision) -> A::Value {
    let a = m.abs(x);
    let near = near_zero(m, x, precision);
    let complement = complement(m, a, precision);
    let one = m.like(x, 1.0);
    let far = m.sub(one, complement);
    let far = m.copy_sign(far, x);
    let is_near = m.compare_with(CompareOp::Lt, a, 1.0);
    m.select(is_near, near, far)
}

/// One minus the error function, without cancellation.
pub(super) fn erfc<A: Arithmetic>(m: &mut A, x: A::Value, precision: Precision) -> A::Value {
    let a = m.abs(x);
    let near = near_zero(m, x, precision);
    let one = m.like(x, 1.0);
    let near = m.sub(one, near);
    let right = complement(m, a, precision);
    let two = m.like(x, 2.0);
    let left = m.sub(two, right);
    let is_left = m.compare_with(CompareOp::Lt, x, 0.0);
    let far = m.select(is_left, left, right);
    let is_near = m.compare_with(CompareOp::Lt, a, 0.5);
    m.select(is_near, near, far)
}

/// The error function for |x| ≤ 1.
fn near_zero<A: Arithmetic>(m: &mut A, x: A::Value, precision: Precision) -> A::Value {
    let z = m.mul(x, x);
    let p = m.horner(z, precision.choose(&ERF_SINGLE, &ERF_DOUBLE));
    m.mul(x, p)
}

/// e^(a²) erfc a, for ½ ≤ a ≤ 28.
fn scaled_complement<A: Arithmetic>(m: &mut A, a: A::Value, precision: Precision) -> A::Value {
    let (above, below) = (m.add_to(a, -3.0), m.add_to(a, 3.0));
    let t = m.div(above, below);
    let p = m.horner(t, precision.choose(&ERFCX_SINGLE, &ERFCX_DOUBLE));
    let one = m.like(a, 1.0);
    let factor = m.fma_by(a, 2.0, one);
    m.div(p, factor)
}

/// erfc of a ≥ ½.
fn complement<A: Arithmetic>(m: &mut A, a: A::Value, precision: Precision) -> A::Value {
    // Beyond, the result is zero.
    let a = clamp(m, a, 0.25, if precision == Precision::Single { 11.0 } else { 28.0 });
    let scaled = scaled_complement(m, a, precision);
    let square = m.mul(a, a);
    let high = m.neg(square);
    if precision == Precision::Single {
        let power = exp_single(m, high);
        return m.mul(power, scaled);
    }
    let low = m.fnma(a, a, square);
    exp_of_parts(m, Parts { high, low }, scaled)
}

/// The inverse of the error function; infinite at ±1, NaN beyond.
pub(super) fn erfinv<A: Arithmetic>(m: &mut A, x: A::Value, precision: Precision) -> A::Value {
    let a = m.abs(x);
    let w = depth(m, a, precision);
    let near = m.horner(w, precision.choose(&INVERSE_NEAR_SINGLE, &INVERSE_NEAR_DOUBLE));
    let near = m.mul(near, a);
    let root = m.sqrt(w);
    let far = if precision == Precision::Single {
        let t = m.add_to(root, -3.0);
        let far = m.horner(t, &INVERSE_FAR_SINGLE);
        m.mul(far, a)
    } else {
        let t = m.add_to(root, -4.0);
        let far = m.horner(t, &INVERSE_FAR_DOUBLE);
        let far = m.mul(far, a);
        improve(m, a, far)
    };
    let is_near = m.compare_with(CompareOp::Lt, w, 5.0);
    let result = m.select(is_near, near, far);
    let is_end = m.compare_with(CompareOp::Eq, a, 1.0);
    let result = m.put(is_end, f64::INFINITY, result);
    let is_inside = m.compare_with(CompareOp::Le, a, 1.0);
    let nan = m.like(a, f64::NAN);
    let result = m.select(is_inside, result, nan);
    m.copy_sign(result, x)
}

/// -ln(1 - a²) for 0 ≤ a < 1.
fn depth<A: Arithmetic>(m: &mut A, a: A::Value, precision: Precision) -> A::Value {
    let one = m.like(a, 1.0);
    let u = m.fnma(a, a, one);
    let (exponent, mantissa) = split_f64(m, u);
    let k = exponent_to_float(m, exponent, 0.0);
    let f = m.add_to(mantissa, -1.0);
    // Where 1 - a² was rounded, its distance from 1 is known more exactly.
    let square = m.mul(a, a);
    let distance = m.neg(square);
    let is_small = m.compare_with(CompareOp::Lt, a, 0.5);
    let f = m.select(is_small, distance, f);
    let ln = ln_of(m, k, f, precision);
    m.neg(ln)
}

/// One step of Halley's method for erfc y = 1 - a. It improves 20 good bits to more than a float has.
fn improve<A: Arithmetic>(m: &mut A, a: A::Value, y: A::Value) -> A::Value {
    let scaled = scaled_complement(m, y, Precision::Double);
    let one = m.like(a, 1.0);
    let rest = m.sub(one, a);
    let high = m.mul(y, y);
    let low = m.fms(y, y, high);
    let wanted = exp_of_parts(m, Parts { high, low }, rest);
    let difference = m.sub(scaled, wanted);
    let step = m.mul_by(difference, 0.886_226_925_452_758);
    let curvature = m.fnma(step, y, one);
    let step = m.div(step, curvature);
    m.add(y, step)
}

/// erf √z / √z, to 2^-40.
const ERF_SINGLE: [f64; 9] = [
    1.0562983526764967e-06,
    -1.3898719921879059e-05,
    0.00011954825222909071,
    -0.0008542489836821071,
    0.0052237764674958765,
    -0.026866131430770376,
    0.11283791285738848,
    -0.3761263888852748,
    1.1283791670945882,
];

/// The same, to 2^-55.
const ERF_DOUBLE: [f64; 15] = [
    2.8016230920783203e-13,
    -6.193162829498904e-12,
    9.322603110735871e-11,
    -1.2277527599256103e-09,
    1.4806002158669392e-08,
    -1.636576657592232e-07,
    1.6462110661326576e-06,
    -1.4925650232016089e-05,
    0.0001205533297873788,
    -0.000854832702340025,
    0.00522397762544164,
    -0.026866170645131218,
    0.11283791670955126,
    -0.37612638903183754,
    std::f64::consts::FRAC_2_SQRT_PI,
];

/// (1 + 2 x) e^(x²) erfc x for x = 3 (1 + t) / (1 - t), to 2^-30.
const ERFCX_SINGLE: [f64; 11] = [
    -0.00017214485627759193,
    -0.0006781682762787422,
    0.0019480215902697101,
    0.0024968865159143076,
    -0.023788465340523004,
    0.06831281664662542,
    -0.11927146291130057,
    0.12964485177085527,
    -0.04756238792773198,
    -0.13562110015862794,
    1.2530080588952415,
];

/// The same, to 2^-54.
const ERFCX_DOUBLE: [f64; 22] = [
    -1.4805094276683505e-08,
    2.2401246326267975e-08,
    1.1015592969581649e-07,
    -1.2032523408435764e-07,
    -6.280445750010093e-07,
    3.4330443204259463e-07,
    3.4804698542773674e-06,
    -7.261232041491616e-07,
    -2.0103963081644603e-05,
    4.948104651752238e-06,
    0.00012510024584632881,
    -0.00010515957191870436,
    -0.0007798324188644845,
    0.0018886903353636895,
    0.0025293918305475224,
    -0.023770514917135423,
    0.06830802734319179,
    -0.11927366341536083,
    0.12964515870278026,
    -0.04756229435345,
    -0.1356211061245813,
    1.2530080582697296,
];

/// erfinv x / x for w = -ln(1 - x²) below 5, to 2^-31.
const INVERSE_NEAR_SINGLE: [f64; 12] = [
    1.328572386880594e-10,
    -3.216545733292741e-09,
    2.3720758257962706e-08,
    4.487107128389672e-08,
    -1.4364826410075212e-06,
    3.118083613427901e-06,
    4.492735536479166e-05,
    -0.00012649191793632348,
    -0.002335917583709471,
    0.01154955864390168,
    0.23201364444291883,
    0.8862269258189802,
];

/// The same, to 2^-54.
const INVERSE_NEAR_DOUBLE: [f64; 22] = [
    2.0970412521567643e-19,
    -8.459810801387989e-18,
    1.196266401226393e-16,
    -9.589274513545396e-17,
    -1.9956977207497362e-14,
    3.0983432193394573e-13,
    -2.3652886223508894e-12,
    9.694340449180707e-12,
    -1.8860542040811298e-11,
    6.31160383686599e-11,
    -6.808710333875311e-10,
    9.944795735796105e-10,
    2.2508820313653457e-08,
    -3.7036796266830655e-08,
    -1.0127307478779383e-06,
    2.0200769643618917e-06,
    4.661140938843222e-05,
    -0.00012804328699451268,
    -0.0023351016426490837,
    0.01154934203834918,
    0.23201366653465216,
    0.886226925452758,
];

/// erfinv x / x for √w = 3 + t and w from 5 to 16.7, to 2^-29.
const INVERSE_FAR_SINGLE: [f64; 11] = [
    -2.9221052202444994e-05,
    0.00016034090806725502,
    -0.00027800975709285137,
    -0.00011976023660259604,
    0.0014754482039572893,
    -0.0035672109293473434,
    0.005687605317816589,
    -0.007642747854066148,
    0.00944531235485061,
    1.0016752362184378,
    2.832976801311108,
];

/// erfinv x / x for √w = 4 + t and w from 5 to 38, to 2^-22.
const INVERSE_FAR_DOUBLE: [f64; 12] = [
    9.67416176604397e-07,
    -2.577052817529445e-06,
    -1.0049419993525768e-05,
    4.172255285587941e-05,
    -3.8485673237236476e-05,
    1.3265485220407223e-05,
    -0.00010462816101790585,
    0.00035695409344839213,
    -0.0008772021382965708,
    0.0012483421149797605,
    1.0094944217331923,
    3.839784406979017,
];
