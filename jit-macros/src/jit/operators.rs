//! Operators and comparisons.
//!
//! Rust's operators take their operands by value. An operand that is a variable or a part of one is therefore cloned,
//! so that it can be used again; for an array this increments a count, for a number it does nothing. The operator
//! itself remains Rust's, with Rust's inference and Rust's messages. Comparisons become calls, since Rust's own must
//! return a `bool`.

use super::index;
use super::place::{Place, is_place};
use super::rewrite::{Rewriter, unparenthesised};
use super::scope::{identifiers, is_comparison};
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;
use syn::{BinOp, Expr, ExprBinary, Lit, Token, UnOp};

/// Returns whether an operator is `&&` or `||`.
pub(crate) fn is_logical(op: &BinOp) -> bool {
    matches!(op, BinOp::And(_) | BinOp::Or(_))
}

/// Rewrites an arithmetic operator or a comparison.
pub(crate) fn binary(rewriter: &mut Rewriter<'_>, expr: &mut Expr) {
    let Expr::Binary(node) = &mut *expr else { return };
    let compares = is_comparison(&node.op);
    if compares && compares_host_values(rewriter, &node.left, &node.right) {
        rewriter.operand_in_place(&mut node.left);
        rewriter.operand_in_place(&mut node.right);
    } else if compares {
        *expr = comparison(rewriter, node);
    } else {
        operand(rewriter, &mut node.left);
        operand(rewriter, &mut node.right);
    }
}

/// Rewrites `a += b` and similar operators: the left side remains a place.
pub(crate) fn assigning(rewriter: &mut Rewriter<'_>, node: &mut ExprBinary) {
    rewriter.operand_in_place(&mut node.left);
    operand(rewriter, &mut node.right);
}

/// Rewrites `-a` and `!a`; a dereference is a place.
pub(crate) fn unary(rewriter: &mut Rewriter<'_>, expr: &mut Expr) {
    let Expr::Unary(node) = expr else { return };
    match node.op {
        UnOp::Deref(_) => rewriter.operand_in_place(&mut node.expr),
        _ => operand(rewriter, &mut node.expr),
    }
}

