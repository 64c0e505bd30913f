//! Programs as `#[jit]` functions, on all lanes at once.

use half::f16;
use jit::freeze::{Exclusive, Function, Shared, call};
use jit::prelude::*;
use jit::{Element, Number};
use jit_runtime::ir::{BinaryOp, Type, scalar};

use super::Results;
use super::program::{Begin, Bounds, Condition, FEW, KINDS, Mode, Place, Program, SCRATCH, SHARED, Source, Statement};

/// An array of each type.
#[derive(Traverse, Clone)]
pub(super) struct Each {
    bytes: UInt8,
    shorts: Int16,
    ints: Int,
    longs: Int64,
    words: UInt64,
    halves: Half,
    floats: Float,
    doubles: Float64,
}

/// Memory of each lane, of each type.
#[derive(Traverse)]
struct Scratch {
    bytes: Local<u8>,
    shorts: Local<i16>,
    ints: Local<i32>,
    longs: Local<i64>,
    words: Local<u64>,
    halves: Local<f16>,
    floats: Local<f32>,
    doubles: Local<f64>,
}

/// A type of the state.
trait Kind: Number {
    fn own(scratch: &Scratch, at: &UInt) -> Array<Self>;
    fn of(each: &Each) -> &Array<Self>;
    fn of_mut(each: &mut Each) -> &mut Array<Self>;
}

macro_rules! kinds {
    ($($ty:ident $field:ident $place:literal;)*) => {
        $(impl Kind for $ty {
            fn own(scratch: &Scratch, at: &UInt) -> Array<Self> {
                scratch.$field.read(at)
            }

            fn of(each: &Each) -> &Array<Self> {
                &each.$field
            }

            fn of_mut(each: &mut Each) -> &mut Array<Self> {
                &mut each.$field
            }
        })*

        impl Each {
            fn new(mut of: impl FnMut(usize) -> Vec<u64>) -> Each {
                $(let $field = of($place).into_iter().map(<$ty as Element>::from_bits).collect::<Vec<$ty>>();)*
                Each { $($field: Array::from($field),)* }
            }

            fn read(&self, name: &str, width: usize, results: &mut Vec<(usize, String, Type, Vec<u64>)>) {
                $({
                    let values: Vec<u64> = self.$field.to_vec().unwrap().into_iter().map(Element::to_bits).collect();
                    let values = if values.len() == 1 { vec![values[0]; width] } else { values };
                    let ty = <$ty>::TYPE;
                    results.push(($place, format!("{name} {ty}"), ty, values));
                })*
            }

            /// A number of the state as another type.
            fn cast<T: Kind>(&self, kind: usize) -> Array<T> {
                match kind {
                    $($place => self.$field.cast(),)*
                    _ => unreachable!("there are {KINDS} types"),
                }
            }

            /// Whether a number is less than another one, which is cast to its type.
            fn is_less(&self, a: usize, b: usize) -> Mask {
                match a {
                    $($place => self.$field.lt(self.cast::<$ty>(b)),)*
                    _ => unreachable!("there are {KINDS} types"),
                }
            }
        }

        impl Scratch {
            fn new() -> Scratch {
                Scratch { $($field: Local::<$ty>::new(SCRATCH),)* }
            }
        }

        impl State<'_> {
            fn set(&mut self, kind: usize, op: BinaryOp, source: &Source, counter: &UInt) {
                match kind {
                    $($place => self.set_of::<$ty>(op, source, counter),)*
                    _ => unreachable!("there are {KINDS} types"),
                }
            }

            fn store(&mut self, kind: usize) {
                match kind {
                    $($place => self.own.$field.scatter(&self.numbers.$field, &self.lane),)*
                    _ => unreachable!("there are {KINDS} types"),
                }
            }

            fn write(&mut self, kind: usize, place: &Place, counter: &UInt) {
                // A position that the compiler knows to be out of range is an error.
                let at = self.place(place, counter) + &self.zero;
                match kind {
                    $($place => self.scratch.$field.write(&at, &self.numbers.$field),)*
                    _ => unreachable!("there are {KINDS} types"),
                }
            }

            fn add(&mut self, kind: usize, place: &Place, source: &Source, counter: &UInt) {
                let at = self.place(place, counter) + &self.zero;
                match kind {
                    $($place => {
                        let value = self.source::<$ty>(source, counter);
                        self.shared.$field.scatter_add(value, &at);
                    })*
                    _ => unreachable!("there are {KINDS} types"),
                }
            }
        }
    };
}

kinds! {
    u8 bytes 0;
    i16 shorts 1;
    i32 ints 2;
    i64 longs 3;
    u64 words 4;
    f16 halves 5;
    f32 floats 6;
    f64 doubles 7;
}

#[derive(Traverse)]
pub(super) struct State<'t> {
    numbers: Each,
    flag: Mask,
    own: Each,
    shared: Each,
    scratch: Scratch,
    lane: UInt,
    /// Zero in each lane, which is unknown to the compiler.
    zero: UInt,
    tables: &'t Each,
    starts: &'t UInt,
    list: &'t UInt,
}

