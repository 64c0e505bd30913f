//! Former defects: widths that are computed, hidden values, host reads.

use std::collections::BTreeMap;

use jit::prelude::*;

use crate::{alike, floats, frozen, message_of, values};

#[freeze]
fn named(x: &Float, a: u32, b: u32, names: &BTreeMap<String, String>) -> Float {
    let weight = |name: &str| names[name].len() as f32;
    x.powi(a as i32) + x.powi(b as i32) * weight("first") + weight("second")
}

// rows: X01
#[test]
fn equal_host_values_in_other_places_are_distinguished() {
    let names = |first: &str, second: &str| {
        BTreeMap::from([("first".to_owned(), first.to_owned()), ("second".to_owned(), second.to_owned())])
    };
    alike(frozen!(named), 4, || {
        let calls = [(1, 2, "a", "bb"), (1, 1, "a", "bb"), (2, 1, "a", "bb"), (2, 1, "bb", "a"), (1, 2, "a", "bb")];
        calls.map(|(a, b, first, second)| values(&named(&floats(3, 1), a, b, &names(first, second))))
    });
}

#[freeze]
fn reversed_into_zeros(x: &Float) -> Float {
    let mut y = Float::zeros(x.width());
    jit::eval(&y).unwrap();
    y.scatter(x, &(UInt::from(x.width() - 1) - UInt::arange(x.width())));
    y
}

#[freeze]
fn reversed_by_index(x: &Float) -> Float {
    x.gather(&(UInt::from(x.width()) - 1 - UInt::arange(x.width())))
}

#[freeze]
fn every_other_scaled(x: &Float, scale: &Float) -> Float {
    x.gather(&(UInt::arange(x.width() / 2) * 2)) * scale
}

#[freeze]
fn joined(x: &Float, y: &Float) -> [Float; 4] {
    let (a, b) = jit::meshgrid(x, y);
    [Float::concat(&[x, y]), x.tile(2), x.repeat(3), a * b]
}

#[freeze]
fn four(x: &Float) -> Float {
    x.gather(&UInt::arange(4))
}

#[freeze]
fn last_is_marked(x: &Float) -> (Mask, Float, UInt) {
    let lanes = UInt::arange(x.width());
    jit::eval(&lanes).unwrap();
    (lanes.eq(UInt::from(x.width() - 1)), Float::zeros(x.width()), lanes + 1)
}

// rows: X03 X04 X05 X06
#[test]
fn widths_that_are_computed_are_those_of_the_call() {
    alike(frozen!(reversed_into_zeros), 1, || [4, 64, 3, 1000].map(|n| values(&reversed_into_zeros(&floats(n, n)))));
    alike(frozen!(reversed_by_index), 1, || [4, 6, 64].map(|n| values(&reversed_by_index(&floats(n, n)))));
    alike(frozen!(every_other_scaled), 1, || {
        [8, 16, 4].map(|n| values(&every_other_scaled(&floats(n, n), &Float::opaque(n as f32))))
    });
    alike(frozen!(joined), 1, || {
        [(3, 4), (5, 6), (4, 4), (100, 2)]
            .map(|(n, m)| joined(&floats(n, n), &floats(m, m)).map(|array| values(&array)))
    });
    alike(frozen!(four), 1, || [8, 16, 5].map(|n| values(&four(&floats(n, n)))));
    alike(frozen!(last_is_marked), 1, || {
        [3, 5, 4].map(|n| {
            let (mask, zeros, lanes) = last_is_marked(&floats(n, n));
            (values(&mask), values(&zeros), values(&lanes))
        })
    });
}

#[freeze]
fn kept(x: &Float) -> (Float, Float, Float, Mask) {
    let kept = x.filter(&x.gt(0.0));
    (&kept * 2.0, kept.sum(), kept.prefix_sum(), kept.gt(0.5).any())
}

// rows: X11
#[test]
fn nothing_is_a_size_too() {
    // Widths 0 and 1 have separate recordings, each for an argument and for the elements that a mask selects.
    let calls = [vec![], vec![1.0, -1.0, 2.0], vec![-1.0, -1.0], vec![], vec![-2.0, -3.0, -4.0], vec![3.0, 4.0, -1.0]];
    alike(frozen!(kept), 3, || {
        calls.clone().map(|x| {
            let (twice, sum, running, is_large) = kept(&Float::from(x));
            (values(&twice), values(&sum), values(&running), values(&is_large))
        })
    });
}

#[freeze]
fn with_length(x: &Float) -> (Float, usize) {
    (x * 2.0, x.len())
}

// rows: X14
#[test]
fn a_returned_length_is_that_of_the_call() {
    alike(frozen!(with_length), 3, || {
        [3, 5, 3, 7, 5].map(|n| {
            let (y, length) = with_length(&floats(n, n));
            (values(&y), length)
        })
    });
}

#[freeze]
fn viewed(x: &Float) -> Float {
    x + x.to_vec().unwrap()[0]
}

#[freeze]
fn shown(x: &Float) -> Float {
    x + x.to_string().len() as f32
}

#[freeze]
fn element_of(x: &Float, k: &Float) -> Float {
    x + k.get(0).unwrap()
}

