//! The signature of a function in a file: the names and types of its parameters, and the type of its result.
//!
//! Types are texts, so a program that has renamed a type must save its functions anew. What is in a type is compared
//! elsewhere: arguments in each call, results when they are constructed.

use std::any::{TypeId, type_name};
use std::marker::PhantomData;

use jit_runtime::recording::file::{Read, Reader, Writer};
use jit_runtime::{Error, ErrorKind};

/// The types in a signature, as files have them: without modules and lifetimes, which may change.
///
/// `for<'a> fn(&'a jit::array::Array<f32>, u32) -> my::State` is `["&Array<f32>", "u32"]`, `"State"`.
pub(super) fn types_of<F>() -> (Vec<String>, String) {
    split(&without_paths(type_name::<F>()))
}

/// The types in a signature, with the modules in which they are defined.
///
/// `for<'a> fn(&'a jit::array::Array<f32>, u32) -> my::State` is `["&jit::array::Array<f32>", "u32"]`, `"my::State"`.
pub(crate) fn full_types_of<F>() -> (Vec<String>, String) {
    split(&without_lifetimes(type_name::<F>()))
}

fn split(signature: &str) -> (Vec<String>, String) {
    let body = signature.split_once("fn(").map_or("", |(_, body)| body);
    let (mut depth, mut parts, mut part) = (0_i32, Vec::new(), String::new());
    let mut rest = body.char_indices();
    for (at, character) in rest.by_ref() {
        match character {
            ')' if depth == 0 => {
                let result = body[at + 1..].trim_start().strip_prefix("->").map_or("()", str::trim);
                parts.extend((!part.trim().is_empty()).then(|| part.trim().to_owned()));
                return (parts, result.to_owned());
            }
            ',' if depth == 0 => parts.push(std::mem::take(&mut part).trim().to_owned()),
            _ => {
                depth += i32::from("(<[".contains(character)) - i32::from(")>]".contains(character));
                part.push(character);
            }
        }
    }
    (parts, String::new())
}

/// Writes the signature of a function: the names and types of its parameters, and the type of its result.
pub(super) fn write_types<F>(writer: &mut Writer, parameters: &[&str], lifted: usize) {
    let (types, result) = types_of::<F>();
    writer.list(parameters.iter().take(types.len()), |writer, name| writer.text(name));
    writer.list(types.iter(), |writer, ty| writer.text(ty));
    writer.text(&result);
    writer.number(lifted as u64);
}

/// What a file of a frozen function has besides its signature; none of version 1.
#[derive(Default)]
pub(super) struct More {
    /// The number expressions that may be combined with arrays.
    pub(super) texts: Vec<String>,
    /// The generic arguments, and those of the type that it is a method of.
    pub(super) generics: String,
}

impl More {
    /// Describes a function with some signature and parameters.
    pub(super) fn of<F>(parameters: &[&str], instance: Option<Instance>) -> More {
        let texts = parameters.iter().skip(types_of::<F>().0.len()).map(|text| (*text).to_owned());
        More { texts: texts.collect(), generics: instance.map(|instance| instance.generics()).unwrap_or_default() }
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        writer.list(self.texts.iter(), |writer, text| writer.text(text));
        writer.text(&self.generics);
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Read<More> {
        if reader.is_at_end() {
            return Ok(More::default());
        }
        let texts = reader.list(|reader| reader.text().map(str::to_owned))?;
        Ok(More { texts, generics: reader.text()?.to_owned() })
    }
}

/// An instantiation of a generic function, or of a method.
#[derive(Clone, Copy, Debug)]
pub struct Instance {
    pub(super) of: TypeId,
    name: &'static str,
}

/// Returns the instantiation that a function is.
#[must_use]
pub fn instance<F>(_: &F) -> Instance {
    Instance { of: typeid::of::<F>(), name: type_name::<F>() }
}

/// Returns the instantiation of a function by that of one in the type beside it, without the name of this type.
#[must_use]
pub fn instance_beside<F>(function: &F) -> Instance {
    let Instance { of, name } = instance(function);
    Instance { of, name: name.split_once(">::").map_or(name, |(_, behind)| behind) }
}

/// A condition of `T::m_save` and `T::m_load` for a method of a trait.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "the recordings of a method of a trait have no files",
    label = "it cannot be saved or loaded",
    note = "freeze a function or a method of the type, and call it in the method of the trait: it has `save` and `load`"
)]
pub trait HasFiles {}

/// Names the type of an argument.
#[must_use]
pub const fn type_of<T>(_: &T) -> PhantomData<T> {
    PhantomData
}

impl Instance {
    /// The types between the angle brackets of its name.
    fn generics(&self) -> String {
        let (mut depth, mut text) = (0_usize, String::new());
        for letter in without_paths(self.name).chars() {
            depth += usize::from(letter == '<');
            text.extend((depth > 0).then_some(letter));
            depth -= usize::from(letter == '>' && depth > 0);
        }
        text
    }
}

