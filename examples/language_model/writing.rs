//! Writing: the network's scores are the chances of the next character, which is appended, and so on.

use jit::nn::Module;
use jit::prelude::*;
use jit::random::Generator;

use crate::net::{CONTEXT, Net};

/// Scores are divided by this, so that likely characters become likelier.
const TEMPERATURE: f32 = 0.7;

/// A text that is being written.
#[derive(Clone, Traverse)]
pub(crate) struct Writer {
    net: Net,
    /// The end of the text, `[CONTEXT]`; a short text begins it.
    text: UInt,
    /// How much of it is text.
    length: UInt,
    rng: Generator,
}

/// Writes a character; returns its number.
#[freeze]
fn write_one(writer: &mut Writer) -> UInt {
    let scores = writer.net.forward(&Tensor::from(writer.text.clone()).expand_dims(0));
    let scores = scores.slice(s![0, &writer.length - 1]);
    // The largest of scores with such noise is each character as often as the scores say (E. J. Gumbel, 1954).
    let noise = -writer.rng.exponential::<f32>(1.0, scores.width()).ln();
    let token = (scores.array() / TEMPERATURE + noise).argmax();
    let is_full = writer.length.eq(CONTEXT as u32);
    let place = UInt::arange(CONTEXT);
    let moved = writer.text.gather(&(&place + is_full.cast::<u32>()));
    writer.length = (&writer.length + 1).min(CONTEXT as u32);
    writer.text = place.eq(&writer.length - 1).select(&token, moved);
    token
}

impl Writer {
    /// Starts with a text that has at least one character.
    pub(crate) fn new(net: Net, prompt: &[u32], seed: u64) -> Writer {
        let mut text = prompt[prompt.len().saturating_sub(CONTEXT)..].to_vec();
        let length = UInt::from(text.len() as u32);
        text.resize(CONTEXT, 0);
        Writer { net, text: text.into(), length, rng: jit::random::rng(seed) }
    }

    /// Writes so many characters.
    pub(crate) fn write(&mut self, count: usize) -> jit::Result<Vec<u32>> {
        let tokens: Vec<UInt> = (0..count).map(|_| write_one(self)).collect();
        tokens.iter().map(UInt::item).collect()
    }
}
