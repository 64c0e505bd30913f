//! Indices out of range: a lane that reads there gets zero, and one that writes there writes nothing, whatever the
//! index and its generated code.

use half::{bf16, f16};
use jit::prelude::*;
use jit::{Integer, ReduceOp};

use crate::agree::{on_each_device, resident, same};
use crate::corners::Corners;

/// The element at an index; zero if there is none.
fn element<T: Corners>(values: &[T], index: i128) -> T {
    usize::try_from(index).ok().and_then(|index| values.get(index)).copied().unwrap_or_default()
}

/// Around both ends of an array, at the ends of the type, and where multiples of indices would wrap around into the
/// array.
fn indices<I: Integer + Into<i128>>(len: usize) -> Vec<I> {
    let bits = I::TYPE.bits();
    let near = [0, 1, len as i64 - 1, len as i64, len as i64 + 1, len as i64 + 40, -1, -2, -(len as i64)];
    let far = [1_u64 << (bits - 1), (1 << (bits - 1)) - 1, u64::MAX, u64::MAX / 2, u64::MAX / 4 + 1, 1 << (bits - 2)];
    let near = near.into_iter().map(|index| index as u64);
    near.chain(far).map(|bits| I::from_bits(bits & I::TYPE.bit_mask())).collect()
}

fn any_index<T: Corners, I: Integer + Into<i128>>() {
    let values: Vec<T> = T::corners().into_iter().take(11).collect();
    let list = indices::<I>(values.len());
    let wanted: Vec<T> = list.iter().map(|&index| element(&values, index.into())).collect();
    let call = |at: usize| format!("element {} of {} {} by {}", list[at], values.len(), T::TYPE, I::TYPE);
    let (source, index) = (resident(&values), resident(&list));
    same(&source.gather(&index).to_vec().unwrap(), &wanted, call);
    let mask = resident(&(0..list.len()).map(|i| i % 3 != 0).collect::<Vec<bool>>());
    let masked: Vec<T> = wanted.iter().enumerate().map(|(i, v)| if i % 3 != 0 { *v } else { T::default() }).collect();
    same(&source.gather_masked(&index, &mask).to_vec().unwrap(), &masked, call);
    let shared: Vec<Array<T>> = list.iter().map(|&index| source.gather(&Array::opaque(index))).collect();
    jit::eval(&shared).unwrap();
    same(&shared.iter().map(|v| v.item().unwrap()).collect::<Vec<T>>(), &wanted, call);
    // Each element once, in order: the last write wins.
    let mut target = resident(&vec![T::default(); values.len()]);
    let written: Vec<Array<I>> = list.iter().map(|&index| Array::opaque(index)).collect();
    for (index, value) in written.iter().zip(&wanted) {
        target.scatter(*value, index);
    }
    let hit = |at: usize| list.iter().any(|&index| Into::<i128>::into(index) == at as i128);
    let left: Vec<T> = values.iter().enumerate().map(|(at, v)| if hit(at) { *v } else { T::default() }).collect();
    same(&target.to_vec().unwrap(), &left, call);
    let mut target = resident(&vec![T::default(); values.len()]);
    target.scatter(resident(&wanted), &index);
    same(&target.to_vec().unwrap(), &left, call);
}

fn any_type<I: Integer + Into<i128>>() {
    any_index::<bool, I>();
    any_index::<i8, I>();
    any_index::<u16, I>();
    any_index::<f16, I>();
    any_index::<bf16, I>();
    any_index::<u32, I>();
    any_index::<f32, I>();
    any_index::<i64, I>();
    any_index::<f64, I>();
}

// rows: C167 C168
#[test]
fn reads_give_zero_and_writes_do_nothing() {
    on_each_device(|| {
        any_type::<i8>();
        any_type::<i16>();
        any_type::<i32>();
        any_type::<i64>();
        any_type::<u8>();
        any_type::<u16>();
        any_type::<u32>();
        any_type::<u64>();
    });
}

