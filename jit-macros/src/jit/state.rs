//! Finds the state of a region: the places outside it that code inside it changes, or may change.
//!
//! A place is state if, in the region, it is assigned, borrowed by `&mut`, or the receiver of a method that may change
//! it. Rust's `mut` limits which receivers those can be. Places that a region only reads are not state but implicit
//! inputs.

use super::place::{Place, Step};
use super::rewrite::unparenthesised;
use super::scope::{Binding, Scopes, identifiers, pattern_names};
use proc_macro2::Ident;
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, ExprMethodCall, Macro, Pat};

/// Returns the state of a region, each place once; a place covers its parts.
pub(crate) fn state_of(parts: &[&Expr], blocks: &[&Block], scopes: &Scopes) -> Vec<Place> {
    let mut finder = Finder { scopes, inner: Vec::new(), found: Vec::new(), is_certain: false };
    for part in parts {
        finder.visit_expr(part);
    }
    for block in blocks {
        finder.visit_block(block);
    }
    reduce(finder.found)
}

/// Returns whether an expression certainly changes a place outside it: by an assignment, or by lending it as `&mut`.
pub(crate) fn changes_state(expr: &Expr, scopes: &Scopes) -> bool {
    let mut finder = Finder { scopes, inner: Vec::new(), found: Vec::new(), is_certain: true };
    finder.visit_expr(expr);
    !finder.found.is_empty()
}

/// Retains the places that no other one covers, in the order in which they were found.
fn reduce(found: Vec<Place>) -> Vec<Place> {
    let mut kept: Vec<Place> = Vec::new();
    for place in found {
        // What a variable refers to, if it is a reference, covers no other place for certain.
        let covers = |one: &Place, other: &Place| {
            one.covers(other) && (!one.is_uncertain() || (other.is_uncertain() && other.covers(one)))
        };
        if let Some(at) = kept.iter().position(|other| covers(other, &place)) {
            // `x` and `*x` cover one another: the referent is what changes.
            if place.covers(&kept[at]) && place.steps.len() > kept[at].steps.len() && !place.is_uncertain() {
                kept[at] = place;
            }
            continue;
        }
        kept.retain(|other| !covers(&place, other));
        kept.push(place);
    }
    kept
}

/// Returns whether a block, including nested ones, assigns to a variable as a whole.
pub(crate) fn assigns(name: &Ident, block: &Block) -> bool {
    struct Assigned<'a>(&'a Ident, bool);
    impl Visit<'_> for Assigned<'_> {
        fn visit_expr_assign(&mut self, assign: &syn::ExprAssign) {
            let mut targets = Vec::new();
            assignment_targets(&assign.left, &mut targets);
            self.1 |= targets.iter().any(|place| place.base == *self.0 && place.steps.is_empty());
            visit::visit_expr_assign(self, assign);
        }
        fn visit_item(&mut self, _: &syn::Item) {}
    }
    let mut assigned = Assigned(name, false);
    assigned.visit_block(block);
    assigned.1
}

/// Collects the places on the left side of an assignment, which may be a pattern of places.
pub(crate) fn assignment_targets(left: &Expr, targets: &mut Vec<Place>) {
    match left {
        Expr::Tuple(tuple) => tuple.elems.iter().for_each(|element| assignment_targets(element, targets)),
        Expr::Array(array) => array.elems.iter().for_each(|element| assignment_targets(element, targets)),
        Expr::Call(call) => call.args.iter().for_each(|argument| assignment_targets(argument, targets)),
        Expr::Struct(literal) => literal.fields.iter().for_each(|field| assignment_targets(&field.expr, targets)),
        Expr::Paren(inner) => assignment_targets(&inner.expr, targets),
        Expr::Infer(_) | Expr::Range(_) => {}
        other => targets.extend(Place::of(other).map(Place::finish)),
    }
}

struct Finder<'a> {
    scopes: &'a Scopes,
    /// Names declared inside the region, innermost last.
    inner: Vec<Ident>,
    found: Vec<Place>,
    /// Whether to find only places that certainly change.
    is_certain: bool,
}

