//! The state of a region: the values that may change in it, and those that must be unchanged after it.

use jit_runtime::Site;

use crate::graph::Var;
use crate::misuse::Misuse;
use crate::trace::{loops, scatter};
use crate::traverse::leaves::Leaves;

/// What to write instead of `list.push(x)`.
const GROWING: &str = "a list grows on the host only: write each iteration's value to an array that is made before, as \
    in `values[i] = x`, or to a `Local`, or run the loop on the host, as in `for _ in 0..n`";

/// A place's name in the program, and its leaves before a region.
pub(crate) struct Named {
    pub(super) name: &'static str,
    pub(super) leaves: Leaves,
}

impl Named {
    /// Rejects a change of the number of arrays, where the lanes of each are blended.
    pub(super) fn check_arrays(&self, after: &Leaves, site: Site) {
        if self.leaves.arrays.len() != after.arrays.len() {
            let (name, before, after) = (self.name, self.leaves.arrays.len(), after.arrays.len());
            refuse(
                format!("`{name}` changes from {before} arrays to {after} inside a `while` with a traced condition"),
                &format!(
                    "finished lanes retain their values, so each array needs an initial value: make the arrays before \
                     the loop; {GROWING}"
                ),
                site,
            );
        }
    }

    /// Returns the name of an array of the value, as in `state.rng.inc`.
    fn array(&self, position: usize) -> String {
        if self.name.is_empty() { "a `break`".to_owned() } else { format!("`{}`", self.path(0, position)) }
    }

    fn path(&self, list: usize, position: usize) -> String {
        let path = self.leaves.paths[list].get(position).map_or("", String::as_str);
        let separator = if path.is_empty() || path.starts_with('[') { "" } else { "." };
        format!("{}{separator}{path}", self.name)
    }

    /// Rejects a change of a host value: it would hold for all lanes.
    pub(super) fn check_host_values(&self, after: &Leaves, region: &str, site: Site) {
        if !self.leaves.differs_in_host_values(after) {
            return;
        }
        let differing = self.leaves.host.iter().zip(&after.host).position(|(a, b)| a != b);
        let name = differing.map_or_else(|| self.name.to_owned(), |position| self.path(1, position));
        let change = match self.leaves.first_difference(after) {
            Some((before, after)) => format!("changes from {before} to {after}"),
            None => format!("changes from {} arrays to {}", self.leaves.arrays.len(), after.arrays.len()),
        };
        let hint = match self.leaves.arrays.len() == after.arrays.len() {
            true => "make the variable an array, as in `UInt::from(0)`",
            false => GROWING,
        };
        refuse(
            format!("the host variable `{name}` {change} inside {region} with a traced condition"),
            &format!("such code is recorded once, for all lanes: {hint}"),
            site,
        );
    }
}

/// Rejects state whose widths do not match, or whose width changes in a loop.
pub(super) fn check_loop(before: &[Named], params: &[Var], after: &[Leaves], condition: &Var, site: Site) {
    let mut params = params.iter();
    let mut widest: Option<(String, &Var)> = (condition.width() != 1).then(|| ("the condition".to_owned(), condition));
    for (named, after) in before.iter().zip(after) {
        let parts = named.leaves.arrays.iter().zip(&mut params).zip(&after.arrays).enumerate();
        for (position, ((init, param), next)) in parts {
            if passes(init, next) || next.is_same(param) || scatter::is_version_of(next, param) {
                continue;
            }
            if init.width() != next.width() && init.width() != 1 && next.width() != 1 {
                let (name, from, to) = (named.array(position), init.width(), next.width());
                let what = format!(
                    "the state variable {name} has width {from} before a traced `while` and width {to} after its body"
                );
                Misuse::new(what, site)
                    .value("before the loop it", init)
                    .value("after the body it", next)
                    .hint(EQUALLY_WIDE)
                    .panic();
            }
            let wide = if next.width() == 1 { init } else { next };
            match &widest {
                _ if wide.width() == 1 => {}
                None => widest = Some((named.array(position), wide)),
                Some((other, other_var)) if other_var.width() != wide.width() => {
                    let (name, width) = (named.array(position), wide.width());
                    let what = format!(
                        "a traced `while` carries {other} of width {} and {name} of width {width}",
                        other_var.width()
                    );
                    Misuse::new(what, site).value(other, other_var).value(&name, wide).hint(EQUALLY_WIDE).panic();
                }
                Some(_) => {}
            }
        }
    }
}

const EQUALLY_WIDE: &str = "all state that a loop changes, and its condition, must have the same width, or width 1";

/// Rejects arms of an `if` that assign values of mismatching widths to a variable.
pub(super) fn check_branch(state: &[Named], [then, otherwise]: [&[Leaves]; 2], condition: &Var, site: Site) {
    for (named, (then, otherwise)) in state.iter().zip(then.iter().zip(otherwise)) {
        for (position, (a, b)) in then.arrays.iter().zip(&otherwise.arrays).enumerate() {
            check_arms(&|| named.array(position), a, b, condition, site);
        }
    }
}

/// Rejects arms of an `if` whose values have mismatching widths.
pub(super) fn check_arms(name: &dyn Fn() -> String, a: &Var, b: &Var, condition: &Var, site: Site) {
    let fits = |a: &Var, b: &Var| a.width() == b.width() || a.width() == 1 || b.width() == 1;
    if passes(a, b) || scatter::is_version_of(a, b) || scatter::is_version_of(b, a) {
        return;
    }
    let (name, widths) = if !fits(a, b) {
        (name(), format!("widths {} and {}", a.width(), b.width()))
    } else {
        let wide = if a.width() == 1 { b } else { a };
        if fits(condition, wide) {
            return;
        }
        (name(), format!("width {}, on a condition of width {}", wide.width(), condition.width()))
    };
    Misuse::new(format!("the arms of a traced `if` assign {name} {widths}"), site)
        .value("the condition", condition)
        .value("the first arm's value", a)
        .value("the second arm's value", b)
        .hint("they must be equal, or 1")
        .panic();
}

/// Returns whether both are the same value, or the same constant.
fn passes(a: &Var, b: &Var) -> bool {
    a.is_same(b) || loops::is_equal_literal(a, b)
}

/// Panics for an incorrect program.
pub(super) fn refuse(what: String, hint: &str, site: Site) -> ! {
    Misuse::new(what, site).hint(hint).panic()
}
