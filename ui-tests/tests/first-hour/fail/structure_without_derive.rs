// wanted: derive `Traverse` for your own type
use jit::prelude::*;

#[derive(Clone)]
struct Particle {
    x: Float,
    v: Float,
}

#[jit]
fn reflect(p: Particle, wall: Float) -> Particle {
    if p.x > wall { Particle { x: wall, v: -p.v } } else { p }
}

fn main() {}