impl Finder<'_> {
    /// Returns the outer variable that a place belongs to.
    fn outer(&self, place: &Place) -> Option<&Binding> {
        if self.inner.contains(&place.base) {
            return None;
        }
        self.scopes.find(&place.base).map(|(_, binding)| binding)
    }

    /// Adds a place that certainly changes.
    fn changes(&mut self, mut place: Place) {
        let Some(binding) = self.outer(&place) else { return };
        // A change through a reference that cannot change itself is a change of its referent: `xs[0] = x`.
        if binding.by_mut_ref && !binding.mutable && place.steps.is_empty() {
            place.steps.push(Step::Deref);
        }
        self.found.push(place);
    }

    /// Adds a place that changes if its declaration allows it.
    fn may_change(&mut self, expr: &Expr) {
        let Some(mut place) = Place::of(expr).map(Place::finish) else { return };
        let Some(binding) = self.outer(&place) else { return };
        let (mutable, by_mut_ref) = (binding.mutable, binding.by_mut_ref);
        if by_mut_ref && place.steps.is_empty() {
            place.steps.push(Step::Deref);
        }
        if (mutable || by_mut_ref) && !self.is_certain {
            self.found.push(place);
        }
    }

    /// Adds what a variable refers to, if it turns out to be a `&mut` reference.
    fn may_change_referent(&mut self, expr: &Expr) {
        let Some(place) = Place::of(expr).map(Place::finish) else { return };
        let Some(binding) = self.outer(&place) else { return };
        if binding.mutable || binding.by_mut_ref || binding.host || binding.ty.is_some() || self.is_certain {
            return;
        }
        let (may_refer, is_built) = (binding.may_refer, binding.is_built);
        let asked = place.on_the_way().filter(|place| if place.steps.is_empty() { may_refer } else { is_built });
        self.found.extend(asked.map(|mut place| {
            place.steps.push(Step::Referent);
            place
        }));
    }

    fn bind(&mut self, pattern: &Pat) {
        self.inner.extend(pattern_names(pattern).into_iter().map(|(name, ..)| name));
    }

    fn scoped(&mut self, visit: impl FnOnce(&mut Self)) {
        let before = self.inner.len();
        visit(self);
        self.inner.truncate(before);
    }
}

impl Visit<'_> for Finder<'_> {
    fn visit_block(&mut self, block: &Block) {
        self.scoped(|finder| visit::visit_block(finder, block));
    }

    fn visit_item(&mut self, _: &syn::Item) {}

    fn visit_local(&mut self, local: &syn::Local) {
        if let Some(init) = &local.init {
            self.visit_expr(&init.expr);
            if let Some((_, diverge)) = &init.diverge {
                self.visit_expr(diverge);
            }
        }
        self.bind(&local.pat);
    }

    fn visit_expr_assign(&mut self, assign: &syn::ExprAssign) {
        self.visit_expr(&assign.right);
        let mut targets = Vec::new();
        assignment_targets(&assign.left, &mut targets);
        targets.into_iter().for_each(|place| self.changes(place));
        if !matches!(&*assign.left, Expr::Path(_)) {
            visit::visit_expr(self, &assign.left);
        }
    }

    fn visit_expr_binary(&mut self, binary: &syn::ExprBinary) {
        if is_assigning(&binary.op)
            && let Some(place) = Place::of(&binary.left).map(Place::finish)
        {
            self.changes(place);
        }
        self.read(&binary.left);
        self.read(&binary.right);
    }

    fn visit_expr_index(&mut self, index: &syn::ExprIndex) {
        // Not as a name that is passed on: an element that is read changes nothing.
        self.read(&index.expr);
        self.visit_expr(&index.index);
    }

    fn visit_expr_reference(&mut self, reference: &syn::ExprReference) {
        if reference.mutability.is_some()
            && let Some(place) = Place::of(&reference.expr).map(Place::finish)
        {
            self.changes(place);
        }
        self.read(&reference.expr);
    }

    fn visit_expr_method_call(&mut self, call: &ExprMethodCall) {
        if reads_only(&call.method) {
            self.read(&call.receiver);
        } else {
            self.may_change_referent(&call.receiver);
            self.may_change(&call.receiver);
            self.read(&call.receiver);
        }
        call.args.iter().for_each(|argument| self.visit_expr(argument));
    }

    fn visit_expr_call(&mut self, call: &syn::ExprCall) {
        // A closure that is `mut` changes its captures.
        if let Expr::Path(_) = unparenthesised(&call.func) {
            self.may_change(&call.func);
        }
        self.read(&call.func);
        call.args.iter().for_each(|argument| self.visit_expr(argument));
    }

    fn visit_expr_field(&mut self, field: &syn::ExprField) {
        self.read(&field.base);
    }

    fn visit_expr_path(&mut self, path: &syn::ExprPath) {
        // A `&mut` reference that is passed on by its name is reborrowed.
        let Some(name) = path.path.get_ident() else { return };
        let place = Place { base: name.clone(), steps: Vec::new(), span: name.span() };
        let Some(binding) = self.outer(&place) else { return };
        let passed = Expr::Path(path.clone());
        match (binding.by_mut_ref, binding.has_value) {
            (true, _) => self.may_change(&passed),
            // The type of other variables may be unknown until they are passed on.
            (false, true) => self.may_change_referent(&passed),
            (false, false) => {}
        }
    }

    fn visit_expr_closure(&mut self, closure: &syn::ExprClosure) {
        self.scoped(|finder| {
            closure.inputs.iter().for_each(|input| finder.bind(input));
            finder.visit_expr(&closure.body);
        });
    }

    fn visit_expr_for_loop(&mut self, node: &syn::ExprForLoop) {
        self.visit_expr(&node.expr);
        self.scoped(|finder| {
            finder.bind(&node.pat);
            finder.visit_block(&node.body);
        });
    }

    fn visit_expr_let(&mut self, node: &syn::ExprLet) {
        self.visit_expr(&node.expr);
        self.bind(&node.pat);
    }

