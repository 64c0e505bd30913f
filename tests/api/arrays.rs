//! Creating arrays, computing with them, and reading them back.

use half::{bf16, f16};
use jit::prelude::*;

use crate::devices::{assert_close, on_each_device};

// rows: C161
#[test]
fn arrays_are_made_from_host_values() {
    on_each_device(|| {
        assert_eq!(Float::from(vec![1.0, 2.0]).to_vec().unwrap(), [1.0, 2.0]);
        assert_eq!(Int::from(&[3, -4][..]).to_vec().unwrap(), [3, -4]);
        assert_eq!(UInt8::from([5, 6, 7]).to_vec().unwrap(), [5, 6, 7]);
        assert_eq!(Float::from(1.5).to_vec().unwrap(), [1.5]);
        assert_eq!(Mask::from([true, false]).to_vec().unwrap(), [true, false]);
        assert_eq!(Float::from(Vec::new()).to_vec().unwrap(), [] as [f32; 0]);
    });
}

#[test]
fn arrays_are_made_from_rules() {
    on_each_device(|| {
        assert_eq!(Float::zeros(3).to_vec().unwrap(), [0.0; 3]);
        assert_eq!(UInt::ones(2).to_vec().unwrap(), [1; 2]);
        assert_eq!(Int::full(-7, 4).to_vec().unwrap(), [-7; 4]);
        assert_eq!(UInt::arange(5).to_vec().unwrap(), [0, 1, 2, 3, 4]);
        assert_eq!(Float::arange(3).to_vec().unwrap(), [0.0, 1.0, 2.0]);
        assert_eq!(Float::linspace(0.0, 1.0, 5).to_vec().unwrap(), [0.0, 0.25, 0.5, 0.75, 1.0]);
        let x = Float::from([1.0, 2.0, 3.0]);
        assert_eq!(x.zeros_like().to_vec().unwrap(), [0.0; 3]);
        assert_eq!(x.ones_like().to_vec().unwrap(), [1.0; 3]);
        assert_eq!(x.full_like(9.0).to_vec().unwrap(), [9.0; 3]);
        assert_eq!(UInt::arange(x.width()).to_vec().unwrap(), [0, 1, 2]);
        assert_eq!(Float::opaque(4.0).to_vec().unwrap(), [4.0]);
    });
}

#[test]
fn lengths_and_single_elements_can_be_read() {
    on_each_device(|| {
        let x = Float::from([1.0, 2.0, 3.0]) * 2.0;
        assert_eq!(x.len(), 3);
        assert_eq!(x.get(2).unwrap(), 6.0);
        assert_eq!(x.sum().item().unwrap(), 12.0);
    });
}

#[test]
fn numbers_of_a_list_are_operands() {
    #[jit]
    fn traced(weights: &[f32], inputs: &[Float]) -> Float {
        let mut sum = Float::from(0.0);
        for (weight, input) in weights.iter().zip(inputs) {
            sum += weight * input;
        }
        sum
    }
    crate::devices::on_each_device(|| {
        let inputs = [Float::from([1.0, 2.0]), Float::from([10.0, 20.0])];
        let weights = [2.0, 0.5];
        let mut product = Float::from(1.0);
        weights.iter().for_each(|weight| product *= weight);
        let sum: Float = weights.iter().zip(&inputs).map(|(weight, input)| input * weight).sum();
        assert_eq!(sum.to_vec().unwrap(), [7.0, 14.0]);
        assert_eq!(traced(&weights, &inputs).to_vec().unwrap(), [7.0, 14.0]);
        assert_eq!(product.item().unwrap(), 1.0);
        let counts = [1_u32, 2];
        let bits: Vec<UInt> = counts.iter().map(|count| (count + UInt::from([1, 2])) << count | counts[0]).collect();
        assert_eq!(bits[0].to_vec().unwrap(), [5, 7]);
        assert_eq!(bits[1].to_vec().unwrap(), [13, 17]);
    });
}

