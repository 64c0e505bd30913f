// wanted: cannot borrow `*x` as mutable, as it is behind a `&` reference
use jit::prelude::*;

#[derive(Clone, Traverse)]
struct Ball {
    height: Float,
}

impl Ball {
    #[freeze]
    fn rise(&self) {
        self.height += 1.0;
    }

    #[freeze]
    pub fn fall(&mut self) -> Float {
        self.height - "one"
    }
}

#[freeze]
fn changed(x: &Float) {
    *x += 1.0;
}

#[freeze]
fn wrong(x: &Float) -> Int {
    x + 1.0
}

fn main() {}
