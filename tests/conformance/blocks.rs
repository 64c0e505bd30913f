//! Reductions and prefix reductions of blocks.

use jit::prelude::*;

use crate::{message_of, noise, on_each_device, resident};

// rows: C183
#[test]
fn blocks_are_summed() {
    on_each_device(|| {
        let x = resident([1_u32, 2, 3, 4, 5, 6]);
        let expected: [&[u32]; 6] = [&[1, 2, 3, 4, 5, 6], &[3, 7, 11], &[6, 15], &[10, 11], &[15, 6], &[21]];
        for (block, expected) in (1..=6).zip(expected) {
            assert_eq!(x.block_sum(block).to_vec().unwrap(), expected);
        }
        assert_eq!(x.block_sum(100).to_vec().unwrap(), [21]);
        let message = message_of(|| x.block_sum(0));
        assert!(message.contains("block"), "{message}");
    });
}

// rows: C288
#[test]
fn blocks_of_constants_are_reduced() {
    on_each_device(|| {
        assert_eq!(UInt::full(3, 7).block_sum(3).to_vec().unwrap(), [9, 9, 3]);
        assert_eq!(Int::full(2, 5).block_reduce(ReduceOp::Mul, 4).to_vec().unwrap(), [16, 2]);
        assert_eq!(Float::full(2.5, 5).block_reduce(ReduceOp::Max, 2).to_vec().unwrap(), [2.5; 3]);
    });
}

/// Numbers of an element type, from noise.
macro_rules! noise_of {
    ($ty:ident, $count:expr) => {
        noise($count, 11)
            .iter()
            .map(|&bits| u64::from(bits).wrapping_mul(0x9E37_79B9_7F4A_7C15) as $ty)
            .collect::<Vec<$ty>>()
    };
}

macro_rules! blocks {
    ($ty:ident: $sizes:expr, $blocks:expr) => {
        for size in $sizes {
            let values = noise_of!($ty, size);
            let x = Array::<$ty>::from(&values);
            for block in $blocks {
                let reduce = |op: ReduceOp, host: fn($ty, $ty) -> $ty| {
                    let expected: Vec<$ty> =
                        values.chunks(block).map(|block| block.iter().copied().reduce(host).unwrap()).collect();
                    assert_eq!(x.block_reduce(op, block).to_vec().unwrap(), expected, "{op:?} of {size} by {block}");
                };
                reduce(ReduceOp::Add, $ty::wrapping_add);
                reduce(ReduceOp::Mul, $ty::wrapping_mul);
                reduce(ReduceOp::Min, $ty::min);
                reduce(ReduceOp::Max, $ty::max);
                reduce(ReduceOp::And, |a, b| a & b);
                reduce(ReduceOp::Or, |a, b| a | b);
            }
        }
    };
}

// rows: C289 C290
#[test]
fn blocks_of_every_size_are_reduced() {
    on_each_device(|| {
        blocks!(u32: [1, 2, 15, 16, 17, 1000, 20_000], [1, 2, 3, 16, 63, 64, 65, 1000, 16_384, 19_999]);
        blocks!(u64: [1, 31, 64, 1025, 20_000], [1, 2, 5, 32, 100, 1024, 16_385]);
    });
}

// rows: C185
#[test]
fn large_blocks_are_reduced() {
    on_each_device(|| {
        // Interpreters, which GPUs of tests are, too, take a second for each reduction of this many lanes.
        let log2 = if UInt::zeros(1).device() == Device::Cpu { 22 } else { 15 };
        blocks!(u32: [1 << log2], (0..=log2).map(|shift| 1 << shift));
        // In the kernel that computes the elements, and from memory.
        let lazy = UInt::arange(1 << log2) * 2_654_435_761_u32 % 1_000_003;
        let stored = UInt::from(lazy.to_vec().unwrap());
        for block in (0..=log2).map(|shift| 1 << shift) {
            for op in [ReduceOp::Add, ReduceOp::Mul, ReduceOp::Min, ReduceOp::Max, ReduceOp::And, ReduceOp::Or] {
                let both = (lazy.block_reduce(op, block), stored.block_reduce(op, block));
                jit::eval(&both).unwrap();
                assert!(both.0.eq(&both.1).all().item().unwrap(), "{op:?} by {block}");
            }
        }
    });
}

