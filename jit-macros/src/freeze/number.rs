//! Plain numbers that change from call to call.
//!
//! When a number is combined with another operand, as `it` in `x * (it as f32 * 0.1)`, the other operand decides. If it
//! is an array, the number is an array of width 1, which a recording may receive anew in each call. Otherwise it is the
//! number itself, and the recording is made for this value. So the body compiles whatever its numbers are used for.
//!
//! A *number expression* is made of parameters, casts, negations, arithmetic with literals, and functions of floats
//! such as `sin`. Each is computed before the call and passed as a separate argument. Immutable variables that are
//! nothing but a number expression count as such, if nothing else in the body has their name.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use std::collections::{HashMap, HashSet};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::visit_mut::{self, VisitMut};
use syn::{BinOp, Block, Expr, ExprBinary, Local, Pat, Stmt, Type, UnOp};

/// The element types that a plain number may have.
const ELEMENTS: [&str; 10] = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"];
/// Further types of numbers that casts may start from.
const OTHERS: [&str; 2] = ["usize", "isize"];
/// The functions of floats that number expressions may call.
const FUNCTIONS: [&str; 33] = [
    "abs", "acos", "asin", "atan", "atan2", "cbrt", "ceil", "cos", "cosh", "exp", "exp2", "exp_m1", "floor", "fract",
    "hypot", "ln", "ln_1p", "log10", "log2", "max", "min", "mul_add", "powf", "powi", "recip", "round", "signum",
    "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
];
/// The types whose `from` takes a number.
const ARRAYS: [&str; 13] = [
    "Array", "Float", "Float64", "Half", "BFloat", "Int", "UInt", "Int64", "UInt64", "Int8", "UInt8", "Int16", "UInt16",
];

/// A parameter that is a plain number.
pub(crate) struct Number {
    pub(crate) name: Ident,
    ty: String,
    /// Its position among the numbers.
    pub(crate) position: usize,
}

/// A number expression that is combined with arrays.
pub(crate) struct Lifted {
    /// The parameter of the body that it becomes.
    pub(crate) name: Ident,
    pub(crate) ty: Ident,
    /// The expression that computes it from the parameters.
    pub(crate) value: Expr,
}

/// Returns the parameters of a function that may be passed to each replay, except those in `keys`.
pub(crate) fn numbers(signature: &syn::Signature, body: &Block, keys: &dyn Fn(&Ident) -> bool) -> Vec<Number> {
    let names = Names::of(body);
    let mut found = Vec::new();
    for argument in &signature.inputs {
        let syn::FnArg::Typed(typed) = argument else { continue };
        let (Pat::Ident(pattern), Some(ty)) = (&*typed.pat, primitive(&typed.ty)) else { continue };
        let name = &pattern.ident;
        if pattern.mutability.is_none() && !keys(name) && names.is_plain(name, 0) {
            found.push(Number { name: name.clone(), ty, position: found.len() });
        }
    }
    found
}

/// Returns the name of a type of plain numbers.
fn primitive(ty: &Type) -> Option<String> {
    let Type::Path(path) = ty else { return None };
    let name = path.path.get_ident()?.to_string();
    [&ELEMENTS[..], &OTHERS].concat().contains(&name.as_str()).then_some(name)
}

/// The names in a body.
#[derive(Default)]
struct Names {
    /// How often each is bound.
    bound: HashMap<String, usize>,
    /// Names in the tokens of macros, and in `S { it }`, which is a use that is not a separate expression.
    hidden: HashSet<String>,
}

impl Names {
    fn of(body: &Block) -> Names {
        let mut names = Names::default();
        names.visit_block(body);
        names
    }

    /// Returns whether a name, which the body binds so many times, has one meaning in all of it, and all its uses are
    /// expressions.
    fn is_plain(&self, name: &Ident, bound: usize) -> bool {
        let name = name.to_string();
        self.bound.get(&name).copied().unwrap_or_default() == bound && !self.hidden.contains(&name)
    }

    fn hide(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => _ = self.hidden.insert(ident.to_string()),
                TokenTree::Group(group) => self.hide(group.stream()),
                TokenTree::Literal(literal) => self.hide_in_text(&literal.to_string()),
                TokenTree::Punct(_) => {}
            }
        }
    }

    /// Texts name variables as `{it}` and `{:>it$}`.
    fn hide_in_text(&mut self, text: &str) {
        if text.contains('{') {
            let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
            self.hidden.extend(words.map(str::to_owned));
        }
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
        *self.bound.entry(pattern.ident.to_string()).or_default() += 1;
        visit::visit_pat_ident(self, pattern);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.hide(call.tokens.clone());
    }

    fn visit_field_value(&mut self, field: &'ast syn::FieldValue) {
        if let (None, syn::Member::Named(name)) = (&field.colon_token, &field.member) {
            self.hidden.insert(name.to_string());
        }
        visit::visit_field_value(self, field);
    }
}

