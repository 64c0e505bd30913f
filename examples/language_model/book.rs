//! The book in `assets/`, as numbers of characters.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use jit::prelude::*;

/// Of so many parts of the book the last one is kept from training.
const PARTS: usize = 20;

/// A text whose characters are numbered.
pub(crate) struct Book {
    /// The different characters, in their order.
    alphabet: Vec<char>,
    /// The part for training.
    pub(crate) train: UInt,
    /// The part that is not trained on.
    pub(crate) unseen: UInt,
}

impl Book {
    /// Reads a compressed text.
    pub(crate) fn read(path: &Path) -> Result<Book, String> {
        let failed = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
        let mut text = String::new();
        GzDecoder::new(File::open(path).map_err(failed)?).read_to_string(&mut text).map_err(failed)?;
        Ok(Book::new(&text))
    }

    /// Numbers the characters of a text.
    pub(crate) fn new(text: &str) -> Book {
        let mut alphabet: Vec<char> = text.chars().collect();
        alphabet.sort_unstable();
        alphabet.dedup();
        let number = |character| alphabet.binary_search(&character).map_or(0, |number| number as u32);
        let tokens: Vec<u32> = text.chars().map(number).collect();
        let (train, unseen) = tokens.split_at(tokens.len() - tokens.len() / PARTS);
        Book { train: UInt::from(train), unseen: UInt::from(unseen), alphabet }
    }

    /// Returns the number of different characters.
    pub(crate) fn characters(&self) -> usize {
        self.alphabet.len()
    }

    /// Returns the numbers of the characters of a text.
    pub(crate) fn tokens_of(&self, text: &str) -> Result<Vec<u32>, String> {
        let number = |character| {
            let number = self.alphabet.binary_search(&character);
            number
                .map(|number| number as u32)
                .map_err(|_| format!("the book has no {character:?}, which the prompt has"))
        };
        text.chars().map(number).collect()
    }

    /// Returns the text of numbers.
    pub(crate) fn text_of(&self, tokens: &[u32]) -> String {
        tokens.iter().filter_map(|token| self.alphabet.get(*token as usize)).collect()
    }
}
