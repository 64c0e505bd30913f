//! `#[jit(dispatch)]` on a trait: its methods can be called on pointers that differ by lane.
//!
//! The trait is kept, with the bodies of its methods rewritten like those of any function, and is implemented for
//! `Ptr<T>` of all types that implement it. There, a method runs the one of each instance between calls of the run-time
//! support (`jit_core::calls::dispatch`), which is documented there. A method marked `#[host]` remains Rust's: it is
//! for an instance itself, which it may change, and a pointer rejects it.

use super::{constexpr, rewrite_function};
use crate::freeze;
use crate::options::JitOptions;
use crate::sink::Sink;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{
    Attribute, FnArg, GenericParam, ItemTrait, Meta, Pat, ReturnType, Signature, TraitItem, TraitItemFn, Type,
    WherePredicate,
};

/// Expands the attribute on a trait.
pub(super) fn expand(options: &JitOptions, mut item: ItemTrait, sink: &Sink) -> TokenStream {
    let krate = options.krate.as_ref().map_or_else(|| quote!(::jit), ToTokens::to_token_stream);
    if let Some(token) = &item.unsafety {
        sink.error(token.span, "a dispatched trait cannot be `unsafe`");
    }
    let refused = Sink::default();
    let mut methods = Vec::new();
    for member in &mut item.items {
        match member {
            TraitItem::Fn(method) => methods.extend(expand_method(options, &krate, &item.ident, method, &refused)),
            other => refused.error(
                other.span(),
                "a dispatched trait has methods only: there is one pointer for all of its implementations",
            ),
        }
    }
    item.supertraits.push(syn::parse_quote!(#krate::Traverse));
    item.supertraits.push(syn::parse_quote!(::core::marker::Send));
    item.supertraits.push(syn::parse_quote!(::core::marker::Sync));
    match refused.take() {
        Some(errors) => {
            sink.push(errors);
            keep_dyn(&mut item);
            item.into_token_stream()
        }
        None => {
            let implementation = implementation(&krate, &item, &methods);
            quote!(#item #implementation)
        }
    }
}

/// Removes rejected methods from the trait's `dyn` type, so that they cause no further errors.
fn keep_dyn(item: &mut ItemTrait) {
    for member in &mut item.items {
        let TraitItem::Fn(TraitItemFn { sig, .. }) = member else { continue };
        let is_generic = sig.generics.params.iter().any(|parameter| !matches!(parameter, GenericParam::Lifetime(_)));
        if is_generic || sig.asyncness.is_some() || sig.receiver().is_none() {
            sig.generics.make_where_clause().predicates.push(syn::parse_quote!(Self: ::core::marker::Sized));
        }
    }
}

/// Generates the implementation of the trait for pointers.
fn implementation(krate: &TokenStream, item: &ItemTrait, methods: &[TokenStream]) -> TokenStream {
    let name = &item.ident;
    let (_, arguments, bounds) = item.generics.split_for_impl();
    let parameters = item.generics.params.iter().map(|parameter| match parameter.clone() {
        GenericParam::Type(mut ty) => {
            ty.default = None;
            ty.into_token_stream()
        }
        GenericParam::Const(mut value) => {
            value.default = None;
            value.into_token_stream()
        }
        lifetime @ GenericParam::Lifetime(_) => lifetime.into_token_stream(),
    });
    quote_spanned! {name.span()=>
        #[automatically_derived]
        #[allow(clippy::all, clippy::pedantic)]
        impl<#(#parameters,)* __JitTarget: ?Sized + #name #arguments> #name #arguments for #krate::Ptr<__JitTarget>
            #bounds {
            #(#methods)*
        }
    }
}

/// Rewrites a method of the trait; returns the one of the pointer.
fn expand_method(
    options: &JitOptions,
    krate: &TokenStream,
    of: &Ident,
    method: &mut TraitItemFn,
    sink: &Sink,
) -> Option<TokenStream> {
    if take_host(&mut method.attrs) {
        return host_method(krate, of, &method.sig, sink);
    }
    let is_for_sized = is_for_sized(&method.sig);
    let before = Sink::default();
    if !is_for_sized {
        check(&method.sig, &before);
    } else if method.default.is_none() {
        before.error(
            method.sig.ident.span(),
            "a method `where Self: Sized` of a dispatched trait needs a body: it is not called through a pointer",
        );
    }
    if let Some(attribute) = method.attrs.iter().find(|attribute| freeze::is_freeze(attribute)) {
        let text = "methods of a dispatched trait are not frozen: they run for each instance inside of their caller";
        before.error(attribute.path().span(), text);
    }
    method.attrs.retain(|attribute| !freeze::is_freeze(attribute));
    match &mut method.default {
        Some(body) => rewrite_function(options, &mut method.sig, body, &mut method.attrs, sink),
        None => {
            constexpr::take_marks(&mut method.sig, &before);
        }
    }
    if let Some(errors) = before.take() {
        sink.push(errors);
        return None;
    }
    (!is_for_sized).then(|| pointer_method(krate, of, &method.sig))
}

/// Removes the mark of methods that remain Rust's.
pub(super) fn take_host(attributes: &mut Vec<Attribute>) -> bool {
    let before = attributes.len();
    attributes.retain(|attribute| !matches!(&attribute.meta, Meta::Path(path) if path.is_ident("host")));
    attributes.len() < before
}

/// Generates a method for instances themselves: the pointer's method reports an error.
fn host_method(krate: &TokenStream, of: &Ident, signature: &Signature, sink: &Sink) -> Option<TokenStream> {
    let span = signature.ident.span();
    if signature.receiver().is_none_or(|receiver| !receiver.to_token_stream().to_string().starts_with('&')) {
        sink.error(
            span,
            "a `#[host]` method of a dispatched trait takes `&self` or `&mut self`: it is called on an instance",
        );
        return None;
    }
    let mut own = signature.clone();
    let _: Vec<Argument> = own.inputs.iter_mut().enumerate().filter_map(argument).collect();
    let name = format!("{of}::{}", signature.ident);
    Some(quote_spanned! {span=>
        #[track_caller]
        #[allow(unused_variables)]
        #own {
            #krate::__private::dispatch::only_on_instances(#name)
        }
    })
}

/// Returns whether a method is only for sized types, which a trait object's is not.
fn is_for_sized(signature: &Signature) -> bool {
    signature.generics.where_clause.iter().flat_map(|clause| &clause.predicates).any(|predicate| {
        matches!(predicate, WherePredicate::Type(bound)
            if bound.bounded_ty.to_token_stream().to_string() == "Self"
                && bound.bounds.iter().any(|bound| bound.to_token_stream().to_string().ends_with("Sized")))
    })
}

/// Rejects methods whose calls cannot differ by lane.
fn check(signature: &Signature, sink: &Sink) {
    if let syn::Safety::Unsafe(token) = &signature.safety {
        sink.error(token.span, "a dispatched method cannot be `unsafe`");
    }
    if let Some(token) = &signature.asyncness {
        sink.error(
            token.span,
            "a dispatched method cannot be `async`: tracing runs it on the host, once for each instance",
        );
    }
    for parameter in &signature.generics.params {
        if !matches!(parameter, GenericParam::Lifetime(_)) {
            sink.error(
                parameter.span(),
                "a dispatched method cannot be generic: which instances it is called on is known while tracing only",
            );
        }
    }
    match signature.receiver() {
        None => sink.error(
            signature.ident.span(),
            "a dispatched method takes `&self`; without it, write a function \
            outside of the trait, or add `where Self: Sized`",
        ),
        Some(receiver) => check_receiver(receiver, sink),
    }
    for argument in &signature.inputs {
        if let FnArg::Typed(typed) = argument {
            refuse_type(&typed.ty, "an argument of a dispatched method", sink);
        }
    }
    if let ReturnType::Type(_, ty) = &signature.output {
        if let Type::Reference(reference) = &**ty {
            sink.error(
                reference.and_token.span(),
                "a dispatched method returns values, not references: which instance they would belong to differs by \
                 lane",
            );
        }
        refuse_type(ty, "the result of a dispatched method", sink);
    }
}

fn check_receiver(receiver: &syn::Receiver, sink: &Sink) {
    let ty = receiver.to_token_stream().to_string().replace(' ', "");
    if ty.starts_with("&mut") {
        let message = "a dispatched method takes `&self`: an instance is shared by all lanes that point to it; change \
            or scatter to an argument instead; or mark the method `#[host]`, and call it on the instance that \
            `get_mut` of `Instances` returns";
        sink.error(receiver.span(), message);
    } else if !ty.starts_with('&') || ty.contains(':') {
        sink.error(receiver.span(), "a dispatched method takes `&self`: instances are not moved");
    }
}

/// Rejects `Self` and `impl Trait` in a type.
fn refuse_type(ty: &Type, what: &'static str, sink: &Sink) {
    struct Search<'a>(&'static str, &'a Sink);
    impl Visit<'_> for Search<'_> {
        fn visit_path(&mut self, path: &syn::Path) {
            if path.segments.first().is_some_and(|first| first.ident == "Self") {
                self.1.error(path.span(), format!("{} cannot be `Self`, which differs by lane", self.0));
            }
            visit::visit_path(self, path);
        }
        fn visit_type_impl_trait(&mut self, node: &syn::TypeImplTrait) {
            self.1.error(node.impl_token.span, format!("{} cannot be `impl Trait`: name the type", self.0));
        }
    }
    Search(what, sink).visit_type(ty);
}

/// How an argument is passed to each instance.
enum Passing {
    /// As a clone.
    Value,
    /// Unchanged.
    Shared,
    /// As state: each instance begins with the value from before.
    State,
}

struct Argument {
    /// Its name in the generated method.
    name: Ident,
    /// Its name in the trait.
    shown: String,
    passing: Passing,
}

/// Generates the method of the pointer.
fn pointer_method(krate: &TokenStream, of: &Ident, signature: &Signature) -> TokenStream {
    let span = signature.ident.span();
    let mut own = signature.clone();
    let arguments: Vec<Argument> = own.inputs.iter_mut().enumerate().filter_map(argument).collect();
    let private = quote_spanned!(span=> #krate::__private::dispatch);
    let notes = arguments.iter().map(|Argument { name, passing, .. }| {
        let place = if matches!(passing, Passing::Value) {
            quote_spanned!(span=> &#name)
        } else {
            quote_spanned!(span=> &*#name)
        };
        quote_spanned!(span=> (&#private::Argument(#place)).note(&mut __jit_arguments);)
    });
    let given = arguments.iter().map(|Argument { name, passing, .. }| match passing {
        Passing::Value => quote_spanned!(span=> #private::clone_arg(&#name)),
        Passing::Shared => quote_spanned!(span=> #name),
        Passing::State => quote_spanned!(span=> &mut *#name),
    });
    let state = || arguments.iter().filter(|argument| matches!(argument.passing, Passing::State));
    let saved = state().map(|Argument { name, shown, .. }| quote_spanned!(span=> __jit_call.state(#shown, &*#name);));
    let lent = state().map(|Argument { name, .. }| quote_spanned!(span=> __jit_call.lend(&mut *#name);));
    let taken = state().map(|Argument { name, .. }| quote_spanned!(span=> __jit_call.take(&*#name);));
    let restored = state().map(|Argument { name, .. }| quote_spanned!(span=> __jit_merged.restore(&mut *#name);));
    let (method, name) = (&signature.ident, format!("{of}::{}", signature.ident));
    quote_spanned! {span=>
        #[track_caller]
        #own {
            #[allow(unused_imports)]
            use #private::{ArrayArgument as _, OtherArgument as _, DefaultResult as _, OtherResult as _};
            let __jit_targets = #private::targets(self);
            let mut __jit_arguments = #private::Arguments::new();
            #(#notes)*
            let mut __jit_call = __jit_targets.call(#name, __jit_arguments);
            #(#saved)*
            let mut __jit_result = ::core::option::Option::None;
            while let ::core::option::Option::Some(__jit_target) = __jit_targets.next(&mut __jit_call) {
                #(#lent)*
                let __jit_value = #of::#method(__jit_target, #(#given),*);
                #(#taken)*
                __jit_call.give(&mut __jit_result, __jit_value);
            }
            let __jit_type = #private::ResultOf::of(&__jit_result);
            let mut __jit_merged = __jit_call.merge();
            #(#restored)*
            match __jit_merged.result(__jit_result) {
                ::core::option::Option::Some(__jit_value) => __jit_value,
                ::core::option::Option::None => (&__jit_type).zero(&__jit_merged),
            }
        }
    }
}

/// Gives an argument a generated name.
fn argument((position, input): (usize, &mut FnArg)) -> Option<Argument> {
    let FnArg::Typed(typed) = input else { return None };
    let name = format_ident!("__jit_argument{position}", span = typed.pat.span());
    let shown = match &*typed.pat {
        Pat::Ident(pattern) => pattern.ident.to_string(),
        _ => format!("argument {position}"),
    };
    let passing = match without_groups(&typed.ty) {
        Type::Reference(reference) if reference.mutability.is_some() => Passing::State,
        Type::Reference(_) => Passing::Shared,
        _ => Passing::Value,
    };
    *typed.pat = syn::parse_quote!(#name);
    typed.attrs.clear();
    Some(Argument { name, shown, passing })
}

fn without_groups(mut ty: &Type) -> &Type {
    loop {
        match ty {
            Type::Group(group) => ty = &group.elem,
            Type::Paren(paren) => ty = &paren.elem,
            _ => return ty,
        }
    }
}

/// Rejects `dispatch` on an item that is not a trait.
pub(super) fn only_on_traits(options: &JitOptions, span: Span, sink: &Sink) {
    if options.dispatch() {
        sink.error(span, "the `jit` option `dispatch` applies to a trait");
    }
}
