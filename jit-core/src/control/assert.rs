//! Assertions whose condition is a mask: lanes check it when the kernel runs.

use std::fmt;
use std::fmt::Debug;
use std::panic::panic_any;

use jit_runtime::Site;
use jit_runtime::report::{self as machine, Assertion as Checked, Piece, Spec, Template};

use super::print::Values;
use super::stage::{HostStage, Stage, TracedStage};
use crate::array::Array;
use crate::trace::report::{self, Content};
use crate::traverse::Traverse;

/// Panics like Rust's `assert!`. A constant text is passed on as `&str`, so a caller that catches the panic finds a
/// `&str`.
#[cold]
#[track_caller]
#[expect(clippy::panic, reason = "an assertion of the user's program has failed")]
pub fn fail(message: fmt::Arguments<'_>) -> ! {
    match message.as_str() {
        Some(text) => panic_any(text),
        None => panic!("{message}"),
    }
}

/// Conditions that can be asserted.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be asserted: `assert!` takes a `bool` or a `Mask`",
    label = "expected `bool` or `Mask`, found `{Self}`",
    note = "compare it, as in `n != 0`"
)]
pub trait Assertable {
    /// The stage that decides.
    type Stage: Asserts;
    /// Returns the condition's value.
    fn condition(&self) -> <Self::Stage as Stage>::Condition;

    /// Begins an assertion.
    #[track_caller]
    #[inline(always)]
    fn assertion(&self) -> Assertion<Self::Stage> {
        let (values, sides) = (Values::default(), Vec::new());
        Assertion { condition: self.condition(), values, sides, site: Site::here() }
    }
}

#[diagnostic::do_not_recommend]
impl Assertable for bool {
    type Stage = HostStage;
    #[inline(always)]
    fn condition(&self) -> bool {
        *self
    }
}

#[diagnostic::do_not_recommend]
impl Assertable for Array<bool> {
    type Stage = TracedStage;
    #[inline]
    fn condition(&self) -> Array<bool> {
        self.clone()
    }
}

#[diagnostic::do_not_recommend]
impl<C: Assertable + ?Sized> Assertable for &C {
    type Stage = C::Stage;
    #[inline(always)]
    fn condition(&self) -> <C::Stage as Stage>::Condition {
        (**self).condition()
    }
}

/// The implementation of assertions in a stage.
pub trait Asserts: Stage {
    /// Returns whether the condition is known to be false.
    fn fails(condition: &Self::Condition) -> bool;
    /// Returns whether lanes must check the condition.
    fn is_checked(condition: &Self::Condition) -> bool;
    /// Records the check by lanes.
    fn check(condition: &Self::Condition, content: &Content, assertion: Checked);
}

impl Asserts for HostStage {
    #[inline(always)]
    fn fails(condition: &bool) -> bool {
        !*condition
    }
    #[inline(always)]
    fn is_checked(_: &bool) -> bool {
        false
    }
    #[inline(always)]
    fn check(_: &bool, _: &Content, _: Checked) {}
}

impl Asserts for TracedStage {
    fn fails(condition: &Array<bool>) -> bool {
        report::is_certain(condition.var())
    }
    fn is_checked(condition: &Array<bool>) -> bool {
        report::is_checked(condition.var())
    }
    fn check(condition: &Array<bool>, content: &Content, assertion: Checked) {
        report::assert(condition.var(), content, assertion);
    }
}

/// Values that the message of an assertion can contain, in a stage.
#[diagnostic::on_unimplemented(
    message = "`{X}` cannot be in the message of an assertion on a traced condition",
    label = "this is not an array, a number or a string, and does not consist of them",
    note = "the message is formatted when the kernel runs; derive `Traverse` for your own types, or leave the value out"
)]
pub trait ReportsValue<X: ?Sized>: Stage {
    #[doc(hidden)]
    fn report(assertion: &mut Assertion<Self>, value: &X)
    where
        Self: Asserts;
}

#[diagnostic::do_not_recommend]
impl<X: ?Sized> ReportsValue<X> for HostStage {
    #[inline(always)]
    fn report(_: &mut Assertion<HostStage>, _: &X) {}
}

