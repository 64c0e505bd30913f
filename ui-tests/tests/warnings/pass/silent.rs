//! What is meant as it is written, or said to be, gives no warning.
#![deny(warnings)]
use jit::prelude::*;

macro_rules! larger {
    ($a:expr, $b:expr) => {
        if $a > $b { $a } else { $b }
    };
}

macro_rules! name_of {
    ($x:ident > $y:literal) => {
        concat!(stringify!($x), " over ", stringify!($y))
    };
}

/// The host decides: panics, counters and new variables are Rust's.
#[jit]
fn decided_by_the_host(x: &Float, n: u32, list: &[f32]) -> Float {
    let mut count = 0;
    let mut y = x.clone();
    while count < n {
        count += 1;
        let Some(first) = list.first() else { panic!("the list is empty") };
        y += *first;
    }
    if n == 50 {
        println!("the host prints");
    }
    while y > 1000.0 {
        y *= 0.5;
        jit::print!("lanes print {y}");
        #[allow(deprecated)]
        {
            println!("recorded");
        }
    }
    if n > 100 {
        panic!("{} is too many", larger!(n, 100));
    }
    while y > 1.0 {
        y *= match n {
            0 => unreachable!("the host decides"),
            _ => 0.5,
        };
        if n == 7 {
            todo!();
        }
        let y = y * 2.0;
        drop(y);
    }
    #[evaluated]
    while y > 0.25 {
        count += 1;
        y *= 0.5;
    }
    y + count as f32
}

/// Lanes that exit: the stage of the loop is found out later.
#[jit]
fn left_early(xs: &[i32]) -> i32 {
    let mut sum = 0;
    let mut xs = xs.iter();
    while sum < 100 {
        sum += match xs.next() {
            Some(x) if *x > 0 => *x,
            Some(_) => continue,
            None => break,
        };
    }
    sum
}

#[jit]
#[allow(deprecated)]
fn allowed_everywhere(x: Float) -> Float {
    if x < 0.0 {
        panic!();
    }
    x
}

#[jit]
fn allowed_here(x: Float) -> Float {
    #[allow(deprecated)]
    if x < 0.0 {
        panic!("negative");
    }
    #[allow(deprecated)]
    let name = name_of!(x > 3);
    assert_eq!(name, "x over 3");
    #[expect(deprecated, reason = "it is never traced")]
    while x > 0.0 {
        unreachable!();
    }
    #[allow(clippy::needless_bool)]
    if x > 1.0 { x + 1.0 } else { x }
}

fn main() {
    let x = Float::from([0.5, 4.0]);
    assert_eq!(decided_by_the_host(&x, 2, &[1.0]).to_vec().unwrap(), [4.15625, 4.1875]);
    assert_eq!(left_early(&[60, -1, 50, 3]), 110);
    let _ = (allowed_everywhere as fn(Float) -> Float, allowed_here as fn(Float) -> Float);
}
