// wanted: `#[jit]` applies to a function; for a state type of your own use `#[derive(Traverse)]`
use jit::prelude::*;

#[jit]
#[derive(Clone)]
struct Circle {
    radius: Float,
}

#[jit]
impl Circle {
    async fn later(&self) -> Float {
        self.radius.clone()
    }

    const fn halved(&self) -> &Float {
        &self.radius
    }

    fn area(&self) -> Float {
        self.radius * self.halved()
    }
}

#[jit(dispatch)]
trait Shape {
    fn distance(&self, x: Float) -> Float;
    fn resized<T>(&self, by: T) -> Float;
}

#[jit]
extern "C" fn exported(x: f32) -> f32 {
    x
}

#[jit]
const LIMIT: u32 = 3;

fn nearest(shapes: &[&dyn Shape], x: Float) -> Float {
    shapes[0].distance(x)
}

fn main() {
    let circle = Circle { radius: Float::from(exported(1.0)) };
    let _ = circle.area() * nearest(&[], Float::from(LIMIT as f32));
    let _ = circle.later();
}