/// The signature of a function, as a file has it.
pub(super) struct SavedTypes {
    /// The names of the parameters.
    pub(super) names: Vec<String>,
    /// Their types, without modules.
    pub(super) types: Vec<String>,
    /// How many number expressions are combined with arrays.
    pub(super) lifted: usize,
}

/// Reads the signature of a function.
pub(super) fn read_types(reader: &mut Reader<'_>) -> Read<SavedTypes> {
    let texts = |reader: &mut Reader<'_>| reader.list(|reader| reader.text().map(str::to_owned));
    let (names, types) = (texts(reader)?, texts(reader)?);
    // The result is described by its parts.
    reader.text()?;
    Ok(SavedTypes { names, types, lifted: reader.size()? })
}

/// Compares the signature in a file with that of a function.
pub(super) fn check_types<F>(
    reader: &mut Reader<'_>,
    saved: &str,
    parameters: &[&str],
    lifted: usize,
) -> Result<(), Error> {
    let names = reader.list(|reader| reader.text())?;
    let (types, result) = (reader.list(|reader| reader.text())?, reader.text()?);
    let (own, own_result) = types_of::<F>();
    let refuse = |what: String| {
        let hint =
            "save the function anew, after it has changed; load a file with `load` of the function that it is of";
        Err(Error::new(ErrorKind::InvalidArgument, what).with_hint(hint))
    };
    for (position, (ty, own)) in types.iter().zip(&own).enumerate() {
        if ty != own {
            let name = parameters.get(position).copied().unwrap_or_default();
            return refuse(format!("the argument `{name}` is `{own}`, and was `{ty}` when `{saved}` was saved"));
        }
    }
    if types.len() != own.len() {
        let what =
            format!("the function has {} arguments, and had {} when `{saved}` was saved", own.len(), types.len());
        return refuse(what);
    }
    if let Some((was, is)) = names.iter().zip(parameters).find(|(was, is)| was != is) {
        return refuse(format!("the argument `{is}` was `{was}` when `{saved}` was saved"));
    }
    if result != own_result {
        return refuse(format!("the result is `{own_result}`, and was `{result}` when `{saved}` was saved"));
    }
    match reader.size()? == lifted {
        true => Ok(()),
        false => refuse(format!("the function combines other numbers with arrays than when `{saved}` was saved")),
    }
}

fn without_lifetimes(name: &str) -> String {
    let (mut rest, mut text) = (name, String::new());
    while let Some((before, after)) = rest.split_once('\'') {
        text.push_str(before);
        let after = after.trim_start_matches(|letter: char| letter.is_alphanumeric() || letter == '_');
        rest = after.strip_prefix(' ').unwrap_or(after);
    }
    text + rest
}

fn without_paths(name: &str) -> String {
    let (mut short, mut word) = (String::new(), String::new());
    let name = without_lifetimes(name);
    let mut characters = name.chars().peekable();
    while let Some(character) = characters.next() {
        if character.is_alphanumeric() || character == '_' {
            word.push(character);
        } else if character == ':' && characters.peek() == Some(&':') {
            characters.next();
            word.clear();
        } else {
            short.push_str(&std::mem::take(&mut word));
            short.push(character);
        }
    }
    short + &word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_named_without_modules_and_lifetimes() {
        type Fn1 = for<'a> fn(&'a crate::Float, Vec<(u32, Option<crate::UInt>)>, [f32; 2]) -> Result<String, u8>;
        let (arguments, result) = types_of::<Fn1>();
        assert_eq!(arguments, ["&Array<f32>", "Vec<(u32, Option<Array<u32>>)>", "[f32; 2]"]);
        assert_eq!(result, "Result<String, u8>");
        assert_eq!(types_of::<fn()>(), (vec![], "()".to_owned()));
        let (arguments, result) = full_types_of::<Fn1>();
        assert!(arguments[0].starts_with("&jit_core::array::") && arguments[0].ends_with("::Array<f32>"));
        assert_eq!(result, "core::result::Result<alloc::string::String, u8>");
        assert_eq!(types_of::<fn(u8)>(), (vec!["u8".to_owned()], "()".to_owned()));
    }

    struct Pair<T>(T);

    impl<T> Pair<T> {
        fn with<const N: usize, U>(&self, _: [U; N]) -> &T {
            &self.0
        }
    }

    #[test]
    fn instances_are_known_by_their_generic_arguments() {
        assert_eq!(Pair(1_u8).with([0.5_f32; 3]), &1);
        let made = instance(&Pair::<u8>::with::<3, crate::Float>);
        assert_eq!(made.generics(), "<u8><3, Array<f32>>");
        assert_eq!(instance(&types_of::<fn()>).generics(), "<fn()>");
        assert_eq!(instance(&without_paths).generics(), "");
        assert_eq!(made.of, instance(&Pair::<u8>::with::<3, crate::Float>).of);
        assert_ne!(made.of, instance(&Pair::<u8>::with::<4, crate::Float>).of);
    }
}
