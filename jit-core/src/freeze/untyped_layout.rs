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

/// An array or number as the key describes it.
enum Part {
    Array(Type, usize),
    Number(Type),
}

/// Reads the parts of a key that calls pass, in order.
fn parts(words: &[u64]) -> Result<Vec<Part>, Error> {
    let (mut parts, mut axes, mut at) = (Vec::new(), 0, 1);
    let ty = |word: u64, shift: u32| Type::ALL.get((word >> shift & 0xff) as usize).copied().ok_or_else(strange);
    while let Some(&word) = words.get(at) {
        at += 1;
        match Tag::of(word) {
            Some(Tag::Array) if word >> 40 == 0 => parts.push(Part::Array(ty(word, 16)?, std::mem::take(&mut axes))),
            Some(Tag::Lengths) => axes = (word >> 8) as usize,
            Some(Tag::Number) if word >> 40 & 1 == 1 => parts.push(Part::Number(ty(word, 8)?)),
            // A host value of the compilation, which no call passes.
            Some(Tag::Number | Tag::Shape) => at += 1,
            Some(Tag::Variant) => {}
            Some(Tag::Text) => at += ((word >> 8) as usize).div_ceil(8),
            _ => return Err(strange()),
        }
    }
    Ok(parts)
}

/// Describes the arguments of calls: by the key, the paths of its parts, and the names and types of the parameters.
pub(super) fn describe(
    words: &[u64],
    summary: &[Summary],
    (names, types): (&[String], &[String]),
    lifted: usize,
) -> Result<UntypedLayout, Error> {
    let parts = parts(words)?;
    let paths: Vec<(&str, bool)> = summary
        .iter()
        .map(Summary::part)
        .filter(|(_, is_array, is_number)| *is_array || *is_number)
        .map(|(path, _, is_number)| (path, is_number))
        .collect();
    let own = parts.len().checked_sub(lifted).filter(|_| paths.len() == parts.len()).ok_or_else(strange)?;
    let mut layout = UntypedLayout { arguments: Vec::new(), lifted: Vec::new() };
    for (position, (part, &(path, is_number))) in parts.iter().zip(&paths).enumerate() {
        let (ty, kind) = match *part {
            Part::Array(ty, _) if position >= own => {
                layout.lifted.push(ty);
                continue;
            }
            Part::Array(ty, axes) if !is_number => {
                (ty, ArgumentKind::Array { is_changed: is_changed(path, names, types), axes })
            }
            Part::Number(ty) if is_number && position < own => (ty, ArgumentKind::Number),
            _ => return Err(strange()),
        };
        layout.arguments.push(UntypedArgument { path: path.to_owned(), ty, kind });
    }
    Ok(layout)
}

/// Returns whether the part at a path belongs to an argument that a call changes.
fn is_changed(path: &str, names: &[String], types: &[String]) -> bool {
    let is_of =
        |name: &str| path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
    names.iter().zip(types).any(|(name, ty)| is_of(name) && ty.starts_with("&mut "))
}
