use jit::prelude::*;

struct Secret(f32);

fn reveal(secret: Secret) -> f32 {
    secret.0
}

struct Switch {
    is_on: bool,
}

#[jit]
fn report(x: Float, switch: &Switch, secret: Secret) -> Float {
    #[host]
    let number = if switch.is_on { reveal(secret) } else { -reveal(secret) };
    #[label("sum")]
    if x < 0.0 { x + number } else { x - number }
}

fn main() {
    assert_eq!(report(Float::from([-1.0, 1.0]), &Switch { is_on: true }, Secret(3.0)).to_vec().unwrap(), [2.0, -2.0]);
}
