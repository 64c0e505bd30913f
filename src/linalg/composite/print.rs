//! Formatting of values of several arrays: a row for each lane, as NumPy prints a matrix.

use std::fmt;

use super::{Complex, Quaternion, Vec2, Vec3, Vec4, for_each_composite};
use crate::linalg::print::{is_symbolic, write_lanes};
use crate::{Element, Error, eval};

macro_rules! print {
    ($Type:ident $n:literal [$($c:ident $index:literal),*]) => {
        impl<T: Element> fmt::Display for $Type<T> {
            /// Writes the values, one in each row, which evaluates them; if there are many, only those at both ends. If
            /// the evaluation fails, its error is printed in their place.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let row = |lane| -> Result<Vec<T>, Error> {
                    Ok(vec![$(self.$c.get(if self.$c.len() == 1 { 0 } else { lane })?),*])
                };
                match eval(self) {
                    Err(_) if is_symbolic(self) => fmt::Debug::fmt(self, f),
                    Ok(()) => write_lanes(f, self.len(), row),
                    Err(error) => write!(f, "<{error}>"),
                }
            }
        }

        impl<T: Element> fmt::Debug for $Type<T> {
            /// Writes the components as [`Array`](crate::Array)s are debugged. Evaluates nothing.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($Type))$(.field(stringify!($c), &self.$c))*.finish()
            }
        }
    };
}

for_each_composite!(print);
