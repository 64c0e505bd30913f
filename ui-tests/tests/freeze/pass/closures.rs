#![deny(warnings)]
use jit::freeze::Frozen;
use jit::prelude::*;

#[freeze]
#[track_caller]
pub fn doubled(x: &Float) -> Float {
    x * 2.0
}

fn main() {
    let x = Float::arange(3);
    let mut sum = Float::zeros(3);
    let add = Frozen::new(|sum: &mut Float, x: &Float, k: f32| *sum += x * k).limit(4).label("add");
    add.call((&mut sum, &x, 2.0_f32));
    let shifted = Frozen::with(Float::from(1.0), |shift: &Float, x: &Float| x + shift);
    assert_eq!(shifted.call(&x).to_vec().unwrap(), [1.0, 2.0, 3.0]);
    assert_eq!(sum.to_vec().unwrap(), doubled(&x).to_vec().unwrap());
    assert_eq!(Frozen::new(doubled).call(&x).len(), 3);
}
