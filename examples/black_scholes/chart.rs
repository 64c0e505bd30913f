//! The chart around the heat maps, drawn by the host: axes, labels, and the legend of the colours.

use std::ops::Range;

use image::{Rgb, RgbImage, imageops};

use crate::VOLATILITIES;
use crate::heat_map::INFERNO;

/// The price of the last colour, and the distance of contour lines, as fractions of the spot price.
pub(crate) const HIGHEST: f32 = 0.6;
pub(crate) const CONTOURS: f32 = 0.05;

const PAPER: Rgb<u8> = Rgb([16, 14, 24]);
const INK: Rgb<u8> = Rgb([205, 200, 215]);
const MARGIN: u32 = 64;
const GAP: u32 = 56;
/// Width of the colour bar.
const BAR: u32 = 20;
/// Letters are drawn twice as large as they are defined.
const SCALE: u32 = 2;
/// The distance from letter to letter.
const ADVANCE: u32 = 6 * SCALE;
const HEIGHT: u32 = 7 * SCALE;

/// Draws both maps side by side, with their axes and the colour bar.
pub(crate) fn draw(maps: &[RgbImage; 2], spot: f32, strikes: Range<f32>) -> RgbImage {
    let size = maps[0].width();
    let width = MARGIN + 2 * size + GAP + 2 * MARGIN + BAR;
    let mut chart = RgbImage::from_pixel(width, size + 2 * MARGIN, PAPER);
    for (i, (map, title)) in maps.iter().zip(["call", "put"]).enumerate() {
        let left = MARGIN + i as u32 * (size + GAP);
        imageops::replace(&mut chart, map, i64::from(left), i64::from(MARGIN));
        write(&mut chart, title, left + size / 2, MARGIN - HEIGHT - 12);
        write(&mut chart, "strike", left + size / 2, MARGIN + size + HEIGHT + 26);
        for tick in 0..=4 {
            let (along, strike) =
                (tick * (size - 1) / 4, strikes.start + tick as f32 / 4.0 * (strikes.end - strikes.start));
            line(&mut chart, (left + along, MARGIN + size), (1, 6));
            write(&mut chart, &label(strike), left + along, MARGIN + size + 12);
        }
    }
    for percent in [10, 20, 30, 40, 50, 60, 70, 80] {
        let fraction = (VOLATILITIES.1 - percent as f32 / 100.0) / (VOLATILITIES.1 - VOLATILITIES.0);
        let down = MARGIN + (fraction * (size - 1) as f32) as u32;
        line(&mut chart, (MARGIN - 6, down), (6, 1));
        write(&mut chart, &format!("{percent}%"), MARGIN - 30, down.saturating_sub(HEIGHT / 2));
    }
    write(&mut chart, "volatility", 66, 14);
    bar(&mut chart, MARGIN + 2 * size + 2 * GAP, size, spot);
    chart
}

/// Draws the colour bar, with a tick for every second contour line.
fn bar(chart: &mut RgbImage, left: u32, size: u32, spot: f32) {
    for down in 0..size {
        let place = (1.0 - down as f32 / (size - 1) as f32) * (INFERNO.len() - 1) as f32;
        let below = (place as usize).min(INFERNO.len() - 2);
        let fraction = place - below as f32;
        let channel = |i: usize| (INFERNO[below][i] * (1.0 - fraction) + INFERNO[below + 1][i] * fraction + 0.5) as u8;
        let colour = Rgb([channel(0), channel(1), channel(2)]);
        (0..BAR).for_each(|across| chart.put_pixel(left + across, MARGIN + down, colour));
    }
    let count = (HIGHEST / CONTOURS / 2.0).round() as u32;
    for tick in 0..=count {
        let down = MARGIN + (size - 1) - tick * (size - 1) / count;
        line(chart, (left + BAR, down), (6, 1));
        write(chart, &label(spot * CONTOURS * 2.0 * tick as f32), left + BAR + 32, down.saturating_sub(HEIGHT / 2));
    }
    write(chart, "price", left + BAR / 2, MARGIN - HEIGHT - 12);
}

/// Formats a number as short as its size allows.
fn label(number: f32) -> String {
    if number == 0.0 || number >= 10.0 { format!("{number:.0}") } else { format!("{number:.1}") }
}

