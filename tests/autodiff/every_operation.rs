//! Every public function of arrays, tensors, linear algebra, textures and random numbers: it is called in some test of
//! derivatives, or has none.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use jit::linalg::{Complex, Mat3, Mat4, Quaternion, Vec2, Vec3};
use jit::prelude::*;
use jit::tensor::{Padding, Tensor, Window};

use crate::{check_function, check_second, on_each_device};

/// Functions whose results do not depend on contents of floats, or whose derivative is zero everywhere; integers,
/// masks, shapes, the host; and constructors.
const WITHOUT_DERIVATIVES: &str = "
    advance all_components any_component arange_step argmax argmin argsort argsort_descending argsort_with
    ascending bernoulli bincount bitcast channels choice components contains_expression count_zeros descending
    device div_ceil
    div_euclid exponential eye fill_like fmt_shaped fmt_unread from_buffer from_bytes from_morton from_var
    full_like gather_once gather_repeated halton histogram ilog2 integers integers_between into_var is_evaluated
    is_in_loop is_infinite is_literal is_power_of_two is_sign_negative is_sign_positive leading_ones linspace_open
    map_floats matmul_of_sizes mul_hi ndim next_f32 next_f32x4 next_f64 next_f64x2 next_float next_float_x4
    next_u32 next_u32_below next_u32x4 next_u64 next_u64_below next_u64x2 none normal owen_sobol owned_with_paths
    permutation philox4x32 r2 r_sequence random range range_step read_into reduce_and reduce_or rng rotate_left
    rotate_right rounds run sample saturating_add saturating_sub scatter_inc scatter_inc_masked searchsorted
    searchsorted_right seeded shuffle size sizes sobol sobol_bits source_of_gather stepped swap_bytes to_bytes
    to_morton trailing_ones try_compress uniform unique unique_all unit van_der_corput variant view with_rounds wrap
    wrapping_add wrapping_mul wrapping_neg wrapping_sub
";

/// Functions through which gradients do not flow: an error says so.
const REFUSED: &str = "scatter_cas scatter_cas_masked scatter_exchange_masked";

/// Parts of functions that are tested: lengths, in `kinks.rs`, and where the parts of arrays begin, in `concat.rs`.
const PARTS: &str = "begins root_of_squares";

/// Reads the sources below a folder, or one file.
fn sources(path: &Path, text: &mut String) {
    if path.is_dir() {
        let mut all: Vec<_> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        all.sort();
        all.iter().for_each(|path| sources(path, text));
    } else if path.extension().is_some_and(|ending| ending == "rs") {
        text.push_str(&fs::read_to_string(path).unwrap());
    }
}

fn names_after(text: &str, before: &str) -> BTreeSet<String> {
    let name = |rest: &str| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    text.split(before).skip(1).map(name).filter(|name| !name.is_empty()).collect()
}

// one device: it reads sources
#[test]
fn every_public_function_has_a_test_of_its_derivative() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut functions = String::new();
    for folder in ["jit-core/src/array", "src/tensor", "src/linalg", "src/texture", "src/random", "src/color.rs"] {
        sources(&root.join(folder), &mut functions);
    }
    let public: BTreeSet<String> =
        names_after(&functions, "pub fn ").into_iter().chain(names_after(&functions, "pub const fn ")).collect();
    assert!(public.len() > 400, "{} functions", public.len());
    let mut tests = String::new();
    sources(&root.join("tests/autodiff"), &mut tests);
    let mut called = names_after(&tests, ".");
    called.extend(names_after(&tests, "::"));
    let lists = [WITHOUT_DERIVATIVES, REFUSED, PARTS];
    let known: BTreeSet<String> = lists.iter().flat_map(|list| list.split_whitespace()).map(str::to_owned).collect();
    let missing: Vec<_> = public.iter().filter(|name| !called.contains(*name) && !known.contains(*name)).collect();
    assert!(missing.is_empty(), "functions without a test of their derivative: {missing:?}");
    let gone: Vec<_> = known.difference(&public).collect();
    assert!(gone.is_empty(), "functions that do not exist: {gone:?}");
}

