//! Vectors.

use half::f16;
use jit::linalg::{Vec2, Vec3, Vec4};
use jit::prelude::*;
use jit::trees;

use crate::devices::{assert_close, on_each_device};

const A: [[f32; 3]; 3] = [[1.0, 2.0, 3.0], [-4.0, 0.5, 8.0], [0.0, -1.0, 0.25]];
const B: [[f32; 3]; 3] = [[2.0, -1.0, 0.5], [3.0, 4.0, -2.0], [7.0, 1.0, 1.0]];

fn lanes() -> (Vec3, Vec3) {
    (Vec3::from(A), Vec3::from(B))
}

fn by_component(f: impl Fn(f32, f32) -> f32) -> Vec<[f32; 3]> {
    let lane = |(a, b): (&[f32; 3], &[f32; 3])| std::array::from_fn(|k| f(a[k], b[k]));
    A.iter().zip(&B).map(lane).collect()
}

#[test]
fn vectors_are_made_from_components_constants_and_lanes() {
    on_each_device(|| {
        let x = Float::from([1.0, 2.0]);
        assert_eq!(Vec3::new(&x, 0.5, 3).to_vec().unwrap(), [[1.0, 0.5, 3.0], [2.0, 0.5, 3.0]]);
        assert_eq!(Vec2::splat(x.clone()).to_vec().unwrap(), [[1.0, 1.0], [2.0, 2.0]]);
        assert_eq!(Vec3::from([1.0f64, 2.0, 3.0]).item().unwrap(), [1.0, 2.0, 3.0]);
        assert_eq!(Vec4::<i32>::zeros(2).to_vec().unwrap(), [[0; 4]; 2]);
        assert_eq!(Vec3::<u64>::unit(1).item().unwrap(), [0, 1, 0]);
        assert_eq!(Vec2::<f32>::default().item().unwrap(), [0.0; 2]);
        assert_eq!(Vec3::from(A).get(1).unwrap(), A[1]);
        assert_eq!(A.into_iter().collect::<Vec3>().to_vec().unwrap(), A);
        let pair = Vec2 { x: x.clone(), y: x * 2.0 };
        assert_eq!((pair.len(), pair.width().get()), (2, 2));
        let [x, y] = pair.into();
        assert_eq!(Vec2::from([y, x]).to_vec().unwrap(), [[2.0, 1.0], [4.0, 2.0]]);
    });
}

#[test]
fn operators_work_by_component_with_values_references_and_numbers() {
    on_each_device(|| {
        let (a, b) = lanes();
        let s = Float::from([2.0, 4.0, 8.0]);
        assert_eq!((&a + &b).to_vec().unwrap(), by_component(|a, b| a + b));
        assert_eq!((a.clone() - &b).to_vec().unwrap(), by_component(|a, b| a - b));
        assert_eq!((&a * b.clone()).to_vec().unwrap(), by_component(|a, b| a * b));
        assert_eq!((a.clone() / b.clone()).to_vec().unwrap(), by_component(|a, b| a / b));
        assert_eq!((&a % &b).to_vec().unwrap(), by_component(|a, b| a % b));
        assert_eq!((&a * 2.0).to_vec().unwrap(), by_component(|a, _| a * 2.0));
        assert_eq!((&a * 2).to_vec().unwrap(), by_component(|a, _| a * 2.0));
        assert_eq!((1.0 - &a).to_vec().unwrap(), by_component(|a, _| 1.0 - a));
        assert_eq!((1 / b.clone()).to_vec().unwrap(), by_component(|_, b| 1.0 / b));
        assert_eq!((-&a).to_vec().unwrap(), by_component(|a, _| -a));
        assert_eq!((&s * &a).to_vec().unwrap(), (&a * s.clone()).to_vec().unwrap());
        assert_eq!((s * &a).get(2).unwrap(), [0.0, -8.0, 2.0]);
        let mut c = a.clone();
        c += &b;
        c -= b.clone();
        c *= 3.0;
        c /= Float::from(3.0);
        assert_eq!(c.to_vec().unwrap(), A);
        let bits = Vec2::from([[6u32, 1], [5, 3]]);
        assert_eq!((&bits << 1).to_vec().unwrap(), [[12, 2], [10, 6]]);
        assert_eq!((!(bits & 3)).to_vec().unwrap(), [[!2, !1], [!1, !3]]);
        assert_eq!((2.0f32 * Vec2::<f16>::from([f16::ONE, f16::ONE])).item().unwrap(), [f16::from_f32(2.0); 2]);
        assert_eq!([&a, &b].into_iter().sum::<Vec3>().to_vec().unwrap(), by_component(|a, b| a + b));
    });
}

