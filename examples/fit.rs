//! Fits a curve to noisy points by gradient descent: `cargo run --release --example fit`.
//!
//! The loss is differentiated by all parameters at once, and the step is frozen: from the second one on it is replayed.
#![allow(clippy::print_stdout, reason = "this program prints its report")]

use jit::optim::Adam;
use jit::prelude::*;
use jit::random::Pcg32;

/// A damped oscillation: `height · exp(−damping · t) · sin(speed · t)`.
#[derive(Clone, Traverse)]
struct Curve {
    height: Float,
    damping: Float,
    speed: Float,
}

impl Curve {
    fn at(&self, t: &Float) -> Float {
        &self.height * (-&self.damping * t).exp() * (&self.speed * t).sin()
    }
}

#[freeze]
fn step(curve: &mut Curve, adam: &mut Adam<Curve>, t: &Float, y: &Float) -> Float {
    let loss = |curve: &Curve| {
        let rest = curve.at(t) - y;
        (&rest * &rest).mean()
    };
    let (loss, gradient) = jit::ad::value_and_grad(loss)(curve).expect("the loss has derivatives");
    adam.step(curve, &gradient);
    loss
}

fn main() -> jit::Result<()> {
    let number = |value: f32| Float::opaque(value);
    let t = Float::linspace(0.0, 6.0, 10_000);
    let truth = Curve { height: number(2.0), damping: number(0.4), speed: number(3.0) };
    let noise = Pcg32::new(t.len(), 1).next_normal::<f32>();
    let y = (truth.at(&t) + 0.1 * noise).make_opaque();

    let mut curve = Curve { height: number(1.0), damping: number(0.1), speed: number(2.5) };
    let mut adam = Adam::new(&curve, 0.02);
    for round in 0..=600 {
        let loss = step(&mut curve, &mut adam, &t, &y);
        if round % 100 == 0 {
            let [height, damping, speed] = [&curve.height, &curve.damping, &curve.speed].map(Float::item);
            println!(
                "{round:4}: loss {:.5}, {:.3} · exp(−{:.3} t) · sin({:.3} t)",
                loss.item()?,
                height?,
                damping?,
                speed?
            );
        }
    }
    Ok(())
}
