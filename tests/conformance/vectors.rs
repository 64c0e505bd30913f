//! Vectors of arrays: components, flat forms, reductions, printing.

use jit::linalg::{Complex, Mat2, Vec2, Vec3, Vec4};
use jit::prelude::*;

use crate::{message_of, on_each_device};

// rows: C162 C164 C174 C192
#[test]
fn vectors_are_interleaved_and_split_again() {
    on_each_device(|| {
        let lanes = [[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0], [10.0, 11.0, 12.0]];
        let v = Vec3::from(lanes);
        let flat = v.to_interleaved();
        assert_eq!(flat.to_vec().unwrap(), lanes.concat());
        assert_eq!(Vec3::from_interleaved(&flat).to_vec().unwrap(), lanes);
        let ragged = Vec2::new(Int::from([1, 2, 3]), 7);
        assert_eq!(ragged.to_interleaved().to_vec().unwrap(), [1, 7, 2, 7, 3, 7]);
        assert_eq!(Vec2::<i32>::from([1, 2]).to_interleaved().to_vec().unwrap(), [1, 2]);
        // A vector can be converted to another number of components through the flat form.
        let four = Vec4::from_interleaved(&flat);
        assert_eq!(four.to_vec().unwrap(), [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0]]);
        let z = Complex::from_interleaved(&flat.slice(..4));
        assert_eq!(z.to_interleaved().to_vec().unwrap(), [1.0, 2.0, 3.0, 4.0]);
        let refused = message_of(|| Vec2::from_interleaved(&Float::from([1.0; 5])));
        assert!(refused.contains("5 elements are not a whole number of vectors of 2 components"), "{refused}");
        let uneven = Vec2 { x: Float::from([1.0, 2.0]), y: Float::from([1.0, 2.0, 3.0]) };
        let refused = message_of(|| uneven.to_interleaved());
        assert!(refused.contains("component `x` has 2 elements and component `y` has 3"), "{refused}");
    });
}

// rows: C224
#[test]
fn vectors_with_ragged_components_are_reduced() {
    on_each_device(|| {
        let v = Vec2::new(Float::from([1.0, 2.0, 4.0]), 3.0);
        assert_eq!(v.sum().item().unwrap(), [7.0, 9.0]);
        assert_eq!(v.mean().item().unwrap(), [7.0 / 3.0, 3.0]);
        assert_eq!(v.product().item().unwrap(), [8.0, 27.0]);
        assert_eq!(v.reduce_max().item().unwrap(), [4.0, 3.0]);
        assert_eq!(v.gt(2.0).count().item().unwrap(), [1, 3]);
        assert_eq!(
            Vec2::new(Float::from([1.0, 2.0]).make_opaque(), Float::opaque(3.0)).sum().item().unwrap(),
            [3.0, 6.0]
        );
        assert_eq!(v.component_sum().to_vec().unwrap(), [4.0, 5.0, 7.0]);
        assert_eq!(Complex::new(Float::from([1.0, 2.0]), 3.0).sum().item().unwrap(), [3.0, 6.0]);
    });
}

// rows: C242 C244 K25
#[test]
fn components_are_read_by_name_and_number() {
    on_each_device(|| {
        let mut v = Vec3::from([[1, 2, 3], [4, 5, 6]]);
        assert_eq!(v.y.to_vec().unwrap(), [2, 5]);
        assert_eq!(v[2].to_vec().unwrap(), v.z.to_vec().unwrap());
        assert_eq!((v.get(1).unwrap(), v[1].get(0).unwrap()), ([4, 5, 6], 2));
        v[0] = Int::from([7, 8]);
        v.z += 1;
        assert_eq!(v.to_vec().unwrap(), [[7, 2, 4], [8, 5, 7]]);
        let out_of_range = message_of(|| v[3].clone());
        assert!(out_of_range.contains("the len is 3 but the index is 3"), "{out_of_range}");
        assert!(v.get(2).unwrap_err().to_string().contains('2'));
        let m = Mat2::from([[1, 2], [3, 4]]);
        assert_eq!((m[(1, 0)].item().unwrap(), m.row(0)[1].item().unwrap()), (3, 2));
    });
}

// rows: C244
#[test]
fn vectors_are_printed_by_rows() {
    on_each_device(|| {
        let v = Vec2::new(Float::from([1.0, 2.5, -3.0]), 4.0);
        assert_eq!(v.to_string(), "[[1, 4],\n [2.5, 4],\n [-3, 4]]");
        assert_eq!(Complex::new(Int::from([1, 2]).cast::<f32>(), 0.5).to_string(), "[[1, 0.5],\n [2, 0.5]]");
        let long = Vec3::splat(UInt::arange(500)).to_string();
        assert_eq!(long.lines().count(), 7);
        assert!(long.starts_with("[[0, 0, 0],") && long.contains('…') && long.ends_with("[499, 499, 499]]"), "{long}");
    });
}

// rows: C246 C247
#[test]
fn components_are_reordered() {
    on_each_device(|| {
        let v = Vec3::from([[1, 2, 3], [4, 5, 6]]);
        assert_eq!(v.zyx().to_vec().unwrap(), [[3, 2, 1], [6, 5, 4]]);
        assert_eq!(v.yy().to_vec().unwrap(), [[2, 2], [5, 5]]);
        assert_eq!(v.xy().xyx().to_vec().unwrap(), [[1, 2, 1], [4, 5, 4]]);
        assert_eq!(v.extend(9).wzyx().get(0).unwrap(), [9, 3, 2, 1]);
        // The assigned value is read first: here in both directions at once.
        let mut w = v.clone();
        w.set_xy(w.yx());
        assert_eq!(w.to_vec().unwrap(), [[2, 1, 3], [5, 4, 6]]);
        w.set_zx(w.xy() + w.zx());
        assert_eq!(w.to_vec().unwrap(), [[3, 1, 5], [9, 4, 11]]);
        w.set_yz(0);
        w.set_zxy(w.clone());
        assert_eq!(w.to_vec().unwrap(), [[0, 0, 3], [0, 0, 9]]);
        let mut all = v.extend(Int::from([7, 8]));
        all.set_wzyx(all.clone());
        assert_eq!(all.to_vec().unwrap(), [[7, 3, 2, 1], [8, 6, 5, 4]]);
    });
}
