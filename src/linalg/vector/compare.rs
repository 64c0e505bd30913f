//! Comparisons, component by component, and selection by their results.

use jit_core::control::{Equal, Order};

use super::{Vec2, Vec3, Vec4, VectorOperand, for_each_vector};
use crate::{Array, Element, Mask};

macro_rules! method {
    ($Vec:ident [$($c:ident),*] $(#[$doc:meta])* $name:ident) => {
        impl<T: Element> $Vec<T> {
            $(#[$doc])*
            #[must_use]
            #[track_caller]
            pub fn $name(&self, other: impl VectorOperand<$Vec<T>>) -> $Vec<bool> {
                let other = other.into_vector();
                $Vec { $($c: self.$c.$name(other.$c)),* }
            }
        }
    };
}

macro_rules! methods {
    ($Vec:ident $components:tt $($(#[$doc:meta])* $name:ident;)*) => {
        $(method!($Vec $components $(#[$doc])* $name);)*
    };
}

/// The comparison operators of `#[jit]` functions.
macro_rules! operators {
    ($Vec:ident: $($Left:ty, $Right:ty;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<T: Element> Equal<$Right> for $Left {
            type Output = $Vec<bool>;
            #[track_caller]
            fn eq(&self, other: &$Right) -> $Vec<bool> {
                $Vec::eq(self, other.clone())
            }
            #[track_caller]
            fn ne(&self, other: &$Right) -> $Vec<bool> {
                $Vec::ne(self, other.clone())
            }
        }

        #[diagnostic::do_not_recommend]
        impl<T: Element> Order<$Right> for $Left {
            type Output = $Vec<bool>;
            #[track_caller]
            fn lt(&self, other: &$Right) -> $Vec<bool> {
                $Vec::lt(self, other.clone())
            }
            #[track_caller]
            fn le(&self, other: &$Right) -> $Vec<bool> {
                $Vec::le(self, other.clone())
            }
            #[track_caller]
            fn gt(&self, other: &$Right) -> $Vec<bool> {
                $Vec::gt(self, other.clone())
            }
            #[track_caller]
            fn ge(&self, other: &$Right) -> $Vec<bool> {
                $Vec::ge(self, other.clone())
            }
        }
    )*};
}

macro_rules! comparisons {
    ($Vec:ident $n:literal [$first:ident 0, $($c:ident $index:literal),*]) => {
        methods! { $Vec [$first, $($c),*]
            /// Returns true where components are less; false for NaN.
            lt;
            /// Returns true where components are less or equal; false for NaN.
            le;
            /// Returns true where components are greater; false for NaN.
            gt;
            /// Returns true where components are greater or equal; false for NaN.
            ge;
            /// Returns true where components are equal; false for NaN.
            eq;
            /// Returns true where components differ; true for NaN.
            ne;
        }

        operators! { $Vec:
            $Vec<T>, $Vec<T>;
            $Vec<T>, &$Vec<T>;
            &$Vec<T>, $Vec<T>;
            &$Vec<T>, &$Vec<T>;
            $Vec<T>, Array<T>;
            $Vec<T>, &Array<T>;
            &$Vec<T>, Array<T>;
            &$Vec<T>, &Array<T>;
            $Vec<T>, T;
            &$Vec<T>, T;
        }

        impl $Vec<bool> {
            /// Selects, component by component, from the first vector where the mask is true, from the second where it
            /// is false. To select whole vectors by one [`Mask`], use [`trees::select`](crate::trees::select).
            #[must_use]
            #[track_caller]
            pub fn select<T: Element>(
                &self,
                if_true: impl VectorOperand<$Vec<T>>,
                if_false: impl VectorOperand<$Vec<T>>,
            ) -> $Vec<T> {
                let (a, b) = (if_true.into_vector(), if_false.into_vector());
                $Vec { $first: self.$first.select(a.$first, b.$first), $($c: self.$c.select(a.$c, b.$c)),* }
            }

            /// Returns, in each lane, whether all components are true.
            #[must_use]
            #[track_caller]
            pub fn all_components(&self) -> Mask {
                let all = self.$first.clone();
                $(let all = all & &self.$c;)*
                all
            }

            /// Returns, in each lane, whether any component is true.
            #[must_use]
            #[track_caller]
            pub fn any_component(&self) -> Mask {
                let any = self.$first.clone();
                $(let any = any | &self.$c;)*
                any
            }
        }
    };
}

for_each_vector!(comparisons);

jit_core::refuse_rust_comparisons! {
    [T: Element] Vec2<T>;
    [T: Element] Vec3<T>;
    [T: Element] Vec4<T>;
}