#[test]
fn operators_take_values_references_and_scalars() {
    on_each_device(|| {
        let (x, y) = (Float::from([1.0, 2.0]), Float::from([3.0, 5.0]));
        assert_eq!((&x + &y).to_vec().unwrap(), [4.0, 7.0]);
        assert_eq!((x.clone() - &y).to_vec().unwrap(), [-2.0, -3.0]);
        assert_eq!((&x * y.clone()).to_vec().unwrap(), [3.0, 10.0]);
        assert_eq!((y.clone() / x.clone()).to_vec().unwrap(), [3.0, 2.5]);
        assert_eq!((1.0 + &x).to_vec().unwrap(), [2.0, 3.0]);
        assert_eq!((x.clone() - 1.0).to_vec().unwrap(), [0.0, 1.0]);
        assert_eq!((-&x).to_vec().unwrap(), [-1.0, -2.0]);
        let mut z = x;
        z += &y;
        z *= 2.0;
        assert_eq!(z.to_vec().unwrap(), [8.0, 14.0]);
    });
}

#[test]
fn sizes_take_the_type_of_the_array_beside_them() {
    let (x, i) = (Float::from([1.5, 9.0]), Int::from([7, -1]));
    let width = Float::zeros(4).width();
    assert_eq!((&x * width).to_vec().unwrap(), [6.0, 36.0]);
    assert_eq!((width - &x).to_vec().unwrap(), [2.5, -5.0]);
    assert_eq!((i.clone() % width).to_vec().unwrap(), [3, -1]);
    assert_eq!((width / i.clone()).to_vec().unwrap(), [0, -4]);
    assert_eq!((UInt8::from(200) + Float::zeros(300).width()).to_vec().unwrap(), [244]);
    let mut sum = i.clone();
    sum += width;
    sum -= 1;
    assert_eq!(sum.to_vec().unwrap(), [10, 2]);
    assert_eq!(i.min(width).to_vec().unwrap(), [4, -1]);
    assert_eq!(x.lt(width).to_vec().unwrap(), [true, false]);
    assert_eq!(below_the_width(&i, width).to_vec().unwrap(), [40, 0]);
}

#[test]
fn lists_of_arrays_are_summed_by_iterators() {
    let list = [Float::from([1.0, 2.0]), Float::from(0.5), Float::from([4.0, -8.0])];
    assert_eq!(list.iter().sum::<Float>().to_vec().unwrap(), [5.5, -5.5]);
    assert_eq!(list.iter().product::<Float>().to_vec().unwrap(), [2.0, -8.0]);
    assert_eq!(list.into_iter().map(|x| x * 2.0).sum::<Float>().to_vec().unwrap(), [11.0, -11.0]);
    assert_eq!([].iter().sum::<Int>().to_vec().unwrap(), [0]);
    assert_eq!(Vec::<Int>::new().into_iter().product::<Int>().to_vec().unwrap(), [1]);
}

#[jit]
fn below_the_width(i: &Int, width: Size) -> Int {
    if i < width && width > 3 {
        Int::from(0)
    } else if width == i {
        Int::from(1)
    } else {
        10 * width + Int::from(0)
    }
}

