//! Textures against plain Rust, in double precision.

use half::{bf16, f16};
use jit::linalg::{Vec2, Vec3};
use jit::prelude::*;
use jit::texture::{Filter, Texel, Texture, Texture1, Texture2, Texture3, Wrap};

use crate::devices::on_each_device;
use crate::misuse::message_of;

const FILTERS: [Filter; 3] = [Filter::Nearest, Filter::Linear, Filter::Cubic];
const WRAPS: [Wrap; 3] = [Wrap::Repeat, Wrap::Clamp, Wrap::Mirror];

/// The texel with a number, inside or outside.
fn wrapped(number: i64, length: i64, wrap: Wrap) -> usize {
    let inside = match wrap {
        Wrap::Repeat => number.rem_euclid(length),
        Wrap::Clamp => number.clamp(0, length - 1),
        Wrap::Mirror => {
            let number = number.rem_euclid(2 * length);
            number.min(2 * length - 1 - number)
        }
    };
    inside as usize
}

/// The weights of texels along one dimension, for a number of derivatives with respect to the position.
fn weights(position: f64, length: usize, wrap: Wrap, filter: Filter, order: usize) -> Vec<(usize, f64)> {
    let n = length as f64;
    let at = position * n - 0.5;
    let (cell, f) = (at.floor(), at - at.floor());
    let (first, weights) = match (filter, order) {
        (Filter::Nearest, _) => return vec![(wrapped((position * n).floor() as i64, length as i64, wrap), 1.0)],
        (Filter::Linear, _) => (0, vec![1.0 - f, f]),
        (Filter::Cubic, 0) => {
            let spline = |f: f64| (3.0 * f * f * f - 6.0 * f * f + 4.0) / 6.0;
            (-1, vec![(1.0 - f).powi(3) / 6.0, spline(f), spline(1.0 - f), f.powi(3) / 6.0])
        }
        (Filter::Cubic, 1) => {
            let spline = |f: f64| n * (9.0 * f * f - 12.0 * f) / 6.0;
            (-1, vec![-n * (1.0 - f).powi(2) / 2.0, spline(f), -spline(1.0 - f), n * f * f / 2.0])
        }
        (Filter::Cubic, _) => (-1, [1.0 - f, 3.0 * f - 2.0, 1.0 - 3.0 * f, f].map(|w| w * n * n).to_vec()),
    };
    let texel = |tap: usize| wrapped(cell as i64 + first + tap as i64, length as i64, wrap);
    weights.iter().enumerate().map(|(tap, &weight)| (texel(tap), weight)).collect()
}

/// A texture of plain Rust: its shape with `x` last, and its texels with the channels innermost.
struct Plain {
    shape: Vec<usize>,
    channels: usize,
    texels: Vec<f64>,
    wrap: Wrap,
    filter: Filter,
}

impl Plain {
    fn eval(&self, position: &[f64], orders: &[usize], channel: usize) -> f64 {
        let mut sum = vec![(0, 1.0)];
        for (axis, &length) in self.shape.iter().enumerate() {
            let dimension = self.shape.len() - 1 - axis;
            let taps = weights(position[dimension], length, self.wrap, self.filter, orders[dimension]);
            sum = sum
                .iter()
                .flat_map(|&(number, weight)| taps.iter().map(move |&(tap, w)| (number * length + tap, weight * w)))
                .collect();
        }
        sum.iter().map(|&(number, weight)| weight * self.texels[number * self.channels + channel]).sum()
    }
}

/// Numbers without a pattern, from -1 to 1 in steps that every float type but `bf16` represents.
fn noise(count: usize, seed: u32) -> Vec<f64> {
    let of =
        |i: u32| (i.wrapping_mul(2_654_435_761).wrapping_add(seed.wrapping_mul(40_503)) >> 21) as f64 / 1024.0 - 1.0;
    (0..count as u32).map(of).collect()
}

