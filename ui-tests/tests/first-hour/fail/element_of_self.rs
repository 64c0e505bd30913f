// wanted: cannot move out of `self.weight` which is behind a shared reference
use jit::prelude::*;

struct Layer {
    weight: Float,
}

#[jit]
impl Layer {
    fn forward(&self, x: Float) -> Float {
        let weight = self.weight;
        if x > weight { x } else { weight }
    }
}

fn main() {}
