//! The scene: objects with a shape and a material, a lamp, a sky, and a camera.

use jit::linalg::Vec3;
use jit::prelude::*;
use jit::random::Pcg32;

use crate::materials::{Glass, Lamp, Material, Matte, Metal};
use crate::shapes::{Cuboid, Ray, Rectangle, Shape, Sphere, Torus};

pub(crate) struct Scene {
    pub(crate) shapes: Instances<dyn Shape>,
    /// The materials of the shapes: that of a shape has the same id.
    pub(crate) materials: Instances<dyn Material>,
    /// The lamp that is sampled from diffuse surfaces: a rectangle and its light.
    pub(crate) lamp: (Rectangle, [f32; 3]),
    /// Where the corner of the lamp is.
    pub(crate) lamp_corner: Vec3,
    /// The light of the sky at the horizon and above.
    pub(crate) sky: [[f32; 3]; 2],
}

fn lamp() -> Rectangle {
    Rectangle { corner: [-3.6, 5.5, -0.4], edges: [[2.6, 0.0, 0.0], [0.0, 0.0, 2.6]] }
}

impl Scene {
    pub(crate) fn studio() -> Self {
        let floor = Matte { colors: [[0.62, 0.6, 0.58], [0.17, 0.18, 0.2]] };
        Scene::with(Box::new(floor), lamp().corner.into())
    }

    /// Returns the scene with another floor, and another place for the corner of the lamp.
    pub(crate) fn with(floor_material: Box<dyn Material>, lamp_corner: Vec3) -> Self {
        let light = [17.0, 15.0, 12.0];
        let sphere = |x: f32, radius: f32, z: f32| Box::new(Sphere { centre: [x, radius, z], radius });
        let floor = Rectangle { corner: [-6.0, 0.0, -6.0], edges: [[0.0, 0.0, 12.0], [12.0, 0.0, 0.0]] };
        let block = Cuboid { centre: [-0.25, 0.55, -1.9], half: [0.55, 0.55, 0.55], turn: 0.6 };
        let ring = Torus { centre: [1.75, 0.98, -0.75], axis: [-0.42, 0.26, 0.87], radius: 0.72, thickness: 0.25 };
        let things: [(Box<dyn Shape>, Box<dyn Material>); 8] = [
            (Box::new(floor), floor_material),
            (Box::new(lamp()), Box::new(Lamp { light })),
            (sphere(-1.55, 1.0, -0.35), Box::new(Metal { color: [0.91, 0.92, 0.92], roughness: 0.02 })),
            (sphere(0.35, 0.62, 0.75), Box::new(Glass { color: [0.98, 0.99, 0.98], index: 1.5 })),
            (Box::new(ring), Box::new(Metal { color: [1.0, 0.71, 0.29], roughness: 0.22 })),
            (Box::new(block), Box::new(Matte::plain([0.62, 0.09, 0.06]))),
            (sphere(-0.75, 0.3, 1.2), Box::new(Matte::plain([0.06, 0.28, 0.5]))),
            (sphere(1.35, 0.26, 1.35), Box::new(Matte::plain([0.1, 0.42, 0.14]))),
        ];
        let (shapes, materials) = things.into_iter().unzip();
        let sky = [[0.62, 0.63, 0.66], [0.16, 0.25, 0.44]];
        Scene { shapes, materials, lamp: (lamp(), light), lamp_corner, sky }
    }
}

/// The first surface along a ray.
pub(crate) struct Hit {
    pub(crate) distance: Float,
    /// The shape that it belongs to; 0 is none.
    pub(crate) id: UInt,
}

#[jit]
impl Scene {
    pub(crate) fn nearest(&self, ray: &Ray) -> Hit {
        let (mut distance, mut id) = (Float::from(f32::INFINITY), UInt::from(0));
        for shape in self.shapes.ids() {
            let found = self.shape(shape).distance(ray);
            if found < distance {
                distance = found;
                id = UInt::from(shape);
            }
        }
        Hit { distance, id }
    }

    /// Returns whether nothing is hit before a distance.
    pub(crate) fn is_free(&self, ray: &Ray, until: &Float) -> Mask {
        let mut is_free = Mask::from(true);
        for shape in self.shapes.ids() {
            is_free &= self.shape(shape).distance(ray) >= until;
        }
        is_free
    }

    /// Returns the same shape in all lanes.
    fn shape(&self, id: u32) -> Ptr<dyn Shape> {
        self.shapes.at(&UInt::from(id))
    }

    pub(crate) fn sky(&self, direction: &Vec3) -> Vec3 {
        let [horizon, above] = self.sky.map(Vec3::from);
        horizon.lerp(above, direction.y.max(0.0).sqrt())
    }

    /// Returns the light that reaches a matte surface directly from the lamp, for a colour of one.
    pub(crate) fn lamplight(&self, point: &Vec3, normal: &Vec3, rng: &mut Pcg32) -> Vec3 {
        let (lamp, light) = &self.lamp;
        let [a, b] = lamp.edges.map(Vec3::from);
        let target = &self.lamp_corner + a * rng.next_f32() + b * rng.next_f32();
        let way = target - point;
        let squared = way.squared_norm();
        let distance = squared.sqrt();
        let ray = Ray { origin: point.clone(), direction: way / distance };
        let leaves = -ray.direction.dot(Vec3::from(lamp.facing()));
        let arrives = ray.direction.dot(normal);
        let mut result = Vec3::zeros(1);
        if leaves > 0.0 && arrives > 0.0 && self.is_free(&ray, &(distance * 0.999)) {
            let share = arrives * leaves * (lamp.area() * std::f32::consts::FRAC_1_PI) / squared;
            result = Vec3::from(*light) * share;
        }
        result
    }
}

/// Creates rays through a picture, slightly blurred: each goes through a random point near the middle of its pixel and
/// of a lens.
#[jit]
pub(crate) fn camera_rays(width: u32, height: u32, rng: &mut Pcg32) -> Ray {
    let (eye, target) = (Vec3::from([0.5, 2.5, 7.3]), Vec3::from([0.12, 0.72, 0.0]));
    let forward = (target - eye).normalize();
    let right = forward.cross(Vec3::unit(1)).normalize();
    let up = right.cross(&forward);
    let pixel = UInt::arange((width * height) as usize);
    let (column, row) = ((pixel % width).cast::<f32>(), (pixel / width).cast::<f32>());
    // The height of the visible area at distance one, the focus distance, and the size of the lens.
    let (size, focus, lens) = (0.7, 7.0, 0.03);
    let scale = size / height as f32;
    let x = (column + soft(&rng.next_f32()) - 0.5 * width as f32) * scale;
    let y = (0.5 * height as f32 - row - soft(&rng.next_f32())) * scale;
    let (sine, cosine) = (std::f32::consts::TAU * rng.next_f32()).sin_cos();
    let distance = rng.next_f32().sqrt() * lens;
    let from = right * (cosine * distance) + up * (sine * distance);
    let sharp = (forward + right * x + up * y) * focus;
    Ray { origin: eye + from, direction: (sharp - from).normalize() }
}

/// Maps a number in [0, 1) to an offset into a pixel and its neighbours, most likely in the middle: a tent filter.
#[jit]
fn soft(random: &Float) -> Float {
    let twice = 2.0 * random;
    if twice < 1.0 { twice.sqrt() - 0.5 } else { 1.5 - (2.0 - twice).sqrt() }
}
