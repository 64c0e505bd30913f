// wanted: `Dice` cannot be the state of a traced `if` or `while`
use jit::prelude::*;

struct Dice {
    rolls: Float,
}

impl Dice {
    fn roll(&mut self) -> Float {
        self.rolls += 1.0;
        self.rolls.clone()
    }
}

#[jit]
fn gamble(x: Float, dice: &mut Dice) -> Float {
    let mut sum = x;
    while sum < 21.0 {
        sum += dice.roll();
    }
    sum
}

fn main() {}
// rows: K1 K32 K156
