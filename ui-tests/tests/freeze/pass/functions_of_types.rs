use jit::prelude::*;

struct Ball;

impl Ball {
    #[freeze]
    fn doubled(x: &Float) -> Float {
        x * 2.0
    }
}

fn main() {
    assert_eq!(Ball::doubled(&Float::from([1.0, 2.0])).to_vec().unwrap(), [2.0, 4.0]);
}
