//! Gathers and scatters of every element type.

use half::{bf16, f16};
use jit::prelude::*;
use jit::{Integer, Number};

use crate::agree::{bits, on_each_device, resident, same};
use crate::corners::Corners;

/// Positions in another order, each once.
fn shuffled(width: usize) -> Vec<usize> {
    let step = [7, 11, 13, 17, 1].into_iter().find(|step| !width.is_multiple_of(*step)).unwrap();
    (0..width).map(|i| (i * step + 5) % width).collect()
}

fn gathers<T: Corners, I: Integer>(make: fn(usize) -> I) {
    let values = T::corners();
    let positions = shuffled(values.len());
    let index = resident(&positions.iter().map(|p| make(*p)).collect::<Vec<I>>());
    let wanted: Vec<T> = positions.iter().map(|p| values[*p]).collect();
    let call = |at: usize| format!("element {} of {} by {}", positions[at], T::TYPE, I::TYPE);
    same(&resident(&values).gather(&index).to_vec().unwrap(), &wanted, call);
    let mask = resident(&(0..values.len()).map(|i| i % 3 != 0).collect::<Vec<bool>>());
    let masked: Vec<T> = wanted.iter().enumerate().map(|(i, v)| if i % 3 != 0 { *v } else { T::default() }).collect();
    same(&resident(&values).gather_masked(&index, &mask).to_vec().unwrap(), &masked, call);
    // At an index that all lanes share.
    let uniform: Vec<Array<T>> = positions.iter().map(|p| resident(&values).gather(&Array::opaque(make(*p)))).collect();
    jit::eval(&uniform).unwrap();
    same(&uniform.iter().map(|v| v.item().unwrap()).collect::<Vec<T>>(), &wanted, call);
    let mut target = resident(&vec![T::default(); values.len()]);
    target.scatter(resident(&wanted), &index);
    same(&target.to_vec().unwrap(), &values, call);
    let mut target = resident(&values);
    target.scatter_masked(T::default(), &index, &mask);
    let mut cleared = values.clone();
    positions.iter().enumerate().filter(|(i, _)| i % 3 != 0).for_each(|(_, p)| cleared[*p] = T::default());
    same(&target.to_vec().unwrap(), &cleared, call);
}

/// Elements from a position downwards, past the first one.
fn mirrored<T: Corners, I: Integer>(first: usize, make: fn(usize) -> I) {
    let values: Vec<T> = T::corners().into_iter().cycle().take(101).collect();
    let lanes = 150;
    // Recorded anew each time: once evaluated, it would be read from memory.
    let index = || Array::opaque(make(first)) - Array::<I>::arange(lanes);
    let at = |at: I| values.get(at.to_bits() as usize).copied().unwrap_or_default();
    let wanted: Vec<T> = index().to_vec().unwrap().into_iter().map(at).collect();
    let call = |at: usize| format!("element {first} - {at} of {} by {}", T::TYPE, I::TYPE);
    same(&resident(&values).gather(&index()).to_vec().unwrap(), &wanted, call);
    let mask = Array::<u32>::arange(lanes).lt(120);
    let masked: Vec<T> = wanted.iter().enumerate().map(|(i, v)| if i < 120 { *v } else { T::default() }).collect();
    same(&resident(&values).gather_masked(&index(), &mask).to_vec().unwrap(), &masked, call);
}

/// Elements at positions whose distances are the same in all packets, or nearly all.
fn patterned<T: Corners, I: Integer>(make: fn(u32) -> I) {
    // The vector that a packet reads ends at the last element, or after it, for packets of any size.
    let values: Vec<T> = T::corners().into_iter().cycle().take(286).collect();
    let behind = T::corners().into_iter().cycle().skip(286).take(40);
    let all: Vec<T> = values.iter().copied().chain(behind).collect();
    // In memory that had other elements behind the last one.
    let array = || {
        drop(resident(&all));
        resident(&values)
    };
    let lanes = 333;
    let number = |number: u32| Array::<I>::from(make(number));
    let lane = || Array::<I>::arange(lanes);
    type Index<'a, I> = (&'a dyn Fn() -> Array<I>, fn(u32) -> u32);
    let indices: [Index<'_, I>; 9] = [
        (&|| lane() / number(2), |i| i / 2),
        (&|| lane() / number(4) * number(3) + number(1), |i| i / 4 * 3 + 1),
        (&|| lane() % number(8) + Array::opaque(make(281)), |i| i % 8 + 281),
        (&|| lane() ^ number(1), |i| i ^ 1),
        (&|| lane() * number(2), |i| i * 2),
        (&|| lane() / number(3), |i| i / 3),
        (&|| number(290) - lane() / number(2), |i| 290 - i / 2),
        (&|| number(100) - lane() * number(2), |i| 100_u32.wrapping_sub(i * 2)),
        (&|| (lane() & number(3)) + (lane() >> number(2)), |i| (i & 3) + (i >> 2)),
    ];
    for (number, (index, host)) in indices.into_iter().enumerate() {
        let at = |i: u32| values.get(host(i) as usize).copied().unwrap_or_default();
        let wanted: Vec<T> = (0..lanes as u32).map(at).collect();
        let call = |at: usize| format!("lane {at} of {} by {}, pattern {number}", T::TYPE, I::TYPE);
        same(&array().gather(&index()).to_vec().unwrap(), &wanted, call);
        let mask = Array::<u32>::arange(lanes).lt(200) & Array::<u32>::arange(lanes).ne(17);
        let masked = wanted.iter().enumerate().map(|(i, v)| if i < 200 && i != 17 { *v } else { T::default() });
        let found = array().gather_masked(&index(), &mask).to_vec().unwrap();
        same(&found, &masked.collect::<Vec<T>>(), call);
    }
}

