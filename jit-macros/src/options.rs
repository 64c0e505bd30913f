//! The options between the parentheses of the attributes.

use crate::sink::Sink;
use darling::FromMeta;
use darling::ast::NestedMeta;
use proc_macro2::TokenStream;

/// The options of `#[jit(…)]`.
#[derive(Default, FromMeta)]
pub(crate) struct JitOptions {
    /// The name of the function's kernels; by default the function's own name.
    #[darling(default)]
    pub(crate) label: Option<String>,
    /// Whether the function uses fast math; by default like its caller.
    #[darling(default)]
    pub(crate) fast_math: Option<bool>,
    /// That results stay lazy, which is the default.
    #[darling(default)]
    pub(crate) lazy: Option<()>,
    /// Whether methods of the trait can be called on pointers that differ by lane.
    #[darling(default)]
    pub(crate) dispatch: Option<bool>,
    /// The path of the `jit` crate; by default `::jit`.
    #[darling(default, rename = "crate")]
    pub(crate) krate: Option<syn::Path>,
}

/// The wording of messages about `#[jit(…)]`.
const JIT: Words = Words {
    attribute: "jit",
    known: "`label`, `fast_math`, `lazy`, `dispatch` or `crate`",
    takes: |option| match option {
        "label" => "a string",
        "lazy" => "no value",
        "fast_math" | "dispatch" => "`true` or `false`, or no value",
        _ => "a path",
    },
};

impl JitOptions {
    /// Returns whether the attribute is on a trait that is dispatched.
    pub(crate) fn dispatch(&self) -> bool {
        self.dispatch == Some(true)
    }

    /// Parses the options; errors go to the sink.
    pub(crate) fn parse(tokens: TokenStream, sink: &Sink) -> Self {
        read(tokens, &JIT, sink)
    }
}

/// The wording of messages about an attribute.
pub(crate) struct Words {
    /// Its name.
    pub(crate) attribute: &'static str,
    /// Its options, as a sentence lists them.
    pub(crate) known: &'static str,
    /// Describes the value that an option takes.
    pub(crate) takes: fn(&str) -> &'static str,
}

/// Parses options; errors go to the sink.
pub(crate) fn read<O: FromMeta + Default>(tokens: TokenStream, words: &Words, sink: &Sink) -> O {
    let parsed = NestedMeta::parse_meta_list(tokens).map_err(darling::Error::from);
    match parsed.and_then(|list| O::from_list(&list)) {
        Ok(options) => options,
        Err(error) => {
            push_all(error, words, sink);
            O::default()
        }
    }
}

/// Converts an error of `darling`, which may hold several, to ours, reworded if it is about unknown names.
fn push_all(error: darling::Error, words: &Words, sink: &Sink) {
    let attribute = words.attribute;
    for one in error.flatten() {
        let span = one.span();
        let message = one.to_string();
        let message = if let Some(rest) = message.strip_prefix("Unknown field: ") {
            unknown_option(rest, words)
        } else if let Some(rest) = message.strip_prefix("Duplicate field ") {
            format!("the `{attribute}` option {rest} appears twice")
        } else if let Some((_, option)) = message.split_once("` at ") {
            format!("the `{attribute}` option `{option}` takes {}", (words.takes)(option))
        } else {
            message
        };
        sink.error(span, message);
    }
}

fn unknown_option(rest: &str, words: &Words) -> String {
    let Words { attribute, known, .. } = words;
    let name = rest.trim_start_matches('`').split(['`', '.']).next().unwrap_or(rest);
    match rest.split_once("Did you mean `").and_then(|(_, tail)| tail.split_once('`')) {
        Some((suggestion, _)) => format!("unknown `{attribute}` option `{name}`; did you mean `{suggestion}`?"),
        None => format!("unknown `{attribute}` option `{name}`; expected {known}"),
    }
}