/// Combines on many lanes, by atomic operations and in private targets of each thread.
fn combines<I: Integer + Into<i128>>(elements: usize, width: usize) {
    let near: Vec<I> = indices(elements);
    let list: Vec<I> = (0..width).map(|lane| near[lane * 7 % near.len()]).collect();
    let mut wanted = vec![0_u32; elements];
    for &index in &list {
        let index = usize::try_from(Into::<i128>::into(index)).ok();
        index.and_then(|index| wanted.get_mut(index)).into_iter().for_each(|count| *count += 3);
    }
    let mut sums = resident(&vec![0_u32; elements]);
    sums.scatter_add(3, &resident(&list));
    same(&sums.to_vec().unwrap(), &wanted, |at| format!("sum {at} of {elements}, {width} lanes, by {}", I::TYPE));
}

// rows: C168
#[test]
fn nothing_is_combined_out_of_range() {
    on_each_device(|| {
        for (elements, width) in [(5, 40), (5, 20_000), (300, 20_000), (5000, 20_000)] {
            combines::<i32>(elements, width);
            combines::<u32>(elements, width);
            combines::<i64>(elements, width);
            combines::<u64>(elements, width);
        }
        combines::<i8>(5, 20_000);
        combines::<u16>(5, 20_000);
    });
}

#[test]
fn operations_that_return_old_elements_return_zero() {
    on_each_device(|| {
        let index = resident(&[0_i32, 4, -1, 1, i32::MIN]);
        let mut counts = resident(&[10_u32, 20, 30, 40]);
        let found = counts.scatter_inc(&index);
        same(&found.to_vec().unwrap(), &[10, 0, 0, 20, 0], |at| format!("found by lane {at}"));
        same(&counts.to_vec().unwrap(), &[11, 21, 30, 40], |at| format!("count {at}"));
        let found = counts.scatter_exchange(7_u32, &index);
        same(&found.to_vec().unwrap(), &[11, 0, 0, 21, 0], |at| format!("found by lane {at}"));
        let (found, replaced) = counts.scatter_cas(7_u32, 8_u32, &index);
        same(&found.to_vec().unwrap(), &[7, 0, 0, 7, 0], |at| format!("found by lane {at}"));
        same(&replaced.to_vec().unwrap(), &[true, false, false, true, false], |at| format!("replaced by lane {at}"));
        for index in [4, -1] {
            let index = Int::opaque(index);
            let lanes = UInt::arange(40);
            let found = counts.scatter_inc(&(&index + (&lanes / 64).cast::<i32>()));
            same(&found.to_vec().unwrap(), &[0; 40], |at| format!("found by lane {at} of those that share an index"));
            counts.scatter_reduce(ReduceOp::Max, lanes, &index);
        }
        same(&counts.to_vec().unwrap(), &[8, 8, 30, 40], |at| format!("count {at}"));
    });
}

/// Elements starting at an offset, from an array in memory, an expression and a constant.
#[test]
fn consecutive_indices_leave_an_array_at_both_ends() {
    on_each_device(|| {
        for elements in [1_usize, 2, 15, 16, 17, 64, 100, 1000] {
            let host: Vec<u32> = (0..elements as u32).map(|i| i * 3 + 1).collect();
            let (memory, seven) = (resident(&host), UInt::full(7, elements));
            let expression = UInt::arange(elements) * 3 + 1;
            for offset in [-70_i32, -17, -16, -1, 0, 1, 15, 16, 33, 999, i32::MAX, i32::MIN] {
                let lanes = Int::arange(133);
                let index =
                    [&lanes + offset, &lanes + Int::opaque(offset), &lanes - Int::opaque(offset.wrapping_neg())];
                for (index, way) in index.iter().zip(["literal", "opaque", "subtracted"]) {
                    let at = |lane: usize| i128::from((lane as i32).wrapping_add(offset));
                    let call = |lane| format!("element {} of {elements}, offset {way}", at(lane));
                    let wanted: Vec<u32> = (0..133).map(|lane| element(&host, at(lane))).collect();
                    same(&memory.gather(index).to_vec().unwrap(), &wanted, call);
                    same(&memory.gather(&index.cast::<u32>()).to_vec().unwrap(), &wanted, call);
                    same(&expression.gather(index).to_vec().unwrap(), &wanted, call);
                    let sevens: Vec<u32> = wanted.iter().map(|v| if *v == 0 { 0 } else { 7 }).collect();
                    same(&seven.gather(index).to_vec().unwrap(), &sevens, call);
                    let mut target = resident(&vec![0_u32; elements]);
                    target.scatter(&lanes.cast::<u32>() + 1, index);
                    let lane_of = |place: usize| place as i128 - i128::from(offset);
                    let written = |place: usize| match lane_of(place) {
                        lane @ 0..133 => lane as u32 + 1,
                        _ => 0,
                    };
                    let wanted: Vec<u32> = (0..elements).map(written).collect();
                    same(&target.to_vec().unwrap(), &wanted, |place| format!("written to {place}, offset {offset}"));
                }
            }
        }
    });
}

