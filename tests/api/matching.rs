//! `match` on traced numbers and truth values.

use jit::prelude::*;

const LIMIT: u32 = 12;

#[jit]
fn classes(n: UInt, x: &Float) -> Float {
    let mut hits = UInt::from(0);
    let y = match n {
        0 => x * 2.0,
        1 | 2 => x + 1.0,
        3..=5 => {
            hits += 1;
            x.sqrt()
        }
        k @ 6..9 => k as f32,
        LIMIT => Float::from(-1.0),
        k if k % 2 == 1 && k > 20 => {
            hits += k;
            Float::from(0.5)
        }
        k => k as f32 + x,
    };
    y + hits as f32 * 100.0
}

#[test]
fn numbers_are_matched_lane_by_lane() {
    let n = [0, 1, 2, 4, 7, 12, 21, 11, 22];
    let got = jit_on_each(|| classes(UInt::from(n), &Float::from(9.0)));
    assert_eq!(got, [18.0, 10.0, 10.0, 103.0, 7.0, -1.0, 2100.5, 20.0, 31.0]);
}

fn jit_on_each(program: impl Fn() -> Float) -> Vec<f32> {
    let on = |device| jit::with_device(device, || program().to_vec().unwrap());
    let expected = on(Device::Interpreter);
    assert_eq!(on(Device::Cpu), expected);
    expected
}

#[jit]
fn statements(op: &UInt8, flag: Mask, x: Float, table: &mut UInt) -> Float {
    let mut y = x.clone();
    match *op {
        b'+' => y += 1.0,
        b'*' => {
            y *= 3.0;
            table[op] += 1;
        }
        _ => {}
    }
    match flag {
        true => y += 100.0,
        false => y -= 100.0,
    }
    let z;
    match op {
        b'+' => z = y * 2.0,
        _ => z = y.clone(),
    }
    match x * 2.0 {
        2.0 => z,
        v if v < 0.0 => v,
        2.5.. => z + 0.5,
        v => v - z,
    }
}

#[test]
fn arms_change_variables_and_scatter_on_their_own_lanes() {
    let mut table = UInt::zeros(64);
    let op = UInt8::from([b'+', b'*', b'-', b'*']);
    let flag = Mask::from([true, false, true, false]);
    let got = statements(&op, flag, Float::from([1.0, 2.0, -3.0, 0.5]), &mut table);
    assert_eq!(got.to_vec().unwrap(), [204.0, -93.5, -6.0, 1.0 + 98.5]);
    assert_eq!(table.get(b'*' as usize).unwrap(), 2);
}

#[jit]
fn of_elements(kinds: &UInt, i: &UInt, k: u32) -> UInt {
    let count = match kinds[i] {
        0 => UInt::from(k),
        n => n * 10,
    };
    match k {
        0 => count,
        1..=3 => count + 1,
        _ => count + 2,
    }
}

#[test]
fn what_is_matched_can_be_an_element_or_a_host_value() {
    let kinds = UInt::from([0, 5, 7]);
    let i = UInt::from([2, 0]);
    assert_eq!(of_elements(&kinds, &i, 2).to_vec().unwrap(), [71, 3]);
    assert_eq!(of_elements(&kinds, &i, 0).to_vec().unwrap(), [70, 0]);
    assert_eq!(of_elements(&kinds, &i, 9).to_vec().unwrap(), [72, 11]);
}

#[jit]
fn in_a_loop(start: UInt) -> (UInt, UInt) {
    let (mut n, mut steps) = (start, UInt::from(0));
    while n != 1 && steps < 1000 {
        n = match n % 2 {
            0 => n / 2,
            _ => 3 * n + 1,
        };
        steps += 1;
    }
    (n, steps)
}

#[test]
fn a_match_in_a_traced_loop_is_part_of_its_body() {
    let (n, steps) = in_a_loop(UInt::from([1, 6, 27]));
    assert_eq!(n.to_vec().unwrap(), [1, 1, 1]);
    assert_eq!(steps.to_vec().unwrap(), [0, 8, 111]);
}
