//! The functions that are being traced on this thread: their names label kernels, and their calls are counted.

use std::cell::RefCell;

thread_local! {
    /// Labels of the functions and statements that are open, innermost last.
    static LABELS: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
}

/// The label of the innermost traced function or labelled statement of this thread.
#[must_use]
pub fn current_label() -> Option<&'static str> {
    LABELS.with_borrow(|labels| labels.last().copied())
}

/// One label on the thread's stack, taken off again when dropped.
#[derive(Debug)]
pub struct LabelScope(());

/// Labels what is traced until the result is dropped.
#[must_use]
pub fn label(label: &'static str) -> LabelScope {
    LABELS.with_borrow_mut(|labels| labels.push(label));
    LabelScope(())
}

impl Drop for LabelScope {
    fn drop(&mut self) {
        LABELS.with_borrow_mut(|labels| labels.pop());
    }
}

/// One call of a `#[jit]` function: a label, a `tracing` span, and one more trace in the statistics.
#[derive(Debug)]
pub struct FunctionScope {
    _label: LabelScope,
    _span: tracing::span::EnteredSpan,
}

/// Begins the trace of a function.
#[must_use]
pub fn enter(name: &'static str) -> FunctionScope {
    jit_runtime::stats::count_trace();
    let span = tracing::debug_span!(target: "jit", "trace", function = name).entered();
    FunctionScope { _label: label(name), _span: span }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_nest() {
        assert_eq!(current_label(), None);
        let outer = enter("outer");
        {
            let _inner = enter("inner");
            assert_eq!(current_label(), Some("inner"));
        }
        assert_eq!(current_label(), Some("outer"));
        drop(outer);
        assert_eq!(current_label(), None);
    }
}