/// Rewrites the uses of numbers in a body; returns the number expressions that become parameters of it, at most `most`.
/// The others are decisions by their numbers.
pub(crate) fn lift(numbers: &[Number], body: &mut Block, most: usize, private: &TokenStream) -> Vec<Lifted> {
    let mut known = HashMap::new();
    for number in numbers {
        let name = &number.name;
        known.insert(
            name.to_string(),
            Known { ty: number.ty.clone(), value: syn::parse_quote!(#name), of: vec![number.position] },
        );
    }
    let parameters = numbers.iter().map(|number| (number.name.to_string(), number.position)).collect();
    let names = Names::of(body);
    let mut lifting = Lifting { known, parameters, names, lifted: Vec::new(), is_host: false, most, private };
    lifting.visit_block_mut(body);
    let lifted = lifting.lifted;
    if !lifted.is_empty() {
        // A lifted expression uses the numbers that it is made of.
        let numbers = numbers.iter().map(|number| &number.name);
        let host: Stmt = syn::parse_quote!(#[allow(unused_imports)] use #private::freeze::HostNumber as _;);
        let used: Stmt = syn::parse_quote!(let _ = (#(&#numbers,)*););
        body.stmts.splice(0..0, [host, used]);
    }
    lifted
}

/// The number that a variable represents.
#[derive(Clone)]
struct Known {
    ty: String,
    value: Expr,
    /// The parameters that it is made of.
    of: Vec<usize>,
}

struct Lifting<'a> {
    known: HashMap<String, Known>,
    /// The positions of parameters.
    parameters: HashMap<String, usize>,
    names: Names,
    lifted: Vec<Lifted>,
    most: usize,
    /// Whether it is in a closure that the host runs in each call.
    is_host: bool,
    private: &'a TokenStream,
}

impl Lifting<'_> {
    /// Recognises a number expression: its type, its value in terms of parameters, and the parameters.
    fn number(&self, expr: &Expr) -> Option<Known> {
        match expr {
            Expr::Path(path) => self.known.get(&path.path.get_ident()?.to_string()).cloned(),
            Expr::Paren(inner) => self.number(&inner.expr),
            Expr::Group(inner) => self.number(&inner.expr),
            Expr::Cast(cast) => {
                let (inner, ty) = (self.number(&cast.expr)?, primitive(&cast.ty)?);
                let (value, to) = (&inner.value, &cast.ty);
                Some(Known { ty, value: syn::parse_quote!((#value as #to)), of: inner.of })
            }
            Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
                let inner = self.number(&unary.expr).filter(|inner| is_float(&inner.ty))?;
                let value = &inner.value;
                Some(Known { value: syn::parse_quote!((-#value)), ..inner })
            }
            Expr::Binary(binary) => self.arithmetic(binary),
            Expr::MethodCall(call) => self.function(call),
            _ => None,
        }
    }

    /// Recognises arithmetic of floats. For integers it might fail, which is left to the body.
    fn arithmetic(&self, binary: &ExprBinary) -> Option<Known> {
        if !matches!(binary.op, BinOp::Add(_) | BinOp::Sub(_) | BinOp::Mul(_) | BinOp::Div(_)) {
            return None;
        }
        let op = &binary.op;
        let (left, right) = (self.number(&binary.left), self.number(&binary.right));
        let known = match (left, right) {
            (Some(left), Some(right)) if left.ty == right.ty => {
                let (a, b) = (&left.value, &right.value);
                let value = syn::parse_quote!((#a #op #b));
                Known { ty: left.ty, value, of: [left.of, right.of].concat() }
            }
            (Some(left), None) if is_literal(&binary.right) => {
                let (a, b) = (&left.value, &binary.right);
                Known { value: syn::parse_quote!((#a #op #b)), ..left }
            }
            (None, Some(right)) if is_literal(&binary.left) => {
                let (a, b) = (&binary.left, &right.value);
                Known { value: syn::parse_quote!((#a #op #b)), ..right }
            }
            _ => return None,
        };
        Some(known).filter(|known| is_float(&known.ty))
    }

    /// Recognises a function of floats, which has a value for any argument.
    fn function(&self, call: &syn::ExprMethodCall) -> Option<Known> {
        let receiver = self.number(&call.receiver).or_else(|| literal_number(&call.receiver));
        let known = receiver.filter(|known| is_float(&known.ty))?;
        if call.turbofish.is_some() || !FUNCTIONS.iter().any(|name| call.method == name) {
            return None;
        }
        let (mut of, mut arguments) = (known.of, Vec::new());
        for argument in &call.args {
            match self.number(argument) {
                Some(number) => {
                    of.extend(number.of);
                    arguments.push(number.value);
                }
                None if is_literal(argument) => arguments.push(argument.clone()),
                None => return None,
            }
        }
        let (receiver, method) = (&known.value, &call.method);
        let value = syn::parse_quote!(#receiver.#method(#(#arguments),*));
        Some(Known { ty: known.ty, value, of }).filter(|known| !known.of.is_empty())
    }

    /// Returns the parameter of the body for a number expression, if arrays have elements of its type.
    fn parameter(&mut self, number: &Known) -> Option<Ident> {
        if !ELEMENTS.contains(&number.ty.as_str()) {
            return None;
        }
        let text = number.value.to_token_stream().to_string();
        let is_same = |lifted: &&Lifted| lifted.value.to_token_stream().to_string() == text;
        if let Some(known) = self.lifted.iter().find(is_same) {
            return Some(known.name.clone());
        }
        if self.lifted.len() == self.most {
            return None;
        }
        let name = format_ident!("__frozen_number_{}", self.lifted.len());
        let ty = Ident::new(&number.ty, Span::call_site());
        self.lifted.push(Lifted { name: name.clone(), ty, value: number.value.clone() });
        Some(name)
    }

    /// Generates a number in a closure that the host runs in each call: its value in that call.
    fn current(&self, known: &Known, span: Span) -> Option<Expr> {
        struct Current<'a>(&'a Lifting<'a>, Span, bool);
        impl VisitMut for Current<'_> {
            fn visit_expr_mut(&mut self, expr: &mut Expr) {
                let Expr::Path(path) = &*expr else { return visit_mut::visit_expr_mut(self, expr) };
                let Some(position) = path.path.get_ident().and_then(|name| self.0.parameters.get(&name.to_string()))
                else {
                    return;
                };
                let (private, name) = (self.0.private, path.path.get_ident());
                let is_element = |known: &Known| ELEMENTS.contains(&known.ty.as_str());
                self.2 &= name.and_then(|name| self.0.known.get(&name.to_string())).is_some_and(is_element);
                *expr = syn::parse_quote_spanned!(self.1=> #private::freeze::current(&#path, #position));
            }
        }
        let mut value = known.value.clone();
        let mut visit = Current(self, span, true);
        visit.visit_expr_mut(&mut value);
        visit.2.then_some(value)
    }

    /// Generates a separate use of a number.
    fn alone(&self, path: &syn::ExprPath) -> Option<Expr> {
        let known = self.known.get(&path.path.get_ident()?.to_string())?;
        let (private, of, span) = (self.private, &known.of, path.span());
        let current = if self.is_host { self.current(known, span) } else { None };
        Some(
            current
                .unwrap_or_else(|| syn::parse_quote_spanned!(span=> *#private::freeze::decided(&#path, &[#(#of),*]))),
        )
    }

    /// Generates a number combined with a place: an array or the number, depending on the place.
    fn beside(&self, place: &TokenStream, parameter: &Ident, number: &Known, written: &Expr) -> Expr {
        let (private, of, span, written) = (self.private, &number.of, written.span(), bare(written));
        syn::parse2(quote_spanned! {span=>
            #private::freeze::Beside(&#place).number(#parameter, || { #private::freeze::decide(&[#(#of),*]); #written })
        })
        .unwrap_or_else(|_| written.clone())
    }

    /// Generates a number combined with another expression, which is computed once.
    fn mixed(&mut self, node: &mut ExprBinary, is_left: bool) -> Option<Expr> {
        let (written, other) = if is_left { (&node.left, &node.right) } else { (&node.right, &node.left) };
        if is_literal(other) {
            return None;
        }
        let number = self.number(written)?;
        let parameter = self.parameter(&number)?;
        let (written, mut other) = ((**written).clone(), (**other).clone());
        let (private, op, span) = (self.private, node.op, node.span());
        if is_place(&other) {
            let inner = self.beside(&other.to_token_stream(), &parameter, &number, &written);
            self.visit_expr_mut(&mut other);
            return Some(if is_left {
                syn::parse_quote_spanned!(span=> #inner #op #other)
            } else {
                syn::parse_quote_spanned!(span=> #other #op #inner)
            });
        }
        let name = Ident::new("__frozen_other", span);
        let inner = self.beside(&name.to_token_stream(), &parameter, &number, &written);
        self.visit_expr_mut(&mut other);
        // Parentheses around an argument are a warning.
        let other = bare(&other);
        let combined = if is_left { quote!(#inner #op #name) } else { quote!(#name #op #inner) };
        syn::parse2(quote_spanned!(span=> #private::freeze::mixed(#other, |#name| #combined))).ok()
    }

    /// `Float::from(number)`.
    fn converted(&mut self, call: &syn::ExprCall) -> Option<Expr> {
        let Expr::Path(function) = &*call.func else { return None };
        let mut names = function.path.segments.iter().rev();
        let (last, ty) = (names.next()?, names.next()?);
        let is_it =
            ["from", "opaque"].iter().any(|name| last.ident == name) && ARRAYS.iter().any(|name| ty.ident == name);
        let [argument] = &call.args.iter().collect::<Vec<_>>()[..] else { return None };
        let number = self.number(argument).filter(|_| is_it)?;
        let (parameter, function) = (self.parameter(&number)?, &call.func);
        let from: Expr = match last.ident == "from" {
            true => syn::parse_quote!(#function),
            false => syn::parse_quote!(::core::convert::identity),
        };
        Some(syn::parse_quote_spanned!(call.span()=> #from(::core::clone::Clone::clone(#parameter))))
    }
}

/// Returns whether an expression may be duplicated.
fn is_place(expr: &Expr) -> bool {
    match expr {
        Expr::Path(_) => true,
        Expr::Field(field) => is_place(&field.base),
        Expr::Paren(inner) => is_place(&inner.expr),
        Expr::Group(inner) => is_place(&inner.expr),
        Expr::Reference(reference) => reference.mutability.is_none() && is_place(&reference.expr),
        Expr::Unary(unary) => matches!(unary.op, UnOp::Deref(_)) && is_place(&unary.expr),
        _ => false,
    }
}

/// Strips parentheses around an expression.
fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Paren(inner) => bare(&inner.expr),
        other => other,
    }
}

/// Returns whether it is a call of `jit::freeze::host`, whose closure runs in each call.
fn calls_host(call: &syn::ExprCall) -> bool {
    let Expr::Path(function) = &*call.func else { return false };
    function.path.segments.last().is_some_and(|last| last.ident == "host")
}

fn is_float(ty: &str) -> bool {
    ty.starts_with('f')
}

/// Returns a literal that names its type, as the `0.9_f32` in `0.9_f32.powf(it)`: a number of no parameters.
fn literal_number(expr: &Expr) -> Option<Known> {
    let literal = match expr {
        Expr::Paren(inner) => return Some(Known { value: expr.clone(), ..literal_number(&inner.expr)? }),
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => &*unary.expr,
        other => other,
    };
    let Expr::Lit(syn::ExprLit { lit: syn::Lit::Float(literal), .. }) = literal else { return None };
    Some(Known { ty: literal.suffix().to_owned(), value: expr.clone(), of: Vec::new() })
}

fn is_literal(expr: &Expr) -> bool {
    match expr {
        Expr::Lit(_) => true,
        Expr::Unary(unary) => matches!(unary.op, UnOp::Neg(_)) && is_literal(&unary.expr),
        Expr::Paren(inner) => is_literal(&inner.expr),
        _ => false,
    }
}

fn is_arithmetic_or_comparison(op: &BinOp) -> bool {
    !matches!(
        op,
        BinOp::And(_) | BinOp::Or(_) | BinOp::Shl(_) | BinOp::Shr(_) | BinOp::ShlAssign(_) | BinOp::ShrAssign(_)
    )
}

fn is_assignment(op: &BinOp) -> bool {
    use BinOp::{AddAssign, BitAndAssign, BitOrAssign, BitXorAssign, DivAssign, MulAssign, RemAssign, SubAssign};
    matches!(
        op,
        AddAssign(_)
            | SubAssign(_)
            | MulAssign(_)
            | DivAssign(_)
            | RemAssign(_)
            | BitAndAssign(_)
            | BitOrAssign(_)
            | BitXorAssign(_)
    )
}

impl VisitMut for Lifting<'_> {
    fn visit_block_mut(&mut self, block: &mut Block) {
        let before = self.known.clone();
        visit_mut::visit_block_mut(self, block);
        self.known = before;
    }

    fn visit_stmt_mut(&mut self, stmt: &mut Stmt) {
        if self.is_host {
            return visit_mut::visit_stmt_mut(self, stmt);
        }
        let Stmt::Local(Local { pat: Pat::Ident(pattern), init: Some(init), attrs, .. }) = stmt else {
            return visit_mut::visit_stmt_mut(self, stmt);
        };
        let is_plain =
            pattern.mutability.is_none() && pattern.by_ref.is_none() && self.names.is_plain(&pattern.ident, 1);
        let number = self.number(&init.expr).filter(|_| is_plain);
        let Some(number) = number else { return visit_mut::visit_stmt_mut(self, stmt) };
        attrs.push(syn::parse_quote!(#[allow(unused_variables)]));
        self.known.insert(pattern.ident.to_string(), number);
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let replaced = match expr {
            Expr::Path(path) => self.alone(path),
            _ if self.is_host => None,
            Expr::Call(call) if calls_host(call) => {
                self.is_host = true;
                visit_mut::visit_expr_mut(self, expr);
                self.is_host = false;
                return;
            }
            Expr::Binary(node) if is_assignment(&node.op) => {
                let number = self.number(&node.right);
                let parameter = number.as_ref().and_then(|number| self.parameter(number));
                let (Some(number), Some(parameter)) = (number, parameter) else {
                    return visit_mut::visit_expr_mut(self, expr);
                };
                let (left, written) = (node.left.to_token_stream(), (*node.right).clone());
                *node.right = self.beside(&left, &parameter, &number, &written);
                return self.visit_expr_mut(&mut node.left);
            }
            Expr::Binary(node) if is_arithmetic_or_comparison(&node.op) => {
                match (self.number(&node.left).is_some(), self.number(&node.right).is_some()) {
                    (true, false) => self.mixed(node, true),
                    (false, true) => self.mixed(node, false),
                    _ => None,
                }
            }
            Expr::Call(call) => self.converted(call),
            _ => None,
        };
        match replaced {
            Some(replaced) => *expr = replaced,
            None => visit_mut::visit_expr_mut(self, expr),
        }
    }

    /// Functions inside the function have their own parameters.
    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lifted(parameters: &str, body: &str) -> (Vec<String>, String) {
        let signature: syn::Signature = syn::parse_str(&format!("fn f({parameters})")).expect("a signature");
        let mut body: Block = syn::parse_str(body).expect("a block");
        let numbers = numbers(&signature, &body, &|_| false);
        let lifted = lift(&numbers, &mut body, usize::MAX, &quote!(P));
        let values = lifted.iter().map(|lifted| format!("{}: {}", lifted.ty, lifted.value.to_token_stream()));
        (values.collect(), body.to_token_stream().to_string())
    }

    #[test]
    fn numbers_that_meet_other_things_are_parameters() {
        let (values, body) = lifted("x: &Float, it: u32", "{ let t = it as f32 * 0.1; x * t + UInt::from(it) }");
        assert_eq!(
            values,
            ["u32: it", "f32: ((it as f32) * 0.1)"].map(String::from).into_iter().rev().collect::<Vec<_>>()
        );
        assert!(body.contains("Beside (& x) . number (__frozen_number_0"), "{body}");
        assert!(body.contains("UInt :: from (:: core :: clone :: Clone :: clone (__frozen_number_1))"), "{body}");
    }

    #[test]
    fn other_uses_are_guards() {
        let (values, _) = lifted("x: &Float, t: f64", "{ x * (t * 0.5).sin().max(0.1) }");
        assert_eq!(values, ["f64: (t * 0.5) . sin () . max (0.1)"]);
        let (values, body) = lifted("x: &Float, n: u32", "{ if n > 3 { x.powi(n as i32) } else { x.clone() } }");
        assert!(values.is_empty());
        assert_eq!(body.matches("decided").count(), 2, "{body}");
    }

    #[test]
    fn closures_for_the_host_get_the_numbers_of_the_call() {
        let (values, body) = lifted(
            "x: &Float, it: u32, n: usize",
            "{ let t = it as f32 * 0.5; x * host(move || Float::from([it as f32, t, n as f32])) }",
        );
        assert!(values.is_empty(), "{body}");
        assert_eq!(body.matches("current (& it , 0usize)").count(), 2, "{body}");
        assert_eq!(body.matches("decided (& n").count(), 1, "{body}");
    }

    #[test]
    fn names_that_are_shadowed_or_in_macros_are_not_changed() {
        for body in ["{ let n = 2; x * n }", "{ println!(\"{n}\"); x * n }", "{ x.map(|n| n * 2) }", "{ S { n } }"] {
            let (values, text) = lifted("x: &Float, n: f32", body);
            assert!(values.is_empty() && !text.contains("decided"), "{text}");
        }
    }
}
