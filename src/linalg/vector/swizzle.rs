//! Components in another order or number: `v.zyx()`, `v.xy()`, `v.extend(w)`.

use super::{Component, Vec2, Vec3, Vec4};
use crate::{Array, Element};

macro_rules! swizzles {
    ($($From:ident: $name:ident -> $To:ident[$($to:ident = $c:ident),*];)*) => {$(
        impl<T: Element> $From<T> {
            #[doc = concat!("The components `", stringify!($name), "`, in this order.")]
            #[inline]
            #[must_use]
            pub fn $name(&self) -> $To<T> {
                $To { $($to: self.$c.clone()),* }
            }
        }
    )*};
}

swizzles! {
    Vec2: yx -> Vec2[x = y, y = x];
    Vec3: xy -> Vec2[x = x, y = y];
    Vec3: yx -> Vec2[x = y, y = x];
    Vec3: xz -> Vec2[x = x, y = z];
    Vec3: zx -> Vec2[x = z, y = x];
    Vec3: yz -> Vec2[x = y, y = z];
    Vec3: zy -> Vec2[x = z, y = y];
    Vec3: xzy -> Vec3[x = x, y = z, z = y];
    Vec3: yxz -> Vec3[x = y, y = x, z = z];
    Vec3: yzx -> Vec3[x = y, y = z, z = x];
    Vec3: zxy -> Vec3[x = z, y = x, z = y];
    Vec3: zyx -> Vec3[x = z, y = y, z = x];
    Vec4: xy -> Vec2[x = x, y = y];
    Vec4: xz -> Vec2[x = x, y = z];
    Vec4: yz -> Vec2[x = y, y = z];
    Vec4: zw -> Vec2[x = z, y = w];
    Vec4: xyz -> Vec3[x = x, y = y, z = z];
    Vec4: zyx -> Vec3[x = z, y = y, z = x];
    Vec4: yzw -> Vec3[x = y, y = z, z = w];
    Vec4: wxyz -> Vec4[x = w, y = x, z = y, w = z];
    Vec4: yzwx -> Vec4[x = y, y = z, z = w, w = x];
    Vec4: zyxw -> Vec4[x = z, y = y, z = x, w = w];
    Vec4: wzyx -> Vec4[x = w, y = z, z = y, w = x];
}

macro_rules! extend {
    ($($From:ident[$($c:ident),*] + $last:ident -> $To:ident;)*) => {$(
        impl<T: Element> $From<T> {
            #[doc = concat!("The vector with a further component, `", stringify!($last), "`.")]
            #[inline]
            #[must_use]
            #[track_caller]
            pub fn extend(&self, $last: impl Component<T>) -> $To<T> {
                let $last: Array<T> = $last.into_component();
                $To { $($c: self.$c.clone(),)* $last }
            }
        }
    )*};
}

extend! {
    Vec2[x, y] + z -> Vec3;
    Vec3[x, y, z] + w -> Vec4;
}
