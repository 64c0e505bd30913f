//! Lanes leave loops and functions at different times.
use jit::prelude::*;

#[jit]
fn search(x: Float) -> Float {
    let mut y = x;
    for _ in 0..8 {
        if y > 100.0 {
            break;
        }
        y = y * 2.0;
    }
    y
}

#[jit]
fn skip(x: Float) -> Float {
    let mut y = x;
    'outer: for _ in 0..8 {
        for _ in 0..2 {
            if y > 100.0 {
                continue 'outer;
            }
            y = y * 2.0;
        }
    }
    y
}

#[jit]
fn early(x: Float, n: usize) -> Float {
    let mut y = x.clone();
    for _ in 0..n {
        if y < 0.0 {
            return x;
        }
        y -= 1.0;
    }
    y
}

fn main() {
    for function in [search, skip, |x| early(x, 9)] {
        assert_eq!(function(Float::from(3.0)).to_vec().unwrap().len(), 1);
    }
}