fn reads_and_writes<T: Corners>() {
    patterned::<T, i32>(|number| number as i32);
    patterned::<T, u32>(|number| number);
    patterned::<T, u64>(u64::from);
    for first in [0, 64, 100, 149, 249] {
        mirrored::<T, u8>(first, |p| p as u8);
        mirrored::<T, i32>(first, |p| p as i32);
        mirrored::<T, u32>(first, |p| p as u32);
        mirrored::<T, i64>(first, |p| p as i64);
    }
    gathers::<T, i8>(|p| p as i8);
    gathers::<T, i16>(|p| p as i16);
    gathers::<T, i32>(|p| p as i32);
    gathers::<T, i64>(|p| p as i64);
    gathers::<T, u8>(|p| p as u8);
    gathers::<T, u16>(|p| p as u16);
    gathers::<T, u32>(|p| p as u32);
    gathers::<T, u64>(|p| p as u64);
}

/// Changes each element of all pairs of values once, with exactly the results of the host. Then several lanes change
/// the same few elements, such that the order has no effect.
fn combines<T: Corners>(op: ReduceOp, host: fn(T, T) -> T, is_ordered: bool) {
    let operands = T::corners();
    let left: Vec<T> = operands.iter().flat_map(|a| std::iter::repeat_n(*a, operands.len())).collect();
    let right = operands.repeat(operands.len());
    let positions = shuffled(left.len());
    let index = resident(&positions.iter().map(|p| *p as u32).collect::<Vec<u32>>());
    let values: Vec<T> = positions.iter().map(|p| right[*p]).collect();
    let wanted: Vec<T> = left.iter().zip(&right).map(|(a, b)| host(*a, *b)).collect();
    let call = |at: usize| format!("{:?} combined with {:?}: {} by {op:?}", left[at], right[at], T::TYPE);
    let mut target = resident(&left);
    target.scatter_reduce(op, resident(&values), &index);
    same(&target.to_vec().unwrap(), &wanted, call);
    let mut target = resident(&left);
    let odd = resident(&positions.iter().map(|p| p % 2 == 1).collect::<Vec<bool>>());
    target.scatter_reduce_masked(op, resident(&values), &index, &odd);
    let masked: Vec<T> = (0..left.len()).map(|i| if i % 2 == 1 { wanted[i] } else { left[i] }).collect();
    same(&target.to_vec().unwrap(), &masked, call);
    if is_ordered {
        return;
    }
    let finite: Vec<T> = right.iter().copied().filter(|v| v.partial_cmp(v).is_some()).collect();
    for width in [1_usize, 3, 40] {
        let mut target = resident(&finite[..width]);
        let index = UInt::arange(finite.len()) % width as u32;
        target.scatter_reduce(op, resident(&finite), &index);
        let mut wanted = finite[..width].to_vec();
        finite.iter().enumerate().for_each(|(i, v)| wanted[i % width] = host(wanted[i % width], *v));
        same(&target.to_vec().unwrap(), &wanted, |at| format!("element {at} of {width}: {} by {op:?}", T::TYPE));
    }
}

/// Operations that return the old element.
fn exchanges<T: Corners>() {
    let operands = T::corners();
    let n = operands.len();
    let positions = shuffled(n);
    let index = resident(&positions.iter().map(|p| *p as u32).collect::<Vec<u32>>());
    let values: Vec<T> = operands.iter().rev().copied().collect();
    let found: Vec<T> = positions.iter().map(|p| operands[*p]).collect();
    let mut target = resident(&operands);
    let old = target.scatter_exchange(resident(&values), &index);
    same(&old.to_vec().unwrap(), &found, |at| format!("what {:?} replaced", values[at]));
    let mut written = operands.clone();
    positions.iter().zip(&values).for_each(|(p, v)| written[*p] = *v);
    same(&target.to_vec().unwrap(), &written, |at| format!("element {at} after an exchange of {}", T::TYPE));
    // Compared by bits: every second lane expects the current element.
    let expected: Vec<T> = (0..n).map(|i| if i % 2 == 0 { found[i] } else { values[i] }).collect();
    let mut target = resident(&operands);
    let (old, replaced) = target.scatter_cas(resident(&expected), resident(&values), &index);
    same(&old.to_vec().unwrap(), &found, |at| format!("what {:?} was compared with", expected[at]));
    let equal: Vec<bool> = (0..n).map(|i| bits(expected[i]) == bits(found[i])).collect();
    same(&replaced.to_vec().unwrap(), &equal, |at| format!("whether {:?} is {:?}", found[at], expected[at]));
    let mut written = operands.clone();
    (0..n).filter(|i| equal[*i]).for_each(|i| written[positions[i]] = values[i]);
    same(&target.to_vec().unwrap(), &written, |at| format!("element {at} after comparing {}", T::TYPE));
}

