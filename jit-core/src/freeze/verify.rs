//! `JIT_FREEZE_VERIFY`: comparing replays with the body.
//!
//! A replay repeats launches, and does not notice other inputs of a body: a `static`, an atomic, a file, the clock. So
//! after a given number of replays the body runs too, unfrozen, on copies of the arguments, and any difference is an
//! error.

use jit_runtime::ir::print::Literal;
use jit_runtime::ir::{Type, scalar};
use jit_runtime::memory::zeroed_list;
use jit_runtime::{Error, ErrorKind, Site};

use super::argument::{Arguments, Recordable};
use super::function::Function;
use super::layout;
use crate::capture;
use crate::graph::Var;
use crate::schedule;
use crate::traverse::{HostValue, Leaf, Visitor};

/// The outcome of the body: the final arguments, and its result.
pub(super) struct Expected<T, R> {
    proxies: T,
    result: R,
}

/// Runs the body on copies of the arguments.
pub(super) fn run<A: Arguments, R>(arguments: &A, body: impl FnOnce(&mut A::Proxies) -> R) -> Expected<A::Proxies, R> {
    let mut proxies = arguments.proxies();
    let _comparing = capture::compare();
    let result = body(&mut proxies);
    Expected { proxies, result }
}

/// A leaf of the returned values.
struct Found {
    path: String,
    what: What,
}

enum What {
    Array(Var),
    Host(HostValue),
}

impl Found {
    fn new(path: &str, leaf: Leaf<'_>) -> Found {
        let what = match leaf {
            Leaf::Array(var) | Leaf::Shared(var) => What::Array(var.clone()),
            Leaf::Host(value) => What::Host(value),
        };
        Found { path: path.to_owned(), what }
    }
}

/// Compares the outcome of a replay with that of the body, to the bit.
///
/// # Errors
///
/// Returns the first difference.
pub(super) fn compare<A: Arguments, R: Recordable>(
    function: &Function,
    site: Site,
    (arguments, result): (&A, &R),
    expected: &Expected<A::Proxies, R>,
) -> Result<(), Error> {
    let (mut given, mut wanted) = (Vec::new(), Vec::new());
    arguments.show(function.parameters, &mut |is_exclusive, show| {
        if is_exclusive {
            show(&mut Visitor::with_paths(&mut |path, leaf| given.push(Found::new(path, leaf))));
        }
    });
    A::show_proxies(&expected.proxies, &mut |is_exclusive, show| {
        if is_exclusive {
            show(&mut Visitor::new(&mut |path, leaf| wanted.push(Found::new(path, leaf))));
        }
    });
    for (tree, found) in [(result, &mut given), (&expected.result, &mut wanted)] {
        let mut visit = |path: &str, leaf: Leaf<'_>| found.push(Found::new(path, leaf));
        Visitor::with_paths(&mut visit).named("result", |visitor| tree.traverse(visitor));
    }
    evaluate(given.iter().chain(&wanted), site)?;
    let stale = |text: String| stale(function, site, &text);
    for (given, wanted) in given.iter().zip(&wanted) {
        if let Some(difference) = difference(given, wanted)? {
            return Err(stale(difference));
        }
    }
    match given.len() == wanted.len() {
        true => Ok(()),
        false => Err(stale(format!("a replay returns {} values, and the body {}", given.len(), wanted.len()))),
    }
}

fn evaluate<'a>(found: impl Iterator<Item = &'a Found>, site: Site) -> Result<(), Error> {
    let arrays = found.filter_map(|found| match &found.what {
        What::Array(var) if !var.is_evaluated() => Some(var),
        _ => None,
    });
    let missing: Vec<&Var> = arrays.collect();
    schedule::evaluate(&missing, "it is compared with a replay", site)
}

/// Describes a difference.
fn difference(given: &Found, wanted: &Found) -> Result<Option<String>, Error> {
    let path = &given.path;
    match (&given.what, &wanted.what) {
        (What::Host(given), What::Host(wanted)) if given == wanted => Ok(None),
        (What::Host(given), What::Host(wanted)) => {
            let [given, wanted] = [given, wanted].map(layout::host_in_words);
            Ok(Some(format!("a replay computes `{path}` as {given}, and the body as {wanted}")))
        }
        (What::Array(given), What::Array(wanted)) => differing_element(path, given, wanted),
        _ => Ok(Some(format!("a replay and the body compute different values of `{path}`"))),
    }
}

fn differing_element(path: &str, given: &Var, wanted: &Var) -> Result<Option<String>, Error> {
    let made = wanted.site();
    let line = format!("which the body computes at {}:{}", made.file(), made.line());
    if given.lanes() != wanted.lanes() {
        let widths = (given.lanes(), wanted.lanes());
        return Ok(Some(format!(
            "a replay computes `{path}` with {} elements, and the body with {}, {line}",
            widths.0, widths.1
        )));
    }
    let (ty, size) = (given.ty(), given.ty().size_bytes());
    let (ours, theirs) = (bytes(given)?, bytes(wanted)?);
    let both = ours.chunks(size).zip(theirs.chunks(size)).map(|(a, b)| (bits(ty, a), bits(ty, b)));
    let first = both.enumerate().find(|(_, (a, b))| a != b);
    Ok(first.map(|(index, (a, b))| {
        let (a, b) = (Literal(ty, a), Literal(ty, b));
        format!("a replay computes `{path}[{index}]` as {a}, and the body as {b}, {line}")
    }))
}

/// Returns the bytes of an evaluated array.
fn bytes(var: &Var) -> Result<Vec<u8>, Error> {
    let (ty, size) = (var.ty(), var.ty().size_bytes());
    let mut bytes = zeroed_list(var.lanes() * size)?;
    match (var.known_bits(), var.data()) {
        (Some(bits), _) => bytes.chunks_mut(size).for_each(|chunk| chunk.copy_from_slice(&bits.to_le_bytes()[..size])),
        (None, Some(buffer)) => buffer.read(0, &mut bytes)?,
        (None, None) => return Err(Error::new(ErrorKind::NotEvaluated, format!("an array of {ty} has no elements"))),
    }
    Ok(bytes)
}

fn bits(ty: Type, bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(word);
    if ty == Type::Bool { scalar::cast(Type::U8, Type::Bool, bits) } else { bits }
}

#[cold]
fn stale(function: &Function, site: Site, what: &str) -> Error {
    let (name, place) = (function.name, function.site);
    let message = format!(
        "a replay of the frozen function `{name}` ({}:{}) differs from its body: {what}",
        place.file(),
        place.line()
    );
    Error::new(ErrorKind::Stale, message).at(site).with_hint(
        "the body reads something that is not an argument, such as a `static`, an atomic, a file or the time: pass it \
         as an argument, or name arrays in `#[freeze(state = |…| …)]`",
    )
}
