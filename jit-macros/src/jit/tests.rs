//! Tests of the rewriting on tokens: code that is rewritten, left unchanged, or rejected.

use super::expand;
use proc_macro2::TokenStream;
use quote::quote;

/// Returns the rewritten function, without the items beside it.
fn expanded(item: TokenStream) -> String {
    let text = expand(TokenStream::new(), item).to_string();
    text.split(" # [cfg (not (doc))]").next().unwrap_or_default().to_owned()
}

/// Returns the rewritten body without the prologue.
fn body(item: TokenStream) -> String {
    let text = expanded(item);
    let (_, after) = text.split_once("__jit_function").expect("a prologue");
    let (_, after) = after.split_once("& LABELLED }) ;").expect("the end of the prologue");
    // What notes the arguments, if the body mentions any.
    let after = match after.trim().strip_prefix("# [allow (clippy :: needless_borrow)] let () =") {
        Some(noted) => noted.split_once("}) ; } ;").expect("the end of the notes").1,
        None => after,
    };
    after.trim().trim_end_matches('}').trim().to_owned()
}

fn tokens(item: TokenStream) -> String {
    item.to_string()
}

#[test]
fn operands_that_are_places_are_cloned_and_others_are_not() {
    let got = body(quote! { fn f(x: Float) -> Float { x * x.sin() + self.a.0 - 2.0 } });
    let operand = |place: TokenStream| quote!(::jit::__private::Operand::again(&#place));
    let (x, a) = (operand(quote!(x)), operand(quote!(self.a.0)));
    assert_eq!(got, tokens(quote! { #x * x.sin() + #a - 2.0 }));
}

#[test]
fn elements_are_read_by_value_and_indexed_by_rust_where_their_place_is_meant() {
    let got = body(quote! { fn f(a: T, i: I) { let x = &a[i]; g(&mut a[i], a[i].x, a[i].f(), &a[1..3]); h(a[i]) } });
    let native = tokens(quote! { let x = &a[i]; g(&mut a[i], a[i].x, a[i].f(), &a[1..3]); });
    assert!(got.starts_with(&native), "{got}");
    assert!(
        got.contains("h (:: jit :: __private :: element (& * match :: jit :: __private :: probe (& a) . __jit_read ()"),
        "{got}"
    );
}

#[test]
fn operators_and_calls_read_elements_by_reference() {
    let got = body(quote! { fn f(a: T, i: I) { g(&a[i]); a.h(&a[i]); &a[i] + &a[i] } });
    assert_eq!(got.matches("& * match :: jit :: __private :: probe (& a) . __jit_read ()").count(), 4, "{got}");
}

#[test]
fn an_assignment_evaluates_its_value_before_it_borrows_its_target() {
    let got = body(quote! { fn f(a: T, i: I) { a[a.len() - 1] = g(); a[i] += a[0]; } });
    let index = got.find("a . len ()").expect("the index");
    let lent = got.find("(a) . __jit_lend ()").expect("the target");
    assert!(index < lent, "{got}");
    assert!(got.contains("+= __jit_write"), "{got}");
    assert!(got.contains(". value (__jit_value"), "{got}");
}

#[test]
fn operands_that_are_surely_host_values_are_not_rewritten() {
    let item = quote! { fn f(n: usize, v: &[f32]) -> bool { let k = n * 2 + v.len(); k < n && v[k] > LIMIT } };
    assert_eq!(body(item), tokens(quote! { let k = n * 2 + v.len(); k < n && v[k] > LIMIT }));
}

#[test]
fn comparisons_borrow_whole_operands() {
    let got = body(quote! { fn f(x: Float, y: Float) -> Mask { x * y < y } });
    let operand = |place: TokenStream| quote!(::jit::__private::Operand::again(&#place));
    let (x, y) = (operand(quote!(x)), operand(quote!(y)));
    assert_eq!(got, tokens(quote! { ::jit::__private::lt(&(#x * #y), &y) }));
}

#[test]
fn assignments_keep_their_places() {
    let got = body(quote! { fn f(mut x: Float, y: Float) { x += y; x = y; } });
    assert_eq!(got, tokens(quote! { x += ::jit::__private::Operand::again(&y); x = y; }));
}

#[test]
fn parallel_assignments_clone_what_is_used_again() {
    let got = body(quote! { fn f(mut a: Float, mut b: Float, c: Float) { (a, b) = (b, a); (a, b) = (c, c); } });
    let c = quote!(::jit::__private::Operand::again(&c));
    assert_eq!(got, tokens(quote! { (a, b) = (b, a); (a, b) = (#c, #c); }));
}

#[test]
fn a_loop_carries_what_it_changes_and_nothing_else() {
    let got = body(quote! {
        fn f(x: Float, limit: Float) -> Float {
            let mut y = x;
            let mut other = limit;
            while y < limit { let mut z = other; z += 1.0; y += z; }
            y
        }
    });
    assert!(got.contains("collect (\"y\" , & y)"), "{got}");
    assert_eq!(got.matches("collect (").count(), 1, "{got}");
    assert!(
        got.contains(
            ":: jit :: __private :: WhileCondition :: test (& :: jit :: __private :: lt (& y , & limit) , \
        & mut __jit_while1)"
        ),
        "{got}"
    );
}

#[test]
fn state_is_found_at_fields_and_through_references() {
    let got = body(quote! {
        fn f(&mut self, rng: &mut Pcg32, m: Mask) {
            if m { self.sum += rng.next(); step(rng); *self.count = 1; }
        }
    });
    for call in [
        "save (\"self.sum\" , & self . sum)",
        "save (\"rng\" , & (* rng))",
        "save (\"self.count\" , & (* self . count))",
    ] {
        assert!(got.contains(call), "{call} in {got}");
    }
    assert_eq!(got.matches("save (").count(), 3, "{got}");
}

#[test]
fn receivers_are_state_only_if_they_can_change() {
    let got = body(quote! {
        fn f(m: Mask, a: Thing, mut b: Thing, mut c: Float) -> Float {
            let y = if m { a.advance() + b.advance() + c.sin() } else { c.cos() };
            y
        }
    });
    assert_eq!(got.matches("save (").count(), 1, "{got}");
    assert!(got.contains("save (\"b\" , & b)"), "{got}");
}

#[test]
fn elements_of_a_mutable_iterator_are_state() {
    let got = body(quote! {
        fn f(m: Mask, things: &mut [Thing]) {
            for (i, thing) in things.iter_mut().enumerate() { if m { thing.advance(i); } }
        }
    });
    assert!(got.contains("save (\"thing\" , & (* thing))"), "{got}");
    assert!(!got.contains("save (\"i\" , & (* i))"), "{got}");
}

#[test]
fn variables_bound_to_mutable_references_are_state() {
    let state = |code: proc_macro2::TokenStream| {
        let got = body(code);
        ["a", "b"].map(|name| got.contains(&format!("save (\"{name}\" , & (* {name}))")))
    };
    let zipped =
        quote! { fn f(m: Mask, p: &mut [T], q: &[T]) { for (a, b) in p.iter_mut().zip(q) { if m { g(a, b); } } } };
    assert_eq!(state(zipped), [true, false]);
    let of_a_map = quote! { fn f(m: Mask, mut p: M) { for (a, b) in &mut p { if m { a.bump(); b.bump(); } } } };
    assert_eq!(state(of_a_map), [false, true]);
    let parts = quote! { fn f(m: Mask, p: &mut P) { let P(a, &mut b) = p; if m { a.bump(); b.bump(); } } };
    assert_eq!(state(parts), [true, false]);
    let parameters = quote! { fn f(m: Mask, (a, b): (&mut T, &T)) { if m { a.bump(); b.bump(); } } };
    assert_eq!(state(parameters), [true, false]);
    let in_a_closure = quote! { fn f(m: Mask, mut p: V) { p.iter_mut().for_each(|a| if m { a.bump(); }) } };
    assert_eq!(state(in_a_closure), [true, false]);
    let values = quote! { fn f(m: Mask, mut p: V) { let a = p.last_mut().unwrap().clone(); if m { g(a); a.b(); } } };
    assert_eq!(state(values), [false, false]);
}

#[test]
fn variables_of_unknown_type_are_asked_for_what_they_refer_to_where_a_call_may_change_it() {
    let is_asked = |statement: proc_macro2::TokenStream| {
        let got = body(quote! { fn f(m: Mask, q: Q, w: &mut W) { let p = w.first(); if m { #statement } } });
        assert!(!got.contains("save (\"q\""), "{got}");
        got.contains("probe (& p) . __jit_refers ()")
    };
    assert!(is_asked(quote! { p.change(); q.change(); }));
    assert!(is_asked(quote! { p.part.change() }));
    assert!(is_asked(quote! { let x = p.change(); g(x) }));
    assert!(is_asked(quote! { change(p) }));
    assert!(is_asked(quote! { for i in 0..3 { p.change() } }));
    assert!(!is_asked(quote! { p.sin(); }));
    assert!(!is_asked(quote! { g(&p) }));
    assert!(!is_asked(quote! { let p = g(); p.change(); }));
    assert!(!is_asked(quote! { p.x += 1.0; *p = q; p.change(); }));
}

#[test]
fn values_that_are_no_references_are_not_asked() {
    let is_asked = |value: proc_macro2::TokenStream| {
        body(quote! { fn f(m: Mask, mut w: W, x: &Float) { let p = #value; if m { change(p) } } })
            .contains("__jit_refers")
    };
    assert!(is_asked(quote! { w.part(1) }));
    assert!(is_asked(quote! { if c { first(&mut w) } else { second(&mut w) } }));
    assert!(!is_asked(quote! { x * 2.0 }));
    assert!(!is_asked(quote! { x.sin() }));
    assert!(!is_asked(quote! { Vec::new() }));
    assert!(!is_asked(quote! { count(&w, 3) }));
    assert!(!is_asked(quote! { Some(part(w)) }));
    assert!(!is_asked(quote! { w.line().parse().unwrap() }));
    assert!(!is_asked(quote! { if c { 1.0 } else { w.line().parse()? } }));
    assert!(!body(quote! { fn f(m: Mask) { g(|a| if m { Some(a) } else { None }) } }).contains("__jit_refers"));
}

#[test]
fn arguments_by_mut_reference_may_change_through_the_result() {
    let got = body(quote! {
        fn f(m: Mask, mut a: Float) { let r = pick(&mut a); let n = count(&a); if m { r.bump(); n.bump(); } }
    });
    assert!(got.contains("save (\"r\" , & r)"), "{got}");
    assert!(!got.contains("save (\"n\""), "{got}");
}

#[test]
fn an_early_return_takes_the_rest_as_its_other_arm() {
    let got = body(quote! { fn f(x: Float) -> Float { if x < 0.0 { return -x; } let y = x * 2.0; y } });
    assert!(!got.contains("return"), "{got}");
    assert!(got.contains("Slot :: < Float > :: new ()"), "{got}");
    assert!(got.contains(". put_otherwise (y)"), "{got}");
}

#[test]
fn a_host_condition_keeps_rusts_if() {
    let item = quote! { fn f(x: Float, n: usize) -> Float { if n > 3 { return x; } x + 1.0 } };
    let x = quote!(::jit::__private::Operand::again(&x));
    assert_eq!(body(item), tokens(quote! { if n > 3 { return x; } #x + 1.0 }));
}

#[test]
fn host_statements_are_not_rewritten() {
    let got = body(quote! { fn f(a: T, b: T) { #[host] if a < b { g(a) } } });
    assert_eq!(got, tokens(quote! { if a < b { g(a) } }));
}

#[test]
fn the_right_side_of_a_short_circuit_is_masked_only_where_it_could_do_harm() {
    let plain = body(quote! { fn f(i: UInt, n: UInt) -> Mask { i < n && i > 3 } });
    assert!(plain.contains("left_of_and") && plain.contains("is_open"), "{plain}");
    let guarded = body(quote! { fn f(i: UInt, xs: &Float) -> Mask { i < 3 && xs.gather(&i) > 0.0 } });
    assert!(guarded.contains("branch_and") && guarded.contains("lift"), "{guarded}");
}

#[test]
fn question_marks_are_checked_at_each_region_that_they_exit() {
    let got = body(quote! { fn f(a: C, b: C, x: R) -> R { let y = if a { if b { x? } else { 1 } } else { 2 }; y } });
    assert_eq!(got.matches("TryInIf :: pass").count(), 2, "{got}");
}

#[test]
fn jumps_with_nothing_traced_around_them_are_rusts() {
    let item = quote! {
        fn f(n: usize, xs: I) -> usize {
            'a: for k in 0..n {
                while k > 2 { if n > k { break 'a; } else { continue; } }
                match g(k) { Some(j) => { if n == 3 { return j; } } None => break }
            }
            n
        }
    };
    // A loop that unrolls counts its iterations, for the warning about long ones; nothing else is added.
    assert_eq!(
        body(item.clone()),
        tokens(quote! {
            {
                let mut __jit_unrolled3 = ::jit::__private::unrolled(0u32);
                'a: for k in 0..n {
                    __jit_unrolled3.begin_iteration();
                    while k > 2 { if n > k { break 'a; } else { continue; } }
                    match g(k) { Some(j) => { if n == 3 { return j; } } None => break }
                }
            }
            n
        })
    );
}

#[test]
fn the_stage_of_an_exit_is_that_of_all_conditions_on_its_way() {
    let got = body(quote! {
        fn f(a: M, b: M, mut x: Float) -> Float {
            while a { if b { break; } x += 1.0; if x { return x; } x += 2.0; }
            x
        }
    });
    // `break` goes through the inner condition and the loop's own; lanes that exit by `return` pass the same loop.
    assert_eq!(got.matches("witness ()").count(), 3, "{got}");
    assert_eq!(got.matches(":: exit").count(), 2, "{got}");
    assert_eq!(got.matches("branch_live (").count(), 3, "{got}");
    assert_eq!(got.matches("test_live (").count(), 1, "{got}");
    assert_eq!(got.matches("x += 1.0").count(), 1, "{got}");
}

#[test]
fn closures_and_nested_functions_end_what_return_leaves() {
    let got = body(quote! { fn f(a: C, g: G) { if a { g(|x| { return x; }); fn h(x: f32) -> f32 { return x * x } } } });
    assert!(!got.contains("return_in_if"), "{got}");
    assert!(got.contains("return x * x"), "{got}");
}

#[test]
fn variables_without_a_value_get_it_from_both_arms() {
    let got = body(quote! { fn f(m: Mask, a: Float) -> Float { let x; if m { x = a; } else { x = g(); } x } });
    assert!(got.contains("put_then (() , (x , ()))") || got.contains("put_then ((() , (x , ())))"), "{got}");
    assert!(got.contains(". 1 . 0 ; } x"), "{got}");
}

#[test]
fn a_value_that_two_arms_move_is_cloned_in_the_first() {
    let got = body(quote! { fn f(m: Mask, a: Float) -> Float { if m { g(a) } else { h(a) } } });
    assert!(got.contains(". share (& a)") && got.contains("h (a)"), "{got}");
}

#[test]
fn arguments_of_rusts_macros_are_rewritten() {
    let got = body(quote! { fn f(x: Float) { println!("{}", x < y); other!(x < y); } });
    assert!(got.contains("println ! (\"{}\" , :: jit :: __private :: lt (& x , & y))"), "{got}");
    assert!(got.contains("other ! (x < y)"), "{got}");
}

#[test]
fn errors_are_reported_together_and_the_name_still_resolves() {
    let got =
        expand(quote!(labl = "a"), quote! { const fn f(x: Float) -> Float { let __jit_a = 1; x.await } }).to_string();
    assert_eq!(got.matches("compile_error").count(), 4, "{got}");
    assert!(got.contains("fn f (x : Float) -> Float { :: core :: unreachable ! () }"), "{got}");
}

#[test]
fn the_path_of_the_crate_and_the_label_can_be_given() {
    let got = expand(quote!(label = "name", crate = my::jit), quote! { fn f(x: Float) { x + x; } }).to_string();
    assert!(got.contains("my :: jit :: __private :: Labelled :: new (\"name\""), "{got}");
    assert!(got.contains("my :: jit :: __private :: Operand :: again (& x)"), "{got}");
}

#[test]
fn fast_math_is_set_where_it_is_requested() {
    let with = |options| expand(options, quote! { fn f(x: Float) { x + x; } }).to_string();
    for (options, is_on) in
        [(quote!(fast_math), "true"), (quote!(fast_math = true), "true"), (quote!(fast_math = false), "false")]
    {
        let got = with(options);
        assert!(got.contains(&format!("FastMath :: set ({is_on})")), "{got}");
    }
    assert!(!with(quote!()).contains("FastMath"));
    let got = with(quote!(fast_math = "yes"));
    assert!(got.contains("the `jit` option `fast_math` takes `true` or `false`, or no value"), "{got}");
}

#[test]
fn lazy_is_the_default_and_takes_no_value() {
    let with = |options| expand(options, quote! { fn f(x: Float) { x + x; } }).to_string();
    assert_eq!(with(quote!(lazy)), with(quote!()));
    let got = with(quote!(lazy = false));
    assert!(got.contains("the `jit` option `lazy` takes no value"), "{got}");
}

#[test]
fn each_user_expression_stands_once() {
    let got = expanded(quote! {
        fn f(m: Mask) -> Float {
            let mut s = first();
            while second(&s) && third() { if fourth() < 1.0 { s = fifth(); } else { s += sixth(); } }
            if seventh() { eighth() } else { ninth() }
        }
    });
    for name in ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"] {
        assert_eq!(got.matches(&format!("{name} (")).count(), 1, "{name} in {got}");
    }
}

#[test]
fn code_after_a_jump_is_evaluated_if_a_statement_in_it_is() {
    let is_evaluated = |code: TokenStream, branch: &str| {
        let got = body(quote!(fn f(a: M, b: M, mut x: Float) -> Float { #code }));
        let (_, branch) = got.split_once(branch).expect("the branch with the code");
        branch.split_once(". then ()").expect("its guard").0.contains("evaluated ()")
    };
    let after = |rest: TokenStream| {
        // What follows is the other arm, or code for the lanes that have not exited.
        let [arm, live] = [
            is_evaluated(quote!(if a { return x; } #rest x), "branch ("),
            is_evaluated(quote!(if a { if b { return x; } } #rest x), "branch_live ("),
        ];
        assert_eq!(arm, live);
        arm
    };
    assert!(after(quote!(
        #[evaluated]
        while x < 1.0 {
            x += 1.0;
        }
    )));
    assert!(after(quote!(for _ in 0..3 {
        #[evaluated]
        #[compress]
        while x < 1.0 {
            x += 1.0;
        }
    })));
    assert!(!after(quote!(while x < 1.0 {
        x += 1.0;
    })));
    assert!(!after(quote!(fn g(x: Float) { #[evaluated] while x < 1.0 {} } g(x);)));
}

#[test]
fn printing_under_a_traced_condition_is_warned_about() {
    let warns =
        |statement: TokenStream| body(quote!(fn f(a: M) { if a { #statement } })).contains("prints_while_tracing ()");
    for statement in [quote!(println!("x");), quote!(std::eprint!("x");), quote!(dbg!(1);)] {
        assert!(warns(statement.clone()), "{statement}");
    }
    for statement in [quote!(jit::print!("x");), quote!(let t = format!("x");), quote!(drop(t);)] {
        assert!(!warns(statement.clone()), "{statement}");
    }
}
