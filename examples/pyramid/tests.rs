//! Compares the pyramid with plain Rust, on pictures of odd and smallest sizes.

use jit::prelude::*;

use crate::laplacian::{Image, Pyramid};
use crate::{blended, pasted, sharpened};

/// Creates a picture without any pattern that a level would omit.
fn synthetic(rows: usize, columns: usize) -> Image {
    let values: Vec<f32> = (0..rows * columns * 3).map(|i| ((i * i * 7 + i * 13) % 101) as f32 / 100.0).collect();
    Tensor::from_array(values, [rows, columns, 3])
}

#[track_caller]
fn assert_close(got: &Image, wanted: &[f32]) {
    let got = got.to_vec().unwrap();
    assert_eq!(got.len(), wanted.len());
    for (i, (got, wanted)) in got.iter().zip(wanted).enumerate() {
        assert!((got - wanted).abs() < 1e-5, "element {i} is {got} instead of {wanted}");
    }
}

/// Returns a position mirrored at the elements at the edges.
fn mirrored(position: isize, length: usize) -> usize {
    let period = (2 * (length as isize - 1)).max(1);
    let position = position.rem_euclid(period);
    position.min(period - position) as usize % length
}

/// Computes the next smaller level in plain Rust.
fn halved(values: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    let weights = [1.0, 4.0, 6.0, 4.0, 1.0].map(|weight: f32| weight / 16.0);
    let mut result = Vec::new();
    for (row, column) in (0..rows).step_by(2).flat_map(|row| (0..columns).step_by(2).map(move |column| (row, column))) {
        for channel in 0..3 {
            let mut sum = 0.0;
            for (down, right) in (0..5).flat_map(|down| (0..5).map(move |right| (down, right))) {
                let y = mirrored(row as isize + down as isize - 2, rows);
                let x = mirrored(column as isize + right as isize - 2, columns);
                sum += weights[down] * weights[right] * values[(y * columns + x) * 3 + channel];
            }
            result.push(sum);
        }
    }
    result
}

#[test]
fn levels_are_those_of_plain_rust() {
    for (rows, columns) in [(16, 24), (7, 9), (1, 5), (2, 1), (3, 2)] {
        let image = synthetic(rows, columns);
        let pyramid = Pyramid::new(&image, 1).unwrap();
        assert_eq!(pyramid.rest.shape(), [rows.div_ceil(2), columns.div_ceil(2), 3]);
        assert_close(&pyramid.rest, &halved(&image.to_vec().unwrap(), rows, columns));
    }
}

#[test]
fn a_pyramid_is_put_together_to_the_same_picture() {
    for (rows, columns) in [(40, 56), (13, 1), (1, 1), (5, 7)] {
        let image = synthetic(rows, columns);
        let pyramid = Pyramid::new(&image, 12).unwrap();
        assert_eq!(pyramid.rest.shape(), [1, 1, 3]);
        assert_close(&pyramid.flattened().unwrap(), &image.to_vec().unwrap());
    }
}

#[test]
fn even_pictures_have_no_details() {
    let image = Tensor::full(0.25_f32, [9, 14, 3]);
    for details in Pyramid::new(&image, 3).unwrap().details {
        assert_close(&details, &vec![0.0; details.len()]);
    }
}

#[test]
fn sharpening_by_nothing_and_blending_with_itself_change_nothing() {
    let image = synthetic(21, 30);
    let (pyramid, wanted) = (Pyramid::new(&image, 3).unwrap(), image.to_vec().unwrap());
    assert_close(&sharpened(&pyramid, &Float::opaque(0.0)).flattened().unwrap(), &wanted);
    assert_close(&blended(&pyramid, &pyramid).flattened().unwrap(), &wanted);
    assert_close(&pasted(&image, &image), &wanted);
}

#[test]
fn a_blend_is_one_picture_on_the_left_and_the_other_on_the_right() {
    let (black, white) = (Tensor::full(0.0_f32, [64, 256, 3]), Tensor::full(1.0_f32, [64, 256, 3]));
    let blend = blended(&Pyramid::new(&black, 4).unwrap(), &Pyramid::new(&white, 4).unwrap())
        .flattened()
        .unwrap()
        .to_vec()
        .unwrap();
    let row: Vec<f32> = (0..256).map(|column| blend[(32 * 256 + column) * 3]).collect();
    assert!(
        row[0].abs() < 1e-5 && (row[255] - 1.0).abs() < 1e-5 && (row[127] + row[128] - 1.0).abs() < 0.05,
        "{row:?}"
    );
    assert!(row.windows(2).all(|pair| (pair[1] - pair[0]).abs() < 0.1), "there is no seam: {row:?}");
}
