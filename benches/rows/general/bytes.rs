//! Hashes of blocks of bytes.

use jit::prelude::*;

use super::{Program, Threads};
use crate::inputs::hash32;
use crate::measure::{Bench, RowError};
use crate::throughput::resident;

const BLOCK: u32 = 64;

/// The hash FNV-1a of each block (G. Fowler, L. Noll and K.-P. Vo).
#[jit]
fn fnv(bytes: &UInt8) -> UInt {
    let block = UInt::arange(bytes.width() / BLOCK as usize);
    let mut hash = UInt::from(0x811c_9dc5);
    for k in 0..BLOCK {
        hash = (hash ^ bytes[block * BLOCK + k].cast::<u32>()) * 0x0100_0193;
    }
    hash
}

fn plain_fnv(block: &[u8]) -> u32 {
    block.iter().fold(0x811c_9dc5, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// The remainders of each byte by the polynomial of CRC-32.
fn remainders() -> Vec<u32> {
    let shifted = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    (0..256).map(|byte| (0..8).fold(byte, shifted)).collect()
}

/// The checksum CRC-32 of each block, by a table (D. Sarwate, 1988).
#[jit]
fn crc(bytes: &UInt8, table: &UInt) -> UInt {
    let block = UInt::arange(bytes.width() / BLOCK as usize);
    let mut crc = UInt::from(u32::MAX);
    for k in 0..BLOCK {
        let byte = bytes[block * BLOCK + k].cast::<u32>();
        crc = table[(crc ^ byte) & 0xff] ^ (crc >> 8);
    }
    !crc
}

fn plain_crc(block: &[u8], table: &[u32; 256]) -> u32 {
    !block.iter().fold(u32::MAX, |crc, &byte| table[((crc ^ u32::from(byte)) & 0xff) as usize] ^ crc >> 8)
}

fn of_blocks(
    bench: &Bench,
    workload: &'static str,
    ours: &dyn Fn(&UInt8) -> UInt,
    plain: impl Fn(&[u8]) -> u32 + Sync + Send,
) -> Result<(), RowError> {
    let bytes: Vec<u8> = (0..32_000_000).map(|i| hash32(i) as u8).collect();
    let array = resident(bytes.clone())?;
    let blocks = bytes.as_chunks::<{ BLOCK as usize }>().0;
    let rust = |threads: Threads| threads.map(blocks.len(), |i| plain(&blocks[i]));
    Program { workload, tolerance: 0.0, jit: &|| ours(&array), frozen: None, rust: &rust }.run(bench)
}

/// G21a: FNV-1a of 500 000 blocks of 64 bytes.
pub(crate) fn hashes(bench: &Bench) -> Result<(), RowError> {
    of_blocks(bench, "G21a", &fnv, plain_fnv)
}

/// G21b: CRC-32 of the same.
pub(crate) fn checksums(bench: &Bench) -> Result<(), RowError> {
    let table = remainders();
    let array = resident(table.clone())?;
    let table: [u32; 256] = std::array::from_fn(|k| table[k]);
    of_blocks(bench, "G21b", &|bytes| crc(bytes, &array), |block| plain_crc(block, &table))
}
