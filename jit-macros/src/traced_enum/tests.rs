//! Tests of the derive on tokens.

use super::expand;
use quote::quote;

#[test]
fn the_fields_of_all_variants_are_nested_pairs() {
    let item = quote! { enum Shape { Sphere { r: Float }, Nothing, Plane(Float, UInt) } };
    let text = expand(item).to_string();
    let fields = quote!(
        type Fields = ((Float, ()), ((), ((Float, (UInt, ())), ())));
    )
    .to_string();
    assert!(text.contains(&fields), "{text}");
    let names = quote!(&["Sphere", "Nothing", "Plane"]).to_string();
    assert!(text.contains(&names), "{text}");
}

#[test]
fn fields_of_generic_types_are_bounded_once() {
    let item = quote! { #[traced_enum(crate = other)] enum Either<T: Element> { A(Array<T>), B(Array<T>, Float) } };
    let text = expand(item).to_string();
    let clause = quote!(where Array<T>: other::__private::VariantField,).to_string();
    assert_eq!(text.matches(&clause).count(), 2, "{text}");
    assert_eq!(text.matches("VariantField ,").count(), 2, "{text}");
}

#[test]
fn types_without_variants_are_refused() {
    for item in [
        quote!(
            struct A(Float);
        ),
        quote!(union A { x: f32 }),
        quote!(
            enum A {}
        ),
    ] {
        let text = expand(item).to_string();
        assert!(text.contains("compile_error") && !text.contains("impl"), "{text}");
    }
}
