//! Morton codes: positions of a grid in Z-order. Neighbours in space are mostly neighbours in memory.
//!
//! The bits of the coordinates are interleaved; the lowest is that of `x`. Bits are spread in steps: each halves the
//! groups of adjacent bits and moves the upper halves to their places (H. Warren, “Hacker's Delight”, 2nd edition,
//! §7–2).

use super::{Vec2, Vec3};
use crate::{Array, Integer};

/// Returns the positions of bits when groups of `group` source bits are `dimensions` times as far apart as in the
/// source.
fn places<T: Integer>(dimensions: u32, group: u32) -> T {
    let bits = (0..T::TYPE.bits() / dimensions).map(|bit| (bit / group) * dimensions * group + bit % group);
    T::from_bits(bits.fold(0, |mask, place| mask | 1 << place))
}

/// Moves each bit `k` to position `dimensions * k`; upper bits without a position are lost.
#[track_caller]
fn spread<T: Integer>(value: &Array<T>, dimensions: u32) -> Array<T> {
    let mut group = (T::TYPE.bits() / dimensions).next_power_of_two();
    let mut value = value & places::<T>(dimensions, group);
    while group > 1 {
        group /= 2;
        let shift = T::from_bits(u64::from((dimensions - 1) * group));
        value = (&value | (&value << shift)) & places::<T>(dimensions, group);
    }
    value
}

/// Moves each bit `dimensions * k` to position `k`, and drops the others.
#[track_caller]
fn gather_bits<T: Integer>(value: &Array<T>, dimensions: u32) -> Array<T> {
    let most = (T::TYPE.bits() / dimensions).next_power_of_two();
    let (mut value, mut group) = (value & places::<T>(dimensions, 1), 1);
    while group < most {
        let shift = T::from_bits(u64::from((dimensions - 1) * group));
        group *= 2;
        value = (&value | (&value >> shift)) & places::<T>(dimensions, group);
    }
    value
}

macro_rules! morton {
    ($Vec:ident $n:literal [$first:ident 0, $($c:ident $index:literal),*] $T:ident $bits:literal) => {
        impl $Vec<$T> {
            /// Returns the Morton code of a position of a grid.
            #[doc = concat!("Only the lower ", $bits, " bits of each coordinate are used.")]
            #[must_use]
            #[track_caller]
            pub fn to_morton(&self) -> Array<$T> {
                let code = spread(&self.$first, $n);
                $(let code = code | (spread(&self.$c, $n) << ($index as $T));)*
                code
            }

            /// Returns the position of a Morton code.
            #[must_use]
            #[track_caller]
            pub fn from_morton(code: &Array<$T>) -> Self {
                $Vec { $first: gather_bits(code, $n), $($c: gather_bits(&(code >> ($index as $T)), $n)),* }
            }
        }
    };
}

morton!(Vec2 2 [x 0, y 1] u32 16);
morton!(Vec2 2 [x 0, y 1] u64 32);
morton!(Vec3 3 [x 0, y 1, z 2] u32 10);
morton!(Vec3 3 [x 0, y 1, z 2] u64 21);
