//! The arguments of an executor from a file, for programs that do not know their types: which arrays and numbers a call
//! passes, by the key that the file has, and by the paths of its parts.

use jit_runtime::ir::Type;
use jit_runtime::{Error, ErrorKind};

use super::layout::Tag;
use super::mismatch::Summary;

/// What a call passes as an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ArgumentKind {
    /// An array.
    Array {
        /// Whether a call changes it: then its new contents are a result.
        is_changed: bool,
        /// The number of its axes, whose lengths a call passes, too; 0 for an array without axes.
        axes: usize,
    },
    /// A number.
    Number,
}

/// An array or a number among the arguments of an executor.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct UntypedArgument {
    /// Its path: `x`, or `state.counts[1]`.
    pub path: String,
    /// The type of its elements.
    pub ty: Type,
    /// What it is.
    pub kind: ArgumentKind,
}

/// The arguments of calls, and the types of the number expressions after them.
pub(super) struct UntypedLayout {
    pub(super) arguments: Vec<UntypedArgument>,
    pub(super) lifted: Vec<Type>,
}

fn strange() -> Error {
    Error::new(ErrorKind::InvalidArgument, "its arguments are none that arrays and numbers alone can stand for")
        .with_hint("use arrays, tensors, numbers, and structs and lists of them in the signature of the function")
}

/// A leaf of the arguments as the key describes it.
#[derive(Clone, Copy)]
enum Part {
    Array {
        ty: Type,
        axes: usize,
        is_shared: bool,
    },
    Number(Type),
    /// A leaf that no call passes: a host value of the compilation, or an array that is passed at another place.
    Fixed,
}

impl Part {
    /// Reads the leaf at the begin of the words of a key, after the lengths of its axes; returns its number of words,
    /// too.
    fn read(words: &[u64], axes: &mut usize) -> Result<(Part, usize), Error> {
        let word = *words.first().ok_or_else(strange)?;
        let ty = |shift: u32| Type::ALL.get((word >> shift & 0xff) as usize).copied().ok_or_else(strange);
        Ok(match Tag::of(word) {
            Some(Tag::Array) if word >> 41 == 0 => {
                let (axes, is_shared) = (std::mem::take(axes), word >> 40 & 1 == 1);
                (Part::Array { ty: ty(16)?, axes, is_shared }, 1)
            }
            Some(Tag::Repeated) => {
                *axes = 0;
                (Part::Fixed, 1)
            }
            Some(Tag::Lengths) => {
                *axes = (word >> 8) as usize;
                (Part::Fixed, 1)
            }
            Some(Tag::Number) if word >> 40 & 1 == 1 => (Part::Number(ty(8)?), 1),
            Some(Tag::Number | Tag::Shape) => (Part::Fixed, 2),
            Some(Tag::Variant) => (Part::Fixed, 1 + words_of_text(&words[1..]).ok_or_else(strange)?),
            Some(Tag::Text) => (Part::Fixed, words_of_text(words).ok_or_else(strange)?),
            Some(Tag::Array | Tag::Shared) | None => return Err(strange()),
        })
    }
}

/// Returns the number of words of a text: its length, then its bytes.
fn words_of_text(words: &[u64]) -> Option<usize> {
    let word = *words.first()?;
    let size = 1 + ((word >> 8) as usize).div_ceil(8);
    (matches!(Tag::of(word), Some(Tag::Text)) && size <= words.len()).then_some(size)
}

/// Returns for each text how many other leaves are before it, if the words are this number of texts.
fn places_of_texts(mut words: &[u64], count: usize) -> Option<Vec<usize>> {
    let mut places = Vec::new();
    for _ in 0..count {
        let (place, text) = words.split_first()?;
        places.push(usize::try_from(*place).ok()?);
        words = &text[words_of_text(text)?..];
    }
    words.is_empty().then_some(places)
}

