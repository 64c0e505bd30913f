//! That arrays refuse Rust's comparison operators leaves inference of host values, methods and `#[jit]` comparisons
//! alone.
use jit::linalg::Vec3;
use jit::prelude::*;

#[jit]
fn by_operators(x: &Float, y: Float, n: UInt, v: Vec3<f32>) -> Mask {
    let limit: f32 = "2".parse().unwrap();
    let inside = x > 0.0 && *x < limit && y <= x && 1.0 < *x && n != 3;
    inside & (v == v).all_components()
}

fn by_methods(x: &Float, y: Float) -> Mask {
    let mut z = x.ne(&y).select(x, &y);
    let changed: &mut Float = &mut z;
    let each = [x, &y].iter().map(|x| x.gt(0.0)).reduce(|a, b| a & b).unwrap();
    changed.le(2.0) & each & (&x).ne(1.0) & Float::lt(x, &y)
}

fn host_values() -> Result<bool, Box<dyn std::error::Error>> {
    let (x, limit) = (Float::from([1.0, 2.0]), "2".parse::<f32>()?);
    let items = x.to_vec()?;
    assert_eq!(items, [1.0, 2.0]);
    assert!(items[1] == limit && 3.0 > limit && x.len() == "2".parse::<usize>()?);
    Ok(x.sum().item()? == 3.0 && items == vec![1.0, 2.0])
}

fn main() {
    let x = Float::from([1.5, 3.0]);
    let n = UInt::from([1, 3]);
    assert_eq!(by_operators(&x, Float::from(1.0), n, Vec3::new(0.0, 1.0, 2.0_f32)).to_vec().unwrap(), [true, false]);
    assert_eq!(by_methods(&x, x.clone()).to_vec().unwrap(), [false, false]);
    assert!(host_values().unwrap());
}
