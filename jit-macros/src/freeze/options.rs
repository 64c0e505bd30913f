//! The options of `#[freeze(…)]`.

use crate::options::{JitOptions, Words, read};
use crate::sink::Sink;
use darling::FromMeta;
use darling::util::{PathList, SpannedValue};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Expr, ExprClosure, FnArg, Pat, Signature};

/// The options of `#[freeze(…)]`.
#[derive(Default, FromMeta)]
pub(crate) struct FreezeOptions {
    /// The number of recordings that are retained; -1, the default, retains all.
    #[darling(default)]
    limit: Option<SpannedValue<i64>>,
    /// The number of recordings after which a warning is printed.
    #[darling(default)]
    warn_after: Option<usize>,
    /// Whether constants that change become inputs of each replay.
    #[darling(default)]
    auto_opaque: Option<bool>,
    /// Whether calls are recorded and replayed.
    #[darling(default)]
    enabled: Option<bool>,
    /// The number of recordings that are allowed.
    #[darling(default)]
    budget: Option<usize>,
    /// Parameters for each value of which a recording is made.
    #[darling(default)]
    key: Option<PathList>,
    /// The arrays that the body uses besides its arguments.
    #[darling(default)]
    pub(super) state: Option<Expr>,
    /// The name of the function's kernels.
    #[darling(default)]
    label: Option<String>,
    /// The path of the `jit` crate.
    #[darling(default, rename = "crate")]
    pub(super) krate: Option<syn::Path>,
}

const FREEZE: Words = Words {
    attribute: "freeze",
    known: "`limit`, `warn_after`, `auto_opaque`, `state`, `enabled`, `key`, `budget`, `label` or `crate`",
    takes: |option| match option {
        "limit" => "a number, or -1 for no limit",
        "warn_after" | "budget" => "a number",
        "auto_opaque" | "enabled" => "`true` or `false`",
        "state" => "a closure of the arguments, `|s, x| (&s.hidden,)`",
        "key" => "names of parameters",
        "label" => "a string",
        _ => "a path",
    },
};

impl FreezeOptions {
    /// Parses the options; errors go to the sink.
    pub(super) fn parse(tokens: TokenStream, sink: &Sink) -> Self {
        read(tokens, &FREEZE, sink)
    }

    /// Returns the options for tracing the body, given those of `#[jit]` on the same function.
    pub(super) fn of_body(&self, beside: &JitOptions) -> JitOptions {
        JitOptions {
            label: self.label.clone().or_else(|| beside.label.clone()),
            fast_math: beside.fast_math,
            lazy: beside.lazy,
            dispatch: beside.dispatch,
            krate: self.krate.clone().or_else(|| beside.krate.clone()),
        }
    }

    /// Returns the closure of the first arguments that names the state.
    pub(super) fn state(&self, parameters: usize, sink: &Sink) -> Option<ExprClosure> {
        let state = self.state.as_ref()?;
        match state {
            Expr::Closure(closure) if closure.inputs.len() <= parameters => return Some(closure.clone()),
            Expr::Closure(closure) => {
                sink.error(
                    syn::spanned::Spanned::span(&closure.inputs),
                    "`state` is a closure of the arguments, and has more parameters than the function",
                );
            }
            other => sink.error(
                syn::spanned::Spanned::span(other),
                "`state` is a closure of the arguments that returns the other arrays that the body uses: \
                 `|s, x| (&s.hidden,)`",
            ),
        }
        None
    }

    /// Returns whether `key` names a parameter, for each value of which a recording is made.
    pub(super) fn is_key(&self, name: &syn::Ident) -> bool {
        self.key.iter().flat_map(|list| list.iter()).any(|path| path.is_ident(name))
    }

    /// Rejects an invalid limit, and a `key` that names no parameter.
    pub(super) fn check(&self, signature: &Signature, sink: &Sink) {
        if let Some(limit) = self.limit.filter(|limit| **limit < -1) {
            sink.error(limit.span(), "the `freeze` option `limit` takes a number, or -1 for no limit");
        }
        let is_parameter = |path: &syn::Path| {
            signature.inputs.iter().any(|argument| match argument {
                FnArg::Receiver(_) => path.is_ident("self"),
                FnArg::Typed(typed) => matches!(&*typed.pat, Pat::Ident(pattern) if path.is_ident(&pattern.ident)),
            })
        };
        for path in self.key.iter().flat_map(|list| list.iter()).filter(|path| !is_parameter(path)) {
            sink.error(
                syn::spanned::Spanned::span(path),
                "`key` names parameters of the function, and this is not one",
            );
        }
    }

    /// Generates the options in the form that the run-time support takes.
    pub(super) fn tokens(&self, private: &TokenStream) -> TokenStream {
        let limit = self.limit.and_then(|limit| usize::try_from(*limit).ok());
        let limit = limit.map(|count| quote!(limit: ::core::option::Option::Some(#count),));
        let warn_after = self.warn_after.map(|count| quote!(warn_after: #count,));
        let auto_opaque = self.auto_opaque.map(|is_on| quote!(auto_opaque: #is_on,));
        let enabled = self.enabled.map(|is_on| quote!(enabled: #is_on,));
        let budget = self.budget.map(|count| quote!(budget: ::core::option::Option::Some(#count),));
        quote!(#private::freeze::Options { #limit #warn_after #auto_opaque #enabled #budget
            ..#private::freeze::Options::DEFAULT })
    }
}
