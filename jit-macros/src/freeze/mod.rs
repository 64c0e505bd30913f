//! `#[freeze]`: parse → check → generate.
//!
//! The body is rewritten as by `#[jit]` and becomes a separate function or closure (`body`). The user's function calls
//! the run-time support (`jit_core::freeze`) with its arguments, which replays a recording or runs the body on copies
//! of them. If neither is possible, the user's function calls the body itself.
//!
//! ```text
//! #[freeze] fn step(s: &mut State, x: &Float) -> Float { … }
//!    →   fn step(s: &mut State, x: &Float) -> Float {
//!            fn __jit_body(s: &mut State, x: &Float) -> Float { … }
//!            match call(step::__jit_function(), (Exclusive(&mut *s), Shared(x)), |proxies| __jit_body(…)) {
//!                Some(result) => result,
//!                None => { let result = __jit_body(&mut *s, x); after_direct(…); result }
//!            }
//!        }
//!        struct step { .. }    // in the namespace of types, with `stats`, `explain`, `clear`
//! ```
//!
//! The items generated besides the function depend on its [`Place`].

mod about;
pub(crate) mod body;
mod check;
mod files;
pub(crate) mod number;
mod options;
pub(crate) mod parameter;
#[cfg(test)]
mod tests;

use crate::companion::Place;
use crate::jit;
use crate::options::JitOptions;
use crate::sink::Sink;
use crate::ungroup::Ungroup;
use body::Body;
pub(crate) use files::refused_files;
use number::{Lifted, Number};
use options::FreezeOptions;
use parameter::Parameter;
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::visit_mut::VisitMut;
use syn::{Attribute, ExprClosure, ImplItemFn, ItemFn, Meta};

/// The most arguments that the run-time support takes.
pub(crate) const MAX_ARGUMENTS: usize = 12;

/// Expands the attribute on an item.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    let sink = Sink::default();
    let options = FreezeOptions::parse(options, &sink);
    let expanded = match syn::parse2::<ItemFn>(item.clone()) {
        Ok(mut function) => {
            Ungroup.visit_item_fn_mut(&mut function);
            let place = Place::of(&function);
            Frozen::new(options, function, place, &JitOptions::default(), &sink).expand()
        }
        Err(_) => {
            check::not_a_function(&item, &sink);
            item
        }
    };
    let errors = sink.finish();
    quote!(#errors #expanded)
}

/// Returns whether an attribute is `#[freeze]`.
pub(crate) fn is_freeze(attribute: &Attribute) -> bool {
    attribute.path().segments.last().is_some_and(|last| last.ident == "freeze")
}

/// Expands the attribute on a function in a `#[jit]` block, of a trait or not; returns `None` if the function has none.
pub(crate) fn expand_in_block(
    block: &JitOptions,
    is_of_trait: bool,
    function: &ImplItemFn,
    sink: &Sink,
) -> Option<TokenStream> {
    let position = function.attrs.iter().position(is_freeze)?;
    let ImplItemFn { mut attrs, vis, modifiers, sig, block: body } = function.clone();
    let attribute = attrs.remove(position);
    let options = FreezeOptions::parse(tokens_of(&attribute), sink);
    let function = ItemFn { attrs, vis, modifiers, sig, block: Box::new(body) };
    let place = if is_of_trait { Place::Member } else { Place::Inherent };
    Some(Frozen::new(options, function, place, block, sink).expand())
}

/// Returns the tokens between the parentheses of an attribute.
fn tokens_of(attribute: &Attribute) -> TokenStream {
    match &attribute.meta {
        Meta::List(list) => list.tokens.clone(),
        _ => TokenStream::new(),
    }
}

