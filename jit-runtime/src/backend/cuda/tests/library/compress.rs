//! The positions of true elements.

use super::*;

fn check(mask: &[u64], seed: u64) {
    let mask = operand(Type::Bool, mask);
    let wanted = native::compress(&mask, config::Device::Cpu, None).unwrap();
    let mut device = Emulator::new(TARGETS[seed as usize % TARGETS.len()], seed);
    let (count, sums) = count_true(mask.len);
    let sums = operand(Type::U32, &vec![0x5a5a_5a5a; sums]);
    device.run(&count, std::slice::from_ref(&mask), std::slice::from_ref(&sums));
    let total = *values(&sums).last().expect("the number of all");
    assert_eq!(total, wanted.len as u64, "{} elements, seed {seed}", mask.len);
    let positions = operand(Type::U32, &vec![0x5a5a_5a5a; total as usize]);
    device.run(&list_true(mask.len), &[mask.clone(), sums], std::slice::from_ref(&positions));
    assert!(values(&positions) == values(&wanted), "{} elements, seed {seed}", mask.len);
}

#[test]
fn the_true_elements_of_masks_of_any_length_and_density_are_listed() {
    let mut rng = Rng::new(5);
    for (seed, len) in (0..).zip([0, 1, 3, 4, 5, 31, 1023, 1024, 1025, 8191, 8192, 8193, 30_011]) {
        for percent in [0, 3, 50, 100] {
            let mask: Vec<u64> = (0..len).map(|_| u64::from(rng.below(100) < percent)).collect();
            check(&mask, seed);
        }
    }
}
