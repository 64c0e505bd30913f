//! The handwritten digits in `assets/`.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use jit::prelude::*;

/// Every so many digits one is for the test.
const TEST_SHARE: usize = 5;

/// A picture of 8 × 8 pixels from 0 to 1, and the digit in it.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) pixels: [f32; 64],
    pub(crate) digit: u32,
}

/// The samples for training, and those for the test.
pub(crate) struct Digits {
    pub(crate) train: Vec<Sample>,
    pub(crate) test: Vec<Sample>,
}

impl Digits {
    /// Reads lines of 64 numbers from 0 to 16 and the digit.
    pub(crate) fn read(path: &Path) -> Result<Digits, String> {
        let failed = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
        let mut text = String::new();
        GzDecoder::new(File::open(path).map_err(failed)?).read_to_string(&mut text).map_err(failed)?;
        let samples = text.lines().enumerate().map(|(number, line)| {
            sample(line).ok_or_else(|| format!("line {} of {} is no digit: {line}", number + 1, path.display()))
        });
        let samples = samples.collect::<Result<Vec<_>, _>>()?;
        let (mut train, mut test) = (Vec::new(), Vec::new());
        for (number, sample) in samples.into_iter().enumerate() {
            if number % TEST_SHARE == 0 { test.push(sample) } else { train.push(sample) }
        }
        Ok(Digits { train, test })
    }
}

fn sample(line: &str) -> Option<Sample> {
    let numbers: Vec<u32> = line.split(',').map(|number| number.trim().parse().ok()).collect::<Option<_>>()?;
    let (&digit, pixels) = numbers.split_last()?;
    let pixels: Vec<f32> = pixels.iter().map(|&pixel| pixel as f32 / 16.0).collect();
    Some(Sample { pixels: pixels.try_into().ok()?, digit }).filter(|sample| sample.digit < 10)
}

/// Returns the pixels, `[count, 64]`, and the digits of samples.
pub(crate) fn tensors(samples: &[&Sample]) -> (Tensor<f32>, Tensor<u32>) {
    let pixels: Vec<f32> = samples.iter().flat_map(|sample| sample.pixels).collect();
    let digits: Vec<u32> = samples.iter().map(|sample| sample.digit).collect();
    (Tensor::from_array(pixels, [samples.len(), 64]), Tensor::from(digits))
}