/// Generates a number expression in the form that the run-time support takes: as an array.
pub(crate) fn given_number(ty: &Ident, value: &syn::Expr, private: &TokenStream) -> TokenStream {
    quote!(#private::freeze::Lifted(<#private::freeze::Array<#ty> as ::core::convert::From<#ty>>::from(#value)))
}

struct Frozen {
    options: FreezeOptions,
    place: Place,
    function: ItemFn,
    parameters: Vec<Parameter>,
    body: Body,
    state: Option<ExprClosure>,
    /// The parameters that are plain numbers, and the number expressions that are combined with arrays.
    numbers: Vec<Number>,
    lifted: Vec<Lifted>,
    /// For each parameter, whether a recording is made for each of its values.
    constexprs: Vec<bool>,
    /// Whether there were no errors.
    is_right: bool,
}

impl Frozen {
    fn new(options: FreezeOptions, mut function: ItemFn, place: Place, block: &JitOptions, sink: &Sink) -> Frozen {
        let own = Sink::default();
        check::signature(&function.sig, &own);
        let traced = check::take_attributes(&mut function.attrs, &own);
        // These are keys, as what the options name.
        let marks = check::take_constexprs(&mut function.sig, &own);
        options.check(&function.sig, &own);
        let parameters = parameter::parameters(&function.sig);
        let is_marked = |name: &Ident| parameters.iter().zip(&marks).any(|(one, &marked)| marked && one.name == *name);
        let state = options.state(parameters.len(), &own);
        let room = MAX_ARGUMENTS.saturating_sub(parameters.len() + usize::from(state.is_some()));
        check::count(&function.sig, MAX_ARGUMENTS - usize::from(state.is_some()), &own);
        let krate = options.krate.as_ref().map_or_else(|| quote!(::jit), ToTokens::to_token_stream);
        let mut body = ItemFn { attrs: Vec::new(), sig: check::plain(&function.sig), ..function.clone() };
        let numbers = number::numbers(&function.sig, &function.block, &|name| options.is_key(name) || is_marked(name));
        let lifted = number::lift(&numbers, &mut body.block, room, &quote!(#krate::__private));
        for Lifted { name, ty, .. } in &lifted {
            body.sig.inputs.push(syn::parse_quote!(#name: &#krate::Array<#ty>));
        }
        let traced = traced.map(|attribute| JitOptions::parse(tokens_of(&attribute), &own));
        let traced = traced.as_ref().unwrap_or(block);
        jit::rewrite(&options.of_body(traced), &mut body, &own);
        let body = match place {
            Place::Free => body::function(body),
            Place::Inherent | Place::Member => {
                let (each, private) = (parameters.iter().enumerate(), quote!(#krate::__private));
                let first: Vec<_> = each.filter_map(|(at, parameter)| parameter.known_type(at, &private)).collect();
                body::closure(body, &first, &own)
            }
        };
        let errors = own.take();
        let is_right = errors.is_none();
        errors.into_iter().for_each(|errors| sink.push(errors));
        if is_right {
            parameter::name(&mut function.sig, &parameters);
        }
        Frozen { options, place, function, parameters, body, state, numbers, lifted, constexprs: marks, is_right }
    }

    fn expand(&self) -> TokenStream {
        let call = if self.is_right { self.call() } else { quote!(::core::unreachable!()) };
        let ItemFn { attrs, vis, sig, .. } = &self.function;
        let (located, unused) = (self.located(), self.allowed_in_refused());
        let (statics, beside) = self.about();
        quote_spanned! {sig.ident.span()=>
            #(#attrs)*
            #located
            #unused
            #vis #sig {
                #statics
                #call
            }
            #beside
        }
    }

    /// Generates the call of the run-time support.
    fn call(&self) -> TokenStream {
        let private = self.private();
        let Body { definition, callee } = &self.body;
        let remembered = self.parameters.iter().enumerate();
        let remembered = remembered.filter_map(|(position, parameter)| parameter.remembered_type(position, &private));
        let (result, span) = (body::result(&self.function.sig.output), self.function.sig.ident.span());
        let proxies = Ident::new("__jit_proxies", span);
        let (function, given, lent, again) =
            (self.recordings(), self.given(&private), self.lent(&proxies, &private), self.again());
        let changed = self.parameters.iter().filter_map(Parameter::changed);
        let constexprs = jit::constexpr::checks(&self.function.sig, &self.constexprs, &private);
        let private = parameter::spanned(&private, span);
        let (replay, instance) = match self.instance() {
            Some(instance) => (Ident::new("call_instance", span), Some(quote_spanned!(span=> #instance,))),
            None => (Ident::new("call", span), None),
        };
        quote_spanned! {span=>
            #(#remembered)*
            #definition
            #constexprs
            match #private::freeze::#replay::<_, #result, _>(
                #function,
                #instance
                #given,
                move |#proxies| #callee(#lent),
            ) {
                ::core::option::Option::Some(__jit_result) => __jit_result,
                ::core::option::Option::None => {
                    #[allow(clippy::let_unit_value)]
                    let __jit_result = #callee(#again);
                    #private::freeze::after_direct(|__jit_vars| {
                        #[allow(unused_imports)]
                        use #private::freeze::{CollectArrays as _, CollectNothing as _};
                        #((&#private::freeze::Changed(#changed)).collect(__jit_vars);)*
                        (&#private::freeze::Changed(&__jit_result)).collect(__jit_vars);
                    });
                    __jit_result
                }
            }
        }
    }

    fn is_number(&self, name: &Ident) -> bool {
        self.numbers.iter().any(|number| number.name == *name)
    }

    fn private(&self) -> TokenStream {
        let krate = self.options.krate.as_ref().map_or_else(|| quote!(::jit), ToTokens::to_token_stream);
        quote!(#krate::__private)
    }

    /// Generates the arguments in the form that the run-time support takes.
    fn given(&self, private: &TokenStream) -> TokenStream {
        let each = self.parameters.iter().map(|parameter| match self.is_number(&parameter.name) {
            true => parameter.given_as_number(private),
            false => parameter.given(private),
        });
        let lifted = self.lifted.iter().map(|Lifted { ty, value, .. }| given_number(ty, value, private));
        let arguments = quote_spanned!(self.function.sig.ident.span()=> (#(#each,)* #(#lifted,)*));
        match &self.state {
            Some(closure) => self.with_state(&arguments, closure, private),
            None => arguments,
        }
    }

    /// Generates the arguments with the state. Arguments borrowed by `&mut` are read through the arguments.
    fn with_state(&self, arguments: &TokenStream, closure: &ExprClosure, private: &TokenStream) -> TokenStream {
        let span = self.function.sig.ident.span();
        let given = Ident::new("__jit_arguments", span);
        let parameters = self.parameters.iter().enumerate().take(closure.inputs.len());
        let shared = parameters.map(|(position, parameter)| parameter.shared(&given, position));
        let (names, body) = (closure.inputs.iter(), &closure.body);
        quote_spanned! {span=>
            #private::freeze::with_state(#arguments, |#given, __jit_visitor| __jit_visitor.shared(
                &#private::freeze::state((#(#shared,)*), |(#(#names,)*)| #body),
            ))
        }
    }

    /// Generates the arguments of the body, lent from the copies.
    fn lent(&self, proxies: &Ident, private: &TokenStream) -> TokenStream {
        let each = self.parameters.iter().enumerate();
        let each = each.map(|(position, parameter)| parameter.lent(position, proxies, private));
        let lifted = (self.parameters.len()..).take(self.lifted.len()).map(|position| {
            let index = syn::Index::from(position);
            quote!(&#proxies.#index)
        });
        let all = each.chain(lifted);
        quote!(#(#all),*)
    }

    /// Generates the arguments of the body when it runs on the caller's.
    fn again(&self) -> TokenStream {
        let private = self.private();
        let each = self.parameters.iter().map(Parameter::again);
        let lifted = self.lifted.iter().map(|Lifted { ty, value, .. }| {
            quote!(&<#private::freeze::Array<#ty> as ::core::convert::From<#ty>>::from(#value))
        });
        let all = each.chain(lifted);
        quote!(#(#all),*)
    }

    /// Generates the attribute that makes messages name the line of the caller.
    fn located(&self) -> Option<TokenStream> {
        let is_said = self.function.attrs.iter().any(|attribute| attribute.path().is_ident("track_caller"));
        (self.is_right && !is_said).then(|| quote!(#[track_caller]))
    }

    /// Generates an attribute that silences unused warnings for a rejected function.
    fn allowed_in_refused(&self) -> Option<TokenStream> {
        (!self.is_right).then(|| quote!(#[allow(unused_variables, unused_mut, clippy::needless_pass_by_value)]))
    }
}
