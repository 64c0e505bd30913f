//! Listing true lanes, and sorting.

use jit::prelude::*;

use crate::{noise, on_each_device, resident};

#[test]
fn true_lanes_are_listed() {
    on_each_device(|| {
        assert_eq!(Mask::from([true, false, false, true, true]).compress().to_vec().unwrap(), [0, 3, 4]);
        assert_eq!(resident([false, false]).compress().to_vec().unwrap(), [] as [u32; 0]);
        assert_eq!(Mask::from(Vec::new()).compress().to_vec().unwrap(), [] as [u32; 0]);
        assert_eq!(Mask::full(true, 3).compress().to_vec().unwrap(), [0, 1, 2]);
    });
}

#[test]
fn true_lanes_are_listed_over_block_borders() {
    on_each_device(|| {
        for size in [1, 63, 64, 65, 4095, 4096, 4097, 100_000] {
            let random = noise(size, 5);
            for density in [0, 1, 50, 99, 100] {
                let flags: Vec<bool> = random.iter().map(|bits| bits % 100 < density).collect();
                let expected: Vec<u32> = (0..size as u32).filter(|&lane| flags[lane as usize]).collect();
                assert_eq!(Mask::from(&flags).compress().to_vec().unwrap(), expected, "{size} at {density} %");
            }
        }
    });
}
