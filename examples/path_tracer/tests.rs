//! Compares the shapes with plain Rust in double precision, and checks laws that light obeys.

use jit::linalg::Vec3;
use jit::prelude::*;
use jit::random::Pcg32;

use crate::develop;
use crate::integrator::{Film, radiance};
use crate::materials::{Glass, Material, Matte, Meeting, Metal};
use crate::scene::{Scene, camera_rays};
use crate::shapes::{Cuboid, Ray, Rectangle, Shape, Sphere, Torus};

type Point = [f64; 3];

fn dot(a: Point, b: Point) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn along(ray: (Point, Point), distance: f64) -> Point {
    std::array::from_fn(|i| ray.0[i] + distance * ray.1[i])
}

/// Returns the distance of a point from the shape, negative inside.
fn outside(shape: &dyn Fn(Point) -> f64, ray: (Point, Point)) -> Option<f64> {
    // Small steps along the ray, then bisection of the one in which the sign changes.
    let step = 1.0 / 512.0;
    let begin = shape(along(ray, 1e-3)) > 0.0;
    let after = (1..20 * 512).map(|i| f64::from(i) * step).find(|t| (shape(along(ray, *t)) > 0.0) != begin)?;
    let (mut low, mut high) = (after - step, after);
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        if (shape(along(ray, middle)) > 0.0) == begin { low = middle } else { high = middle }
    }
    Some(high)
}

/// Creates rays from around a shape to somewhere near it.
fn rays(count: usize) -> Ray {
    let mut rng = Pcg32::new(count, 5);
    let mut point = |size: f32| Vec3::new(rng.next_f32(), rng.next_f32(), rng.next_f32()) * (2.0 * size) - size;
    let (origin, target) = (point(4.0), point(1.0));
    Ray { direction: (target - &origin).normalize(), origin }
}

/// Compares a shape with its definition on many rays; both must hit equally often.
fn agrees(shape: &dyn Shape, definition: &dyn Fn(Point) -> f64) {
    let ray = rays(300);
    let distance = shape.distance(&ray);
    let normal = shape.normal(&ray.at(&distance));
    let (distance, normal) = (distance.to_vec().unwrap(), normal.to_vec().unwrap());
    let (origins, directions) = (ray.origin.to_vec().unwrap(), ray.direction.to_vec().unwrap());
    let mut hits = 0;
    for lane in 0..distance.len() {
        let ray = (origins[lane].map(f64::from), directions[lane].map(f64::from));
        let Some(wanted) = outside(definition, ray) else {
            // A hit that the steps miss is a graze.
            let got = f64::from(distance[lane]);
            assert!(got.is_infinite() || definition(along(ray, got)).abs() < 1e-3, "lane {lane}: {got}");
            continue;
        };
        hits += 1;
        let got = f64::from(distance[lane]);
        // A ray that dips into the shape by less than a hundredth may miss it.
        let deepest = (0..400).map(|i| -definition(along(ray, wanted + 1e-3 * f64::from(i)))).fold(0.0, f64::max);
        if got.is_infinite() && deepest < 1e-2 {
            continue;
        }
        // At a grazing angle a small error of the surface is a large one of the distance.
        let error = (definition(along(ray, got)).abs(), (got - wanted).abs());
        assert!(error.0 < 1e-3 && error.1 < 2e-2, "lane {lane}: {got}, {wanted}; as deep as {deepest}");
        let at = along(ray, wanted);
        let gradient: Point = std::array::from_fn(|i| {
            let moved = |by: f64| definition(std::array::from_fn(|j| at[j] + if i == j { by } else { 0.0 }));
            moved(1e-5) - moved(-1e-5)
        });
        let cosine = dot(gradient, normal[lane].map(f64::from)) / dot(gradient, gradient).sqrt();
        assert!(cosine > 0.98, "lane {lane}: normal {:?}, gradient {gradient:?}", normal[lane]);
    }
    assert!((30..280).contains(&hits), "{hits} rays meet the shape");
}

