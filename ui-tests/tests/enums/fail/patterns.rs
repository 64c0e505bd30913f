// wanted: bind the field, then test it in the arm
use jit::prelude::*;

#[derive(TracedEnum)]
enum Shape {
    Sphere(Float),
    Cube { side: Float, kind: (UInt, UInt) },
    Plane,
}

#[jit]
fn size(mut shape: Traced<Shape>) -> Float {
    let by_reference = #[traced]
    match &mut shape {
        Shape::Sphere(ref mut r) => r.clone(),
        _ => Float::from(0.0),
    };
    #[traced]
    match shape {
        Shape::Sphere(1.0) => Float::from(1.0),
        Shape::Sphere(r @ 2.0) => r,
        whole @ Shape::Plane => whole.variant() as f32,
        Shape::Cube { kind: (first, 0), .. } => first as f32,
        Shape::Cube { side: Some(x), .. } => x,
        Shape::Plane if let Some(x) = Some(1) => Float::from(2.0),
        3 => Float::from(3.0),
        _ => by_reference,
    }
}

fn main() {}
// rows: K17