/// Several lanes take numbers from the same counters.
fn counters<T: Corners + Number + Integer>(start: T, after: fn(T, usize) -> T) {
    let mut target = resident(&[start, T::default(), T::ONE]);
    let index = UInt::arange(100) % 3;
    let numbers = target.scatter_inc(&index);
    let (numbers, ends) = (numbers.to_vec().unwrap(), target.to_vec().unwrap());
    for (counter, begin) in [start, T::default(), T::ONE].into_iter().enumerate() {
        let count = (100 - counter).div_ceil(3);
        assert_eq!(ends[counter], after(begin, count), "counter {counter}: {}", T::TYPE);
        let mut got: Vec<u64> = numbers.iter().skip(counter).step_by(3).map(|v| v.to_bits()).collect();
        let mut wanted: Vec<u64> = (0..count).map(|i| after(begin, i).to_bits()).collect();
        got.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(got, wanted, "numbers of counter {counter}: {}", T::TYPE);
    }
}

macro_rules! memory_of_integers {
    ($($name:ident: $ty:ident;)*) => {
        $(#[test]
        fn $name() {
            on_each_device(|| {
                reads_and_writes::<$ty>();
                combines::<$ty>(ReduceOp::Add, |a, b| a.wrapping_add(b), false);
                combines::<$ty>(ReduceOp::Mul, |a, b| a.wrapping_mul(b), false);
                combines::<$ty>(ReduceOp::Min, |a, b| Ord::min(a, b), false);
                combines::<$ty>(ReduceOp::Max, |a, b| Ord::max(a, b), false);
                combines::<$ty>(ReduceOp::And, |a, b| a & b, false);
                combines::<$ty>(ReduceOp::Or, |a, b| a | b, false);
                exchanges::<$ty>();
                counters::<$ty>(<$ty>::MAX - 3, |start, count| start.wrapping_add(count as $ty));
            });
        })*
    };
}

memory_of_integers! {
    memory_of_i8: i8;
    memory_of_i16: i16;
    memory_of_i32: i32;
    memory_of_i64: i64;
    memory_of_u8: u8;
    memory_of_u16: u16;
    memory_of_u32: u32;
    memory_of_u64: u64;
}

#[test]
fn memory_of_masks() {
    on_each_device(|| {
        reads_and_writes::<bool>();
        combines::<bool>(ReduceOp::And, |a, b| a && b, true);
        combines::<bool>(ReduceOp::Or, |a, b| a || b, true);
        exchanges::<bool>();
    });
}

macro_rules! memory_of_floats {
    ($($name:ident: $ty:ident, $round:expr;)*) => {
        $(#[test]
        fn $name() {
            // A product or sum is rounded once, from a wider type that represents it exactly.
            fn minimum(a: $ty, b: $ty) -> $ty {
                let is_first = a < b || (a == b && a.is_sign_negative());
                if a.is_nan() || b.is_nan() { <$ty>::NAN } else if is_first { a } else { b }
            }
            on_each_device(|| {
                reads_and_writes::<$ty>();
                combines::<$ty>(ReduceOp::Add, |a, b| $round(a, b, |a, b| a + b), true);
                combines::<$ty>(ReduceOp::Mul, |a, b| $round(a, b, |a, b| a * b), true);
                combines::<$ty>(ReduceOp::Min, minimum, false);
                combines::<$ty>(ReduceOp::Max, |a, b| -minimum(-a, -b), false);
                exchanges::<$ty>();
            });
        })*
    };
}

memory_of_floats! {
    memory_of_f16: f16, |a: f16, b: f16, f: fn(f32, f32) -> f32| f16::from_f32(f(a.to_f32(), b.to_f32()));
    memory_of_bf16: bf16, |a: bf16, b: bf16, f: fn(f32, f32) -> f32| bf16::from_f32(f(a.to_f32(), b.to_f32()));
    memory_of_f32: f32, |a: f32, b: f32, f: fn(f32, f32) -> f32| f(a, b);
    memory_of_f64: f64, |a: f64, b: f64, f: fn(f64, f64) -> f64| f(a, b);
}
