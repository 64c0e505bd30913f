//! Wrong manual implementations of `Traverse` cause a panic that reports it, and never an array of a wrong type.

#![allow(clippy::type_complexity, reason = "a list of names and functions")]

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use jit::prelude::*;
use jit::{Leaf, LocalEntry, Visitor, VisitorMut, trees};

use crate::message_of;

/// In which way an implementation is wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mistake {
    /// `traverse_mut` names the fields in another order.
    Order,
    /// Only the first field is lent.
    Fewer,
    /// The first field is lent twice.
    Twice,
    /// Only the second field is shown.
    ShowsOne,
    /// The order changes with each walk.
    Changing,
    /// The first field is shown as often as the value has been walked.
    Growing,
    /// Every second walk shows the fields in another order, and every third one shows none.
    Erratic,
    /// Shows another array than it has.
    Foreign,
    /// Shows per-lane local memory instead of an array.
    Memory,
    /// `traverse_mut` lends nothing.
    Nothing,
}

const MISTAKES: [Mistake; 10] = [
    Mistake::Order,
    Mistake::Fewer,
    Mistake::Twice,
    Mistake::ShowsOne,
    Mistake::Changing,
    Mistake::Growing,
    Mistake::Erratic,
    Mistake::Foreign,
    Mistake::Memory,
    Mistake::Nothing,
];

thread_local! {
    static MISTAKE: Cell<Mistake> = const { Cell::new(Mistake::Order) };
    static WALKS: Cell<u32> = const { Cell::new(0) };
}

#[derive(Clone, Default)]
struct Wrong {
    bytes: UInt8,
    wide: Float64,
}

impl Wrong {
    fn new() -> Wrong {
        Wrong { bytes: UInt8::from([1, 2, 3, 4]), wide: Float64::from([0.5, 1.5, 2.5, 3.5]) }
    }

    /// In any case, elements have their types, and their number is right.
    fn check(&self) {
        assert_eq!(self.bytes.var().ty(), <u8 as jit::Element>::TYPE);
        assert_eq!(self.wide.var().ty(), <f64 as jit::Element>::TYPE);
        if let (Ok(bytes), Ok(wide)) = ((&self.bytes + 1).to_vec(), (&self.wide * 2.0).to_vec()) {
            assert_eq!((bytes.len(), wide.len()), (self.bytes.len(), self.wide.len()));
        }
    }
}

impl Traverse for Wrong {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        let walks = WALKS.replace(WALKS.get() + 1);
        match MISTAKE.get() {
            Mistake::ShowsOne => self.wide.traverse(visitor),
            Mistake::Changing if walks % 2 == 1 => {
                self.wide.traverse(visitor);
                self.bytes.traverse(visitor);
            }
            Mistake::Growing => {
                (0..walks % 4).for_each(|_| self.bytes.traverse(visitor));
                self.wide.traverse(visitor);
            }
            Mistake::Erratic if walks % 3 == 2 => {}
            Mistake::Erratic if walks % 2 == 1 => {
                self.wide.traverse(visitor);
                self.bytes.traverse(visitor);
            }
            Mistake::Foreign => {
                visitor.field("bytes", &Float::from([0.25, 0.5, 0.75, 1.0]));
                visitor.field("wide", &UInt16::arange(4));
            }
            Mistake::Memory => {
                visitor.field("bytes", &Local::<u8>::new(3));
                visitor.field("wide", &self.wide);
            }
            _ => {
                visitor.field("bytes", &self.bytes);
                visitor.field("wide", &self.wide);
            }
        }
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        match MISTAKE.get() {
            Mistake::Order => {
                visitor.field("wide", &mut self.wide);
                visitor.field("bytes", &mut self.bytes);
            }
            Mistake::Fewer => visitor.field("bytes", &mut self.bytes),
            Mistake::Twice => {
                visitor.field("bytes", &mut self.bytes);
                visitor.field("bytes", &mut self.bytes);
                visitor.field("wide", &mut self.wide);
            }
            Mistake::Nothing => {}
            _ => {
                visitor.field("bytes", &mut self.bytes);
                visitor.field("wide", &mut self.wide);
            }
        }
    }
}

