//! Random orders of arrays, and random samples of their elements.
//!
//! A permutation is a cipher of the lane number, so each lane computes its place independently; nothing is sorted or
//! stored. The cipher is a Feistel network over pairs of a column and a row. Each round moves one of the two by a hash
//! of the other, with modular addition and as many rows as are needed (J. Black and P. Rogaway, “Ciphers with Arbitrary
//! Finite Domains”, 2002). The grid has at most one row of surplus places; a lane that ends on one of those is
//! enciphered again, which leads to a distinct place for each lane (cycle walking, from the same paper). Using ciphers
//! for shuffling is due to R. Mitchell, D. Stokes, E. Frank and G. Holmes, “Bandwidth-Optimal Random Shuffling for
//! GPUs”, 2022.

use super::generator::Generator;
use super::philox::WEYL;
use super::words::refuse;
use crate::{Array, Element, Size, Traverse, UInt, jit};

/// Rounds of a network of many places, as in the paper on shuffling.
const ROUNDS: u32 = 24;
/// Rounds of a network of few places. There all orders can be counted, and each round makes their frequencies only
/// about a quarter more equal. After this many, the distance from equal frequencies is below 10⁻⁸.
const ROUNDS_OF_FEW: u32 = 64;
/// The largest number of places that counts as few.
const FEW: usize = 128;

/// The parameters of a network. All of them are opaque, so one kernel serves every size, seed and call.
#[derive(Traverse)]
struct Network {
    columns: UInt,
    rows: UInt,
    /// The number of columns in the last row that are places; the others are surplus.
    columns_of_last_row: UInt,
    rounds: UInt,
    key: [UInt; 2],
}

impl Network {
    /// Creates a network of a number of places.
    #[track_caller]
    fn new(places: Size, key: [UInt; 2]) -> Self {
        match places.is_constant() {
            true => Network::known(places.now(), key),
            false => Network::computed(&UInt::from(places), key),
        }
    }

    /// Creates a network of a number of places, above 0, that is recomputed on every replay.
    #[track_caller]
    fn computed(places: &UInt, key: [UInt; 2]) -> Self {
        // For a number below 2³², the square root in double precision never rounds to a different whole number.
        let root = (places - 1).cast::<f64>().sqrt().cast::<u32>();
        let columns = (root + 2) / 2 * 2;
        let rows = (places - 1) / &columns + 1;
        let last = places - (&rows - 1) * &columns;
        let rounds = places.le(FEW as u32).select(ROUNDS_OF_FEW, ROUNDS);
        Network { columns, rows, columns_of_last_row: last, rounds, key }
    }

    #[track_caller]
    fn known(places: usize, key: [UInt; 2]) -> Self {
        // An even number of columns: rotating a column of an odd number of rows, or a row of an odd number of columns,
        // never yields an odd permutation.
        let columns = (places.max(1) - 1).isqrt() + 1;
        let columns = columns.next_multiple_of(2);
        let rows = places.div_ceil(columns);
        let rounds = if places <= FEW { ROUNDS_OF_FEW } else { ROUNDS };
        let last = places - rows.saturating_sub(1) * columns;
        let [columns, rows, last] = [columns, rows, last].map(|count| UInt::opaque(count as u32));
        Network { columns, rows, columns_of_last_row: last, rounds: UInt::opaque(rounds), key }
    }
}

impl Generator {
    /// Returns the numbers below a size in random order; all orders are equally likely. Each lane computes its number
    /// where it is used: nothing is evaluated, and a gather with this index shuffles in one pass.
    ///
    /// ```
    /// use jit::prelude::*;
    ///
    /// let mut rng = jit::random::rng(1);
    /// let order = rng.permutation(1000);
    /// // Each number occurs once: as an index of a scatter it reaches every element.
    /// let mut found = UInt::zeros(1000);
    /// found.scatter_add(1, &order);
    /// assert!(found.eq(1).all().item()?);
    /// // Several arrays in the same order, as those of a struct.
    /// let (x, y) = (Float::linspace(0.0, 1.0, 1000), Float::zeros(1000));
    /// let shuffled = jit::trees::gather(&(x, y), &order);
    /// assert_eq!(shuffled.0.len(), 1000);
    /// # Ok::<(), jit::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When the size is above 2³², and if the generator is the state of a traced loop that lanes have exited at
    /// different times, because each lane would have a separate permutation.
    #[must_use]
    #[track_caller]
    pub fn permutation(&mut self, size: impl Into<Size>) -> UInt {
        let size = size.into().settled();
        self.places(size, size)
    }

