//! Swizzles: components in another order or number: `v.zyx()`, `v.xy()`, `v.extend(w)`; and assignment to them:
//! `v.set_yx(&w)`.

use super::{Component, Vec2, Vec3, Vec4, VectorOperand};
use crate::{Array, Element};

macro_rules! swizzles {
    ($($From:ident: $name:ident -> $To:ident[$($to:ident = $c:ident),*];)*) => {$(
        impl<T: Element> $From<T> {
            #[doc = concat!("Returns the components `", stringify!($name), "`, in this order.")]
            #[inline]
            #[must_use]
            pub fn $name(&self) -> $To<T> {
                $To { $($to: self.$c.clone()),* }
            }
        }
    )*};
}

// All pairs and triples, and the orders of four.
#[rustfmt::skip]
swizzles! {
    Vec2: xx -> Vec2[x = x, y = x];
    Vec2: yx -> Vec2[x = y, y = x];
    Vec2: yy -> Vec2[x = y, y = y];
    Vec2: xxx -> Vec3[x = x, y = x, z = x];
    Vec2: xxy -> Vec3[x = x, y = x, z = y];
    Vec2: xyx -> Vec3[x = x, y = y, z = x];
    Vec2: xyy -> Vec3[x = x, y = y, z = y];
    Vec2: yxx -> Vec3[x = y, y = x, z = x];
    Vec2: yxy -> Vec3[x = y, y = x, z = y];
    Vec2: yyx -> Vec3[x = y, y = y, z = x];
    Vec2: yyy -> Vec3[x = y, y = y, z = y];
    Vec3: xx -> Vec2[x = x, y = x];
    Vec3: xy -> Vec2[x = x, y = y];
    Vec3: xz -> Vec2[x = x, y = z];
    Vec3: yx -> Vec2[x = y, y = x];
    Vec3: yy -> Vec2[x = y, y = y];
    Vec3: yz -> Vec2[x = y, y = z];
    Vec3: zx -> Vec2[x = z, y = x];
    Vec3: zy -> Vec2[x = z, y = y];
    Vec3: zz -> Vec2[x = z, y = z];
    Vec3: xxx -> Vec3[x = x, y = x, z = x];
    Vec3: xxy -> Vec3[x = x, y = x, z = y];
    Vec3: xxz -> Vec3[x = x, y = x, z = z];
    Vec3: xyx -> Vec3[x = x, y = y, z = x];
    Vec3: xyy -> Vec3[x = x, y = y, z = y];
    Vec3: xzx -> Vec3[x = x, y = z, z = x];
    Vec3: xzy -> Vec3[x = x, y = z, z = y];
    Vec3: xzz -> Vec3[x = x, y = z, z = z];
    Vec3: yxx -> Vec3[x = y, y = x, z = x];
    Vec3: yxy -> Vec3[x = y, y = x, z = y];
    Vec3: yxz -> Vec3[x = y, y = x, z = z];
    Vec3: yyx -> Vec3[x = y, y = y, z = x];
    Vec3: yyy -> Vec3[x = y, y = y, z = y];
    Vec3: yyz -> Vec3[x = y, y = y, z = z];
    Vec3: yzx -> Vec3[x = y, y = z, z = x];
    Vec3: yzy -> Vec3[x = y, y = z, z = y];
    Vec3: yzz -> Vec3[x = y, y = z, z = z];
    Vec3: zxx -> Vec3[x = z, y = x, z = x];
    Vec3: zxy -> Vec3[x = z, y = x, z = y];
    Vec3: zxz -> Vec3[x = z, y = x, z = z];
    Vec3: zyx -> Vec3[x = z, y = y, z = x];
    Vec3: zyy -> Vec3[x = z, y = y, z = y];
    Vec3: zyz -> Vec3[x = z, y = y, z = z];
    Vec3: zzx -> Vec3[x = z, y = z, z = x];
    Vec3: zzy -> Vec3[x = z, y = z, z = y];
    Vec3: zzz -> Vec3[x = z, y = z, z = z];
    Vec4: xx -> Vec2[x = x, y = x];
    Vec4: xy -> Vec2[x = x, y = y];
    Vec4: xz -> Vec2[x = x, y = z];
    Vec4: xw -> Vec2[x = x, y = w];
    Vec4: yx -> Vec2[x = y, y = x];
    Vec4: yy -> Vec2[x = y, y = y];
    Vec4: yz -> Vec2[x = y, y = z];
    Vec4: yw -> Vec2[x = y, y = w];
    Vec4: zx -> Vec2[x = z, y = x];
    Vec4: zy -> Vec2[x = z, y = y];
    Vec4: zz -> Vec2[x = z, y = z];
    Vec4: zw -> Vec2[x = z, y = w];
    Vec4: wx -> Vec2[x = w, y = x];
    Vec4: wy -> Vec2[x = w, y = y];
    Vec4: wz -> Vec2[x = w, y = z];
    Vec4: ww -> Vec2[x = w, y = w];
    Vec4: xxx -> Vec3[x = x, y = x, z = x];
    Vec4: xxy -> Vec3[x = x, y = x, z = y];
    Vec4: xxz -> Vec3[x = x, y = x, z = z];
    Vec4: xxw -> Vec3[x = x, y = x, z = w];
    Vec4: xyx -> Vec3[x = x, y = y, z = x];
    Vec4: xyy -> Vec3[x = x, y = y, z = y];
    Vec4: xyz -> Vec3[x = x, y = y, z = z];
    Vec4: xyw -> Vec3[x = x, y = y, z = w];
    Vec4: xzx -> Vec3[x = x, y = z, z = x];
    Vec4: xzy -> Vec3[x = x, y = z, z = y];
    Vec4: xzz -> Vec3[x = x, y = z, z = z];
    Vec4: xzw -> Vec3[x = x, y = z, z = w];
    Vec4: xwx -> Vec3[x = x, y = w, z = x];
    Vec4: xwy -> Vec3[x = x, y = w, z = y];
    Vec4: xwz -> Vec3[x = x, y = w, z = z];
    Vec4: xww -> Vec3[x = x, y = w, z = w];
    Vec4: yxx -> Vec3[x = y, y = x, z = x];
    Vec4: yxy -> Vec3[x = y, y = x, z = y];
    Vec4: yxz -> Vec3[x = y, y = x, z = z];
    Vec4: yxw -> Vec3[x = y, y = x, z = w];
    Vec4: yyx -> Vec3[x = y, y = y, z = x];
    Vec4: yyy -> Vec3[x = y, y = y, z = y];
    Vec4: yyz -> Vec3[x = y, y = y, z = z];
    Vec4: yyw -> Vec3[x = y, y = y, z = w];
    Vec4: yzx -> Vec3[x = y, y = z, z = x];
    Vec4: yzy -> Vec3[x = y, y = z, z = y];
    Vec4: yzz -> Vec3[x = y, y = z, z = z];
    Vec4: yzw -> Vec3[x = y, y = z, z = w];
    Vec4: ywx -> Vec3[x = y, y = w, z = x];
    Vec4: ywy -> Vec3[x = y, y = w, z = y];
    Vec4: ywz -> Vec3[x = y, y = w, z = z];
    Vec4: yww -> Vec3[x = y, y = w, z = w];
    Vec4: zxx -> Vec3[x = z, y = x, z = x];
    Vec4: zxy -> Vec3[x = z, y = x, z = y];
    Vec4: zxz -> Vec3[x = z, y = x, z = z];
    Vec4: zxw -> Vec3[x = z, y = x, z = w];
    Vec4: zyx -> Vec3[x = z, y = y, z = x];
    Vec4: zyy -> Vec3[x = z, y = y, z = y];
    Vec4: zyz -> Vec3[x = z, y = y, z = z];
    Vec4: zyw -> Vec3[x = z, y = y, z = w];
    Vec4: zzx -> Vec3[x = z, y = z, z = x];
    Vec4: zzy -> Vec3[x = z, y = z, z = y];
    Vec4: zzz -> Vec3[x = z, y = z, z = z];
    Vec4: zzw -> Vec3[x = z, y = z, z = w];
    Vec4: zwx -> Vec3[x = z, y = w, z = x];
    Vec4: zwy -> Vec3[x = z, y = w, z = y];
    Vec4: zwz -> Vec3[x = z, y = w, z = z];
    Vec4: zww -> Vec3[x = z, y = w, z = w];
    Vec4: wxx -> Vec3[x = w, y = x, z = x];
    Vec4: wxy -> Vec3[x = w, y = x, z = y];
    Vec4: wxz -> Vec3[x = w, y = x, z = z];
    Vec4: wxw -> Vec3[x = w, y = x, z = w];
    Vec4: wyx -> Vec3[x = w, y = y, z = x];
    Vec4: wyy -> Vec3[x = w, y = y, z = y];
    Vec4: wyz -> Vec3[x = w, y = y, z = z];
    Vec4: wyw -> Vec3[x = w, y = y, z = w];
    Vec4: wzx -> Vec3[x = w, y = z, z = x];
    Vec4: wzy -> Vec3[x = w, y = z, z = y];
    Vec4: wzz -> Vec3[x = w, y = z, z = z];
    Vec4: wzw -> Vec3[x = w, y = z, z = w];
    Vec4: wwx -> Vec3[x = w, y = w, z = x];
    Vec4: wwy -> Vec3[x = w, y = w, z = y];
    Vec4: wwz -> Vec3[x = w, y = w, z = z];
    Vec4: www -> Vec3[x = w, y = w, z = w];
    Vec4: xywz -> Vec4[x = x, y = y, z = w, w = z];
    Vec4: xzyw -> Vec4[x = x, y = z, z = y, w = w];
    Vec4: xzwy -> Vec4[x = x, y = z, z = w, w = y];
    Vec4: xwyz -> Vec4[x = x, y = w, z = y, w = z];
    Vec4: xwzy -> Vec4[x = x, y = w, z = z, w = y];
    Vec4: yxzw -> Vec4[x = y, y = x, z = z, w = w];
    Vec4: yxwz -> Vec4[x = y, y = x, z = w, w = z];
    Vec4: yzxw -> Vec4[x = y, y = z, z = x, w = w];
    Vec4: yzwx -> Vec4[x = y, y = z, z = w, w = x];
    Vec4: ywxz -> Vec4[x = y, y = w, z = x, w = z];
    Vec4: ywzx -> Vec4[x = y, y = w, z = z, w = x];
    Vec4: zxyw -> Vec4[x = z, y = x, z = y, w = w];
    Vec4: zxwy -> Vec4[x = z, y = x, z = w, w = y];
    Vec4: zyxw -> Vec4[x = z, y = y, z = x, w = w];
    Vec4: zywx -> Vec4[x = z, y = y, z = w, w = x];
    Vec4: zwxy -> Vec4[x = z, y = w, z = x, w = y];
    Vec4: zwyx -> Vec4[x = z, y = w, z = y, w = x];
    Vec4: wxyz -> Vec4[x = w, y = x, z = y, w = z];
    Vec4: wxzy -> Vec4[x = w, y = x, z = z, w = y];
    Vec4: wyxz -> Vec4[x = w, y = y, z = x, w = z];
    Vec4: wyzx -> Vec4[x = w, y = y, z = z, w = x];
    Vec4: wzxy -> Vec4[x = w, y = z, z = x, w = y];
    Vec4: wzyx -> Vec4[x = w, y = z, z = y, w = x];
}

