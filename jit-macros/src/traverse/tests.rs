//! Tests of the derive on tokens: bounds, and the output for a rejected type.

use super::expand;
use proc_macro2::TokenStream;
use quote::quote;

/// Returns the `where` clause of the derived implementation.
fn bounds(item: TokenStream) -> String {
    let text = expand(item).to_string();
    let (_, after) = text.split_once(" where").expect("a clause");
    let (clause, _) = after.split_once('{').expect("a body");
    clause.trim().trim_end_matches(',').trim().to_owned()
}

fn tokens(item: TokenStream) -> String {
    item.to_string()
}

#[test]
fn types_without_parameters_are_not_bounded() {
    assert_eq!(bounds(quote! { struct A<'a, const N: usize> { x: &'a [Float; N], y: Vec<B> } }), "");
}

#[test]
fn types_of_fields_are_bounded_once_and_skipped_ones_are_not() {
    let item = quote! {
        enum A<T: Element, U, F> where T: Copy { B { x: Array<T>, y: (Array<T>, U) }, C(Array<T>, #[traverse(skip)] F) }
    };
    assert_eq!(bounds(item), tokens(quote! { T: Copy, Array<T>: ::jit::Traverse, (Array<T>, U): ::jit::Traverse }));
}

#[test]
fn recursive_types_bound_the_fields_beside_the_recursion() {
    let item = quote! { struct Tree<T, U> { value: Array<T>, children: Vec<(Box<Tree<T, U>>, U)> } };
    assert_eq!(bounds(item), tokens(quote! { Array<T>: ::jit::Traverse, U: ::jit::Traverse }));
}

#[test]
fn recursive_types_are_built_if_they_contain_themselves_in_containers_alone() {
    let is_built = |item: TokenStream| expand(item).to_string().contains(":: jit :: Build for");
    assert!(is_built(quote! { struct A<T> { x: Array<T>, next: Option<Box<A<T>>>, all: [Vec<(u8, Self)>; 2] } }));
    assert!(is_built(quote! { enum A { X(BTreeMap<String, A>), Y { list: std::vec::Vec<crate::A> } } }));
    assert!(!is_built(quote! { struct A { x: Option<Other<A>> } }));
    assert!(!is_built(quote! { struct A<T> { x: Option<Box<A<Vec<T>>>> } }));
}

#[test]
fn constants_are_bounded_as_such() {
    let item = quote! { #[traverse(crate = other)] struct A<K> { #[traverse(constexpr)] kind: Option<K> } };
    assert_eq!(bounds(item), tokens(quote! { Option<K>: other::__private::Constant }));
}

#[test]
fn given_bounds_replace_the_inferred_ones() {
    let item = quote! { #[traverse(bound = "T: Any, U: Any")] struct A<T, U>(T, U); };
    assert_eq!(bounds(item), tokens(quote! { T: Any, U: Any }));
}

#[test]
fn a_refused_type_gives_errors_alone() {
    let text = expand(quote! { union A { x: f32 } }).to_string();
    assert!(text.contains("compile_error") && !text.contains("impl"), "{text}");
}
