// wanted: non-exhaustive patterns: `Shape::Plane` not covered
use jit::prelude::*;

#[derive(TracedEnum)]
enum Shape {
    Sphere(Float),
    Cube { side: Float },
    Plane,
}

#[jit]
fn size(shape: Traced<Shape>) -> Float {
    #[traced]
    match shape {
        Shape::Sphere(r) => r * 2.0,
        Shape::Cube { side } => side,
        Shape::Plane if true => Float::from(0.0),
    }
}

fn main() {}
