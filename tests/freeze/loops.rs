//! Loops and calls in functions that are recorded.

use jit::prelude::*;

#[freeze]
fn collatz(n: &UInt) -> UInt {
    let (mut n, mut steps) = (n.clone(), n.zeros_like());
    while n > 1 {
        n = if n % 2 == 0 { n / 2 } else { n * 3 + 1 };
        steps += 1;
    }
    steps
}

fn steps_of(mut n: u32) -> u32 {
    let mut steps = 0;
    while n > 1 {
        n = if n.is_multiple_of(2) { n / 2 } else { n * 3 + 1 };
        steps += 1;
    }
    steps
}

#[test]
fn recorded_loops_run_as_long_as_each_call_needs() {
    for width in [4_u32, 30, 7, 1000] {
        let wanted: Vec<u32> = (0..width).map(|n| steps_of(n + width)).collect();
        let n = (UInt::arange(width as usize) + width).make_opaque();
        assert_eq!(collatz(&n).to_vec().unwrap(), wanted);
    }
    crate::frozen_only!();
    assert_eq!(collatz::stats().recordings, 1, "{:?}", collatz::explain());
}

#[freeze]
fn halved(x: &Float) -> (Float, Float) {
    let (mut x, mut largest) = (x.clone(), x.reduce_max());
    #[evaluated]
    while largest > 1.0 {
        x = x * 0.5;
        largest = x.reduce_max();
    }
    (x, largest)
}

#[test]
fn an_evaluated_loop_runs_as_long_as_each_call_needs() {
    for top in [8.0_f32, 7.5, 3.0, 8.0, 100.0, 0.5, 2.5] {
        let x = Float::from([top, top / 2.0, 0.25]);
        let halvings = (0..).find(|&n| top * 0.5_f32.powi(n) <= 1.0).unwrap();
        let (halved_x, largest) = halved(&x);
        let factor = 0.5_f32.powi(halvings);
        assert_eq!(halved_x.to_vec().unwrap(), [top * factor, top / 2.0 * factor, 0.25 * factor]);
        assert_eq!(largest.item().unwrap(), top * factor);
    }
    crate::frozen_only!();
    assert_eq!(halved::stats().recordings, 1, "{:?}", halved::explain());
}

#[freeze]
fn inner(x: &Float) -> Float {
    x * 2.0
}

#[freeze]
fn outer(x: &Float) -> Float {
    inner(&inner(x)) + 1.0
}

#[test]
fn frozen_functions_in_frozen_functions_are_part_of_their_recordings() {
    crate::replays_alone!();
    for width in [3, 5] {
        let x = Float::arange(width).make_opaque();
        assert_eq!(outer(&x).to_vec().unwrap(), (0..width).map(|i| 4.0 * i as f32 + 1.0).collect::<Vec<_>>());
    }
    crate::frozen_only!();
    assert_eq!((outer::stats().recordings, outer::stats().replays), (1, 1));
    assert_eq!((inner::stats().recordings, inner::stats().direct), (0, 2));
}