type Function = fn(&Float64) -> Float64;

const VALUES: [f64; 8] = [1.25, -0.5, 2.0, 0.75, -1.5, 0.25, 3.0, -2.25];

fn check(cases: &[(&str, Function)]) {
    on_each_device(|| {
        for (name, function) in cases {
            check_function(name, function, &VALUES);
            check_second(name, function, &VALUES);
        }
    });
}

fn index() -> UInt {
    UInt::from([2, 0, 2, 5, 7, 1, 9, 2])
}

fn mask() -> Mask {
    Mask::from([true, true, false, true, true, true, true, true])
}

fn target(x: &Float64) -> Float64 {
    (x * 0.5 + 0.3).cos() + 1.5
}

/// Computes on another device, and returns to that of the argument.
fn elsewhere(x: &Float64) -> Float64 {
    let own = x.device();
    let other = if own == Device::Cpu { Device::Interpreter } else { Device::Cpu };
    let there = x.sin().to(other).unwrap().exp();
    (&there * &there).to(own).unwrap() * x
}

#[test]
fn of_copies_on_other_devices() {
    on_each_device(|| check_function("to", &elsewhere, &VALUES));
}

#[test]
fn of_arrays() {
    check(&[
        ("abs_diff", |x| x.abs_diff(x.sin() * 0.3)),
        ("to_degrees", |x| x.to_degrees() * 0.01),
        ("to_radians", |x| x.to_radians() * 10.0),
        ("true_div", |x| x.true_div(x * x + 1.0)),
        ("variance", |x| x.variance()),
        ("variance_with", |x| x.variance_with(1)),
        ("std_with", |x| x.std_with(1)),
        ("prefix_reduce_exclusive", |x| x.prefix_reduce_exclusive(ReduceOp::Add)),
        ("block_prefix_reduce", |x| x.block_prefix_reduce(ReduceOp::Mul, 4)),
        ("block_prefix_sum", |x| x.block_prefix_sum(4)),
        ("sort_descending", |x| x.sort_descending()),
        ("sort_with", |x| x.sort_with(Sorting::descending())),
        ("split_at", |x| {
            let (a, b) = x.split_at(3);
            Float64::concat(&[b, a])
        }),
        ("shift_with", |x| x.shift_with(2, 5.0)),
        ("reduce_ranges sum", |x| x.reduce_ranges(ReduceOp::Add, &UInt::from([0, 3, 3, 8]))),
        ("reduce_ranges product", |x| x.reduce_ranges(ReduceOp::Mul, &UInt::from([0, 3, 3, 8]))),
        ("reduce_ranges max", |x| x.reduce_ranges(ReduceOp::Max, &UInt::from([0, 3, 8]))),
        ("bincount_weighted", |x| UInt::from([0, 2, 1, 2, 0, 3, 2, 1]).bincount_weighted(x, 4)),
        ("histogram_weighted", |x| x.detach().histogram_weighted(-3.0, 4.0, x, 3)),
        ("meshgrid_all", |x| {
            let grid = jit::meshgrid_all(&[x.slice(0..3), x.slice(3..5), x.slice(5..8)]);
            &grid[0] * &grid[1] + &grid[2]
        }),
        ("meshgrid3", |x| {
            let (a, b, c) = jit::meshgrid3(&x.slice(0..3), &x.slice(3..5), &x.slice(5..8));
            a * b + c
        }),
    ]);
}