/// Positions inside, at edges and centres, and some periods outside; moved away from the positions where texels change.
fn positions(seed: u32) -> Vec<f64> {
    let mut positions: Vec<f64> = noise(120, seed).iter().map(|x| x * 3.0 + 0.5 + 1.0 / 4096.0).collect();
    positions.extend([0.1, 0.125, 0.375, 0.9999, 1.001, -0.001, 2.0 + 0.01, -2.0 - 0.01, -17.3, 40.7]);
    positions
}

fn plain<const D: usize>(shape: [usize; D], channels: usize, wrap: Wrap, filter: Filter) -> Plain {
    let texels = noise(shape.iter().product::<usize>() * channels, 5);
    Plain { shape: shape.to_vec(), channels, texels, wrap, filter }
}

fn textured<const D: usize>(plain: &Plain) -> Texture<f32, D> {
    let texels: Vec<f32> = plain.texels.iter().map(|&x| x as f32).collect();
    let shape = [&plain.shape[..], &[plain.channels]].concat();
    Texture::new(Tensor::from_array(texels, shape)).with_filter(plain.filter).with_wrap(plain.wrap)
}

/// Compares a texture of each kind with plain Rust at positions of some type.
fn check<Q: jit::FloatElement, const D: usize>(shape: [usize; D], tolerance: f64, of: fn(f64) -> Q, to: fn(Q) -> f64) {
    let host: [Vec<Q>; D] = std::array::from_fn(|axis| positions(axis as u32).into_iter().map(of).collect());
    for (filter, wrap) in FILTERS.iter().flat_map(|&filter| WRAPS.map(|wrap| (filter, wrap))) {
        let plain = plain(shape, 2, wrap, filter);
        let values = textured::<D>(&plain).eval(&std::array::from_fn(|axis| Array::from(&host[axis])));
        assert_eq!(values.len(), 2);
        for (channel, values) in values.iter().enumerate() {
            for (lane, value) in values.to_vec().unwrap().into_iter().enumerate() {
                let at: [f64; D] = std::array::from_fn(|axis| to(host[axis][lane]));
                // Halves may be on the edge between two texels, of which a mirrored texture has the other one.
                let is_edge = at.iter().zip(shape.iter().rev()).any(|(x, &n)| (x * n as f64).fract() == 0.0);
                if is_edge && filter == Filter::Nearest {
                    continue;
                }
                let wanted = plain.eval(&at, &[0; D], channel);
                let error = (to(value) - wanted).abs();
                assert!(error <= tolerance, "{filter:?} {wrap:?} {shape:?} at {at:?}: {wanted}, not {}", to(value));
            }
        }
    }
}

#[test]
fn values_are_those_of_plain_rust() {
    on_each_device(|| {
        check([7], 3e-4, |x| x as f32, f64::from);
        check([1], 1e-6, |x| x as f32, f64::from);
        check([2, 5], 3e-4, |x| x as f32, f64::from);
        check([3, 1, 4], 3e-4, |x| x as f32, f64::from);
        check([2, 3], 1e-6, |x| x, |x| x);
        check([4, 4], 2e-3, f16::from_f64, f64::from);
        check([2, 2], 1e-2, bf16::from_f64, f64::from);
    });
}