#[test]
fn integers_wrap_and_never_trap() {
    on_each_device(|| {
        let x = Int::from([i32::MAX, i32::MIN, -7, 5]);
        assert_eq!((&x + 1).to_vec().unwrap(), [i32::MIN, i32::MIN + 1, -6, 6]);
        assert_eq!((&x / 2).to_vec().unwrap(), [i32::MAX / 2, i32::MIN / 2, -3, 2]);
        assert_eq!((&x % 3).to_vec().unwrap(), [i32::MAX % 3, i32::MIN % 3, -1, 2]);
        assert_eq!((&x / Int::opaque(-1)).to_vec().unwrap(), [-i32::MAX, i32::MIN, 7, -5]);
        assert_eq!((&x / Int::opaque(0)).to_vec().unwrap(), [-1; 4]);
        assert_eq!((&x % Int::opaque(0)).to_vec().unwrap(), x.to_vec().unwrap());
        let bits = UInt::from([1, 2, 0x8000_0001]);
        assert_eq!((&bits << 1).to_vec().unwrap(), [2, 4, 2]);
        assert_eq!((&bits >> UInt::opaque(31)).to_vec().unwrap(), [0, 0, 1]);
        assert_eq!((&bits << UInt::opaque(40)).to_vec().unwrap(), [0; 3]);
        assert_eq!((&Int::from([-8, 8]) >> 1).to_vec().unwrap(), [-4, 4]);
        assert_eq!((&bits & 3 | 4 ^ 1).to_vec().unwrap(), [5, 7, 5]);
        assert_eq!((!&bits).to_vec().unwrap(), [!1, !2, !0x8000_0001]);
    });
}

#[test]
fn bits_can_be_counted_and_moved() {
    on_each_device(|| {
        let values = [0_u32, 1, 0x00f0_0f00, u32::MAX];
        let x = UInt::from(values);
        assert_eq!(x.count_ones().to_vec().unwrap(), values.map(u32::count_ones));
        assert_eq!(x.leading_zeros().to_vec().unwrap(), values.map(u32::leading_zeros));
        assert_eq!(x.trailing_zeros().to_vec().unwrap(), values.map(u32::trailing_zeros));
        assert_eq!(x.reverse_bits().to_vec().unwrap(), values.map(u32::reverse_bits));
        assert_eq!(x.rotate_right(UInt::opaque(5)).to_vec().unwrap(), values.map(|v| v.rotate_right(5)));
        assert_eq!(x.rotate_left(UInt::opaque(0)).to_vec().unwrap(), values);
        let product = |v: u32| ((u64::from(v) * 0xdead_beef) >> 32) as u32;
        assert_eq!(x.mul_hi(UInt::opaque(0xdead_beef)).to_vec().unwrap(), values.map(product));
    });
}

#[test]
fn comparisons_choose_lanes() {
    on_each_device(|| {
        let (x, y) = (Float::from([1.0, 2.0, f32::NAN]), Float::from([2.0, 2.0, 2.0]));
        assert_eq!(x.lt(&y).to_vec().unwrap(), [true, false, false]);
        assert_eq!(x.le(&y).to_vec().unwrap(), [true, true, false]);
        assert_eq!(x.eq(&y).to_vec().unwrap(), [false, true, false]);
        assert_eq!(x.ne(&y).to_vec().unwrap(), [true, false, true]);
        assert_eq!(x.ge(&y).to_vec().unwrap(), [false, true, false]);
        assert_eq!(x.gt(&y).to_vec().unwrap(), [false, false, false]);
        assert_eq!(jit::select(&x.lt(&y), &x, &y).to_vec().unwrap(), [1.0, 2.0, 2.0]);
        let mask = Mask::from([true, true, false]);
        assert_eq!((&mask & !x.lt(&y)).to_vec().unwrap(), [false, true, false]);
    });
}

#[test]
fn minimum_and_maximum_treat_nan_as_named() {
    on_each_device(|| {
        let (x, y) = (Float::from([1.0, f32::NAN, -0.0]), Float::from([2.0, 3.0, 0.0]));
        assert!(x.min(&y).to_vec().unwrap()[1].is_nan());
        assert_eq!(x.fmin(&y).to_vec().unwrap()[..2], [1.0, 3.0]);
        assert_eq!(x.fmax(&y).to_vec().unwrap()[..2], [2.0, 3.0]);
        assert!(x.min(&y).to_vec().unwrap()[2].is_sign_negative());
        assert!(x.max(&y).to_vec().unwrap()[2].is_sign_positive());
        assert_eq!(Float::from([-1.0, 0.3, 7.0]).clamp(0.0, 1.0).to_vec().unwrap(), [0.0, 0.3, 1.0]);
    });
}

