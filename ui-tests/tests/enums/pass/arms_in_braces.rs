// The braces of an arm are part of the `match`: the compiler must not call them unnecessary.
#![deny(warnings)]

use jit::prelude::*;

#[derive(TracedEnum)]
enum Step {
    Add(Float),
    Stop,
}

#[rustfmt::skip]
#[jit]
fn apply(step: &Traced<Step>, mut x: Float) -> Float {
    #[traced]
    match step {
        Step::Add(by) => { if x > 1.0 { x += by; } else { x -= by; } }
        Step::Stop => {}
    }
    x
}

#[rustfmt::skip]
#[jit]
fn number(k: UInt, x: &Float) -> Float {
    match k {
        0 => { if x > 1.0 { x * 2.0 } else { x.clone() } }
        v if v > 7 => { if x > 1.0 { x * 2.0 } else { x.clone() } }
        _ => { x.sin() }
    }
}

#[rustfmt::skip]
#[jit]
fn pair(a: &UInt, b: &UInt, x: &Float) -> Float {
    match (a, b) {
        (0, v) if v > 7 => { if x > 1.0 { x * 2.0 } else { x.clone() } }
        (v, 1) => { if v > 1 { x * 2.0 } else { x.clone() } }
        _ => { x.cos() }
    }
}

fn main() {
    let steps: Traced<Step> = [Step::Add(2.0.into()), Step::Stop].into_iter().collect();
    let x = number(UInt::from(3), &apply(&steps, 3.0.into()));
    pair(&UInt::from(0), &UInt::from(8), &x);
}