// rows: C184
#[test]
fn prefix_sums_begin_anew_in_each_block() {
    on_each_device(|| {
        let x = resident([1_u32, 2, 3, 4, 5, 6]);
        assert_eq!(x.block_prefix_sum(1).to_vec().unwrap(), [1, 2, 3, 4, 5, 6]);
        assert_eq!(x.block_prefix_sum(2).to_vec().unwrap(), [1, 3, 3, 7, 5, 11]);
        assert_eq!(x.block_prefix_sum(3).to_vec().unwrap(), [1, 3, 6, 4, 9, 15]);
        assert_eq!(x.block_prefix_sum(4).to_vec().unwrap(), [1, 3, 6, 10, 5, 11]);
        assert_eq!(x.block_prefix_sum(6).to_vec().unwrap(), [1, 3, 6, 10, 15, 21]);
        assert_eq!(x.block_prefix_sum(100).to_vec().unwrap(), [1, 3, 6, 10, 15, 21]);
        let exclusive = x.prefix(ReduceOp::Add, Scan::exclusive().per_block(4));
        assert_eq!(exclusive.to_vec().unwrap(), [0, 1, 3, 6, 0, 5]);
        let ragged = resident([1, 2, 3, 4, 5]);
        assert_eq!(ragged.block_prefix_sum(2).to_vec().unwrap(), [1, 3, 3, 7, 5]);
        let exclusive = ragged.prefix(ReduceOp::Add, Scan::exclusive().per_block(3));
        assert_eq!(exclusive.to_vec().unwrap(), [0, 1, 3, 0, 4]);
        assert_eq!(Int::full(2, 5).block_prefix_sum(2).to_vec().unwrap(), [2, 4, 2, 4, 2]);
        let message = message_of(|| x.block_prefix_sum(0));
        assert!(message.contains("block"), "{message}");
    });
}

macro_rules! prefixes {
    ($ty:ident: $sizes:expr, $blocks:expr) => {
        for size in $sizes {
            let values = noise_of!($ty, size);
            let x = Array::<$ty>::from(&values);
            for block in $blocks {
                let scan = |op: ReduceOp, identity: $ty, host: fn($ty, $ty) -> $ty| {
                    for (is_exclusive, is_reverse) in [(false, false), (true, false), (false, true), (true, true)] {
                        let mut expected = values.clone();
                        for block in expected.chunks_mut(block) {
                            let mut total = identity;
                            let mut step = |value: &mut $ty| {
                                let next = host(total, *value);
                                *value = if is_exclusive { total } else { next };
                                total = next;
                            };
                            if is_reverse {
                                block.iter_mut().rev().for_each(step)
                            } else {
                                block.iter_mut().for_each(&mut step)
                            }
                        }
                        let scan = if is_exclusive { Scan::exclusive() } else { Scan::inclusive() };
                        let scan = if is_reverse { scan.reverse() } else { scan };
                        let result = x.prefix(op, scan.per_block(block)).to_vec().unwrap();
                        assert!(result == expected, "{op:?} of {size} by {block}: {scan:?}");
                    }
                };
                scan(ReduceOp::Add, 0, $ty::wrapping_add);
                scan(ReduceOp::Mul, 1, $ty::wrapping_mul);
                scan(ReduceOp::Min, $ty::MAX, $ty::min);
                scan(ReduceOp::Max, $ty::MIN, $ty::max);
                scan(ReduceOp::And, !0, |a, b| a & b);
                scan(ReduceOp::Or, 0, |a, b| a | b);
            }
        }
    };
}

// rows: C291 C292
#[test]
fn block_prefix_reductions_begin_anew() {
    on_each_device(|| {
        prefixes!(u32: [1, 2, 15, 16, 17, 1000, 70_000], [1, 2, 3, 16, 63, 64, 65, 1000, 2048, 32_768, 40_000, 65_537]);
        prefixes!(u64: [1, 31, 64, 1025, 40_000, 70_000], [1, 2, 5, 32, 100, 1024, 2049, 32_769]);
    });
}