#[test]
fn derivatives_are_those_of_the_spline() {
    on_each_device(|| {
        for wrap in WRAPS {
            let plain = plain([3, 5, 4], 2, wrap, Filter::Cubic);
            let texture = textured::<3>(&plain).with_filter(Filter::Nearest);
            let host: [Vec<f64>; 3] = std::array::from_fn(|axis| positions(axis as u32));
            let at: [Float64; 3] = std::array::from_fn(|axis| Array::from(&host[axis]));
            let (gradient, hessian) = (texture.eval_cubic_gradient(&at), texture.eval_cubic_hessian(&at));
            for channel in 0..2 {
                for (i, j) in (0..9).map(|number| (number / 3, number % 3)) {
                    let (mut first, mut second) = ([0; 3], [0; 3]);
                    first[i] += 1;
                    second[i] += 1;
                    second[j] += 1;
                    let values = [&gradient[channel][i], &hessian[channel][i][j]].map(|x| x.to_vec().unwrap());
                    for lane in 0..host[0].len() {
                        let at = [host[0][lane], host[1][lane], host[2][lane]];
                        for (values, orders) in values.iter().zip([first, second]) {
                            // If the texture is mirrored, the reference's taps are, too, so its slope changes sign by
                            // itself.
                            let wanted = plain.eval(&at, &orders, channel);
                            assert!((values[lane] - wanted).abs() < 1e-8, "{wrap:?} {orders:?} at {at:?}");
                        }
                    }
                }
            }
        }
    });
}

#[test]
fn centres_give_the_texel_itself() {
    on_each_device(|| {
        for count in [1, 2, 8, 256] {
            let texels: Vec<f32> = noise(count, 9).iter().map(|&x| x as f32 * 0.1).collect();
            let centres: Vec<f32> = (0..count).map(|i| (i as f32 + 0.5) / count as f32).collect();
            for (wrap, filter) in WRAPS.iter().flat_map(|&wrap| [(wrap, Filter::Nearest), (wrap, Filter::Linear)]) {
                let texture = Texture1::new(Tensor::from_array(&texels, [-1, 1])).with_wrap(wrap).with_filter(filter);
                assert_eq!(texture.eval(&Float::from(&centres))[0].to_vec().unwrap(), texels, "{wrap:?} {filter:?}");
            }
        }
    });
}

#[test]
fn equal_texels_give_their_value_everywhere() {
    on_each_device(|| {
        let texels = Tensor::full(0.1f32, [3, 5, 1]).make_opaque();
        let (x, y) = (Float::linspace(-2.0, 2.0, 1000), Float::linspace(1.0, -1.5, 1000));
        for (wrap, filter) in WRAPS.iter().flat_map(|&wrap| FILTERS.map(|filter| (wrap, filter))) {
            let texture = Texture2::new(&texels).with_wrap(wrap).with_filter(filter);
            let at = Vec2::new(&x, &y);
            assert_eq!(texture.eval(&at)[0].to_vec().unwrap(), [0.1; 1000], "{wrap:?} {filter:?}");
            for slope in &texture.eval_cubic_gradient(&at)[0] {
                assert_eq!(slope.to_vec().unwrap(), [0.0; 1000]);
            }
        }
    });
}

#[test]
fn edges_belong_to_the_texel_behind_them() {
    on_each_device(|| {
        let texture = |wrap| {
            Texture1::new(Tensor::from([[1.0f32], [2.0], [3.0], [4.0]])).with_filter(Filter::Nearest).with_wrap(wrap)
        };
        let at = Float::from([-0.25, 0.0, 0.25, 0.5, 0.9999999, 1.0, 1.25, -0.0]);
        let values = |wrap| texture(wrap).eval(&at)[0].to_vec().unwrap();
        assert_eq!(values(Wrap::Clamp), [1.0, 1.0, 2.0, 3.0, 4.0, 4.0, 4.0, 1.0]);
        assert_eq!(values(Wrap::Repeat), [4.0, 1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 1.0]);
        assert_eq!(values(Wrap::Mirror), [2.0, 1.0, 2.0, 3.0, 4.0, 4.0, 4.0, 1.0]);
    });
}

