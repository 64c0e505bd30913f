//! The text of the module that a program includes.
//!
//! A function of the module passes its arguments in the form that the recording knows, as the one that the macro makes
//! for a file does. Number expressions that are combined with arrays are made of parameters, literals and functions of
//! floats alone, so they mean the same there.

use std::fmt::Write as _;

use jit_core::executor::{Shipped, ShippedParameter};

use super::paths::{Paths, is_identifier};
use crate::{Error, Site};

/// The beginning of the module.
pub(super) fn head(name: &str) -> String {
    format!(
        "// The functions of the bundle `{name}`, written by `jit::bundle` when the program was built.\n\
         static __JIT_BUNDLE: __jit::Bundle = __jit::Bundle::new(include_bytes!(\"{name}.jit\"));\n"
    )
}

/// A parameter in the module.
struct Parameter<'a> {
    name: String,
    ty: String,
    note: String,
    shipped: &'a ShippedParameter,
}

impl Parameter<'_> {
    /// The argument in the form that the recording knows.
    fn given(&self) -> String {
        let Parameter { name, shipped: ShippedParameter { ty, is_number, .. }, .. } = self;
        match ty {
            _ if *is_number => format!("__jit::Number(&{name})"),
            ty if ty.starts_with("&mut ") => format!("__jit::Exclusive(&mut *{name})"),
            ty if ty.starts_with('&') => format!("__jit::Shared({name})"),
            _ => format!("__jit::ByValue(&{name})"),
        }
    }
}

/// The function of an entry.
pub(super) fn entry(name: &str, shipped: &Shipped, paths: &Paths, site: Site) -> Result<String, Error> {
    let mut parameters = Vec::new();
    for (position, shipped) in shipped.parameters.iter().enumerate() {
        let (ty, note) = paths.public(&shipped.ty)?;
        let is_plain = is_identifier(shipped.name) || shipped.name.strip_prefix("r#").is_some_and(|it| it != "_");
        let name = if is_plain { shipped.name.to_owned() } else { format!("argument_{position}") };
        parameters.push(Parameter { name, ty, note, shipped });
    }
    let (result, note) = paths.public(&shipped.result)?;
    let mut text = function(name, (shipped, site), &parameters, (&result, &note));
    text += &module(name, shipped, &parameters, &result);
    Ok(text)
}

/// A comment at the end of a line, which the compiler shows with the line if it does not find a type.
fn comment(note: &str) -> String {
    if note.is_empty() { String::new() } else { format!(" // {note}") }
}

fn function(
    name: &str,
    (shipped, site): (&Shipped, Site),
    parameters: &[Parameter<'_>],
    (result, note): (&str, &str),
) -> String {
    let mut text = String::new();
    let values: Vec<String> = shipped.constexprs.iter().map(|(name, value)| format!("`{name}` = `{value}`")).collect();
    let values = if values.is_empty() { String::new() } else { format!(", with {}", values.join(", ")) };
    let own = shipped.name;
    let _ = writeln!(text, "\n/// The function `{own}`{values}, as it is compiled at {}:{}.", site.file(), site.line());
    let _ = writeln!(
        text,
        "///\n/// # Errors\n///\n/// Arguments that do not fit what was compiled; a failure of a launch."
    );
    let _ = writeln!(text, "#[track_caller]\npub fn {name}(");
    for Parameter { name, ty, note, .. } in parameters {
        let _ = writeln!(text, "    {name}: {ty},{}", comment(note));
    }
    let _ = writeln!(text, ") -> ::core::result::Result<\n    {result},{}\n    __jit::Error,\n> {{", comment(note));
    let names: Vec<&str> = parameters.iter().map(|parameter| &*parameter.name).collect();
    let _ = writeln!(text, "    {name}::executor()?.call({})\n}}", names.join(", "));
    text
}

/// Lines of a list, each with a comma.
fn lines(indentation: usize, items: impl IntoIterator<Item = String>) -> String {
    let begin = " ".repeat(indentation);
    items.into_iter().map(|item| format!("{begin}{item},\n")).collect()
}

fn module(name: &str, shipped: &Shipped, parameters: &[Parameter<'_>], result: &str) -> String {
    let types = lines(8, parameters.iter().map(|parameter| parameter.ty.clone()));
    let labels = parameters.iter().map(|parameter| parameter.shipped.name).chain(shipped.lifted.iter().copied());
    let labels = lines(12, labels.map(|label| format!("{label:?}")));
    let lifted = shipped.lifted.iter().map(|value| format!("__jit::lifted({value})"));
    let given = lines(12, parameters.iter().map(Parameter::given).chain(lifted));
    let names: Vec<&str> = parameters.iter().map(|parameter| &*parameter.name).collect();
    let constexprs: Vec<String> = shipped.constexprs.iter().map(|(name, _)| format!("{name:?}")).collect();
    let (own, names, constexprs, lifted) =
        (shipped.name, names.join(", "), constexprs.join(", "), shipped.lifted.len());
    format!(
        "
/// The executor of the function [`{name}`](fn@{name}).
pub mod {name} {{
    use super::{{__jit, jit}};

    type Returned = {result};
    type Call = fn(
{types}    ) -> Returned;

    const WHAT: __jit::Compiled = __jit::Compiled {{
        name: {own:?},
        parameters: &[
{labels}        ],
        lifted: {lifted},
        traced: None,
    }};

    const CALL: Call = |{names}| {{
        __jit::run((
{given}        ))
    }};

    /// Returns the executor for the current device. It is read from the bundle once.
    ///
    /// # Errors
    ///
    /// A bundle that another version of the library has written.
    #[track_caller]
    pub fn executor() -> ::core::result::Result<&'static __jit::Executor<Call>, __jit::Error> {{
        static LOADED: __jit::Loaded<Call> = __jit::Loaded::new();
        LOADED.get::<Returned>(&super::__JIT_BUNDLE, {name:?}, WHAT, &[{constexprs}], CALL)
    }}
}}
"
    )
}