/// Returns all leaves, if the words after those that were read are texts, and the leaves are those of the summary.
fn with_texts(parts: &[Part], words: &[u64], summary: &[Summary]) -> Option<Vec<Part>> {
    let mut all = parts.to_vec();
    let places = places_of_texts(words, summary.len().checked_sub(parts.len())?)?;
    for (texts_before, others_before) in places.into_iter().enumerate() {
        let place = texts_before.checked_add(others_before).filter(|place| *place <= all.len())?;
        all.insert(place, Part::Fixed);
    }
    let fits = |(part, leaf): (&Part, &Summary)| match (part, leaf.part()) {
        (Part::Array { .. }, (_, is_array, _)) => is_array,
        (Part::Number(_), (_, _, is_number)) => is_number,
        (Part::Fixed, (_, _, is_number)) => !is_number,
    };
    all.iter().zip(summary).all(fits).then_some(all)
}

/// Reads the leaves of a key, in the order of the arguments. Texts are at the end of a key, after all other leaves. The
/// words of a variant could be those of a text, too: the summary says which leaves they are.
fn parts(words: &[u64], summary: &[Summary]) -> Result<Vec<Part>, Error> {
    let (mut parts, mut axes) = (Vec::new(), 0);
    let mut rest = words.get(1..).ok_or_else(strange)?;
    loop {
        if let Some(all) = with_texts(&parts, rest, summary) {
            return Ok(all);
        }
        let (part, size) = Part::read(rest, &mut axes)?;
        parts.push(part);
        rest = rest.get(size..).ok_or_else(strange)?;
    }
}

/// Describes the arguments of calls: by the key, the paths of its parts, and the names and types of the parameters.
pub(super) fn describe(
    words: &[u64],
    summary: &[Summary],
    (names, types): (&[String], &[String]),
    lifted: usize,
) -> Result<UntypedLayout, Error> {
    let parts = parts(words, summary)?;
    let passed = parts.iter().filter(|part| !matches!(part, Part::Fixed)).count();
    let own = passed.checked_sub(lifted).ok_or_else(strange)?;
    let mut layout = UntypedLayout { arguments: Vec::new(), lifted: Vec::new() };
    let mut last = "";
    for (part, leaf) in parts.iter().zip(summary) {
        let ((path, is_array, is_number), before) = (leaf.part(), std::mem::replace(&mut last, leaf.part().0));
        let is_own = layout.arguments.len() < own;
        let (ty, kind) = match *part {
            Part::Fixed => continue,
            Part::Array { ty, .. } if is_array && !is_own => {
                layout.lifted.push(ty);
                continue;
            }
            // The lengths of its axes are part of the recording, and no call passes them.
            Part::Array { is_shared: true, .. } if path == before => return Err(strange()),
            Part::Array { ty, axes, is_shared } if is_array => {
                let is_changed = !is_shared && is_changed(path, names, types);
                (ty, ArgumentKind::Array { is_changed, axes })
            }
            Part::Number(ty) if is_number && is_own => (type_of_number(ty, path, names, types), ArgumentKind::Number),
            Part::Array { .. } | Part::Number(_) => return Err(strange()),
        };
        layout.arguments.push(UntypedArgument { path: path.to_owned(), ty, kind });
    }
    Ok(layout)
}

/// Returns the type of a number. Keys have the bits of an `isize` as those of a `usize`.
fn type_of_number(ty: Type, name: &str, names: &[String], types: &[String]) -> Type {
    let is_isize = names.iter().zip(types).any(|(own, ty)| own == name && ty == "isize");
    if is_isize { Type::I64 } else { ty }
}

/// Returns whether the part at a path belongs to an argument that a call changes.
fn is_changed(path: &str, names: &[String], types: &[String]) -> bool {
    let is_of =
        |name: &str| path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
    names.iter().zip(types).any(|(name, ty)| is_of(name) && ty.starts_with("&mut "))
}