#[test]
fn of_scatters() {
    check(&[
        ("scatter_masked", |x| {
            let mut y = target(x);
            y.scatter_masked(x, &index(), &mask());
            y
        }),
        ("scatter_add_masked", |x| {
            let mut y = target(x);
            y.scatter_add_masked(x, &index(), &mask());
            y
        }),
        ("scatter_reduce product", |x| {
            let mut y = target(x);
            y.scatter_reduce(ReduceOp::Mul, x, &index());
            y
        }),
        ("scatter_reduce_masked product", |x| {
            let mut y = target(x);
            y.scatter_reduce_masked(ReduceOp::Mul, x, &index(), &mask());
            y
        }),
        ("scatter_reduce_masked product of one value", |x| {
            let mut y = target(x);
            y.scatter_reduce_masked(ReduceOp::Mul, x.sum(), &index(), &mask());
            y
        }),
        ("scatter_reduce_masked max", |x| {
            let mut y = target(x);
            y.scatter_reduce_masked(ReduceOp::Max, x, &index(), &mask());
            y
        }),
        ("scatter_packet_masked", |x| {
            let mut y = target(x);
            let values = [x.slice(0..2), x.slice(2..4)];
            y.scatter_packet_masked(&values, &UInt::from([3, 0]), &Mask::from([true, false]));
            y
        }),
        ("scatter_reduce_packet", |x| {
            let mut y = target(x);
            y.scatter_reduce_packet(ReduceOp::Min, &[x.slice(0..2), x.slice(2..4)], &UInt::from([3, 0]));
            y
        }),
        ("scatter_reduce_packet product", |x| {
            let mut y = target(x);
            y.scatter_reduce_packet(ReduceOp::Mul, &[x.slice(0..2), x.slice(2..4)], &UInt::from([3, 3]));
            y
        }),
        ("scatter_reduce_packet_masked", |x| {
            let mut y = target(x);
            let (values, mask) = ([x.slice(0..2), x.slice(2..4)], Mask::from([true, false]));
            y.scatter_reduce_packet_masked(ReduceOp::Mul, &values, &UInt::from([3, 3]), &mask);
            y
        }),
        ("scatter_add_packet_masked", |x| {
            let mut y = target(x);
            let values = [x.slice(0..2), x.slice(2..4)];
            y.scatter_add_packet_masked(&values, &UInt::from([3, 3]), &Mask::from([true, false]));
            y
        }),
        ("gather_packet_masked", |x| {
            let [a, b] = x.gather_packet_masked::<2>(&UInt::from([3, 0, 3]), &Mask::from([true, false, true]));
            a * b
        }),
    ]);
}

/// The product of all factors of an element, some of which are zero.
#[test]
fn of_products_that_scatter_at_zeros() {
    on_each_device(|| {
        for zeros in [&[][..], &[0], &[5], &[0, 2], &[1, 5, 6]] {
            let mut x = VALUES.to_vec();
            zeros.iter().for_each(|&zero| x[zero] = 0.0);
            let product = |x: &Float64| {
                let mut y = x.slice(4..8);
                y.scatter_reduce(ReduceOp::Mul, x.slice(0..4), &UInt::from([1, 1, 3, 1]));
                y
            };
            check_function(&format!("zeros at {zeros:?}"), &product, &x);
        }
    });
}

fn tensor(x: &Float64) -> Tensor<f64> {
    Tensor::from_array(x.clone(), [2, 4])
}

#[test]
fn of_tensors() {
    check(&[
        ("flip", |x| (tensor(x).flip(1) * tensor(x)).into_array()),
        ("move_axis", |x| tensor(x).move_axis(0, 1).into_array()),
        ("ravel", |x| tensor(x).ravel().into_array()),
        ("ravel_column_major", |x| tensor(x).ravel_column_major().into_array()),
        ("repeat_each", |x| tensor(x).repeat_each(&[2, 0, 1, 3], 1).into_array()),
        ("squeeze", |x| Tensor::from_array(x.clone(), [1, 8]).squeeze(0).into_array()),
        ("zip_with", |x| tensor(x).zip_with(&tensor(x).flip(0), |a, b| a * b.sin()).into_array()),
        ("zip_with2", |x| {
            let [a, b] = [tensor(x).flip(0), tensor(x).flip(1)];
            tensor(x).zip_with2(&a, &b, |x, a, b| x * a + b.sin()).into_array()
        }),
        ("set", |x| {
            let mut t = tensor(x);
            t.set(jit::s![1], Tensor::from_array(x.slice(2..6).sin(), [4]));
            t.into_array()
        }),
        ("set_where", |x| {
            let mut t = tensor(x);
            let mask = Tensor::from_array(mask(), [2, 4]);
            t.set_where(&mask, tensor(x).flip(1).sin());
            t.into_array()
        }),
    ]);
}

