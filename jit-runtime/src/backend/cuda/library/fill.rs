//! Fills memory: each thread stores words of 64 bits that are a whole grid apart, and the first ones the rest.

use super::super::Target;
use super::super::ptx::{Class, Operand};
use super::Routine;
use super::builder::Builder;
use super::plan::{Argument, Plan};
use crate::ir::Type;

pub(super) const THREADS: u32 = 256;
/// The words of each thread, roughly.
const WORDS_PER_THREAD: usize = 4;
const WORD_BYTES: usize = 8;

pub(super) fn plan(bits: u64, ty: Type, len: usize) -> Plan {
    let mut plan = Plan::default();
    add_to_plan(&mut plan, Argument::Output(0), bits, ty, len);
    plan
}

/// Adds a fill of so many elements of some memory.
pub(super) fn add_to_plan(plan: &mut Plan, target: Argument, bits: u64, ty: Type, len: usize) {
    let size = ty.size_bytes();
    let pattern = match size {
        1 => (bits & 0xff) * 0x0101_0101_0101_0101,
        2 => (bits & 0xffff) * 0x0001_0001_0001_0001,
        4 => (bits & 0xffff_ffff) * 0x0000_0001_0000_0001,
        _ => bits,
    };
    let (words, rest) = (len * size / WORD_BYTES, len * size % WORD_BYTES);
    let blocks = words.div_ceil(THREADS as usize * WORDS_PER_THREAD).max(usize::from(rest > 0));
    let arguments = vec![target, Argument::Long(pattern), Argument::Long(words as u64), Argument::Word(rest as u32)];
    plan.launch(Routine::Fill, blocks, arguments);
}

pub(super) fn body(target: Target) -> Builder {
    let mut b = Builder::new(target);
    let (target, pattern) = (b.pointer("target"), b.long_parameter("pattern"));
    let (words, rest) = (b.long_parameter("words"), b.size("rest"));
    let (thread, block, blocks) = (b.thread(), b.block(), b.special("%nctaid.x"));
    let long = |b: &mut Builder, opcode: &'static str, sources: &[Operand]| {
        let result = b.register(Class::Long);
        b.write(opcode, result, sources);
        result
    };
    let position = long(&mut b, "cvt.u64.u32", &[thread.into()]);
    let position = long(&mut b, "mad.wide.u32", &[block.into(), THREADS.into(), position.into()]);
    let stride = long(&mut b, "mul.wide.u32", &[blocks.into(), THREADS.into()]);
    b.repeat(
        |b| b.test_long("setp.lt.u64", position, words),
        |b| {
            let address = long(b, "mul.lo.u64", &[position.into(), (WORD_BYTES as u32).into()]);
            let address = long(b, "add.u64", &[address.into(), target.into()]);
            b.store_to("global", None, Type::U64, Operand::Memory(address, 0), &pattern.into());
            b.write("add.u64", position, &[position.into(), stride.into()]);
        },
    );
    rest_of_bytes(&mut b, [target, pattern, words, rest, thread, block]);
    b
}

/// The first threads store the bytes behind the last whole word.
fn rest_of_bytes(b: &mut Builder, [target, pattern, words, rest, thread, block]: [super::super::ptx::Register; 6]) {
    let (is_first, has_byte) = (b.is_equal(block, 0), b.is_less(thread, rest));
    let stores = b.both(is_first, has_byte);
    b.when(stores, |b| {
        let first = b.compute("mul.lo.u64", Class::Long, &[words.into(), (WORD_BYTES as u32).into()]);
        let first = b.compute("add.u64", Class::Long, &[first, target.into()]);
        let offset = b.compute("cvt.u64.u32", Class::Long, &[thread.into()]);
        let address = b.register(Class::Long);
        b.write("add.u64", address, &[first, offset]);
        let shift = b.mul(thread, 8);
        let byte = b.compute("shr.u64", Class::Long, &[pattern.into(), shift.into()]);
        let byte = b.compute("cvt.u32.u64", Class::Word, &[byte]);
        b.store_to("global", None, Type::U8, Operand::Memory(address, 0), &byte);
    });
}
