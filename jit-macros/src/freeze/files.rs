//! The items that write the recordings of a frozen function to a file and read them: `f::save(path)`, `f::load(path)`.
//!
//! A generic function, and a method, has recordings for each instantiation, so each has files of its own:
//! `f::save::<T>(path)`, `Net::<T>::step_save(path)`.

use super::{Frozen, body};
use crate::companion::{self, Place, item_name, signature};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::visit::{self, Visit};
use syn::visit_mut::VisitMut;
use syn::{FnArg, Generics, ReceiverKind, Type, Visibility, parse_quote};

/// The parts of a function that its files depend on.
struct Files {
    /// The types of the arguments, without lifetimes.
    types: Vec<Type>,
    result: TokenStream,
    /// The generic parameters, without lifetimes.
    generics: Generics,
}

impl Frozen {
    /// Generates the functions, and the one that names the instantiation. There are none of functions with a type that
    /// has no name, such as `impl Trait`.
    pub(super) fn files(&self, function: &TokenStream) -> TokenStream {
        let Some(Files { types, result, generics }) = self.parts_of_files() else { return TokenStream::new() };
        let (private, span) = (self.private(), self.function.sig.ident.span());
        let krate = self.options.krate.as_ref().map_or_else(|| quote!(::jit), ToTokens::to_token_stream);
        let vis: &Visibility = &self.function.vis;
        let [save, load] = ["save", "load"].map(|what| item_name(self.place, &self.function.sig.ident, what));
        let signature = quote!(fn(#(#types),*) -> #result);
        let path = quote!(impl ::core::convert::AsRef<::std::path::Path>);
        let outcome = quote!(::core::result::Result<(), #krate::Error>);
        let (params, arguments) = (&generics.params, signature::arguments_of(&generics));
        let conditions = generics.where_clause.iter().flat_map(|clause| &clause.predicates);
        let conditions: Vec<_> = conditions.collect();
        let getter = self.instance_getter();
        let instance = match self.has_instances() {
            true => quote!(::core::option::Option::Some(Self::#getter #arguments())),
            false => quote!(::core::option::Option::None),
        };
        let naming = self.has_instances().then(|| {
            let callee = self.callee(&arguments);
            quote_spanned! {span=>
                #[doc(hidden)]
                #[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic)]
                #vis fn #getter<#params>() -> #private::freeze::Instance where #(#conditions),* {
                    #private::freeze::instance(&#callee)
                }
            }
        });
        quote_spanned! {span=>
            #naming

            /// Writes all recordings to a file.
            #[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic)]
            #[track_caller]
            #vis fn #save<#params>(path: #path) -> #outcome where #(#conditions),* {
                #private::freeze::Function::save::<#signature>(
                    #function,
                    #instance,
                    ::core::convert::AsRef::as_ref(&path),
                )
            }

            /// Adds the recordings of a file that `save` has written: later calls replay them. Machine code in the file
            /// is run, so whoever could write it is trusted, as with a shared library.
            #[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic)]
            #[track_caller]
            #vis fn #load<#params>(path: #path) -> #outcome
            where
                #(#conditions,)*
                for<'__jit> #result: #private::freeze::Recordable + #krate::Build,
            {
                #private::freeze::Function::load::<#signature, #result>(
                    #function,
                    #instance,
                    ::core::convert::AsRef::as_ref(&path),
                )
            }
        }
    }

    /// Returns an expression for the instantiation, valid in the function; none if it has a single one.
    pub(super) fn instance(&self) -> Option<TokenStream> {
        let Files { generics, .. } = self.parts_of_files().filter(|_| self.has_instances())?;
        let (getter, arguments) = (self.instance_getter(), signature::arguments_of(&generics));
        let name = &self.function.sig.ident;
        Some(match self.place {
            Place::Free => {
                let beside = companion::type_beside(name);
                quote_spanned!(name.span()=> #beside::#getter #arguments())
            }
            Place::Inherent | Place::Member => quote_spanned!(name.span()=> Self::#getter #arguments()),
        })
    }

    /// Returns whether it may have several instantiations: that of a method depends on its type.
    fn has_instances(&self) -> bool {
        self.place == Place::Inherent || !self.parameters_of_types().params.is_empty()
    }

    fn parameters_of_types(&self) -> Generics {
        signature::without_lifetimes(&self.function.sig.generics)
    }

    fn instance_getter(&self) -> Ident {
        match self.place {
            Place::Free => Ident::new("__jit_instance", Span::call_site()),
            Place::Inherent | Place::Member => {
                format_ident!("__jit_instance_{}", self.function.sig.ident, span = Span::call_site())
            }
        }
    }

    /// Returns the path of the function, for items beside it.
    fn callee(&self, arguments: &TokenStream) -> TokenStream {
        let name = &self.function.sig.ident;
        match self.place {
            Place::Free => quote_spanned!(name.span()=> #name #arguments),
            Place::Inherent | Place::Member => quote_spanned!(name.span()=> Self::#name #arguments),
        }
    }

    fn parts_of_files(&self) -> Option<Files> {
        let sig = &self.function.sig;
        if self.place == Place::Member || !self.is_right {
            return None;
        }
        let mut types: Vec<Type> = sig.inputs.iter().map(type_of).collect();
        let generics = self.parameters_of_types();
        types.iter_mut().for_each(|ty| WithoutLifetimes.visit_type_mut(ty));
        let is_named = !types.iter().any(has_unnamed) && !has_lifetime(&generics);
        is_named.then(|| Files { types, result: body::result(&sig.output), generics })
    }
}

fn type_of(argument: &FnArg) -> Type {
    match argument {
        FnArg::Typed(typed) => (*typed.ty).clone(),
        FnArg::Receiver(receiver) => match &receiver.kind {
            ReceiverKind::Reference(_, _, Some(_)) => parse_quote!(&mut Self),
            ReceiverKind::Reference(_, _, None) => parse_quote!(&Self),
            ReceiverKind::Typed(_, ty) => (**ty).clone(),
            _ => parse_quote!(Self),
        },
    }
}

/// Replaces lifetimes by those that are left out.
struct WithoutLifetimes;

impl VisitMut for WithoutLifetimes {
    fn visit_lifetime_mut(&mut self, lifetime: &mut syn::Lifetime) {
        if lifetime.ident != "static" {
            lifetime.ident = Ident::new("_", lifetime.ident.span());
        }
    }

    fn visit_bound_lifetimes_mut(&mut self, _: &mut syn::BoundLifetimes) {}
}

/// Returns whether a type has no name that can be written again: `impl Trait`, or a lifetime that it declares.
fn has_unnamed(ty: &Type) -> bool {
    struct Search(bool);
    impl<'ast> Visit<'ast> for Search {
        fn visit_type_impl_trait(&mut self, _: &'ast syn::TypeImplTrait) {
            self.0 = true;
        }

        fn visit_type_infer(&mut self, _: &'ast syn::TypeInfer) {
            self.0 = true;
        }

        fn visit_bound_lifetimes(&mut self, _: &'ast syn::BoundLifetimes) {
            self.0 = true;
        }
    }
    let mut search = Search(false);
    search.visit_type(ty);
    search.0
}

/// Returns whether generic parameters mention a lifetime of the function.
fn has_lifetime(generics: &Generics) -> bool {
    struct Search(bool);
    impl<'ast> Visit<'ast> for Search {
        fn visit_lifetime(&mut self, lifetime: &'ast syn::Lifetime) {
            self.0 |= lifetime.ident != "static";
            visit::visit_lifetime(self, lifetime);
        }
    }
    let mut search = Search(false);
    search.visit_generics(generics);
    search.0
}