fn shaped(x: Float64, shape: &[usize]) -> Tensor<f64> {
    Tensor::from_array(x, shape)
}

#[test]
fn of_convolutions() {
    check(&[
        ("conv3d", |x| {
            let kernel = shaped(x.slice(1..5).sin(), &[1, 1, 1, 2, 2]);
            shaped(x.clone(), &[1, 1, 2, 2, 2]).conv3d(&kernel, Padding::Valid, [1, 1, 1]).into_array()
        }),
        ("convolve", |x| {
            let window = Window::new([1], Padding::Valid).with_dilations([2]).with_groups(2);
            let kernel = shaped(x.slice(1..5).sin(), &[2, 1, 2]);
            shaped(x.clone(), &[1, 2, 4]).convolve(&kernel, &window).into_array()
        }),
        ("convolve_transposed", |x| {
            let kernel = shaped(x.slice(1..4).sin(), &[1, 1, 3]);
            let window = Window::new([2], Padding::Valid);
            shaped(x.slice(4..8), &[1, 1, 4]).convolve_transposed(&kernel, &window, [9]).into_array()
        }),
    ]);
}

/// The parts of an argument, of one element each.
fn part(x: &Float64, position: usize) -> Float64 {
    x.slice(position..position + 1)
}

fn vec2(x: &Float64, first: usize) -> Vec2<f64> {
    Vec2::new(part(x, first), part(x, first + 1))
}

fn vec3(x: &Float64, first: usize) -> Vec3<f64> {
    Vec3::new(part(x, first), part(x, first + 1), part(x, first + 2))
}

fn complex(x: &Float64) -> Complex<f64> {
    Complex::new(part(x, 0), part(x, 1))
}

fn quaternion(x: &Float64) -> Quaternion<f64> {
    Quaternion::from_parts(vec3(x, 0), part(x, 3))
}

fn mat3(x: &Float64) -> Mat3<f64> {
    Mat3::from_columns([vec3(x, 0), vec3(x, 3), vec3(x, 5)])
}

fn flat<const N: usize>(parts: [Float64; N]) -> Float64 {
    Float64::concat(&parts)
}

fn of_mat4(m: &Mat4<f64>) -> Float64 {
    Float64::concat(&(0..16).map(|i| m[(i / 4, i % 4)].clone() + 0.0 * Float64::zeros(1)).collect::<Vec<_>>())
}

#[test]
fn of_vectors_and_matrices() {
    check(&[
        ("component_min", |x| vec3(x, 0).component_min()),
        ("component_sum", |x| vec3(x, 0).component_sum()),
        ("squared_distance", |x| vec3(x, 0).squared_distance(vec3(x, 3))),
        ("normalize_or", |x| flat(vec3(x, 0).normalize_or(vec3(x, 3)).to_array())),
        ("perpendicular", |x| flat(vec2(x, 0).perpendicular().to_array())),
        ("from_angle", |x| flat(Vec2::from_angle(part(x, 0)).to_array())),
        ("to_interleaved", |x| {
            let (a, b) = x.split_at(4);
            Vec2::new(a, b).to_interleaved()
        }),
        ("from_interleaved", |x| {
            let v = Vec2::from_interleaved(x);
            v.x * v.y
        }),
        ("gather_interleaved", |x| {
            let v = Vec2::gather_interleaved(x, &UInt::from([2, 0, 2]));
            v.x * v.y
        }),
        ("gather_interleaved_masked", |x| {
            let v = Vec2::gather_interleaved_masked(x, &UInt::from([2, 0, 2]), &Mask::from([true, false, true]));
            v.x * v.y
        }),
        ("scatter_interleaved", |x| {
            let mut y = target(x);
            Vec2::new(x.slice(0..2), x.slice(2..4)).scatter_interleaved(&mut y, &UInt::from([3, 0]));
            y
        }),
        ("scatter_interleaved_masked", |x| {
            let (mut y, mask) = (target(x), Mask::from([true, false]));
            Vec2::new(x.slice(0..2), x.slice(2..4)).scatter_interleaved_masked(&mut y, &UInt::from([3, 0]), &mask);
            y
        }),
        ("column", |x| flat(mat3(x).column(1).to_array())),
        ("row", |x| flat(mat3(x).row(1).to_array())),
        ("diagonal", |x| flat(mat3(x).diagonal().to_array())),
        ("entrywise_product", |x| flat(mat3(x).entrywise_product(&mat3(x).transpose()).row(0).to_array())),
        ("squared_frobenius_norm", |x| mat3(x).squared_frobenius_norm()),
        ("splat and scalar", |x| flat((Mat3::splat(part(x, 0)) * Mat3::scalar(part(x, 1))).row(0).to_array())),
        ("compose", |x| of_mat4(&Mat4::compose(mat3(x), &quaternion(x), vec3(x, 5)))),
        ("translation and scaling", |x| of_mat4(&(Mat4::translation(vec3(x, 0)) * Mat4::scaling(vec3(x, 3))))),
        ("orthographic", |x| of_mat4(&Mat4::orthographic(vec3(x, 0), vec3(x, 3) + 7.0))),
        ("transform_vector", |x| flat(Mat4::scaling(vec3(x, 0)).transform_vector(vec3(x, 3)).to_array())),
    ]);
}

