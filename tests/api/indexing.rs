//! `a[i]` and `as` in `#[jit]` functions: gathers, scatters and conversions of arrays.

#![allow(clippy::unnecessary_cast, reason = "the casts are the subject of the test")]

use jit::prelude::*;

#[jit]
fn gathered(table: &Float, i: UInt, n: usize) -> Float {
    let first = table[0];
    let x = table[i];
    let parts = vec![table.clone(), x * 2.0];
    x + first * table[i + 1] + parts[n]
}

// rows: K25
#[test]
fn indexing_an_array_gathers() {
    crate::devices::on_each_device(|| {
        let table = Float::from([1.0, 10.0, 100.0, 1000.0]);
        let got = gathered(&table, UInt::from([2, 0]), 1);
        assert_eq!(got.to_vec().unwrap(), [100.0 + 1000.0 + 200.0, 1.0 + 10.0 + 2.0]);
    });
}

#[jit]
fn methods(table: &Float, i: &UInt, limit: &Float) -> (Float, Float, Float) {
    let copy = table[i].clone();
    let root = table[i].sqrt().max(table[0].clone());
    let mut seen = Local::<f32>::new(2);
    seen[0] = table[i + 1].min(limit);
    let mut sum = Float::from(0.0);
    let mut k = UInt::from(0);
    while k < 2 && seen[k].abs() < 50.0 {
        sum += seen[k].mul_add(2.0, &copy);
        k += 1;
    }
    (copy, root, sum)
}

// rows: K28
#[test]
fn methods_that_change_nothing_are_called_on_elements() {
    crate::devices::on_each_device(|| {
        let table = Float::from([1.0, 16.0, 100.0, 9.0]);
        let (copy, root, sum) = methods(&table, &UInt::from([2, 0, 1]), &Float::from(99.0));
        assert_eq!(copy.to_vec().unwrap(), [100.0, 1.0, 16.0]);
        assert_eq!(root.to_vec().unwrap(), [10.0, 1.0, 4.0]);
        // Lanes stop at a large element.
        assert_eq!(sum.to_vec().unwrap(), [2.0 * 9.0 + 100.0 + 100.0, 2.0 * 16.0 + 1.0 + 1.0, 0.0]);
    });
}

/// The longer one of two names of a list.
fn longer<'a>(first: &'a str, second: &'a str) -> &'a str {
    if first.len() >= second.len() { first } else { second }
}

fn difference(a: &Float, b: &Float) -> Float {
    a - b
}

#[jit]
fn by_reference(table: &Float, rows: &[Float], i: &UInt, names: &[String], weights: &[f32]) -> (Float, Float, String) {
    let mut seen = Local::<f32>::new(3);
    seen[0] = table[i].clone();
    seen[1] = &seen[0] + 1.0;
    let all = &table[i] * &table[i + 1] + difference(&seen[1], &table[0]) - -&seen[0];
    let k = 1;
    let of_host = &rows[0] * weights[k] + difference(&rows[k], &rows[0]).max(&rows[k - 1]);
    // What a function returns may refer to the element of a list.
    let name = longer(&names[0], &names[k]);
    (all, of_host, name.to_owned())
}

#[test]
fn operators_and_calls_get_references_to_elements() {
    crate::devices::on_each_device(|| {
        let table = Float::from([1.0, 10.0, 100.0]);
        let rows = [Float::from([1.0, 2.0]), Float::from([5.0, 3.0])];
        let names = ["b", "list"].map(String::from);
        let (all, of_host, name) = by_reference(&table, &rows, &UInt::from([1, 0]), &names, &[2.0, 3.0]);
        let of = |x: f32, next: f32| x * next + (x + 1.0 - 1.0) + x;
        assert_eq!(all.to_vec().unwrap(), [of(10.0, 100.0), of(1.0, 10.0)]);
        assert_eq!(of_host.to_vec().unwrap(), [3.0 + 4.0, 6.0 + 2.0]);
        assert_eq!(name, "list");
    });
}

#[jit]
fn scattered(hist: &mut UInt, data: &UInt, floats: &mut Float) {
    hist[data % 4] += 1;
    hist[3] -= 7;
    hist[data % 4] |= 64;
    if data > 1 {
        floats[data] = 5.0;
    }
    floats[0] = data[0] as f32;
}

// rows: K26 K27
#[test]
fn assigning_to_elements_scatters() {
    crate::devices::on_each_device(|| {
        let mut hist = UInt::zeros(4);
        let mut floats = Float::zeros(8);
        scattered(&mut hist, &UInt::from([1, 5, 2, 0]), &mut floats);
        assert_eq!(hist.to_vec().unwrap(), [65, 66, 65, 0u32.wrapping_sub(7)]);
        assert_eq!(floats.to_vec().unwrap(), [1.0, 0.0, 5.0, 0.0, 0.0, 5.0, 0.0, 0.0]);
    });
}

#[jit]
fn conversions(x: Float, m: Mask, i: &Int) -> (UInt, Float64, UInt8, Int, Float) {
    let bytes = x as u8;
    (x as u32, x as f64 * 0.5, bytes, m as i32 + (i as i32), i[1] as f32)
}

// rows: K34
#[test]
fn casts_convert_arrays_as_they_do_numbers() {
    crate::devices::on_each_device(|| {
        let x = [-3.5, 300.7, f32::NAN, 1e10];
        let (a, b, c, d, e) =
            conversions(Float::from(x), Mask::from([true, false, true, false]), &Int::from([1, 2, 3, i32::MAX]));
        assert_eq!(a.to_vec().unwrap(), x.map(|x| x as u32));
        assert!(b.to_vec().unwrap().iter().zip(x).all(|(got, x)| got.to_bits() == (f64::from(x) * 0.5).to_bits()));
        assert_eq!(c.to_vec().unwrap(), x.map(|x| x as u8));
        assert_eq!(d.to_vec().unwrap(), [2, 2, 4, i32::MAX]);
        assert_eq!(e.to_vec().unwrap(), [2.0]);
    });
}
