//! The leaves of a value: the arrays in it, which regions replace, and the host values, which must not change in them.

use crate::trace::misuse::Misuse;
use crate::trace::{Var, effect, loops, record};
use crate::traverse::{self, HostValue, Leaf, Traverse, Visitor};
use jit_runtime::ir::{Type, scalar};
use std::panic::Location;

/// The arrays of a value, in the order of its traversal, and what else it consists of.
#[derive(Clone, Default)]
pub(crate) struct Leaves {
    /// The arrays.
    pub(crate) arrays: Vec<Var>,
    /// What the host decides: lengths, variants and numbers.
    host: Vec<HostValue>,
    /// Where the arrays, and what the host decides, stand in the value, if that was asked for.
    paths: [Vec<String>; 2],
}

impl Leaves {
    /// The leaves of a value.
    pub(crate) fn of<X: Traverse + ?Sized>(value: &X) -> Self {
        let mut leaves = Leaves::default();
        value.traverse(&mut Visitor::new(&mut |_, leaf| match leaf {
            Leaf::Array(var) => leaves.arrays.push(var.clone()),
            // It cannot be replaced, so it must stay: as the host's values must.
            Leaf::Shared(var) => leaves.host.push(HostValue::Shared(var.clone())),
            Leaf::Host(value) => leaves.host.push(value),
        }));
        leaves
    }

    /// The leaves of arrays.
    pub(crate) fn of_arrays(arrays: Vec<Var>) -> Self {
        Leaves { arrays, ..Leaves::default() }
    }

    /// The leaves of a value, and where they stand in it.
    pub(super) fn with_paths<X: Traverse + ?Sized>(value: &X) -> Self {
        let mut leaves = Leaves::default();
        let mut paths = [Vec::new(), Vec::new()];
        value.traverse(&mut Visitor::with_paths(&mut |path, leaf| match leaf {
            Leaf::Array(var) => {
                leaves.arrays.push(var.clone());
                paths[0].push(path.to_owned());
            }
            Leaf::Shared(var) => {
                leaves.host.push(HostValue::Shared(var.clone()));
                paths[1].push(path.to_owned());
            }
            Leaf::Host(value) => {
                leaves.host.push(value);
                paths[1].push(path.to_owned());
            }
        }));
        leaves.paths = paths;
        leaves
    }

    /// Replaces the arrays of a value that consists of the same parts.
    pub(crate) fn write<X: Traverse + ?Sized>(&self, value: &mut X) {
        traverse::replace(value, self.arrays.iter().cloned());
    }

    /// Takes the arrays out; as many that stand for nothing stay.
    pub(crate) fn take_arrays(&mut self) -> Vec<Var> {
        let nothing = vec![record::literal(Type::Bool, 0, 1); self.arrays.len()];
        std::mem::replace(&mut self.arrays, nothing)
    }

    /// The same parts with zeros for arrays.
    pub(crate) fn zeroed(&self) -> Self {
        self.with_arrays(&mut self.arrays.iter().map(traverse::zero_like))
    }

    /// The same parts with other arrays, as many of them as belong to this value.
    pub(crate) fn with_arrays(&self, arrays: &mut impl Iterator<Item = Var>) -> Self {
        Leaves { arrays: arrays.take(self.arrays.len()).collect(), host: self.host.clone(), paths: Default::default() }
    }

    /// What the host decides.
    pub(super) fn host_values(&self) -> Vec<HostValue> {
        self.host.clone()
    }

    /// Whether two values cannot be merged, because parts of them that the host decides are different.
    pub(crate) fn differs_in_host_values(&self, other: &Leaves) -> bool {
        self.host != other.host || self.arrays.len() != other.arrays.len()
    }

    /// Where the first host value that differs stands among the host values.
    pub(crate) fn position_of_difference(&self, other: &Leaves) -> Option<usize> {
        self.host.iter().zip(&other.host).position(|(a, b)| a != b)
    }

    /// The first host value that differs, in both.
    pub(crate) fn first_difference(&self, other: &Leaves) -> Option<(String, String)> {
        let differing = self.host.iter().zip(&other.host).find(|(a, b)| a != b);
        differing.map(|(a, b)| (describe(a), describe(b)))
    }
}

