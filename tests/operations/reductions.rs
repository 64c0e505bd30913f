//! Reductions of every element type, in their documented order: floats bit by bit.

use half::{bf16, f16};
use jit::prelude::*;
use jit::{FloatElement, Number};

use crate::agree::{bits, on_each_device, resident, same};
use crate::corners::Corners;

const WIDTHS: [usize; 12] = [0, 1, 2, 17, 63, 64, 65, 1000, 16_384, 16_385, 80_001, 140_000];

/// An element type, the type in which it is combined, and how the host combines two.
trait Reducible: Corners + Number {
    type Wide: Copy;
    fn widen(self) -> Self::Wide;
    fn narrow(value: Self::Wide) -> Self;
    fn combine(op: ReduceOp, a: Self::Wide, b: Self::Wide) -> Self::Wide;
    fn identity(op: ReduceOp) -> Self::Wide;
    /// A number without a pattern from some bits.
    fn noise(bits: u32) -> Self;
}

macro_rules! integers {
    ($($ty:ident),*) => {$(
        impl Reducible for $ty {
            type Wide = $ty;

            fn widen(self) -> $ty {
                self
            }

            fn narrow(value: $ty) -> $ty {
                value
            }

            fn combine(op: ReduceOp, a: $ty, b: $ty) -> $ty {
                match op {
                    ReduceOp::Add => a.wrapping_add(b),
                    ReduceOp::Mul => a.wrapping_mul(b),
                    ReduceOp::Min => Ord::min(a, b),
                    ReduceOp::Max => Ord::max(a, b),
                    ReduceOp::And => a & b,
                    ReduceOp::Or => a | b,
                }
            }

            fn identity(op: ReduceOp) -> $ty {
                match op {
                    ReduceOp::Add | ReduceOp::Or => 0,
                    ReduceOp::Mul => 1,
                    ReduceOp::Min => <$ty>::MAX,
                    ReduceOp::Max => <$ty>::MIN,
                    ReduceOp::And => !0,
                }
            }

            fn noise(bits: u32) -> $ty {
                (u64::from(bits).wrapping_mul(0x1_0001_0001) >> 7) as $ty
            }
        }
    )*};
}

integers!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! floats {
    ($($ty:ident in $wide:ident: $widen:expr, $narrow:expr;)*) => {$(
        impl Reducible for $ty {
            type Wide = $wide;

            fn widen(self) -> $wide {
                let widen: fn($ty) -> $wide = $widen;
                widen(self)
            }

            fn narrow(value: $wide) -> $ty {
                let narrow: fn($wide) -> $ty = $narrow;
                narrow(value)
            }

            fn combine(op: ReduceOp, a: $wide, b: $wide) -> $wide {
                let is_first_less = a < b || (a == b && a.is_sign_negative());
                match op {
                    ReduceOp::Add => a + b,
                    ReduceOp::Mul => a * b,
                    _ if a.is_nan() || b.is_nan() => <$wide>::NAN,
                    ReduceOp::Min => if is_first_less { a } else { b },
                    ReduceOp::Max => if is_first_less { b } else { a },
                    ReduceOp::And | ReduceOp::Or => panic!("floats have no bits here"),
                }
            }

            fn identity(op: ReduceOp) -> $wide {
                match op {
                    ReduceOp::Mul => 1.0,
                    ReduceOp::Min => <$wide>::INFINITY,
                    ReduceOp::Max => <$wide>::NEG_INFINITY,
                    _ => 0.0,
                }
            }

            fn noise(bits: u32) -> $ty {
                // Near one, so that long products stay in range.
                let near_one = 1.0 + (f64::from(bits) / f64::from(u32::MAX) - 0.5) / 64.0;
                <$ty as FloatElement>::from_f64(if bits % 3 == 0 { -near_one } else { near_one })
            }
        }
    )*};
}

floats! {
    f16 in f32: |v| v.to_f32(), |v| f16::from_f32(v);
    bf16 in f32: |v| v.to_f32(), |v| bf16::from_f32(v);
    f32 in f32: |v| v, |v| v;
    f64 in f64: |v| v, |v| v;
}

