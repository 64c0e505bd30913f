//! `#[jit]`: parse → check → rewrite.
//!
//! The rewritten function replaces the user's and contains each of the user's expressions once. Regions are ordinary
//! blocks between calls of the run-time support (`jit_core::control`), so that Rust's own control flow works where
//! conditions are host values; the *type* of a condition decides its stage.

mod assertion;
mod block;
mod branch;
mod carried;
mod cast;
mod chains;
mod check;
pub(crate) mod constexpr;
mod deferred;
mod directives;
mod dispatch;
mod exit;
mod first_value;
mod guarded;
mod index;
mod jumps;
mod lent;
mod logic;
mod macros;
mod matching;
mod moves;
mod operators;
mod patterns;
mod place;
mod range;
mod repeat;
mod rewrite;
mod scope;
mod state;
#[cfg(test)]
mod tests;
mod tuples;
mod variants;
mod visit;
mod warning;

use crate::companion::{self, Place};
use crate::freeze;
use crate::options::JitOptions;
use crate::sink::Sink;
use crate::ungroup::Ungroup;
use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
pub(crate) use scope::identifiers;
use syn::visit_mut::VisitMut;
use syn::{Attribute, Block, ImplItem, ImplItemFn, ItemFn, ItemImpl, ItemTrait, Signature};

/// Expands the attribute on an item.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    let sink = Sink::default();
    if let Some(frozen) = under_freeze(&options, &item) {
        return frozen;
    }
    let options = JitOptions::parse(options, &sink);
    let expanded = if let (true, Ok(definition)) = (options.dispatch(), syn::parse2::<ItemTrait>(item.clone())) {
        dispatch::expand(&options, ungrouped(definition), &sink)
    } else if let Ok(function) = syn::parse2::<ItemFn>(item.clone()) {
        dispatch::only_on_traits(&options, function.sig.fn_token.span, &sink);
        expand_function(&options, function, &sink)
    } else if let Ok(block) = syn::parse2::<ItemImpl>(item.clone()) {
        dispatch::only_on_traits(&options, block.impl_token.span, &sink);
        expand_impl(&options, block, &sink)
    } else {
        check::not_a_function(&item, &sink);
        item
    };
    let errors = sink.finish();
    quote!(#errors #expanded)
}

fn ungrouped(mut definition: ItemTrait) -> ItemTrait {
    Ungroup.visit_item_trait_mut(&mut definition);
    definition
}

/// Expands a function that is `#[freeze]`, too: that attribute traces it, in either order.
fn under_freeze(options: &TokenStream, item: &TokenStream) -> Option<TokenStream> {
    let mut function = syn::parse2::<ItemFn>(item.clone()).ok()?;
    let position = function.attrs.iter().position(freeze::is_freeze)?;
    let traced = if options.is_empty() { quote!(jit) } else { quote!(jit(#options)) };
    function.attrs.insert(position + 1, syn::parse_quote!(#[#traced]));
    Some(function.into_token_stream())
}

fn expand_function(options: &JitOptions, mut function: ItemFn, sink: &Sink) -> TokenStream {
    Ungroup.visit_item_fn_mut(&mut function);
    check::attributes(&mut function.attrs, sink);
    let as_written = function.clone();
    rewrite_function(options, &mut function.sig, &mut function.block, &mut function.attrs, sink);
    let place = Place::of(&as_written);
    if sink.is_empty() && place != Place::Member {
        let items = companion::compile::items(options, &as_written, place, &[]);
        let beside = companion::beside(place, &as_written, &items);
        return quote!(#function #beside);
    }
    function.into_token_stream()
}

/// Rewrites a function in place, for another attribute.
pub(crate) fn rewrite(options: &JitOptions, function: &mut ItemFn, sink: &Sink) {
    dispatch::only_on_traits(options, function.sig.fn_token.span, sink);
    rewrite_function(options, &mut function.sig, &mut function.block, &mut function.attrs, sink);
}

fn expand_impl(options: &JitOptions, mut block: ItemImpl, sink: &Sink) -> TokenStream {
    Ungroup.visit_item_impl_mut(&mut block);
    check::attributes(&mut block.attrs, sink);
    let is_of_trait = block.trait_.is_some();
    let (declared, mut beside_trait) = (names_of_functions(&block), TokenStream::new());
    for item in &mut block.items {
        let ImplItem::Fn(function) = item else { continue };
        if let Some(frozen) = freeze::expand_in_block(options, is_of_trait, function, sink) {
            if is_of_trait {
                beside_trait.extend(freeze::refused_files(options, &function.sig, &declared));
            }
            *item = ImplItem::Verbatim(frozen);
            continue;
        }
        if dispatch::take_host(&mut function.attrs) {
            continue;
        }
        let as_written = as_function(function);
        if is_of_trait {
            beside_trait.extend(companion::compile::items_of_trait(options, &as_written, &declared));
        }
        let ImplItemFn { sig, block, attrs, .. } = &mut *function;
        rewrite_function(options, sig, block, attrs, sink);
        if sink.is_empty() && !is_of_trait {
            let beside = companion::compile::items(options, &as_written, Place::Inherent, &declared);
            *item = ImplItem::Verbatim(quote!(#function #beside));
        }
    }
    let beside = if sink.is_empty() { companion::beside_trait(&block, &beside_trait) } else { None };
    quote!(#block #beside)
}

/// Returns a function of a block as one that stands alone.
fn as_function(function: &ImplItemFn) -> ItemFn {
    let ImplItemFn { attrs, vis, modifiers, sig, block } = function.clone();
    ItemFn { attrs, vis, modifiers, sig, block: Box::new(block) }
}

/// Returns the names of the functions of a block, which are not generated again.
fn names_of_functions(block: &ItemImpl) -> Vec<String> {
    let name = |item: &ImplItem| match item {
        ImplItem::Fn(function) => Some(function.sig.ident.to_string()),
        _ => None,
    };
    block.items.iter().filter_map(name).collect()
}

/// Rewrites one function in place. If it is rejected, only its signature is retained, so that its name still resolves.
fn rewrite_function(
    options: &JitOptions,
    signature: &mut Signature,
    body: &mut Block,
    attributes: &mut Vec<Attribute>,
    sink: &Sink,
) {
    let function_sink = Sink::default();
    check::signature(signature, &function_sink);
    check::body(body, &function_sink);
    check::result(signature, body, &function_sink);
    let marks = constexpr::take_marks(signature, &function_sink);
    let as_written = body.clone();
    chains::divide(body, signature.ident.span());
    variants::place_attributes(body, &function_sink);
    rewrite::Rewriter::new(options, signature, &marks, &function_sink).function(options, signature, &marks, body);
    if let Some(errors) = function_sink.take() {
        sink.push(errors);
        *body = refused_body(signature, as_written);
        attributes.push(syn::parse_quote!(#[allow(unused_variables, unused_mut, clippy::needless_pass_by_value)]));
    } else {
        // A traced `if` without a value still goes through the variable for its value.
        attributes.push(syn::parse_quote!(#[allow(clippy::deref_addrof, clippy::let_unit_value,
            clippy::needless_late_init, clippy::unnecessary_operation)]));
    }
}

/// Returns a body that matches every return type that can be written without naming its value.
fn refused_body(signature: &Signature, original: Block) -> Block {
    if signature.output.to_token_stream().to_string().contains("impl ") {
        return original;
    }
    let span = signature.ident.span();
    syn::parse2(quote_spanned!(span=> { ::core::unreachable!() })).unwrap_or(original)
}