    fn visit_expr_if(&mut self, node: &syn::ExprIf) {
        self.scoped(|finder| {
            finder.visit_expr(&node.cond);
            finder.visit_block(&node.then_branch);
        });
        if let Some((_, otherwise)) = &node.else_branch {
            self.visit_expr(otherwise);
        }
    }

    fn visit_expr_while(&mut self, node: &syn::ExprWhile) {
        self.scoped(|finder| {
            finder.visit_expr(&node.cond);
            finder.visit_block(&node.body);
        });
    }

    fn visit_arm(&mut self, arm: &syn::Arm) {
        self.scoped(|finder| {
            finder.bind(&arm.pat);
            visit::visit_arm(finder, arm);
        });
    }

    fn visit_macro(&mut self, call: &Macro) {
        if let Some(node) = super::matching::of_matches(call) {
            self.read(&node.expr);
            return node.arms.iter().for_each(|arm| self.visit_arm(arm));
        }
        match super::macros::arguments(call) {
            Some(arguments) => arguments.iter().for_each(|argument| match argument {
                // `name = value` of a format string assigns nothing.
                Expr::Assign(named) => self.visit_expr(&named.right),
                value => self.visit_expr(value),
            }),
            None => {
                let mut names = Vec::new();
                identifiers(call.tokens.clone(), &mut names);
                for name in names {
                    let path = syn::ExprPath { attrs: Vec::new(), qself: None, path: name.into() };
                    self.visit_expr_path(&path);
                    self.may_change(&Expr::Path(path));
                }
            }
        }
    }
}

impl Finder<'_> {
    /// Visits an expression whose own place is only read.
    fn read(&mut self, expr: &Expr) {
        match expr {
            Expr::Path(_) => {}
            Expr::Field(field) => self.read(&field.base),
            Expr::Paren(inner) => self.read(&inner.expr),
            Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Deref(_)) => self.read(&unary.expr),
            other => self.visit_expr(other),
        }
    }
}

/// Returns whether an operator assigns, like `+=`.
pub(crate) fn is_assigning(op: &BinOp) -> bool {
    use BinOp as B;
    matches!(
        op,
        B::AddAssign(_)
            | B::SubAssign(_)
            | B::MulAssign(_)
            | B::DivAssign(_)
            | B::RemAssign(_)
            | B::BitAndAssign(_)
            | B::BitOrAssign(_)
            | B::BitXorAssign(_)
            | B::ShlAssign(_)
            | B::ShrAssign(_)
    )
}

/// Returns whether the name of a method shows that it does not change its receiver.
pub(crate) fn reads_only(method: &Ident) -> bool {
    READS_ONLY.binary_search(&method.to_string().as_str()).is_ok()
}

/// Methods whose names show that they do not change their receiver, in alphabetical order. If one of them changes it
/// nevertheless, the trace detects a value used outside its region.
const READS_ONLY: [&str; 95] = [
    "abs",
    "acos",
    "acosh",
    "all",
    "any",
    "as_bytes",
    "as_ref",
    "as_slice",
    "as_str",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitcast",
    "borrow",
    "cast",
    "cbrt",
    "ceil",
    "chars",
    "clamp",
    "clone",
    "compress",
    "contains",
    "copied",
    "copysign",
    "cos",
    "cosh",
    "count",
    "count_ones",
    "detach",
    "device",
    "dot",
    "eq",
    "erf",
    "exp",
    "exp2",
    "exp_m1",
    "first",
    "floor",
    "fmax",
    "fmin",
    "full_like",
    "gather",
    "gather_masked",
    "ge",
    "get",
    "gt",
    "hypot",
    "is_empty",
    "is_none",
    "is_some",
    "iter",
    "last",
    "le",
    "leading_zeros",
    "len",
    "ln",
    "ln_1p",
    "log10",
    "log2",
    "lt",
    "max",
    "mean",
    "min",
    "mul_add",
    "mul_hi",
    "ne",
    "norm",
    "not",
    "ones_like",
    "powf",
    "powi",
    "product",
    "recip",
    "round",
    "rsqrt",
    "select",
    "sigmoid",
    "sign",
    "sin",
    "sin_cos",
    "sinh",
    "sqrt",
    "sum",
    "tan",
    "tanh",
    "to_owned",
    "to_string",
    "to_vec",
    "trailing_zeros",
    "trunc",
    "unwrap_or",
    "width",
    "zeros_like",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_only_methods_are_sorted() {
        assert!(READS_ONLY.is_sorted());
    }

    #[test]
    fn a_whole_absorbs_its_parts() {
        let places = |names: &[&str]| -> Vec<Place> {
            names
                .iter()
                .map(|name| Place::of(&syn::parse_str::<Expr>(name).expect("an expression")).expect("a place").finish())
                .collect()
        };
        let names = |list: &[&str]| reduce(places(list)).iter().map(Place::name).collect::<Vec<_>>();
        assert_eq!(names(&["a.b", "a.c", "a.b.d"]), ["a.b", "a.c"]);
        assert_eq!(names(&["a.b", "c", "a"]), ["c", "a"]);
        assert_eq!(names(&["v[i].x", "v"]), ["v"]);
        assert_eq!(reduce(places(&["x", "*x"]))[0].steps.len(), 1);
    }
}
