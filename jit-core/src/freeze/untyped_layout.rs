//! The arguments of a recording from a file, for programs that do not know their types: which arrays and numbers a call
//! passes, by the key that the file has, and by the paths of its parts.

use jit_runtime::ir::Type;
use jit_runtime::{Error, ErrorKind};

use super::layout::{Form, Tag};
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

/// An array or a number among the arguments of a recording.
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

/// An array that a call returns.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct UntypedReturn {
    /// Its path: that of the argument that the call changes, or `result`.
    pub path: String,
    /// The type of its elements.
    pub ty: Type,
    /// The number of its axes; 0 for an array without axes.
    pub axes: usize,
}

/// An input of a recording.
pub(super) enum UntypedInput {
    /// The argument at a position, and the form in which the recording takes it.
    Argument(usize, Form),
    /// A number expression that is combined with arrays.
    Expression(Type, String),
}

/// What a call passes, and what becomes of it.
#[derive(Default)]
pub(super) struct UntypedLayout {
    pub(super) arguments: Vec<UntypedArgument>,
    pub(super) inputs: Vec<UntypedInput>,
    /// The arguments with axes, in the order in which the recording takes their lengths.
    pub(super) with_axes: Vec<usize>,
    /// The arrays that a call changes.
    pub(super) changed: Vec<UntypedReturn>,
    /// The host values that are part of the recording, with their paths.
    pub(super) fixed: Vec<(String, String)>,
}

/// Which of the arrays in a key are number expressions that are combined with arrays.
pub(super) struct Expressions<'a> {
    /// So many of the last arrays are: those of an executor.
    pub(super) last: usize,
    /// Constants with these paths are: those of a frozen function.
    pub(super) texts: &'a [String],
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
        form: Form,
    },
    /// An input that is passed at another place, too.
    Repeated {
        of: usize,
        is_shared: bool,
    },
    Number(Type),
    /// The axes of the next array.
    Axes,
    /// A host value.
    Fixed,
}