/// An index, and that of a lane as the host computes it.
type Limited = (UInt, fn(u32) -> u32);

/// Indices that are in range of a remainder, a mask or a limit that is larger than the array.
#[test]
fn limited_indices_leave_an_array_that_is_shorter() {
    on_each_device(|| {
        for elements in [20_usize, 50, 64, 100, 128] {
            let host: Vec<f32> = (0..elements).map(|i| i as f32 + 0.5).collect();
            let memory = resident(&host);
            let lanes = UInt::arange(1000);
            let at: [Limited; 5] = [
                ((&lanes + 3) & 63, |lane| (lane + 3) & 63),
                ((&lanes + 1) % 100, |lane| (lane + 1) % 100),
                ((&lanes + 5).min(99_u32), |lane| (lane + 5).min(99)),
                (&lanes / 10, |lane| lane / 10),
                ((&lanes - 1) % 128_u32, |lane| lane.wrapping_sub(1) % 128),
            ];
            for (number, (index, host_index)) in at.iter().enumerate() {
                let wanted: Vec<f32> = (0..1000).map(|lane| element(&host, host_index(lane).into())).collect();
                let call = |lane| format!("element {} of {elements}, way {number}", host_index(lane as u32));
                same(&memory.gather(index).to_vec().unwrap(), &wanted, call);
            }
        }
    });
}

#[test]
fn packets_that_reach_out_of_range_are_read_and_written_as_single_elements_are() {
    on_each_device(|| {
        let host: Vec<f32> = (1..=12).map(|i| i as f32).collect();
        // Some indices whose first position would wrap around into the array.
        let list: Vec<u32> = vec![0, 3, 4, 5, 1 << 30, u32::MAX, u32::MAX / 3 + 1, 2, 1 << 31, (1 << 30) + 1];
        let packet = resident(&host).gather_packet::<3>(&resident(&list));
        let wide: Vec<i64> =
            list.iter().map(|&index| i64::from(index)).chain([i64::MAX / 3 + 1, -1, i64::MIN]).collect();
        let wide_packet = resident(&host).gather_packet::<3>(&resident(&wide));
        let signed: Vec<i32> = list.iter().map(|&index| index as i32).collect();
        let signed_packet = resident(&host).gather_packet::<3>(&resident(&signed));
        for part in 0..3 {
            let of = |index: i128| element(&host, 3 * index + part as i128);
            let call = |at: usize| format!("part {part} of packet {}", wide[at]);
            let wanted: Vec<f32> = list.iter().map(|&index| of(index.into())).collect();
            same(&packet[part].to_vec().unwrap(), &wanted, call);
            let wanted: Vec<f32> = wide.iter().map(|&index| of(index.into())).collect();
            same(&wide_packet[part].to_vec().unwrap(), &wanted, call);
            let wanted: Vec<f32> = signed.iter().map(|&index| of(index.into())).collect();
            same(&signed_packet[part].to_vec().unwrap(), &wanted, call);
        }
        let mut target = resident(&host);
        let values = [100.0, 200.0, 300.0].map(Float::from);
        target.scatter_packet(&values, &resident(&[1_u32, 4, 1 << 31, u32::MAX / 3 + 1]));
        let wanted = [1.0, 2.0, 3.0, 100.0, 200.0, 300.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0];
        same(&target.to_vec().unwrap(), &wanted, |at| format!("element {at}"));
        // Rows of neighbours, only some of which are in range.
        let index = resident(&[-4_i32, -2, -1, 0, 8, 9, 10, 11, 12, i32::MAX]);
        let row: Float = (0..4).map(|k| resident(&host).gather(&(&index + k))).fold(Float::from(0.0), |a, b| a + b);
        let sum = |index: &i32| (0..4).map(|k| element(&host, index.wrapping_add(k).into())).fold(0.0, |a, b| a + b);
        let wanted: Vec<f32> = index.to_vec().unwrap().iter().map(sum).collect();
        same(&row.to_vec().unwrap(), &wanted, |at| format!("row {at}"));
    });
}