#[test]
fn spheres_are_where_they_are() {
    agrees(&Sphere { centre: [0.2, -0.3, 0.5], radius: 1.1 }, &|p| {
        let q = [p[0] - 0.2, p[1] + 0.3, p[2] - 0.5];
        dot(q, q).sqrt() - 1.1
    });
}

#[test]
fn boxes_are_where_they_are() {
    let turn = 0.6_f64;
    agrees(&Cuboid { centre: [0.1, 0.2, -0.3], half: [0.8, 0.5, 1.1], turn: turn as f32 }, &|p| {
        let q = [p[0] - 0.1, p[1] - 0.2, p[2] + 0.3];
        let q = [q[0] * turn.cos() - q[2] * turn.sin(), q[1], q[0] * turn.sin() + q[2] * turn.cos()];
        (q[0].abs() - 0.8).max(q[1].abs() - 0.5).max(q[2].abs() - 1.1)
    });
}

#[test]
fn rings_are_where_they_are() {
    let (x, y) = (0.6_f64, 0.8_f64);
    let ring = Torus { centre: [0.1, 0.0, 0.2], axis: [x as f32, y as f32, 0.0], radius: 1.0, thickness: 0.4 };
    agrees(&ring, &|p| {
        let q = [p[0] - 0.1, p[1], p[2] - 0.2];
        let height = q[0] * x + q[1] * y;
        let outwards = (dot(q, q) - height * height).max(0.0).sqrt() - 1.0;
        outwards.hypot(height) - 0.4
    });
}

#[test]
fn rectangles_are_met_inside_of_their_edges() {
    let shape = Rectangle { corner: [-1.0, 0.5, -1.0], edges: [[2.0, 0.0, 0.0], [0.0, 0.0, 1.0]] };
    assert_eq!((shape.area(), shape.facing()), (2.0, [0.0, -1.0, 0.0]));
    let ray = rays(300);
    let distance = shape.distance(&ray).to_vec().unwrap();
    let (origins, directions) = (ray.origin.to_vec().unwrap(), ray.direction.to_vec().unwrap());
    let mut hits = 0;
    for (lane, distance) in distance.into_iter().enumerate() {
        let wanted = (0.5 - origins[lane][1]) / directions[lane][1];
        let at = |i: usize| origins[lane][i] + wanted * directions[lane][i];
        let is_met = wanted > 0.0 && (-1.0..=1.0).contains(&at(0)) && (-1.0..=0.0).contains(&at(2));
        hits += u32::from(is_met);
        assert!(if is_met { (distance - wanted).abs() < 1e-4 } else { distance.is_infinite() }, "lane {lane}");
    }
    assert!(hits > 30, "{hits}");
}

/// Returns the bounces off a surface that faces up, of rays that come down or, from inside, up.
fn bounces(material: &dyn Material, direction: [f32; 3]) -> (Vec<[f32; 3]>, Vec<[f32; 3]>) {
    let mut rng = Pcg32::new(2000, 9);
    let random = Vec3::new(rng.next_f32(), rng.next_f32(), rng.next_f32());
    let length = direction.iter().map(|x| x * x).sum::<f32>().sqrt();
    let meeting = Meeting {
        direction: Vec3::from(direction.map(|x| x / length)),
        point: Vec3::zeros(2000),
        normal: Vec3::unit(1),
        random,
    };
    let bounce = material.bounce(&meeting);
    let weight = bounce.weight + Vec3::zeros(2000);
    (bounce.direction.to_vec().unwrap(), weight.to_vec().unwrap())
}

#[test]
fn no_material_adds_light() {
    let metal = Metal { color: [0.9, 0.8, 0.7], roughness: 0.3 };
    let glass = Glass { color: [1.0; 3], index: 1.5 };
    let matte = Matte::plain([0.5, 0.6, 0.7]);
    for material in [&metal as &dyn Material, &glass, &matte] {
        for direction in [[0.3, -1.0, 0.2], [1.0, -0.05, 0.0]] {
            let (directions, weights) = bounces(material, direction);
            for (direction, weight) in directions.iter().zip(&weights) {
                assert!((dot(direction.map(f64::from), direction.map(f64::from)) - 1.0).abs() < 1e-4, "{direction:?}");
                assert!(weight.iter().all(|x| (0.0..=1.0).contains(x)), "{weight:?}");
            }
        }
    }
}

