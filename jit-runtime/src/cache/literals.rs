//! Converts literals that change often to parameters.
//!
//! A program that is recorded with a different constant each time makes kernels that differ only in the bits of a
//! literal. When a kernel is not in the cache, its skeleton (the kernel without the bits of all literals) is looked up.
//! If a kernel with this skeleton has been seen, the literals that differ between the two become scalar parameters, and
//! remain so from then on. The second kernel of a skeleton is compiled with parameters, and the third one is found.
//!
//! A literal and a parameter of the same bits have the same result, so the lookup affects time and never values.
//! Literals that do not change remain literals.

use std::collections::HashMap;

use crate::fork::Held;
use crate::sync::{Mutex, persist};
use smallvec::SmallVec;

use super::Scalars;
use super::hash::Hashing;
use crate::backend::CodeOptions;
use crate::config::Device;
use crate::ir::{Kernel, Op, Param, ParamId, Type, Value, encode};

/// A literal of a kernel: the value, its type and its bits.
pub(super) type Literal = (Value, Type, u64);

/// Each time the bound is reached, this fraction of the skeletons is removed.
const FORGOTTEN_PART: usize = 8;

/// Kernels that have been seen, without their literals.
pub(super) struct Skeletons {
    table: Mutex<Table>,
    max_entries: usize,
}

#[derive(Default)]
struct Table {
    known: HashMap<SkeletonKey, Skeleton, Hashing>,
    /// Incremented with each lookup: the age of skeletons.
    clock: u64,
}

/// A kernel without its literals, in canonical bytes, with what its code depends on.
#[derive(Clone, PartialEq, Eq, Hash)]
struct SkeletonKey {
    bytes: Box<[u8]>,
    device: Device,
    options: CodeOptions,
}

struct Skeleton {
    /// The bits of the literals when the skeleton was first seen.
    first: Box<[u64]>,
    /// Which of them have differed so far.
    varies: Box<[bool]>,
    last_used: u64,
}

/// The result of promoting a kernel's literals.
#[derive(Default)]
pub(super) struct Promoted {
    /// The literals that are now parameters, and their bits, in the order of the parameters.
    pub(super) scalars: Scalars,
    /// Those that have become parameters for the first time.
    pub(super) new: Vec<Literal>,
}

impl Skeletons {
    pub(super) fn new(max_entries: usize) -> Skeletons {
        Skeletons { table: Mutex::default(), max_entries: max_entries.max(1) }
    }

    /// Converts the literals that differ between kernels of this skeleton to scalar parameters, which are appended to
    /// the others.
    pub(super) fn promote(&self, kernel: &mut Kernel, device: Device, options: CodeOptions) -> Promoted {
        let literals = replace_literals(kernel, |_| 0);
        if literals.is_empty() {
            return Promoted::default();
        }
        let skeleton = SkeletonKey { bytes: encode::to_bytes(kernel).into(), device, options };
        if !self.is_known(&skeleton)
            && let Some(varies) = on_disk::recall(kernel, device, options)
        {
            self.insert(skeleton.clone(), &literals, varies);
        }
        let (varies, new) = self.look_up(skeleton, &literals);
        if !new.is_empty() {
            on_disk::remember(kernel, device, options, &varies);
        }
        let mut bits = literals.iter().map(|literal| literal.2);
        replace_literals(kernel, |_| bits.next().unwrap_or_default());
        let mut promoted = Promoted { scalars: SmallVec::new(), new };
        if varies.contains(&true) {
            to_parameters(kernel, &varies, &mut promoted.scalars);
        }
        promoted
    }

    fn is_known(&self, skeleton: &SkeletonKey) -> bool {
        self.table.lock().known.contains_key(skeleton)
    }

    /// Inserts what another process has found out.
    fn insert(&self, skeleton: SkeletonKey, literals: &[Literal], varies: Box<[bool]>) {
        if varies.len() == literals.len() {
            self.table.lock().insert(skeleton, literals, varies, self.max_entries);
        }
    }

