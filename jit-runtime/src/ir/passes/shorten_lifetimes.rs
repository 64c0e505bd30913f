//! Orders long straight-line code so that fewer values are alive at once.
//!
//! A kernel has its instructions in the order of a walk that visits first operands first. If a program adds terms up as
//! `sum = term + sum`, or derives a long chain, all terms or all factors then come before the first addition: thousands
//! of values wait, which no processor's registers hold. Here the operand with the longest chain of instructions behind
//! it comes first, so that others follow when they are used (R. Sethi and J. Ullman, "The generation of optimal code
//! for arithmetic expressions", 1970, of which this is the case of long chains).
//!
//! Instructions with effects stay in their order, and shorter code as it is: it leaves the processor more that does not
//! wait for one another.

use super::rewrite::{Rewrite, Rewriter, rewrite};
use crate::ir::kernel::{Access, Inst, Kernel, Param, TOP, Value};
use crate::ir::op::Op;
use crate::ir::operands::for_each_nested_operand;

/// The number of live values from which code is ordered anew: the nearest cache holds fewer, for a few packets of
/// lanes.
const LEAST_LIVE: usize = 192;

/// Runs the pass.
pub fn run(kernel: &mut Kernel) {
    // An instruction uses up three values at most, and makes one.
    if kernel.region(TOP).insts.len() < LEAST_LIVE + LEAST_LIVE / 2 {
        return;
    }
    let live = most_live(kernel);
    if live < LEAST_LIVE {
        return;
    }
    let mut arranged = kernel.clone();
    arrange(&mut arranged, Order::of(kernel, &Uses::of(kernel)));
    if 2 * most_live(&arranged) <= live {
        *kernel = arranged;
    }
}

/// The largest number of values that are alive at once between instructions of the top region.
fn most_live(kernel: &Kernel) -> usize {
    let insts = &kernel.region(TOP).insts;
    // Those of nested regions do not live there, and are marked from the start.
    let mut is_live = vec![kernel.regions.len() > 1; kernel.types.len()];
    if kernel.regions.len() > 1 {
        insts.iter().flat_map(Inst::values).for_each(|value| is_live[value.index()] = false);
    }
    // From the end: a value lives from here on if it is used below.
    let (mut live, mut most) = (0, 0);
    for inst in insts.iter().rev() {
        let mut visit = |value: Value| {
            live += usize::from(!std::mem::replace(&mut is_live[value.index()], true));
        };
        match inst.op.has_regions() {
            true => for_each_nested_operand(kernel, &inst.op, &mut visit),
            false => inst.op.for_each_operand(visit),
        }
        most = most.max(live);
        live -= inst.values().filter(|value| is_live[value.index()]).count();
    }
    most
}

/// Brings the instructions of the top region into an order.
fn arrange(kernel: &mut Kernel, order: Vec<usize>) {
    let insts = &mut kernel.regions[TOP.index()].insts;
    *insts = order.iter().map(|&position| insts[position].clone()).collect();
    kernel.lines.arrange(TOP, &order);
    rewrite(kernel, &mut Renumber);
}

/// What the instructions of the top region use.
struct Uses {
    /// For each instruction, the positions of those whose results it uses, each once.
    operands: Vec<Vec<usize>>,
}

impl Uses {
    fn of(kernel: &Kernel) -> Uses {
        let mut definitions = vec![usize::MAX; kernel.types.len()];
        let mut operands = Vec::new();
        for (position, inst) in kernel.region(TOP).insts.iter().enumerate() {
            let mut used = Vec::new();
            for_each_nested_operand(kernel, &inst.op, &mut |value: Value| {
                let definition = definitions[value.index()];
                if definition != usize::MAX && !used.contains(&definition) {
                    used.push(definition);
                }
            });
            operands.push(used);
            inst.values().for_each(|value| definitions[value.index()] = position);
        }
        Uses { operands }
    }
}

/// An order of the instructions of the top region, under construction.
struct Order<'u> {
    uses: &'u Uses,
    /// The length of the longest chain of instructions that ends with each.
    depths: Vec<usize>,
    is_placed: Vec<bool>,
    order: Vec<usize>,
}

impl Order<'_> {
    fn of(kernel: &Kernel, uses: &Uses) -> Vec<usize> {
        let insts = &kernel.region(TOP).insts;
        let mut depths: Vec<usize> = Vec::with_capacity(insts.len());
        for operands in &uses.operands {
            depths.push(1 + operands.iter().map(|&operand| depths[operand]).max().unwrap_or(0));
        }
        let mut order = Order { uses, depths, is_placed: vec![false; insts.len()], order: Vec::new() };
        let fixed = insts.iter().enumerate().filter(|(_, inst)| !is_movable(kernel, inst));
        fixed.for_each(|(position, _)| order.place(position));
        // Without a use; other passes remove them.
        (0..insts.len()).for_each(|position| order.place(position));
        order.order
    }

    /// Places an instruction, after those that it uses. Chains are too long for recursion.
    fn place(&mut self, position: usize) {
        let mut pending = vec![position];
        while let Some(&position) = pending.last() {
            let missing = self.uses.operands[position].iter().copied().filter(|&operand| !self.is_placed[operand]);
            match missing.max_by_key(|&operand| (self.depths[operand], std::cmp::Reverse(operand))) {
                Some(operand) if !self.is_placed[position] => pending.push(operand),
                _ => {
                    if !std::mem::replace(&mut self.is_placed[position], true) {
                        self.order.push(position);
                    }
                    pending.pop();
                }
            }
        }
    }
}

