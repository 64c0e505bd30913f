//! Batches of samples.

use jit::nn::DataLoader;
use jit::prelude::*;

use crate::{assert_refused, on_each_device};

fn batches(loader: &DataLoader<u32>, epoch: u64) -> Vec<Vec<u32>> {
    loader.epoch(epoch, |batch| batch.iter().copied().copied().collect()).unwrap().collect()
}

fn numbers(count: u32) -> Vec<u32> {
    (100..100 + count).collect()
}

#[test]
fn samples_are_in_their_order_unless_shuffled() {
    for prefetched in [0, 1, 5] {
        let loader = DataLoader::new(numbers(7), 3).prefetched(prefetched);
        assert_eq!(batches(&loader, 0), [vec![100, 101, 102], vec![103, 104, 105], vec![106]]);
        assert_eq!(batches(&loader.clone().without_last(), 5), [vec![100, 101, 102], vec![103, 104, 105]]);
        assert_eq!((loader.len(), loader.without_last().len()), (3, 2));
    }
    let empty = DataLoader::new(Vec::<u32>::new(), 3);
    assert!(empty.is_empty() && batches(&empty, 0).is_empty());
}

#[test]
fn each_epoch_has_an_order_of_its_own_that_follows_from_the_seed() {
    on_each_device(|| {
        let loader = DataLoader::new(numbers(50), 8).shuffled(3);
        let first = batches(&loader, 0);
        let mut all: Vec<u32> = first.iter().flatten().copied().collect();
        assert_ne!(all, numbers(50));
        all.sort_unstable();
        assert_eq!(all, numbers(50), "each sample occurs once");
        assert_eq!(batches(&loader.clone().prefetched(2), 0), first);
        assert_ne!(batches(&loader, 1), first);
        assert_ne!(batches(&DataLoader::new(numbers(50), 8).shuffled(4), 0), first);
    });
}

#[test]
fn batches_that_are_not_wanted_end_the_thread() {
    let alive = std::sync::Arc::new(());
    let held = alive.clone();
    let loader = DataLoader::new(numbers(1000), 1).prefetched(2);
    let mut batches = loader.epoch(0, move |batch| (held.clone(), *batch[0])).unwrap();
    assert_eq!((batches.len(), batches.next().unwrap().1, batches.len()), (1000, 100, 999));
    drop(batches);
    assert_eq!(std::sync::Arc::strong_count(&alive), 1);
}

#[test]
fn a_panic_on_the_thread_is_one_of_the_batches() {
    let loader = DataLoader::new(numbers(4), 1).prefetched(1);
    let collate = |batch: &[&u32]| {
        assert!(*batch[0] < 102, "sample 102 is broken");
        *batch[0]
    };
    let mut batches = loader.epoch(0, collate).unwrap();
    assert_eq!((batches.next(), batches.next()), (Some(100), Some(101)));
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| batches.next())).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>().copied(), Some("sample 102 is broken"));
}

#[test]
fn tensors_made_on_the_thread_are_of_the_device_of_the_caller() {
    on_each_device(|| {
        let loader = DataLoader::new(numbers(6), 4).prefetched(1);
        let tensors = |batch: &[&u32]| Tensor::from(batch.iter().map(|x| **x).collect::<Vec<u32>>()) * 2;
        let sums: Vec<u32> =
            loader.epoch(0, tensors).unwrap().map(|x: Tensor<u32>| x.sum(..).item().unwrap()).collect();
        assert_eq!(sums, [812, 418]);
    });
    assert_refused(|| _ = DataLoader::new(numbers(6), 0), "batches of 0 samples");
}