impl Part {
    /// Reads the leaf at the begin of the words of a key, after the lengths of its axes; returns its number of words,
    /// too.
    fn read(words: &[u64], axes: &mut usize) -> Result<(Part, usize), Error> {
        let word = *words.first().ok_or_else(strange)?;
        let ty = |shift: u32| Type::ALL.get((word >> shift & 0xff) as usize).copied().ok_or_else(strange);
        let is_shared = word >> 40 & 1 == 1;
        Ok(match Tag::of(word) {
            Some(Tag::Array) if word >> 41 == 0 => {
                let form = Form::of_word(word).ok_or_else(strange)?;
                (Part::Array { ty: ty(16)?, axes: std::mem::take(axes), is_shared, form }, 1)
            }
            Some(Tag::Repeated) => {
                *axes = 0;
                (Part::Repeated { of: (word >> 8 & 0xffff_ffff) as usize, is_shared }, 1)
            }
            Some(Tag::Lengths) => {
                *axes = (word >> 8) as usize;
                (Part::Axes, 1)
            }
            Some(Tag::Number) if is_shared => (Part::Number(ty(8)?), 1),
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
        (Part::Repeated { .. } | Part::Axes | Part::Fixed, (_, _, is_number)) => !is_number,
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
    signature: (&[String], &[String]),
    expressions: &Expressions<'_>,
) -> Result<UntypedLayout, Error> {
    let parts = parts(words, summary)?;
    let passed = parts.iter().filter(|part| matches!(part, Part::Array { .. } | Part::Number(_))).count();
    let own = passed.checked_sub(expressions.last).ok_or_else(strange)?;
    let mut layout = UntypedLayout::default();
    let (mut last, mut met) = ("", 0);
    for (part, leaf) in parts.iter().zip(summary) {
        let ((path, is_array, is_number), before) = (leaf.part(), std::mem::replace(&mut last, leaf.part().0));
        match *part {
            Part::Axes => {}
            Part::Fixed => layout.fixed.push((path.to_owned(), leaf.value().to_owned())),
            Part::Repeated { of, is_shared } => layout.repeated(path, (of, is_shared), signature)?,
            // The lengths of its axes are part of the recording, and no call passes them.
            Part::Array { is_shared: true, .. } if path == before => return Err(strange()),
            Part::Array { ty, is_shared, form, .. }
                if is_array && (met >= own || (!is_shared && expressions.has(form, path))) =>
            {
                layout.inputs.push(UntypedInput::Expression(ty, path.to_owned()));
            }
            Part::Array { ty, axes, is_shared, form } if is_array => {
                layout.array((path, ty, axes), (is_shared, form), signature);
            }
            Part::Number(ty) if is_number && met < own => {
                let (ty, kind) = (type_of_number(ty, path, signature), ArgumentKind::Number);
                layout.arguments.push(UntypedArgument { path: path.to_owned(), ty, kind });
            }
            Part::Array { .. } | Part::Number(_) => return Err(strange()),
        }
        met += usize::from(matches!(part, Part::Array { .. } | Part::Number(_)));
    }
    Ok(layout)
}

impl Expressions<'_> {
    /// Returns whether a constant is an expression by its path.
    fn has(&self, form: Form, path: &str) -> bool {
        form == Form::Literal && self.texts.iter().any(|text| text == path)
    }
}

impl UntypedLayout {
    /// Adds an array.
    fn array(
        &mut self,
        (path, ty, axes): (&str, Type, usize),
        (is_shared, form): (bool, Form),
        signature: (&[String], &[String]),
    ) {
        let (is_changed, position) = (!is_shared && is_changed(path, signature), self.arguments.len());
        self.inputs.push(UntypedInput::Argument(position, form));
        self.arguments.push(UntypedArgument {
            path: path.to_owned(),
            ty,
            kind: ArgumentKind::Array { is_changed, axes },
        });
        self.with_axes.extend((axes > 0).then_some(position));
        if is_changed {
            self.changed.push(UntypedReturn { path: path.to_owned(), ty, axes });
        }
    }

    /// Names the sizes from which the recording computes others.
    pub(super) fn names_of_sizes(&self) -> Vec<String> {
        let path = |input: &UntypedInput| match input {
            UntypedInput::Argument(at, _) => format!("{}.width()", self.arguments[*at].path),
            UntypedInput::Expression(_, text) => format!("{text}.width()"),
        };
        let mut names: Vec<String> = self.inputs.iter().map(path).collect();
        for argument in self.with_axes.iter().map(|at| &self.arguments[*at]) {
            if let ArgumentKind::Array { axes, .. } = argument.kind {
                names.extend((0..axes).map(|axis| format!("{}.shape[{axis}]", argument.path)));
            }
        }
        names
    }

    /// Adds a place of an array that is passed at another one.
    fn repeated(
        &mut self,
        path: &str,
        (of, is_shared): (usize, bool),
        signature: (&[String], &[String]),
    ) -> Result<(), Error> {
        let Some(&UntypedInput::Argument(position, _)) = self.inputs.get(of) else { return Err(strange()) };
        let UntypedArgument { ty, kind: ArgumentKind::Array { axes, .. }, .. } = self.arguments[position] else {
            return Err(strange());
        };
        self.with_axes.extend((axes > 0).then_some(position));
        if !is_shared && is_changed(path, signature) {
            self.changed.push(UntypedReturn { path: path.to_owned(), ty, axes });
        }
        Ok(())
    }
}

/// Returns the type of a number. Keys have the bits of an `isize` as those of a `usize`.
fn type_of_number(ty: Type, name: &str, (names, types): (&[String], &[String])) -> Type {
    let is_isize = names.iter().zip(types).any(|(own, ty)| own == name && ty == "isize");
    if is_isize { Type::I64 } else { ty }
}

/// Returns whether the part at a path belongs to an argument that a call changes.
fn is_changed(path: &str, (names, types): (&[String], &[String])) -> bool {
    let is_of =
        |name: &str| path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
    names.iter().zip(types).any(|(name, ty)| is_of(name) && ty.starts_with("&mut "))
}
