//! Runs the fuzz targets on inputs that are the same in every run: those of the corpus, and random variations of them.

use std::path::Path;

use jit_runtime::ir::{encode, parse};

use crate::fuzz::Dice;
use crate::fuzz_targets::TARGETS;

/// The stored inputs of a target: those that found errors, and those that others are derived from.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut inputs: Vec<Vec<u8>> = paths.iter().map(|path| std::fs::read(path).unwrap()).collect();
    if name == "ir_decoder" {
        inputs.extend(corpus("ir_parser").iter().filter_map(|text| encoded(text)));
    }
    inputs
}

/// The bytes of the kernel in a text.
fn encoded(text: &[u8]) -> Option<Vec<u8>> {
    let kernel = parse(std::str::from_utf8(text).ok()?).ok()?;
    Some(encode::to_bytes(&kernel))
}

/// An input derived from others: bytes changed, removed, doubled, or the start of one and the end of another.
fn changed(dice: &mut Dice, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut data = corpus[dice.roll(corpus.len())].clone();
    for _ in 0..1 + dice.roll(4) {
        let at = dice.roll(data.len() + 1);
        let end = (at + dice.roll(12)).min(data.len());
        match dice.roll(6) {
            0 => drop(data.drain(at..end)),
            1 => data.splice(at..at, data[at..end].to_vec()).for_each(drop),
            2 => data.insert(at, dice.roll(256) as u8),
            3 => {
                let other = &corpus[dice.roll(corpus.len())];
                data.truncate(at);
                data.extend(&other[dice.roll(other.len() + 1)..]);
            }
            _ if at < data.len() => data[at] = [dice.roll(256) as u8, data[at] ^ 1 << dice.roll(8)][dice.roll(2)],
            _ => data.truncate(at),
        }
    }
    data
}

/// Runs all targets on their corpus, and on a multiple of the number of inputs that each runs in a short time.
fn run(times: usize, seed: u64) {
    let counts = [
        ("ir_parser", 400),
        ("ir_decoder", 400),
        ("kernels", 6),
        ("recordings", 6),
        ("environment", 400),
        ("saved_recordings", 200),
    ];
    for (name, target) in TARGETS {
        let corpus = corpus(name);
        assert!(!corpus.is_empty(), "fuzz/corpus/{name} has an initial input");
        let count = counts.iter().find(|(counted, _)| counted == name).map_or(0, |(_, count)| count * times);
        let mut dice = Dice(seed);
        let made = (0..count).map(|_| changed(&mut dice, &corpus));
        for data in corpus.iter().cloned().chain(made) {
            let outcome = std::panic::catch_unwind(|| target(&data));
            assert!(
                outcome.is_ok(),
                "the target {name} fails; add this as a file to fuzz/corpus/{name}: {}",
                data.escape_ascii()
            );
        }
    }
}

#[test]
fn fuzz_targets_take_what_chance_makes() {
    run(1, 1);
}

#[test]
#[ignore = "takes minutes; `.ci/nightly` runs it"]
fn fuzz_targets_take_much_of_what_chance_makes() {
    let seed = std::env::var("FUZZ_SEED").ok().map_or(2, |seed| seed.parse().expect("FUZZ_SEED takes a number"));
    println!("FUZZ_SEED={seed}");
    run(250, seed);
}