impl LocalEntry for Wrong {
    type Value = Wrong;
}

#[jit]
fn branch(value: &mut Wrong, x: &Float) -> Wrong {
    if *x > 0.5 {
        value.bytes += 1;
        value.wide *= 2.0;
    }
    if *x > 1.5 { value.clone() } else { Wrong::new() }
}

#[jit]
fn whole(value: &mut Wrong, x: &Float) {
    if *x > 0.5 {
        *value = Wrong { bytes: &value.bytes + 1, wide: value.wide.sqrt() };
    } else {
        changed(value);
    }
}

fn changed(value: &mut Wrong) {
    value.bytes += 3;
    value.wide += 1.0;
}

#[jit]
fn repeat(value: &mut Wrong, x: &Float) {
    let mut count = x.clone();
    while count < 3.0 {
        changed(value);
        count += 1.0;
    }
}

#[jit]
fn repeat_evaluated(value: &mut Wrong, x: &Float) {
    let mut count = x.clone();
    #[evaluated]
    while count < 3.0 {
        changed(value);
        count += 1.0;
    }
}

#[jit]
fn left(value: &mut Wrong, x: &Float) -> Wrong {
    let mut count = x.clone();
    loop {
        if count > 2.0 {
            break value.clone();
        }
        changed(value);
        count += 1.0;
    }
}

#[jit(dispatch)]
trait Make {
    /// Makes one.
    fn make(&self, value: &mut Wrong) -> Wrong;
}

#[derive(Traverse)]
struct First(UInt8);

#[derive(Traverse)]
struct Second(Float64);

#[jit]
impl Make for First {
    fn make(&self, value: &mut Wrong) -> Wrong {
        value.bytes += &self.0;
        Wrong { bytes: self.0.clone(), wide: value.wide.clone() }
    }
}

#[jit]
impl Make for Second {
    fn make(&self, value: &mut Wrong) -> Wrong {
        value.wide += &self.0;
        Wrong { bytes: value.bytes.clone(), wide: self.0.clone() }
    }
}

fn dispatch(value: &mut Wrong) -> Wrong {
    let mut set = Instances::<dyn Make>::new();
    let first = set.push(Box::new(First(UInt8::from(7))));
    let second = set.push(Box::new(Second(Float64::from(0.25))));
    set.at(&UInt::from([first, second, first, second])).make(value)
}

#[freeze]
fn frozen(value: &mut Wrong, x: &Float64) -> Wrong {
    value.wide += x;
    value.bytes += 1;
    value.clone()
}

#[freeze]
fn frozen_host(x: &Float64) -> Float64 {
    let made = jit::freeze::host(Wrong::new);
    made.wide + x
}

/// Uses of values that consist of arrays.
fn constructs() -> Vec<(&'static str, fn(&mut Wrong))> {
    vec![
        ("an `if`", |value| branch(value, &Float::arange(4)).check()),
        ("an `if` of the whole", |value| whole(value, &Float::arange(4))),
        ("a `while`", |value| repeat(value, &Float::arange(4))),
        ("an evaluated `while`", |value| repeat_evaluated(value, &Float::arange(4))),
        ("a `break` with a value", |value| left(value, &Float::arange(4)).check()),
        ("a switch", |value| {
            let add = |value: Wrong| Wrong { bytes: value.bytes + 1, wide: value.wide };
            let same = |value: Wrong| Wrong { wide: value.wide.sqrt(), ..value };
            let targets: [fn(Wrong) -> Wrong; 2] = [add, same];
            jit::switch(UInt::from([0, 1, 1, 0]), &targets, (value.clone(),)).check();
            jit::switch_sorted(UInt::from([0, 1, 1, 0]), &targets, (value.clone(),)).check();
        }),
        ("a dispatched call", |value| dispatch(value).check()),
        ("a gather", |value| trees::gather(value, &UInt::from([3, 0])).check()),
        ("a selection", |value| trees::select(&Mask::from([true, false, true, false]), value, &Wrong::new()).check()),
        ("a scatter", |value| trees::scatter(value, &Wrong::new(), &UInt::from([3, 2, 1, 0]))),
        ("opaque values", |value| trees::make_opaque(value).check()),
        ("a filter", |value| trees::filter(value, &Mask::from([true, false, true, false])).check()),
        ("per-lane local memory", |value| {
            let mut memory = Local::<Wrong>::full(&*value, 3);
            memory.write(&UInt::arange(4), &*value);
            memory.read(&UInt::from(1)).check();
        }),
        ("an evaluation", |value| {
            let _ = jit::eval(&*value);
            jit::schedule(&*value);
            drop(jit::graphviz(&*value));
            drop(jit::leaves(&*value));
        }),
        ("a frozen call", |value| (0..3).for_each(|_| frozen(value, &Float64::arange(4)).check())),
        ("a frozen host call", |_| (0..3).for_each(|_| drop(frozen_host(&Float64::arange(4)).to_vec()))),
    ]
}

