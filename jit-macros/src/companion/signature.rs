//! The parameters of a function, as its executors take them.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::visit_mut::{self, VisitMut};
use syn::{
    FnArg, GenericParam, Generics, Receiver, ReceiverKind, ReturnType, Signature, Token, Type, TypeParamBound,
    TypeReference,
};

use crate::freeze::parameter::{self, Kind, RECEIVER};

/// A parameter of a function.
pub(super) struct Parameter {
    pub(super) name: Ident,
    /// Its name in messages.
    pub(super) label: String,
    pub(super) kind: Kind,
    /// Its type, behind the reference if it is one. `impl Trait` is replaced by a parameter of the type.
    pub(super) ty: Type,
    pub(super) is_constexpr: bool,
    pub(super) span: Span,
}

/// Reads the parameters; adds a type parameter for each `impl Trait` to the generics.
pub(super) fn parameters(signature: &Signature, generics: &mut Generics) -> Vec<Parameter> {
    let named = parameter::parameters(signature);
    let each = signature.inputs.iter().zip(named).map(|(argument, known)| {
        let is_constexpr = match argument {
            FnArg::Receiver(receiver) => is_marked(&receiver.attrs),
            FnArg::Typed(typed) => is_marked(&typed.attrs),
        };
        let (mut ty, kind) = match argument {
            FnArg::Receiver(receiver) => (of_receiver(receiver), known.kind()),
            // A reference to a constant of the program is kept as it is.
            FnArg::Typed(typed) if is_constexpr && parameter::is_static(&typed.ty) => {
                ((*typed.ty).clone(), Kind::Value)
            }
            FnArg::Typed(typed) if known.kind() == Kind::Borrowing => {
                (without_own_lifetimes(&typed.ty), Kind::Borrowing)
            }
            FnArg::Typed(typed) => (behind(&typed.ty), known.kind()),
        };
        name_impl_trait(&mut ty, generics);
        // In the items beside it the function is called by its name.
        let is_renamed = known.name == RECEIVER || known.name == signature.ident;
        let own = || format_ident!("__jit_{}", known.name, span = known.name.span());
        let name = if is_renamed { own() } else { known.name.clone() };
        Parameter { name, kind, label: known.label, ty, is_constexpr, span: known.span }
    });
    each.collect()
}

/// Replaces each `impl Trait` in a type by a type parameter, which is added to the generics.
pub(crate) fn name_impl_trait(ty: &mut Type, generics: &mut Generics) {
    Named { generics }.visit_type_mut(ty);
}

struct Named<'a> {
    generics: &'a mut Generics,
}

impl VisitMut for Named<'_> {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        visit_mut::visit_type_mut(self, ty);
        if let Type::ImplTrait(found) = ty {
            let name = format_ident!("__JitImpl{}", self.generics.params.len());
            let bounds = &found.bounds;
            self.generics.params.push(syn::parse_quote!(#name: #bounds));
            *ty = syn::parse_quote!(#name);
        }
    }
}

/// Returns whether a parameter has the attribute `#[constexpr]`.
fn is_marked(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident("constexpr"))
}

fn behind(ty: &Type) -> Type {
    match ty {
        Type::Reference(reference) => (*reference.elem).clone(),
        Type::Paren(inner) => behind(&inner.elem),
        Type::Group(inner) => behind(&inner.elem),
        _ => ty.clone(),
    }
}

/// Returns the type of a parameter that consists of references, without their lifetimes.
fn without_own_lifetimes(ty: &Type) -> Type {
    let mut ty = ty.clone();
    parameter::for_each_reference(&mut ty, &mut |reference| reference.lifetime = None);
    ty
}

/// Returns the types behind the references that a type consists of.
fn behind_references(ty: &Type) -> Vec<Type> {
    let (mut ty, mut found) = (ty.clone(), Vec::new());
    parameter::for_each_reference(&mut ty, &mut |reference| found.push((*reference.elem).clone()));
    found
}

fn of_receiver(receiver: &Receiver) -> Type {
    match &receiver.kind {
        ReceiverKind::Typed(_, ty) => behind(ty),
        _ => syn::parse_quote!(Self),
    }
}

