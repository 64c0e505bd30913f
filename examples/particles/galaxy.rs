//! The galaxies: their initial state and their motion.

use jit::linalg::Vec3;
use jit::prelude::*;
use jit::random::{Generator, rng};

/// Moving bodies, one per lane. The derive lets `#[jit]` and `jit::eval` find the arrays of a struct.
#[derive(Clone, Traverse)]
pub(crate) struct Bodies {
    pub(crate) position: Vec3<f32>,
    pub(crate) velocity: Vec3<f32>,
}

/// Two galaxies. The unit of length is the radius of their discs, and gravity times the mass of either centre is 1.
#[derive(Traverse)]
pub(crate) struct Encounter {
    /// One lane each.
    pub(crate) centres: [Bodies; 2],
    pub(crate) stars: Bodies,
    /// The light that a star emits: see [`Encounter::POPULATIONS`].
    pub(crate) population: UInt,
}

/// Within this distance of a centre its attraction becomes weaker instead of stronger: its mass is spread out.
const SOFTENING: f32 = 0.15;
/// The initial positions of the centres, one on each side.
const START: [f32; 3] = [1.9, 1.15, 0.0];
/// The speed of approach, relative to bodies that just escape.
const SPEED: f32 = 0.8;

impl Encounter {
    /// The inner and outer stars of the first galaxy, then those of the second.
    pub(crate) const POPULATIONS: u32 = 4;

    /// Creates two galaxies on their way, with half of the stars in each.
    pub(crate) fn new(stars: usize, seed: u32) -> Self {
        let distance = 2.0 * (START[0] * START[0] + START[1] * START[1]).sqrt();
        // Two masses of 1 escape each other if their relative speed is √(2 · 2 / distance); each has half of it.
        let speed = SPEED * 0.5 * (4.0 / distance).sqrt();
        let centre = |side: f32| Bodies {
            position: Vec3::new(side * START[0], side * START[1], side * START[2]).make_opaque(),
            velocity: Vec3::new(-side * speed, 0.0, 0.0).make_opaque(),
        };
        let centres = [centre(-1.0), centre(1.0)];
        let mut rng = rng(seed.into());
        let (stars, population) = discs(&centres, &mut rng, stars);
        Encounter { centres, stars, population }
    }
}

/// Creates stars on circular orbits around their centre. Even lanes belong to the first galaxy, whose disc is almost in
/// the plane of the encounter; odd ones to the second, whose disc is tilted.
#[jit]
fn discs(centres: &[Bodies; 2], rng: &mut Generator, count: usize) -> (Bodies, UInt) {
    let lane = UInt::arange(count);
    let is_second = lane % 2 == 1;
    // Equally many stars in each ring, so that the middle is bright; the edge is soft.
    let ring: Float = rng.random(count);
    let softness: Float = rng.normal(0.0, 0.1, count);
    let distance = (0.02 + 0.98 * ring) * softness.exp();
    let angle: Float = rng.uniform(0.0, 2.0 * std::f32::consts::PI, count);
    let height: Float = rng.normal(0.0, 0.015, count);
    let speed = (distance * distance / softened_cube(&(distance * distance))).sqrt();
    let (sine, cosine) = angle.sin_cos();

    let tilt = if is_second { Float::from(-1.1) } else { Float::from(0.25) };
    let (tilt_sine, tilt_cosine) = tilt.sin_cos();
    let tilted = |x: &Float, y: &Float, z: &Float| {
        Vec3::new(x, y * &tilt_cosine - z * &tilt_sine, y * &tilt_sine + z * &tilt_cosine)
    };
    let [first, second] = centres;
    let home = if is_second { second.clone() } else { first.clone() };
    let stars = Bodies {
        position: home.position + tilted(&(distance * cosine), &(distance * sine), &height),
        velocity: home.velocity + tilted(&(-speed * sine), &(speed * cosine), &height.zeros_like()),
    };
    let youth: Float = rng.random(count);
    let is_outer = distance > 0.15 + 0.75 * youth;
    (stars, 2 * is_second.cast::<u32>() + is_outer.cast::<u32>())
}

/// Returns `(distance² + softening²)^(3/2)`, the divisor of a distance for the attraction of a centre (H. Plummer, “On
/// the Problem of Distribution in Globular Star Clusters”, 1911).
#[jit]
fn softened_cube(squared_distance: &Float) -> Float {
    let softened = squared_distance + SOFTENING * SOFTENING;
    softened * softened.sqrt()
}

/// Returns the acceleration of bodies by a centre.
#[jit]
fn pull(at: &Vec3<f32>, centre: &Vec3<f32>) -> Vec3<f32> {
    let towards = centre - at;
    towards / softened_cube(&towards.squared_norm())
}

#[jit]
impl Encounter {
    /// Advances by equal steps: half a step with the speed, a step of acceleration, half a step with the new speed (the
    /// leapfrog, which conserves energy over any time).
    pub(crate) fn advance(&mut self, step: &Float, steps: &UInt) {
        let half = 0.5 * step;
        let mut centres = self.centres.clone();
        let mut done = UInt::from(0);
        while done < steps {
            let [first, second] = advance_centres(&mut centres, step);
            self.stars.position += self.stars.velocity * half;
            self.stars.velocity += (pull(&self.stars.position, &first) + pull(&self.stars.position, &second)) * step;
            self.stars.position += self.stars.velocity * half;
            done += 1;
        }
        // State that a loop changes becomes as wide as the loop. The centres are needed with one lane each, so those of
        // the loop above are discarded, and a narrow loop moves them again.
        let mut done = UInt::from(0);
        while done < steps {
            advance_centres(&mut self.centres, step);
            done += 1;
        }
    }
}

/// Advances both centres, which attract each other and are not affected by the stars; returns their positions in the
/// middle of the step.
#[jit]
fn advance_centres(centres: &mut [Bodies; 2], step: &Float) -> [Vec3<f32>; 2] {
    let half = 0.5 * step;
    let [first, second] = centres;
    let (middle_first, middle_second) =
        (first.position + first.velocity * half, second.position + second.velocity * half);
    first.velocity += pull(&middle_first, &middle_second) * step;
    second.velocity += pull(&middle_second, &middle_first) * step;
    first.position = middle_first + first.velocity * half;
    second.position = middle_second + second.velocity * half;
    [middle_first, middle_second]
}
