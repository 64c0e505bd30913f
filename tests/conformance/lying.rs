//! Wrong manual implementations of `Traverse` cause a panic that reports it, and never an array of a wrong type.

#![allow(clippy::type_complexity, reason = "a list of names and functions")]

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use jit::prelude::*;
use jit::{Leaf, LocalEntry, Visitor, VisitorMut, trees};

use crate::message_of;

/// In which way an implementation is wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Lie {
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

const LIES: [Lie; 10] = [
    Lie::Order,
    Lie::Fewer,
    Lie::Twice,
    Lie::ShowsOne,
    Lie::Changing,
    Lie::Growing,
    Lie::Erratic,
    Lie::Foreign,
    Lie::Memory,
    Lie::Nothing,
];

thread_local! {
    static LIE: Cell<Lie> = const { Cell::new(Lie::Order) };
    static WALKS: Cell<u32> = const { Cell::new(0) };
}

#[derive(Clone, Default)]
struct Liar {
    bytes: UInt8,
    wide: Float64,
}

impl Liar {
    fn new() -> Liar {
        Liar { bytes: UInt8::from([1, 2, 3, 4]), wide: Float64::from([0.5, 1.5, 2.5, 3.5]) }
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

impl Traverse for Liar {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        let walks = WALKS.replace(WALKS.get() + 1);
        match LIE.get() {
            Lie::ShowsOne => self.wide.traverse(visitor),
            Lie::Changing if walks % 2 == 1 => {
                self.wide.traverse(visitor);
                self.bytes.traverse(visitor);
            }
            Lie::Growing => {
                (0..walks % 4).for_each(|_| self.bytes.traverse(visitor));
                self.wide.traverse(visitor);
            }
            Lie::Erratic if walks % 3 == 2 => {}
            Lie::Erratic if walks % 2 == 1 => {
                self.wide.traverse(visitor);
                self.bytes.traverse(visitor);
            }
            Lie::Foreign => {
                visitor.field("bytes", &Float::from([0.25, 0.5, 0.75, 1.0]));
                visitor.field("wide", &UInt16::arange(4));
            }
            Lie::Memory => {
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
        match LIE.get() {
            Lie::Order => {
                visitor.field("wide", &mut self.wide);
                visitor.field("bytes", &mut self.bytes);
            }
            Lie::Fewer => visitor.field("bytes", &mut self.bytes),
            Lie::Twice => {
                visitor.field("bytes", &mut self.bytes);
                visitor.field("bytes", &mut self.bytes);
                visitor.field("wide", &mut self.wide);
            }
            Lie::Nothing => {}
            _ => {
                visitor.field("bytes", &mut self.bytes);
                visitor.field("wide", &mut self.wide);
            }
        }
    }
}

impl LocalEntry for Liar {
    type Value = Liar;
}

#[jit]
fn branch(liar: &mut Liar, x: &Float) -> Liar {
    if *x > 0.5 {
        liar.bytes += 1;
        liar.wide *= 2.0;
    }
    if *x > 1.5 { liar.clone() } else { Liar::new() }
}

#[jit]
fn whole(liar: &mut Liar, x: &Float) {
    if *x > 0.5 {
        *liar = Liar { bytes: &liar.bytes + 1, wide: liar.wide.sqrt() };
    } else {
        changed(liar);
    }
}

fn changed(liar: &mut Liar) {
    liar.bytes += 3;
    liar.wide += 1.0;
}

#[jit]
fn repeat(liar: &mut Liar, x: &Float) {
    let mut count = x.clone();
    while count < 3.0 {
        changed(liar);
        count += 1.0;
    }
}

#[jit]
fn repeat_evaluated(liar: &mut Liar, x: &Float) {
    let mut count = x.clone();
    #[evaluated]
    while count < 3.0 {
        changed(liar);
        count += 1.0;
    }
}

#[jit]
fn left(liar: &mut Liar, x: &Float) -> Liar {
    let mut count = x.clone();
    loop {
        if count > 2.0 {
            break liar.clone();
        }
        changed(liar);
        count += 1.0;
    }
}

#[jit(dispatch)]
trait Make {
    /// Makes one.
    fn make(&self, liar: &mut Liar) -> Liar;
}

#[derive(Traverse)]
struct First(UInt8);

#[derive(Traverse)]
struct Second(Float64);

#[jit]
impl Make for First {
    fn make(&self, liar: &mut Liar) -> Liar {
        liar.bytes += &self.0;
        Liar { bytes: self.0.clone(), wide: liar.wide.clone() }
    }
}

#[jit]
impl Make for Second {
    fn make(&self, liar: &mut Liar) -> Liar {
        liar.wide += &self.0;
        Liar { bytes: liar.bytes.clone(), wide: self.0.clone() }
    }
}

fn dispatch(liar: &mut Liar) -> Liar {
    let mut set = Instances::<dyn Make>::new();
    let first = set.push(Box::new(First(UInt8::from(7))));
    let second = set.push(Box::new(Second(Float64::from(0.25))));
    set.at(&UInt::from([first, second, first, second])).make(liar)
}

#[freeze]
fn frozen(liar: &mut Liar, x: &Float64) -> Liar {
    liar.wide += x;
    liar.bytes += 1;
    liar.clone()
}

#[freeze]
fn frozen_host(x: &Float64) -> Float64 {
    let made = jit::freeze::host(Liar::new);
    made.wide + x
}

/// Uses of values that consist of arrays.
fn constructs() -> Vec<(&'static str, fn(&mut Liar))> {
    vec![
        ("an `if`", |liar| branch(liar, &Float::arange(4)).check()),
        ("an `if` of the whole", |liar| whole(liar, &Float::arange(4))),
        ("a `while`", |liar| repeat(liar, &Float::arange(4))),
        ("an evaluated `while`", |liar| repeat_evaluated(liar, &Float::arange(4))),
        ("a `break` with a value", |liar| left(liar, &Float::arange(4)).check()),
        ("a switch", |liar| {
            let add = |liar: Liar| Liar { bytes: liar.bytes + 1, wide: liar.wide };
            let same = |liar: Liar| Liar { wide: liar.wide.sqrt(), ..liar };
            let targets: [fn(Liar) -> Liar; 2] = [add, same];
            jit::switch(UInt::from([0, 1, 1, 0]), &targets, (liar.clone(),)).check();
            jit::switch_sorted(UInt::from([0, 1, 1, 0]), &targets, (liar.clone(),)).check();
        }),
        ("a dispatched call", |liar| dispatch(liar).check()),
        ("a gather", |liar| trees::gather(liar, &UInt::from([3, 0])).check()),
        ("a selection", |liar| trees::select(&Mask::from([true, false, true, false]), liar, &Liar::new()).check()),
        ("a scatter", |liar| trees::scatter(liar, &Liar::new(), &UInt::from([3, 2, 1, 0]))),
        ("opaque values", |liar| trees::make_opaque(liar).check()),
        ("a filter", |liar| trees::filter(liar, &Mask::from([true, false, true, false])).check()),
        ("per-lane local memory", |liar| {
            let mut memory = Local::<Liar>::full(&*liar, 3);
            memory.write(&UInt::arange(4), &*liar);
            memory.read(&UInt::from(1)).check();
        }),
        ("an evaluation", |liar| {
            let _ = jit::eval(&*liar);
            jit::schedule(&*liar);
            drop(jit::graphviz(&*liar));
            drop(jit::leaves(&*liar));
        }),
        ("a frozen call", |liar| (0..3).for_each(|_| frozen(liar, &Float64::arange(4)).check())),
        ("a frozen host call", |_| (0..3).for_each(|_| drop(frozen_host(&Float64::arange(4)).to_vec()))),
    ]
}

#[test]
fn no_implementation_confuses_types() {
    let mut refused = 0;
    for lie in LIES {
        for (name, construct) in constructs() {
            LIE.set(lie);
            WALKS.set(0);
            let mut liar = Liar::new();
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| construct(&mut liar))) {
                refused += 1;
                let text = panic.downcast_ref::<String>().cloned().or(panic.downcast_ref::<&str>().map(|&s| s.into()));
                let text = text.unwrap_or_default();
                assert!(!text.contains("index out of bounds") && !text.contains("unwrap"), "{lie:?}, {name}: {text}");
                assert!(!text.contains("internal error") && !text.contains("assertion"), "{lie:?}, {name}: {text}");
            }
            liar.check();
        }
    }
    assert!(refused > 60, "{refused} were refused");
}

#[test]
fn fields_in_another_order_are_named() {
    LIE.set(Lie::Order);
    let mut liar = Liar::new();
    let message = message_of(|| repeat(&mut liar, &Float::arange(4)));
    for part in ["Liar", "array 0", "`wide`", "an array of u8", "an array of f64", "traverse_mut"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    LIE.set(Lie::Fewer);
    let message = message_of(|| trees::gather(&Liar::new(), &UInt::from([0])));
    assert!(message.contains("shows 2 arrays by `traverse`, and lends 1 by `traverse_mut`"), "{message}");
}

#[test]
fn a_visitor_puts_no_array_of_another_type_in_a_place() {
    let bits = Float64::from([1.0, 2.0]);
    let mut x = UInt8::from([1, 2]);
    let message = message_of(|| x.traverse_mut(&mut VisitorMut::new(&mut |_, var| *var = bits.var().clone())));
    assert!(message.contains("puts an array of f64 in the place of an array of u8"), "{message}");
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
    assert!(message.contains("a value of f64 is no array of u8"), "{message}");
}
