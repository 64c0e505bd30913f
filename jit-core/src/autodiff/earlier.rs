//! Values that functions which are differentiated have captured.
//!
//! A function may capture a value with a long history: the state of a simulation whose steps contain a derivative. What
//! is behind that value is not what the function is differentiated by, but the search for this would go through all of
//! it. So a search marks the values that its function has captured, with the number of the calls so far. Later calls
//! have younger arguments, and do not search behind the mark: the steps see their history once, and not each of them
//! all of it.

use jit_runtime::Error;

use super::vertex::{Vertex, carries, key_of, leading_to};
use crate::graph::Var;
use crate::graph::op::Op;
use crate::graph::tape;

/// Returns whether a value is marked as older than a call.
pub(super) fn is_earlier(var: &Var, call: u64) -> bool {
    tape::read(var, |record| record.captured_at.is_some_and(|last| last < call)).unwrap_or(false)
}

/// Marks the values that a function has captured with the number of the last call: calls with larger numbers are
/// younger.
pub(super) fn mark_captured(vertices: &[Vertex], arguments: &[Var], last: u64) -> Result<(), Error> {
    let leading = leading_to(vertices, arguments)?;
    for vertex in vertices.iter().filter(|vertex| leading.contains(&vertex.key())) {
        if let Vertex::Value(value) = vertex
            && arguments.iter().any(|argument| argument.is_same(&value.var))
        {
            continue;
        }
        for behind in vertex.behind()? {
            if let Vertex::Value(captured) = behind
                && carries(&captured.var)
                && captured.var.op() != Op::Param
                && !leading.contains(&key_of(&captured.var))
            {
                tape::with_record(&captured.var, |record| _ = record.captured_at.get_or_insert(last));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use jit_runtime::ir::Type;

    use super::super::functional::Called;
    use super::super::weight;
    use crate::Float64;

    /// Each step searched all that was behind the state, so that many steps took quadratic time.
    #[test]
    fn the_history_of_what_is_captured_is_searched_once() {
        let (mut state, x) = (Float64::from([0.3, 0.4]), Float64::from(0.7));
        state.enable_grad();
        let searched: Vec<usize> = (0..50)
            .map(|_| {
                let mut called = Called::begin();
                let argument = Float64::from_var(called.argument(x.var(), false));
                let value = (&argument * &argument * &state).sin().sum();
                called.end([argument.var().clone()].into_iter(), vec![value.var().clone()]).expect("a derivative");
                let slope = called.pull_back(&[weight::number(Type::F64, 1.0)]).expect("a derivative").remove(0);
                state = &state * 0.9 + Float64::from_var(slope);
                called.vertices.len()
            })
            .collect();
        assert!(searched[1..].iter().all(|count| *count == searched[1]), "{searched:?}");
        state.backward().expect("it carries gradients");
    }
}