/// Rewrites the operand of an operator of Rust's.
pub(crate) fn operand(rewriter: &mut Rewriter<'_>, expr: &mut Expr) {
    if matches!(unparenthesised(expr), Expr::Index(_)) {
        return index::read(rewriter, expr);
    }
    if index::read_by_reference(rewriter, expr) {
        return;
    }
    let clones = is_place(expr) && !rewriter.scopes.is_host(expr) && !is_path_to_constant(expr);
    let borrowed = is_mut_reference(rewriter, expr);
    rewriter.operand_in_place(expr);
    if clones {
        let span = rewriter.at(expr.span());
        let private = rewriter.private(span);
        let place = unparenthesised(expr).to_token_stream();
        let place = if borrowed { quote_spanned!(span=> *#place) } else { place };
        *expr = Expr::Verbatim(quote_spanned!(span=> #private::Operand::again(&#place)));
    }
}

/// Returns whether it is an `UPPER_CASE` name that is not a local variable.
fn is_path_to_constant(expr: &Expr) -> bool {
    matches!(unparenthesised(expr), Expr::Path(path) if path.path.segments.len() > 1)
}

/// Returns whether it is a variable that is a `&mut` reference, which stands for its referent.
fn is_mut_reference(rewriter: &Rewriter<'_>, expr: &Expr) -> bool {
    let Expr::Path(path) = unparenthesised(expr) else { return false };
    let name = path.path.get_ident();
    name.and_then(|name| rewriter.scopes.find(name)).is_some_and(|(_, binding)| binding.by_mut_ref)
}

/// Returns whether a comparison certainly is one of host values. Rust then infers the types of the sides from each
/// other.
fn compares_host_values(rewriter: &Rewriter<'_>, left: &Expr, right: &Expr) -> bool {
    let of_left_type = |expr: &Expr| rewriter.is_host(expr) || has_wanted_type(expr);
    host_only(left) || host_only(right) || (rewriter.is_host(left) && of_left_type(right))
}

/// Returns whether the context determines the type of an expression, such as `text.parse().unwrap()`.
fn has_wanted_type(expr: &Expr) -> bool {
    const WRAPPERS: [&str; 4] = ["expect", "unwrap", "unwrap_or", "unwrap_or_default"];
    const SOURCES: [&str; 3] = ["into", "parse", "try_into"];
    const ITERATORS: [&str; 9] =
        ["bytes", "cloned", "copied", "filter", "filter_map", "into_iter", "iter", "map", "zip"];
    let is = |call: &syn::ExprMethodCall, names: &[&str]| names.contains(&call.method.to_string().as_str());
    match unparenthesised(expr) {
        Expr::MethodCall(call) if is(call, &WRAPPERS) => has_wanted_type(&call.receiver),
        Expr::MethodCall(call) if is(call, &SOURCES) => call.turbofish.is_none(),
        Expr::MethodCall(call) if is(call, &["sum", "product"]) && call.turbofish.is_none() => {
            matches!(&*call.receiver, Expr::MethodCall(source) if is(source, &ITERATORS))
        }
        Expr::Call(call) => {
            matches!(&*call.func, Expr::Path(path) if path.to_token_stream().to_string() == "Default :: default")
        }
        Expr::Try(inner) => has_wanted_type(&inner.expr),
        _ => false,
    }
}

/// Returns whether an expression certainly is a value that no array is compared with.
fn host_only(expr: &Expr) -> bool {
    match unparenthesised(expr) {
        Expr::Lit(literal) => matches!(literal.lit, Lit::Str(_) | Lit::ByteStr(_) | Lit::CStr(_) | Lit::Char(_)),
        Expr::Array(_) | Expr::Repeat(_) | Expr::Tuple(_) => true,
        Expr::Reference(reference) => host_only(&reference.expr),
        Expr::Unary(unary) => matches!(unary.op, UnOp::Deref(_)) && host_only(&unary.expr),
        Expr::Path(path) => path.path.is_ident("None"),
        Expr::Call(call) => {
            let wrappers = ["Some", "Ok", "Err"];
            matches!(&*call.func, Expr::Path(path) if wrappers.iter().any(|name| path.path.is_ident(name)))
        }
        Expr::Macro(call) => call.mac.path.is_ident("format") || call.mac.path.is_ident("vec"),
        Expr::Cast(cast) => super::scope::is_char(&cast.ty),
        Expr::MethodCall(call) => TEXT_METHODS.contains(&call.method.to_string().as_str()),
        _ => false,
    }
}

/// Methods whose result is text.
const TEXT_METHODS: [&str; 6] =
    ["as_str", "to_ascii_lowercase", "to_ascii_uppercase", "to_lowercase", "to_uppercase", "to_string"];

fn comparison(rewriter: &mut Rewriter<'_>, node: &mut ExprBinary) -> Expr {
    let function = match node.op {
        BinOp::Lt(_) => "lt",
        BinOp::Le(_) => "le",
        BinOp::Gt(_) => "gt",
        BinOp::Ge(_) => "ge",
        BinOp::Eq(_) => "eq",
        _ => "ne",
    };
    let (left, right) = sides(rewriter, &mut node.left, &mut node.right);
    let span = rewriter.at(node.op.span());
    let (private, function) = (rewriter.private(span), Ident::new(function, span));
    Expr::Verbatim(quote_spanned!(span=> #private::#function(#left, #right)))
}

/// Returns the sides of a comparison, borrowed. A side that is a `&mut` reference is dereferenced to match the other
/// one.
pub(crate) fn sides(rewriter: &mut Rewriter<'_>, left: &mut Expr, right: &mut Expr) -> (TokenStream, TokenStream) {
    let [is_left, is_right] = [&*left, &*right].map(|side| is_mut_reference(rewriter, side));
    if is_left && !is_right {
        dereference(rewriter, right);
    } else if is_right && !is_left {
        dereference(rewriter, left);
    }
    (side(rewriter, left), side(rewriter, right))
}

/// Dereferences an expression that is visibly a reference.
fn dereference(rewriter: &Rewriter<'_>, expr: &mut Expr) {
    let referent = match unparenthesised(expr) {
        Expr::Reference(reference) => Some((*reference.expr).clone()),
        Expr::Path(path) => {
            let binding = path.path.get_ident().and_then(|name| rewriter.scopes.find(name));
            let is_reference = binding.is_some_and(|(_, binding)| {
                matches!(binding.ty.as_ref().map(super::scope::ungrouped), Some(syn::Type::Reference(_)))
            });
            is_reference.then(|| dereferenced(expr, expr.span()))
        }
        _ => None,
    };
    if let Some(referent) = referent {
        *expr = referent;
    }
}

fn dereferenced(expr: &Expr, span: proc_macro2::Span) -> Expr {
    let star = UnOp::Deref(Token![*](span));
    Expr::Unary(syn::ExprUnary { attrs: Vec::new(), op: star, expr: Box::new(expr.clone()) })
}

/// Returns one side of a comparison, borrowed.
fn side(rewriter: &mut Rewriter<'_>, expr: &mut Expr) -> TokenStream {
    let borrowed = is_mut_reference(rewriter, expr);
    let span = rewriter.at(expr.span());
    if let Some(place) = index::peek(rewriter, expr) {
        return quote_spanned!(span=> &#place);
    }
    rewriter.operand_in_place(expr);
    let inner = if borrowed { dereferenced(expr, span) } else { unparenthesised(expr).clone() };
    reference_to(inner, span)
}

/// Returns `&expr`, with parentheses where they are needed.
pub(crate) fn reference_to(expr: Expr, span: proc_macro2::Span) -> TokenStream {
    let and_token = Token![&](span);
    syn::ExprReference { attrs: Vec::new(), and_token, mutability: None, expr: Box::new(expr) }.to_token_stream()
}

/// Returns the names that an expression mentions more than once.
pub(crate) fn repeated_names(expr: &Expr) -> Vec<Ident> {
    let mut names = Vec::new();
    identifiers(expr.to_token_stream(), &mut names);
    let repeated = |name: &&Ident| names.iter().filter(|other| other == name).count() > 1;
    names.iter().filter(repeated).cloned().collect()
}

/// In `(a, b) = (b, b)` and in `(a, b) = (b, c)` values are used again after the assignment. They are cloned, except
/// those that are mentioned once and are assigned themselves, which Rust moves.
pub(crate) fn clone_repeated(
    rewriter: &mut Rewriter<'_>,
    values: &mut syn::ExprTuple,
    repeated: &[Ident],
    targets: &[Place],
) {
    let elements: &mut Punctuated<Expr, Token![,]> = &mut values.elems;
    for element in elements {
        let Some(place) = Place::of(element).filter(|_| is_place(element)) else { continue };
        let moved = !repeated.contains(&place.base) && targets.iter().any(|target| target.covers(&place));
        if !moved && !rewriter.scopes.is_host(element) {
            operand(rewriter, element);
        }
    }
}

/// Rewrites an operand of `&&`, `||` or a condition, and borrows it.
pub(crate) fn borrowed(rewriter: &mut Rewriter<'_>, expr: &mut Expr) -> TokenStream {
    let span = rewriter.at(expr.span());
    if let Some(place) = index::peek(rewriter, expr) {
        return quote_spanned!(span=> &#place);
    }
    rewriter.visit_borrowed(expr);
    reference_to(unparenthesised(expr).clone(), span)
}

impl Rewriter<'_> {
    fn visit_borrowed(&mut self, expr: &mut Expr) {
        match expr {
            Expr::Path(_) => {}
            other if is_place(other) => self.operand_in_place(other),
            other => self.visit_expr_mut(other),
        }
    }
}
