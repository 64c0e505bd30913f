// wanted: `.await` cannot appear in a `#[jit]` function: tracing cannot suspend
use jit::prelude::*;

#[jit]
fn broken(x: Float) -> Float {
    x.await
}

#[jit]
fn caller(x: Float) -> Float {
    let y = broken(x);
    if y > 1.0 { y * 2.0 } else { y }
}

struct Scene {
    scale: Float,
}

#[jit]
impl Scene {
    fn scaled(&self, x: &Float) -> Float {
        caller(self.scale * x)
    }
}

fn main() {
    let scene = Scene { scale: Float::from(2.0) };
    let _ = scene.scaled(&broken(Float::from(1.0)));
}