#[test]
fn components_are_reached_by_name_number_and_swizzle() {
    on_each_device(|| {
        let (mut a, _) = lanes();
        assert_eq!(a[2].to_vec().unwrap(), [3.0, 8.0, 0.25]);
        assert_eq!(a.zyx().get(0).unwrap(), [3.0, 2.0, 1.0]);
        assert_eq!(a.xy().yx().get(0).unwrap(), [2.0, 1.0]);
        assert_eq!(a.extend(1.0).wzyx().get(0).unwrap(), [1.0, 3.0, 2.0, 1.0]);
        assert_eq!(a.xy().extend(&a.x).get(1).unwrap(), [-4.0, 0.5, -4.0]);
        a[0] = Float::from(9.0);
        a.y += 1.0;
        assert_eq!(a.get(0).unwrap(), [9.0, 3.0, 3.0]);
        assert_eq!(a.components()[0].item().unwrap(), 9.0);
        assert_eq!(a.cast::<i32>().get(1).unwrap(), [9, 1, 8]);
        assert_eq!(a.map(|c| c * 2.0).get(1).unwrap(), [18.0, 3.0, 16.0]);
    });
}

#[test]
#[should_panic(expected = "index out of bounds")]
fn a_component_that_does_not_exist_is_refused() {
    let _ = &Vec2::<f32>::default()[2];
}

#[test]
fn products_and_lengths() {
    on_each_device(|| {
        let (a, b) = lanes();
        let dots: Vec<f32> = A.iter().zip(&B).map(|(a, b)| a.iter().zip(b).map(|(a, b)| a * b).sum()).collect();
        assert_close(&a.dot(&b).to_vec().unwrap(), &dots, 1e-6);
        let dots: Vec<f32> = dots.into_iter().map(f32::abs).collect();
        assert_close(&a.abs_dot(b.clone()).to_vec().unwrap(), &dots, 1e-6);
        let cross = a.cross(&b);
        for (lane, got) in cross.to_vec().unwrap().into_iter().enumerate() {
            let ([x, y, z], [u, v, w]) = (A[lane], B[lane]);
            assert_eq!(got, [y * w - z * v, z * u - x * w, x * v - y * u]);
        }
        assert_close(&a.norm().to_vec().unwrap(), &[14f32.sqrt(), 80.25f32.sqrt(), 1.0625f32.sqrt()], 1e-6);
        assert_eq!(a.squared_norm().get(0).unwrap(), 14.0);
        assert_close(&a.normalize().norm().to_vec().unwrap(), &[1.0; 3], 1e-6);
        assert_eq!(a.distance(&b).get(0).unwrap(), 16.25f32.sqrt());
        assert_eq!(a.squared_distance(b).get(0).unwrap(), 16.25);
        assert_eq!(Vec2::from([3.0, 4.0]).perpendicular().item().unwrap(), [-4.0, 3.0]);
        assert_eq!(Vec2::from([3.0, 4.0]).perpendicular_dot(Vec2::from([5.0, 6.0])).item().unwrap(), -2.0);
        assert_eq!(a.project_onto([2.0, 0.0, 0.0].into_vec()).get(0).unwrap(), [1.0, 0.0, 0.0]);
    });
}

/// A constant vector whose element type is that of the operation.
trait IntoVec {
    fn into_vec(self) -> Vec3;
}

impl IntoVec for [f32; 3] {
    fn into_vec(self) -> Vec3 {
        self.into()
    }
}

#[test]
fn a_vector_has_no_cross_product_with_itself_even_after_rounding() {
    on_each_device(|| {
        let a = Vec3::new(0.1, Float::from([0.7, 1e-20]), 1.0 / 3.0);
        assert_eq!(a.cross(&a).to_vec().unwrap(), [[0.0; 3]; 2]);
        // 33962.035 * -30438.8 - 41563.4 * -24871.969, of which little but the rounding error remains.
        let (a, b) = (Vec2::from([33962.035f32, 41563.4]), Vec2::from([-24871.969f32, -30438.8]));
        let exact = 33962.035f32 as f64 * -30438.8f32 as f64 - 41563.4f32 as f64 * -24871.969f32 as f64;
        assert_eq!(a.perpendicular_dot(b).item().unwrap(), exact as f32);
        assert_eq!(Vec3::from([1i32, 2, 3]).cross(Vec3::from([4, 5, 6])).item().unwrap(), [-3, 6, -3]);
    });
}