#[diagnostic::do_not_recommend]
impl<X: Traverse + ?Sized> ReportsValue<X> for TracedStage {
    fn report(assertion: &mut Assertion<TracedStage>, value: &X) {
        assertion.values.add(value);
    }
}

/// Sides of `assert_eq!` and `assert_ne!`, in a stage.
#[diagnostic::on_unimplemented(
    message = "`{X}` cannot be printed by `assert_eq!` or `assert_ne!`",
    label = "this side of the assertion cannot be printed",
    note = "host values must be `Debug`; values that are compared lane by lane must consist of arrays"
)]
pub trait ShowsSide<X: ?Sized>: Stage {
    #[doc(hidden)]
    fn side(assertion: &mut Assertion<Self>, value: &X)
    where
        Self: Asserts;
}

#[diagnostic::do_not_recommend]
impl<X: Debug + ?Sized> ShowsSide<X> for HostStage {
    fn side(assertion: &mut Assertion<HostStage>, value: &X) {
        assertion.sides.push(format!("{value:?}"));
    }
}

#[diagnostic::do_not_recommend]
impl<X: Traverse + ?Sized> ShowsSide<X> for TracedStage {
    fn side(assertion: &mut Assertion<TracedStage>, value: &X) {
        assertion.values.add(value);
        let known = assertion.values.known(assertion.values.arguments.len() - 1);
        assertion.sides.push(known);
    }
}

/// An assertion whose condition has been evaluated.
pub struct Assertion<W: Asserts> {
    condition: W::Condition,
    values: Values,
    /// For a comparison, the sides as far as the host knows them.
    sides: Vec<String>,
    site: Site,
}

impl<W: Asserts> Assertion<W> {
    /// Returns whether there is anything to do: it fails, or lanes check it.
    #[inline(always)]
    pub fn is_open(&self) -> bool {
        W::fails(&self.condition) || W::is_checked(&self.condition)
    }

    /// Returns whether it fails.
    #[inline(always)]
    pub fn fails(&self) -> bool {
        W::fails(&self.condition)
    }

    /// Adds an argument of the message.
    #[inline(always)]
    pub fn value<X: ?Sized>(&mut self, value: &X)
    where
        W: ReportsValue<X>,
    {
        W::report(self, value);
    }

    /// Adds a side of a comparison.
    #[inline(always)]
    pub fn side<X: ?Sized>(&mut self, value: &X)
    where
        W: ShowsSide<X>,
    {
        W::side(self, value);
    }

    /// Panics for a comparison that fails.
    #[cold]
    #[track_caller]
    #[expect(clippy::panic, reason = "a failed assertion panics, as in Rust")]
    pub fn stop(&self, text: &str, message: Option<fmt::Arguments<'_>>) -> ! {
        let message = message.map(|message| format!(": {message}")).unwrap_or_default();
        panic!("assertion `{text}` failed{message}\n  left: {}\n right: {}", self.sides[0], self.sides[1])
    }

    /// Records the check by lanes: the assertion, and the message, if there is one.
    pub fn check(self, text: &str, pieces: &[Piece]) {
        let mut parts = Vec::new();
        if !pieces.is_empty() {
            parts.push(machine::Part::Text(": ".to_owned()));
            // The arguments of the message follow the sides.
            let shifted = pieces.iter().map(|piece| match *piece {
                Piece::Value(argument, spec) => Piece::Value(argument + self.sides.len(), spec),
                text @ Piece::Text(_) => text,
            });
            parts.extend(self.values.template(&shifted.collect::<Vec<_>>()));
        }
        for (side, name) in ["\n  left: ", "\n right: "].iter().enumerate().take(self.sides.len()) {
            parts.push(machine::Part::Text((*name).to_owned()));
            self.values.value(side, Spec::DEBUG, &mut parts);
        }
        let message = Template(parts);
        let text = format!("the assertion `{text}` fails in lane ");
        let assertion = Checked { text, message: message.clone(), site: self.site };
        W::check(
            &self.condition,
            &Content { template: message, values: self.values.arrays, site: self.site },
            assertion,
        );
    }
}
