//! Packets of neighbouring elements.

use jit::linalg::{Vec2, Vec3};
use jit::prelude::*;
use jit::{Element, Number};

use crate::{message_of, noise, on_each_device, resident};

// rows: C189
#[test]
fn packets_of_neighbours_are_gathered() {
    on_each_device(|| {
        let source = (UInt::arange(48) * 3).make_opaque();
        let index = UInt::from([2, 0, 1]);
        let pairs = source.gather_packet::<2>(&index);
        assert_eq!(pairs[1].to_vec().unwrap(), [15, 3, 9]);
        let triples = source.gather_packet::<3>(&index);
        assert_eq!(triples[2].to_vec().unwrap(), [24, 6, 15]);
        let rows = source.gather_packet::<16>(&index);
        assert_eq!(rows[15].to_vec().unwrap(), [141, 45, 93]);
        let wild = UInt::from([1, u32::MAX, 1 << 31]);
        let masked = source.gather_packet_masked::<8>(&wild, &Mask::from([true, false, false]));
        assert_eq!(masked[7].to_vec().unwrap(), [45, 0, 0]);
    });
}

/// Packets of `N` elements, at indices of every kind, compared with the host.
fn check_gathers<T: Element + Number, const N: usize>(of: fn(u32) -> T) {
    const PACKETS: usize = 57;
    let elements: Vec<T> = (0..(N * PACKETS) as u32).map(|i| of(i.wrapping_mul(37) % 251)).collect();
    let source = Array::<T>::from(&elements);
    let random: Vec<u32> = noise(333, 5).iter().map(|bits| (bits >> 7) % PACKETS as u32).collect();
    let is_on: Vec<bool> = noise(333, 9).iter().map(|bits| bits & 0x100 != 0).collect();
    let wild: Vec<u32> = random.iter().zip(&is_on).map(|(&at, &on)| if on { at } else { at | 0xF000_0000 }).collect();
    let plain = source.gather_packet::<N>(&UInt::from(&random));
    let narrow = source.gather_packet::<N>(&UInt::from(&random).cast::<u8>());
    let long = source.gather_packet::<N>(&UInt::from(&random).cast::<i64>());
    let masked = source.gather_packet_masked::<N>(&UInt::from(&wild), &Mask::from(&is_on));
    jit::eval(&(&plain, &narrow, &long, &masked)).unwrap();
    for k in 0..N {
        let expected: Vec<T> = random.iter().map(|&at| elements[at as usize * N + k]).collect();
        for got in [&plain, &narrow, &long] {
            assert!(got[k].to_vec().unwrap() == expected, "{} elements, element {k}", T::TYPE);
        }
        let zeros = expected.iter().zip(&is_on).map(|(&value, &on)| if on { value } else { T::default() });
        assert!(masked[k].to_vec().unwrap() == zeros.collect::<Vec<_>>(), "masked {}, element {k}", T::TYPE);
    }
}

