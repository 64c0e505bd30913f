//! Values of evaluated programs, on every device.

#[path = "../../tests/shared/tested_devices.rs"]
mod tested_devices;

use jit_core::{Array, Float, Int, Mask, UInt, eval, select};
use jit_runtime::ErrorKind;
use jit_runtime::device::{Device, with_device};

fn on_every_device(body: impl Fn()) {
    for device in tested_devices::all() {
        with_device(device, &body);
    }
}

#[test]
fn arithmetic_is_that_of_rust() {
    on_every_device(|| {
        let x = Float::from([1.0, -2.5, 3.25]);
        let y = &x * 2.0 + 1.0;
        assert_eq!(y.to_vec().unwrap(), [3.0, -4.0, 7.5]);
        assert_eq!((1 - &x).to_vec().unwrap(), [0.0, 3.5, -2.25]);
        assert_eq!((-&x).abs().sqrt().get(0).unwrap(), 1.0);
        let i = Int::from([7, -7, i32::MIN]);
        assert_eq!((&i / 2).to_vec().unwrap(), [3, -3, i32::MIN / 2]);
        assert_eq!((&i / -1).to_vec().unwrap(), [-7, 7, i32::MIN]);
        assert_eq!(i.rem_euclid(4).to_vec().unwrap(), [3, 1, 0]);
        assert_eq!(i.div_euclid(-4).to_vec().unwrap(), [-1, 2, i32::MIN.div_euclid(-4)]);
    });
}

#[test]
fn adding_a_zero_to_an_element_gives_the_same_bits_if_the_zero_is_a_literal() {
    on_every_device(|| {
        let sums = |zero: Float| {
            let mut x = Float::from([-0.0, -0.0, 0.0, 1.0]);
            x.scatter_add(zero, &UInt::from([0, 2, 3]));
            x.to_vec().unwrap().into_iter().map(f32::to_bits).collect::<Vec<u32>>()
        };
        let bits = |values: [f32; 4]| values.map(f32::to_bits);
        assert_eq!(sums(Float::from(0.0)), bits([0.0, -0.0, 0.0, 1.0]));
        assert_eq!(sums(Float::opaque(0.0)), bits([0.0, -0.0, 0.0, 1.0]));
        assert_eq!(sums(Float::from(-0.0)), bits([-0.0, -0.0, 0.0, 1.0]));
        assert_eq!(sums(Float::opaque(-0.0)), bits([-0.0, -0.0, 0.0, 1.0]));
        let mut unchanged = Float::zeros(4);
        unchanged.scatter_add(-0.0, &UInt::from([1]));
        assert!(unchanged.is_literal());
    });
}

#[test]
fn literals_need_no_kernel() {
    let x = Float::full(2.0, 5) * 3.0;
    assert!(x.is_literal());
    assert_eq!(x.to_vec().unwrap(), [6.0; 5]);
    assert_eq!(UInt::from(7).item().unwrap(), 7);
}

#[test]
fn masks_choose() {
    on_every_device(|| {
        let x = Float::from([1.0, f32::NAN, -0.0]);
        assert_eq!(x.lt(0.5).to_vec().unwrap(), [false, false, true]);
        assert_eq!(x.ne(&x).to_vec().unwrap(), [false, true, false]);
        assert_eq!(select(&x.ge(0.0), &x, 9.0).to_vec().unwrap(), [1.0, 9.0, -0.0]);
        let mask = Mask::from([true, false, true]);
        assert_eq!((!&mask | mask.clone()).to_vec().unwrap(), [true; 3]);
        assert_eq!(mask.count().item().unwrap(), 2);
    });
}

#[test]
fn lanes_count() {
    on_every_device(|| {
        assert_eq!(UInt::arange(4).to_vec().unwrap(), [0, 1, 2, 3]);
        assert_eq!(Float::arange(3).to_vec().unwrap(), [0.0, 1.0, 2.0]);
        assert_eq!(Float::linspace(0.0, 1.0, 5).to_vec().unwrap(), [0.0, 0.25, 0.5, 0.75, 1.0]);
        assert_eq!(UInt::arange(1).to_vec().unwrap(), [0]);
        assert_eq!(UInt::arange(0).to_vec().unwrap(), []);
        let wide = UInt::arange(1) + UInt::arange(3);
        assert_eq!(wide.to_vec().unwrap(), [0, 1, 2]);
    });
}

#[test]
fn narrow_values_spread() {
    on_every_device(|| {
        let narrow = Float::opaque(3.0) + 1.0;
        let wide = Float::from([1.0, 2.0]) * &narrow;
        eval(&(&narrow, &wide)).unwrap();
        assert_eq!(narrow.item().unwrap(), 4.0);
        assert_eq!(wide.to_vec().unwrap(), [4.0, 8.0]);
        assert_eq!((&wide - narrow).to_vec().unwrap(), [0.0, 4.0]);
    });
}