impl Parameter {
    /// Returns the type of the parameter.
    pub(super) fn whole_type(&self) -> TokenStream {
        let ty = &self.ty;
        match self.kind {
            Kind::Exclusive => quote!(&mut #ty),
            Kind::Shared => quote!(&#ty),
            Kind::Value | Kind::Borrowing => quote!(#ty),
        }
    }

    /// Returns the condition under which the parameter can be recorded. It is checked where an executor is made, which
    /// the bound by a lifetime postpones.
    pub(super) fn bound(&self, private: &TokenStream) -> TokenStream {
        let (ty, private) = (&self.ty, parameter::spanned(private, self.span));
        match (self.kind, ty) {
            (Kind::Exclusive, Type::Slice(slice)) => {
                let element = &slice.elem;
                quote_spanned!(self.span=> for<'__jit> #element: #private::freeze::Recordable)
            }
            (Kind::Shared, _) => quote_spanned!(self.span=> for<'__jit> #ty: #private::freeze::FrozenInput),
            (Kind::Borrowing, _) => {
                let parts = behind_references(ty);
                quote_spanned!(self.span=> #(for<'__jit> #parts: #private::freeze::FrozenInput + 'static),*)
            }
            _ => quote_spanned!(self.span=> for<'__jit> #ty: #private::freeze::Recordable),
        }
    }

    /// Returns the argument in the form that the run-time support takes.
    pub(super) fn given(&self, is_number: bool, private: &TokenStream) -> TokenStream {
        let name = &self.name;
        match self.kind {
            _ if is_number => quote!(#private::freeze::Number(&#name)),
            Kind::Exclusive => quote!(#private::freeze::Exclusive(&mut *#name)),
            Kind::Shared => quote!(#private::freeze::Shared(#name)),
            Kind::Value => quote!(#private::freeze::ByValue(&#name)),
            Kind::Borrowing => quote!(#private::freeze::Lending(&#name)),
        }
    }

    /// Returns the argument of the body, lent from the copies.
    pub(super) fn lent(&self, position: usize, proxies: &Ident, private: &TokenStream) -> TokenStream {
        let (ty, index) = (&self.ty, syn::Index::from(position));
        let marker = quote!(::core::marker::PhantomData);
        match self.kind {
            Kind::Exclusive => quote!(#private::freeze::lend_mut::<#ty, _>(&mut #proxies.#index, #marker)),
            Kind::Shared => quote!(#private::freeze::lend::<#ty, _>(&#proxies.#index, #marker)),
            Kind::Value => quote!(#private::freeze::copied::<#ty>(&#proxies.#index)),
            Kind::Borrowing => quote!(#private::freeze::lend_parts::<#ty>(&#proxies.#index, #marker)),
        }
    }
}

impl Parameter {
    /// Returns what is kept of a `#[constexpr]` value, for another run of the function.
    pub(super) fn kept(&self, generics: &Generics, private: &TokenStream) -> TokenStream {
        let name = &self.name;
        match self.kind {
            _ if !self.can_be_kept(generics) => quote!(#private::executor::Once::new(#name)),
            Kind::Shared => quote!((&#private::executor::Behind(#name)).kept()),
            _ => quote!(#name),
        }
    }

    /// Returns a `#[constexpr]` argument of the body.
    pub(super) fn lent_kept(&self, generics: &Generics) -> TokenStream {
        let name = &self.name;
        match self.kind {
            _ if !self.can_be_kept(generics) => quote!(#name.take()),
            Kind::Shared => quote!(#name.lend()),
            _ => quote!(#name),
        }
    }

    /// Returns whether there are references in the parameter that a recording cannot repeat.
    fn borrows_inside(&self) -> bool {
        match self.kind {
            Kind::Borrowing => behind_references(&self.ty).iter().any(borrows),
            _ => borrows(&self.ty),
        }
    }

    /// Returns whether a value may outlive the call, apart from a reference to all of it.
    fn can_be_kept(&self, generics: &Generics) -> bool {
        let is_static = |bounds: &Punctuated<TypeParamBound, Token![+]>| {
            bounds.iter().any(|bound| matches!(bound, TypeParamBound::Lifetime(name) if name.ident == "static"))
        };
        let is_free = |parameter: &GenericParam| match parameter {
            GenericParam::Type(one) if !is_static(&one.bounds) => {
                contains(&self.ty, &|ty| matches!(ty, Type::Path(path) if path.path.segments[0].ident == one.ident))
            }
            _ => false,
        };
        self.kind != Kind::Exclusive && !borrows(&self.ty) && !generics.params.iter().any(is_free)
    }
}

/// Returns the condition under which the result can be recorded.
pub(super) fn bound_of_result(signature: &Signature, private: &TokenStream) -> TokenStream {
    let (ty, span) = match &signature.output {
        ReturnType::Default => (quote!(()), signature.ident.span()),
        ReturnType::Type(_, ty) => (ty.to_token_stream(), ty.span()),
    };
    let private = parameter::spanned(private, span);
    quote_spanned!(span=> for<'__jit> #ty: #private::freeze::Recordable)
}

/// Returns why a function cannot be compiled to an executor, if its signature shows that: the name of a type of the
/// run-time support, whose message says it.
pub(super) fn obstacle(signature: &Signature, parameters: &[Parameter]) -> Option<&'static str> {
    if !matches!(signature.safety, syn::Safety::Default) {
        return Some("IsUnsafe");
    }
    let is_free = |parameter: &GenericParam| matches!(parameter, GenericParam::Type(ty) if ty.bounds.is_empty());
    if signature.generics.where_clause.is_none() && signature.generics.params.iter().any(is_free) {
        return Some("HasUnboundedParameter");
    }
    let arguments = parameters.iter().filter(|parameter| !parameter.is_constexpr);
    if arguments.clone().count() > crate::freeze::MAX_ARGUMENTS {
        return Some("TakesTooMany");
    }
    if let ReturnType::Type(_, ty) = &signature.output {
        if contains(ty, &|ty| matches!(ty, Type::ImplTrait(_))) {
            return Some("ReturnsUnnamed");
        }
        if borrows(ty) {
            return Some("ReturnsReference");
        }
    }
    if arguments.clone().any(|parameter| contains(&parameter.ty, &|ty| matches!(ty, Type::TraitObject(_)))) {
        return Some("TakesTraitObject");
    }
    arguments.into_iter().any(Parameter::borrows_inside).then_some("TakesReferenceInside")
}

fn contains(ty: &Type, is_it: &dyn Fn(&Type) -> bool) -> bool {
    struct Search<'a>(&'a dyn Fn(&Type) -> bool, bool);
    impl<'ast> Visit<'ast> for Search<'_> {
        fn visit_type(&mut self, ty: &'ast Type) {
            self.1 |= self.0(ty);
            visit::visit_type(self, ty);
        }
    }
    let mut search = Search(is_it, false);
    search.visit_type(ty);
    search.1
}

/// Returns whether a type has references or lifetimes other than `'static`.
fn borrows(ty: &Type) -> bool {
    struct Search(bool);
    impl<'ast> Visit<'ast> for Search {
        fn visit_type_reference(&mut self, reference: &'ast TypeReference) {
            self.0 |= reference.lifetime.is_none();
            visit::visit_type_reference(self, reference);
        }
        fn visit_lifetime(&mut self, lifetime: &'ast syn::Lifetime) {
            self.0 |= lifetime.ident != "static";
        }
        fn visit_type_fn_ptr(&mut self, _: &'ast syn::TypeFnPtr) {}
    }
    let mut search = Search(false);
    search.visit_type(ty);
    search.0
}

/// Returns generics without lifetimes, which types of executors do not mention.
pub(crate) fn without_lifetimes(generics: &Generics) -> Generics {
    let is_kept = |parameter: &&GenericParam| !matches!(parameter, GenericParam::Lifetime(_));
    let params = generics.params.iter().filter(is_kept).cloned().collect();
    let mut generics = Generics { params, ..generics.clone() };
    if let Some(clause) = &mut generics.where_clause {
        let predicates = clause.predicates.iter();
        clause.predicates =
            predicates.filter(|one| !matches!(one, syn::WherePredicate::Lifetime(_))).cloned().collect();
    }
    generics
}

/// Returns the names of type and constant parameters.
pub(crate) fn arguments_of(generics: &Generics) -> TokenStream {
    let names: Vec<TokenStream> = generics.params.iter().filter_map(name_of_parameter).collect();
    if names.is_empty() { TokenStream::new() } else { quote!(::<#(#names),*>) }
}

/// Returns the name of a type or constant parameter.
pub(crate) fn name_of_parameter(parameter: &GenericParam) -> Option<TokenStream> {
    match parameter {
        GenericParam::Type(parameter) => Some(parameter.ident.to_token_stream()),
        GenericParam::Const(parameter) => Some(parameter.ident.to_token_stream()),
        GenericParam::Lifetime(_) => None,
    }
}

/// Returns a signature with all of its tokens at one place, except their meaning.
pub(super) fn placed(signature: &Signature, span: Span) -> Signature {
    fn all(tokens: TokenStream, span: Span) -> TokenStream {
        let each = tokens.into_iter().map(|mut token| {
            if let TokenTree::Group(group) = &token {
                token = Group::new(group.delimiter(), all(group.stream(), span)).into();
            }
            let own = token.span();
            token.set_span(span.resolved_at(own));
            token
        });
        each.collect()
    }
    syn::parse2(all(signature.to_token_stream(), span)).unwrap_or_else(|_| signature.clone())
}