    /// Which literals vary, and which of them were not known to.
    fn look_up(&self, skeleton: SkeletonKey, literals: &[Literal]) -> (Box<[bool]>, Vec<Literal>) {
        let mut table = self.table.lock();
        table.clock += 1;
        let now = table.clock;
        if let Some(known) = table.known.get_mut(&skeleton) {
            known.last_used = now;
            let mut new = Vec::new();
            for (position, literal) in literals.iter().enumerate() {
                if literal.2 != known.first[position] && !known.varies[position] {
                    known.varies[position] = true;
                    new.push(*literal);
                }
            }
            return (known.varies.clone(), new);
        }
        let varies: Box<[bool]> = vec![false; literals.len()].into();
        table.insert(skeleton, literals, varies.clone(), self.max_entries);
        (varies, Vec::new())
    }

    /// Takes the lock of the table, for a fork.
    pub(super) fn hold(&'static self, held: &mut Vec<Held>) {
        held.extend(persist(|| self.table.try_lock()).map(|guard| Box::new(guard) as Held));
    }

    pub(super) fn clear(&self) {
        *self.table.lock() = Table::default();
    }
}

impl Table {
    fn insert(&mut self, skeleton: SkeletonKey, literals: &[Literal], varies: Box<[bool]>, max_entries: usize) {
        if self.known.len() >= max_entries {
            self.forget_oldest();
        }
        let first = literals.iter().map(|literal| literal.2).collect();
        self.known.insert(skeleton, Skeleton { first, varies, last_used: self.clock });
    }

    fn forget_oldest(&mut self) {
        let mut ages: Vec<u64> = self.known.values().map(|skeleton| skeleton.last_used).collect();
        let count = (ages.len() / FORGOTTEN_PART).clamp(1, ages.len());
        let (_, &mut last_forgotten, _) = ages.select_nth_unstable(count - 1);
        self.known.retain(|_, skeleton| skeleton.last_used > last_forgotten);
    }
}

/// What other processes have found out: so this one compiles no kernel with literals that are known to change.
#[cfg(loads_code)]
mod on_disk {
    use super::{CodeOptions, Device, Kernel};
    use crate::backend::is_code_stored;
    use crate::cache::disk;

    pub(super) fn recall(skeleton: &Kernel, device: Device, options: CodeOptions) -> Option<Box<[bool]>> {
        disk::get().filter(|_| is_code_stored(device))?.literals(skeleton, options)
    }

    pub(super) fn remember(skeleton: &Kernel, device: Device, options: CodeOptions, varies: &[bool]) {
        if let Some(disk) = disk::get().filter(|_| is_code_stored(device)) {
            disk.remember_literals(skeleton, options, varies);
        }
    }
}

#[cfg(not(loads_code))]
mod on_disk {
    use super::{CodeOptions, Device, Kernel};

    pub(super) fn recall(_: &Kernel, _: Device, _: CodeOptions) -> Option<Box<[bool]>> {
        None
    }

    pub(super) fn remember(_: &Kernel, _: Device, _: CodeOptions, _: &[bool]) {}
}

/// Replaces the bits of each literal of a kernel; returns the previous ones, in order.
fn replace_literals(kernel: &mut Kernel, mut bits: impl FnMut(u64) -> u64) -> Vec<Literal> {
    let mut before = Vec::new();
    for inst in kernel.regions.iter_mut().flat_map(|region| &mut region.insts) {
        if let Op::Const(ty, old) = &mut inst.op {
            before.push((inst.first, *ty, *old));
            *old = bits(*old);
        }
    }
    before
}

