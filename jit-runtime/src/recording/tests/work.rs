//! The kernels of the programs: what they are, and what a lane does to storage.

use std::sync::{Arc, LazyLock};

use crate::backend::{CodeOptions, interpreter};
use crate::cache::Entry;
use crate::ir::{Access, BinaryOp, Builder, Kernel, Type};

/// The lanes of each kernel.
pub(super) const LANES: usize = 4;

/// The work of a kernel, all of whose slots have one type, or as stated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Work {
    /// `out[i] = 3 a[i] + b[i]`
    Add,
    /// `out[i] = a[i]`
    Copied,
    /// `out[i] = a[last - i]`
    Reverse,
    /// `out[last - i] = 5 a[i]`, in place.
    Put,
    /// `out[i] = 7 out[i] + 1`, in place.
    Advance,
    /// `out[i] = a[i]`, from `u32` to `u8`.
    Narrow,
    /// `out[i] = 9 a[i]`, from `u8` to `u32`.
    Widen,
}

pub(super) use Work::{Add, Advance, Copied, Narrow, Put, Reverse, Widen};

pub(super) const WORK: [Work; 7] = [Add, Copied, Reverse, Put, Advance, Narrow, Widen];

impl Work {
    pub(super) fn takes(self) -> usize {
        match self {
            Add => 2,
            Copied | Reverse | Put | Narrow | Widen => 1,
            Advance => 0,
        }
    }

    pub(super) fn is_in_place(self) -> bool {
        matches!(self, Put | Advance)
    }

    pub(super) fn from(self) -> Type {
        if self == Widen { Type::U8 } else { Type::U32 }
    }

    pub(super) fn to(self) -> Type {
        if self == Narrow { Type::U8 } else { Type::U32 }
    }

    /// Parameters are the slots that are read, then the one that is written.
    pub(super) fn kernel(self) -> Kernel {
        let mut builder = Builder::new();
        let sources: Vec<_> = (0..self.takes()).map(|_| builder.buffer(self.from(), Access::Read)).collect();
        let target = builder.buffer(self.to(), if self.is_in_place() { Access::ReadWrite } else { Access::Write });
        let number = |builder: &mut Builder, bits| builder.constant(Type::U32, bits);
        let reversed = |builder: &mut Builder| {
            let (lane, last) = (builder.lane_index(), number(builder, LANES as u64 - 1));
            builder.binary(BinaryOp::Sub, last, lane)
        };
        match self {
            Add => {
                let (a, b, three) = (builder.load(sources[0]), builder.load(sources[1]), number(&mut builder, 3));
                let sum = builder.fma(a, three, b);
                builder.store(target, sum);
            }
            Copied => {
                let value = builder.load(sources[0]);
                builder.store(target, value);
            }
            Reverse => {
                let index = reversed(&mut builder);
                let value = builder.gather(sources[0], index, None);
                builder.store(target, value);
            }
            Put => {
                let (index, value, five) = (reversed(&mut builder), builder.load(sources[0]), number(&mut builder, 5));
                let value = builder.binary(BinaryOp::Mul, value, five);
                builder.scatter(None, target, index, value, None);
            }
            Advance => {
                let (value, seven, one) = (builder.load(target), number(&mut builder, 7), number(&mut builder, 1));
                let value = builder.fma(value, seven, one);
                builder.store(target, value);
            }
            Narrow | Widen => {
                let value = builder.load(sources[0]);
                let value = builder.cast(self.to(), value);
                builder.store(target, value);
            }
        }
        builder.finish()
    }

    /// What a lane does to storage, where each slot has an address.
    pub(super) fn run(self, lane: usize, slots: &[usize], memory: &mut [Storage]) {
        let (sources, target) = (&slots[..self.takes()], slots[self.takes()]);
        let (from, to) = (self.from().size_bytes(), self.to().size_bytes());
        let read = |memory: &[Storage], at: usize, lane: usize, size: usize| {
            let bytes = memory[at][lane * size..][..size].iter().rev();
            bytes.fold(0_u32, |word, &byte| word << 8 | u32::from(byte))
        };
        let a = sources.first().map_or(0, |&at| read(memory, at, lane, from));
        let other = LANES - 1 - lane;
        let (place, value) = match self {
            Add => (lane, a.wrapping_mul(3).wrapping_add(read(memory, sources[1], lane, from))),
            Copied | Narrow => (lane, a),
            Reverse => (lane, read(memory, sources[0], other, from)),
            Put => (other, a.wrapping_mul(5)),
            Advance => (lane, read(memory, target, lane, to).wrapping_mul(7).wrapping_add(1)),
            Widen => (lane, a.wrapping_mul(9)),
        };
        memory[target][place * to..][..to].copy_from_slice(&value.to_le_bytes()[..to]);
    }
}

static ENTRIES: LazyLock<Vec<Arc<Entry>>> = LazyLock::new(|| {
    let entry = |work: Work| {
        let kernel = work.kernel();
        let executable = Box::new(interpreter::prepare(kernel.clone()));
        Arc::new(Entry::for_test(0, kernel, CodeOptions::default(), executable))
    };
    WORK.into_iter().map(entry).collect()
});

pub(super) fn entry(work: Work) -> Arc<Entry> {
    Arc::clone(&ENTRIES[work as usize])
}

pub(super) type Storage = [u8; LANES * 4];