/// The result of a reduction in the documented order: in chunks of 512 to 4096, each in 64 running results; the
/// results of the chunks in pairs.
fn reduced<T: Reducible>(op: ReduceOp, values: impl Iterator<Item = T::Wide>) -> T::Wide {
    let values: Vec<T::Wide> = values.collect();
    let chunk = |lanes: &[T::Wide]| {
        let mut row = [T::identity(op); 64];
        for (lane, value) in lanes.iter().enumerate() {
            row[lane % 64] = T::combine(op, row[lane % 64], *value);
        }
        let mut half = 32;
        while half > 0 {
            for at in 0..half {
                row[at] = T::combine(op, row[at], row[at + half]);
            }
            half /= 2;
        }
        row[0]
    };
    let lanes = [512, 1024, 2048].into_iter().find(|lanes| 32 * lanes >= values.len()).unwrap_or(4096);
    let mut results: Vec<T::Wide> = values.chunks(lanes).map(chunk).collect();
    while results.len() > 1 {
        let pair = |pair: &[T::Wide]| pair[1..].iter().fold(pair[0], |a, b| T::combine(op, a, *b));
        results = results.chunks(2).map(pair).collect();
    }
    results.first().copied().unwrap_or(T::identity(op))
}

/// Numbers without a pattern, and the extreme ones of the type among them.
fn inputs<T: Reducible>(width: usize, with_corners: bool) -> Vec<T> {
    let mut state = 0x2545_f491_u32;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    let corners: Vec<T> = T::corners().into_iter().filter(|v| v.partial_cmp(v).is_some()).collect();
    (0..width)
        .map(|_| {
            let bits = next();
            if with_corners && bits % 5 == 0 { corners[next() as usize % corners.len()] } else { T::noise(bits) }
        })
        .collect()
}

fn check<T: Reducible>(ops: &[ReduceOp]) {
    for width in WIDTHS {
        for &op in ops {
            let is_ordered = T::TYPE.is_float() && matches!(op, ReduceOp::Add | ReduceOp::Mul);
            let values: Vec<T> = inputs(width, !is_ordered);
            let wanted = T::narrow(reduced::<T>(op, values.iter().map(|v| v.widen())));
            let call = |_| format!("{op:?} of {width} elements of {}", T::TYPE);
            // The operand of the reduction is memory, and an expression.
            let array = resident(&values);
            same(&array.reduce(op).to_vec().unwrap(), &[wanted], call);
            let computed = (&array + Array::opaque(T::default())).max(&array);
            same(&computed.reduce(op).to_vec().unwrap(), &[wanted], call);
        }
    }
}

/// The extreme element, with each element type's NaN if it has one, and its position.
fn check_extremes<T: Reducible>() {
    for width in WIDTHS.into_iter().skip(1) {
        let mut values: Vec<T> = inputs(width, true);
        for with_nan in [false, true] {
            let nan = T::corners().into_iter().find(|v| v.partial_cmp(v).is_none());
            match nan {
                Some(nan) if with_nan => values[width / 2] = nan,
                _ if with_nan => continue,
                _ => {}
            }
            for (op, position) in
                [(ReduceOp::Min, Array::argmin as fn(&Array<T>) -> UInt), (ReduceOp::Max, Array::argmax)]
            {
                let wanted = T::narrow(reduced::<T>(op, values.iter().map(|v| v.widen())));
                let array = resident(&values);
                same(&array.reduce(op).to_vec().unwrap(), &[wanted], |_| format!("{op:?} of {width}: {}", T::TYPE));
                let is_it = |v: &T| *v == wanted || bits(*v) == bits(wanted);
                let first = values.iter().position(is_it).unwrap();
                assert_eq!(position(&array).item().unwrap() as usize, first, "where {op:?} of {width}: {} is", T::TYPE);
            }
        }
    }
}

macro_rules! reductions_of_integers {
    ($($name:ident: $ty:ident;)*) => {
        $(#[test]
        fn $name() {
            use ReduceOp::*;
            on_each_device(|| {
                check::<$ty>(&[Add, Mul, Min, Max, And, Or]);
                check_extremes::<$ty>();
                let values: Vec<$ty> = inputs(1000, true);
                let wanted = values.iter().fold(0, |sum: $ty, v| sum.wrapping_add(v.wrapping_mul(*v)));
                assert_eq!(resident(&values).dot(&resident(&values)).item().unwrap(), wanted);
            });
        })*
    };
}

