//! Pointers to instances, one for each lane.

use std::fmt;
use std::sync::Arc;

use super::instances::Shared;
use crate::array::{Array, Integer, Mask, UInt};
use crate::control::Equal;
use crate::size::Size;
use crate::traverse::{HostValue, Traverse, Visitor, VisitorMut};
use jit_runtime::ir::Type;

/// A pointer per lane: in each lane, one of the [`Instances`](super::Instances) of a trait, or null.
///
/// The methods of a trait that is marked with `#[jit(dispatch)]` can be called on it. Each lane calls its instance;
/// null lanes get zero of every result and do nothing. A pointer is an array of ids: it can be the state of a loop or
/// the value of an `if`, and it can be gathered and compared.
pub struct Ptr<T: ?Sized> {
    shared: Arc<Shared<T>>,
    ids: UInt,
    /// Calls run one instance after another.
    is_sorted: bool,
}

impl<T: ?Sized> Ptr<T> {
    pub(super) fn new(shared: Arc<Shared<T>>, ids: UInt) -> Self {
        Ptr { shared, ids, is_sorted: false }
    }

    pub(super) fn is_sorted(&self) -> bool {
        self.is_sorted
    }

    pub(super) fn ids(&self) -> &UInt {
        &self.ids
    }

    pub(super) fn shared(&self) -> &Shared<T> {
        &self.shared
    }

    /// Returns the id of each lane's instance; 0 is null.
    #[must_use]
    pub fn id(&self) -> UInt {
        self.ids.clone()
    }

    /// Returns the number of lanes.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "as for arrays, widths are compared")]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns the number of lanes, to make arrays of the same width.
    #[must_use]
    pub fn width(&self) -> Size {
        self.ids.width()
    }

    /// Returns the same pointer, whose calls are evaluated at once, with each instance's method in separate kernels on
    /// its lanes alone. This is worth it when methods are large and neighbouring lanes call different instances.
    ///
    /// The results are those of an ordinary call, including widths and the arrays that methods write. Methods run under
    /// the mask of their lanes, as the arms of an `#[evaluated]` `if` do, so they may read elements; methods that no
    /// lane calls are not run. In a traced region, where lanes have no values yet, a call of such a pointer is an
    /// error.
    #[must_use]
    pub fn sorted(&self) -> Self {
        Ptr { is_sorted: true, ..self.clone() }
    }

    /// True where the pointer is null.
    #[must_use]
    #[track_caller]
    pub fn is_null(&self) -> Mask {
        self.ids.eq(0)
    }

    /// True where both refer to the same instance, or to none. Pointers to different sets of instances are equal where
    /// both are null.
    #[must_use]
    #[track_caller]
    pub fn eq(&self, other: &Ptr<T>) -> Mask {
        if Arc::ptr_eq(&self.shared, &other.shared) {
            return self.ids.eq(&other.ids);
        }
        self.is_null() & other.is_null()
    }

    /// True where they refer to different instances.
    #[must_use]
    #[track_caller]
    pub fn ne(&self, other: &Ptr<T>) -> Mask {
        !self.eq(other)
    }

    /// Returns the pointer where a mask is true, null elsewhere.
    #[must_use]
    #[track_caller]
    pub fn masked(&self, mask: &Mask) -> Self {
        self.with_ids(mask.select(&self.ids, 0))
    }

    /// Gathers the pointers of other lanes.
    #[must_use]
    #[track_caller]
    pub fn gather<I: Integer>(&self, index: &Array<I>) -> Self {
        self.with_ids(self.ids.gather(index))
    }

    /// Gathers the pointers of other lanes where a mask is true, null elsewhere.
    #[must_use]
    #[track_caller]
    pub fn gather_masked<I: Integer>(&self, index: &Array<I>, mask: &Mask) -> Self {
        self.with_ids(self.ids.gather_masked(index, mask))
    }

    /// Creates pointers to the same set of instances with other ids.
    #[must_use]
    pub fn with_ids(&self, ids: UInt) -> Self {
        Ptr { shared: Arc::clone(&self.shared), ids, is_sorted: self.is_sorted }
    }
}

impl<T: ?Sized> Clone for Ptr<T> {
    fn clone(&self) -> Self {
        self.with_ids(self.ids.clone())
    }
}

/// Visits the ids. The instances are not part of the pointer, but the recording of a frozen function depends on them.
/// Pointers to different sets do not merge.
impl<T: Traverse + ?Sized> Traverse for Ptr<T> {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        visitor.host(HostValue::Number(Type::U64, self.shared.serial));
        visitor.array(self.ids.var());
        self.shared.show(visitor);
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        visitor.array(self.ids.var_mut());
    }
}

impl<T: ?Sized> fmt::Debug for Ptr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "instances {:?}", self.ids)
    }
}

/// Comparisons of pointers, by value or by reference.
macro_rules! comparisons {
    ($($a:ty, $b:ty;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<T: ?Sized> Equal<$b> for $a {
            type Output = Mask;
            #[track_caller]
            fn eq(&self, other: &$b) -> Mask {
                Ptr::eq(self, other)
            }
            #[track_caller]
            fn ne(&self, other: &$b) -> Mask {
                Ptr::ne(self, other)
            }
        }
    )*};
}

comparisons! {
    Ptr<T>, Ptr<T>;
    Ptr<T>, &Ptr<T>;
    &Ptr<T>, Ptr<T>;
    &Ptr<T>, &Ptr<T>;
}
