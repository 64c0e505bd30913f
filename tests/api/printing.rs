//! Arrays as text.

use jit::prelude::*;

use crate::devices::on_each_device;

#[test]
fn display_shows_the_elements() {
    on_each_device(|| {
        assert_eq!((Float::from([0.5, 1.0]) * 2.0).to_string(), "[1, 2]");
        assert_eq!(Mask::from([true, false]).to_string(), "[true, false]");
        assert_eq!(Int::from(-3).to_string(), "[-3]");
        assert_eq!(UInt::from(Vec::new()).to_string(), "[]");
        assert_eq!(Float64::from([1e-30, 1e300, 0.1, f64::NAN]).to_string(), "[1e-30, 1e300, 0.1, NaN]");
        assert_eq!(Half::from([0.1f32, 2.0].map(half::f16::from_f32)).to_string(), "[0.1, 2]");
    });
}

#[test]
fn long_arrays_show_their_ends() {
    on_each_device(|| {
        let text = UInt::arange(1_000_000).to_string();
        assert!(text.starts_with("[0, 1, 2, …") && text.ends_with("999999]"), "{text}");
    });
}

#[test]
fn lines_end_before_the_margin_and_are_aligned() {
    on_each_device(|| {
        let text = UInt::arange(100).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() > 1 && lines.iter().all(|line| line.len() <= 75), "{text}");
        assert!(lines[0].starts_with("[ 0,  1,") && lines[1].starts_with(' '), "{text}");
        assert!(lines[..lines.len() - 1].iter().all(|line| line.ends_with(',')), "{text}");
    });
}

#[test]
fn debug_says_what_it_is_and_evaluates_nothing() {
    on_each_device(|| {
        let x = (Float::from([1.0, 2.0]) * 3.0).with_label("product");
        let (line, text) = (line!() - 1, format!("{x:?}"));
        for part in ["f32", "2", "product", &format!("printing.rs:{line}")] {
            assert!(text.contains(part), "`{part}` is not in: {text}");
        }
        assert!(!x.is_evaluated());
    });
}

#[jit]
fn lower_half(x: &Float) -> Float {
    if x < 0.5 { x + 1.0 } else { x.clone() }
}

#[test]
fn the_result_of_a_traced_if_was_made_in_the_users_file() {
    let x = Float::linspace(0.0, 1.0, 5);
    let text = format!("{:?}", lower_half(&x));
    assert!(text.contains("printing.rs"), "{text}");
}

#[test]
fn elements_of_every_type_are_printed() {
    use half::{bf16, f16};
    on_each_device(|| {
        assert_eq!(Int8::from([i8::MIN, -1, 0, i8::MAX]).to_string(), "[-128, -1, 0, 127]");
        assert_eq!(Int16::from([i16::MIN, i16::MAX]).to_string(), "[-32768, 32767]");
        assert_eq!(Int::from([i32::MIN, i32::MAX]).to_string(), "[-2147483648, 2147483647]");
        assert_eq!(Int64::from([i64::MIN, i64::MAX]).to_string(), "[-9223372036854775808, 9223372036854775807]");
        assert_eq!(UInt8::from([0, u8::MAX]).to_string(), "[0, 255]");
        assert_eq!(UInt16::from([0, u16::MAX]).to_string(), "[0, 65535]");
        assert_eq!(UInt::from([0, u32::MAX]).to_string(), "[0, 4294967295]");
        assert_eq!(UInt64::from([0, u64::MAX]).to_string(), "[0, 18446744073709551615]");
        assert_eq!(Mask::from([false, true]).to_string(), "[false, true]");
        let floats = [0.1, -1.5, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 1e-40, f32::MAX];
        assert_eq!(Float::from(floats).to_string(), "[0.1, -1.5, NaN, inf, -inf, -0, 1e-40, 3.4028235e38]");
        assert_eq!(Float64::from([0.1, 1.0 / 3.0, 5e-324]).to_string(), "[0.1, 0.3333333333333333, 5e-324]");
        // The fewest digits that distinguish a half from its neighbours, as in NumPy.
        let halves = [0.1, 65504.0, 6e-8, 1.0 / 3.0, -2.5, f32::NAN, f32::INFINITY].map(f16::from_f32);
        assert_eq!(Half::from(halves).to_string(), "[0.1, 65500, 6e-8, 0.3333, -2.5, NaN, inf]");
        let halves = [0.1, 5.25, f32::MAX, 1.0, 257.0].map(bf16::from_f32);
        assert_eq!(BFloat::from(halves).to_string(), "[0.1, 5.25, inf, 1, 256]");
        assert_eq!(format!("{:.3}", Half::from([f16::from_f32(0.1), f16::ONE])), "[0.100, 1.000]");
    });
}

