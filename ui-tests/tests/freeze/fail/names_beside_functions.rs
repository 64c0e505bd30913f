// wanted: no function or associated item named `statistics` found for struct `jit_beside_doubled::doubled`
use jit::prelude::*;

#[freeze]
fn doubled(x: &Float) -> Float {
    x * 2.0
}

#[derive(Clone, Traverse)]
struct Ball {
    height: Float,
}

impl Ball {
    #[freeze]
    pub fn rise(&mut self) {
        self.height += 1.0;
    }
}

#[freeze]
mod inner {}

fn main() {
    println!("{:?}", doubled::statistics());
    println!("{:?}", doubled.stats());
    println!("{:?}", Ball::rise::stats());
    println!("{:?}", doubled { _private: () });
}