#[test]
fn element_wise_functions_agree_with_the_standard_library() {
    let values: Vec<f32> = (-40..=40).map(|i| i as f32 * 0.37).chain([0.5, 1.5, 2.5, -0.5]).collect();
    let positive: Vec<f32> = values.iter().map(|v| v.abs() + 0.01).collect();
    type Pair = (fn(&Float) -> Float, fn(f32) -> f32);
    let anywhere: [Pair; 9] = [
        (|x| x.floor(), f32::floor),
        (|x| x.ceil(), f32::ceil),
        (|x| x.trunc(), f32::trunc),
        (|x| x.abs(), f32::abs),
        (|x| x.exp(), f32::exp),
        (|x| x.exp2(), f32::exp2),
        (|x| x.sin(), f32::sin),
        (|x| x.cos(), f32::cos),
        (|x| x.mul_add(2.0, x), |v| v.mul_add(2.0, v)),
    ];
    let above_zero: [Pair; 5] = [
        (|x| x.sqrt(), f32::sqrt),
        (|x| x.ln(), f32::ln),
        (|x| x.log2(), f32::log2),
        (|x| x.recip(), f32::recip),
        (|x| x.rsqrt(), |v| 1.0 / v.sqrt()),
    ];
    on_each_device(|| {
        for (inputs, functions) in [(&values, &anywhere[..]), (&positive, &above_zero[..])] {
            let x = Float::from(inputs.clone());
            for (ours, std) in functions {
                let wanted: Vec<f32> = inputs.iter().map(|v| std(*v)).collect();
                assert_close(&ours(&x).to_vec().unwrap(), &wanted, 1e-6);
            }
        }
    });
}

/// One test for an element type: sums, products, comparisons and conversions, if all of them are exact.
macro_rules! arithmetic_of {
    ($($name:ident: $element:ty = $convert:expr;)*) => {$(
        #[test]
        fn $name() {
            let convert: fn(u8) -> $element = $convert;
            on_each_device(|| {
                let values = [1_u8, 2, 3, 5];
                let x = Array::<$element>::from(values.map(convert));
                assert_eq!((&x + &x * &x).to_vec().unwrap(), values.map(|v| convert(v + v * v)));
                assert_eq!((&x * &x / &x).to_vec().unwrap(), values.map(convert));
                assert_eq!(x.gt(&Array::from(convert(2))).to_vec().unwrap(), [false, false, true, true]);
                assert_eq!(x.sum().item().unwrap(), convert(11));
                assert_eq!(x.reduce_max().item().unwrap(), convert(5));
                assert_eq!(x.reduce_min().item().unwrap(), convert(1));
                assert_eq!(x.cast::<f32>().to_vec().unwrap(), values.map(f32::from));
                assert_eq!(UInt8::from(values).cast::<$element>().to_vec().unwrap(), values.map(convert));
                assert_eq!(x.gather(&UInt::from([3, 0])).to_vec().unwrap(), [convert(5), convert(1)]);
            });
        }
    )*};
}

arithmetic_of! {
    i8_arrays_compute: i8 = |v| v as i8;
    i16_arrays_compute: i16 = i16::from;
    i32_arrays_compute: i32 = i32::from;
    i64_arrays_compute: i64 = i64::from;
    u8_arrays_compute: u8 = |v| v;
    u16_arrays_compute: u16 = u16::from;
    u32_arrays_compute: u32 = u32::from;
    u64_arrays_compute: u64 = u64::from;
    f16_arrays_compute: f16 = f16::from;
    bf16_arrays_compute: bf16 = bf16::from;
    f32_arrays_compute: f32 = f32::from;
    f64_arrays_compute: f64 = f64::from;
}

