//! The materials: the direction from which light may have come, and its amount.

use jit::linalg::Vec3;
use jit::prelude::*;

/// The point where a path meets a surface.
#[derive(Traverse)]
pub(crate) struct Meeting {
    /// The direction of the path.
    pub(crate) direction: Vec3,
    pub(crate) point: Vec3,
    /// Points away from the surface.
    pub(crate) normal: Vec3,
    /// Three random numbers in [0, 1).
    pub(crate) random: Vec3,
}

/// The continuation of a path.
#[derive(Clone, Traverse)]
pub(crate) struct Bounce {
    /// Its direction.
    pub(crate) direction: Vec3,
    /// The fraction of light from there that continues along the path.
    pub(crate) weight: Vec3,
    /// Whether light arrives from all sides, so that lamps are better sampled than hit by chance.
    pub(crate) is_diffuse: Mask,
    /// The light that is emitted here.
    pub(crate) glow: Vec3,
}

#[jit(dispatch)]
pub(crate) trait Material {
    /// Returns the continuation of a path.
    fn bounce(&self, meeting: &Meeting) -> Bounce;
}

/// Returns a uniformly distributed direction.
#[jit]
fn on_sphere(random: &Vec3) -> Vec3 {
    let height = 1.0 - 2.0 * random.x;
    let (sine, cosine) = (std::f32::consts::TAU * random.y).sin_cos();
    let around = (1.0 - height * height).max(0.0).sqrt();
    Vec3::new(around * cosine, around * sine, height)
}

/// Scatters light equally to all sides. Every second square of a pattern has the other colour.
#[derive(Traverse)]
pub(crate) struct Matte {
    pub(crate) colors: [[f32; 3]; 2],
}

impl Matte {
    pub(crate) fn plain(color: [f32; 3]) -> Self {
        Matte { colors: [color; 2] }
    }
}

#[jit]
impl Material for Matte {
    fn bounce(&self, meeting: &Meeting) -> Bounce {
        let normal = facing(meeting);
        let square = (meeting.point.x.floor() + meeting.point.z.floor()) * 0.5;
        let [even, odd] = self.colors.map(Vec3::from);
        let weight = if square == square.floor() { even } else { odd };
        // The normal plus a random direction: the density is the cosine.
        let direction = (normal * 1.0001 + on_sphere(&meeting.random)).normalize();
        Bounce { direction, weight, is_diffuse: Mask::from(true), glow: Vec3::zeros(1) }
    }
}

/// Scatters light as [`Matte`] does. The colours are those of a square of texels, painted on the floor.
#[derive(Traverse)]
pub(crate) struct Painted {
    /// The colours, row by row.
    pub(crate) texels: Vec3,
    /// The number of texels along a side.
    pub(crate) side: u32,
}

/// The floor reaches this far from the middle.
const FLOOR: f32 = 6.0;

#[jit]
impl Material for Painted {
    fn bounce(&self, meeting: &Meeting) -> Bounce {
        let normal = facing(meeting);
        let place = |x: &Float| {
            let texel = (x + FLOOR) * (self.side as f32 / (2.0 * FLOOR));
            texel.floor().clamp(0.0, (self.side - 1) as f32).cast::<u32>()
        };
        let texel = place(&meeting.point.z) * self.side + place(&meeting.point.x);
        let weight = self.texels.gather(&texel);
        let direction = (normal * 1.0001 + on_sphere(&meeting.random)).normalize();
        Bounce { direction, weight, is_diffuse: Mask::from(true), glow: Vec3::zeros(1) }
    }
}

/// Reflects, with more blur for higher roughness.
#[derive(Traverse)]
pub(crate) struct Metal {
    pub(crate) color: [f32; 3],
    pub(crate) roughness: f32,
}

#[jit]
impl Material for Metal {
    fn bounce(&self, meeting: &Meeting) -> Bounce {
        let normal = facing(meeting);
        let mirrored = meeting.direction.reflect(&normal);
        let blur = on_sphere(&meeting.random) * (self.roughness * meeting.random.z.cbrt());
        let direction = (mirrored + blur).normalize();
        let cosine = direction.dot(&normal);
        // At grazing angles every metal is white (C. Schlick, “An Inexpensive BRDF Model for Physically-Based
        // Rendering”, 1994).
        let color = Vec3::from(self.color);
        let weight = color + (1.0 - color) * (1.0 - cosine.clamp(0.0, 1.0)).powi(5);
        let weight = if cosine > 0.0 { weight } else { Vec3::zeros(1) };
        Bounce { direction, weight, is_diffuse: Mask::from(false), glow: Vec3::zeros(1) }
    }
}

/// Refracts light, and reflects some.
#[derive(Traverse)]
pub(crate) struct Glass {
    pub(crate) color: [f32; 3],
    /// The index of refraction.
    pub(crate) index: f32,
}

#[jit]
impl Material for Glass {
    fn bounce(&self, meeting: &Meeting) -> Bounce {
        let normal = facing(meeting);
        let is_inside = meeting.direction.dot(&meeting.normal) > 0.0;
        let ratio = if is_inside { Float::from(self.index) } else { Float::from(1.0 / self.index) };
        let refracted = meeting.direction.refract(&normal, &ratio);
        let is_total = refracted.squared_norm() == 0.0;
        // Schlick's approximation takes the angle on the side of the air.
        let cosine = if is_inside { -refracted.dot(&normal) } else { -meeting.direction.dot(&normal) };
        let least = ((1.0 - self.index) / (1.0 + self.index)).powi(2);
        let reflected_share = least + (1.0 - least) * (1.0 - cosine.clamp(0.0, 1.0)).powi(5);
        let is_reflected = is_total || meeting.random.x < reflected_share;
        let direction = if is_reflected { meeting.direction.reflect(&normal) } else { refracted.normalize() };
        Bounce { direction, weight: self.color.into(), is_diffuse: Mask::from(false), glow: Vec3::zeros(1) }
    }
}

/// Emits light, on the side that its normal points to.
#[derive(Traverse)]
pub(crate) struct Lamp {
    pub(crate) light: [f32; 3],
}

#[jit]
impl Material for Lamp {
    fn bounce(&self, meeting: &Meeting) -> Bounce {
        let is_front = meeting.direction.dot(&meeting.normal) < 0.0;
        let glow = if is_front { Vec3::from(self.light) } else { Vec3::zeros(1) };
        Bounce { direction: meeting.normal.clone(), weight: Vec3::zeros(1), is_diffuse: Mask::from(false), glow }
    }
}

/// Returns the normal on the side where the path comes from.
#[jit]
fn facing(meeting: &Meeting) -> Vec3 {
    if meeting.direction.dot(&meeting.normal) > 0.0 { -meeting.normal } else { meeting.normal.clone() }
}
