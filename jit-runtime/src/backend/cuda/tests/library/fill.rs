//! Fills.

use super::*;

#[test]
fn every_element_of_every_type_is_filled_and_no_other() {
    for (seed, ty) in (0..).zip(Type::ALL) {
        for len in [0, 1, 2, 3, 7, 8, 9, 63, 1025, 5000] {
            let bits = if ty == Type::Bool { 1 } else { 0x8123_4567_89ab_cdef & ty.bit_mask() };
            check_call(Call::Fill(bits), &[], &[(ty, len)], seed);
        }
    }
}

#[test]
fn bytes_behind_the_end_keep_their_value() {
    let memory = operand(Type::U8, &[7; 64]);
    let part = Operand { len: 13, ..memory.clone() };
    Emulator::new(TARGETS[0], 1).run(&Plan::of(Call::Fill(9), Type::U8, 13).unwrap(), &[], &[part]);
    let wanted = (0..64).map(|index| if index < 13 { 9 } else { 7 });
    assert!(values(&memory).into_iter().eq(wanted));
}
