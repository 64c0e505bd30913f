//! The leaves of a value: the arrays in it, which regions replace, and the host values, which must not change in them.

use crate::trace::Var;
use crate::trace::misuse::Misuse;
use crate::traverse::Traverse;
use std::panic::Location;

/// The arrays of a value, in the order of its traversal, and what else it consists of.
#[derive(Clone, Default, Debug)]
pub struct Leaves {
    /// The arrays.
    pub(super) arrays: Vec<Var>,
    /// What the host decides, as text: lengths, variants and numbers.
    host: Vec<String>,
}

impl Leaves {
    /// The leaves of a value.
    pub(super) fn of<X: Traverse + ?Sized>(value: &X) -> Self {
        let mut leaves = Leaves::default();
        crate::traverse::stub_leaves(value, &mut leaves.arrays, &mut leaves.host);
        leaves
    }

    /// Replaces the arrays of a value that consists of the same parts.
    pub(super) fn write<X: Traverse + ?Sized>(&self, value: &mut X) {
        crate::traverse::stub_replace(value, &self.arrays);
    }

    /// The same parts with other arrays, as many of them as belong to this value.
    pub(super) fn with_arrays(&self, arrays: &mut impl Iterator<Item = Var>) -> Self {
        Leaves { arrays: arrays.take(self.arrays.len()).collect(), host: self.host.clone() }
    }

    /// Whether two values cannot be merged, because parts of them that the host decides are different.
    pub(super) fn differs_in_host_values(&self, other: &Leaves) -> bool {
        self.host != other.host || self.arrays.len() != other.arrays.len()
    }

    /// The host values, for a message.
    pub(super) fn describe(&self) -> String {
        match self.host.as_slice() {
            [one] => format!("`{one}`"),
            many => format!("`{}`", many.join(", ")),
        }
    }

    /// The first host value that is another one in `after`, before and after.
    fn first_change<'a>(&'a self, after: &'a Leaves) -> Option<(&'a str, &'a str)> {
        let changed = self.host.iter().zip(&after.host).find(|(a, b)| a != b);
        changed.map(|(a, b)| (a.as_str(), b.as_str()))
    }
}

/// A place's name in the program, and its leaves before a region.
#[derive(Debug)]
pub struct Named {
    pub(super) name: &'static str,
    pub(super) leaves: Leaves,
}

impl Named {
    /// Refuses a change of what the host decides: it would hold for all lanes.
    pub(super) fn check_host_values(&self, after: &Leaves, region: &str, site: &'static Location<'static>) {
        if !self.leaves.differs_in_host_values(after) {
            return;
        }
        let name = self.name;
        let change = match self.leaves.first_change(after) {
            Some((before, after)) => format!("changes from {before} to {after}"),
            None => format!("changes from {} arrays to {}", self.leaves.arrays.len(), after.arrays.len()),
        };
        refuse(
            format!("the host variable `{name}` {change} inside {region} with a traced condition"),
            "such code is recorded once, for all lanes: make the variable an array, as in `UInt::from(0)`",
            site,
        );
    }
}

/// Stops a wrong program.
pub(super) fn refuse(what: String, hint: &str, site: &'static Location<'static>) -> ! {
    Misuse::new(what, site).hint(hint).panic()
}
