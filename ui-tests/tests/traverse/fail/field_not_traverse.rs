// wanted: `Texture` cannot be searched for arrays
use jit::prelude::*;

#[derive(Traverse)]
struct Material {
    color: Float,
    texture: Vec<Texture>,
    mesh: std::fs::File,
}

struct Texture {
    texels: Float,
}

fn main() {}
