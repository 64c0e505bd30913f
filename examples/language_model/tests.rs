//! Learning a book, going on from a file, and writing.

use std::path::Path;

use crate::book::Book;
use crate::net::{Dimensions, Net};
use crate::training::Training;
use crate::writing::Writer;

fn alice() -> Book {
    Book::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/alice.txt.gz")).unwrap()
}

fn training(book: &Book, seed: u64) -> Training {
    let dimensions = Dimensions { width: 64, heads: 2, blocks: 1 };
    Training::new(Net::new(book.characters(), dimensions, &mut jit::random::rng(seed)), seed)
}

#[test]
fn training_learns_more_than_how_frequent_characters_are() {
    let book = alice();
    assert_eq!((book.characters(), book.train.len(), book.unseen.len()), (72, 141_054, 7_423));
    let mut training = training(&book, 1);
    let first = training.train(&book.train, 1).unwrap();
    // All characters have about the same chance at first: ln 72 = 4.28.
    assert!((4.0..5.5).contains(&first), "{first}");
    training.train(&book.train, 119).unwrap();
    // The entropy of single characters is 3.1 nats.
    let unseen = training.loss_on(&book.unseen).unwrap();
    assert!(unseen < 2.8, "{unseen}");
}

#[test]
fn a_second_run_goes_on_with_the_same_bits() {
    let book = alice();
    let path = std::env::temp_dir().join(format!("jit-language-model-{}.safetensors", std::process::id()));
    let (mut whole, mut first) = (training(&book, 1), training(&book, 1));
    first.train(&book.train, 2).unwrap();
    first.save(&path).unwrap();
    let mut second = training(&book, 2);
    second.load(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(second.steps().unwrap(), 2);
    whole.train(&book.train, 2).unwrap();
    whole.train(&book.train, 2).unwrap();
    second.train(&book.train, 2).unwrap();
    assert_eq!(second.losses(), whole.losses());
    let bytes = |training: &Training| training.checkpoint().to_safetensors().unwrap();
    assert!(bytes(&second) == bytes(&whole), "the state differs");
}

#[test]
fn a_net_that_has_learned_a_sentence_writes_it() {
    let sentence = "the cat sat on the mat. ";
    let book = Book::new(&sentence.repeat(40));
    let mut training = training(&book, 3);
    training.train(&book.train, 250).unwrap();
    let mut writer = Writer::new(training.net().clone(), &book.tokens_of("the cat").unwrap(), 1);
    let text = book.text_of(&writer.write(200).unwrap());
    let expected: String = sentence.chars().cycle().skip(7).take(200).collect();
    assert_eq!(text, expected);
}

#[test]
fn characters_that_the_book_lacks_are_named() {
    let error = Book::new("abc").tokens_of("ab?").unwrap_err();
    assert_eq!(error, "the book has no '?', which the prompt has");
}