impl State<'_> {
    fn set_of<T: Kind>(&mut self, op: BinaryOp, source: &Source, counter: &UInt) {
        let value = self.source::<T>(source, counter);
        let old = T::of(&self.numbers).clone();
        *T::of_mut(&mut self.numbers) = match op {
            BinaryOp::Add => old + value,
            BinaryOp::Sub => old - value,
            BinaryOp::Mul => old * value,
            BinaryOp::Min => old.min(value),
            BinaryOp::Max => old.max(value),
            _ => old / value,
        };
    }

    fn place(&self, place: &Place, counter: &UInt) -> UInt {
        match place {
            Place::Counter(factor, more) => counter * *factor + *more as u32,
            Place::Down(from) => UInt::from(*from) - counter,
            Place::Listed(place) => self.list.gather(&self.place(place, counter)),
            Place::Lane(factor, more) => &self.lane * *factor + *more,
            Place::LaneAndCounter(factor) => &self.lane + counter * *factor,
            Place::State(kind) => match *kind {
                0 => self.numbers.bytes.cast(),
                1 => self.numbers.shorts.cast(),
                2 => self.numbers.ints.cast(),
                3 => self.numbers.longs.cast(),
                4 => self.numbers.words.cast(),
                5 => self.numbers.halves.cast(),
                6 => self.numbers.floats.cast(),
                _ => self.numbers.doubles.cast(),
            },
        }
    }

    fn source<T: Kind>(&self, source: &Source, counter: &UInt) -> Array<T> {
        match source {
            Source::Literal(number) => Int::from(*number).cast(),
            Source::Cast(from) => self.numbers.cast(*from),
            Source::Table(place) => T::of(self.tables).gather(&self.place(place, counter)),
            Source::Scratch(place) => T::own(&self.scratch, &(self.place(place, counter) + &self.zero)),
            Source::Place(place) => self.place(place, counter).cast(),
        }
    }

    fn holds(&self, condition: &Condition, counter: &UInt) -> Mask {
        match condition {
            Condition::Less(a, b) => self.numbers.is_less(*a, *b),
            Condition::Bit(bit) => (((&self.lane ^ counter) >> *bit) & 1).eq(1),
            Condition::Flag => self.flag.clone(),
            Condition::NotFlag => !&self.flag,
        }
    }

    fn bounds(&self, bounds: &Bounds, counter: &UInt) -> (UInt, UInt) {
        match bounds {
            Bounds::Row(place) => {
                let row = self.place(place, counter);
                (self.starts.gather(&row), self.starts.gather(&(row + 1)))
            }
            Bounds::Numbers(begin, end) => (UInt::from(*begin), UInt::from(*end)),
            Bounds::Few(kind) => (UInt::from(0), self.place(&Place::State(*kind), counter) & 7),
        }
    }
}

#[jit]
fn run(block: &[Statement], counter: &UInt, s: &mut State<'_>) {
    for statement in block {
        step(statement, counter, s);
    }
}

#[jit]
fn step(statement: &Statement, counter: &UInt, s: &mut State<'_>) {
    match statement {
        Statement::Set(kind, op, source) => s.set(*kind, *op, source, counter),
        Statement::Flag(condition) => s.flag = s.holds(condition, counter),
        Statement::If(condition, then, otherwise) => {
            if s.holds(condition, counter) {
                run(then, counter, s);
            } else {
                run(otherwise, counter, s);
            }
        }
        Statement::For(mode, bounds, body) => {
            let (begin, end) = s.bounds(bounds, counter);
            match mode {
                Mode::Recorded => count(begin, end, body, s),
                Mode::Evaluated => count_evaluated(begin, end, body, s),
                Mode::Compressed => count_compressed(begin, end, body, s),
            }
        }
        Statement::While(condition, body) => repeat(condition, body, s),
        Statement::Add(kind, place, source) => s.add(*kind, place, source, counter),
        Statement::Store(kind) => s.store(*kind),
        Statement::Write(kind, place) => s.write(*kind, place, counter),
        Statement::BreakIf(_) | Statement::ContinueIf(_) => {}
    }
}

/// A loop over a range, in a mode.
macro_rules! counts {
    ($($name:ident $(#[$mode:ident])*;)*) => {$(
        #[jit]
        fn $name(begin: UInt, end: UInt, body: &[Statement], s: &mut State<'_>) {
            $(#[$mode])*
            'iterations: for counter in begin..end {
                for statement in body {
                    match statement {
                        Statement::BreakIf(condition) => {
                            if s.holds(condition, &counter) {
                                break 'iterations;
                            }
                        }
                        Statement::ContinueIf(condition) => {
                            if s.holds(condition, &counter) {
                                continue 'iterations;
                            }
                        }
                        other => step(other, &counter, s),
                    }
                }
            }
        }
    )*};
}

counts! {
    count;
    count_evaluated #[evaluated];
    count_compressed #[evaluated] #[compress];
}

#[jit]
fn repeat(condition: &Condition, body: &[Statement], s: &mut State<'_>) {
    let mut iteration = UInt::from(0);
    'iterations: while iteration < UInt::from(FEW) && s.holds(condition, &iteration) {
        iteration = iteration + 1;
        for statement in body {
            match statement {
                Statement::BreakIf(condition) => {
                    if s.holds(condition, &iteration) {
                        break 'iterations;
                    }
                }
                Statement::ContinueIf(condition) => {
                    if s.holds(condition, &iteration) {
                        continue 'iterations;
                    }
                }
                other => step(other, &iteration, s),
            }
        }
    }
}

