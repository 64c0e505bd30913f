//! Reductions of blocks, products, masks and compression at changing widths.

use jit::prelude::*;

use crate::{alike, floats, frozen, values};

#[freeze]
fn scalar_product(x: &Float, y: &Float) -> Float {
    x.dot(y)
}

// rows: F062
#[test]
fn scalar_products_at_every_width() {
    alike(frozen!(scalar_product), 1, || [10, 11, 12].map(|n| values(&scalar_product(&floats(n, 1), &floats(n, 2)))));
}

#[freeze]
fn mean(x: &Float) -> Float {
    x.mean()
}

// rows: F076
#[test]
fn means_of_three_to_five_elements() {
    alike(frozen!(mean), 1, || [3, 4, 5, 4].map(|n| values(&mean(&floats(n, n)))));
}

#[freeze]
fn any_and_all(mask: &Mask) -> (Mask, Mask, UInt) {
    (mask.any(), mask.all(), mask.count())
}

// rows: F086
#[test]
fn any_of_a_wide_mask() {
    alike(frozen!(any_and_all), 1, || {
        [(4, 9.0), (100, 0.5), (30_000, 1.0), (7, -2.0)].map(|(n, limit)| {
            let mask = floats(n, n).gt(limit);
            jit::eval(&mask).unwrap();
            let (any, all, count) = any_and_all(&mask);
            (values(&any), values(&all), values(&count))
        })
    });
}

#[freeze]
fn sums_of_pairs(x: &Float) -> Float {
    x.block_sum(2)
}

#[freeze]
fn sums_of_fours(x: &Float) -> Float {
    x.block_sum(4)
}

// rows: F087 X08
#[test]
fn sums_of_blocks_of_which_the_last_is_short() {
    // Once for widths that the blocks divide, and once for others.
    alike(frozen!(sums_of_pairs), 2, || [4, 6, 5, 7, 8, 9, 10, 3].map(|n| values(&sums_of_pairs(&floats(n, n)))));
    alike(frozen!(sums_of_fours), 2, || [8, 13, 5, 5, 800].map(|n| values(&sums_of_fours(&floats(n, n)))));
}

#[freeze]
fn least_of_sevens(x: &Float) -> Float {
    x.block_reduce(ReduceOp::Min, 7)
}

// rows: F087
#[test]
fn any_number_of_lanes_in_the_last_block_is_one_recording() {
    alike(frozen!(least_of_sevens), 2, || {
        [22, 14, 13, 20, 19, 18, 17, 16, 15, 8, 70].map(|n| values(&least_of_sevens(&floats(n, n))))
    });
}

// rows: X07
#[test]
fn one_block_becomes_two() {
    alike(frozen!(sums_of_fours_again), 2, || [4, 8, 4, 12].map(|n| values(&sums_of_fours_again(&floats(n, n)))));
}

#[freeze]
fn sums_of_fours_again(x: &Float) -> Float {
    x.block_sum(4)
}

#[freeze]
fn pairs_of_what_is_kept(x: &Float) -> (Float, Float) {
    let kept = x.filter(&x.gt(-0.9));
    (sums(&kept), kept.prefix_sum())
}

fn sums(x: &Float) -> Float {
    x.block_sum(2)
}

// rows: F088
#[test]
fn sums_of_blocks_of_what_a_mask_keeps() {
    alike(frozen!(pairs_of_what_is_kept), 2, || {
        [4, 5, 6, 7, 4].map(|n| {
            let (sums, running) = pairs_of_what_is_kept(&floats(n, n));
            [sums, running].map(|array| values(&array))
        })
    });
}

#[freeze]
fn kernel_compress_block(x: &Float) -> Float {
    let y = x * 2.0;
    jit::eval(&y).unwrap();
    y.filter(&y.gt(-1.0)).block_sum(2)
}

// rows: F103
#[test]
fn replays_are_listed_as_what_was_recorded() {
    crate::replays_alone!();
    if crate::alone("blocks::replays_are_listed_as_what_was_recorded", "").is_some() {
        return;
    }
    crate::on_each_device(|| {
        kernel_compress_block::clear();
        let x = floats(20, 3);
        let listed = || {
            drop(jit::kernel_history());
            let y = values(&kernel_compress_block(&x));
            let all = jit::kernel_history().into_iter();
            (y, all.map(|launch| (launch.label, launch.width, launch.inputs, launch.outputs)).collect::<Vec<_>>())
        };
        let (recorded, replayed) = (listed(), listed());
        assert_eq!(recorded, replayed);
        assert!(recorded.1.len() >= 3, "{recorded:?}");
        crate::frozen_only!();
        assert_eq!((kernel_compress_block::stats().recordings, kernel_compress_block::stats().replays), (1, 1));
    });
}
