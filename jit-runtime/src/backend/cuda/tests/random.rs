//! Random kernels.

use super::*;
use crate::ir::random::Options;

fn run(seeds: Range<u64>, options: &Options) {
    for seed in seeds {
        let case = Case::new(seed, options);
        let target = TARGETS[(seed / 2 % 2) as usize];
        check(&case, target).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
}

#[test]
fn expressions() {
    run(0..80, &Options::expressions());
}

#[test]
fn indexed_memory() {
    run(200..260, &Options { indexed_memory: true, ..Options::expressions() });
}

#[test]
fn reductions() {
    run(300..340, &Options { reductions: true, operations: 10, ..Options::expressions() });
}

#[test]
fn loops_and_branches() {
    run(400..500, &Options::structured());
}

#[test]
#[ignore = "takes minutes"]
fn many() {
    Options::many().into_iter().for_each(|(seeds, options)| run(seeds, &options));
}
