//! Functions and closures by number.

use jit_runtime::Site;
use jit_runtime::ir::{CompareOp, Type};

use super::guard::{Guard, call_width, emptied};
use super::sorted::Groups;
use crate::array::{Array, Integer, Mask};
use crate::graph::Var;
use crate::misuse::Misuse;
use crate::trace::{record, scatter};
use crate::traverse::leaves::Leaves;
use crate::traverse::{Traverse, arrays};

/// Targets that can be called with a tuple of arguments: functions and closures.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be called with the arguments `{A}`",
    label = "the targets of this call do not take these arguments",
    note = "the arguments are a tuple, as in `(x, y)` or `(x,)`, and each target is a function or closure that takes \
        them"
)]
pub trait Callable<A> {
    /// The result of the call.
    type Output;
    /// Calls it.
    fn call(&self, arguments: A) -> Self::Output;
}

macro_rules! callables {
    ($($($name:ident $index:tt),*;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<Target, Output, $($name),*> Callable<($($name,)*)> for Target
        where
            Target: Fn($($name),*) -> Output,
        {
            type Output = Output;
            #[track_caller]
            fn call(&self, arguments: ($($name,)*)) -> Output {
                let _ = &arguments;
                self($(arguments.$index),*)
            }
        }
    )*};
}

callables! {
    ;
    A 0;
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, D 3;
    A 0, B 1, C 2, D 3, E 4;
    A 0, B 1, C 2, D 3, E 4, F 5;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7;
}

/// The index of a call: an array of integers with a target per lane, or an integer of the host.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot select the target of a call",
    label = "expected an array of integers or an integer",
    note = "convert it with `.cast::<u32>()`"
)]
pub trait SwitchIndex {
    /// Returns the target of each lane, or of all.
    #[doc(hidden)]
    fn target(&self, count: usize, site: Site) -> Target;
}

/// A target that is known, or differs by lane.
#[doc(hidden)]
#[derive(Debug)]
pub enum Target {
    /// Known on the host.
    Known(usize),
    /// Per lane: the index as in the program; and as `u32`, out of range on lanes without a target.
    Lanes(Var, Var),
}

impl<T: Integer> SwitchIndex for Array<T> {
    fn target(&self, count: usize, _: Site) -> Target {
        let index = match T::TYPE {
            Type::I64 | Type::U64 => {
                let wide = record::cast(Type::U64, self.var());
                let count = record::literal(Type::U64, count as u64, 1);
                let is_inside = record::compare(CompareOp::Lt, &wide, &count);
                record::select(&is_inside, &record::cast(Type::U32, &wide), &no_target())
            }
            _ => record::cast(Type::U32, self.var()),
        };
        Target::Lanes(self.var().clone(), index)
    }
}

impl<I: SwitchIndex + ?Sized> SwitchIndex for &I {
    fn target(&self, count: usize, site: Site) -> Target {
        (**self).target(count, site)
    }
}

macro_rules! host_indices {
    ($($ty:ty),*) => {$(
        impl SwitchIndex for $ty {
            fn target(&self, count: usize, site: Site) -> Target {
                match usize::try_from(*self) {
                    Ok(target) if target < count => Target::Known(target),
                    _ => Misuse::new(format!("there is no target {self}: the call has {count}, counted from 0"),
                        site).panic(),
                }
            }
        }
    )*};
}

host_indices!(usize, u32, i32);

fn no_target() -> Var {
    record::literal(Type::U32, u64::from(u32::MAX), 1)
}

