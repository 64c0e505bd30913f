//! What looks at other lanes: gathers, flat arrays, reductions, and reading back.

use std::panic::Location;

use jit_core::trace::misuse::Misuse;

use super::{Vec2, Vec3, Vec4, for_each_vector};
use crate::{Array, Element, Error, FloatElement, Integer, Mask, Number, UInt, eval};

macro_rules! reduction {
    ($Vec:ident [$($c:ident),*] $Bound:ident $(#[$doc:meta])* $name:ident) => {
        impl<T: $Bound> $Vec<T> {
            $(#[$doc])*
            #[must_use]
            #[track_caller]
            pub fn $name(&self) -> Self {
                $Vec { $($c: self.$c.$name()),* }
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
        impl<T: Element> $Vec<T> {
            /// The vectors at some lanes: see [`Array::gather`].
            #[must_use]
            #[track_caller]
            pub fn gather<I: Integer>(&self, index: &Array<I>) -> Self {
                $Vec { $($c: self.$c.gather(index)),* }
            }

            /// As [`gather`](Self::gather) where the mask is true; zero, reading nothing, where it is false.
            #[must_use]
            #[track_caller]
            pub fn gather_masked<I: Integer>(&self, index: &Array<I>, mask: &Mask) -> Self {
                $Vec { $($c: self.$c.gather_masked(index, mask)),* }
            }

            #[doc = concat!("The vectors at some positions of a flat array, in which the ", $n, " components of each follow each")]
            #[doc = concat!("other: component `k` reads position `index * ", $n, " + k`, computed in the index's type,")]
            /// those of 8 and 16 bits in 32.
            #[must_use]
            #[track_caller]
            pub fn gather_interleaved<I: Integer>(source: &Array<T>, index: &Array<I>) -> Self {
                if I::TYPE.bits() < 32 {
                    return Self::gather_interleaved(source, &index.cast::<u32>());
                }
                let first = index * small::<I>($n);
                $Vec { $($c: source.gather(&(&first + small::<I>($index)))),* }
            }

            /// As [`gather_interleaved`](Self::gather_interleaved) where the mask is true; zero, reading nothing, where it is
            /// false.
            #[must_use]
            #[track_caller]
            pub fn gather_interleaved_masked<I: Integer>(source: &Array<T>, index: &Array<I>, mask: &Mask) -> Self {
                if I::TYPE.bits() < 32 {
                    return Self::gather_interleaved_masked(source, &index.cast::<u32>(), mask);
                }
                let first = index * small::<I>($n);
                $Vec { $($c: source.gather_masked(&(&first + small::<I>($index)), mask)),* }
            }

            #[doc = concat!("The vectors of a flat array, in which the ", $n, " components of each follow each other.")]
            ///
            /// # Panics
            ///
            #[doc = concat!("When the width is no multiple of ", $n, ".")]
            #[must_use]
            #[track_caller]
            pub fn from_interleaved(flat: &Array<T>) -> Self {
                if !flat.len().is_multiple_of($n) {
                    refuse_ragged(flat, $n);
                }
                Self::gather_interleaved(flat, &UInt::arange(flat.len() / $n))
            }

            #[doc = concat!("A flat array, ", $n, " times as wide, in which the components of each vector follow each other.")]
            #[must_use]
            #[track_caller]
            pub fn to_interleaved(&self) -> Array<T> {
                let position = UInt::arange(self.len() * $n);
                let (lane, component) = (&position / $n, &position % $n);
                let values = [$(self.$c.gather(&lane)),*];
                let [first, rest @ ..] = values;
                let mut flat = first;
                for (index, value) in (1..).zip(rest) {
                    flat = component.eq(index).select(value, flat);
                }
                flat
            }

            /// The elements, one vector for each lane. Evaluates, and waits for the result.
            ///
            /// # Errors
            ///
            /// See [`Array::to_vec`].
            #[track_caller]
            pub fn to_vec(&self) -> Result<Vec<[T; $n]>, Error> {
                eval(self)?;
                let width = self.len();
                $(let $c = self.$c.to_vec()?;)*
                Ok((0..width).map(|lane| [$($c[if $c.len() == 1 { 0 } else { lane }]),*]).collect())
            }

            /// The vector of one lane. Evaluates, and waits for the result.
            ///
            /// # Errors
            ///
            /// See [`Array::get`].
            #[track_caller]
            pub fn get(&self, lane: usize) -> Result<[T; $n], Error> {
                eval(self)?;
                let is_everywhere = lane < self.len();
                Ok([$(self.$c.get(if is_everywhere && self.$c.len() == 1 { 0 } else { lane })?),*])
            }

            /// The only vector. Evaluates, and waits for the result.
            ///
            /// # Errors
            ///
            /// See [`Array::item`]: when there are more lanes, or none.
            #[track_caller]
            pub fn item(&self) -> Result<[T; $n], Error> {
                eval(self)?;
                Ok([$(self.$c.item()?),*])
            }
        }

        reductions! { $Vec [$($c),*] Number:
            /// The sum over all lanes, of width 1, component by component: see [`Array::sum`].
            sum;
            /// The product over all lanes, of width 1, component by component: see [`Array::product`].
            product;
            /// The smallest elements of the components over all lanes, of width 1: see [`Array::reduce_min`].
            reduce_min;
            /// The largest elements of the components over all lanes, of width 1: see [`Array::reduce_max`].
            reduce_max;
        }

        reductions! { $Vec [$($c),*] FloatElement:
            /// The mean over all lanes, of width 1, component by component: see [`Array::mean`].
            mean;
        }

        impl $Vec<bool> {
            /// Whether a component is true in all lanes, of width 1; across components there is
            /// [`all_components`](Self::all_components).
            #[must_use]
            #[track_caller]
            pub fn all(&self) -> Self {
                $Vec { $($c: self.$c.all()),* }
            }

            /// Whether a component is true in any lane, of width 1; across components there is
            /// [`any_component`](Self::any_component).
            #[must_use]
            #[track_caller]
            pub fn any(&self) -> Self {
                $Vec { $($c: self.$c.any()),* }
            }

            /// In how many lanes a component is true, of width 1.
            #[must_use]
            #[track_caller]
            pub fn count(&self) -> $Vec<u32> {
                $Vec { $($c: self.$c.count()),* }
            }
        }
    };
}

for_each_vector!(lanes);

/// A small number of any integer type.
fn small<I: Integer>(value: u64) -> I {
    I::from_bits(value)
}

#[cold]
#[track_caller]
fn refuse_ragged<T: Element>(flat: &Array<T>, components: usize) -> ! {
    Misuse::new(
        format!("{} elements are no whole number of vectors of {components} components", flat.len()),
        Location::caller(),
    )
    .value("the flat array", flat.var())
    .hint("slice the array, or add what is missing")
    .panic()
}
