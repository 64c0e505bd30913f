//! The digits that were taken for others.

use image::{Rgb, RgbImage, imageops};

use crate::data::Sample;

const WHITE: Rgb<u8> = Rgb([255; 3]);
const GREY: Rgb<u8> = Rgb([220; 3]);
const BLUE: Rgb<u8> = Rgb([30, 90, 200]);
/// The length of an enlarged pixel, and that of a digit with the space around it.
const SCALE: u32 = 8;
const CELL: u32 = 8 * SCALE + 8;
/// The digits in a row.
const COLUMNS: u32 = 8;

/// Draws each digit that was not recognised; the bars below it count what it is, in blue, and what it was taken for, in
/// grey.
pub(crate) fn mistakes(mistakes: &[(&Sample, u32)]) -> RgbImage {
    let rows = (mistakes.len() as u32).div_ceil(COLUMNS).max(1);
    let mut picture = RgbImage::from_pixel(COLUMNS * CELL, rows * (CELL + 8), WHITE);
    for (number, (sample, answer)) in mistakes.iter().enumerate() {
        let (x, y) = (number as u32 % COLUMNS * CELL + 4, number as u32 / COLUMNS * (CELL + 8) + 4);
        let digit = RgbImage::from_fn(8, 8, |column, row| {
            let ink = sample.pixels[(row * 8 + column) as usize];
            Rgb([(255.0 * (1.0 - ink)) as u8; 3])
        });
        let digit = imageops::resize(&digit, 8 * SCALE, 8 * SCALE, imageops::FilterType::Nearest);
        imageops::replace(&mut picture, &digit, i64::from(x), i64::from(y));
        for (line, (count, colour)) in [(sample.digit, BLUE), (*answer, GREY)].into_iter().enumerate() {
            let top = y + 8 * SCALE + 2 + 4 * line as u32;
            for dot in 0..count {
                (0..9).for_each(|at| picture.put_pixel(x + dot * 6 + at % 3, top + at / 3, colour));
            }
        }
    }
    picture
}