#[test]
fn every_half_is_printed_so_that_it_can_be_read_again() {
    use half::{bf16, f16};
    for bits in (0..u16::MAX).step_by(7) {
        let (half, other) = (f16::from_bits(bits), bf16::from_bits(bits));
        if half.is_finite() {
            let text = Half::from(half).to_string();
            assert_eq!(f16::from_f32(text[1..text.len() - 1].parse().unwrap()).to_bits(), bits, "{text}");
            assert!(text.len() <= 14, "{text}");
        }
        if other.is_finite() {
            let text = BFloat::from(other).to_string();
            assert_eq!(bf16::from_f32(text[1..text.len() - 1].parse().unwrap()).to_bits(), bits, "{text}");
        }
    }
}

#[test]
fn no_elements_and_one_element_are_printed() {
    on_each_device(|| {
        assert_eq!(Float::zeros(0).to_string(), "[]");
        assert_eq!((Float::from(Vec::new()) * 2.0).to_string(), "[]");
        assert_eq!(Float::opaque(2.5).to_string(), "[2.5]");
        assert_eq!((Mask::opaque(true) & true).to_string(), "[true]");
        assert_eq!(Int64::full(-1, 3).to_string(), "[-1, -1, -1]");
    });
}

/// The output of `numpy.array2string(x, separator=', ')` for the same elements.
#[test]
fn lines_are_those_of_numpy() {
    on_each_device(|| {
        let hundred = "\
[ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,
 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35,
 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53,
 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71,
 72, 73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 87, 88, 89,
 90, 91, 92, 93, 94, 95, 96, 97, 98, 99]";
        assert_eq!(UInt::arange(100).to_string(), hundred);
        let masks = "\
[ true, false,  true, false,  true, false,  true, false,  true, false,
  true, false,  true, false,  true, false,  true, false,  true, false,
  true, false,  true, false,  true, false,  true, false,  true, false,
  true, false,  true, false,  true, false,  true, false,  true, false]";
        assert_eq!((UInt::arange(40) % 2).eq(0).to_string(), masks);
        // NumPy ends whole numbers with a point.
        let tenths = "\
[0  , 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1  , 1.1, 1.2, 1.3, 1.4,
 1.5, 1.6, 1.7, 1.8, 1.9, 2  , 2.1, 2.2, 2.3, 2.4, 2.5, 2.6, 2.7, 2.8, 2.9,
 3  , 3.1, 3.2, 3.3, 3.4, 3.5, 3.6, 3.7, 3.8, 3.9]";
        assert_eq!((Half::arange(40) / 10.0).to_string(), tenths);
        let thirtieths = Float::arange(30) / 29.0;
        assert!(thirtieths.to_string().starts_with(
            "\
[0         , 0.03448276, 0.06896552, 0.10344828, 0.13793103, 0.1724138 ,
 0.20689656, 0.2413793 ,"
        ));
    });
}

