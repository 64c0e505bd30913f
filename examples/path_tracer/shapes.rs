//! The shapes: where a ray meets them, and the normal of their surface there.

use jit::linalg::{Vec2, Vec3};
use jit::prelude::*;

/// A half-line; the direction has length one.
#[derive(Clone, Traverse)]
pub(crate) struct Ray {
    pub(crate) origin: Vec3,
    pub(crate) direction: Vec3,
}

#[jit]
impl Ray {
    pub(crate) fn at(&self, distance: &Float) -> Vec3 {
        self.origin + self.direction * distance
    }
}

/// Hits nearer than this are ignored, because rays begin on surfaces.
pub(crate) const NEAREST: f32 = 1e-4;

#[jit(dispatch)]
pub(crate) trait Shape {
    /// Returns the distance along the ray to the first point of the surface; infinite if it misses.
    fn distance(&self, ray: &Ray) -> Float;
    /// Returns the unit normal at a point on the surface.
    fn normal(&self, point: &Vec3) -> Vec3;
}

#[derive(Traverse)]
pub(crate) struct Sphere {
    pub(crate) centre: [f32; 3],
    pub(crate) radius: f32,
}

/// Returns the first of two ordered distances that is ahead.
#[jit]
fn first_ahead(near: &Float, far: &Float) -> Float {
    if near > NEAREST {
        near.clone()
    } else if far > NEAREST {
        far.clone()
    } else {
        Float::from(f32::INFINITY)
    }
}

#[jit]
impl Shape for Sphere {
    fn distance(&self, ray: &Ray) -> Float {
        let to_centre = Vec3::from(self.centre) - ray.origin;
        let middle = to_centre.dot(&ray.direction);
        // The distance of the ray from the centre, from the perpendicular part of the way: exact also for distant
        // spheres.
        let across = to_centre - ray.direction * middle;
        let depth = self.radius * self.radius - across.squared_norm();
        if depth < 0.0 {
            Float::from(f32::INFINITY)
        } else {
            let half = depth.sqrt();
            first_ahead(&(middle - half), &(middle + half))
        }
    }

    fn normal(&self, point: &Vec3) -> Vec3 {
        (point - Vec3::from(self.centre)) * (1.0 / self.radius)
    }
}

/// A rectangle, by a corner and the edges that begin there, which are at right angles.
#[derive(Traverse)]
pub(crate) struct Rectangle {
    pub(crate) corner: [f32; 3],
    pub(crate) edges: [[f32; 3]; 2],
}

impl Rectangle {
    fn across(&self) -> [f32; 3] {
        let [a, b] = self.edges;
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    }

    pub(crate) fn area(&self) -> f32 {
        self.across().iter().map(|x| x * x).sum::<f32>().sqrt()
    }

    /// Returns the side that its normal points to.
    pub(crate) fn facing(&self) -> [f32; 3] {
        self.across().map(|x| x / self.area())
    }
}

#[jit]
impl Shape for Rectangle {
    fn distance(&self, ray: &Ray) -> Float {
        let (corner, normal) = (Vec3::from(self.corner), Vec3::from(self.facing()));
        let distance = (corner - ray.origin).dot(&normal) / ray.direction.dot(&normal);
        let inside = ray.at(&distance) - corner;
        // The share of each edge.
        let [a, b] = self.edges.map(|edge| inside.dot(Vec3::from(edge)) / edge.iter().map(|x| x * x).sum::<f32>());
        let is_met = distance > NEAREST && a >= 0.0 && a <= 1.0 && b >= 0.0 && b <= 1.0;
        if is_met { distance } else { Float::from(f32::INFINITY) }
    }

    fn normal(&self, _point: &Vec3) -> Vec3 {
        self.facing().into()
    }
}

/// An upright box, rotated about its axis.
#[derive(Traverse)]
pub(crate) struct Cuboid {
    pub(crate) centre: [f32; 3],
    /// From the centre to the faces.
    pub(crate) half: [f32; 3],
    /// In radians.
    pub(crate) turn: f32,
}

#[jit]
impl Cuboid {
    /// Rotates a direction into the coordinates of the box.
    fn turned(&self, direction: &Vec3, turn: f32) -> Vec3 {
        let (sine, cosine) = turn.sin_cos();
        Vec3::new(direction.x * cosine - direction.z * sine, &direction.y, direction.x * sine + direction.z * cosine)
    }
}

#[jit]
impl Shape for Cuboid {
    fn distance(&self, ray: &Ray) -> Float {
        let origin = self.turned(&(ray.origin - Vec3::from(self.centre)), self.turn);
        let inverse = self.turned(&ray.direction, self.turn).map(|x| x.recip());
        let half = Vec3::from(self.half);
        let (first, second) = ((-origin - half) * inverse, (half - origin) * inverse);
        // The ray is inside between the last pair of planes that it enters and the first that it leaves.
        let enters = first.min(&second).component_max();
        let leaves = first.max(&second).component_min();
        if enters <= leaves { first_ahead(&enters, &leaves) } else { Float::from(f32::INFINITY) }
    }

    fn normal(&self, point: &Vec3) -> Vec3 {
        let inside = self.turned(&(point - Vec3::from(self.centre)), self.turn) / Vec3::from(self.half);
        let most = inside.abs().component_max();
        let axis = inside.map(|x| if x.abs() >= most { x.sign() } else { Float::from(0.0) });
        self.turned(&axis.normalize(), -self.turn)
    }
}

/// A ring. Its distance from a point is known in closed form, but not the intersection with a ray, which is found in
/// steps of that distance (J. Hart, “Sphere Tracing”, 1996).
#[derive(Traverse)]
pub(crate) struct Torus {
    pub(crate) centre: [f32; 3],
    /// The direction of its axis, of length one.
    pub(crate) axis: [f32; 3],
    pub(crate) radius: f32,
    /// The thickness of the ring itself.
    pub(crate) thickness: f32,
}

/// The number of steps after which a ray that grazes the ring counts as a miss.
const STEPS: u32 = 128;

#[jit]
impl Torus {
    /// Returns the height above the middle, and the distance from the circle inside the ring.
    fn profile(&self, point: &Vec3) -> Vec2 {
        let from_centre = point - Vec3::from(self.centre);
        let height = from_centre.dot(Vec3::from(self.axis));
        let outwards = (from_centre - Vec3::from(self.axis) * height).norm() - self.radius;
        Vec2::new(outwards, height)
    }
}

#[jit]
impl Shape for Torus {
    fn distance(&self, ray: &Ray) -> Float {
        let to_centre = Vec3::from(self.centre) - ray.origin;
        let middle = to_centre.dot(&ray.direction);
        let bound = self.radius + self.thickness;
        let depth = bound * bound - (to_centre - ray.direction * middle).squared_norm();
        let half = depth.max(0.0).sqrt();
        let (mut distance, end) = ((middle - half).max(NEAREST), middle + half);
        let mut found = Float::from(f32::INFINITY);
        let mut step = UInt::from(0);
        while depth > 0.0 && distance < end && step < STEPS {
            let free = (self.profile(&ray.at(&distance)).norm() - self.thickness).abs();
            if free < NEAREST {
                found = distance.clone();
                break;
            }
            distance += free;
            step += 1;
        }
        found
    }

    fn normal(&self, point: &Vec3) -> Vec3 {
        let axis = Vec3::from(self.axis);
        let from_centre = point - Vec3::from(self.centre);
        let height = from_centre.dot(&axis);
        let outwards = from_centre - axis * height;
        (outwards * (1.0 - self.radius / outwards.norm()) + axis * height).normalize()
    }
}
