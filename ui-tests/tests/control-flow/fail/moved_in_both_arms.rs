// wanted: `Secret` is moved in more than one arm of an `if`
use jit::prelude::*;

struct Secret(f32);

fn reveal(secret: Secret) -> f32 {
    secret.0
}

#[jit]
fn report(x: Float, secret: Secret) -> Float {
    if x < 0.0 { Float::from(reveal(secret)) } else { Float::from(-reveal(secret)) }
}

fn main() {}
