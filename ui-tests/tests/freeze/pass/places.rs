#![deny(warnings)]
//! Frozen functions where functions may be.
use jit::prelude::*;

#[derive(Clone, Traverse)]
pub struct Ball {
    height: Float,
}

pub trait Step {
    fn step(&mut self, by: &Float) -> Float;
    fn new(height: &Float) -> Self;
}

impl Step for Ball {
    #[freeze]
    fn step(&mut self, by: &Float) -> Float {
        if self.height > 1.0 {
            self.height -= by;
        }
        self.height.clone()
    }

    #[freeze]
    fn new(height: &Float) -> Self {
        Self { height: height + 0.0 }
    }
}

impl Ball {
    #[freeze]
    fn private(&self, mut n: u32, (x, _): (&'static str, u32)) -> u32 {
        n += x.len() as u32;
        n
    }

    #[freeze]
    #[must_use]
    pub fn public<'a>(&'a self, other: &'a Float) -> Float {
        &self.height + other
    }
}

#[jit]
impl Ball {
    #[freeze]
    fn alone(x: &Float) -> Float {
        if x > 1.0 { x * 2.0 } else { x.clone() }
    }
}

#[jit(fast_math)]
#[freeze]
pub fn above(x: &Float) -> Float {
    #[freeze(limit = 0)]
    fn inner<T: Clone + Traverse + Send + Sync + 'static>(x: &T, _: impl Into<f32> + Kept) -> T {
        x.clone()
    }
    inner(x, 1.0)
}

pub trait Kept: Clone + Traverse + Send + Sync + 'static {}
impl Kept for f32 {}

fn main() {
    let mut ball = Ball::new(&Float::from([1.0, 2.0]));
    assert_eq!(ball.step(&Float::from(0.5)).to_vec().unwrap(), [1.0, 1.5]);
    assert_eq!(ball.private(1, ("ab", 3)), 3);
    assert_eq!(ball.public(&Float::from(1.0)).to_vec().unwrap(), [2.0, 2.5]);
    assert_eq!(Ball::alone(&above(&ball.height)).to_vec().unwrap(), [1.0, 3.0]);
    assert_eq!((Ball::public_stats().recordings, Ball::alone_stats().recordings), (1, 1));
    assert_eq!(jit::freeze::functions().len(), 7);
}
