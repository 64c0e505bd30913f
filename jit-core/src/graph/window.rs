//! Free nodes of one window of memory, of which the one with the lowest address is taken first.
//!
//! So the nodes of a program that is traced again are where they were, in whichever order they were freed, and value
//! numbering finds its entries one after another ([`super::numbering`]).

use std::cell::Cell;
use std::ptr::{self, NonNull};

use super::node::Node;

/// The number of nodes in a window, as in a chunk.
pub(super) const NODES: usize = 1024;
/// The bytes of a window, which is aligned.
const BYTES: usize = NODES * size_of::<Node>();
const WORDS: usize = NODES / u64::BITS as usize;

/// Dead nodes that the thread owns.
pub(super) struct Window {
    address: Cell<usize>,
    /// Which words are not zero.
    words_in_use: Cell<u16>,
    /// A bit for each node.
    words: [Cell<u64>; WORDS],
}

impl Window {
    pub(super) const fn new() -> Window {
        let words = [const { Cell::new(0) }; WORDS];
        Window { address: Cell::new(0), words_in_use: Cell::new(0), words }
    }

    /// Goes to the window of a node; it must be empty.
    pub(super) fn go_to(&self, node: NonNull<Node>) {
        let address = node.addr().get();
        self.address.set(address - address % BYTES);
    }

    /// Adds a node; returns false if it is outside of the window.
    #[inline(always)]
    pub(super) fn add(&self, node: NonNull<Node>) -> bool {
        let offset = node.as_ptr().expose_provenance().wrapping_sub(self.address.get());
        if offset >= BYTES {
            return false;
        }
        let position = offset / size_of::<Node>();
        let (word, bit) = (position / u64::BITS as usize, 1 << (position % u64::BITS as usize));
        self.words[word].set(self.words[word].get() | bit);
        self.words_in_use.set(self.words_in_use.get() | 1 << word);
        true
    }

    /// Removes the node with the lowest address.
    #[inline(always)]
    pub(super) fn take(&self) -> Option<NonNull<Node>> {
        let words_in_use = self.words_in_use.get();
        if words_in_use == 0 {
            return None;
        }
        let word = words_in_use.trailing_zeros();
        let bits = &self.words[word as usize % WORDS];
        let bit = bits.get().trailing_zeros();
        bits.set(bits.get() & (bits.get() - 1));
        if bits.get() == 0 {
            self.words_in_use.set(words_in_use & (words_in_use - 1));
        }
        let position = (word * u64::BITS + bit) as usize;
        NonNull::new(ptr::with_exposed_provenance_mut(self.address.get() + position * size_of::<Node>()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_address_is_taken_first_and_nodes_outside_are_refused() {
        let nodes: Box<[Node]> = (0..3 * NODES).map(|_| Node::dead()).collect();
        // A window in the middle of the nodes.
        let first = nodes.iter().position(|node| ptr::from_ref(node).addr() % BYTES == 0).expect("a beginning");
        let node = |position: usize| NonNull::from(&nodes[position]);
        let window = Window::new();
        assert!(window.take().is_none());
        window.go_to(node(first + 100));
        assert!(!window.add(node(first + NODES)) && (first == 0 || !window.add(node(first - 1))));
        // In an order without any order.
        for step in 0..NODES {
            assert!(window.add(node(first + step * 389 % NODES)));
        }
        for position in 0..NODES / 2 {
            assert_eq!(window.take(), Some(node(first + position)));
        }
        assert!(window.add(node(first + 7)) && window.add(node(first + 450)));
        assert_eq!((window.take(), window.take()), (Some(node(first + 7)), Some(node(first + 450))));
        for position in NODES / 2..NODES {
            assert_eq!(window.take(), Some(node(first + position)));
        }
        assert!(window.take().is_none());
    }
}
