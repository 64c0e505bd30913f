//! `assert!` and similar macros: Rust's own if the condition is a `bool`, checked by lanes if it is a mask.

use super::operators;
use super::rewrite::Rewriter;
use crate::format::{self, Resolved};
use crate::ungroup::Ungroup;
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;
use syn::{Expr, ExprLit, Lit, LitStr, Macro, Token};

/// Returns the comparison of an assertion macro; `None` for other macros.
fn comparison(name: &Ident) -> Option<Option<&'static str>> {
    match &name.to_string()[..] {
        "assert" | "debug_assert" => Some(None),
        "assert_eq" | "debug_assert_eq" => Some(Some("==")),
        "assert_ne" | "debug_assert_ne" => Some(Some("!=")),
        _ => None,
    }
}

/// Returns the replacement of an assertion; `None` for other macros, and for calls that Rust rejects.
pub(crate) fn rewrite(rewriter: &mut Rewriter<'_>, call: &Macro) -> Option<Expr> {
    let name = &call.path.segments.last()?.ident;
    let comparison = comparison(name)?;
    let is_own =
        call.path.segments.len() > 1 && !["std", "core"].contains(&&call.path.segments[0].ident.to_string()[..]);
    if is_own || rewriter.is_host_only() {
        return None;
    }
    let arguments = Punctuated::<Expr, Token![,]>::parse_terminated.parse2(call.tokens.clone()).ok()?;
    let mut arguments: Vec<Expr> = arguments.into_iter().collect();
    arguments.iter_mut().for_each(|argument| Ungroup.visit_expr_mut(argument));
    let rest = arguments.split_off_checked(if comparison.is_some() { 2 } else { 1 })?;
    let message = Message::of(rewriter, rest)?;
    let mut assertion = match comparison {
        Some(operator) => of_comparison(rewriter, name, operator, arguments, &message),
        None => of_condition(rewriter, name, arguments.remove(0), &message),
    };
    if name.to_string().starts_with("debug_") {
        let span = rewriter.at(name.span());
        assertion = quote_spanned!(span=> if ::core::cfg!(debug_assertions) #assertion);
    }
    Some(Expr::Verbatim(assertion))
}

trait SplitOffChecked: Sized {
    /// Splits off the part from a position on; returns `None` if there is none.
    fn split_off_checked(&mut self, at: usize) -> Option<Self>;
}

impl SplitOffChecked for Vec<Expr> {
    fn split_off_checked(&mut self, at: usize) -> Option<Self> {
        (self.len() >= at).then(|| self.split_off(at))
    }
}

/// The message of an assertion.
struct Message {
    format: Option<LitStr>,
    /// The arguments, rewritten, each with its name.
    values: Vec<(Option<Ident>, Expr)>,
}

impl Message {
    /// Parses the tokens after the condition; `None` if they are not a format string with arguments.
    fn of(rewriter: &mut Rewriter<'_>, rest: Vec<Expr>) -> Option<Message> {
        let mut rest = rest.into_iter();
        let format = match rest.next() {
            None => return Some(Message { format: None, values: Vec::new() }),
            Some(Expr::Lit(ExprLit { lit: Lit::Str(format), .. })) => format,
            Some(_) => return None,
        };
        let value = |argument: Expr| {
            let (name, mut value) = match argument {
                Expr::Assign(named) => (Some(syn::parse2(named.left.to_token_stream()).ok()?), *named.right),
                value => (None, value),
            };
            rewriter.operand_in_place(&mut value);
            Some((name, value))
        };
        Some(Message { format: Some(format), values: rest.map(value).collect::<Option<_>>()? })
    }

    /// Binds each argument once to a name.
    fn bound(&self, rewriter: &Rewriter<'_>, span: proc_macro2::Span, inside: &TokenStream) -> TokenStream {
        if self.values.is_empty() {
            return inside.clone();
        }
        let references = self.values.iter().map(|(_, value)| {
            let span = rewriter.at(value.span());
            quote_spanned!(span=> &(#value))
        });
        quote_spanned!(span=> match (#(#references,)*) { __jit_arguments => { #inside } })
    }

    /// Generates the arguments of Rust's own format macros.
    fn host(&self, span: proc_macro2::Span) -> Option<TokenStream> {
        let format = self.format.as_ref()?;
        let values = self.values.iter().enumerate().map(|(position, (name, _))| {
            let position = syn::Index::from(position);
            let value = quote_spanned!(span=> __jit_arguments.#position);
            name.as_ref().map_or(value.clone(), |name| quote_spanned!(span=> #name = #value))
        });
        Some(quote_spanned!(span=> #format #(, #values)*))
    }

    /// Generates calls that pass the arguments to the guard, and the pieces of the text.
    fn traced(&self, guard: &Ident, private: &TokenStream, span: proc_macro2::Span) -> (TokenStream, TokenStream) {
        let nothing = || (TokenStream::new(), quote_spanned!(span=> &[]));
        let Some(format) = &self.format else { return nothing() };
        let names: Vec<Option<String>> =
            self.values.iter().map(|(name, _)| name.as_ref().map(ToString::to_string)).collect();
        let resolved =
            format::parse(&format.value()).and_then(|pieces| format::resolve(format, &pieces, &names, private));
        // Format strings that only Rust's own macros understand are not changed.
        let Ok(Resolved { pieces, captured, .. }) = resolved else {
            return (TokenStream::new(), quote_spanned!(span=> &[#private::Piece::Text(#format)]));
        };
        let values = self.values.iter().enumerate().map(|(index, (_, value))| {
            let span = value.span().resolved_at(span);
            let index = syn::Index { index: index as u32, span };
            let guard = Ident::new(&guard.to_string(), span);
            quote_spanned!(span=> #guard.value(__jit_arguments.#index);)
        });
        let calls = quote_spanned!(span=> #(#values)* #(#guard.value(&#captured);)*);
        (calls, pieces)
    }
}

fn of_condition(rewriter: &mut Rewriter<'_>, name: &Ident, condition: Expr, message: &Message) -> TokenStream {
    let span = rewriter.at(name.span());
    let (private, guard) = (rewriter.private(span), rewriter.helper("assertion", span));
    let text = condition.to_token_stream();
    let stated = quote_spanned!(span=> ::core::stringify!(#text));
    let mut condition = condition;
    let condition_span = rewriter.at(condition.span());
    let condition = operators::borrowed(rewriter, &mut condition);
    let private_here = rewriter.private(condition_span);
    let assertion = quote_spanned!(condition_span=> #private_here::Assertable::assertion);
    let (values, pieces) = message.traced(&guard, &private, span);
    let panic = match message.host(span) {
        Some(arguments) => quote_spanned!(span=> #private::fail(::core::format_args!(#arguments))),
        None => quote_spanned!(span=> #private::fail(::core::format_args!("assertion failed: {}", #stated))),
    };
    let inside = quote_spanned! {span=>
        if #guard.fails() { #panic }
        #values
        #guard.check(#stated, #pieces);
    };
    let inside = message.bound(rewriter, span, &inside);
    quote_spanned! {span=> {
        #[allow(unused_mut)]
        let mut #guard = #assertion(#condition);
        if #guard.is_open() { #inside }
    }}
}

fn of_comparison(
    rewriter: &mut Rewriter<'_>,
    name: &Ident,
    operator: &str,
    sides: Vec<Expr>,
    message: &Message,
) -> TokenStream {
    let span = rewriter.at(name.span());
    let (private, guard) = (rewriter.private(span), rewriter.helper("assertion", span));
    let mut sides = sides.into_iter();
    let (Some(mut left), Some(mut right)) = (sides.next(), sides.next()) else { return TokenStream::new() };
    let (left, right) = operators::sides(rewriter, &mut left, &mut right);
    let function = Ident::new(if operator == "==" { "eq" } else { "ne" }, span);
    let text = format!("left {operator} right");
    let (values, pieces) = message.traced(&guard, &private, span);
    let message_tokens = match message.host(span) {
        Some(arguments) => quote_spanned!(span=> ::core::option::Option::Some(::core::format_args!(#arguments))),
        None => quote_spanned!(span=> ::core::option::Option::None),
    };
    let inside = quote_spanned! {span=>
        if #guard.fails() { #guard.stop(#text, #message_tokens) }
        #values
        #guard.check(#text, #pieces);
    };
    let inside = message.bound(rewriter, span, &inside);
    quote_spanned! {span=> {
        match (#left, #right) {
            (__jit_left, __jit_right) => {
                #[allow(unused_mut)]
                let mut #guard = #private::Assertable::assertion(&#private::#function(__jit_left, __jit_right));
                if #guard.is_open() {
                    #guard.side(__jit_left);
                    #guard.side(__jit_right);
                    #inside
                }
            }
        }
    }}
}
