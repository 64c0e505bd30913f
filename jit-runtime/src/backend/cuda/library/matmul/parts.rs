//! Adds the parts of long sums in ascending order, each thread those of one. Those of halves are rounded once, at the
//! end.

use super::super::super::Target;
use super::super::super::ptx::Class;
use super::super::builder::Builder;
use super::super::element::combined_type;
use crate::ir::Type;

pub(super) const THREADS: u32 = 64;

pub(super) fn add(ty: Type, target: Target) -> Builder {
    let mut b = Builder::new(target);
    let (sums, output) = (b.pointer("sums"), b.pointer("output"));
    let (len, parts) = (b.size("len"), b.size("parts"));
    let (thread, block, wide) = (b.thread(), b.block(), combined_type(ty));
    let size = wide.size_bytes() as u32;
    let index = b.mad(block, THREADS, thread);
    let exists = b.is_less(index, len);
    b.when(exists, |b| {
        let first = b.at(sums, index, size);
        let sum = b.load_whole("global.nc", wide, first, 0);
        b.count(1, parts, 1, |b, part| {
            let place = b.mad(part, len, index);
            let address = b.at(sums, place, size);
            let more = b.load_whole("global.nc", wide, address, 0);
            let opcode = if Class::of(wide) == Class::Double { "add.rn.f64" } else { "add.rn.f32" };
            b.write(opcode, sum, &[sum.into(), more.into()]);
        });
        let address = b.at(output, index, ty.size_bytes() as u32);
        b.store_element("global", ty, address, sum);
    });
    b
}