/// Calls, on each lane, the target with the number that the index holds, counted from 0.
///
/// Each target is traced once and runs only on its own lanes. The arguments are a tuple. Results are values made of
/// arrays, and have the common width of index and arguments. Lanes whose index is out of range get zero and do nothing.
/// A host integer calls one target as Rust does.
///
/// Targets may scatter to an array that they take as an argument and return. The result then has the writes of all
/// lanes of all targets.
///
/// ```
/// # use jit_core as jit;
/// use jit::prelude::*;
/// use jit::switch;
///
/// fn double(x: Float) -> Float {
///     &x + &x
/// }
/// fn square(x: Float) -> Float {
///     &x * &x
/// }
/// let y = switch(UInt::from([1, 0, 7]), &[double, square], (Float::from([3.0, 4.0, 5.0]),));
/// assert_eq!(y.to_vec()?, [9.0, 8.0, 0.0]);
/// # Ok::<(), jit_runtime::Error>(())
/// ```
///
/// # Panics
///
/// When there is no target, a host index is out of range, widths do not match, or the targets' results differ in a host
/// value.
#[track_caller]
pub fn switch<F: Callable<A>, A: Traverse + Clone>(index: impl SwitchIndex, targets: &[F], arguments: A) -> F::Output
where
    F::Output: Traverse,
{
    let site = Site::here();
    match checked(index, targets, site) {
        Target::Known(target) => targets[target].call(arguments),
        Target::Lanes(selector, index) => call(&selector, &index, None, targets, arguments, None, site),
    }
}

/// Like [`switch()`] on the lanes where a mask is true; the others get zero and do nothing.
///
/// # Panics
///
/// As [`switch()`].
#[track_caller]
pub fn switch_masked<F: Callable<A>, A: Traverse + Clone>(
    index: impl SwitchIndex,
    mask: &Mask,
    targets: &[F],
    arguments: A,
) -> F::Output
where
    F::Output: Traverse,
{
    let site = Site::here();
    let index = match checked(index, targets, site) {
        Target::Known(target) => record::literal(Type::U32, target as u64, 1),
        Target::Lanes(selector, index) => {
            return call(&selector, &index, Some(mask.var()), targets, arguments, None, site);
        }
    };
    call(&index, &index, Some(mask.var()), targets, arguments, None, site)
}

pub(super) fn checked<F>(index: impl SwitchIndex, targets: &[F], site: Site) -> Target {
    if targets.is_empty() {
        Misuse::new("a call without targets", site).hint("pass at least one function").panic();
    }
    index.target(targets.len(), site)
}

#[track_caller]
pub(super) fn call<F: Callable<A>, A: Traverse + Clone>(
    selector: &Var,
    index: &Var,
    mask: Option<&Var>,
    targets: &[F],
    arguments: A,
    groups: Option<Groups>,
    site: Site,
) -> F::Output
where
    F::Output: Traverse,
{
    let mut current = Leaves::of(&arguments);
    let all = arrays(&arguments);
    let width = call_width(index, mask, &all, site);
    let index = match mask {
        Some(mask) => record::select(mask, index, &no_target()),
        None => index.clone(),
    };
    let wanted = match &groups {
        Some(groups) => groups.iter().map(|(target, _)| *target).collect(),
        None => wanted(&index, targets.len()),
    };
    let mut guard = Guard::begin("jit::switch", &index, wanted.clone(), width, &all, site);
    drop(all);
    match groups {
        Some(groups) => guard.sort(groups),
        None => guard.check("function", selector, mask, targets.len()),
    }
    let mut result: Option<F::Output> = None;
    for target in wanted {
        guard.open();
        let mut arguments = arguments.clone();
        current.write(&mut arguments);
        let value = targets[target as usize].call(arguments);
        follow(&mut current, &value);
        guard.give(&value);
        result.get_or_insert_with(|| emptied(value));
    }
    drop((current, arguments));
    let (leaves, _) = guard.finish();
    let mut result = result.expect("a call has at least one target");
    leaves.write(&mut result);
    result
}

/// Returns the targets that lanes can call. If there is none, the first one is traced, only for the shape of its
/// result.
fn wanted(index: &Var, count: usize) -> Vec<u32> {
    match index.literal() {
        Some(target) if target < count as u64 => vec![target as u32],
        Some(_) => vec![0],
        None => (0..count as u32).collect(),
    }
}

/// Passes arrays that a target has scattered to and returned on to the next target.
fn follow<R: Traverse>(current: &mut Leaves, value: &R) {
    let results = Leaves::of(value).arrays;
    for array in &mut current.arrays {
        if let Some(after) = results.iter().find(|after| scatter::is_version_of(after, array)) {
            *array = after.clone();
        }
    }
}
