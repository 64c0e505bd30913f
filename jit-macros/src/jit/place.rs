//! Places: the variables and fields that a program can change, as paths from a local variable.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;
use syn::{Expr, Member, UnOp};

/// One step from a variable into a part of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// `*place`
    Deref,
    /// `*place` if it is a `&mut` reference, and state without arrays if it is not.
    Referent,
    /// `place.member`
    Field(String),
}

/// A local variable and the steps from it to a part of it.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) base: Ident,
    pub(crate) steps: Vec<Step>,
    /// The position in the program.
    pub(crate) span: Span,
}

impl Place {
    /// Returns the place that an expression names, up to the first index or call: `a.b[i].c` changes `a.b`.
    pub(crate) fn of(expr: &Expr) -> Option<Place> {
        match expr {
            Expr::Path(path) => {
                let base = path.path.get_ident().filter(|_| path.qself.is_none())?.clone();
                Some(Place { span: base.span(), base, steps: Vec::new() })
            }
            Expr::Paren(inner) => Self::of(&inner.expr),
            Expr::Group(inner) => Self::of(&inner.expr),
            Expr::Index(index) => Self::of(&index.expr).map(Self::stop),
            Expr::Field(field) => Some(Self::of(&field.base)?.then(Step::Field(member_name(&field.member)))),
            Expr::Unary(unary) if matches!(unary.op, UnOp::Deref(_)) => Some(Self::of(&unary.expr)?.then(Step::Deref)),
            _ => None,
        }
    }

    /// Ends the place at an index; [`Place::then`] drops the steps after it.
    fn stop(mut self) -> Self {
        self.steps.push(Step::Field(String::new()));
        self
    }

    fn then(mut self, step: Step) -> Self {
        if self.steps.last() != Some(&Step::Field(String::new())) {
            self.steps.push(step);
        }
        self
    }

    /// Removes the mark of [`Place::stop`].
    pub(crate) fn finish(mut self) -> Self {
        self.steps.retain(|step| *step != Step::Field(String::new()));
        self
    }

    /// Returns the fields on the path, without dereferences.
    fn fields(&self) -> Vec<&String> {
        self.steps.iter().filter_map(|step| if let Step::Field(name) = step { Some(name) } else { None }).collect()
    }

    /// Returns whether the other place is this one or a part of it.
    pub(crate) fn covers(&self, other: &Place) -> bool {
        self.base == other.base && other.fields().starts_with(&self.fields())
    }

    /// Returns whether it is what a variable refers to, if it is a reference.
    pub(crate) fn is_uncertain(&self) -> bool {
        self.steps.last() == Some(&Step::Referent)
    }

    /// Returns the variables and fields that may be references on the path: `a`, `a.b` and `a.b.c` of `a.b.c`.
    pub(crate) fn on_the_way(&self) -> impl Iterator<Item = Place> + '_ {
        let fields = self.steps.iter().take_while(|step| matches!(step, Step::Field(_))).count();
        (0..=fields).map(|count| Place { steps: self.steps[..count].to_vec(), ..self.clone() })
    }

    /// Returns the place as written in a program.
    pub(crate) fn name(&self) -> String {
        let fields = self.fields().into_iter().map(|field| format!(".{field}"));
        std::iter::once(self.base.to_string()).chain(fields).collect()
    }

    /// Returns the place as an expression whose tokens are at `span`.
    pub(crate) fn tokens(&self, span: Span) -> TokenStream {
        let mut base = self.base.clone();
        base.set_span(span.resolved_at(base.span()));
        let start = quote_spanned!(span=> #base);
        self.steps.iter().fold(start, |inner, step| match step {
            Step::Deref => quote_spanned!(span=> (*#inner)),
            Step::Referent => quote_spanned!(span=> (*#inner.__jit_referent())),
            Step::Field(name) => {
                let member: Member = match name.parse::<u32>() {
                    Ok(index) => Member::Unnamed(syn::Index { index, span }),
                    Err(_) => Member::Named(raw_ident(name, span)),
                };
                quote_spanned!(span=> #inner.#member)
            }
        })
    }
}

fn raw_ident(name: &str, span: Span) -> Ident {
    match name.strip_prefix("r#") {
        Some(raw) => Ident::new_raw(raw, span),
        None => Ident::new(name, span),
    }
}

fn member_name(member: &Member) -> String {
    match member {
        Member::Named(ident) => ident.to_string(),
        Member::Unnamed(index) => index.index.to_string(),
    }
}

/// Returns whether an expression is a place that an operator would move out of, unless it is `Copy`.
pub(crate) fn is_place(expr: &Expr) -> bool {
    match expr {
        Expr::Path(path) => path.path.get_ident().is_some() && path.qself.is_none(),
        Expr::Paren(inner) => is_place(&inner.expr),
        Expr::Group(inner) => is_place(&inner.expr),
        Expr::Field(_) | Expr::Index(_) => true,
        Expr::Unary(unary) => matches!(unary.op, UnOp::Deref(_)),
        _ => false,
    }
}