#[test]
fn of_complex_numbers_and_quaternions() {
    check(&[
        ("cis", |x| flat(Complex::cis(part(x, 0)).to_array())),
        ("conj", |x| flat((complex(x).conj() * complex(x).square()).to_array())),
        ("from_real", |x| flat((Complex::from_real(part(x, 3)) * complex(x)).to_array())),
        ("squared_abs", |x| complex(x).squared_abs()),
        ("to_polar", |x| {
            let (magnitude, angle) = complex(x).to_polar();
            magnitude * angle
        }),
        ("quaternion conj", |x| flat((quaternion(x).conj() * quaternion(x).exp()).to_array())),
        ("to_vec4", |x| flat(quaternion(x).to_vec4().to_array())),
        ("vector", |x| flat(quaternion(x).vector().to_array())),
        ("to_mat4", |x| of_mat4(&quaternion(x).to_mat4())),
    ]);
}

#[test]
fn of_textures() {
    use jit::texture::Texture1;
    let texture = |x: &Float64| Texture1::<f64>::new(Tensor::from_array(x.clone(), [8, 1]));
    let moved = |x: &Float64| x.slice(0..3).sigmoid();
    let first = move |x: &Float64| texture(x).eval_cubic_gradient(&moved(x))[0][0].clone();
    let second = move |x: &Float64| texture(x).eval_cubic_hessian(&moved(x))[0][0][0].clone();
    let fetched = move |x: &Float64| {
        let corners = texture(x).fetch(&moved(x));
        &corners[0][0] * &corners[1][0]
    };
    let replaced = move |x: &Float64| {
        let mut texture = texture(&Float64::zeros(8));
        texture.set_tensor(Tensor::from_array(x.sin(), [8, 1]));
        let y = texture.eval(&moved(x))[0].clone();
        texture.set_array(x.cos());
        y + texture.eval(&moved(x))[0].clone()
    };
    on_each_device(|| {
        check_function("eval_cubic_gradient", &first, &VALUES);
        check_function("eval_cubic_hessian", &second, &VALUES);
        check_function("fetch", &fetched, &VALUES);
        check_function("set_tensor and set_array", &replaced, &VALUES);
    });
}

#[jit]
fn written_by_lanes(x: &Float64) -> Float64 {
    let mut memory = Local::<f64>::new(4);
    let lane = UInt::arange(x.width());
    let (place, is_even) = (&lane % 4, (&lane % 2).eq(0));
    memory.write_masked(&place, x.sin(), &is_even);
    memory.update(&(&place / 2), |before| before * x);
    memory.read_masked(&place, &lane.lt(6)) + memory.read(&(&place / 2)) * 2.0
}

#[test]
fn of_local_memory() {
    check(&[("memory of lanes", written_by_lanes)]);
}
