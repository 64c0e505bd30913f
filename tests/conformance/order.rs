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

#[test]
fn elements_and_trees_are_filtered() {
    on_each_device(|| {
        let x = resident([3, -1, 4, -1, 5]);
        let mask = x.gt(0);
        assert_eq!(x.filter(&mask).to_vec().unwrap(), [3, 4, 5]);
        assert_eq!(x.filter(&Mask::from(true)).to_vec().unwrap(), [3, -1, 4, -1, 5]);
        assert_eq!(Int::from(7).filter(&mask).to_vec().unwrap(), [7, 7, 7]);
        assert_eq!(x.filter(&Mask::from(false)).len(), 0);
        let (a, b, c) = jit::trees::filter(&(x.clone(), x.cast::<f32>() * 0.5, Int::from(1)), &mask);
        assert_eq!((a.to_vec().unwrap(), b.to_vec().unwrap()), (vec![3, 4, 5], vec![1.5, 2.0, 2.5]));
        assert_eq!(c.to_vec().unwrap(), [1, 1, 1]);
        let error = Mask::placeholder(3).try_compress().unwrap_err().to_string();
        assert!(error.contains("placeholder"), "{error}");
    });
}
