// wanted: `Texture` does not implement `Traverse`
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
