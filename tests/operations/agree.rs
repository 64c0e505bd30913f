//! Compares an operation on arrays with a function of the host.
//!
//! Each comparison runs on all devices and in all ways in which operands reach an operation, since each is a separate
//! path through the compiler: in memory (vectors), opaque (one scalar for all lanes), literal (an immediate), and all
//! literal (computed while tracing).

use jit::prelude::*;
use jit::{Element, eval};

use crate::corners::Corners;

/// A function of the language with its host counterpart: one operand.
pub(crate) type Unary<T, R> = (&'static str, fn(&Array<T>) -> Array<R>, fn(T) -> R);
/// The same with two operands.
pub(crate) type Binary<T, R> = (&'static str, fn(&Array<T>, &Array<T>) -> Array<R>, fn(T, T) -> R);
/// The same with three operands.
pub(crate) type Ternary<T, R> = (&'static str, fn(&Array<T>, &Array<T>, &Array<T>) -> Array<R>, fn(T, T, T) -> R);

/// Runs a test on every device of the host.
pub(crate) fn on_each_device(test: impl Fn()) {
    for device in crate::tested_devices::all() {
        jit::with_device(device, &test);
    }
}

/// An array in memory.
pub(crate) fn resident<T: Element>(values: &[T]) -> Array<T> {
    let array = Array::from(values);
    eval(&array).unwrap();
    array
}

/// The bits of a value. All NaNs are equal, since their signs and payloads are unspecified.
pub(crate) fn bits<T: Element>(value: T) -> u64 {
    if value.partial_cmp(&value).is_none() { 0x7ff8 << 48 } else { value.to_bits() }
}

/// Fails with the operation and its operands if results differ from the expected ones.
#[track_caller]
pub(crate) fn same<R: Element>(got: &[R], wanted: &[R], what: impl Fn(usize) -> String) {
    assert_eq!(got.len(), wanted.len(), "{}", what(0));
    for (at, (got, wanted)) in got.iter().zip(wanted).enumerate() {
        let device = Array::<R>::default().device();
        assert_eq!(bits(*got), bits(*wanted), "{} on {device:?} is {got:?}, not {wanted:?}", what(at));
    }
}

/// All results at once, each the results of some lanes.
fn values<R: Element>(arrays: Vec<Array<R>>) -> Vec<R> {
    eval(&arrays).unwrap();
    arrays.iter().flat_map(|array| array.to_vec().unwrap()).collect()
}

fn all<T: Element, R>(operands: &[T], make: fn(T) -> Array<T>, f: impl Fn(&Array<T>) -> Array<R>) -> Vec<R>
where
    R: Element,
{
    values(operands.iter().map(|a| f(&make(*a))).collect())
}

/// Checks functions of one operand.
pub(crate) fn unary<T: Corners, R: Element>(table: &[Unary<T, R>]) {
    let operands = T::corners();
    on_each_device(|| {
        for (name, ours, host) in table {
            let wanted: Vec<R> = operands.iter().map(|a| host(*a)).collect();
            let call = |how: &'static str| {
                let operands = &operands;
                move |at: usize| format!("{name}({:?}: {}), {how},", operands[at], T::TYPE)
            };
            same(&ours(&resident(&operands)).to_vec().unwrap(), &wanted, call("in memory"));
            same(&all(&operands, Array::opaque, ours), &wanted, call("opaque"));
            same(&all(&operands, Array::from, ours), &wanted, call("literal"));
        }
    });
}

/// Checks functions of two operands on all pairs of values.
pub(crate) fn binary<T: Corners, R: Element>(table: &[Binary<T, R>]) {
    binary_on(&T::corners(), table);
}

/// Checks functions of two operands on all pairs of some values.
pub(crate) fn binary_on<T: Element, R: Element>(operands: &[T], table: &[Binary<T, R>]) {
    let n = operands.len();
    // The first operand varies slowly.
    let left: Vec<T> = operands.iter().flat_map(|a| std::iter::repeat_n(*a, n)).collect();
    let right: Vec<T> = operands.repeat(n);
    on_each_device(|| {
        let (a, b, each) = (resident(&left), resident(&right), resident(operands));
        for (name, ours, host) in table {
            let wanted: Vec<R> = left.iter().zip(&right).map(|(a, b)| host(*a, *b)).collect();
            let mirrored: Vec<R> = left.iter().zip(&right).map(|(a, b)| host(*b, *a)).collect();
            let call = |how: &'static str| {
                let (left, right) = (&left, &right);
                move |at: usize| format!("{name}({:?}, {:?}: {}), {how},", left[at], right[at], T::TYPE)
            };
            same(&ours(&a, &b).to_vec().unwrap(), &wanted, call("in memory"));
            same(&all(operands, Array::opaque, |a| ours(a, &each)), &wanted, call("opaque and memory"));
            same(&all(operands, Array::from, |a| ours(a, &each)), &wanted, call("literal and memory"));
            same(&all(operands, Array::opaque, |b| ours(&each, b)), &mirrored, call("(swapped) memory and opaque"));
            same(&all(operands, Array::from, |b| ours(&each, b)), &mirrored, call("(swapped) memory and literal"));
            let literals = left.iter().zip(&right).map(|(a, b)| ours(&Array::from(*a), &Array::from(*b)));
            same(&values(literals.collect()), &wanted, call("literal"));
            let diagonal: Vec<(T, T)> = (0..n).map(|i| (operands[i], operands[(i * 7 + 3) % n])).collect();
            let uniform = diagonal.iter().map(|(a, b)| ours(&Array::opaque(*a), &Array::opaque(*b)));
            let wanted: Vec<R> = diagonal.iter().map(|(a, b)| host(*a, *b)).collect();
            same(&values(uniform.collect()), &wanted, |at| format!("{name}({:?}: {}), opaque,", diagonal[at], T::TYPE));
        }
    });
}

/// Checks functions of three operands: all triples of every third value, the others in pairs.
pub(crate) fn ternary<T: Corners, R: Element>(table: &[Ternary<T, R>]) {
    let operands = T::corners();
    let n = operands.len();
    let few: Vec<T> = operands.iter().copied().step_by(3).collect();
    let mut triples = Vec::new();
    for a in &few {
        for b in &few {
            triples.extend(few.iter().map(|c| [*a, *b, *c]));
        }
    }
    triples.extend((0..n * n).map(|i| [operands[i / n], operands[i % n], operands[(i * 7 + i / n) % n]]));
    let [a, b, c] = [0, 1, 2].map(|position| triples.iter().map(|t| t[position]).collect::<Vec<T>>());
    on_each_device(|| {
        let [x, y, z] = [&a, &b, &c].map(|values| resident(values));
        for (name, ours, host) in table {
            let wanted: Vec<R> = triples.iter().map(|[a, b, c]| host(*a, *b, *c)).collect();
            let call = |at: usize| format!("{name}({:?}: {})", triples[at], T::TYPE);
            same(&ours(&x, &y, &z).to_vec().unwrap(), &wanted, call);
            let makers: [fn(T) -> Array<T>; 2] = [Array::opaque, Array::from];
            for make in makers {
                let some = (0..triples.len()).step_by(41);
                let results = some.clone().map(|i| {
                    let [a, b, c] = triples[i];
                    ours(&make(a), &make(b), &make(c))
                });
                let wanted: Vec<R> = some.clone().map(|i| wanted[i]).collect();
                same(&values(results.collect()), &wanted, |at| call(at * 41));
            }
        }
    });
}
