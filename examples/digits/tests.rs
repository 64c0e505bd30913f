//! Training to the accuracy that is promised, and going on from a file.

use std::path::Path;

use half::{bf16, f16};
use jit::FloatElement;
use jit::optim::LossScaler;

use crate::data::Digits;
use crate::nets::{Net, conv, mlp};
use crate::training::Training;

fn digits() -> Digits {
    Digits::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/digits.csv.gz")).unwrap()
}

fn accuracy<M: Net<H>, H: FloatElement>(net: M, scaler: LossScaler, epochs: usize) -> f64 {
    let digits = digits();
    assert_eq!((digits.train.len(), digits.test.len()), (1437, 360));
    let mut training = Training::new(net, scaler, 1);
    for _ in 0..epochs {
        training.train_epoch::<H>(&digits.train).unwrap();
    }
    let answers = training.answers::<H>(&digits.test).unwrap();
    let right = digits.test.iter().zip(answers).filter(|(sample, answer)| sample.digit == *answer).count();
    right as f64 / digits.test.len() as f64
}

#[test]
fn linear_layers_read_98_percent_in_each_element_type() {
    let net = || mlp(&mut jit::random::rng(1));
    let single = accuracy::<_, f32>(net(), LossScaler::with_factor(1.0), 30);
    let brief = accuracy::<_, bf16>(net(), LossScaler::with_factor(1.0), 30);
    let half = accuracy::<_, f16>(net(), LossScaler::new(), 30);
    assert!([single, brief, half].iter().all(|right| *right >= 0.98), "{single} {brief} {half}");
}

#[test]
fn convolutions_read_98_percent() {
    let right = accuracy::<_, f32>(conv(&mut jit::random::rng(1)), LossScaler::with_factor(1.0), 15);
    assert!(right >= 0.98, "{right}");
}

#[test]
fn a_second_run_goes_on_with_the_same_bits() {
    let digits = digits();
    let path = std::env::temp_dir().join(format!("jit-digits-{}.safetensors", std::process::id()));
    let make = |seed| Training::new(mlp(&mut jit::random::rng(seed)), LossScaler::new(), 1);
    let mut whole = make(1);
    let mut first = make(1);
    for _ in 0..2 {
        first.train_epoch::<f16>(&digits.train).unwrap();
    }
    first.save(&path).unwrap();
    let mut second = make(2);
    second.load(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    for _ in 0..4 {
        whole.train_epoch::<f16>(&digits.train).unwrap();
    }
    for _ in 0..2 {
        second.train_epoch::<f16>(&digits.train).unwrap();
    }
    assert_eq!(second.losses(), whole.losses());
    let bytes = |training: &Training<_>| training.checkpoint().to_safetensors().unwrap();
    assert!(bytes(&second) == bytes(&whole), "the state differs");
}