/// Packets of `N` elements that are written and added, compared with the host.
fn check_scatters<T: Element + Number, const N: usize>(of: fn(u32) -> T, sum: fn(T, T) -> T) {
    const PACKETS: usize = 61;
    // A permutation of the packets, some of which are masked.
    let index: Vec<u32> = (0..PACKETS as u32).map(|i| i * 17 % PACKETS as u32).collect();
    let is_on: Vec<bool> = noise(PACKETS, 3).iter().map(|bits| bits & 0x300 != 0).collect();
    let value = |lane: usize, k: usize| of(((lane * 13 + k * 7) % 97) as u32);
    let values: [Array<T>; N] = std::array::from_fn(|k| (0..PACKETS).map(|lane| value(lane, k)).collect());
    let before: Vec<T> = (0..N * PACKETS).map(|i| of(i as u32 % 5)).collect();
    let (mut written, mut added, mut twice) = (before.clone(), before.clone(), before.clone());
    for (lane, (&at, &on)) in index.iter().zip(&is_on).enumerate() {
        for k in 0..N {
            let at = at as usize * N + k;
            added[at] = sum(added[at], value(lane, k));
            // All packets of the second half collide with those of the first.
            let half = (lane / 2 * N) + k;
            twice[half] = sum(twice[half], value(lane, k));
            if on {
                written[at] = value(lane, k);
            }
        }
    }
    let wild: Vec<i32> = index.iter().zip(&is_on).map(|(&at, &on)| if on { at as i32 } else { -7 }).collect();
    let (mut x, mut y, mut z) = (Array::from(&before), Array::from(&before), Array::from(&before));
    x.scatter_packet_masked(&values, &Int::from(&wild), &Mask::from(&is_on));
    y.scatter_add_packet(&values, &UInt::from(&index));
    z.scatter_add_packet(&values, &(UInt::arange(PACKETS) / 2));
    jit::eval(&(&x, &y, &z)).unwrap();
    assert!(x.to_vec().unwrap() == written, "written packets of {N} {}", T::TYPE);
    assert!(y.to_vec().unwrap() == added, "added packets of {N} {}", T::TYPE);
    assert!(z.to_vec().unwrap() == twice, "packets of {N} {} that meet", T::TYPE);
    let (off, mut same) = (Mask::from(false), x.clone());
    same.scatter_add_packet_masked(&values, &UInt::full(1 << 30, PACKETS), &off);
    same.scatter_packet_masked(&values, &UInt::full(1 << 30, PACKETS), &off);
    assert!(same.to_vec().unwrap() == written);
}

macro_rules! for_each_length {
    ($check:ident, $T:ty, $($argument:expr),*) => {
        $check::<$T, 1>($($argument),*);
        $check::<$T, 2>($($argument),*);
        $check::<$T, 3>($($argument),*);
        $check::<$T, 4>($($argument),*);
        $check::<$T, 5>($($argument),*);
        $check::<$T, 6>($($argument),*);
        $check::<$T, 7>($($argument),*);
        $check::<$T, 8>($($argument),*);
        $check::<$T, 12>($($argument),*);
        $check::<$T, 16>($($argument),*);
        $check::<$T, 24>($($argument),*);
    };
}

// rows: C189 C199
#[test]
fn packets_of_every_type_and_length_are_gathered() {
    on_each_device(|| {
        for_each_length!(check_gathers, u8, |i| i as u8);
        for_each_length!(check_gathers, i16, |i| i as i16 - 100);
        for_each_length!(check_gathers, u32, |i| i * 0x0101_0101);
        for_each_length!(check_gathers, f32, |i| i as f32 - 100.5);
        for_each_length!(check_gathers, i64, |i| i64::from(i) << 33);
        for_each_length!(check_gathers, f64, |i| f64::from(i) / 7.0);
    });
}

// rows: C190 C191
#[test]
fn packets_of_neighbours_are_scattered() {
    on_each_device(|| {
        for_each_length!(check_scatters, u8, |i| i as u8, u8::wrapping_add);
        for_each_length!(check_scatters, i16, |i| i as i16 - 50, i16::wrapping_add);
        for_each_length!(check_scatters, u32, |i| i * 0x0101_0101, u32::wrapping_add);
        for_each_length!(check_scatters, f32, |i| i as f32 - 20.5, |a, b| a + b);
        for_each_length!(check_scatters, i64, |i| i64::from(i) << 33, i64::wrapping_add);
        for_each_length!(check_scatters, f64, |i| f64::from(i) * 0.25, |a, b| a + b);
    });
}

