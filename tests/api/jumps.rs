//! `break`, `continue` and `return` that lanes take at different times, against plain Rust lane by lane, on each
//! device.

#![allow(
    clippy::erasing_op,
    clippy::identity_op,
    clippy::needless_late_init,
    clippy::neg_multiply,
    clippy::while_immutable_condition,
    clippy::assign_op_pattern,
    clippy::never_loop,
    clippy::needless_return,
    clippy::explicit_counter_loop,
    clippy::collapsible_if,
    reason = "these programs are written as users write them"
)]

use super::control_flow::on_each_device;
use super::errors::panic_message;
use jit::prelude::*;

const LANES: [f32; 9] = [-3.0, -1.5, -0.5, 0.0, 0.25, 1.0, 1.5, 2.0, 7.5];

/// The same text once over arrays and once over numbers: `f32`, or `i32` where that is named.
macro_rules! proxies {
    ($test:ident: $($functions:tt)*) => {
        proxies!($test, LANES, Float, f32, 1.5: $($functions)*);
    };
    ($test:ident, $lanes:ident, $array:ident, $number:ident, $one:literal:
     $(fn $name:ident($x:ident) { $($body:tt)* })*) => {
        mod $test {
            $(pub(super) mod $name {
                use jit::prelude::*;
                #[allow(unused_mut)]
                #[jit]
                pub(crate) fn traced($x: &$array) -> $array {
                    let $x = $x.clone();
                    $($body)*
                }
                #[allow(unused_mut)]
                pub(crate) fn plain($x: $number) -> $number {
                    $($body)*
                }
            })*
        }

        #[test]
        fn $test() {
            $(
                println!("{}", stringify!($name));
                on_each_device(|| {
                    let got = $test::$name::traced(&$array::from(&$lanes[..])).to_vec().unwrap();
                    assert_eq!(got, $lanes.map($test::$name::plain), stringify!($name));
                    // All lanes take the same path.
                    let got = $test::$name::traced(&$array::from($one)).to_vec().unwrap();
                    assert_eq!(got, [$test::$name::plain($one)], stringify!($name));
                });
            )*
        }
    };
}

