//! [`Traverse`](crate::Traverse) for the structs of the library: their fields, in order.

/// Implements `Traverse` for a struct by its fields. Parameters are element types; others are declared in brackets.
///
/// ```ignore
/// traverse_fields!(Vec3<T> { x, y, z });
/// traverse_fields!([T: Element, const N: usize] Matrix<T, N> { rows });
/// ```
macro_rules! traverse_fields {
    ($name:ident { $($field:ident),* $(,)? }) => {
        traverse_fields!([] $name { $($field),* });
    };
    ($name:ident<$($element:ident),+> { $($field:ident),* $(,)? }) => {
        traverse_fields!([$($element: $crate::Element),+] $name<$($element),+> { $($field),* });
    };
    ([$($generics:tt)*] $name:ty { $($field:ident),* $(,)? }) => {
        impl<$($generics)*> $crate::Traverse for $name {
            fn traverse(&self, visitor: &mut $crate::Visitor<'_>) {
                $(visitor.field(stringify!($field), &self.$field);)*
            }

            fn traverse_mut(&mut self, visitor: &mut $crate::VisitorMut<'_>) {
                $(visitor.field(stringify!($field), &mut self.$field);)*
            }
        }
    };
}

pub(crate) use traverse_fields;