#[test]
fn more_than_a_thousand_elements_are_shortened() {
    on_each_device(|| {
        assert_eq!(UInt::arange(1000).to_string().matches(',').count(), 999);
        assert_eq!(UInt::arange(1001).to_string(), "[0, 1, 2, …, 998, 999, 1000]");
        assert_eq!(Float::full(0.5, 1 << 31).to_string(), "[0.5, 0.5, 0.5, …, 0.5, 0.5, 0.5]");
        assert_eq!((Int::arange(5000) - 2500).to_string(), "[-2500, -2499, -2498, …, 2497, 2498, 2499]");
    });
}

#[test]
fn values_that_cannot_be_evaluated_print_their_error() {
    let text = (Float::placeholder(3) + 1.0).to_string();
    assert!(text.starts_with('<') && text.ends_with('>') && text.contains("placeholder"), "{text}");
}

#[test]
fn debug_shows_few_elements_that_are_there() {
    on_each_device(|| {
        let x = Float::from([1.0, 2.0]);
        jit::eval(&x).unwrap();
        assert!(format!("{x:?}").starts_with("Array<f32>(width 2, evaluated, tests/api/printing.rs:"), "{x:?}");
        assert!(format!("{x:?}").ends_with(") [1, 2]"), "{x:?}");
        assert!(format!("{:?}", Int::full(7, 3)).contains("(width 3, literal, "));
        assert!(format!("{:?}", Int::full(7, 3)).ends_with(") [7, 7, 7]"));
        assert!(format!("{:?}", Int::full(7, 17)).ends_with(')'), "too many");
        assert!(format!("{:?}", UInt8::opaque(7)).contains("Array<u8>(width 1, opaque, "));
        assert!(format!("{:?}", BFloat::placeholder(3)).contains("Array<bf16>(width 3, placeholder, "));
        let both = format!("{:?}", (x.with_label("left"), Mask::zeros(2)));
        assert!(both.contains("“left”") && both.contains("Array<bool>"), "{both}");
    });
}

thread_local! {
    static SHOWN: std::cell::RefCell<Vec<String>> = const { std::cell::RefCell::new(Vec::new()) };
}

fn show(text: String) {
    SHOWN.with_borrow_mut(|shown| shown.push(text));
}

#[jit]
fn printed_inside(x: &Float, given: &Float) -> Float {
    let mut x = x.clone();
    while x > 1.0 {
        show(format!("{x}"));
        show(format!("{x:?}"));
        show(format!("{}", jit::linalg::Vec2::new(x.clone(), given.clone())));
        show(format!("{:?}", Tensor::from(x.clone())));
        show(format!("{given} {}", Float::from(2.5)));
        x *= 0.5;
    }
    if x < 0.5 {
        let y = (x * 2.0).with_label("twice");
        show(format!("{y}"));
        x = y;
    }
    show(format!("{x}"));
    x
}

/// Printing while a loop is recorded prints known values, evaluates nothing, and does not disturb the recording.
#[test]
fn values_computed_in_a_region_are_printed_as_symbolic() {
    on_each_device(|| {
        let given = Float::from([7.0, 8.0]);
        given.to_vec().unwrap();
        let y = printed_inside(&Float::from([4.0, 0.25]), &given);
        let shown = SHOWN.take();
        assert_eq!(y.to_vec().unwrap(), [1.0, 0.5]);
        let line = |text: &str| include_str!("printing.rs").lines().position(|line| line.contains(text)).unwrap() + 1;
        let (begin, branch) = (line("while x > 1.0 {"), line("let y = (x * 2.0)") - 1);
        let place = |line: usize| format!("at {}:{line}>", file!());
        assert_eq!(shown[0], format!("<symbolic f32[2] in the loop {}", place(begin)));
        assert_eq!(shown[1], shown[0]);
        assert!(shown[2].contains(&shown[0]), "{}", shown[2]);
        assert_eq!(shown[3], shown[0]);
        assert_eq!(shown[4], "[7, 8] [2.5]");
        assert_eq!(shown[5], format!("<symbolic f32[2] “twice” in the branch {}", place(branch)));
        assert_eq!(shown[6], "[1, 0.5]");
    });
}