#[test]
fn the_zero_vector_has_no_direction() {
    on_each_device(|| {
        let a = Vec3::from([[0.0, 0.0, 0.0], [0.0, 2.0, 0.0]]);
        assert!(a.normalize().get(0).unwrap().iter().all(|c: &f32| c.is_nan()));
        assert_eq!(a.normalize_or(Vec3::unit(2)).to_vec().unwrap(), [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]);
        assert_eq!(a.normalize_or(0.0).get(0).unwrap(), [0.0; 3]);
    });
}

#[test]
fn rays_are_reflected_and_refracted() {
    on_each_device(|| {
        let slope = 0.5f32.sqrt();
        let (ray, normal) = (Vec3::from([slope, -slope, 0.0]), Vec3::from([0.0, 1.0, 0.0]));
        assert_close(&ray.reflect(&normal).item().unwrap(), &[slope, slope, 0.0], 1e-6);
        // Snell's law: 1 * sin(45°) = 1.5 * sin(angle behind).
        let sine = slope / 1.5;
        let behind = ray.refract(&normal, 1.0 / 1.5).item().unwrap();
        assert_close(&behind, &[sine, -(1.0 - sine * sine).sqrt(), 0.0], 1e-6);
        assert_eq!(ray.refract(&normal, 1.5).item().unwrap(), [0.0; 3]);
    });
}

#[test]
fn component_wise_functions() {
    on_each_device(|| {
        let (a, b) = lanes();
        assert_eq!(a.min(&b).to_vec().unwrap(), by_component(f32::min));
        assert_eq!(a.max(&b).to_vec().unwrap(), by_component(f32::max));
        assert_eq!(a.clamp(-1.0, 2.0).to_vec().unwrap(), by_component(|a, _| a.clamp(-1.0, 2.0)));
        assert_eq!(a.abs().to_vec().unwrap(), by_component(|a, _| a.abs()));
        assert_eq!(a.floor().to_vec().unwrap(), by_component(|a, _| a.floor()));
        assert_eq!(a.mul_add(&b, 1.0).to_vec().unwrap(), by_component(|a, b| a.mul_add(b, 1.0)));
        assert_eq!(a.lerp(&b, 0.0).to_vec().unwrap(), A);
        assert_eq!(a.lerp(&b, 1.0).to_vec().unwrap(), B);
        assert_eq!(a.lerp(&b, 0.5).get(0).unwrap(), [1.5, 0.5, 1.75]);
        assert_eq!(a.component_sum().to_vec().unwrap(), [6.0, 4.5, -0.75]);
        assert_eq!(a.component_product().to_vec().unwrap(), [6.0, -16.0, 0.0]);
        assert_eq!(a.component_min().to_vec().unwrap(), [1.0, -4.0, -1.0]);
        assert_eq!(a.component_max().to_vec().unwrap(), [3.0, 8.0, 0.25]);
    });
}

#[test]
fn vectors_are_compared_and_selected() {
    on_each_device(|| {
        let (a, b) = lanes();
        let less = a.lt(&b);
        assert_eq!(less.get(0).unwrap(), [true, false, false]);
        assert_eq!(less.select(&a, &b).to_vec().unwrap(), by_component(f32::min));
        assert_eq!(a.ge(0.0).all_components().to_vec().unwrap(), [true, false, false]);
        assert_eq!(a.eq(0.0).any_component().to_vec().unwrap(), [false, false, true]);
        assert_eq!(a.ge(-1.0).all().item().unwrap(), [false, true, true]);
        assert_eq!(a.lt(0.0).count().item().unwrap(), [1, 1, 0]);
        let chosen = trees::select(&a.x.gt(0.0), &a, &b);
        assert_eq!(chosen.to_vec().unwrap(), [A[0], B[1], B[2]]);
    });
}