/// Sums of elements that a loop runs past.
#[jit]
fn past_the_end(values: &Float, columns: u32, end: &UInt) -> (Float, Float, Float) {
    let lane = UInt::arange(end.width());
    let (mut shared, mut own, mut below) = (Float::from(0.0), Float::from(0.0), Float::from(0.0));
    let mut k = UInt::from(0);
    while k < 90 {
        shared += values.gather(&k);
        own += values.gather(&(k * columns + &lane));
        k += 1;
    }
    let mut k = UInt::from(0);
    while k < end {
        below += values.gather(&(k * 7));
        k += 1;
    }
    (shared, own, below)
}

#[test]
fn loops_read_past_the_end() {
    on_each_device(|| {
        for elements in [40_usize, 90, 95, 500] {
            let host: Vec<f32> = (0..elements).map(|i| i as f32 + 1.0).collect();
            let ends: Vec<u32> = (0..70).map(|lane| lane * 3 % 31).collect();
            let (shared, own, below) = past_the_end(&resident(&host), 9, &resident(&ends));
            let sum = |indices: &mut dyn Iterator<Item = u32>| -> f32 {
                indices.map(|index| element(&host, index.into())).fold(0.0, |sum, value| sum + value)
            };
            let lanes = || 0..70_u32;
            let wanted: Vec<f32> = lanes().map(|_| sum(&mut (0..90))).collect();
            same(&(shared + Float::zeros(70)).to_vec().unwrap(), &wanted, |_| format!("shared, of {elements}"));
            let wanted: Vec<f32> = lanes().map(|lane| sum(&mut (0..90).map(|k| k * 9 + lane))).collect();
            same(&own.to_vec().unwrap(), &wanted, |lane| format!("lane {lane} of {elements}"));
            let wanted: Vec<f32> = ends.iter().map(|&end| sum(&mut (0..end).map(|k| k * 7))).collect();
            same(&below.to_vec().unwrap(), &wanted, |lane| format!("lane {lane} below, of {elements}"));
        }
    });
}

/// `a[i]` and `a[i] = v` under conditions.
#[jit]
fn indexed(source: &Int, target: &mut Int, index: &Int) -> Int {
    let mut found = source[index] * 10;
    if index % 2 == 0 {
        found += source[index + 1];
        target[index] = 5;
    } else {
        target[index + 2] += 1;
    }
    found
}

#[test]
fn indexing_in_functions_may_leave_an_array() {
    on_each_device(|| {
        let mut target = resident(&[0_i32; 4]);
        let index = [-3, -2, -1, 0, 1, 2, 3, 4, 5, i32::MAX, i32::MIN];
        let found = indexed(&resident(&[1, 2, 3]), &mut target, &resident(&index));
        let of = |index: i32| element(&[1, 2, 3], index.into());
        let next = |index: i32| if index % 2 == 0 { of(index.wrapping_add(1)) } else { 0 };
        let wanted: Vec<i32> = index.iter().map(|&index| of(index) * 10 + next(index)).collect();
        same(&found.to_vec().unwrap(), &wanted, |at| format!("index {}", index[at]));
        assert_eq!(target.to_vec().unwrap(), [5, 1, 5, 1]);
    });
}

/// Elements of the arrays below, and lanes.
const MANY: i32 = 4096;

fn numbered() -> Vec<i32> {
    (0..MANY).map(|at| at * 3 + 1).collect()
}

/// The elements that lanes read at indices.
fn read(source: &[i32], index: impl Fn(i32) -> i64) -> Vec<i32> {
    (0..MANY).map(|lane| element(source, index(lane).into())).collect()
}

