//! Rays that advance by the distance to the nearest surface (J. Hart, “Sphere Tracing”, 1996).

use jit::linalg::Vec3;
use jit::prelude::*;

use super::{Program, Threads};
use crate::measure::{Bench, RowError};

/// The centres and radii of the balls, which lie on a plane.
const BALLS: [([f32; 3], f32); 3] = [([-1.2, 0.0, 4.0], 1.0), ([1.1, -0.3, 3.2], 0.7), ([0.2, -0.6, 2.2], 0.4)];
const GROUND: f32 = -1.0;

/// The distance of a point to the scene.
#[jit]
fn distance(point: &Vec3) -> Float {
    let mut nearest = point.y - GROUND;
    for (centre, radius) in BALLS {
        nearest = nearest.min((point - Vec3::from(centre)).norm() - radius);
    }
    nearest
}

/// The brightness of each pixel.
#[jit]
fn rendered(width: u32, height: u32) -> Float {
    let i = UInt::arange((width * height) as usize);
    let across = ((i % width).cast::<f32>() + 0.5) / width as f32 * 2.0 - 1.0;
    let down = ((i / width).cast::<f32>() + 0.5) / height as f32 * 2.0 - 1.0;
    let ray = Vec3::new(across * 1.33, -down, 1.5).normalize();
    let mut travelled = Float::from(0.0);
    let mut steps = UInt::from(0);
    let mut light = Float::from(0.0);
    while steps < 100 {
        let point = ray * travelled;
        let near = distance(&point);
        if near < 1e-3 {
            let e = 1e-3;
            let x = distance(&(point + Vec3::new(e, 0.0, 0.0))) - near;
            let y = distance(&(point + Vec3::new(0.0, e, 0.0))) - near;
            let z = distance(&(point + Vec3::new(0.0, 0.0, e))) - near;
            let normal = Vec3::new(x, y, z).normalize();
            light = normal.dot(Vec3::new(0.5, 0.7, -0.5)).max(0.0) + 0.1;
            break;
        }
        travelled += near;
        if travelled > 20.0 {
            break;
        }
        steps += 1;
    }
    light
}

type Vector = [f32; 3];

fn dot(a: Vector, b: Vector) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn normalize(a: Vector) -> Vector {
    let length = dot(a, a).sqrt();
    a.map(|x| x / length)
}

fn plain_distance(p: Vector) -> f32 {
    BALLS.iter().fold(p[1] - GROUND, |nearest, (c, radius)| {
        let d = [p[0] - c[0], p[1] - c[1], p[2] - c[2]];
        nearest.min(dot(d, d).sqrt() - radius)
    })
}

fn plain_pixel(i: usize, width: usize, height: usize) -> f32 {
    let across = ((i % width) as f32 + 0.5) / width as f32 * 2.0 - 1.0;
    let down = ((i / width) as f32 + 0.5) / height as f32 * 2.0 - 1.0;
    let ray = normalize([across * 1.33, -down, 1.5]);
    let mut travelled = 0.0;
    for _ in 0..100 {
        let p = ray.map(|x| x * travelled);
        let near = plain_distance(p);
        if near < 1e-3 {
            let e = 1e-3;
            let beside = [[p[0] + e, p[1], p[2]], [p[0], p[1] + e, p[2]], [p[0], p[1], p[2] + e]];
            let normal = normalize(beside.map(|p| plain_distance(p) - near));
            return dot(normal, [0.5, 0.7, -0.5]).max(0.0) + 0.1;
        }
        travelled += near;
        if travelled > 20.0 {
            break;
        }
    }
    0.0
}

/// G24: balls on a plane, 1280 × 960 pixels.
pub(crate) fn balls(bench: &Bench) -> Result<(), RowError> {
    const SIZE: [usize; 2] = [1280, 960];
    // The mean, as the brightness of single pixels depends on rounding errors of differences.
    let rust = |threads: Threads| {
        let pixels = threads.map(SIZE[0] * SIZE[1], |i| plain_pixel(i, SIZE[0], SIZE[1]));
        vec![pixels.iter().map(|&light| f64::from(light)).sum::<f64>()]
    };
    let jit = || rendered(SIZE[0] as u32, SIZE[1] as u32).cast::<f64>().sum();
    Program { workload: "G24", tolerance: 1e-3, jit: &jit, frozen: None, rust: &rust }.run(bench)
}
