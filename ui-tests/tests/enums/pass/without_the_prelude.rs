//! Variants imported by name, an enum of one variant, no prelude; and no warning.
#![deny(warnings)]

mod lights {
    #[derive(jit::TracedEnum)]
    pub(crate) enum Light {
        Sun,
        /// Somewhere.
        Lamp {
            at: (jit::Float, jit::Float),
            /// Watts.
            power: jit::Float,
        },
        Glow(jit::Float),
    }

    #[derive(jit::TracedEnum)]
    pub(crate) enum Only {
        One(jit::Float),
    }
}

use lights::Light::{self, Glow, Lamp, Sun};
use lights::Only;

#[jit::jit]
fn light(light: &jit::Traced<Light>, only: jit::Traced<Only>) -> jit::Float {
    let mut sum = #[traced]
    match only {
        Only::One(x) => x,
    };
    #[traced]
    match light {
        Sun => sum += 100.0,
        Lamp { at: (x, _), power } if x > 0.0 => {
            sum += power;
        }
        Lamp { .. } | Glow(_) => (),
    }
    sum
}

fn main() {
    let of = jit::Float::from;
    let lights = [Sun, Lamp { at: (of(1.0), of(2.0)), power: of(60.0) }, Glow(of(1.0))];
    let only = Only::One(of(0.5)).into();
    assert_eq!(light(&lights.into_iter().collect(), only).to_vec().unwrap(), [100.5, 60.5, 0.5]);
}
