//! Light paths, traced backwards from the camera (J. Kajiya, “The Rendering Equation”, 1986).

use jit::linalg::Vec3;
use jit::prelude::*;
use jit::random::Pcg32;

use crate::materials::{Material, Meeting};
use crate::scene::{Scene, camera_rays};
use crate::shapes::{Ray, Shape};

/// The maximum number of surfaces on a path.
const LONGEST: u32 = 12;
/// From here on a path ends by chance; the darker it is, the more likely.
const ROULETTE: u32 = 3;
/// The limit of light that a path finds by chance after a matte surface: single bright points would need many passes to
/// average out.
const BRIGHTEST: f32 = 3.0;

/// The film: the state that is retained from pass to pass.
#[derive(Traverse)]
pub(crate) struct Film {
    /// The light of all passes, added up.
    pub(crate) light: Vec3,
    /// The number of rays that were traced for each pixel.
    pub(crate) rays: UInt,
    rng: Pcg32,
    #[traverse(constexpr)]
    size: (u32, u32),
}

impl Film {
    pub(crate) fn new((width, height): (u32, u32), seed: u64) -> Self {
        let pixels = (width * height) as usize;
        Film {
            light: Vec3::zeros(pixels),
            rays: UInt::zeros(pixels),
            rng: Pcg32::new(pixels, seed),
            size: (width, height),
        }
    }

    /// Records one more path for each pixel; computes nothing.
    pub(crate) fn expose(&mut self, scene: &Scene) {
        let (width, height) = self.size;
        let ray = camera_rays(width, height, &mut self.rng);
        let (light, rays) = radiance(scene, ray, &mut self.rng);
        self.light += light;
        self.rays += rays;
    }
}

/// Returns the light along rays, and the number of rays it took to find it.
#[jit]
pub(crate) fn radiance(scene: &Scene, mut ray: Ray, rng: &mut Pcg32) -> (Vec3, UInt) {
    let mut light = Vec3::zeros(1);
    let mut throughput = Vec3::splat(1.0);
    let mut rays = UInt::from(0);
    let mut length = UInt::from(0);
    // Light of the lamp is sampled at matte surfaces, so it is not counted again if a path hits the lamp.
    let mut counts_glow = Mask::from(true);
    let mut is_direct = Mask::from(true);
    while length < LONGEST {
        let hit = scene.nearest(&ray);
        rays += 1;
        let most = if is_direct { Float::from(f32::INFINITY) } else { Float::from(BRIGHTEST) };
        if hit.id == 0 {
            light += (throughput * scene.sky(&ray.direction)).min(&most);
            break;
        }
        let point = ray.at(&hit.distance);
        let normal = scene.shapes.at(&hit.id).normal(&point);
        let random = Vec3::new(rng.next_f32(), rng.next_f32(), rng.next_f32());
        let meeting = Meeting { direction: ray.direction.clone(), point, normal, random };
        let bounce = scene.materials.at(&hit.id).bounce(&meeting);
        if counts_glow {
            light += (throughput * bounce.glow).min(&most);
        }
        throughput *= bounce.weight;
        // On the side where the path continues, slightly off the surface.
        let side = bounce.direction.dot(&meeting.normal).sign();
        let start = meeting.point + meeting.normal * (side * 1e-3);
        if bounce.is_diffuse {
            light += (throughput * scene.lamplight(&start, &(meeting.normal * side), rng)).min(&most);
            rays += 1;
            is_direct = Mask::from(false);
        }
        counts_glow = !bounce.is_diffuse;
        let mut survival = throughput.component_max();
        if length >= ROULETTE {
            survival = survival.clamp(0.0, 0.95);
            if rng.next_f32() >= survival {
                break;
            }
            throughput /= survival;
        } else if survival <= 0.0 {
            break;
        }
        ray = Ray { origin: start, direction: bounce.direction };
        length += 1;
    }
    (light, rays)
}
