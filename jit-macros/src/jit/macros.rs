//! Macros inside a traced function: the arguments of Rust's own are expressions and are rewritten; all other macros are
//! left unchanged.

use crate::ungroup::Ungroup;
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::visit_mut::VisitMut;
use syn::{Block, Expr, Macro, Stmt, Token};

/// Macros whose arguments are a list of expressions.
const WITH_EXPRESSIONS: [&str; 17] = [
    "assert",
    "assert_eq",
    "assert_ne",
    "dbg",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "eprint",
    "eprintln",
    "format",
    "panic",
    "print",
    "println",
    "todo",
    "unreachable",
    "write",
    "writeln",
];

/// Macros that never return.
const DIVERGING: [&str; 4] = ["panic", "todo", "unimplemented", "unreachable"];

/// Macros that print on the host.
const PRINTING: [&str; 5] = ["dbg", "eprint", "eprintln", "print", "println"];

fn name(call: &Macro) -> Option<String> {
    call.path.segments.last().map(|segment| segment.ident.to_string())
}

/// Returns whether a call of the macro never returns.
pub(crate) fn diverges(call: &Macro) -> bool {
    name(call).is_some_and(|name| DIVERGING.contains(&name.as_str()))
}

/// Returns the call of `unreachable!` that a block consists of.
pub(crate) fn of_unreachable(block: &Block) -> Option<&Macro> {
    let call = match &block.stmts[..] {
        [Stmt::Macro(call)] => &call.mac,
        [Stmt::Expr(Expr::Macro(call), _)] => &call.mac,
        _ => return None,
    };
    call.path.is_ident("unreachable").then_some(call)
}

/// Returns whether a call of the macro prints on the host. `jit::print!` is another macro, which prints for each lane.
pub(crate) fn prints(call: &Macro) -> bool {
    let is_rusts =
        call.path.segments.len() == 1 || call.path.segments.first().is_some_and(|first| first.ident == "std");
    is_rusts && name(call).is_some_and(|name| PRINTING.contains(&name.as_str()))
}

/// Returns the arguments of a macro that takes expressions; `None` for other macros.
pub(crate) fn arguments(call: &Macro) -> Option<Vec<Expr>> {
    let name = name(call)?;
    if name == "vec" {
        let repeat = |input: syn::parse::ParseStream| -> syn::Result<Vec<Expr>> {
            let value: Expr = input.parse()?;
            input.parse::<Token![;]>()?;
            Ok(vec![value, input.parse()?])
        };
        if let Ok(parts) = repeat.parse2(call.tokens.clone()) {
            return Some(parts);
        }
    } else if !WITH_EXPRESSIONS.contains(&name.as_str()) {
        return None;
    }
    let list = Punctuated::<Expr, Token![,]>::parse_terminated.parse2(call.tokens.clone()).ok()?;
    let mut list: Vec<Expr> = list.into_iter().collect();
    list.iter_mut().for_each(|argument| Ungroup.visit_expr_mut(argument));
    Some(list)
}

/// Writes the arguments back; `rewritten` are those that [`arguments`] returned.
pub(crate) fn replace_arguments(call: &mut Macro, rewritten: &[Expr]) {
    let is_repeat = name(call).is_some_and(|name| name == "vec") && has_semicolon(&call.tokens);
    let arguments: Vec<TokenStream> = rewritten.iter().map(ToTokens::to_token_stream).collect();
    call.tokens = if is_repeat { quote!(#(#arguments);*) } else { quote!(#(#arguments),*) };
}

fn has_semicolon(tokens: &TokenStream) -> bool {
    tokens
        .clone()
        .into_iter()
        .any(|token| matches!(token, proc_macro2::TokenTree::Punct(punct) if punct.as_char() == ';'))
}
