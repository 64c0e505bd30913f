//! The counterparts of array types when a program runs as plain Rust, on the numbers of one lane.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Rem, Shl, Shr, Sub};

/// An integer with the arithmetic of kernels: it wraps, and division by zero returns all ones and the dividend as
/// remainder.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Word(pub(super) i32);

impl From<i32> for Word {
    fn from(value: i32) -> Self {
        Word(value)
    }
}

impl Word {
    pub(super) fn cast<T: FromWord>(self) -> T {
        T::from_word(self)
    }
}

pub(super) trait FromWord {
    fn from_word(word: Word) -> Self;
}

impl FromWord for f32 {
    fn from_word(word: Word) -> f32 {
        word.0 as f32
    }
}

macro_rules! operators {
    ($($Trait:ident $method:ident: |$a:ident, $b:ident| $result:expr;)*) => {$(
        impl $Trait for Word {
            type Output = Word;
            fn $method(self, other: Word) -> Word {
                let ($a, $b) = (self.0, other.0);
                Word($result)
            }
        }

        impl $Trait<i32> for Word {
            type Output = Word;
            fn $method(self, other: i32) -> Word {
                self.$method(Word(other))
            }
        }
    )*};
}

operators! {
    Add add: |a, b| a.wrapping_add(b);
    Sub sub: |a, b| a.wrapping_sub(b);
    Mul mul: |a, b| a.wrapping_mul(b);
    Div div: |a, b| if b == 0 { !0 } else { a.wrapping_div(b) };
    Rem rem: |a, b| if b == 0 { a } else { a.wrapping_rem(b) };
    BitAnd bitand: |a, b| a & b;
    BitOr bitor: |a, b| a | b;
    BitXor bitxor: |a, b| a ^ b;
    Shl shl: |a, b| a << b;
    Shr shr: |a, b| a >> b;
}

/// Memory of elements.
#[derive(Clone, Debug)]
pub(super) struct Memory(pub(super) Vec<i32>);

impl Memory {
    pub(super) fn gather(&self, index: &Word) -> Word {
        Word(self.0[index.0 as usize])
    }

    pub(super) fn scatter(&mut self, value: &Word, index: &Word) {
        self.0[index.0 as usize] = value.0;
    }

    pub(super) fn scatter_add(&mut self, value: &Word, index: &Word) {
        let element = &mut self.0[index.0 as usize];
        *element = element.wrapping_add(value.0);
    }
}

/// Per-lane local memory, which accepts any position.
#[derive(Clone, Debug)]
pub(super) struct Scratch(pub(super) Vec<i32>);

impl Scratch {
    pub(super) fn read(&self, place: &Word) -> Word {
        let element = usize::try_from(place.0).ok().and_then(|place| self.0.get(place));
        Word(element.copied().unwrap_or(0))
    }

    pub(super) fn write(&mut self, place: &Word, value: &Word) {
        if let Some(element) = usize::try_from(place.0).ok().and_then(|place| self.0.get_mut(place)) {
            *element = value.0;
        }
    }
}
