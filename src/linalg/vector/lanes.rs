//! Reductions over the lanes, component by component. A component of width 1 counts in each lane.

use super::{Vec2, Vec3, Vec4, for_each_vector};
use crate::{FloatElement, Number};

macro_rules! reduction {
    ($Vec:ident [$($c:ident),*] $Bound:ident $(#[$doc:meta])* $name:ident) => {
        impl<T: $Bound> $Vec<T> {
            $(#[$doc])*
            #[must_use]
            #[track_caller]
            pub fn $name(&self) -> Self {
                let full = self.at_full_width();
                $Vec { $($c: full.$c.$name()),* }
            }
        }
    };
}

macro_rules! reductions {
    ($Vec:ident $components:tt $Bound:ident: $($(#[$doc:meta])* $name:ident;)*) => {
        $(reduction!($Vec $components $Bound $(#[$doc])* $name);)*
    };
}

macro_rules! lanes {
    ($Vec:ident $n:literal [$($c:ident $index:literal),*]) => {
        reductions! { $Vec [$($c),*] Number:
            /// Returns the sum over all lanes, of width 1, component by component: see
            /// [`Array::sum`](crate::Array::sum).
            sum;
            /// Returns the product over all lanes, of width 1, component by component: see
            /// [`Array::product`](crate::Array::product).
            product;
            /// Returns the smallest elements of the components over all lanes, of width 1: see
            /// [`Array::reduce_min`](crate::Array::reduce_min).
            reduce_min;
            /// Returns the largest elements of the components over all lanes, of width 1: see
            /// [`Array::reduce_max`](crate::Array::reduce_max).
            reduce_max;
        }

        reductions! { $Vec [$($c),*] FloatElement:
            /// Returns the mean over all lanes, of width 1, component by component: see
            /// [`Array::mean`](crate::Array::mean).
            mean;
        }

        impl $Vec<bool> {
            /// Returns whether a component is true in all lanes, of width 1; for all components see
            /// [`all_components`](Self::all_components).
            #[must_use]
            #[track_caller]
            pub fn all(&self) -> Self {
                $Vec { $($c: self.$c.all()),* }
            }

            /// Returns whether a component is true in any lane, of width 1; for any component see
            /// [`any_component`](Self::any_component).
            #[must_use]
            #[track_caller]
            pub fn any(&self) -> Self {
                $Vec { $($c: self.$c.any()),* }
            }

            /// Returns the number of lanes in which a component is true, of width 1.
            #[must_use]
            #[track_caller]
            pub fn count(&self) -> $Vec<u32> {
                let full = self.at_full_width();
                $Vec { $($c: full.$c.count()),* }
            }
        }
    };
}

for_each_vector!(lanes);
