//! The fields of instances and how their methods use them: loops, packets, getters, and pointers to themselves.

use jit::prelude::*;

use crate::{on_each_device, resident};

/// An instance with separate memory.
#[jit(dispatch)]
trait Store {
    /// Doubles a number until it exceeds the stored one.
    fn exceed(&self, x: &Float) -> Float;

    /// A number that is reduced in each of some iterations of a loop that could change the table.
    fn halved(&self, x: &Float, turns: &UInt) -> Float;

    /// A row of the table.
    fn row(&self, at: &UInt) -> [Float; 4];

    /// Writes a row.
    fn write(&self, to: &mut Float, at: &UInt, x: &Float);

    /// Adds a row.
    fn add(&self, to: &mut Float, at: &UInt, x: &Float);

    fn limit(&self) -> Float;

    fn place(&self) -> UInt;

    fn is_open(&self) -> Mask;

    /// Its identity, as passed by the caller.
    fn this(&self, this: &Ptr<dyn Store>) -> Ptr<dyn Store>;

    /// The one that comes after it.
    fn next(&self, this: &Ptr<dyn Store>) -> Ptr<dyn Store>;
}

#[derive(Traverse)]
struct Shelf {
    limit: Float,
    place: UInt,
    is_open: Mask,
    table: Float,
}

/// Reads memory that it could write.
fn factor(table: &mut Float) -> f32 {
    if table.len() > 8 { 0.5 } else { 0.25 }
}

#[jit]
impl Store for Shelf {
    fn exceed(&self, x: &Float) -> Float {
        let mut x = x.clone();
        while x < self.limit {
            x *= 2.0;
        }
        x
    }

    fn halved(&self, x: &Float, turns: &UInt) -> Float {
        let (mut table, mut x, mut i) = (self.table.clone(), x.clone(), UInt::from(0));
        while i < turns {
            x *= factor(&mut table);
            i += 1;
        }
        x + table.gather(&UInt::from(1))
    }

    fn row(&self, at: &UInt) -> [Float; 4] {
        self.table.gather_packet::<4>(at)
    }

    fn write(&self, to: &mut Float, at: &UInt, x: &Float) {
        to.scatter_packet(&[x.clone(), self.limit.clone()], at);
    }

    fn add(&self, to: &mut Float, at: &UInt, x: &Float) {
        to.scatter_add_packet(&[x.clone(), self.limit.clone()], at);
    }

    fn limit(&self) -> Float {
        self.limit.clone()
    }

    fn place(&self) -> UInt {
        self.place.clone()
    }

    fn is_open(&self) -> Mask {
        self.is_open.clone()
    }

    fn this(&self, this: &Ptr<dyn Store>) -> Ptr<dyn Store> {
        this.clone()
    }

    fn next(&self, this: &Ptr<dyn Store>) -> Ptr<dyn Store> {
        this.with_ids(this.id() % 2 + 1)
    }
}

/// An instance that stores values in memory, and one whose values are part of the code.
fn shelves() -> Instances<dyn Store> {
    let table = Float::arange(12) * 0.5;
    jit::eval(&table).unwrap();
    let first = Shelf { limit: resident([10.0]), place: UInt::opaque(3), is_open: Mask::opaque(true), table };
    let second = Shelf {
        limit: Float::from(100.0),
        place: UInt::from(5),
        is_open: Mask::from(false),
        table: Float::from([1.0, 10.0, 100.0, 1000.0, 1e4, 1e5, 1e6, 1e7]),
    };
    Instances::from_iter([Box::new(first) as Box<dyn Store>, Box::new(second)])
}

// rows: C019
#[test]
fn a_loop_in_a_method_runs_until_the_lane_is_done() {
    on_each_device(|| {
        let at = shelves().at(&resident([1_u32, 2, 0, 2, 1]));
        let x = Float::from([3.0, 3.0, 3.0, 200.0, 0.625]);
        assert_eq!(at.exceed(&x).to_vec().unwrap(), [12.0, 192.0, 0.0, 200.0, 10.0]);
    });
}

// rows: C096
#[test]
fn a_table_that_a_loop_in_a_method_does_not_change_is_not_state() {
    on_each_device(|| {
        let at = shelves().at(&resident([1_u32, 2, 0, 2]));
        let halved = at.halved(&Float::from([16.0, 16.0, 16.0, 3.0]), &UInt::from([3, 2, 5, 0]));
        assert_eq!(halved.to_vec().unwrap(), [2.5, 11.0, 0.0, 13.0]);
    });
}

// rows: C129
#[test]
fn methods_read_rows_of_what_they_hold() {
    on_each_device(|| {
        for rows in [UInt::from([2, 1, 0, 0]), resident([2, 1, 0, 0])] {
            let row = shelves().at(&resident([1_u32, 2, 0, 2])).row(&rows);
            let expected =
                [[4.0, 1e4, 0.0, 1.0], [4.5, 1e5, 0.0, 10.0], [5.0, 1e6, 0.0, 100.0], [5.5, 1e7, 0.0, 1000.0]];
            assert_eq!(row.map(|element| element.to_vec().unwrap()), expected);
        }
        let row = shelves().at(&resident([2_u32, 1, 2])).row(&UInt::from(1));
        assert_eq!(row[3].to_vec().unwrap(), [1e7, 3.5, 1e7]);
    });
}

// rows: C130 C131
#[test]
fn methods_write_and_add_rows() {
    on_each_device(|| {
        let at = shelves().at(&resident([2_u32, 0, 1, 1]));
        let (rows, x) = (UInt::from([3, 1, 0, 0]), Float::from([1.0, 2.0, 3.0, 3.0]));
        let mut written = Float::full(-1.0, 8);
        at.write(&mut written, &rows, &x);
        assert_eq!(written.to_vec().unwrap(), [3.0, 10.0, -1.0, -1.0, -1.0, -1.0, 1.0, 100.0]);
        let mut sums = Float::full(-1.0, 8);
        at.add(&mut sums, &rows, &x);
        assert_eq!(sums.to_vec().unwrap(), [5.0, 19.0, -1.0, -1.0, -1.0, -1.0, 0.0, 99.0]);
    });
}

// rows: C108 C285
#[test]
fn several_getters_share_a_kernel() {
    on_each_device(|| {
        let at = shelves().at(&resident([1_u32, 2, 0, 9]));
        let (limit, place, is_open) = (at.limit(), at.place(), at.is_open());
        let drawn = jit::graphviz(&(&limit, &place, &is_open));
        assert!(!drawn.contains("Switch"), "{drawn}");
        jit::eval(&(&limit, &place, &is_open)).unwrap();
        assert_eq!(limit.to_vec().unwrap(), [10.0, 100.0, 0.0, 0.0]);
        assert_eq!(place.to_vec().unwrap(), [3, 5, 0, 0]);
        assert_eq!(is_open.to_vec().unwrap(), [true, false, false, false]);
    });
}

// rows: C115 C281
#[test]
fn a_method_gives_the_pointer_that_it_was_called_by() {
    on_each_device(|| {
        let at = shelves().at(&resident([1_u32, 2, 0, 7]));
        assert_eq!(at.this(&at).id().to_vec().unwrap(), [1, 2, 0, 0]);
        assert_eq!(at.next(&at).limit().to_vec().unwrap(), [100.0, 10.0, 0.0, 0.0]);
    });
}
