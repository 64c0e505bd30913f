//! Each write happens once, on all lanes that reach it, wherever its result is used and however many kernels follow.

use jit::prelude::*;

use crate::devices::on_each_device;

/// The tickets are read only in a loop of some lanes.
#[jit]
fn tickets(counter: &mut UInt, rounds: &UInt) -> UInt {
    let ticket = counter.scatter_inc(&rounds.zeros_like());
    let (mut sum, mut round) = (rounds.zeros_like(), UInt::from(0));
    if (rounds % 3).eq(1) {
        while round < rounds {
            sum += &ticket * 2 + 1;
            round += 1;
        }
    }
    sum
}

#[test]
fn a_scatter_whose_result_only_some_lanes_use_runs_on_all() {
    on_each_device(|| {
        let rounds: Vec<u32> = (0..100).map(|lane| lane % 8).collect();
        let mut counter = UInt::from([5]);
        let sums = tickets(&mut counter, &UInt::from(&rounds)).to_vec().unwrap();
        assert_eq!(counter.to_vec().unwrap(), [105]);
        let mut taken: Vec<u32> = sums
            .iter()
            .zip(&rounds)
            .filter(|(_, rounds)| *rounds % 3 == 1)
            .map(|(sum, rounds)| (sum / rounds - 1) / 2)
            .collect();
        taken.sort_unstable();
        taken.dedup();
        let takers = rounds.iter().filter(|rounds| *rounds % 3 == 1).count();
        assert!(taken.len() == takers && taken.iter().all(|ticket| (5..105).contains(ticket)), "{taken:?}");
        let others = sums.iter().zip(&rounds).filter(|(_, rounds)| *rounds % 3 != 1);
        assert!(others.into_iter().all(|(sum, _)| *sum == 0));
    });
}

/// Nothing but the tickets is used: the counter is dropped.
fn tickets_alone(rounds: &UInt) -> UInt {
    tickets(&mut UInt::zeros(1), rounds)
}

#[test]
fn tickets_that_some_lanes_use_were_taken_by_all_once() {
    on_each_device(|| {
        let rounds: Vec<u32> = (0..100).map(|lane| lane % 8).collect();
        let sums = tickets_alone(&UInt::from(&rounds)).to_vec().unwrap();
        let of_lane = |(sum, rounds): (&u32, &u32)| (*rounds % 3 == 1).then(|| (sum / rounds - 1) / 2);
        let mut taken: Vec<u32> = sums.iter().zip(&rounds).filter_map(of_lane).collect();
        let takers = taken.len();
        taken.sort_unstable();
        taken.dedup();
        assert_eq!(taken.len(), takers, "{taken:?}");
        let last = taken[takers - 1];
        assert!(last < 100 && last as usize >= takers, "the others took some of the first: {taken:?}");
    });
}

/// Writes to an array and to memory of each lane in one loop, which only some lanes run.
#[jit]
fn steps(hits: &mut UInt, rounds: &UInt) -> Local<u32> {
    let (mut seen, mut round) = (Local::<u32>::new(4), UInt::from(0));
    if rounds > 1 {
        while round < rounds {
            hits.scatter_add(1, &round);
            seen.write(&(&round % 4), &(&round + 1));
            round += 1;
        }
    }
    seen
}

#[test]
fn a_loop_whose_memory_two_kernels_read_writes_once() {
    on_each_device(|| {
        let rounds: Vec<u32> = (0..60).map(|lane| lane % 7).collect();
        let mut hits = UInt::zeros(8);
        let seen = steps(&mut hits, &UInt::from(&rounds));
        // The second kernel needs the sum of all lanes of the first one.
        let sum = seen.read(&UInt::from(0)).sum();
        let both = seen.read(&UInt::from(1)) * 1000 + sum;
        let of = |lane: u32, at: u32| (0..lane).rfind(|round| lane > 1 && round % 4 == at).map_or(0, |round| round + 1);
        let total: u32 = rounds.iter().map(|&lane| of(lane, 0)).sum();
        let expected: Vec<u32> = rounds.iter().map(|&lane| of(lane, 1) * 1000 + total).collect();
        assert_eq!(both.to_vec().unwrap(), expected);
        let reached = |round: u32| rounds.iter().filter(|&&lane| lane > 1 && lane > round).count() as u32;
        assert_eq!(hits.to_vec().unwrap(), (0..8).map(reached).collect::<Vec<_>>());
    });
}