fn computed_table<T: Kind>(table: &mut Array<T>) {
    let three = Array::from(T::from_bits(scalar::cast(Type::U32, T::TYPE, 3)));
    *table = table.clone() + Array::<T>::arange(table.width()) * three;
}

/// Values that are the same in all lanes are literals or opaque.
fn begun<T: Kind>(array: &mut Array<T>, (begin, bits): (Begin, u64)) {
    match begin {
        Begin::Literal => *array = Array::from(T::from_bits(bits)),
        Begin::Opaque => *array = Array::opaque(T::from_bits(bits)),
        Begin::Lanes => {}
    }
}

/// Runs a program on arrays, as they are or in a frozen function.
pub(super) fn got(program: &Program, function: Option<&'static Function>) -> jit::Result<Results> {
    let width = program.width;
    let tables = Each::new(|kind| program.tables[kind].clone());
    let (starts, list) = (UInt::from(program.starts.clone()), UInt::from(program.list.clone()));
    let zero = UInt::from(vec![0; width]);
    let mut numbers = begin_of(program);
    let mut memory = Memory { own: Each::new(|_| vec![0; width]), shared: Each::new(|_| vec![0; SHARED]) };
    let frozen = function.and_then(|function| {
        let arguments = (
            Shared(&tables),
            Shared(&starts),
            Shared(&list),
            Shared(&zero),
            Exclusive(&mut numbers),
            Exclusive(&mut memory),
        );
        call(function, arguments, |(tables, starts, list, zero, numbers, memory)| {
            run_on(program, tables, [starts, list, zero], numbers, memory)
        })
    });
    let flag = frozen.unwrap_or_else(|| run_on(program, &tables, [&starts, &list, &zero], &mut numbers, &mut memory));
    jit::eval(&(&numbers, &memory, &flag))?;
    let mut parts = Vec::new();
    numbers.read("state", width, &mut parts);
    memory.own.read("own", width, &mut parts);
    memory.shared.read("shared", SHARED, &mut parts);
    parts.sort_by_key(|part| part.0);
    let mut results: Results = parts.into_iter().map(|(_, name, ty, bits)| (name, ty, bits)).collect();
    let flags = flag.to_vec()?;
    let flag = |lane: usize| u64::from(flags[if flags.len() == 1 { 0 } else { lane }]);
    results.push(("flag".to_owned(), Type::Bool, (0..width).map(flag).collect()));
    Ok(results)
}

/// The arrays that lanes write.
#[derive(Traverse, Clone)]
pub(super) struct Memory {
    own: Each,
    shared: Each,
}

/// The state before the program runs.
fn begin_of(program: &Program) -> Each {
    let mut numbers = Each::new(|kind| program.state[kind].clone());
    let begin = |kind: usize| (program.begins[kind], program.state[kind][0]);
    let Each { bytes, shorts, ints, longs, words, halves, floats, doubles } = &mut numbers;
    begun(bytes, begin(0));
    begun(shorts, begin(1));
    begun(ints, begin(2));
    begun(longs, begin(3));
    begun(words, begin(4));
    begun(halves, begin(5));
    begun(floats, begin(6));
    begun(doubles, begin(7));
    numbers
}

/// Runs a program; returns the flag of each lane.
fn run_on(
    program: &Program,
    tables: &Each,
    [starts, list, zero]: [&UInt; 3],
    numbers: &mut Each,
    memory: &mut Memory,
) -> Mask {
    let mut tables = tables.clone();
    let compute: [fn(&mut Each); KINDS] = [
        |each| computed_table(&mut each.bytes),
        |each| computed_table(&mut each.shorts),
        |each| computed_table(&mut each.ints),
        |each| computed_table(&mut each.longs),
        |each| computed_table(&mut each.words),
        |each| computed_table(&mut each.halves),
        |each| computed_table(&mut each.floats),
        |each| computed_table(&mut each.doubles),
    ];
    { compute.iter().zip(program.is_expression) }.for_each(|(compute, is)| {
        if is {
            compute(&mut tables)
        }
    });
    let Memory { own, shared } = memory.clone();
    let mut state = State {
        numbers: numbers.clone(),
        flag: Mask::from(false),
        own,
        shared,
        scratch: Scratch::new(),
        lane: UInt::arange(zero.width()),
        zero: zero.clone(),
        tables: &tables,
        starts,
        list,
    };
    run(&program.body, &UInt::from(0), &mut state);
    *numbers = state.numbers;
    *memory = Memory { own: state.own, shared: state.shared };
    state.flag
}
