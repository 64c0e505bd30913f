// wanted: struct is not supported in `trait`s or `impl`s
use jit::prelude::*;

struct Ball;

impl Ball {
    #[freeze]
    fn doubled(x: &Float) -> Float {
        x * 2.0
    }
}

fn main() {}
