//! The filter, written in the language: planar channels in, planar channels out.
//!
//! A channel is a `Float` with one lane per pixel, row after row, and values from 0 to 1. Widths, heights and strengths
//! are arrays of one opaque element, so one kernel serves every picture and every strength; the radius is `constexpr`
//! and part of the code.

use jit::prelude::*;

/// The red, green and blue channel.
pub(crate) type Channels = (Float, Float, Float);

/// Splits the interleaved bytes of a picture into channels.
#[jit]
pub(crate) fn unpack(bytes: &UInt8, pixels: usize) -> Channels {
    let first = 3 * UInt::arange(pixels);
    let channel = |offset: u32| bytes.gather(&(&first + offset)).cast::<f32>() / 255.0;
    (channel(0), channel(1), channel(2))
}

/// Joins the channels, rounding to the nearest byte.
#[jit]
pub(crate) fn pack(channels: &Channels, pixels: usize) -> UInt8 {
    let (red, green, blue) = channels;
    let position = UInt::arange(3 * pixels);
    let (pixel, offset) = (position / 3, position % 3);
    let value = if offset == 0 {
        red.gather(&pixel)
    } else if offset == 1 {
        green.gather(&pixel)
    } else {
        blue.gather(&pixel)
    };
    (value.clamp(0.0, 1.0) * 255.0 + 0.5).cast::<u8>()
}

/// Removes noise and keeps edges: the bilateral filter (Tomasi and Manduchi 1998).
///
/// Each pixel becomes a weighted mean of the pixels around it. The weight of a neighbour falls with its distance and
/// with the difference of its colour; `strength` is the scale of that difference. So the mean does not cross edges.
#[jit]
pub(crate) fn denoise(
    channels: &Channels,
    columns: &Int,
    rows: &Int,
    strength: &Float,
    #[constexpr] radius: i32,
) -> Channels {
    let (red, green, blue) = channels;
    let pixel = Int::arange(red.width());
    let (column, row) = (pixel % columns, pixel / columns);
    let distance_falloff = 2.0 / (radius * radius) as f32;
    let colour_falloff = 0.5 / (strength * strength);

    let (mut red_sum, mut green_sum, mut blue_sum) = (red.zeros_like(), red.zeros_like(), red.zeros_like());
    let mut weight_sum = red.zeros_like();
    let mut down = Int::from(-radius);
    while down <= radius {
        let mut right = Int::from(-radius);
        while right <= radius {
            let (x, y) = (column + right, row + down);
            if x >= 0 && x < columns && y >= 0 && y < rows {
                let neighbour = y * columns + x;
                let (r, g, b) = (red.gather(&neighbour), green.gather(&neighbour), blue.gather(&neighbour));
                let (dr, dg, db) = (r - red, g - green, b - blue);
                let far = (right * right + down * down).cast::<f32>() * distance_falloff;
                let different = (dr * dr + dg * dg + db * db) * colour_falloff;
                let weight = (-(far + different)).exp();
                red_sum += weight * r;
                green_sum += weight * g;
                blue_sum += weight * b;
                weight_sum += weight;
            }
            right += 1;
        }
        down += 1;
    }
    (red_sum / weight_sum, green_sum / weight_sum, blue_sum / weight_sum)
}

/// Sharpens edges (unsharp masking): adds the part that a blur would remove, times `amount`.
///
/// Differences below `threshold` are not amplified, so that smooth areas don't become grainy.
#[jit]
pub(crate) fn sharpen(channel: &Float, columns: &Int, rows: &Int, amount: &Float, threshold: &Float) -> Float {
    let detail = channel - blur(channel, columns, rows);
    if detail.abs() > threshold { (channel + amount * detail).clamp(0.0, 1.0) } else { channel.clone() }
}

/// Returns the weighted mean of the 3 × 3 pixels around each pixel; borders repeat the last pixel.
#[jit]
fn blur(channel: &Float, columns: &Int, rows: &Int) -> Float {
    let pixel = Int::arange(channel.width());
    let (column, row) = (pixel % columns, pixel / columns);
    let mut sum = channel.zeros_like();
    // Host loops are unrolled while tracing; the weights become literals.
    for (down, weight_down) in [(-1, 0.25), (0, 0.5), (1, 0.25)] {
        for (right, weight_right) in [(-1, 0.25), (0, 0.5), (1, 0.25)] {
            let x = (column + right).max(0).min(columns - 1);
            let y = (row + down).max(0).min(rows - 1);
            sum += channel.gather(&(y * columns + x)) * (weight_down * weight_right);
        }
    }
    sum
}
