//! A small generator of numbers for random programs: the same seed makes the same program on every device.
#![allow(dead_code, reason = "each test program uses a part of it")]

/// The state of the generator, which is the seed at first. A linear congruential generator with the constants of
/// Knuth's MMIX.
#[derive(Clone)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// A number below `sides`.
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % sides
    }

    pub(crate) fn flip(&mut self) -> bool {
        self.roll(2) == 0
    }

    pub(crate) fn pick<T: Clone>(&mut self, values: &[T]) -> T {
        values[self.roll(values.len())].clone()
    }
}