#[test]
fn vectors_are_gathered_and_laid_out_flat() {
    on_each_device(|| {
        let (a, _) = lanes();
        assert_eq!(a.gather(&UInt::from([2, 0])).to_vec().unwrap(), [A[2], A[0]]);
        let flat = Float::from([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        for index in [0, 1] {
            let wanted = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]][index as usize];
            assert_eq!(Vec3::gather_interleaved(&flat, &UInt::from(index)).item().unwrap(), wanted);
            assert_eq!(Vec3::gather_interleaved(&flat, &Int8::from(index as i8)).item().unwrap(), wanted);
        }
        let mask = Mask::from([true, false]);
        let masked = Vec2::gather_interleaved_masked(&flat, &UInt::from([2, 99]), &mask);
        assert_eq!(masked.to_vec().unwrap(), [[5.0, 6.0], [0.0, 0.0]]);
        assert_eq!(Vec3::from_interleaved(&flat).to_vec().unwrap(), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
        assert_eq!(a.to_interleaved().to_vec().unwrap(), A.concat());
        assert_eq!(Vec2::new(&flat, 7.0).to_interleaved().len(), 12);
    });
}

#[test]
#[should_panic(expected = "5 elements are not a whole number of vectors of 2 components")]
fn a_flat_array_that_ends_within_a_vector_is_refused() {
    let _ = Vec2::from_interleaved(&Float::from([1.0; 5]));
}

#[test]
fn lanes_are_reduced_by_component() {
    on_each_device(|| {
        let (a, _) = lanes();
        assert_eq!(a.sum().item().unwrap(), [-3.0, 1.5, 11.25]);
        assert_eq!(a.mean().item().unwrap(), [-1.0, 0.5, 3.75]);
        assert_eq!(a.reduce_min().item().unwrap(), [-4.0, -1.0, 0.25]);
        assert_eq!(a.reduce_max().item().unwrap(), [1.0, 2.0, 8.0]);
    });
}

#[test]
fn vectors_print_as_rows() {
    on_each_device(|| {
        let a = Vec2::new(Float::from([1.0, 2.5]), 3.0);
        assert_eq!(a.to_string(), "[[1, 3],\n [2.5, 3]]");
        let long = Vec2::new(UInt::arange(1000), UInt::from(7));
        assert_eq!(long.to_string(), "[[0, 7],\n [1, 7],\n [2, 7],\n …,\n [997, 7],\n [998, 7],\n [999, 7]]");
        assert!(format!("{:?}", Vec2::new(&a.x, &a.y * 2.0)).starts_with("Vec2 { x: Array<f32>(width 2"));
    });
}

#[test]
fn leaves_have_the_names_of_components() {
    let paths: Vec<String> = jit::leaves(&(Vec3::<f32>::zeros(2),)).into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["0.x", "0.y", "0.z"]);
}

#[jit]
fn fall(position: &Vec3, velocity: Vec3, steps: u32) -> (Vec3, UInt) {
    let (mut position, mut velocity) = (position.clone(), velocity);
    let mut bounces = UInt::zeros(position.width());
    for _ in 0..steps {
        velocity.y -= 1.0;
        position += velocity * 0.5;
        if position.y < 0.0 {
            position = position * Vec3::new(1.0, 0.0, 1.0);
            velocity = velocity.reflect(Vec3::unit(1)) * 0.5;
            bounces += 1;
        }
    }
    (position, bounces)
}

#[jit]
fn shrink(v: &Vec3, limit: f32) -> (Vec3, UInt) {
    let (mut v, mut halvings) = (v.clone(), UInt::from(0));
    while (v.abs() > limit).any_component() {
        v = if v.x > v.y { v * 0.5 } else { v.yxz() * 0.25 };
        halvings += 1;
    }
    (v, halvings)
}

#[test]
fn vectors_are_state_of_traced_branches_and_loops() {
    on_each_device(|| {
        let start = Vec3::from([[0.0, 10.0, 0.0], [0.0, 0.25, 1.0]]);
        let (end, bounces) = fall(&start, Vec3::from([1.0, 0.0, 0.0]), 3);
        let mut wanted = Vec::new();
        for [mut x, mut y, z] in [[0.0f32, 10.0, 0.0], [0.0, 0.25, 1.0]] {
            let (mut u, mut v, mut bounces) = (1.0f32, 0.0f32, 0);
            for _ in 0..3 {
                v -= 1.0;
                (x, y) = (x + u * 0.5, y + v * 0.5);
                if y < 0.0 {
                    y = 0.0;
                    (u, v) = (u * 0.5, -v * 0.5);
                    bounces += 1;
                }
            }
            wanted.push(([x, y, z], bounces));
        }
        assert_eq!(end.to_vec().unwrap(), [wanted[0].0, wanted[1].0]);
        assert_eq!(bounces.to_vec().unwrap(), [wanted[0].1, wanted[1].1]);

        let (small, halvings) = shrink(&Vec3::from([[8.0, 1.0, 1.0], [1.0, 8.0, -0.5], [0.5, 0.5, 0.5]]), 1.0);
        assert_eq!(halvings.to_vec().unwrap(), [3, 2, 0]);
        assert_eq!(small.to_vec().unwrap(), [[1.0, 0.125, 0.125], [1.0, 0.125, -0.0625], [0.5, 0.5, 0.5]]);
    });
}