/// A filled rectangle.
fn line(chart: &mut RgbImage, (left, top): (u32, u32), (width, height): (u32, u32)) {
    (0..width).for_each(|x| (0..height).for_each(|y| chart.put_pixel(left + x, top + y, INK)));
}

/// Writes text centred at a horizontal position, below a vertical position.
fn write(chart: &mut RgbImage, text: &str, middle: u32, top: u32) {
    let left = middle.saturating_sub((text.len() as u32 * ADVANCE - SCALE) / 2);
    for (i, letter) in text.chars().enumerate() {
        let rows = GLYPHS.iter().find(|(glyph, _)| *glyph == letter).map_or([0; 7], |(_, rows)| *rows);
        for (y, x) in (0..7).flat_map(|y| (0..5).map(move |x| (y, x))) {
            if rows[y as usize] >> (4 - x) & 1 == 1 {
                line(chart, (left + i as u32 * ADVANCE + x * SCALE, top + y * SCALE), (SCALE, SCALE));
            }
        }
    }
}

/// The letters that the labels need: seven rows of five pixels.
const GLYPHS: [(char, [u8; 7]); 26] = [
    ('0', [0b01110, 0b10001, 0b10011, 0b10101, 0b11001, 0b10001, 0b01110]),
    ('1', [0b00100, 0b01100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110]),
    ('2', [0b01110, 0b10001, 0b00001, 0b00110, 0b01000, 0b10000, 0b11111]),
    ('3', [0b01110, 0b10001, 0b00001, 0b00110, 0b00001, 0b10001, 0b01110]),
    ('4', [0b00010, 0b00110, 0b01010, 0b10010, 0b11111, 0b00010, 0b00010]),
    ('5', [0b11111, 0b10000, 0b11110, 0b00001, 0b00001, 0b10001, 0b01110]),
    ('6', [0b00110, 0b01000, 0b10000, 0b11110, 0b10001, 0b10001, 0b01110]),
    ('7', [0b11111, 0b00001, 0b00010, 0b00100, 0b01000, 0b01000, 0b01000]),
    ('8', [0b01110, 0b10001, 0b10001, 0b01110, 0b10001, 0b10001, 0b01110]),
    ('9', [0b01110, 0b10001, 0b10001, 0b01111, 0b00001, 0b00010, 0b01100]),
    ('.', [0b00000, 0b00000, 0b00000, 0b00000, 0b00000, 0b01100, 0b01100]),
    ('%', [0b11001, 0b11001, 0b00010, 0b00100, 0b01000, 0b10011, 0b10011]),
    ('a', [0b00000, 0b00000, 0b01110, 0b00001, 0b01111, 0b10001, 0b01111]),
    ('c', [0b00000, 0b00000, 0b01110, 0b10000, 0b10000, 0b10001, 0b01110]),
    ('e', [0b00000, 0b00000, 0b01110, 0b10001, 0b11111, 0b10000, 0b01110]),
    ('i', [0b00100, 0b00000, 0b01100, 0b00100, 0b00100, 0b00100, 0b01110]),
    ('k', [0b10000, 0b10000, 0b10010, 0b10100, 0b11000, 0b10100, 0b10010]),
    ('l', [0b01100, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110]),
    ('o', [0b00000, 0b00000, 0b01110, 0b10001, 0b10001, 0b10001, 0b01110]),
    ('p', [0b00000, 0b00000, 0b11110, 0b10001, 0b11110, 0b10000, 0b10000]),
    ('r', [0b00000, 0b00000, 0b10110, 0b11001, 0b10000, 0b10000, 0b10000]),
    ('s', [0b00000, 0b00000, 0b01110, 0b10000, 0b01110, 0b00001, 0b11110]),
    ('t', [0b01000, 0b01000, 0b11100, 0b01000, 0b01000, 0b01001, 0b00110]),
    ('u', [0b00000, 0b00000, 0b10001, 0b10001, 0b10001, 0b10011, 0b01101]),
    ('v', [0b00000, 0b00000, 0b10001, 0b10001, 0b10001, 0b01010, 0b00100]),
    ('y', [0b00000, 0b00000, 0b10001, 0b10001, 0b01111, 0b00001, 0b01110]),
];
