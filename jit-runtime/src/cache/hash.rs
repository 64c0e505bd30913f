//! The hash under which a kernel is looked up.
//!
//! It is computed at every launch, so it is short rather than strong: a full comparison follows it. It covers the
//! parameters and operations, which determine nearly everything else about a kernel, and is the same in every run.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU8, Ordering};

use crate::backend::CodeOptions;
use crate::config::Device;
use crate::ir::Kernel;

/// The variable under which every hash in the caches is zero, which shows that a full comparison stands behind each:
/// `1`, or `all`, where value numbering is concerned, too. It is for tests alone: builds without debug assertions do
/// not read it, as hashing is on the path of each recorded operation.
const ZERO: &str = "JIT_TEST_ZERO_HASHES";

const NONE: u8 = 1;
const CACHES: u8 = 2;
const ALL: u8 = 3;

#[inline]
fn zeros() -> u8 {
    static KNOWN: AtomicU8 = AtomicU8::new(0);
    #[cold]
    fn read() -> u8 {
        let value = std::env::var(ZERO).unwrap_or_default();
        let zeros = match &*value {
            "1" => CACHES,
            "all" => ALL,
            _ => NONE,
        };
        KNOWN.store(zeros, Ordering::Relaxed);
        zeros
    }
    match KNOWN.load(Ordering::Relaxed) {
        _ if cfg!(not(debug_assertions)) => NONE,
        0 => read(),
        known => known,
    }
}

/// Whether every hash in the caches is zero. Results are the same, slower.
#[doc(hidden)]
#[inline]
#[must_use]
pub fn are_zero() -> bool {
    zeros() != NONE
}

/// Whether that holds for value numbering, too, which then finds few equal expressions.
#[doc(hidden)]
#[inline]
#[must_use]
pub fn are_all_zero() -> bool {
    zeros() == ALL
}

/// Hashes the keys of maps in the cache.
#[derive(Clone, Copy, Default)]
pub(super) struct Hashing;

impl BuildHasher for Hashing {
    type Hasher = WordHasher;

    fn build_hasher(&self) -> WordHasher {
        WordHasher::default()
    }
}

/// Hash of a kernel alone.
pub(super) fn content(kernel: &Kernel) -> u64 {
    let mut hasher = WordHasher::default();
    hash_kernel(kernel, &mut hasher);
    hasher.finish()
}

fn hash_kernel(kernel: &Kernel, hasher: &mut WordHasher) {
    kernel.params.hash(hasher);
    kernel.locals.hash(hasher);
    kernel.regions.hash(hasher);
}

/// Hash of a kernel for a device with code options.
pub(super) fn kernel(kernel: &Kernel, device: Device, options: CodeOptions) -> u64 {
    let mut hasher = WordHasher::default();
    hash_kernel(kernel, &mut hasher);
    device.hash(&mut hasher);
    options.hash(&mut hasher);
    hasher.finish()
}

/// Hash of words.
pub(super) fn words(words: &[u64]) -> u64 {
    let mut hasher = WordHasher::default();
    words.iter().for_each(|&word| hasher.add(word));
    hasher.finish()
}

/// Four sums of products that take the words in rotation. A kernel is a stream of small words, and a single sum would
/// wait for a multiplication at each of them.
#[derive(Default)]
pub(super) struct WordHasher {
    lanes: [u64; 4],
}

/// Odd, with bits set all over (Steele and Vigna 2021, "Computationally easy, spectrally good multipliers").
const MULTIPLIER: u64 = 0xf135_7aea_2e62_a9c5;

impl WordHasher {
    #[inline]
    fn add(&mut self, word: u64) {
        let [a, b, c, d] = self.lanes;
        self.lanes = [b, c, d, a.wrapping_add(word).wrapping_mul(MULTIPLIER)];
    }
}

impl Hasher for WordHasher {
    fn finish(&self) -> u64 {
        if are_zero() {
            return 0;
        }
        // A product has its good bits at the top, and tables look at the bottom too: fold the halves together.
        let fold = |sum: u64, lane: &u64| {
            let product = u128::from(sum ^ lane) * u128::from(MULTIPLIER);
            (product >> 64) as u64 ^ product as u64
        };
        self.lanes.iter().fold(0x9e37_79b9_7f4a_7c15, fold)
    }

    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.add(u64::from_le_bytes(word));
        }
    }

    #[inline]
    fn write_u8(&mut self, word: u8) {
        self.add(word.into());
    }

    #[inline]
    fn write_u32(&mut self, word: u32) {
        self.add(word.into());
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.add(word);
    }

    #[inline]
    fn write_usize(&mut self, word: usize) {
        self.add(word as u64);
    }

    #[inline]
    fn write_isize(&mut self, word: isize) {
        self.add(word as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Access, BinaryOp, Builder, Type};

    fn chain(ops: &[BinaryOp], constant: u64) -> Kernel {
        let mut builder = Builder::new();
        let output = builder.buffer(Type::U32, Access::Write);
        let start = builder.constant(Type::U32, constant);
        let value = ops.iter().fold(start, |value, op| builder.binary(*op, value, start));
        builder.store(output, value);
        builder.finish()
    }

    #[test]
    fn local_memory_changes_the_hash() {
        let hash = |len| {
            let mut builder = Builder::new();
            builder.local(Type::F32, len);
            super::kernel(&builder.finish(), Device::Cpu, CodeOptions::default())
        };
        assert_ne!(hash(4), hash(5));
    }

    #[test]
    fn small_differences_change_the_hash() {
        let mut hashes = std::collections::HashSet::new();
        let mut count = 0;
        for constant in 0..200 {
            for pattern in 0..64_u32 {
                let op = |bit: u32| if pattern >> bit & 1 == 1 { BinaryOp::Add } else { BinaryOp::Mul };
                let kernel = chain(&[0, 1, 2, 3, 4, 5].map(op), constant);
                for options in
                    [false, true].map(|streaming_stores| CodeOptions { streaming_stores, ..CodeOptions::default() })
                {
                    hashes.insert(super::kernel(&kernel, Device::Cpu, options));
                    count += 1;
                }
            }
        }
        assert_eq!(hashes.len(), count);
        let of = |device| super::kernel(&chain(&[BinaryOp::Add], 1), device, CodeOptions::default());
        assert_ne!(of(Device::Cpu), of(Device::Interpreter));
    }
}
