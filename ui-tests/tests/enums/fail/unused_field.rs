// wanted: unused variable: `width`
#![deny(warnings)]
use jit::prelude::*;

#[derive(TracedEnum)]
enum Shape {
    Sphere { radius: Float },
    Slab(Float, Float),
}

#[jit]
fn size(shape: &Traced<Shape>) -> Float {
    #[traced]
    match shape {
        Shape::Sphere { radius } => radius * 2.0,
        Shape::Slab(height, width) => height * 2.0,
        _ => Float::from(0.0),
    }
}

fn main() {
    size(&Shape::Slab(Float::from(1.0), Float::from(2.0)).into());
    size(&Shape::Sphere { radius: Float::from(1.0) }.into());
}
