//! `jit::print!`: lines that lanes print.

use crate::format::{self, Resolved};
use crate::sink::Sink;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Expr, ExprLit, Lit, LitStr, Token};

/// Expands the macro.
pub(crate) fn expand(tokens: TokenStream) -> TokenStream {
    let sink = Sink::default();
    let expanded = print(tokens, &sink);
    match (sink.finish(), expanded) {
        (None, Some(expanded)) => expanded,
        (errors, _) => quote!({ #errors }),
    }
}

fn print(tokens: TokenStream, sink: &Sink) -> Option<TokenStream> {
    let arguments = match Punctuated::<Expr, Token![,]>::parse_terminated.parse2(tokens) {
        Ok(arguments) => arguments,
        Err(error) => {
            sink.push(error);
            return None;
        }
    };
    let mut arguments = arguments.into_iter();
    let format = match arguments.next() {
        Some(Expr::Lit(ExprLit { lit: Lit::Str(format), .. })) => format,
        Some(other) => {
            sink.error(other.span(), "`jit::print!` takes a format string first: `jit::print!(\"x = {}\", x)`");
            return None;
        }
        None => {
            sink.error(Span::call_site(), "`jit::print!` takes a format string: `jit::print!(\"x = {}\", x)`");
            return None;
        }
    };
    let Arguments { names, values, limit } = Arguments::of(arguments, sink);
    let private = quote_spanned!(format.span()=> ::jit::__private);
    let Resolved { pieces, captured, .. } = resolved(&format, &names, &values, &private, sink)?;
    let limit = match limit {
        Some(limit) => quote_spanned!(limit.span()=> ::core::option::Option::Some(#limit)),
        None => quote!(::core::option::Option::None),
    };
    // At the user's tokens names resolve as in the user's text, and messages do not mention this macro.
    let home = format.span();
    let guard = Ident::new("__jit_print", home);
    let captured =
        captured.iter().map(|name| quote_spanned!(name.span()=> #private::Printable::print_to(&#name, &mut #guard);));
    let values = values.iter().map(|value| {
        let span = value.span().resolved_at(home);
        let private = quote_spanned!(span=> ::jit::__private);
        quote_spanned!(span=> #private::Printable::print_to(&(#value), &mut #guard);)
    });
    Some(quote_spanned! {home=> {
        let mut #guard = #private::print();
        #(#values)*
        #(#captured)*
        #guard.record(#pieces, #limit);
    }})
}

/// The arguments after the format string.
struct Arguments {
    names: Vec<Option<String>>,
    values: Vec<Expr>,
    limit: Option<Expr>,
}

impl Arguments {
    fn of(arguments: impl Iterator<Item = Expr>, sink: &Sink) -> Arguments {
        let mut found = Arguments { names: Vec::new(), values: Vec::new(), limit: None };
        for argument in arguments {
            let Expr::Assign(named) = argument else {
                found.names.push(None);
                found.values.push(argument);
                continue;
            };
            let name = named.left.to_token_stream().to_string();
            if name != "limit" {
                found.names.push(Some(name));
                found.values.push(*named.right);
            } else if found.limit.replace(*named.right).is_some() {
                sink.error(named.left.span(), "`limit` appears twice");
            }
        }
        found
    }
}

fn resolved(
    format: &LitStr,
    names: &[Option<String>],
    values: &[Expr],
    private: &TokenStream,
    sink: &Sink,
) -> Option<Resolved> {
    let resolved = format::parse(&format.value()).and_then(|pieces| format::resolve(format, &pieces, names, private));
    match resolved {
        Ok(resolved) => {
            let unused = resolved.used.iter().zip(values).filter(|(used, _)| !**used);
            unused.for_each(|(_, value)| sink.error(value.span(), "the format string does not use this argument"));
            Some(resolved)
        }
        Err(message) => {
            sink.error(format.span(), message);
            None
        }
    }
}
