//! Two threads that trace and evaluate different programs at once.

use std::thread;

use jit::prelude::*;

use crate::devices::on_each_device;

const WIDTH: usize = 40;
const PROGRAMS: u32 = 1000;

/// Numbers that are determined by a seed (Marsaglia's xorshift).
struct Random(u32);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0 % bound
    }
}

/// A random program over three registers, traced on arrays and simultaneously computed on host numbers.
fn run_program(seed: u32) -> (UInt, Vec<u32>) {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9) | 1);
    let start = UInt::arange(WIDTH);
    let mut traced = [start.clone(), &start + seed, &start * 3];
    let mut host: [Vec<u32>; 3] =
        std::array::from_fn(|r| (0..WIDTH as u32).map(|i| [i, i.wrapping_add(seed), i.wrapping_mul(3)][r]).collect());
    for _ in 0..2 + random.below(10) {
        let (to, from, number) = (random.below(3) as usize, random.below(3) as usize, random.below(1000));
        let operation = random.below(5);
        let (a, b) = (&traced[to], &traced[from]);
        traced[to] = match operation {
            0 => a + b,
            1 => a * b + number,
            2 => a ^ (b >> 3),
            3 => jit::select(&a.lt(b), a, &(b - number)),
            _ => a.gather(&(b % WIDTH as u32)),
        };
        let before = host[to].clone();
        for lane in 0..WIDTH {
            let (a, b) = (before[lane], if to == from { before[lane] } else { host[from][lane] });
            host[to][lane] = match operation {
                0 => a.wrapping_add(b),
                1 => a.wrapping_mul(b).wrapping_add(number),
                2 => a ^ (b >> 3),
                3 => {
                    if a < b {
                        a
                    } else {
                        b.wrapping_sub(number)
                    }
                }
                _ => before[b as usize % WIDTH],
            };
        }
    }
    let [a, b, c] = traced;
    let wanted = (0..WIDTH).map(|i| host[0][i].wrapping_add(host[1][i]) ^ host[2][i]).collect();
    ((a + b) ^ c, wanted)
}

#[test]
fn two_threads_run_a_thousand_different_programs_each() {
    on_each_device(|| {
        let device = UInt::from(0).device();
        thread::scope(|scope| {
            for first in [1, 1_000_001] {
                scope.spawn(move || {
                    jit::with_device(device, || {
                        for seed in first..first + PROGRAMS {
                            let (traced, wanted) = run_program(seed);
                            assert_eq!(traced.to_vec().unwrap(), wanted, "program {seed}");
                        }
                    });
                });
            }
        });
    });
}

#[test]
fn arrays_are_sent_between_threads() {
    on_each_device(|| {
        let x = UInt::arange(1000);
        let doubled = thread::scope(|scope| scope.spawn(|| &x * 2).join().expect("the thread works"));
        let sum = &doubled + &x;
        let total = thread::spawn(move || sum.sum().item().unwrap()).join().expect("the thread works");
        assert_eq!(total, 3 * (0..1000).sum::<u32>());
        assert_eq!(doubled.get(999).unwrap(), 1998);
    });
}

#[test]
fn one_array_is_evaluated_by_many_threads_at_once() {
    on_each_device(|| {
        for n in [100_usize, 200_000] {
            let x = UInt::arange(n) * 7 + 1;
            thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        let values = x.to_vec().unwrap();
                        assert!(values.iter().enumerate().all(|(i, value)| *value == i as u32 * 7 + 1));
                    });
                }
            });
        }
    });
}
