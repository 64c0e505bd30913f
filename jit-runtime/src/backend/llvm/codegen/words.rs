//! 64-bit words computed by generated code, for the intervals of [`crate::backend::llvm::interval`].

use inkwell::llvm_sys::LLVMIntPredicate::LLVMIntSLE;

use crate::backend::llvm::emit::{Emitter, Raw};
use crate::backend::llvm::interval::Machine;

/// The machine that emits instructions.
pub(super) struct Words<'e>(pub(super) &'e Emitter);

impl Words<'_> {
    fn extreme(&self, name: &'static str, a: Raw, b: Raw) -> Raw {
        self.0.intrinsic(name, &[self.0.int(64)], &[a, b])
    }
}

impl Machine for Words<'_> {
    type Word = Raw;
    type Flag = Raw;

    fn number(&self, number: i64) -> Raw {
        self.0.i64(number as u64)
    }

    fn add(&self, a: Raw, b: Raw) -> Raw {
        self.0.add(a, b)
    }

    fn sub(&self, a: Raw, b: Raw) -> Raw {
        self.0.sub(a, b)
    }

    fn mul(&self, a: Raw, b: Raw) -> Raw {
        self.0.mul(a, b)
    }

    fn min(&self, a: Raw, b: Raw) -> Raw {
        self.extreme("llvm.smin", a, b)
    }

    fn max(&self, a: Raw, b: Raw) -> Raw {
        self.extreme("llvm.smax", a, b)
    }

    fn div(&self, a: Raw, divisor: i64) -> Raw {
        self.0.sdiv(a, self.number(divisor))
    }

    fn shr(&self, a: Raw, count: u32) -> Raw {
        self.0.ashr(a, self.0.i64(count.into()))
    }

    fn ones(&self, a: Raw) -> Raw {
        let word = self.0.int(64);
        let is_zero_known = self.0.int_const(1, 0);
        let zeros = self.0.intrinsic("llvm.ctlz", &[word], &[self.0.or(a, self.number(1)), is_zero_known]);
        self.0.lshr(self.0.all_ones(word), zeros)
    }

    fn le(&self, a: Raw, b: Raw) -> Raw {
        self.0.icmp(LLVMIntSLE, a, b)
    }

    fn both(&self, a: Raw, b: Raw) -> Raw {
        self.0.and(a, b)
    }

    fn select(&self, flag: Raw, a: Raw, b: Raw) -> Raw {
        self.0.select(flag, a, b)
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use inkwell::AddressSpace;
    use inkwell::OptimizationLevel;
    use inkwell::context::Context;
    use inkwell::targets::FileType;
    use inkwell::values::AsValueRef;

    use super::*;
    use crate::backend::llvm::bound::{Bound, Leaf};
    use crate::backend::llvm::interval::{Folded, Folding, Host, Integer, Interval};
    use crate::backend::loader::{ENTRY, LoadedObject};
    use crate::backend::target::Target;
    use crate::ir::random::Rng;
    use crate::ir::{Type, Value};

    /// Values that all lanes share, and the last lane.
    const LEAVES: usize = 4;

    fn position(leaf: Leaf) -> usize {
        match leaf {
            Leaf::LastLane => 0,
            Leaf::Shared(value) => 1 + value.index(),
        }
    }

    fn any_type(rng: &mut Rng) -> Integer {
        Integer::of(rng.choose(&[Type::I8, Type::U8, Type::I32, Type::U32, Type::I64, Type::U64]))
    }

    fn any_bound(rng: &mut Rng, depth: usize) -> Bound {
        let ty = any_type(rng);
        let of = |rng: &mut Rng| Rc::new(any_bound(rng, depth - 1));
        match if depth == 0 { rng.below(4) } else { 3 + rng.below(14) } {
            0 => Bound::Lanes,
            1 => Bound::Shared(Value(rng.below(LEAVES - 1) as u32)),
            2 => {
                let number = rng.value(Type::I64) as i64;
                Bound::Numbers(number, number.saturating_add(rng.below(9) as i64))
            }
            3 => Bound::Numbers(ty.least(), ty.most()),
            4 => Bound::Sum(ty, of(rng), of(rng)),
            5 => Bound::Difference(ty, of(rng), of(rng)),
            6 => Bound::Product(ty, of(rng), of(rng)),
            7 => Bound::Quotient(ty, of(rng), 1 + rng.below(1000) as i64),
            8 => Bound::ShiftedRight(ty, of(rng), rng.below(64) as u32),
            9 => Bound::Remainder(ty, of(rng), of(rng)),
            10 => Bound::Conjunction(ty, of(rng), of(rng)),
            11 => Bound::Disjunction(ty, of(rng), of(rng)),
            12 => Bound::Minimum(of(rng), of(rng)),
            13 => Bound::Maximum(of(rng), of(rng)),
            14 => Bound::Either(of(rng), of(rng)),
            15 => Bound::Converted(ty, any_type(rng), of(rng)),
            _ => Bound::Counter(ty, of(rng), of(rng)),
        }
    }

    /// Compiles a function that computes intervals from words at its third parameter, and writes their ends to its
    /// fourth one.
    fn compiled(bounds: &[Bound], target: &Target) -> LoadedObject {
        let context = Context::create();
        let module = context.create_module("bounds");
        let machine = target.machine(OptimizationLevel::None).unwrap();
        module.set_triple(&machine.get_triple());
        module.set_data_layout(&machine.get_target_data().get_data_layout());
        let (word, pointer) = (context.i64_type(), context.ptr_type(AddressSpace::default()));
        let signature = context.void_type().fn_type(&[word.into(), word.into(), pointer.into(), pointer.into()], false);
        let function = module.add_function(&format!("{ENTRY}1_0"), signature, None);
        let emit = Emitter::new(context.raw(), module.as_mut_ptr(), function.as_value_ref());
        emit.position_at_end(emit.new_block("entry"));
        let at = |base, position: usize| emit.address(emit.int(64), base, emit.i64(position as u64));
        let leaf = |leaf| Folded::Computed(emit.load(emit.int(64), at(emit.parameter(2), position(leaf)), 8));
        let words = Folding(Words(&emit));
        for (position, bound) in bounds.iter().enumerate() {
            let Interval { least, most } = bound.interval(&words, &leaf);
            emit.store(words.word(least), at(emit.parameter(3), 2 * position), 8);
            emit.store(words.word(most), at(emit.parameter(3), 2 * position + 1), 8);
        }
        emit.ret();
        drop(emit);
        module.verify().unwrap();
        let object = machine.write_to_memory_buffer(&module, FileType::Object).unwrap();
        LoadedObject::load(object.as_slice()).unwrap()
    }

    #[test]
    fn generated_code_computes_the_intervals_that_the_host_does() {
        let Ok(target) = crate::backend::llvm::available().and_then(|_| Target::host()) else { return };
        let mut rng = Rng::new(5);
        let bounds: Vec<Bound> = (0..300).map(|position| any_bound(&mut rng, position % 4)).collect();
        let object = compiled(&bounds, target);
        // SAFETY: the function was just compiled with this signature.
        let function =
            unsafe { std::mem::transmute::<usize, extern "C" fn(u64, u64, *const i64, *mut i64)>(object.entry()) };
        for _ in 0..500 {
            let leaves: [i64; LEAVES] = std::array::from_fn(|_| rng.value(Type::I64) as i64);
            let mut found = vec![0; 2 * bounds.len()];
            function(0, 0, leaves.as_ptr(), found.as_mut_ptr());
            for (bound, found) in bounds.iter().zip(found.chunks(2)) {
                let expected = bound.interval(&Host, &|leaf| leaves[position(leaf)]);
                assert_eq!([expected.least, expected.most], *found, "{bound:?} of {leaves:?}");
            }
        }
    }
}
