//! Constructs inside calls: per-lane local memory, loops that lanes exit, calls through pointers that instances hold.

use jit::prelude::*;

use crate::{noise, on_each_device, resident};

/// A rule that maps a number to a number.
#[jit(dispatch)]
trait Rule {
    /// The number, after some steps.
    fn apply(&self, x: UInt, seen: &mut UInt) -> UInt;
}

/// Counts digits in per-lane local memory.
#[derive(Traverse)]
struct Digits {
    base: UInt,
}

/// Steps until something happens.
#[derive(Traverse)]
struct Steps {
    step: UInt,
    limit: UInt,
}

/// Calls other rules, through its pointer.
#[derive(Traverse)]
struct Twice {
    rules: Ptr<dyn Rule>,
    offset: UInt,
}

#[jit]
impl Rule for Digits {
    fn apply(&self, x: UInt, seen: &mut UInt) -> UInt {
        let mut counts = Local::<u32>::new(7);
        let mut rest = x.clone();
        while rest > 0 {
            counts[rest % self.base] += 1;
            rest /= self.base;
        }
        let (mut best, mut digit) = (UInt::from(0), UInt::from(1));
        while digit < self.base {
            if counts[digit] > counts[best] {
                best = digit.clone();
            }
            digit += 1;
        }
        seen.scatter_add(1, &best);
        best * 10 + counts[UInt::from(0)]
    }
}

#[jit]
impl Rule for Steps {
    fn apply(&self, x: UInt, seen: &mut UInt) -> UInt {
        let (mut at, mut count) = (x.clone(), UInt::from(0));
        loop {
            at += self.step;
            if at % 7 == 3 {
                break;
            }
            count += 1;
            if count == self.limit {
                return at * 100;
            }
            if at % 2 == 0 {
                continue;
            }
            seen.scatter_add(count, &UInt::from(7));
            at += 1;
        }
        at * 100 + count
    }
}

#[jit]
impl Rule for Twice {
    fn apply(&self, x: UInt, seen: &mut UInt) -> UInt {
        // The pointer of an instance is the same for all lanes, or has one for each.
        let first = self.rules.apply(x + self.offset, seen);
        let which = self.rules.with_ids(first % 3);
        which.apply(first / 2, seen) + 1
    }
}

/// Rules on the host, with the fields of the instances below; rule 0 returns zero.
fn on_host(id: u32, x: u32, seen: &mut [u32; 8]) -> u32 {
    match id {
        1 | 2 => {
            let base = if id == 1 { 5 } else { 3 };
            let (mut counts, mut rest) = ([0; 7], x);
            while rest > 0 {
                counts[(rest % base) as usize] += 1;
                rest /= base;
            }
            let best =
                (1..base as usize).fold(0, |best, digit| if counts[digit] > counts[best] { digit } else { best });
            seen[best] += 1;
            best as u32 * 10 + counts[0]
        }
        3 | 4 => {
            let (step, limit) = if id == 3 { (2, 9) } else { (5, 4) };
            let (mut at, mut count) = (x, 0);
            loop {
                at += step;
                if at % 7 == 3 {
                    return at * 100 + count;
                }
                count += 1;
                if count == limit {
                    return at * 100;
                }
                if at % 2 == 0 {
                    continue;
                }
                seen[7] += count;
                at += 1;
            }
        }
        5 | 6 => {
            let (inner, offset) = if id == 5 { (3, 1) } else { (2, 8) };
            let first = on_host(inner, x + offset, seen);
            on_host(first % 3, first / 2, seen) + 1
        }
        _ => 0,
    }
}

fn rules() -> Instances<dyn Rule> {
    let inner: Instances<dyn Rule> = Instances::from_iter([
        Box::new(Digits { base: UInt::opaque(5) }) as Box<dyn Rule>,
        Box::new(Digits { base: UInt::opaque(3) }),
        Box::new(Steps { step: UInt::opaque(2), limit: UInt::from(9) }),
    ]);
    Instances::from_iter([
        Box::new(Digits { base: UInt::opaque(5) }) as Box<dyn Rule>,
        Box::new(Digits { base: UInt::opaque(3) }),
        Box::new(Steps { step: UInt::opaque(2), limit: UInt::from(9) }),
        Box::new(Steps { step: UInt::opaque(5), limit: UInt::from(4) }),
        Box::new(Twice { rules: inner.at(&UInt::from(3)), offset: UInt::from(1) }),
        Box::new(Twice { rules: inner.at(&UInt::opaque(2)), offset: UInt::opaque(8) }),
    ])
}

/// Applies rules by number to numbers, and counts the occurrences of each digit.
fn expected(ids: &[u32], x: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut seen = [0; 8];
    let values = ids.iter().zip(x).map(|(&id, &x)| on_host(id, x, &mut seen)).collect();
    (values, seen.to_vec())
}

#[test]
fn memory_loops_and_pointers_work_in_calls() {
    let ids: Vec<u32> = noise(400, 21).iter().map(|x| x % 8).collect();
    let x: Vec<u32> = noise(400, 22).iter().map(|x| x % 5000).collect();
    let expected = expected(&ids, &x);
    on_each_device(|| {
        let pointers = rules().at(&UInt::from(ids.clone()));
        for pointers in [pointers.clone(), pointers.sorted()] {
            let mut seen = resident([0_u32; 8]);
            let values = pointers.apply(UInt::from(x.clone()), &mut seen);
            assert_eq!((values.to_vec().unwrap(), seen.to_vec().unwrap()), expected);
        }
    });
}

#[test]
fn calls_work_in_loops_that_lanes_exit() {
    #[jit]
    fn walk(rules: &Ptr<dyn Rule>, start: &UInt, seen: &mut UInt) -> (UInt, UInt) {
        let (mut at, mut turns) = (start.clone(), UInt::from(0));
        let mut rule = rules.clone();
        while turns < 6 {
            let next = rule.apply(at % 1000, seen);
            if next % 11 == 4 {
                break;
            }
            at = next;
            rule = rule.with_ids(at % 8);
            turns += 1;
        }
        (at, turns)
    }
    let ids: Vec<u32> = noise(300, 31).iter().map(|x| x % 8).collect();
    let start: Vec<u32> = noise(300, 32);
    let mut seen = [0; 8];
    let one = |(&id, &start): (&u32, &u32)| {
        let (mut at, mut turns, mut rule) = (start, 0, id);
        while turns < 6 {
            let next = on_host(rule, at % 1000, &mut seen);
            if next % 11 == 4 {
                break;
            }
            (at, rule, turns) = (next, next % 8, turns + 1);
        }
        (at, turns)
    };
    let (at, turns): (Vec<u32>, Vec<u32>) = ids.iter().zip(&start).map(one).unzip();
    on_each_device(|| {
        let mut counts = resident([0_u32; 8]);
        let (a, t) = walk(&rules().at(&UInt::from(ids.clone())), &UInt::from(start.clone()), &mut counts);
        assert_eq!((a.to_vec().unwrap(), t.to_vec().unwrap()), (at.clone(), turns.clone()));
        assert_eq!(counts.to_vec().unwrap(), seen);
    });
}