#[test]
fn no_implementation_confuses_types() {
    let mut refused = 0;
    for mistake in MISTAKES {
        for (name, construct) in constructs() {
            MISTAKE.set(mistake);
            WALKS.set(0);
            let mut value = Wrong::new();
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| construct(&mut value))) {
                refused += 1;
                let text = panic.downcast_ref::<String>().cloned().or(panic.downcast_ref::<&str>().map(|&s| s.into()));
                let text = text.unwrap_or_default();
                assert!(
                    !text.contains("index out of bounds") && !text.contains("unwrap"),
                    "{mistake:?}, {name}: {text}"
                );
                assert!(!text.contains("internal error") && !text.contains("assertion"), "{mistake:?}, {name}: {text}");
            }
            value.check();
        }
    }
    assert!(refused > 60, "{refused} were refused");
}

#[test]
fn fields_in_another_order_are_named() {
    MISTAKE.set(Mistake::Order);
    let mut value = Wrong::new();
    let message = message_of(|| repeat(&mut value, &Float::arange(4)));
    for part in ["Wrong", "array 0", "`wide`", "an array of u8", "an array of f64", "traverse_mut"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    MISTAKE.set(Mistake::Fewer);
    let message = message_of(|| trees::gather(&Wrong::new(), &UInt::from([0])));
    assert!(message.contains("visits 2 arrays in `traverse`, and 1 in `traverse_mut`"), "{message}");
}

#[test]
fn a_visitor_cannot_replace_an_array_by_one_of_another_type() {
    let bits = Float64::from([1.0, 2.0]);
    let mut x = UInt8::from([1, 2]);
    let message = message_of(|| x.traverse_mut(&mut VisitorMut::new(&mut |_, var| *var = bits.var().clone())));
    assert!(message.contains("replaces an array of u8 by an array of f64"), "{message}");
    assert_eq!(x.to_vec().unwrap().len(), 1);
    // Nor does one that panics afterwards, or takes it from a `Local`.
    let mut x = UInt8::from([1, 2]);
    let message = message_of(|| {
        x.traverse_mut(&mut VisitorMut::new(&mut |_, var| {
            *var = bits.var().clone();
            panic!("meanwhile");
        }));
    });
    assert_eq!((message.as_str(), x.to_vec().unwrap().len()), ("meanwhile", 1));
    let mut memory = None;
    Local::<u8>::new(2).traverse(&mut Visitor::new(&mut |_, leaf| {
        if let Leaf::Array(var) = leaf {
            memory = Some(var.clone());
        }
    }));
    let memory = memory.unwrap();
    let message = message_of(|| x.traverse_mut(&mut VisitorMut::new(&mut |_, var| *var = memory.clone())));
    assert!(message.contains("a `Local` of u8"), "{message}");
    let message = message_of(|| UInt8::from_var(memory.clone()));
    assert!(message.contains("per-lane local memory"), "{message}");
    let message = message_of(|| UInt8::from_var(bits.var().clone()));
    assert!(message.contains("a value of f64 is not an array of u8"), "{message}");
}
