//! Shifts of every integer type by counts of every integer type.

use crate::agree::{on_each_device, resident, same};
use crate::corners::Corners;

use jit::prelude::*;

/// The shift count, as a large number for any count beyond the width, which includes negative ones.
trait Count: Corners {
    fn distance(self) -> u64;
}

macro_rules! counts {
    ($($ty:ident $unsigned:ident),*) => {
        $(impl Count for $ty {
            fn distance(self) -> u64 {
                u64::from(self as $unsigned)
            }
        })*
    };
}

counts!(i8 u8, i16 u16, i32 u32, i64 u64, u8 u8, u16 u16, u32 u32, u64 u64);

macro_rules! shifts_of {
    ($($name:ident: $ty:ident, $fill:expr;)*) => {$(
        #[test]
        fn $name() {
            fn left(value: $ty, count: u64) -> $ty {
                u32::try_from(count).ok().and_then(|count| value.checked_shl(count)).unwrap_or(0)
            }
            fn right(value: $ty, count: u64) -> $ty {
                let fill: fn($ty) -> $ty = $fill;
                u32::try_from(count).ok().and_then(|count| value.checked_shr(count)).unwrap_or(fill(value))
            }
            fn check<C: Count + jit::Integer>() {
                let (values, counts) = (<$ty>::corners(), C::corners());
                let pairs: Vec<($ty, C)> =
                    values.iter().flat_map(|value| counts.iter().map(move |count| (*value, *count))).collect();
                let [to_left, to_right] =
                    [left, right].map(|f| pairs.iter().map(|(v, c)| f(*v, c.distance())).collect::<Vec<_>>());
                let (v, c): (Vec<$ty>, Vec<C>) = pairs.iter().copied().unzip();
                let (v, c) = (resident(&v), resident(&c));
                let call = |how: &'static str| {
                    let pairs = &pairs;
                    move |at: usize| format!("{} {how} {:?}: {}", pairs[at].0, pairs[at].1, C::TYPE)
                };
                same(&(&v << &c).to_vec().unwrap(), &to_left, call("<<"));
                same(&(&v >> &c).to_vec().unwrap(), &to_right, call(">>"));
                let makers: [fn(C) -> Array<C>; 2] = [Array::opaque, Array::from];
                for make in makers {
                    let each = resident(&values);
                    let results: Vec<[Array<$ty>; 2]> =
                        counts.iter().map(|count| make(*count)).map(|count| [&each << &count,
                            &each >> &count]).collect();
                    jit::eval(&results).unwrap();
                    for (position, result) in results.iter().enumerate() {
                        let column = |of: &[$ty]| -> Vec<$ty> {
                            of.iter().skip(position).step_by(counts.len()).copied().collect()
                        };
                        let at = |row: usize| row * counts.len() + position;
                        same(&result[0].to_vec().unwrap(), &column(&to_left), |row| call("<< uniform")(at(row)));
                        same(&result[1].to_vec().unwrap(), &column(&to_right), |row| call(">> uniform")(at(row)));
                    }
                }
            }
            on_each_device(|| {
                check::<i8>();
                check::<i16>();
                check::<i32>();
                check::<i64>();
                check::<u8>();
                check::<u16>();
                check::<u32>();
                check::<u64>();
            });
        }
    )*};
}

shifts_of! {
    shifts_of_i8: i8, |v| if v < 0 { -1 } else { 0 };
    shifts_of_i16: i16, |v| if v < 0 { -1 } else { 0 };
    shifts_of_i32: i32, |v| if v < 0 { -1 } else { 0 };
    shifts_of_i64: i64, |v| if v < 0 { -1 } else { 0 };
    shifts_of_u8: u8, |_| 0;
    shifts_of_u16: u16, |_| 0;
    shifts_of_u32: u32, |_| 0;
    shifts_of_u64: u64, |_| 0;
}
