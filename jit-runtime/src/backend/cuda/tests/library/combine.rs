//! The combination of the parts of reductions.

use super::*;

fn check(op: ReduceOp, ty: Type, parts: usize, parts_per_result: usize, seed: u64) {
    let mut rng = Rng::new(seed);
    let values: Vec<u64> = (0..parts).map(|_| prefix::number(&mut rng, ty, parts)).collect();
    let results: Vec<u64> =
        values.chunks(parts_per_result).map(|parts| scalar::reduce_in_pairs(op, ty, &mut parts.to_vec())).collect();
    let (memory, output) = (operand(ty, &values), operand(ty, &vec![0; results.len()]));
    let plan = Plan::combine(op, ty, parts, parts_per_result);
    Emulator::new(TARGETS[seed as usize % 2], seed).run(&plan, &[], &[memory, output.clone()]);
    assert_eq!(super::values(&output), super::values(&operand(ty, &results)), "{op:?} of {ty}, {parts} parts");
}

#[test]
fn parts_of_every_type_are_combined_in_pairs_of_neighbours() {
    let mut seed = 0;
    for (op, ty) in prefix::operations() {
        for (parts, parts_per_result) in [(1, 1), (2, 2), (37, 37), (40, 9), (700, 700)] {
            seed += 1;
            check(op, ty, parts, parts_per_result, seed);
        }
    }
}