#[test]
fn reductions_reduce() {
    on_every_device(|| {
        let x = Float::arange(100_000) + 0.5;
        assert_eq!(x.reduce_max().item().unwrap(), 99_999.5);
        assert_eq!(x.reduce_min().item().unwrap(), 0.5);
        let sum = f64::from(x.sum().item().unwrap());
        assert!((sum / 5e9 - 1.0).abs() < 1e-6, "{sum}");
        let mean = &x - x.mean();
        assert!(mean.sum().item().unwrap().abs() < 1e4);
        assert_eq!(UInt::arange(5).product().item().unwrap(), 0);
        assert_eq!((UInt::arange(5) + 1).product().item().unwrap(), 120);
        assert!(x.gt(3.0).any().item().unwrap());
        assert!(!x.gt(3.0).all().item().unwrap());
        assert_eq!(Float::from([1.0, 2.0]).dot(Float::from([3.0, 4.0])).item().unwrap(), 11.0);
    });
}

#[test]
fn reductions_of_nothing_are_neutral() {
    let nothing = Float::zeros(0);
    assert_eq!(nothing.sum().item().unwrap(), 0.0);
    assert_eq!(nothing.product().item().unwrap(), 1.0);
    assert_eq!(nothing.reduce_min().item().unwrap(), f32::INFINITY);
    assert_eq!(Int::zeros(0).reduce_max().item().unwrap(), i32::MIN);
    assert!(Mask::zeros(0).all().item().unwrap());
    assert!(!Mask::zeros(0).any().item().unwrap());
    assert!(nothing.mean().item().unwrap().is_nan());
    let computed = Float::from(Vec::new()) + Float::from(Vec::new());
    assert_eq!(computed.to_vec().unwrap(), []);
}

#[test]
fn gathers_read_other_lanes() {
    on_every_device(|| {
        let x = Float::from([10.0, 11.0, 12.0, 13.0]);
        let index = UInt::from([3, 0, 0]);
        assert_eq!(x.gather(&index).to_vec().unwrap(), [13.0, 10.0, 10.0]);
        // Of an expression, by computing it at the index.
        let y = &x * &x + Float::arange(4);
        assert_eq!(y.gather(&index).to_vec().unwrap(), [172.0, 100.0, 100.0]);
        assert!(!y.is_evaluated());
        // Masked lanes are zero, whatever their index is.
        let far = UInt::from([3, 4_000_000_000, 1]);
        let mask = Mask::from([true, false, true]);
        assert_eq!(y.gather_masked(&far, &mask).to_vec().unwrap(), [172.0, 0.0, 122.0]);
        // Of another gather.
        let twice = x.gather(&UInt::from([1, 2, 3])).gather(&Int::from([2, 2]));
        assert_eq!(twice.to_vec().unwrap(), [13.0, 13.0]);
        assert_eq!(Float::from(5.0).gather(&index).to_vec().unwrap(), [0.0, 5.0, 5.0]);
    });
}

#[test]
fn a_source_that_is_not_small_is_evaluated_first() {
    on_every_device(|| {
        let mut x = Float::from([1.0, 2.0, 3.0]);
        let y = x.clone();
        for step in 0..500 {
            x = x.mul_add(0.5, &y * step as f32);
        }
        let expected = x.gather(&UInt::from([2, 1]));
        let direct = x.to_vec().unwrap();
        assert_eq!(expected.to_vec().unwrap(), [direct[2], direct[1]]);
    });
}

#[test]
fn placeholders_and_empty_sources_are_errors() {
    let error = (Float::placeholder(4) + 1.0).to_vec().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotEvaluated);
    assert!(error.to_string().contains("evaluate.rs"), "{error}");
    assert_eq!(Float::arange(3).item().unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(Float::arange(3).get(3).unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn printing_shortens() {
    assert_eq!(Int::from([1, -2]).to_string(), "[1, -2]");
    assert_eq!(format!("{:.2}", Float::from([1.0, 0.5])), "[1.00, 0.50]");
    assert_eq!(UInt::arange(5000).to_string(), "[0, 1, 2, …, 4997, 4998, 4999]");
    let debug = format!("{:?}", Float::arange(3) + 1.0);
    assert!(debug.contains("f32") && debug.contains("width 3") && debug.contains("evaluate.rs"), "{debug}");
}

#[test]
fn deep_graphs_are_evaluated() {
    with_device(Device::Interpreter, || {
        let x = Array::<u32>::from([1, 2]);
        let mut a = x.clone();
        for _ in 0..200_000 {
            a = (&a ^ &x) + &x;
        }
        let mut expected = [1_u32, 2];
        for _ in 0..200_000 {
            for (lane, x) in expected.iter_mut().zip([1, 2]) {
                *lane = (*lane ^ x).wrapping_add(x);
            }
        }
        assert_eq!(a.to_vec().unwrap(), expected);
    });
}