    /// Returns the first numbers of a permutation.
    #[track_caller]
    fn places(&mut self, size: Size, count: Size) -> UInt {
        if u64::try_from(size.now()).is_ok_and(|size| size > 1 << 32) {
            refuse(
                format!("cannot make a permutation of {size} numbers"),
                "permutations have at most 4294967296 numbers, as 32 bits count them",
            );
        }
        let key = self.key_of_permutation();
        permuted(&UInt::arange(count), &Network::new(size, key))
    }

    /// Returns the elements of an array in random order; all orders are equally likely ([`Generator::permutation`]).
    ///
    /// # Panics
    ///
    /// As [`Generator::permutation`].
    #[must_use]
    #[track_caller]
    pub fn shuffle<T: Element>(&mut self, values: &Array<T>) -> Array<T> {
        values.gather(&self.permutation(values.width()))
    }

    /// Draws some elements of an array in random order, without replacement; [`Generator::choice`] draws with
    /// replacement. The work grows with the number of elements that are drawn, not with the width of the array.
    ///
    /// ```
    /// use jit::prelude::*;
    ///
    /// let balls = UInt::arange(49) + 1;
    /// let drawn = jit::random::rng(7).sample(&balls, 6).to_vec()?;
    /// assert!(drawn.iter().enumerate().all(|(i, ball)| !drawn[..i].contains(ball)));
    /// # Ok::<(), jit::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When the array has fewer elements, and as for [`Generator::permutation`].
    #[must_use]
    #[track_caller]
    pub fn sample<T: Element>(&mut self, from: &Array<T>, count: impl Into<Size>) -> Array<T> {
        let count = count.into();
        if count > from.width() {
            refuse(
                format!("cannot draw {count} elements without replacement from an array of {}", from.width()),
                "draw at most as many as there are; `choice` draws with replacement",
            );
        }
        from.gather(&self.places(from.width(), count))
    }
}

/// Returns the places of some lanes.
#[jit]
fn permuted(lane: &UInt, network: &Network) -> UInt {
    let (mut column, mut row) = (lane % &network.columns, lane / &network.columns);
    let mut is_no_place = lane == lane;
    while is_no_place {
        let mut round = UInt::from(0);
        while round < network.rounds {
            column = rotated(column, hashed(&row, &round, network), &network.columns);
            row = rotated(row, hashed(&column, &(round + 1), network), &network.rows);
            round += 2;
        }
        is_no_place = row == network.rows - 1 && column >= network.columns_of_last_row;
    }
    row * network.columns + column
}

/// Advances a position in a ring by a fraction of the ring, given in 32 bits.
#[jit]
fn rotated(position: UInt, fraction: UInt, ring: &UInt) -> UInt {
    let moved = position + fraction.mul_hi(ring);
    if moved >= ring { moved - ring } else { moved.clone() }
}

/// Returns a hash of a number, a different one in each round and for each key: the function `lowbias32` of C. Wellons,
/// “Prospecting for Hash Functions”, 2018, with a word of the key added before each multiplication.
#[track_caller]
fn hashed(x: &UInt, round: &UInt, network: &Network) -> UInt {
    // The words differ from round to round by Weyl sequences, as in Philox.
    let [first, second] = &network.key;
    let mut h = x ^ (round * WEYL[0] + first);
    h = (&h ^ (&h >> 16)) * 0x7feb_352d_u32 + (round * WEYL[1] + second);
    h = (&h ^ (&h >> 15)) * 0x846c_a68b_u32;
    &h ^ (&h >> 16)
}
