// wanted: `#[freeze]` applies to functions: move it to those in here that should be recorded
use jit::prelude::*;

#[freeze]
#[derive(Clone, Traverse)]
struct Ball {
    height: Float,
}

#[freeze]
impl Ball {
    fn rise(&mut self) {
        self.height += 1.0;
    }
}

trait Fall {
    #[freeze]
    fn fall(&mut self);
}

#[jit(dispatch)]
trait Shape {
    #[freeze]
    fn area(&self) -> Float {
        Float::from(1.0)
    }
}

#[freeze]
const HEIGHT: f32 = 1.0;

fn main() {
    Ball { height: Float::from(HEIGHT) }.rise();
}