// rows: X15 X16 X20
#[test]
fn elements_are_not_read_while_recording() {
    crate::frozen_only!();
    crate::on_each_device(|| {
        for call in 0..3 {
            let x = floats(4, call);
            for text in [message_of(|| viewed(&x)), message_of(|| shown(&x))] {
                assert!(text.contains("reads the contents"), "{text}");
            }
            // Also for a constant, which another call may pass with a different value.
            let text = message_of(|| element_of(&x, &Float::from(call as f32)));
            assert!(text.contains("reads the contents"), "{text}");
        }
        assert_eq!(viewed::stats().cached, 0);
    });
}

#[freeze]
fn poked(x: &mut Float, value: &Float) -> Float {
    x.scatter(value, &UInt::from(1));
    let table = Float::from([10.0, 20.0, 30.0]);
    table.gather(&UInt::from([2, 0, 1])) * value
}

// rows: X16 X17
#[test]
fn single_elements_are_written_and_host_data_is_part_of_the_recording() {
    alike(frozen!(poked), 1, || {
        [4, 7, 9].map(|n| {
            let mut x = floats(n, n);
            let y = poked(&mut x, &Float::opaque(n as f32));
            (values(&x), values(&y))
        })
    });
}

thread_local! {
    static HIDDEN: std::cell::RefCell<Float> = std::cell::RefCell::new(Float::from(1.0));
}

#[freeze]
fn uses_hidden(x: &Float) -> Float {
    HIDDEN.with_borrow(|hidden| x * hidden)
}

// rows: X19
#[test]
fn hidden_constants_are_refused() {
    crate::frozen_only!();
    crate::on_each_device(|| {
        for hidden in [Float::from(2.0), Float::opaque(2.0), floats(3, 1)] {
            HIDDEN.set(hidden);
            let text = message_of(|| uses_hidden(&floats(3, 2)));
            assert!(text.contains("that is not an argument of it"), "{text}");
        }
    });
}

#[freeze]
fn historied(x: &Float) -> Float {
    x + 1.0
}

// rows: X23
#[test]
fn listing_launches_is_not_part_of_a_recording() {
    crate::on_each_device(|| {
        historied::clear();
        for (call, is_on) in [true, false, true].into_iter().enumerate() {
            jit::set_kernel_history(is_on);
            assert_eq!(values(&historied(&floats(5, call))), values(&(floats(5, call) + 1.0)));
        }
        crate::frozen_only!();
        assert_eq!((historied::stats().recordings, historied::stats().replays), (1, 2));
    });
}

#[freeze]
fn iterated(x: &Float, n: &UInt) -> Float {
    let (mut x, mut rest) = (x.clone(), n.clone());
    #[evaluated]
    while rest > 0 {
        x *= 2.0;
        rest -= 1;
    }
    x
}

// rows: X02
#[test]
fn evaluated_loops_run_as_often_as_each_call_needs() {
    for device in crate::tested_devices::all() {
        jit::with_device(device, || {
            for (call, rounds) in [[3, 1, 2], [5, 0, 7], [1, 1, 1], [6, 6, 6]].into_iter().enumerate() {
                let x = floats(3, call);
                let wanted: Vec<f32> = values(&x).iter().zip(rounds).map(|(x, n)| x * 2_f32.powi(n as i32)).collect();
                assert_eq!(values(&iterated(&x, &UInt::from(rounds))), wanted);
            }
        });
    }
    crate::frozen_only!();
    assert_eq!(iterated::stats().recordings, 2, "one for each device");
}

#[freeze]
fn chain(x: &Float) -> Float {
    let mut y = x.clone();
    for _ in 0..60 {
        y = &y * 1.5 - 0.25;
        jit::eval(&y).unwrap();
    }
    y
}

// rows: X09
#[test]
fn a_chain_of_intermediate_arrays_needs_few_at_a_time() {
    crate::replays_alone!();
    if crate::alone_on_each_device("defects::a_chain_of_intermediate_arrays_needs_few_at_a_time", |_| ()) {
        return;
    }
    const BYTES: usize = 2 << 20;
    let run = |salt: usize| {
        let x = floats(BYTES / 4, salt);
        let y = chain(&x);
        jit::sync().unwrap();
        y.get(5).unwrap()
    };
    chain::set_enabled(false);
    let wanted = [run(1), run(2), run(3)];
    let unfrozen = jit::memory().peak_bytes;
    chain::set_enabled(true);
    // While it is recorded, the memory of launches in flight is not reused.
    assert_eq!(run(1), wanted[0]);
    let recorded = jit::memory().peak_bytes;
    jit_runtime::memory::reset_peak();
    assert_eq!([run(2), run(3)], wanted[1..]);
    crate::frozen_only!(assert_eq!((chain::stats().recordings, chain::stats().replays), (1, 2)));
    let replayed = jit::memory().peak_bytes;
    let [unfrozen, recorded, replayed] = [unfrozen, recorded, replayed].map(|bytes| bytes / BYTES);
    let text = format!("{unfrozen} arrays unfrozen, {recorded} while recording, {replayed} in replays");
    assert!(replayed <= unfrozen + 1 && recorded <= unfrozen + 5, "{text}");
}