#[test]
fn an_index_less_a_negative_number_that_all_lanes_share_leaves_an_array() {
    on_each_device(|| {
        let (values, lanes) = (numbered(), Int::arange(MANY as usize));
        let source = resident(&values);
        for moved in [-500_000_000, -5000, -4095, -1, 0, 1, 4000, i32::MAX, i32::MIN] {
            let call = |lane: usize| format!("lane {lane} moved by {moved}");
            let exact = |lane: i32| i64::from(lane.wrapping_sub(moved).max(0));
            let index = (&lanes - Int::opaque(moved)).max(0);
            same(&source.gather(&index).to_vec().unwrap(), &read(&values, exact), call);
            // Rows of neighbours.
            let next = source.gather(&index) + source.gather(&(&index + 1));
            let wanted = read(&values, exact).into_iter().zip(read(&values, |lane| exact(lane) + 1));
            same(&next.to_vec().unwrap(), &wanted.map(|(a, b)| a + b).collect::<Vec<i32>>(), call);
            // Other types, and limits that do not prove anything.
            let wide = (lanes.cast::<i64>() - Int64::opaque(moved.into())).max(0);
            let wanted = read(&values, |lane| (i64::from(lane) - i64::from(moved)).max(0));
            same(&source.gather(&wide).to_vec().unwrap(), &wanted, call);
            let limited = (&lanes - Int::opaque(moved)).max(0).min(MANY + 77);
            let wanted = read(&values, |lane| exact(lane).min((MANY + 77).into()));
            same(&source.gather(&limited).to_vec().unwrap(), &wanted, call);
            let mut target = resident(&vec![0; MANY as usize]);
            target.scatter_add(Int::from(1), &index);
            let mut wanted = vec![0; MANY as usize];
            (0..MANY).filter_map(|lane| usize::try_from(exact(lane)).ok()).for_each(|at| {
                wanted.get_mut(at).into_iter().for_each(|element| *element += 1);
            });
            same(&target.to_vec().unwrap(), &wanted, call);
        }
    });
}

#[test]
fn a_remainder_by_zero_leaves_an_array() {
    on_each_device(|| {
        let (values, lanes) = (numbered(), UInt::arange(MANY as usize));
        let source = resident(&values);
        for number in [0, 3, 5000, 1_000_000, u32::MAX] {
            let call = |lane: usize| format!("lane {lane} of {number}");
            let remainder = |lane: i32| match lane & 3 {
                0 => i64::from(number),
                divisor => i64::from(number) % i64::from(divisor),
            };
            let by_lane = UInt::opaque(number) % (&lanes & 3);
            same(&source.gather(&by_lane).to_vec().unwrap(), &read(&values, remainder), call);
            let signed = Int64::opaque(number.into()) % (&lanes & 3).cast::<i64>();
            same(&source.gather(&signed).to_vec().unwrap(), &read(&values, remainder), call);
            let by_zero = (&lanes + number) % UInt::opaque(0);
            let wanted = read(&values, |lane| i64::from((lane as u32).wrapping_add(number)));
            same(&source.gather(&by_zero).to_vec().unwrap(), &wanted, call);
        }
    });
}

#[jit]
fn sum_of_moved(source: &Int, count: &Int, moved: &Int, divisor: &UInt) -> (Int, Int) {
    let (mut i, mut total, mut folded) = (Int::from(0), Int::from(0), Int::from(0));
    while i < count {
        total += source.gather(&(&i - moved).max(0));
        folded += source.gather(&((&i + 5000).cast::<u32>() % divisor));
        i += 1;
    }
    (total, folded)
}

#[test]
fn counters_that_are_moved_or_divided_leave_an_array_in_loops() {
    on_each_device(|| {
        let values = numbered();
        let source = resident(&values);
        for (count, moved, divisor) in
            [(100, -500_000_000, 0), (5000, 3, 7), (50, -4090, 4096), (-1, -1, 1), (9, i32::MAX, 0)]
        {
            let (total, folded) =
                sum_of_moved(&source, &Int::opaque(count), &Int::opaque(moved), &UInt::opaque(divisor));
            let sum = |index: &dyn Fn(i32) -> i64| (0..count).map(|i| element(&values, index(i).into())).sum::<i32>();
            let call = |_| format!("{count} times, moved by {moved}, by {divisor}");
            same(&[total.item().unwrap()], &[sum(&|i| i64::from(i.wrapping_sub(moved).max(0)))], call);
            let remainder = |i: i32| i64::from((i as u32 + 5000).checked_rem(divisor).unwrap_or(i as u32 + 5000));
            same(&[folded.item().unwrap()], &[sum(&remainder)], call);
        }
    });
}
