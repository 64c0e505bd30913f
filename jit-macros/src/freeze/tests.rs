//! Tests of the expansion on tokens: the items generated besides a function, by its context.

use super::expand;
use proc_macro2::TokenStream;
use quote::quote;

fn expanded(item: TokenStream) -> String {
    expand(TokenStream::new(), item).to_string()
}

#[test]
fn a_method_that_may_be_of_a_trait_has_no_functions_beside_it() {
    for item in [
        quote! { fn step(&mut self, x: &Float) { self.x += x; } },
        quote! { fn new(x: &Float) -> Self { Self { x: x + 1.0 } } },
        quote! { fn width(x: &Float) -> Float { made!(Self::WIDTH, x) } },
    ] {
        let function: syn::ItemFn = syn::parse_str(&expanded(item)).expect("one function");
        assert!(function.sig.ident != "stats");
    }
}

#[test]
fn members_with_a_visibility_and_free_functions_report_their_recordings() {
    let member = expanded(quote! { pub(crate) fn step(&mut self, x: &Float) { self.x += x; } });
    assert!(member.contains("pub (crate) fn step_stats ()"), "{member}");
    let free =
        expanded(quote! { fn step(x: &Float) -> Float { struct Own; impl Own { fn new() -> Self { Own } } x + 1.0 } });
    assert!(free.contains("struct step {") && free.contains("fn stats ()"), "{free}");
}

#[test]
fn self_has_another_name_in_the_body_and_paths_keep_theirs() {
    let text = expanded(quote! {
        fn step(&self) -> Float {
            impl Inner { fn own(&self) -> u32 { self.n } }
            note!("x", self.x, self::NAME);
            self::scale(self.x.clone())
        }
    });
    assert!(text.contains("note ! (\"x\" , self_ . x , self :: NAME)"), "{text}");
    assert!(text.contains("self :: scale (self_ . x . clone ())"), "{text}");
    assert!(text.contains("fn own (& self) -> u32 { self . n }"), "{text}");
}

#[test]
fn lifetimes_of_parameters_are_those_of_each_call_of_the_body() {
    let text = expanded(quote! { fn f<'a>(&'a self, x: &'a Float, y: Pair<'a>, z: &impl Shape) {} });
    assert!(text.contains("| self_ : & Self , x : & Float , y : Pair < '_ > , z : & _ |"), "{text}");
}

#[test]
fn patterns_are_taken_apart_by_the_body() {
    let text = expanded(quote! { fn f((x, y): (Float, Float), mut n: u32, _: &Float) -> Float { n += 1; x + y } });
    assert!(text.contains("fn f (argument_0 : (Float , Float) , n : u32 , argument_2 : & Float)"), "{text}");
    assert!(text.contains("fn __jit_body ((x , y) : (Float , Float) , mut n : u32 , _ : & Float)"), "{text}");
}

#[test]
fn no_more_numbers_are_given_to_replays_than_there_is_room_for() {
    let text = expanded(quote! {
        fn f(x: &Float, a: f32, b: f32, c: f32, d: f32, e: f32, g: f32, h: f32) -> Float {
            x * a + x * b + x * c + x * d + x * e + x * g + x * h
        }
    });
    assert_eq!(text.matches("freeze :: Lifted (").count(), 4, "{text}");
}