/// Whether an instruction has the same results wherever it is. Kernels do not gather from what they write.
fn is_movable(kernel: &Kernel, inst: &Inst) -> bool {
    match inst.op {
        Op::Load(buffer) => matches!(kernel.param(buffer), Param::Buffer { access: Access::Read, .. }),
        Op::LocalRead { .. } | Op::LocalWrite { .. } => false,
        ref op => !op.writes_memory() && !op.has_regions(),
    }
}

/// Copies a kernel, with its values numbered in text order.
struct Renumber;

impl Rewrite for Renumber {
    fn inst(&mut self, _: &mut Rewriter<'_>, _: &Inst) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::interpreter::prepare;
    use crate::ir::random::{Case, Options};
    use crate::ir::{BinaryOp, Builder, Type, verify};

    /// A kernel that adds terms up, each computed before the sum of those before it.
    fn terms_before_sums(count: usize) -> Kernel {
        let mut builder = Builder::new();
        let [x, y] = [Access::Read, Access::Write].map(|access| builder.buffer(Type::F32, access));
        let x = builder.load(x);
        let mut terms = Vec::new();
        for term in 0..count {
            let constant = builder.constant(Type::F32, (term as f32 + 0.5).to_bits().into());
            terms.push(builder.binary(BinaryOp::Mul, x, constant));
        }
        let sum = terms.into_iter().reduce(|sum, term| builder.binary(BinaryOp::Add, term, sum)).unwrap();
        builder.store(y, sum);
        builder.finish()
    }

    #[test]
    fn terms_are_computed_when_they_are_added() {
        let mut kernel = terms_before_sums(LEAST_LIVE);
        assert_eq!(most_live(&kernel), LEAST_LIVE + 2);
        run(&mut kernel);
        verify(&kernel).unwrap();
        // The start, a sum, the term, and for a moment the next sum.
        assert_eq!(most_live(&kernel), 4);
    }

    #[test]
    fn shorter_code_keeps_its_order() {
        let kernel = terms_before_sums(LEAST_LIVE - 3);
        let mut ordered = kernel.clone();
        run(&mut ordered);
        assert!(ordered == kernel, "it has another order");
    }

    #[test]
    fn code_that_gains_little_keeps_its_order() {
        // The values are used in the order in which they were computed.
        let mut builder = Builder::new();
        let [x, y] = [Access::Read, Access::Write].map(|access| builder.buffer(Type::F32, access));
        let x = builder.load(x);
        let chain: Vec<Value> = std::iter::successors(Some(x), |&value| Some(builder.binary(BinaryOp::Mul, value, x)))
            .take(2 * LEAST_LIVE)
            .collect();
        let sum = chain.iter().copied().rev().reduce(|sum, term| builder.binary(BinaryOp::Sub, sum, term)).unwrap();
        builder.store(y, sum);
        let kernel = builder.finish();
        let mut ordered = kernel.clone();
        run(&mut ordered);
        assert!(ordered == kernel, "it has another order");
    }

    #[test]
    fn loads_of_what_is_written_stay_before_the_store() {
        let text = "kernel(p0: readwrite f32, p1: read f32, p2: write f32) {
            v0: f32 = load p0
            v1: f32 = load p1
            v2: f32 = add v1, v1
            v3: f32 = add v2, v1
            store p0, v3
            v4: f32 = add v0, v3
            store p2, v4
        }";
        let kernel = crate::ir::parse(text).unwrap();
        let order = Order::of(&kernel, &Uses::of(&kernel));
        assert_eq!(order, [0, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn random_kernels_compute_the_same_in_the_new_order() {
        let options = Options::structured();
        let mut changed = 0;
        for seed in 0..300 {
            let case = Case::new(seed, &options);
            let mut ordered = case.kernel.clone();
            arrange(&mut ordered, Order::of(&case.kernel, &Uses::of(&case.kernel)));
            verify(&ordered).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{ordered}"));
            changed += usize::from(ordered != case.kernel);
            let [expected, actual] = [&case.kernel, &ordered].map(|kernel| case.run(&prepare(kernel.clone()), None));
            case.compare(&expected, &actual).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        }
        assert!(changed > 100, "{changed} kernels have another order");
    }
}
