//! `#[traced] match`: each lane selects its arm by the variant of a [`Traced`] enum.
//!
//! Rust's own `match` determines which arms each variant can take: it runs once for each variant, on a placeholder for
//! the lanes. So Rust checks that the match is exhaustive. The lanes of an arm are those of its variants; Rust binds
//! its variables to the fields.

use std::cell::Cell;
use std::marker::PhantomData;

use crate::array::enums::{Traced, TracedEnum};
use crate::array::{Mask, trees};
use crate::traverse::Traverse;

/// Values that `#[traced] match` dispatches on.
#[diagnostic::on_unimplemented(
    message = "derive `TracedEnum` for `{Self}`",
    label = "`#[traced] match` is for a `Traced<E>`, whose variant differs by lane",
    note = "`#[derive(TracedEnum)]` on an enum `E` lets its variant differ by lane; if it is the same for all lanes, \
        remove `#[traced]`"
)]
pub trait Choosable {
    /// The type of the choice between the arms.
    type Choice: Chosen;
    /// Returns the choice between the arms.
    fn choice(&self) -> Self::Choice;
}

/// The choice between the arms of a match.
pub trait Chosen {
    /// The same choice, if arms borrow their bindings.
    type Borrowed: Chosen;
    /// Returns the same choice, if arms borrow their bindings.
    fn borrowed(self) -> Self::Borrowed;
}

impl<E: TracedEnum, L: Lends> Chosen for Choice<E, L> {
    type Borrowed = Choice<E, Borrowed>;
    fn borrowed(self) -> Choice<E, Borrowed> {
        Choice { value: self.value, arms: self.arms, lends: PhantomData }
    }
}

impl<E: TracedEnum> Choosable for Traced<E> {
    type Choice = Choice<E, Owned>;
    fn choice(&self) -> Choice<E, Owned> {
        Choice { value: self.clone(), arms: Vec::new(), lends: PhantomData }
    }
}

impl<C: Choosable + ?Sized> Choosable for &C {
    type Choice = <C::Choice as Chosen>::Borrowed;
    fn choice(&self) -> Self::Choice {
        (**self).choice().borrowed()
    }
}

impl<C: Choosable + ?Sized> Choosable for &mut C {
    type Choice = <C::Choice as Chosen>::Borrowed;
    fn choice(&self) -> Self::Choice {
        (**self).choice().borrowed()
    }
}

/// How an arm receives its bindings.
pub trait Lends {
    /// The type of a binding.
    type Lent<'a, T: 'a>;
    /// Binds a value.
    fn lend<T>(value: &mut Option<T>) -> Self::Lent<'_, T>;
}

/// The matched expression is a value.
#[derive(Debug)]
pub struct Owned;

/// The matched expression is a reference.
#[derive(Debug)]
pub struct Borrowed;

impl Lends for Owned {
    type Lent<'a, T: 'a> = T;
    fn lend<T>(value: &mut Option<T>) -> T {
        value.take().expect("an arm binds each value once")
    }
}

impl Lends for Borrowed {
    type Lent<'a, T: 'a> = &'a T;
    fn lend<T>(value: &mut Option<T>) -> &T {
        value.as_ref().expect("an arm binds a stored value")
    }
}

/// The choice between the arms of a match.
pub struct Choice<E: TracedEnum, L> {
    value: Traced<E>,
    /// The variants of each arm.
    arms: Vec<Vec<u32>>,
    lends: PhantomData<L>,
}

impl<E: TracedEnum, L: Lends> Choice<E, L> {
    /// Finds the variants of each of so many arms. The function returns the arm of a variant. It calls another one to
    /// learn which arms were passed because their guard may fail, and only at arms with a guard.
    #[must_use]
    pub fn arms(mut self, count: usize, arm_of: impl Fn(&E, &dyn Fn(usize) -> bool) -> usize) -> Self {
        self.arms = vec![Vec::new(); count];
        for variant in 0..E::VARIANTS.len() as u32 {
            let value = self.value.value(variant);
            let mut next = 0;
            loop {
                let has_guard = Cell::new(false);
                let passed = |arm: usize| {
                    has_guard.set(arm >= next);
                    arm < next
                };
                let arm = arm_of(&value, &passed);
                self.arms[arm].push(variant);
                if !has_guard.get() {
                    break;
                }
                next = arm + 1;
            }
        }
        self
    }

    /// Returns the lanes whose variant is one of an arm's.
    #[track_caller]
    pub fn test(&self, arm: usize) -> Mask {
        let variants = &self.arms[arm];
        if variants.len() == E::VARIANTS.len() {
            return Mask::from(true);
        }
        let mut test: Option<Mask> = None;
        for &variant in variants {
            let is_variant = self.value.is_variant(variant);
            test = Some(match test {
                Some(test) => test | is_variant,
                None => is_variant,
            });
        }
        test.unwrap_or_else(|| Mask::from(false))
    }

    /// Returns the value in an arm for one variant; in an arm that no variant takes, which does not run, that of the
    /// first variant.
    #[must_use]
    pub fn value(&self, arm: usize) -> Option<E> {
        Some(self.value.value(self.arms[arm].first().copied().unwrap_or(0)))
    }

    /// Returns the bindings of an arm for several variants, in each lane those of its variant.
    #[must_use]
    #[track_caller]
    pub fn blend<B: Traverse + Clone>(&self, arm: usize, bound: impl Fn(&E) -> Option<B>) -> B {
        let mut blended: Option<B> = None;
        for &variant in &self.arms[arm] {
            let Some(bound) = bound(&self.value.value(variant)) else { continue };
            blended = Some(match blended {
                Some(other) => trees::select(&self.value.is_variant(variant), &bound, &other),
                None => bound,
            });
        }
        blended.expect("an arm that runs has a variant")
    }

    /// Returns the whole value.
    #[must_use]
    pub fn whole(&self) -> Option<Traced<E>> {
        Some(self.value.clone())
    }

    /// Returns the binding of an arm.
    pub fn lend<'a, T>(&self, value: &'a mut Option<T>) -> L::Lent<'a, T> {
        L::lend(value)
    }
}

/// Called where a pattern does not match a value of its own variant.
pub fn other_variant() -> ! {
    unreachable!("an arm runs only for its own variants")
}
