//! A picture of how losses fall.

use image::{Rgb, RgbImage};

const WHITE: Rgb<u8> = Rgb([255; 3]);
const GREY: Rgb<u8> = Rgb([220; 3]);
const BLUE: Rgb<u8> = Rgb([30, 90, 200]);

/// Draws losses on a logarithmic scale, with a line at each power of ten; nothing if there are none.
#[allow(dead_code, reason = "not every example trains")]
pub(crate) fn draw(losses: &[f32]) -> RgbImage {
    let (width, height) = (640, 360);
    let mut picture = RgbImage::from_pixel(width, height, WHITE);
    if losses.is_empty() {
        return picture;
    }
    let logs: Vec<f32> = losses.iter().map(|loss| loss.max(1e-6).log10()).collect();
    let low = logs.iter().copied().fold(f32::MAX, f32::min).floor();
    let high = logs.iter().copied().fold(f32::MIN, f32::max).ceil().max(low + 1.0);
    let row = |log: f32| ((high - log) / (high - low) * (height - 1) as f32) as u32;
    for power in low as i32..=high as i32 {
        (0..width).for_each(|x| picture.put_pixel(x, row(power as f32), GREY));
    }
    let value = |x: u32| {
        let at = x as f32 / (width - 1) as f32 * (logs.len() - 1) as f32;
        let first = at as usize;
        let second = (first + 1).min(logs.len() - 1);
        logs[first] + (logs[second] - logs[first]) * at.fract()
    };
    let mut before = row(value(0));
    for x in 0..width {
        let y = row(value(x));
        (y.min(before)..=y.max(before)).for_each(|y| picture.put_pixel(x, y, BLUE));
        before = y;
    }
    picture
}