#[test]
fn light_is_bent_by_snells_law_and_reflected_in_total() {
    let glass = Glass { color: [1.0; 3], index: 1.5 };
    let (directions, _) = bounces(&glass, [1.0, -1.0, 0.0]);
    let through: Vec<_> = directions.iter().filter(|direction| direction[1] < 0.0).collect();
    // Schlick: 0.04 + 0.96 (1 − cos)⁵.
    let share = 1.0 - through.len() as f64 / directions.len() as f64;
    assert!((share - 0.042).abs() < 0.02, "{share}");
    let sine = std::f32::consts::FRAC_1_SQRT_2 / 1.5;
    assert!(through.iter().all(|direction| (direction[0] - sine).abs() < 1e-4));
    let (directions, _) = bounces(&glass, [1.0, 0.5, 0.0]);
    assert!(directions.iter().all(|direction| direction[1] < 0.0), "all stays inside");
}

/// In a white environment that emits as much light as it absorbs, everything looks the same.
#[test]
fn white_things_vanish_before_a_white_sky() {
    let spheres: [Box<dyn Shape>; 2] = [
        Box::new(Sphere { centre: [0.0, 0.8, 0.0], radius: 0.8 }),
        Box::new(Sphere { centre: [1.2, 0.5, 0.8], radius: 0.5 }),
    ];
    let white: [Box<dyn Material>; 2] =
        [Box::new(Matte::plain([1.0; 3])), Box::new(Glass { color: [1.0; 3], index: 1.5 })];
    let nowhere = Rectangle { corner: [0.0, -90.0, 0.0], edges: [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]] };
    let (shapes, materials) = (Instances::from_iter(spheres), Instances::from_iter(white));
    let (lamp, lamp_corner) = ((nowhere, [0.0; 3]), Vec3::zeros(1));
    let scene = Scene { shapes, materials, lamp, lamp_corner, sky: [[1.0; 3]; 2] };
    let mut rng = Pcg32::new(24 * 24, 3);
    let ray = camera_rays(24, 24, &mut rng);
    let (light, _) = radiance(&scene, ray, &mut rng);
    let light = light.x.to_vec().unwrap();
    // Paths longer than the maximum are dark; roulette compensates for those that it ends.
    let mean = light.iter().sum::<f32>() / light.len() as f32;
    assert!((mean - 1.0).abs() < 0.03, "{mean}");
    assert!(light.iter().filter(|x| (**x - 1.0).abs() < 1e-3).count() > light.len() / 2);
}

#[test]
fn the_picture_has_light_shadow_and_gold() {
    let scene = Scene::studio();
    let mut film = Film::new((32, 32), 1);
    jit::eval(&film).unwrap();
    for _ in 0..16 {
        film.expose(&scene);
        jit::eval(&film).unwrap();
    }
    let light = film.light.to_vec().unwrap();
    assert!(light.iter().flatten().all(|x| x.is_finite() && *x >= 0.0));
    let picture = develop(&film, (32, 32), 16).unwrap();
    let brightness = |x: u32, y: u32| picture.get_pixel(x, y).0.iter().map(|byte| u32::from(*byte)).sum::<u32>();
    let all = (0..32).flat_map(|y| (0..32).map(move |x| (x, y)));
    let (darkest, brightest) =
        all.fold((u32::MAX, 0), |(low, high), (x, y)| (low.min(brightness(x, y)), high.max(brightness(x, y))));
    assert!(darkest < 260 && brightest > 600, "{darkest} {brightest}");
    let golden =
        picture.pixels().filter(|pixel| pixel.0[0] > 100 && u32::from(pixel.0[2]) * 3 < u32::from(pixel.0[0]) * 2);
    assert!(golden.count() > 20);
}