proxies! { breaks_and_continues:
    fn break_in_while(x) {
        let (mut y, mut n) = (x * 1.0, x * 0.0);
        while n < 9.0 { if y > 10.0 { break; } y = y * 1.5 + 1.0; n += 1.0; }
        y + n * 100.0
    }
    fn continue_in_while(x) {
        let (mut y, mut n) = (x * 1.0, x * 0.0);
        while n < 9.0 { n += 1.0; if y > 3.0 { continue; } y = y + 1.25; }
        y + n * 100.0
    }
    fn break_and_continue(x) {
        let (mut y, mut n) = (x * 1.0, x * 0.0);
        while n < 12.0 {
            n += 1.0;
            if y < 0.0 { y = y + 2.0; continue; }
            y += 0.5;
            if y > 4.0 { y -= 100.0; break; }
            if n > 5.0 && y > 2.0 { continue; } else { y += 0.25; }
            y += 0.125;
        }
        y + n * 1000.0
    }
    fn unconditional_break(x) {
        let mut y = x * 1.0;
        while y < 2.0 { y += 1.0; break; }
        y
    }
    fn break_first(x) {
        let mut y = x * 1.0;
        while y < 5.0 { if y > 1.0 { break; } else { y += 1.0; } }
        y
    }
    fn nested_ifs(x) {
        let (mut y, mut n) = (x * 1.0, x * 0.0);
        while n < 8.0 {
            n += 1.0;
            if y > -1.0 {
                if y > 2.0 { y += 50.0; if y > 70.0 { break; } y -= 1.0; }
                y += 0.75;
            } else if y < -2.0 { y += 0.5; continue; }
            y += 0.25;
        }
        y + n * 0.5
    }
    fn labels(x) {
        let (mut y, mut i) = (x * 1.0, x * 0.0);
        'outer: while i < 6.0 {
            i += 1.0;
            let mut j = x * 0.0;
            while j < 5.0 {
                j += 1.0;
                y += 0.5;
                if y > 9.0 { break 'outer; }
                if j > i { continue 'outer; }
                if j + y > 7.0 { break; }
                y += 0.0625;
            }
            y -= 0.25;
        }
        y + i * 100.0
    }
    fn inner_loop_only(x) {
        let (mut y, mut i) = (x * 1.0, x * 0.0);
        while i < 4.0 {
            i += 1.0;
            let mut j = i * 1.0;
            loop { j += 1.0; if j > y { break; } y -= 0.5; }
            y += j;
        }
        y
    }
    fn endless(x) {
        let (mut y, mut n) = (x * 1.0, x * 0.0);
        loop {
            y = y * 0.5 + 3.0;
            n += 1.0;
            if y > 5.0 || n > 20.0 { break; }
            if y < 2.0 { continue; }
            y += 0.125;
        }
        y + n
    }
    fn loop_value(x) {
        let mut y = x * 1.0;
        let found = loop {
            y += 1.0;
            if y > 3.0 { break y * 2.0; }
            if y == 0.5 { break y - 40.0; }
        };
        found + y
    }
    fn loop_value_in_expression(x) {
        let mut y = x * 1.0;
        1.0 + loop { y += 2.0; if y > 3.0 { break y; } }
    }
    fn loop_value_of_several_parts(x) {
        let mut y = x * 1.0;
        let (a, b) = loop {
            y += 1.0;
            if y > 3.0 { break (y * 2.0, y * y); }
            if y < -1.0 { break (y * 1.0, x * 1.0); }
        };
        a - b
    }
    fn labelled_block_value(x) {
        let y = 'b: {
            if x > 1.0 { if x > 1.75 { break 'b x * 10.0; } }
            if x < 0.0 { break 'b x - 1.0; }
            x * x
        };
        y + 0.5
    }
    fn labelled_block_in_while(x) {
        let (mut y, mut n) = (x * 1.0, x * 0.0);
        'a: while n < 6.0 {
            n += 1.0;
            'b: {
                if y > 3.0 { break 'b; }
                y += 1.0;
                if y > 2.5 { break 'a; }
                y += 0.25;
            }
            y += 0.0625;
        }
        y + n * 10.0
    }
    fn lets_with_jumps(x) {
        let (mut y, mut n) = (x * 1.0, x * 0.0);
        while n < 7.0 {
            n += 1.0;
            let step = if y > 4.0 { break } else if y < -1.0 { continue } else { y * 0.5 + 1.0 };
            y += step;
        }
        y + n * 100.0
    }
    fn assignments_with_jumps(x) {
        let (mut y, mut n) = (x * 1.0, x * 0.0);
        while n < 7.0 {
            n += 1.0;
            y = if y > 4.0 { break } else { y + 0.75 };
            y += if y < 0.0 { continue } else { 0.5 };
        }
        y + n * 100.0
    }
    fn deferred(x) {
        let (mut y, mut n) = (x * 1.0, x * 0.0);
        while n < 7.0 {
            n += 1.0;
            let step;
            if y > 4.0 { break; }
            if y < 0.0 { step = y * -1.0; } else { step = y + 0.5; }
            let late;
            if y == 1.0 { continue; }
            late = step * 0.5;
            y += late + step;
        }
        y + n * 100.0
    }
    fn host_for(x) {
        let mut y = x * 1.0;
        for k in 0..6 {
            if k == 4 { continue; }
            if y > 3.0 { break; }
            if y < 0.0 { y += 0.75; continue; }
            y += 1.0;
        }
        y
    }
    fn nested_host_fors(x) {
        let mut y = x * 1.0;
        'outer: for k in 0..4 {
            for j in 0..3 {
                if j > k { break; }
                if y > 6.0 { break 'outer; }
                if y < -2.0 { y += 0.5; continue 'outer; }
                y += 0.5;
            }
            y += 0.25;
        }
        y
    }
    fn host_loop_with_traced_continue(x) {
        let (mut y, mut k) = (x * 1.0, 0);
        loop {
            if k == 5 { break; }
            k += 1;
            if y > 2.0 { continue; }
            y += 0.75;
        }
        y
    }
    fn host_condition_that_never_changes(x) {
        let (mut y, go) = (x * 1.0, true);
        while go { if y > 3.0 { break; } y += 1.0; }
        y
    }
    fn match_in_while(x) {
        let (mut y, mut n) = (x * 1.0, x * 0.0);
        let kind = Some(3);
        while n < 6.0 {
            n += 1.0;
            match kind {
                Some(k) if k > 2 => { if y > 3.0 { break; } y += 0.5; }
                Some(_) => continue,
                None => break,
            }
            y += 0.25;
        }
        y + n
    }
    fn loop_in_match_arm(x) {
        let mut y = x * 1.0;
        let other = match Some(2) { Some(_) => loop { y += 1.0; if y > 4.0 { break y; } }, None => x * 1.0 };
        other - y * 0.5
    }
    fn closure_with_jumps(x) {
        let count = |start: _| {
            let mut y = start;
            let mut n = y * 0.0;
            while n < 5.0 { if y > 2.0 { return y; } y += 1.0; n += 1.0; }
            n
        };
        count(x * 1.0)
    }
}

proxies! { returns:
    fn return_in_while(x) {
        let (mut y, mut n) = (x * 1.0, x * 0.0);
        while n < 6.0 {
            if y > 5.0 { return y * 100.0; }
            y += 1.0;
            if y == 0.25 { return n; }
            n += 1.0;
        }
        y + n
    }
    fn return_deep(x) {
        let mut y = x * 1.0;
        while y < 20.0 {
            let mut k = x * 0.0;
            loop {
                k += 1.0;
                if k > 3.0 { break; }
                if y > 9.0 { if k > 1.0 { return y + k; } }
                y += 0.75;
            }
            if y > 15.0 { return k; }
        }
        -y
    }
    fn return_in_nested_if(x) {
        let mut y = x * 1.0;
        if y > 0.0 {
            y += 1.0;
            if y > 2.0 { return y * 10.0; }
            y += 0.5;
        }
        y += 0.25;
        if y < 0.0 { if y < -1.0 { return y; } else { y = y * 4.0; } }
        y
    }
    fn return_in_host_for(x) {
        let mut y = x * 1.0;
        for k in 0..5 {
            if y > 3.0 { return y - 50.0; }
            y += 0.5;
            if k > 2 { y += 1.0; }
        }
        y
    }
    fn return_from_endless(x) {
        let mut y = x * 1.0;
        loop {
            y += 1.0;
            if y > 6.0 { return y; }
            if y < 0.5 { return y * 3.0; }
        }
    }
    fn return_and_break(x) {
        let (mut y, mut n) = (x * 1.0, x * 0.0);
        'a: loop {
            n += 1.0;
            while y < n * 2.0 {
                y += 1.5;
                if y > 8.0 { return y; }
                if y < -1.0 { continue 'a; }
                if n > 4.0 { break 'a; }
            }
            y -= 0.5;
        }
        y + n * 100.0
    }
    fn return_in_match(x) {
        let y = x * 2.0;
        match Some(1.0) {
            Some(k) => {
                let z = y + k;
                if z > 1.0 { if z > 3.0 { return z; } }
                z * 5.0
            }
            None => y,
        }
    }
    fn return_from_block(x) {
        let y = { let z = x + 1.0; if z > 1.0 { if z < 2.0 { return z * 7.0; } } z * 2.0 };
        y - 1.0
    }
    fn both_arms_leave(x) {
        let (mut y, mut n) = (x * 1.0, x * 0.0);
        while n < 5.0 {
            n += 1.0;
            y += 1.0;
            if y > 2.0 { if y > 4.0 { return y; } else { continue; } }
            y += 0.5;
        }
        y + 1000.0
    }
    fn early_returns_then_loop(x) {
        if x < -1.0 { return x * 100.0; }
        let mut y = x * 2.0;
        while y < 9.0 { y += 1.5; if y == 5.0 { return -1.0 * y; } }
        if y > 10.0 { return y; }
        y * 0.5
    }
    fn all_lanes_return(x) {
        let y = x * 0.0;
        for k in 0..3 {
            if y == 0.0 { return x + 1.0; }
            if k > 7 { break; }
        }
        y
    }
    fn heavy_rest(x) {
        let mut y = x * 1.0;
        while y < 30.0 {
            if y.sin() > 0.9 { return y; }
            y = y + (y.sin() * y.cos()).abs() + (y * 0.3).exp().min(2.0) + 0.5;
        }
        y.sin()
    }
}

#[jit]
fn scatter_until(target: &mut UInt, limit: &UInt) -> UInt {
    let mut i = limit.zeros_like();
    while i < 8 {
        if i >= limit {
            break;
        }
        target.scatter_add(1, &i);
        i += 1;
        if i == 3 {
            continue;
        }
        target.scatter_add(1, &(i + 8));
    }
    i
}

#[test]
fn lanes_that_have_exited_write_nothing() {
    let limits = [0u32, 2, 5, 9, 3];
    let mut wanted = [0u32; 20];
    let mut last = Vec::new();
    for &limit in &limits {
        let mut i = 0;
        while i < 8 {
            if i >= limit {
                break;
            }
            wanted[i as usize] += 1;
            i += 1;
            if i == 3 {
                continue;
            }
            wanted[i as usize + 8] += 1;
        }
        last.push(i);
    }
    on_each_device(|| {
        let mut target = UInt::zeros(20);
        let i = scatter_until(&mut target, &UInt::from(&limits[..]));
        assert_eq!(target.to_vec().unwrap(), wanted);
        assert_eq!(i.to_vec().unwrap(), last);
    });
}

const COUNTS: [i32; 9] = [-3, 0, 1, 2, 3, 5, 7, 8, 12];

proxies! { ranges, COUNTS, Int, i32, 5:
    fn up(n) { let mut sum = n * 0; for i in 0..n { sum = sum * 2 + i; } sum }
    fn inclusive(n) { let mut sum = n * 0; for i in -1..=n { sum = sum * 2 + i; } sum }
    fn down(n) { let mut sum = n * 0; for i in (0..n).rev() { sum = sum * 2 + i; } sum }
    fn steps(n) {
        let mut sum = n * 0;
        for i in (n - 4..n * 2).step_by(3) { sum = sum * 3 + i; }
        for i in (n..=9).rev().step_by(2) { sum = sum * 3 - i; }
        for i in (0..n).step_by(4).rev() { sum = sum * 5 - i; }
        sum
    }
    fn both_traced(n) { let mut sum = n * 0; for i in n * 2 - 9..n { sum += i * i; } sum }
    fn nested(n) {
        let mut sum = n * 0;
        for i in 0..n { for j in i..n { if (i + j) % 3 == 1 { sum += i * j; } } }
        sum
    }
    fn jumps(n) {
        let mut sum = n * 0;
        'outer: for i in 0..n {
            if i == 1 { continue; }
            for j in 0..=i {
                if j == 4 { continue 'outer; }
                if i * j > 20 { break 'outer; }
                if i + j == 9 { return sum * 1000; }
                sum += i + j;
            }
            if sum > 60 { break; }
            sum += 1;
        }
        sum
    }
    fn traced_range_in_host_loop(n) {
        let mut sum = n * 0;
        for k in 0..3 { for i in k..n { if i > 5 { break; } sum += i * (k + 1); } if sum > 20 { return sum; } }
        -sum
    }
    fn first_divisor(n) {
        for k in 2..n { if n % k == 0 { return k; } }
        n * 1
    }
    fn at_the_limits(n) {
        let mut count = n * 0;
        for i in n + (i32::MAX - 14)..=i32::MAX { if i < 0 { break; } count += 1; }
        for _ in (i32::MIN..=n + (i32::MIN + 3)).rev() { count += 100; if count > 5000 { break; } }
        count
    }
}

#[jit]
fn symbolic_sum(x: &Float, #[constexpr] count: usize) -> (Float, UInt) {
    let (mut sum, mut seen) = (x.clone(), UInt::from(0));
    #[symbolic]
    for i in 0..count {
        if sum > 100.0 {
            break;
        }
        sum += 0.5;
        seen += i;
    }
    #[symbolic]
    for i in (0..1000).step_by(10) {
        seen += i;
    }
    (sum, seen)
}

// rows: K7 K154
#[test]
fn symbolic_loops_are_recorded_once() {
    let plain = |x: f32, count: u32| {
        let (mut sum, mut seen) = (x, 0);
        for i in 0..count {
            if sum > 100.0 {
                break;
            }
            sum += 0.5;
            seen += i;
        }
        (sum, seen + (0..1000).step_by(10).sum::<u32>())
    };
    on_each_device(|| {
        for count in [0, 3, 2000] {
            let (sum, seen) = symbolic_sum(&Float::from(&LANES[..]), count);
            // A loop that no lane enters does not widen its state.
            let seen = seen + UInt::zeros(LANES.len());
            let got: Vec<_> = sum.to_vec().unwrap().into_iter().zip(seen.to_vec().unwrap()).collect();
            assert_eq!(got, LANES.map(|x| plain(x, count as u32)));
        }
    });
}

#[jit]
fn host_counter(x: &Float) -> Float {
    let (mut y, mut k) = (x.clone(), 0);
    while k < 10 {
        if y > 5.0 {
            break;
        }
        y += 1.0;
        k += 1;
    }
    y
}

proxies! { first_values_come_out_of_loops:
    fn with_the_jump(x) {
        let last;
        let mut y = x * 0.5;
        loop {
            if y > 20.0 {
                last = y - 1.0;
                break;
            }
            y = y * 2.0 + 1.6;
            if y < -20.0 { y = -y; }
        }
        last
    }
    fn in_each_turn(x) {
        let mut at;
        let mut y = x * 1.0;
        let steps = loop {
            at = y * y;
            if at > 30.0 { break at - y; }
            y = y + 3.0;
        };
        at + steps
    }
    fn out_of_two_loops(x) {
        let (last, other);
        let mut y = x * 1.0;
        let found = 'out: loop {
            let mut k = 0.0 * x;
            while k < 4.0 {
                if y + k > 12.0 {
                    last = k * 10.0;
                    other = y - k;
                    break 'out y;
                }
                k += 1.0;
            }
            let mut j = 0.0 * x;
            loop {
                if j * y > 50.0 {
                    (last, other) = (j * 1.0, -j);
                    break 'out k;
                }
                if j > 6.0 { break; }
                j += 1.0;
            }
            y += 1.0;
        };
        found + last * 0.5 + other
    }
    fn in_an_arm(x) {
        let r;
        if x > 0.5 {
            let mut k = x * 1.0;
            loop {
                if k * k >= 9.0 { r = k; break; }
                k += 0.5;
            }
        } else {
            r = x - 1.0;
        }
        r
    }
}

#[jit]
fn host_value(x: &Float) -> f32 {
    let mut y = x.clone();
    while y < 9.0 {
        if y > 5.0 {
            return 1.0;
        }
        y += 1.0;
    }
    2.0
}

#[jit]
fn no_steps(n: &UInt) -> UInt {
    let mut sum = UInt::from(0);
    for i in (0..n).step_by(0) {
        sum += i;
    }
    sum
}

/// The message of a wrong program.
fn panic_of(program: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let panic = std::panic::catch_unwind(program).expect_err("the program is wrong");
    panic.downcast_ref::<String>().cloned().expect("a text")
}

#[test]
fn wrong_jumps_name_the_line() {
    let message = panic_of(|| drop(host_counter(&Float::from(&LANES[..]))));
    assert!(message.contains("`k` changes from 0 to 1") && message.contains("jumps.rs:"), "{message}");
    let message = panic_of(|| assert!(host_value(&Float::from(&LANES[..])) > 0.0));
    assert!(message.contains("lanes exit with different host values, 1.0 and 2.0"), "{message}");
    let message = panic_of(|| drop(no_steps(&UInt::from([3, 4]))));
    assert!(message.contains("the step of a range is zero") && message.contains("jumps.rs:"), "{message}");
    // The thread can continue tracing.
    assert_eq!(returns::return_in_while::traced(&Float::from(1.0)).to_vec().unwrap().len(), 1);
}

#[jit]
fn counted_in_32_bits(#[constexpr] count: usize) -> UInt {
    let mut seen = UInt::from(0);
    #[symbolic]
    for _ in 0..count {
        // counted
        seen += 1;
    }
    seen
}

// no device: nothing is computed
#[test]
fn host_bounds_beyond_32_bits_are_refused_at_their_line() {
    let message = panic_message(|| drop(counted_in_32_bits(1 << 32)));
    // The loop is on the line before the comment.
    let line = include_str!("jumps.rs").lines().position(|line| line.ends_with("// counted")).unwrap();
    for text in ["4294967296 does not fit", "`u64`", &format!("jumps.rs:{line}")] {
        assert!(message.contains(text), "`{text}` is not in: {message}");
    }
}