macro_rules! set_swizzles {
    ($($From:ident: $name:ident $letters:literal -> $To:ident[$($to:ident = $c:ident),*];)*) => {$(
        impl<T: Element> $From<T> {
            #[doc = concat!("Assigns the components `", $letters, "`, in this order.")]
            #[inline]
            #[track_caller]
            pub fn $name(&mut self, value: impl VectorOperand<$To<T>>) {
                let value = value.into_vector();
                $(self.$c = value.$to;)*
            }
        }
    )*};
}

// All pairs and triples of different components, and the orders of four.
#[rustfmt::skip]
set_swizzles! {
    Vec2: set_yx "yx" -> Vec2[x = y, y = x];
    Vec3: set_xy "xy" -> Vec2[x = x, y = y];
    Vec3: set_xz "xz" -> Vec2[x = x, y = z];
    Vec3: set_yx "yx" -> Vec2[x = y, y = x];
    Vec3: set_yz "yz" -> Vec2[x = y, y = z];
    Vec3: set_zx "zx" -> Vec2[x = z, y = x];
    Vec3: set_zy "zy" -> Vec2[x = z, y = y];
    Vec3: set_xzy "xzy" -> Vec3[x = x, y = z, z = y];
    Vec3: set_yxz "yxz" -> Vec3[x = y, y = x, z = z];
    Vec3: set_yzx "yzx" -> Vec3[x = y, y = z, z = x];
    Vec3: set_zxy "zxy" -> Vec3[x = z, y = x, z = y];
    Vec3: set_zyx "zyx" -> Vec3[x = z, y = y, z = x];
    Vec4: set_xy "xy" -> Vec2[x = x, y = y];
    Vec4: set_xz "xz" -> Vec2[x = x, y = z];
    Vec4: set_xw "xw" -> Vec2[x = x, y = w];
    Vec4: set_yx "yx" -> Vec2[x = y, y = x];
    Vec4: set_yz "yz" -> Vec2[x = y, y = z];
    Vec4: set_yw "yw" -> Vec2[x = y, y = w];
    Vec4: set_zx "zx" -> Vec2[x = z, y = x];
    Vec4: set_zy "zy" -> Vec2[x = z, y = y];
    Vec4: set_zw "zw" -> Vec2[x = z, y = w];
    Vec4: set_wx "wx" -> Vec2[x = w, y = x];
    Vec4: set_wy "wy" -> Vec2[x = w, y = y];
    Vec4: set_wz "wz" -> Vec2[x = w, y = z];
    Vec4: set_xyz "xyz" -> Vec3[x = x, y = y, z = z];
    Vec4: set_xyw "xyw" -> Vec3[x = x, y = y, z = w];
    Vec4: set_xzy "xzy" -> Vec3[x = x, y = z, z = y];
    Vec4: set_xzw "xzw" -> Vec3[x = x, y = z, z = w];
    Vec4: set_xwy "xwy" -> Vec3[x = x, y = w, z = y];
    Vec4: set_xwz "xwz" -> Vec3[x = x, y = w, z = z];
    Vec4: set_yxz "yxz" -> Vec3[x = y, y = x, z = z];
    Vec4: set_yxw "yxw" -> Vec3[x = y, y = x, z = w];
    Vec4: set_yzx "yzx" -> Vec3[x = y, y = z, z = x];
    Vec4: set_yzw "yzw" -> Vec3[x = y, y = z, z = w];
    Vec4: set_ywx "ywx" -> Vec3[x = y, y = w, z = x];
    Vec4: set_ywz "ywz" -> Vec3[x = y, y = w, z = z];
    Vec4: set_zxy "zxy" -> Vec3[x = z, y = x, z = y];
    Vec4: set_zxw "zxw" -> Vec3[x = z, y = x, z = w];
    Vec4: set_zyx "zyx" -> Vec3[x = z, y = y, z = x];
    Vec4: set_zyw "zyw" -> Vec3[x = z, y = y, z = w];
    Vec4: set_zwx "zwx" -> Vec3[x = z, y = w, z = x];
    Vec4: set_zwy "zwy" -> Vec3[x = z, y = w, z = y];
    Vec4: set_wxy "wxy" -> Vec3[x = w, y = x, z = y];
    Vec4: set_wxz "wxz" -> Vec3[x = w, y = x, z = z];
    Vec4: set_wyx "wyx" -> Vec3[x = w, y = y, z = x];
    Vec4: set_wyz "wyz" -> Vec3[x = w, y = y, z = z];
    Vec4: set_wzx "wzx" -> Vec3[x = w, y = z, z = x];
    Vec4: set_wzy "wzy" -> Vec3[x = w, y = z, z = y];
    Vec4: set_xywz "xywz" -> Vec4[x = x, y = y, z = w, w = z];
    Vec4: set_xzyw "xzyw" -> Vec4[x = x, y = z, z = y, w = w];
    Vec4: set_xzwy "xzwy" -> Vec4[x = x, y = z, z = w, w = y];
    Vec4: set_xwyz "xwyz" -> Vec4[x = x, y = w, z = y, w = z];
    Vec4: set_xwzy "xwzy" -> Vec4[x = x, y = w, z = z, w = y];
    Vec4: set_yxzw "yxzw" -> Vec4[x = y, y = x, z = z, w = w];
    Vec4: set_yxwz "yxwz" -> Vec4[x = y, y = x, z = w, w = z];
    Vec4: set_yzxw "yzxw" -> Vec4[x = y, y = z, z = x, w = w];
    Vec4: set_yzwx "yzwx" -> Vec4[x = y, y = z, z = w, w = x];
    Vec4: set_ywxz "ywxz" -> Vec4[x = y, y = w, z = x, w = z];
    Vec4: set_ywzx "ywzx" -> Vec4[x = y, y = w, z = z, w = x];
    Vec4: set_zxyw "zxyw" -> Vec4[x = z, y = x, z = y, w = w];
    Vec4: set_zxwy "zxwy" -> Vec4[x = z, y = x, z = w, w = y];
    Vec4: set_zyxw "zyxw" -> Vec4[x = z, y = y, z = x, w = w];
    Vec4: set_zywx "zywx" -> Vec4[x = z, y = y, z = w, w = x];
    Vec4: set_zwxy "zwxy" -> Vec4[x = z, y = w, z = x, w = y];
    Vec4: set_zwyx "zwyx" -> Vec4[x = z, y = w, z = y, w = x];
    Vec4: set_wxyz "wxyz" -> Vec4[x = w, y = x, z = y, w = z];
    Vec4: set_wxzy "wxzy" -> Vec4[x = w, y = x, z = z, w = y];
    Vec4: set_wyxz "wyxz" -> Vec4[x = w, y = y, z = x, w = z];
    Vec4: set_wyzx "wyzx" -> Vec4[x = w, y = y, z = z, w = x];
    Vec4: set_wzxy "wzxy" -> Vec4[x = w, y = z, z = x, w = y];
    Vec4: set_wzyx "wzyx" -> Vec4[x = w, y = z, z = y, w = x];
}

macro_rules! extend {
    ($($From:ident[$($c:ident),*] + $last:ident -> $To:ident;)*) => {$(
        impl<T: Element> $From<T> {
            #[doc = concat!("Returns the vector with an additional component, `", stringify!($last), "`.")]
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
