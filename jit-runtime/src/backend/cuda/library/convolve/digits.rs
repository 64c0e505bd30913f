//! Numbers with four digits: the first one is not limited, the others are below the lengths of three axes.

use super::super::super::ptx::{Class, Register};
use super::super::builder::Builder;
use crate::backend::library::AXES;

/// A number in registers.
#[derive(Clone, Copy)]
pub(super) struct Digits {
    pub(super) first: Register,
    pub(super) places: [Register; AXES],
}

impl Digits {
    pub(super) fn of(b: &mut Builder, number: Register, radices: [Register; AXES]) -> Digits {
        let mut rest = number;
        let mut places = radices;
        for (place, radix) in places.iter_mut().zip(radices).rev() {
            *place = b.rem(rest, radix);
            rest = b.div(rest, radix);
        }
        Digits { first: rest, places }
    }

    /// A number that the code may change.
    pub(super) fn variable(self, b: &mut Builder) -> Digits {
        Digits { first: b.variable(self.first), places: self.places.map(|place| b.variable(place)) }
    }

    /// Adds another number to a variable, with carries: cheaper than divisions.
    pub(super) fn advance(&self, b: &mut Builder, by: &Digits, radices: [Register; AXES]) {
        let mut carry: Option<Register> = None;
        let mut add = |b: &mut Builder, digit: Register, by: Register, radix: Option<Register>| {
            b.write("add.u32", digit, &[digit.into(), by.into()]);
            if let Some(carry) = carry {
                b.write("add.u32", digit, &[digit.into(), carry.into()]);
            }
            let Some(radix) = radix else { return };
            let is_complete = b.at_most(radix, digit);
            let less = b.choose(is_complete, radix, 0);
            b.write("sub.u32", digit, &[digit.into(), less.into()]);
            carry = Some(b.choose(is_complete, 1, 0));
        };
        for axis in (0..AXES).rev() {
            add(b, self.places[axis], by.places[axis], Some(radices[axis]));
        }
        add(b, self.first, by.first, None);
    }

    /// The sum of multiples of the digits, and an offset.
    pub(super) fn place(
        &self,
        b: &mut Builder,
        first: Register,
        steps: [Register; AXES],
        offset: Register,
    ) -> Register {
        debug_assert_eq!(offset.class, Class::Word);
        let mut place = b.mad(self.first, first, offset);
        for (digit, step) in self.places.into_iter().zip(steps) {
            place = b.mad(digit, step, place);
        }
        place
    }
}