/// A host value, as a program would write it.
pub(super) fn describe(value: &HostValue) -> String {
    match value {
        HostValue::Number(Type::Bool, bits) | HostValue::Given(Type::Bool, bits) => (*bits != 0).to_string(),
        HostValue::Number(Type::F32, bits) | HostValue::Given(Type::F32, bits) => {
            format!("{:?}", f32::from_bits(*bits as u32))
        }
        HostValue::Number(ty, bits) | HostValue::Given(ty, bits) if ty.is_float() => {
            format!("{:?}", f64::from_bits(scalar::cast(*ty, Type::F64, *bits)))
        }
        HostValue::Number(ty, bits) | HostValue::Given(ty, bits) if ty.is_signed_integer() => {
            (scalar::cast(*ty, Type::I64, *bits) as i64).to_string()
        }
        HostValue::Number(_, bits) | HostValue::Given(_, bits) => bits.to_string(),
        HostValue::Shape(count) => format!("{count} elements"),
        HostValue::Lengths(lengths) => format!("the shape {lengths:?}"),
        HostValue::Variant(name) => format!("`{name}`"),
        HostValue::Text(text) => text.clone(),
        HostValue::Shared(var) => {
            let site = var.site();
            format!("a reference to the array made at {}:{}", site.file(), site.line())
        }
    }
}

/// A place's name in the program, and its leaves before a region.
pub(crate) struct Named {
    pub(super) name: &'static str,
    pub(super) leaves: Leaves,
}

impl Named {
    /// Refuses a change of how many arrays there are, where the lanes of each are blended.
    pub(super) fn check_arrays(&self, after: &Leaves, site: &'static Location<'static>) {
        if self.leaves.arrays.len() != after.arrays.len() {
            let (name, before, after) = (self.name, self.leaves.arrays.len(), after.arrays.len());
            refuse(
                format!("`{name}` changes from {before} arrays to {after} inside a `while` with a traced condition"),
                "lanes that are done keep what they have, so there must be something for each array: make them before the loop",
                site,
            );
        }
    }

    /// The name of an array of the value, as in `state.rng.inc`.
    fn array(&self, position: usize) -> String {
        if self.name.is_empty() { "a `break`".to_owned() } else { format!("`{}`", self.path(0, position)) }
    }

    fn path(&self, list: usize, position: usize) -> String {
        let path = self.leaves.paths[list].get(position).map_or("", String::as_str);
        let separator = if path.is_empty() || path.starts_with('[') { "" } else { "." };
        format!("{}{separator}{path}", self.name)
    }

    /// Refuses a change of what the host decides: it would hold for all lanes.
    pub(super) fn check_host_values(&self, after: &Leaves, region: &str, site: &'static Location<'static>) {
        if !self.leaves.differs_in_host_values(after) {
            return;
        }
        let differing = self.leaves.host.iter().zip(&after.host).position(|(a, b)| a != b);
        let name = differing.map_or_else(|| self.name.to_owned(), |position| self.path(1, position));
        let change = match self.leaves.first_difference(after) {
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

/// Refuses state whose widths do not fit together, or that a loop changes the width of.
pub(super) fn check_loop(
    before: &[Named],
    params: &[Var],
    after: &[Leaves],
    condition: &Var,
    site: &'static Location<'static>,
) {
    let mut params = params.iter();
    let mut widest: Option<(String, &Var)> = (condition.width() != 1).then(|| ("the condition".to_owned(), condition));
    for (named, after) in before.iter().zip(after) {
        let parts = named.leaves.arrays.iter().zip(&mut params).zip(&after.arrays).enumerate();
        for (position, ((init, param), next)) in parts {
            if passes(init, next) || next.is_same(param) || effect::continues(next, param) {
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

const EQUALLY_WIDE: &str = "all state that a loop changes, and its condition, are equally wide or have width 1";

/// Refuses arms of an `if` that give a variable widths that do not fit together.
pub(super) fn check_branch(
    state: &[Named],
    [then, otherwise]: [&[Leaves]; 2],
    condition: &Var,
    site: &'static Location<'static>,
) {
    for (named, (then, otherwise)) in state.iter().zip(then.iter().zip(otherwise)) {
        for (position, (a, b)) in then.arrays.iter().zip(&otherwise.arrays).enumerate() {
            check_arms(&|| named.array(position), a, b, condition, site);
        }
    }
}

/// Refuses arms of an `if` that give something widths that do not fit together.
pub(super) fn check_arms(
    name: &dyn Fn() -> String,
    a: &Var,
    b: &Var,
    condition: &Var,
    site: &'static Location<'static>,
) {
    let fits = |a: &Var, b: &Var| a.width() == b.width() || a.width() == 1 || b.width() == 1;
    if passes(a, b) || effect::continues(a, b) || effect::continues(b, a) {
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
    Misuse::new(format!("the arms of a traced `if` give {name} {widths}"), site)
        .value("the condition", condition)
        .value("the first arm's value", a)
        .value("the second arm's value", b)
        .hint("they must be equal, or 1")
        .panic();
}

/// Both are the same value, or the same constant.
fn passes(a: &Var, b: &Var) -> bool {
    a.is_same(b) || loops::is_equal_literal(a, b)
}

/// Stops a wrong program.
pub(super) fn refuse(what: String, hint: &str, site: &'static Location<'static>) -> ! {
    Misuse::new(what, site).hint(hint).panic()
}