#[test]
fn casts_are_those_of_rust() {
    on_each_device(|| {
        let x = Float::from([-1.5, 300.7, f32::NAN, 1e20]);
        assert_eq!(x.cast::<u8>().to_vec().unwrap(), [0, 255, 0, 255]);
        assert_eq!(x.cast::<i32>().to_vec().unwrap(), [-1, 300, 0, i32::MAX]);
        assert_eq!(x.cast::<bool>().to_vec().unwrap(), [true; 4]);
        assert_eq!(Int::from([-1, 257]).cast::<u8>().to_vec().unwrap(), [255, 1]);
        assert_eq!(Mask::from([true, false]).cast::<u32>().to_vec().unwrap(), [1, 0]);
        assert_eq!(Float::from([1.0, -2.0]).bitcast::<u32>().to_vec().unwrap(), [0x3f80_0000, 0xc000_0000]);
    });
}

#[test]
fn one_element_meets_any_width() {
    on_each_device(|| {
        let (x, one) = (Float::from([1.0, 2.0, 3.0]), Float::opaque(10.0));
        assert_eq!((&x + &one).to_vec().unwrap(), [11.0, 12.0, 13.0]);
        assert_eq!((&one - &x).to_vec().unwrap(), [9.0, 8.0, 7.0]);
        assert_eq!(jit::select(&Mask::opaque(false), &x, &one).to_vec().unwrap(), [10.0; 3]);
    });
}

#[test]
fn gathers_read_by_index() {
    on_each_device(|| {
        let source = Float::from((0..100).map(|i| i as f32).collect::<Vec<_>>());
        let index = UInt::from([99, 0, 42, 42]);
        assert_eq!(source.gather(&index).to_vec().unwrap(), [99.0, 0.0, 42.0, 42.0]);
        let reversed = source.gather(&(99 - UInt::arange(100))).to_vec().unwrap();
        assert!(reversed.iter().rev().eq(source.to_vec().unwrap().iter()));
        let masked = source.gather_masked(&UInt::from([7, 1_000_000]), &Mask::from([true, false]));
        assert_eq!(masked.to_vec().unwrap(), [7.0, 0.0]);
        // From an expression that has not been evaluated.
        let squares = &source * &source;
        assert_eq!(squares.gather(&index).to_vec().unwrap(), [9801.0, 0.0, 1764.0, 1764.0]);
    });
}

#[test]
fn reductions_of_all_widths() {
    on_each_device(|| {
        for n in [1_u32, 7, 16, 17, 255, 1000, 16_384, 16_385, 100_003] {
            let x = UInt::arange(n as usize);
            let sum = (0..u64::from(n)).sum::<u64>() as u32;
            assert_eq!(x.sum().item().unwrap(), sum, "sum of {n}");
            assert_eq!(x.reduce_max().item().unwrap(), n - 1, "maximum of {n}");
            assert_eq!((&x + 3).reduce_min().item().unwrap(), 3, "minimum of {n}");
            assert_eq!(x.lt(n / 2).count().item().unwrap(), n / 2, "count of {n}");
            assert!(x.lt(n).all().item().unwrap(), "all of {n}");
            assert!(!x.ge(n).any().item().unwrap(), "any of {n}");
        }
        let x = Float::from([1.0, 2.0, 4.0]);
        assert_eq!(x.product().item().unwrap(), 8.0);
        assert_eq!(x.dot(&x).item().unwrap(), 21.0);
        assert_eq!(x.mean().item().unwrap(), 7.0 / 3.0);
        assert!(Float::from([1.0, f32::NAN]).reduce_max().item().unwrap().is_nan());
        assert_eq!((&x / x.sum()).to_vec().unwrap(), [1.0 / 7.0, 2.0 / 7.0, 4.0 / 7.0]);
    });
}

#[test]
fn reductions_of_nothing_give_the_identity() {
    on_each_device(|| {
        let nothing = Float::from(Vec::new());
        assert_eq!(nothing.sum().item().unwrap(), 0.0);
        assert_eq!(nothing.product().item().unwrap(), 1.0);
        assert_eq!(nothing.reduce_max().item().unwrap(), f32::NEG_INFINITY);
        assert_eq!((&nothing + 1.0).to_vec().unwrap(), [] as [f32; 0]);
    });
}
