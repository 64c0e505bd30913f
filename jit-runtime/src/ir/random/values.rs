//! Random numbers and values, with a preference for corner cases.

use crate::ir::scalar;
use crate::ir::types::Type;

/// A small deterministic generator (SplitMix64, Steele et al. 2014).
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator with this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Rng(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below the bound, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound as u64) as usize
    }

    /// True with a probability of one in `times`.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// An element of a list that is not empty.
    pub fn choose<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// The carrier of a value of the type: a corner case, a small number or any bits.
    pub fn value(&mut self, ty: Type) -> u64 {
        match self.below(3) {
            0 => self.corner(ty),
            1 => self.small(ty),
            _ => self.bits() & ty.bit_mask(),
        }
    }

    fn corner(&mut self, ty: Type) -> u64 {
        let mask = ty.bit_mask();
        let sign = 1 << (ty.bits() - 1);
        if !ty.is_float() {
            // 0, 1, all ones (-1), the minimum and maximum, and numbers near the width for shifts.
            let near_width = u64::from(ty.bits()) + self.bits() % 3 - 1;
            return self.choose(&[0, 1, mask, sign, mask ^ sign, 1 ^ sign, near_width]) & mask;
        }
        let infinity = scalar::cast(Type::F64, ty, f64::INFINITY.to_bits());
        let smallest_normal = infinity & infinity.wrapping_neg();
        let magnitude = self.choose(&[
            0,
            1,
            smallest_normal - 1,
            smallest_normal,
            infinity - 1,
            infinity,
            infinity | (smallest_normal >> 1),
            scalar::cast(Type::F64, ty, 1f64.to_bits()),
            scalar::cast(Type::F64, ty, 0.5f64.to_bits()),
            scalar::cast(Type::F64, ty, 2.5f64.to_bits()),
            scalar::cast(Type::F64, ty, 2147483648f64.to_bits()),
        ]);
        if self.one_in(2) { magnitude | sign } else { magnitude }
    }

    fn small(&mut self, ty: Type) -> u64 {
        let eighths = self.below(257) as f64 - 128.0;
        let value = if ty.is_float() { eighths / 8.0 } else { eighths };
        let value = if ty.is_unsigned_integer() { value.abs() } else { value };
        scalar::cast(Type::F64, ty, value.to_bits())
    }
}
