//! Reading contents where there are none yet: an error that names what is recorded, and where that began.

use std::cell::{Cell, RefCell};
use std::panic::AssertUnwindSafe;

use jit::nn::Module;
use jit::prelude::*;

use crate::{message_of, on_each_device};

/// The ways to read an array. Each returns its error.
const READS: [fn(&Float) -> Option<String>; 6] = [
    |x| x.to_vec().err().map(|error| error.to_string()),
    |x| x.get(0).err().map(|error| error.to_string()),
    |x| x.view().err().map(|error| error.to_string()),
    |x| x.read_into(&mut [0.0; 3]).err().map(|error| error.to_string()),
    |x| x.to_bytes().err().map(|error| error.to_string()),
    |x| Vec::try_from(x).err().map(|error| error.to_string()),
];

thread_local! {
    static READ: Cell<usize> = const { Cell::new(0) };
    static FOUND: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Reads a value in the way that is tested.
fn read(x: &Float) {
    let found = READS[READ.get()](x);
    FOUND.with_borrow_mut(|place| *place = found);
}

#[jit]
fn in_loop(x: &Float) -> Float {
    let mut y = x.clone();
    while y < 10.0 {
        y += 4.0;
        read(&y);
    }
    y
}

#[jit]
fn in_branch(x: &Float) -> Float {
    let mut y = x.clone();
    if y < 10.0 {
        y += 4.0;
        read(&y);
    }
    y
}

#[jit]
fn compiled(x: &Float) -> Float {
    let y = x + 1.0;
    read(&y);
    y
}

#[freeze]
fn frozen(x: &Float) -> Float {
    let y = x + 1.0;
    read(&y);
    y
}

#[derive(Clone, Traverse)]
struct Reads;

impl Module<Float> for Reads {
    type Output = Float;

    fn forward(&mut self, x: &Float) -> Float {
        let y = x + 1.0;
        read(&y);
        y
    }
}

/// The message of a program that reads, as an error of the read or as a panic of what was recorded.
fn text_of(read: usize, program: impl FnOnce()) -> String {
    READ.set(read);
    FOUND.set(None);
    let panic = std::panic::catch_unwind(AssertUnwindSafe(program));
    let of_panic = || message_of(|| std::panic::resume_unwind(panic.unwrap_err()));
    FOUND.take().unwrap_or_else(of_panic)
}

// rows: O55
#[test]
fn reading_without_contents_names_what_is_recorded_and_where_it_began() {
    crate::frozen_only!();
    on_each_device(|| {
        let x = Float::from([1.0, 2.0, 3.0]).make_opaque();
        for way in 0..READS.len() {
            let here = "tests/freeze/states.rs:";
            let cases: [(&str, &dyn Fn()); 5] = [
                ("inside of a traced `if` or `while`", &|| drop(in_loop(&x))),
                ("inside of a traced `if` or `while`", &|| drop(in_branch(&x))),
                ("a function that is compiled", &|| drop(compiled::compile(&x))),
                ("a `#[freeze]` function", &|| drop(frozen(&x))),
                ("a traced module", &|| drop(jit::trace(Reads, &x))),
            ];
            for (state, program) in cases {
                let text = text_of(way, program);
                assert!(text.contains(state), "{way}, {state}: {text}");
                assert!(text.contains(here), "where it began: {way}, {state}: {text}");
            }
            // Nothing remains of it.
            assert_eq!((&x + 1.0).to_vec().unwrap(), [2.0, 3.0, 4.0]);
        }
        assert_eq!(frozen::stats().cached, 0);
    });
}
