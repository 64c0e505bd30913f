// wanted: `Texture` cannot be a field of an enum whose variant differs by lane
use jit::prelude::*;

#[derive(Clone, Traverse)]
struct Texture {
    texels: Float,
}

#[derive(TracedEnum)]
enum Material {
    Plain(Float),
    Textured { texture: Texture },
}

fn main() {}