// rows: C157 C158
#[test]
fn vectors_are_read_from_and_written_to_flat_arrays() {
    on_each_device(|| {
        let mut flat = (Float::arange(12) * 0.5).make_opaque();
        let points = Vec3::gather_interleaved(&flat, &UInt::from([3, 0]));
        assert_eq!(points.to_vec().unwrap(), [[4.5, 5.0, 5.5], [0.0, 0.5, 1.0]]);
        let wild = Int::from([1, -1, 1 << 30]);
        let mask = Mask::from([true, false, false]);
        let masked = Vec3::gather_interleaved_masked(&flat, &wild, &mask);
        assert_eq!(masked.to_vec().unwrap(), [[1.5, 2.0, 2.5], [0.0; 3], [0.0; 3]]);
        let before = flat.clone();
        Vec2::new(-1.0, Float::from([-2.0, -3.0])).scatter_interleaved(&mut flat, &UInt::from([5, 1]));
        (masked * 10.0).scatter_interleaved_masked(&mut flat, &wild, &mask);
        assert_eq!(flat.to_vec().unwrap(), [0.0, 0.5, -1.0, 15.0, 20.0, 25.0, 3.0, 3.5, 4.0, 4.5, -1.0, -2.0]);
        assert_eq!(before.to_vec().unwrap()[2..6], [1.0, 1.5, 2.0, 2.5]);
    });
}

#[jit]
fn chain(start: &UInt, rows: &UInt, sums: &mut UInt, steps: u32) -> UInt {
    let (mut at, mut step) = (start.clone(), UInt::from(0));
    while step < steps {
        let [next, a, b] = rows.gather_packet::<3>(&at);
        if a % 2 == 1 {
            sums.scatter_add_packet(&[a, b], &next);
        }
        at = next;
        step += 1;
    }
    at
}

#[test]
fn packets_move_in_traced_loops_and_branches() {
    on_each_device(|| {
        let count = 40;
        let row = |i: u32| [(i * 7 + 3) % count, i * i % 11, i + 100];
        let rows = UInt::from((0..count).flat_map(row).collect::<Vec<_>>());
        let mut expected = vec![0; 2 * count as usize];
        let mut ends = Vec::new();
        for start in 0..100 {
            let mut at = start % count;
            for _ in 0..5 {
                let [next, a, b] = row(at);
                if a % 2 == 1 {
                    expected[2 * next as usize] += a;
                    expected[2 * next as usize + 1] += b;
                }
                at = next;
            }
            ends.push(at);
        }
        let mut sums = UInt::zeros(2 * count as usize);
        let end = chain(&(UInt::arange(100) % count), &rows, &mut sums, 5);
        assert_eq!(end.to_vec().unwrap(), ends);
        assert_eq!(sums.to_vec().unwrap(), expected);
    });
}

#[test]
fn packets_of_expressions_are_computed_at_the_index() {
    on_each_device(|| {
        let lane = UInt::arange(60);
        let source = &lane * &lane;
        let [x, y, z] = source.gather_packet::<3>(&UInt::from([19, 0, 4]));
        assert_eq!((x + y + z).to_vec().unwrap(), [57 * 57 + 58 * 58 + 59 * 59, 5, 12 * 12 + 13 * 13 + 14 * 14]);
        let uniform = Float::full(2.5, 8).gather_packet::<4>(&UInt::from([1, 0]));
        assert_eq!(uniform[3].to_vec().unwrap(), [2.5, 2.5]);
    });
}

#[test]
fn wrong_packets_are_refused() {
    let message = message_of(|| resident([1, 2, 3]).gather_packet::<2>(&UInt::from([0])));
    assert!(message.contains("3 elements are not a whole number of packets of 2") && message.contains("packets.rs"));
    let [first, second] = resident([1, 2, 3, 4]).gather_packet::<2>(&UInt::from(2));
    assert_eq!((first.item().unwrap(), second.item().unwrap()), (0, 0));
    let message = message_of(|| {
        let mut target = resident([1, 2, 3]);
        target.scatter_packet(&[Int::from(1), Int::from(2)], &UInt::from([0]));
    });
    assert!(message.contains("not a whole number of packets of 2") && message.contains("packets.rs"), "{message}");
}
