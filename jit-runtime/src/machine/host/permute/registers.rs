//! Blocks of elements that are transposed in registers.
//!
//! A register has one, two or four parts of 16 bytes. As many registers as a part has elements are read, part by part:
//! the first parts of all registers are neighbouring columns, then come the second ones. Each step interleaves every
//! register with the one that is half of all further. After as many steps as the number of registers has bits, each
//! register is a row.

/// The bytes of a part of a register.
pub(super) const PART: usize = 16;
/// The most columns and rows of a block.
pub(super) const MOST_COLUMNS: usize = 64;
pub(super) const MOST_ROWS: usize = PART;

/// The instructions that are used for elements of a size.
#[derive(Clone, Copy)]
pub(super) struct Way {
    /// The rows of a block, which are the elements of a part, and its columns.
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Moves some blocks, each of which has the rows behind those of the one before: from a source, whose columns are a
    /// distance in bytes from each other, to a target, whose rows are. The processor must have the instructions.
    pub(super) blocks: Blocks,
}

type Blocks = unsafe fn(source: *const u8, across: isize, target: *mut u8, down: isize, count: usize);

impl Way {
    /// The best instructions that the processor has, for elements of a size in so many columns: the longest registers
    /// that are not twice as long as rows.
    pub(super) fn of(size: u64, columns: u64) -> Option<Way> {
        let is_long = |way: &Way| way.columns as u64 >= 2 * columns;
        let shortest = Way::all(size).last();
        Way::all(size).find(|way| !is_long(way)).or(shortest)
    }

    /// The instructions that the processor has, for the longest registers first.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn all(size: u64) -> impl Iterator<Item = Way> {
        let has_four = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
        let has = [has_four, is_x86_feature_detected!("avx2"), true];
        let rows = PART / size as usize;
        let way = move |(parts, blocks)| Way { rows, columns: rows * parts, blocks };
        let ways = [4, 2, 1].into_iter().zip(x86::blocks(size)).zip(has);
        ways.filter(|(_, has)| *has).map(move |(blocks, _)| way(blocks))
    }

    #[cfg(not(target_arch = "x86_64"))]
    pub(super) fn all(_: u64) -> impl Iterator<Item = Way> {
        std::iter::empty()
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Blocks, PART};

    /// The functions with registers of four parts, two parts and one part.
    pub(super) fn blocks(size: u64) -> [Blocks; 3] {
        match size {
            1 => [four::bytes, two::bytes, one::bytes],
            2 => [four::halves, two::halves, one::halves],
            4 => [four::words, two::words, one::words],
            _ => [four::longs, two::longs, one::longs],
        }
    }

    /// A function that moves blocks of elements of some bytes.
    macro_rules! blocks {
        ($name:ident, $features:literal, $size:literal, $low:ident, $high:ident, $write:ident) => {
            /// # Safety
            ///
            /// The blocks must be readable and writable, and the processor must have the instructions.
            #[target_feature(enable = $features)]
            pub(super) unsafe fn $name(source: *const u8, across: isize, target: *mut u8, down: isize, count: usize) {
                const ROWS: usize = PART / $size;
                for block in 0..count {
                    // SAFETY: the caller's promise.
                    unsafe {
                        let (source, target) =
                            (source.add(block * PART), target.offset((block * ROWS) as isize * down));
                        let parts = across * ROWS as isize;
                        let mut registers = [read(source, parts); ROWS];
                        for (column, register) in registers.iter_mut().enumerate().skip(1) {
                            *register = read(source.offset(column as isize * across), parts);
                        }
                        for _ in 0..ROWS.ilog2() {
                            let before = registers;
                            for pair in 0..ROWS / 2 {
                                let (a, b) = (before[pair], before[pair + ROWS / 2]);
                                registers[2 * pair] = $low(a, b);
                                registers[2 * pair + 1] = $high(a, b);
                            }
                        }
                        for (row, register) in registers.iter().enumerate() {
                            $write(target.offset(row as isize * down).cast(), *register);
                        }
                    }
                }
            }
        };
    }

    mod four {
        use super::*;

        /// # Safety
        ///
        /// The parts, which are a distance in bytes from each other, must be readable.
        #[inline]
        #[target_feature(enable = "avx512f")]
        unsafe fn read(first: *const u8, distance: isize) -> __m512i {
            // SAFETY: the caller's promise.
            unsafe {
                let part = |part: isize| _mm_loadu_si128(first.offset(part * distance).cast());
                let all = _mm512_castsi128_si512(part(0));
                let all = _mm512_inserti32x4::<1>(all, part(1));
                let all = _mm512_inserti32x4::<2>(all, part(2));
                _mm512_inserti32x4::<3>(all, part(3))
            }
        }

        blocks!(bytes, "avx512f,avx512bw", 1, _mm512_unpacklo_epi8, _mm512_unpackhi_epi8, _mm512_storeu_si512);
        blocks!(halves, "avx512f,avx512bw", 2, _mm512_unpacklo_epi16, _mm512_unpackhi_epi16, _mm512_storeu_si512);
        blocks!(words, "avx512f", 4, _mm512_unpacklo_epi32, _mm512_unpackhi_epi32, _mm512_storeu_si512);
        blocks!(longs, "avx512f", 8, _mm512_unpacklo_epi64, _mm512_unpackhi_epi64, _mm512_storeu_si512);
    }

    mod two {
        use super::*;

        /// # Safety
        ///
        /// As for four parts.
        #[inline]
        #[target_feature(enable = "avx2")]
        unsafe fn read(first: *const u8, distance: isize) -> __m256i {
            // SAFETY: the caller's promise.
            unsafe {
                let part = |part: isize| _mm_loadu_si128(first.offset(part * distance).cast());
                _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(part(0)), part(1))
            }
        }

        blocks!(bytes, "avx2", 1, _mm256_unpacklo_epi8, _mm256_unpackhi_epi8, _mm256_storeu_si256);
        blocks!(halves, "avx2", 2, _mm256_unpacklo_epi16, _mm256_unpackhi_epi16, _mm256_storeu_si256);
        blocks!(words, "avx2", 4, _mm256_unpacklo_epi32, _mm256_unpackhi_epi32, _mm256_storeu_si256);
        blocks!(longs, "avx2", 8, _mm256_unpacklo_epi64, _mm256_unpackhi_epi64, _mm256_storeu_si256);
    }

    mod one {
        use super::*;

        /// # Safety
        ///
        /// As for four parts.
        #[inline]
        #[target_feature(enable = "sse2")]
        unsafe fn read(first: *const u8, _: isize) -> __m128i {
            // SAFETY: the caller's promise.
            unsafe { _mm_loadu_si128(first.cast()) }
        }

        blocks!(bytes, "sse2", 1, _mm_unpacklo_epi8, _mm_unpackhi_epi8, _mm_storeu_si128);
        blocks!(halves, "sse2", 2, _mm_unpacklo_epi16, _mm_unpackhi_epi16, _mm_storeu_si128);
        blocks!(words, "sse2", 4, _mm_unpacklo_epi32, _mm_unpackhi_epi32, _mm_storeu_si128);
        blocks!(longs, "sse2", 8, _mm_unpacklo_epi64, _mm_unpackhi_epi64, _mm_storeu_si128);
    }
}