/// Replaces the marked literals by scalar parameters.
fn to_parameters(kernel: &mut Kernel, varies: &[bool], scalars: &mut Scalars) {
    let mut varies = varies.iter();
    for inst in kernel.regions.iter_mut().flat_map(|region| &mut region.insts) {
        let Op::Const(ty, bits) = inst.op else { continue };
        if varies.next() == Some(&true) {
            inst.op = Op::Scalar(ParamId(kernel.params.len() as u32));
            kernel.params.push(Param::Scalar { ty });
            scalars.push((inst.first, bits));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Access, BinaryOp, Builder};

    /// `load * a + b`
    fn kernel(a: u64, b: u64) -> Kernel {
        let mut builder = Builder::new();
        let (input, output) = (builder.buffer(Type::U64, Access::Read), builder.buffer(Type::U64, Access::Write));
        let x = builder.load(input);
        let a = builder.constant(Type::U64, a);
        let product = builder.binary(BinaryOp::Mul, x, a);
        let b = builder.constant(Type::U64, b);
        let sum = builder.binary(BinaryOp::Add, product, b);
        builder.store(output, sum);
        builder.finish()
    }

    fn promote(skeletons: &Skeletons, a: u64, b: u64) -> (Kernel, Vec<u64>, usize) {
        let mut kernel = kernel(a, b);
        let promoted = skeletons.promote(&mut kernel, Device::Interpreter, CodeOptions::default());
        crate::ir::verify(&kernel).unwrap();
        (kernel, promoted.scalars.iter().map(|(_, bits)| *bits).collect(), promoted.new.len())
    }

    #[test]
    fn literals_that_differ_become_parameters_and_remain_so() {
        let skeletons = Skeletons::new(100);
        assert_eq!(promote(&skeletons, 3, 7), (kernel(3, 7), vec![], 0));
        let (first, scalars, new) = promote(&skeletons, 3, 8);
        assert_eq!((scalars, new), (vec![8], 1));
        assert_eq!(first.params.len(), 3);
        assert_eq!(promote(&skeletons, 3, 9), (first.clone(), vec![9], 0));
        assert_eq!(promote(&skeletons, 3, 7), (first, vec![7], 0));
        let (both, scalars, new) = promote(&skeletons, 4, 9);
        assert_eq!((both.params.len(), scalars, new), (4, vec![4, 9], 1));
    }

    #[test]
    fn other_programs_are_distinguished() {
        let skeletons = Skeletons::new(100);
        promote(&skeletons, 1, 2);
        let mut builder = Builder::new();
        let output = builder.buffer(Type::U64, Access::Write);
        let value = builder.constant(Type::U64, 9);
        builder.store(output, value);
        let mut other = builder.finish();
        assert!(skeletons.promote(&mut other, Device::Interpreter, CodeOptions::default()).scalars.is_empty());
        let mut elsewhere = kernel(5, 6);
        assert!(skeletons.promote(&mut elsewhere, Device::Cpu, CodeOptions::default()).scalars.is_empty());
    }

    #[test]
    fn the_most_recently_used_kernel_is_not_evicted() {
        let skeletons = Skeletons::new(16);
        let literals = |bits: u64| [(Value(0), Type::U8, bits)];
        let (device, options) = (Device::Interpreter, CodeOptions::default());
        let key = |number: u8| SkeletonKey { bytes: [number].into(), device, options };
        (0..16).for_each(|number| _ = skeletons.look_up(key(number), &literals(1)));
        skeletons.look_up(key(0), &literals(1));
        skeletons.look_up(key(99), &literals(1));
        let known = |number: u8| skeletons.is_known(&key(number));
        assert_eq!([0, 1, 2, 3, 15, 99].map(known), [true, false, false, true, true, true]);
    }

    #[test]
    fn a_bounded_number_of_skeletons_is_known() {
        let skeletons = Skeletons::new(16);
        for count in 0..100 {
            let mut builder = Builder::new();
            for _ in 0..=count {
                builder.constant(Type::U8, 1);
            }
            let mut kernel = builder.finish();
            skeletons.promote(&mut kernel, Device::Interpreter, CodeOptions::default());
            assert!(skeletons.table.lock().known.len() <= 16);
        }
        skeletons.clear();
        assert_eq!(skeletons.table.lock().known.len(), 0);
    }
}