#[test]
fn positions_of_any_size_have_a_value() {
    on_each_device(|| {
        let texels = Tensor::from([[1.0f32], [2.0], [3.0], [4.0]]);
        // Whole numbers are edges of the texture; from 2^24 on, floats are even.
        let huge = [1e10f32, -1e10, f32::MAX, f32::MIN, 1e-40, -1e-40, 16_777_217.0];
        let values = |wrap, filter| {
            let texture = Texture1::new(&texels).with_wrap(wrap).with_filter(filter);
            texture.eval(&Float::from(huge))[0].to_vec().unwrap()
        };
        for filter in FILTERS {
            let inner = |values: Vec<f32>| values.iter().map(|value| value.round()).collect::<Vec<_>>();
            let (first, last) = (1.0, 4.0);
            assert_eq!(inner(values(Wrap::Clamp, filter))[..4], [last, first, last, first], "{filter:?}");
            let repeated = values(Wrap::Repeat, filter);
            let edge = if filter == Filter::Nearest { 1.0 } else { 2.5 };
            assert!(repeated[..5].iter().all(|value| (value - edge).abs() < 1e-6), "{filter:?} {repeated:?}");
            assert_eq!(inner(values(Wrap::Mirror, filter)), [first; 7], "{filter:?}");
        }
        assert_eq!(values(Wrap::Repeat, Filter::Nearest)[5], 4.0);
    });
}

#[test]
fn nan_gives_nan_but_the_first_texel_where_no_arithmetic_is_done() {
    on_each_device(|| {
        let texels = Tensor::from([[1.0f32], [2.0]]);
        for (wrap, filter) in WRAPS.iter().flat_map(|&wrap| FILTERS.map(|filter| (wrap, filter))) {
            let texture = Texture1::new(&texels).with_wrap(wrap).with_filter(filter);
            let values = texture.eval(&Float::from([f32::NAN, f32::INFINITY, f32::NEG_INFINITY]))[0].to_vec().unwrap();
            match (wrap, filter) {
                (Wrap::Clamp, Filter::Nearest) => assert_eq!(values, [1.0, 2.0, 1.0]),
                (_, Filter::Nearest) => assert_eq!(values, [1.0; 3]),
                (Wrap::Clamp, _) => assert!(values[0].is_nan() && values[1..] == [2.0, 1.0], "{filter:?} {values:?}"),
                _ => assert!(values.iter().all(|value| value.is_nan()), "{wrap:?} {filter:?} {values:?}"),
            }
        }
    });
}

#[test]
fn masked_off_lanes_are_zero_and_read_nothing() {
    on_each_device(|| {
        let texture = Texture2::new(Tensor::from([[[5.0f32], [7.0]], [[5.0], [7.0]]]));
        let mask = Mask::from([true, false, false, true]);
        let at = Vec2::new(Float::from([0.0, 0.5, f32::NAN, 1.0]), Float::from([0.5, 0.5, 0.5, f32::MAX]));
        for filter in FILTERS {
            let values = texture.clone().with_filter(filter).eval_masked(&at, &mask)[0].to_vec().unwrap();
            let rounded: Vec<f32> = values.iter().map(|value| value.round()).collect();
            assert_eq!(rounded, [5.0, 0.0, 0.0, 7.0], "{filter:?}");
        }
    });
}

/// Stored texels of a type, read in single precision.
fn stored<T: Texel>(texels: [T; 3]) -> Vec<f32> {
    let texture = Texture1::new(Tensor::from_array(texels, [3, 1])).with_filter(Filter::Nearest);
    texture.eval(&Float::from([0.1, 0.5, 0.9]))[0].to_vec().unwrap()
}

#[test]
fn texels_of_every_type() {
    on_each_device(|| {
        assert_eq!(stored([0u8, 51, 255]), [0.0, 0.2, 1.0]);
        assert_eq!(stored([0u16, 13_107, 65_535]), [0.0, 0.2, 1.0]);
        assert_eq!(stored([0.5, 1.5, -3.0].map(f16::from_f32)), [0.5, 1.5, -3.0]);
        assert_eq!(stored([0.5, 1.5, -3.0].map(bf16::from_f32)), [0.5, 1.5, -3.0]);
        assert_eq!(stored([0.5f64, 1.5, -3.0]), [0.5, 1.5, -3.0]);
        let texture = Texture1::new(Tensor::from([[0.1f64], [0.2]]));
        assert_eq!(texture.eval(&Float64::from(0.25))[0].item().unwrap(), 0.1);
    });
}

