//! Constructs of `#[jit]` functions. One text is compiled three times: as plain Rust, as a `#[jit]` function of
//! numbers, whose conditions the host decides, and as one of arrays, whose conditions lanes decide. All three compute
//! the same.

#![allow(
    clippy::assign_op_pattern,
    clippy::clone_on_copy,
    clippy::collapsible_else_if,
    clippy::collapsible_if,
    clippy::eq_op,
    clippy::erasing_op,
    clippy::identity_op,
    clippy::manual_is_multiple_of,
    clippy::needless_borrow,
    clippy::needless_late_init,
    clippy::op_ref,
    clippy::redundant_clone,
    clippy::useless_vec,
    reason = "each construct is in the form that is tested, and the same code is for arrays and numbers"
)]

use jit::prelude::*;

use crate::on_each_device;

/// Values that lanes begin with.
trait Lanes: Sized + 'static {
    const LANES: [Self; 10];
}

impl Lanes for f32 {
    const LANES: [f32; 10] = [-3.0, -1.5, -0.5, 0.0, 0.25, 1.0, 1.5, 2.0, 5.5, 7.5];
}

impl Lanes for u32 {
    const LANES: [u32; 10] = [0, 1, 2, 3, 4, 5, 6, 7, 9, 12];
}

/// Tests of one text each: over numbers, over as many lanes as there are numbers, and over single lanes, whose value is
/// known while recording or not.
macro_rules! constructs {
    ($($(#[$attribute:meta])* fn $name:ident($x:ident: $array:ident, $number:ident) { $($body:tt)* })*) => {$(
        mod $name {
            use super::*;

            #[jit]
            $(#[$attribute])*
            #[allow(unused_mut, reason = "numbers are changed as often as arrays")]
            fn traced($x: &$array) -> $array {
                let $x = $x.clone();
                $($body)*
            }

            #[jit]
            $(#[$attribute])*
            fn host($x: $number) -> $number {
                $($body)*
            }

            $(#[$attribute])*
            fn plain($x: $number) -> $number {
                $($body)*
            }

            #[test]
            fn computes_the_same_on_numbers_and_lanes() {
                let lanes = <$number as Lanes>::LANES;
                let wanted = lanes.map(plain);
                assert!(wanted.iter().any(|value| *value != wanted[0]), "all lanes agree: {wanted:?}");
                assert_eq!(lanes.map(host), wanted, "over numbers");
                on_each_device(|| {
                    let wide = $array::from(lanes);
                    jit::eval(&wide).unwrap();
                    assert_eq!(traced(&wide).to_vec().unwrap(), wanted);
                    for (lane, wanted) in lanes.into_iter().zip(wanted) {
                        assert_eq!(traced(&$array::from(lane)).to_vec().unwrap(), [wanted], "the literal {lane}");
                        assert_eq!(traced(&$array::opaque(lane)).to_vec().unwrap(), [wanted], "{lane}, unknown");
                    }
                });
            }
        }
    )*};
}

#[derive(Clone)]
enum Shape {
    One(f32),
    Pair(f32, f32),
}

#[derive(Clone, Traverse)]
struct Point<T> {
    x: T,
    y: T,
}

const SEVEN: u32 = 7;

macro_rules! bump {
    ($value:ident) => {
        $value += 10.0
    };
}

constructs! {
    // rows: K1 K3 K24 K153
    fn an_if_changes_variables(x: Float, f32) {
        let (mut a, mut b) = (x * 1.0, x * 3.0);
        if x < -1.0 {
            a = b * x;
        } else if x > 1.0 {
            b -= a;
            a += 1.0;
        } else if x == 0.0 {
            b = x + 9.0;
        } else {
            a = a * 0.5;
        }
        if a > b {
            a = b * 2.0;
        }
        a * 10.0 + b
    }

    // rows: K2 K3
    fn an_if_is_a_value_anywhere(x: Float, f32) {
        let y = 2.0 * if x < 0.0 { x * 2.0 } else if x > 1.5 { x - 3.0 } else { x + 1.0 };
        let z = (if y > x { y * 1.0 } else { x * 1.0 }).max(if x > 1.0 { x * 4.0 } else { x * 0.5 });
        y + z
    }

    // rows: K4
    fn patterns_are_tested_on_the_host_and_their_bodies_are_traced(x: Float, f32) {
        let some = Some(3_i32);
        let mut list = vec![1_i32, 2, 3];
        let mut y = x * 1.0;
        if let Some(n) = some {
            if y > 0.5 {
                y += n as f32;
            }
        }
        while let Some(n) = list.pop() {
            if y < 5.0 {
                y += n as f32;
            }
        }
        let Some(last) = some else { return x * 0.0 };
        if y > last as f32 { y * 2.0 } else { y * 1.0 }
    }

    // rows: K5 K155
    fn a_while_runs_until_its_condition_is_false(x: UInt, u32) {
        let (mut n, mut steps) = (x + 1, x * 0);
        while n != 1 && steps < 20 {
            n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
            steps += 1;
        }
        let mut k = 0;
        while k < 3 {
            steps += n + x;
            k += 1;
        }
        steps
    }

    // rows: K6
    fn a_for_counts_over_any_range(x: UInt, u32) {
        let mut sum = x * 0;
        for i in 0..x {
            sum += i * i;
        }
        for i in 2..=x {
            sum += i;
        }
        for i in (0..x).rev() {
            sum = sum * 2 + i;
        }
        for i in (1..x).step_by(3) {
            sum += i * 5;
        }
        for i in 0..3_u32 {
            sum += x * i;
        }
        sum
    }

    // rows: K8
    fn a_for_over_other_iterators_is_unrolled(x: Float, f32) {
        let mut y = x * 1.0;
        for k in [0.5_f32, 2.0, 3.0] {
            if y > 4.0 {
                break;
            }
            y += k;
        }
        for (i, name) in ["a", "bc"].iter().enumerate() {
            y = y * 2.0 + (i + name.len()) as f32;
        }
        y
    }

    // rows: K9
    fn a_loop_ends_by_its_break(x: Float, f32) {
        let mut y = x + 1.0;
        loop {
            if y > 20.0 {
                break;
            }
            y = y * 1.5 + 2.0;
        }
        let mut rounds = 0;
        loop {
            y += 1.0;
            rounds += 1;
            if rounds == 3 {
                break;
            }
        }
        y
    }

    // rows: K10 K156
    fn jumps_reach_the_loop_that_they_name(x: UInt, u32) {
        let (mut sum, mut i) = (x * 0, x * 0);
        'outer: while i < 6 {
            i += 1;
            let mut j = x * 0;
            loop {
                j += 1;
                if j > i {
                    continue 'outer;
                }
                if i * j == x {
                    break 'outer;
                }
                if (i + j) % 3 == 0 {
                    continue;
                }
                sum += i * j;
            }
        }
        sum * 10 + i
    }

    // rows: K11
    fn a_break_gives_the_value_of_its_loop(x: Float, f32) {
        let mut y = x + 1.0;
        let at = loop {
            if y > 9.0 {
                break y - 1.0;
            }
            if y * y < 0.3 {
                break y * 100.0;
            }
            y = y * 1.5 + 1.25;
        };
        at + x
    }

    // rows: K12 K13
    fn a_return_ends_the_function_on_its_lanes(x: Float, f32) {
        if x < -1.0 {
            return x * 10.0;
        }
        let mut y = x * 1.0;
        while y < 8.0 {
            if y > 3.0 {
                let z = y - 0.5;
                if z > 4.0 {
                    return z * 100.0;
                }
            }
            y = y * 2.0 + 1.0;
        }
        if y > 9.0 {
            return y - 9.0;
        }
        -y
    }

    // rows: K15
    fn a_match_of_numbers_chooses_by_lane(x: UInt, u32) {
        let mut hits = x * 0;
        let y = match x * 1 {
            0 => x + 7,
            1 | 2 => {
                hits += 1;
                x * 10
            }
            3..=4 => x * 100,
            k if k % 2 == 1 && k > 8 => k + 1000,
            SEVEN => x * 0 + 77,
            k => k * 2,
        };
        let dense = match x % 6 {
            0 => x + 1,
            1 => x * 2,
            2 => x + 30,
            3 => x * 4,
            4 => x + 5,
            _ => x * 0,
        };
        let large = match x > 4 {
            true => x * 3,
            false => x + 2,
        };
        let shift = match 'b' {
            'a' => 1_u32,
            'b'..='d' => 2,
            _ => 3,
        };
        y + dense * 3 + large + hits * 5000 + shift
    }

    // rows: K16
    fn patterns_of_the_host_choose_while_recording(x: Float, f32) {
        let mut y = x * 1.0;
        for shape in [Shape::One(4.0), Shape::Pair(2.0, 3.0)] {
            match shape {
                Shape::One(a) => y = y * a,
                Shape::Pair(a, b) => {
                    if y > a {
                        y -= b;
                    } else {
                        y += b;
                    }
                }
            }
        }
        let Point { x: first, y: second } = Point { x: x * 2.0, y: x + 1.0 };
        match (1_i32, "text") {
            (1, "other") => y,
            (_, text) => y + first * second * text.len() as f32,
        }
    }

    // rows: K18 K19
    fn conditions_end_as_soon_as_they_are_known(x: UInt, u32) {
        let mut y = x * 1;
        if x > 2 && 12 / (x - 2) > 1 || x == 0 {
            y += 100;
        }
        if !(x < 3 || y % 2 == 1) {
            y += 1000;
        }
        y ^ (!x & 3)
    }

    // rows: K20
    fn comparisons_are_those_of_the_types(x: Float, f32) {
        let mut y = x * 0.0;
        if x == 0.25 {
            y += 1.0;
        }
        if x != 1.0 {
            y += 2.0;
        }
        if x < 1.0 {
            y += 4.0;
        }
        if x <= 1.0 {
            y += 8.0;
        }
        if x > 1.0 {
            y += 16.0;
        }
        if x >= 1.0 {
            y += 32.0;
        }
        if "a" < "b" && [1, 2] == [1, 2] && Some(1) > None {
            y += 64.0;
        }
        // Neither holds for the root of a negative number, which is NaN.
        let root = (x * 1.0).sqrt();
        if root < 1.0 || root >= 1.0 {
            y += 128.0;
        }
        if root != root {
            y += 256.0;
        }
        y
    }

    // rows: K22
    fn operators_of_integers(x: UInt, u32) {
        let mut y = (x + 3) * 5 - x;
        y = y / 2 % 7;
        y = (y & 6 | x ^ 1) << 2 >> 1;
        y += 4;
        y -= 1;
        y *= 3;
        y /= 2;
        y %= 50;
        y &= 61;
        y |= 8;
        y ^= 5;
        y <<= 2;
        y >>= 1;
        y
    }

    // rows: K22
    fn operators_of_floats_and_references(x: Float, f32) {
        let y = -x + &x * &x - x / 2.0;
        (&y - x) % 3.0
    }

    // rows: K23
    fn what_is_assigned_leaves_clones_as_they_were(x: Float, f32) {
        let mut a = x.clone();
        let b = a.clone();
        a += 1.0;
        let mut pair = (a.clone(), x * 2.0);
        pair.1 *= 3.0;
        if x > 0.0 {
            pair.0 -= b.clone();
            a *= 2.0;
        }
        a * 100.0 + b * 10.0 + pair.0 + pair.1
    }

    // rows: K25 K26 K27 K28
    fn elements_and_slices_of_host_lists(x: Float, f32) {
        let mut list = vec![x * 1.0, x * 2.0, x + 3.0];
        list[1] = x - 1.0;
        list[2] *= 2.0;
        if x > 1.0 {
            list[0] = x * 7.0;
        }
        let last = &list[2];
        let sum = list[..2].iter().fold(x * 0.0, |sum, value| sum + value);
        let points = [Point { x: x * 1.0, y: x * 2.0 }];
        sum + last + &points[0].y + list[0].max(0.5)
    }

    // rows: K29
    fn variables_are_first_assigned_in_the_arms(x: Float, f32) {
        let y;
        let z;
        if x > 1.0 {
            y = x * 2.0;
            z = x - 1.0;
        } else if x < 0.0 {
            y = -x;
            z = x * 3.0;
        } else {
            y = x + 0.5;
            z = x * 1.0;
        }
        y * z
    }

    // rows: K30
    fn a_new_variable_of_the_same_name_is_no_state(x: Float, f32) {
        let y = x * 1.0;
        let mut z = x * 0.0;
        if x > 0.0 {
            let y = y + 5.0;
            z = y * 2.0;
        } else {
            let y = y - 7.0;
            z += y;
        }
        y + z
    }

    // rows: K41
    #[allow(unused_unsafe, reason = "the block is the subject of the test")]
    fn blocks_tuples_structs_and_ranges_change_nothing(x: Float, f32) {
        let (a, mut b) = {
            let y = x * 2.0;
            (y + 1.0, [x * 3.0, y])
        };
        let mut point = Point { x: a, y: b[1].clone() };
        // SAFETY: the operations in the block have no preconditions.
        let c = unsafe { if point.x > 1.0 { point.y - 1.0 } else { point.x * 4.0 } };
        let range = 1..const { 2 + 2 };
        for k in range {
            if c > 2.0 {
                b[0] += k as f32;
                (point.x, point.y) = (point.x + 1.0, b[0] * 0.5);
            }
        }
        let borrowed = &mut point.x;
        if x < 0.0 {
            *borrowed -= 100.0;
        }
        point.x + point.y + c + &b[0]
    }

    // rows: K42
    fn what_a_macro_names_is_state(x: Float, f32) {
        let mut y = x * 1.0;
        if x > 0.0 {
            bump!(y);
        }
        y
    }

    // rows: K43
    fn a_labelled_block_ends_by_its_break(x: Float, f32) {
        let mut y = x * 1.0;
        'block: {
            if x < 0.0 {
                break 'block;
            }
            y += 10.0;
            if x > 1.0 {
                y *= 2.0;
                break 'block;
            }
            y += 100.0;
        }
        let z = 'value: {
            if x > 1.0 {
                break 'value x * 2.0;
            }
            x - 1.0
        };
        y + z
    }
}
