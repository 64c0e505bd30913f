//! Colours, distributions, textures, and operations that move elements.

use jit::linalg::Vec2;
use jit::texture::{Filter, Texture1, Texture2, Texture3, Wrap};
use jit::{color, random};

use super::*;
use crate::on_each_device;

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
