//! Which variables of a pattern are `&mut` references, by the form of the value that the pattern takes apart.
//!
//! A method call on such a variable may change what it refers to, although the variable is not `mut`. Types are unknown
//! here, so the forms are those of the language and of the standard library: `&mut x`, a variable that is such a
//! reference, methods with `mut` in their name, and the adaptors of iterators on them.

use super::scope::Scopes;
use proc_macro2::Ident;
use syn::{Expr, ExprMethodCall, Pat, Type};

/// What a value, or each item of an iterator, lends.
#[derive(Clone)]
pub(crate) enum Lent {
    Nothing,
    /// A `&mut` reference, or an `Option` or `Result` of one.
    Place,
    /// An item of `&mut` something: a `&mut` reference, or the key and the `&mut` value of a map.
    Item,
    /// What the parts of a tuple lend.
    Parts(Vec<Lent>),
}

impl Lent {
    /// Returns what a value lends.
    pub(crate) fn by(expr: &Expr, scopes: &Scopes) -> Lent {
        match expr {
            Expr::Reference(reference) if reference.mutability.is_some() => Lent::Place,
            Expr::Path(path) => match path.path.get_ident().and_then(|name| scopes.find(name)) {
                Some((_, binding)) if binding.by_mut_ref => Lent::Place,
                _ => Lent::Nothing,
            },
            Expr::Paren(inner) => Lent::by(&inner.expr, scopes),
            Expr::Group(inner) => Lent::by(&inner.expr, scopes),
            Expr::Try(inner) => Lent::by(&inner.expr, scopes),
            Expr::Tuple(tuple) => Lent::Parts(tuple.elems.iter().map(|element| Lent::by(element, scopes)).collect()),
            Expr::MethodCall(call) => Lent::by_method(call, scopes),
            _ => Lent::Nothing,
        }
    }

    /// Returns what each item of a value lends, over which a `for` iterates.
    pub(crate) fn by_items_of(expr: &Expr, scopes: &Scopes) -> Lent {
        match expr {
            Expr::Reference(_) | Expr::Path(_) => match Lent::by(expr, scopes) {
                Lent::Place => Lent::Item,
                _ => Lent::Nothing,
            },
            Expr::Paren(inner) => Lent::by_items_of(&inner.expr, scopes),
            Expr::Group(inner) => Lent::by_items_of(&inner.expr, scopes),
            Expr::Array(array) => array.elems.first().map_or(Lent::Nothing, |first| Lent::by(first, scopes)),
            other => Lent::by(other, scopes),
        }
    }

    fn by_method(call: &ExprMethodCall, scopes: &Scopes) -> Lent {
        let name = call.method.to_string();
        match &name[..] {
            "iter_mut" | "range_mut" => Lent::Item,
            "enumerate" => Lent::Parts(vec![Lent::Nothing, Lent::by_items_of(&call.receiver, scopes)]),
            "zip" => {
                let other = call.args.first().map_or(Lent::Nothing, |other| Lent::by_items_of(other, scopes));
                Lent::Parts(vec![Lent::by_items_of(&call.receiver, scopes), other])
            }
            _ if name.split('_').any(|word| word == "mut") || INSERTS.contains(&&name[..]) => Lent::Place,
            _ if PASSES_ON.contains(&&name[..]) => Lent::by_items_of(&call.receiver, scopes),
            _ => Lent::Nothing,
        }
    }

    /// Returns what the last parameter of a closure is lent that is an argument of a method.
    pub(crate) fn to_closure_of(call: &ExprMethodCall, scopes: &Scopes) -> Lent {
        let name = call.method.to_string();
        match &name[..] {
            "and_modify" | "retain_mut" => Lent::Place,
            name if CALLS_WITH_ITEMS.contains(&name) => Lent::by_items_of(&call.receiver, scopes),
            _ => Lent::Nothing,
        }
    }

    /// Returns what a value of a type lends.
    pub(crate) fn by_type(ty: &Type) -> Lent {
        match ty {
            Type::Reference(reference) if reference.mutability.is_some() => Lent::Place,
            Type::Paren(inner) => Lent::by_type(&inner.elem),
            Type::Group(inner) => Lent::by_type(&inner.elem),
            Type::Tuple(tuple) => Lent::Parts(tuple.elems.iter().map(Lent::by_type).collect()),
            _ => Lent::Nothing,
        }
    }

    /// Collects the variables of a pattern that are `&mut` references if it takes apart such a value.
    pub(crate) fn names(&self, pattern: &Pat, found: &mut Vec<Ident>) {
        match (self, pattern) {
            // A pattern `&mut x` takes the referent itself.
            (Lent::Nothing, _) | (_, Pat::Reference(_)) => {}
            (_, Pat::Type(typed)) => self.names(&typed.pat, found),
            (_, Pat::Paren(inner)) => self.names(&inner.pat, found),
            (_, Pat::Or(or)) => or.cases.iter().for_each(|case| self.names(case, found)),
            (_, Pat::TupleStruct(variant)) => variant.elems.iter().for_each(|part| self.names(part, found)),
            (Lent::Parts(parts), Pat::Tuple(tuple)) if tuple.elems.len() == parts.len() => {
                parts.iter().zip(&tuple.elems).for_each(|(lent, part)| lent.names(part, found));
            }
            (Lent::Parts(_), _) => {}
            (Lent::Item, Pat::Tuple(tuple)) if tuple.elems.len() == 2 => Lent::Place.names(&tuple.elems[1], found),
            (_, Pat::Ident(name)) => {
                found.extend(name.by_ref.is_none().then(|| name.ident.clone()));
                name.subpat.iter().for_each(|(_, inner)| self.names(inner, found));
            }
            (_, Pat::Tuple(tuple)) => tuple.elems.iter().for_each(|part| Lent::Place.names(part, found)),
            (_, Pat::Slice(slice)) => slice.elems.iter().for_each(|part| Lent::Place.names(part, found)),
            (_, Pat::Struct(value)) => value.fields.iter().for_each(|field| Lent::Place.names(&field.pat, found)),
            _ => {}
        }
    }
}

/// Methods that return a `&mut` reference to what they inserted or found.
const INSERTS: [&str; 6] =
    ["get_or_insert", "get_or_insert_default", "get_or_insert_with", "or_default", "or_insert", "or_insert_with"];

/// Methods whose result lends what the items of the receiver lend.
const PASSES_ON: [&str; 27] = [
    "by_ref",
    "chain",
    "expect",
    "filter",
    "find",
    "flatten",
    "fuse",
    "inspect",
    "into_iter",
    "last",
    "max_by",
    "max_by_key",
    "min_by",
    "min_by_key",
    "next",
    "next_back",
    "nth",
    "ok",
    "ok_or",
    "ok_or_else",
    "peekable",
    "rev",
    "skip",
    "skip_while",
    "step_by",
    "take",
    "unwrap",
];

/// Methods that call a closure with the items of the receiver, as its last parameter.
const CALLS_WITH_ITEMS: [&str; 15] = [
    "all",
    "and_then",
    "any",
    "filter_map",
    "find_map",
    "flat_map",
    "fold",
    "for_each",
    "is_some_and",
    "map",
    "map_or",
    "map_or_else",
    "map_while",
    "position",
    "try_for_each",
];