reductions_of_integers! {
    reductions_of_i8: i8;
    reductions_of_i16: i16;
    reductions_of_i32: i32;
    reductions_of_i64: i64;
    reductions_of_u8: u8;
    reductions_of_u16: u16;
    reductions_of_u32: u32;
    reductions_of_u64: u64;
}

macro_rules! reductions_of_floats {
    ($($name:ident: $ty:ident;)*) => {
        $(#[test]
        fn $name() {
            use ReduceOp::*;
            on_each_device(|| {
                check::<$ty>(&[Add, Mul, Min, Max]);
                check_extremes::<$ty>();
                for width in WIDTHS {
                    let values: Vec<$ty> = inputs(width, false);
                    let count = width as <$ty as Reducible>::Wide;
                    let sum_of = |f: &dyn Fn(<$ty as Reducible>::Wide) -> <$ty as Reducible>::Wide| {
                        reduced::<$ty>(Add, values.iter().map(|v| f(v.widen())))
                    };
                    let (sum, squares) = (sum_of(&|v| v), sum_of(&|v| v * v));
                    let mean = sum / count;
                    let spread = sum_of(&|v| (v - mean) * (v - mean));
                    let x = resident(&values);
                    let ours = [x.mean(), x.dot(&x), x.squared_norm(), x.norm(), x.variance(), x.std(),
                        x.variance_with(1)];
                    let wanted = [
                        mean, squares, squares, squares.sqrt(), spread / count, (spread / count).sqrt(),
                        spread / (count - 1.0).max(0.0),
                    ];
                    let ours = ours.map(|result| result.item().unwrap());
                    let names = ["mean", "dot", "squared_norm", "norm", "variance", "std", "variance_with(1)"];
                    same(&ours, &wanted.map(<$ty>::narrow), |at| format!("{} of {width}: {}", names[at],
                        stringify!($ty)));
                }
            });
        })*
    };
}

reductions_of_floats! {
    reductions_of_f16: f16;
    reductions_of_bf16: bf16;
    reductions_of_f32: f32;
    reductions_of_f64: f64;
}

#[test]
fn reductions_of_masks() {
    on_each_device(|| {
        for width in WIDTHS {
            for ones in [0, 1, width / 2, width.saturating_sub(1), width] {
                let values: Vec<bool> = (0..width).map(|i| i * 7919 % width.max(1) < ones).collect();
                let mask = resident(&values);
                let count = values.iter().filter(|v| **v).count();
                let what = format!("{count} of {width}");
                assert_eq!(mask.all().item().unwrap(), count == width, "{what}");
                assert_eq!(mask.any().item().unwrap(), count > 0, "{what}");
                assert_eq!(mask.none().item().unwrap(), count == 0, "{what}");
                assert_eq!(mask.reduce(ReduceOp::And).item().unwrap(), count == width, "{what}");
                assert_eq!(mask.reduce(ReduceOp::Or).item().unwrap(), count > 0, "{what}");
                assert_eq!(mask.count().item().unwrap() as usize, count, "{what}");
            }
        }
    });
}

// rows: C188
#[test]
fn reductions_of_constants_are_those_of_memory() {
    fn check<T: Reducible>(ops: &[ReduceOp]) {
        // The interpreter is slow for each element.
        let widest = if UInt::zeros(1).device() == Device::Interpreter { 1025 } else { 40_001 };
        for width in [0, 1, 2, 100, widest] {
            for value in T::corners() {
                for &op in ops {
                    let constant = Array::full(value, width).reduce(op);
                    assert!(constant.is_literal());
                    let constant = constant.item().unwrap();
                    let memory = resident(&vec![value; width]).reduce(op).item().unwrap();
                    same(&[constant], &[memory], |_| format!("{op:?} of {width} times {value}: {}", T::TYPE));
                }
            }
        }
    }
    use ReduceOp::*;
    on_each_device(|| {
        check::<i8>(&[Add, Mul, Min, Max, And, Or]);
        check::<u64>(&[Add, Mul, Min, Max, And, Or]);
        check::<i32>(&[Add, Mul, Min, Max, And, Or]);
        check::<f16>(&[Add, Mul, Min, Max]);
        check::<bf16>(&[Add, Mul, Min, Max]);
        check::<f32>(&[Add, Mul, Min, Max]);
        check::<f64>(&[Add, Mul, Min, Max]);
    });
}
