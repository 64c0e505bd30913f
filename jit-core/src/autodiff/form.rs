//! The form of a value, without its arrays: what an operation keeps to make such values again.

use crate::graph::Var;
use crate::graph::tape::Flow;
use crate::trace::record;
use crate::traverse::{Traverse, VisitorMut, check_number, owned_arrays};

/// Replaces the arrays of a value, in order.
#[track_caller]
pub(crate) fn with_arrays<X: Traverse>(tree: &mut X, arrays: impl IntoIterator<Item = Var>) {
    let mut arrays = arrays.into_iter();
    let (mut given, mut lent) = (0, 0);
    tree.traverse_mut(&mut VisitorMut::new(&mut |_, var| {
        lent += 1;
        if let Some(array) = arrays.next() {
            given += 1;
            *var = array;
        }
    }));
    check_number(std::any::type_name::<X>(), given + arrays.count(), lent, jit_runtime::Site::here());
}

/// Returns a value with constants for arrays, as wide as they are, so that it owns no others.
#[track_caller]
pub(super) fn hollow<X: Traverse + Clone>(tree: &X) -> X {
    let zeros: Vec<Var> = owned_arrays(tree).iter().map(|var| record::literal(var.ty(), 0, var.width())).collect();
    let mut form = tree.clone();
    with_arrays(&mut form, zeros);
    form
}

/// Returns flows as a value of this form, with zeros where nothing flows.
#[track_caller]
pub(super) fn filled<X: Traverse + Clone>(form: &X, flows: &[Option<Var>]) -> X {
    let mut tree = form.clone();
    // The constants of the form are zeros.
    let all = owned_arrays(form).into_iter().zip(flows).map(|(zeros, flow)| flow.clone().unwrap_or(zeros));
    with_arrays(&mut tree, all.collect::<Vec<_>>());
    tree
}

/// Returns the arrays of a value through which gradients flow, in order; none for others.
pub(super) fn flows_of(tree: &impl Traverse) -> Flow {
    owned_arrays(tree).into_iter().map(|var| Some(var).filter(|var| var.ty().is_float())).collect()
}