#[test]
fn corners_are_fetched() {
    on_each_device(|| {
        let texels = Tensor::<f32>::arange([2, 3, 4, 2]);
        let texture = Texture3::new(&texels).with_wrap(Wrap::Repeat);
        // Between the texels 3 and 0 along x, 1 and 2 along y, 1 and 0 along z.
        let corners = texture.fetch(&Vec3::new(Float::from(1.0), 0.6, 0.9));
        let at = |z, y, x, channel| (((z * 3 + y) * 4 + x) * 2 + channel) as f32;
        for (corner, values) in corners.iter().enumerate() {
            let (x, y, z) = ([3, 0][corner & 1], [1, 2][corner >> 1 & 1], [1, 0][corner >> 2]);
            assert_eq!(values[0].item().unwrap(), at(z, y, x, 0), "{corner}");
            assert_eq!(values[1].item().unwrap(), at(z, y, x, 1), "{corner}");
        }
        assert_eq!(corners.len(), 8);
        let halves = texture.fetch(&[1.0, 0.6, 0.9].map(|x| Half::from(f16::from_f32(x))));
        assert_eq!(halves[0][1].item().unwrap().to_f32(), at(1, 1, 3, 1));
    });
}

#[test]
fn texels_are_replaced() {
    on_each_device(|| {
        let mut texture = Texture2::<f32>::zeros([1, 2], 1);
        assert_eq!((texture.shape(), texture.channels()), (&[1, 2][..], 1));
        texture.set_array([3.0, 4.0]);
        let at = Vec2::new(Float::from([0.25, 0.5, 0.75]), 0.5);
        assert_eq!(texture.eval(&at)[0].to_vec().unwrap(), [3.0, 3.5, 4.0]);
        texture.set_tensor(Tensor::full(2.0, [4, 4, 3]));
        assert_eq!(texture.eval(&at)[2].to_vec().unwrap(), [2.0; 3]);
        assert_eq!(texture.tensor().shape(), [4, 4, 3]);
        assert_eq!(jit::leaves(&texture).into_iter().filter(|(path, _)| path.starts_with("texels")).count(), 1);
    });
}

#[jit]
fn march(volume: &Texture1, start: &Float, steps: u32) -> Float {
    let (mut position, mut sum, mut step) = (start.clone(), start.zeros_like(), start.zeros_like().cast::<u32>());
    while position < 1.0 && step < steps {
        sum += volume.eval(&position)[0].clone();
        position += 0.25;
        step += 1;
    }
    sum
}

#[test]
fn textures_are_read_in_traced_loops() {
    on_each_device(|| {
        let volume = Texture1::new(Tensor::from([[1.0f32], [2.0], [4.0], [8.0]]));
        let sums = march(&volume, &Float::from([0.125, 0.625, 1.0]), 3);
        assert_eq!(sums.to_vec().unwrap(), [7.0, 12.0, 0.0]);
    });
}

#[test]
fn tensors_that_are_not_textures_are_refused() {
    let message = message_of(|| Texture2::new(Tensor::<f32>::zeros([4, 4])));
    assert!(
        message.contains("shape [4, 4] is not a texture of 2 dimensions") && message.contains("texture.rs"),
        "{message}"
    );
    assert!(message_of(|| Texture1::new(Tensor::<u8>::zeros([0, 3]))).contains("there must be a texel"));
    let mut texture = Texture1::<f32>::zeros([4], 1);
    assert!(message_of(move || texture.set_array([1.0, 2.0])).contains("2 elements do not fill the shape [4, 1]"));
    let texture = Texture2::<f32>::zeros([4, 4], 1);
    let (line, message) = (line!(), message_of(|| texture.eval(&Vec2::new(Float::zeros(3), Float::zeros(2)))));
    assert!(message.contains(&format!("texture.rs:{line}")), "{message}");
}
