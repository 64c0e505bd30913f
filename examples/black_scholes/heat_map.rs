//! Mapping of values to colours, with contour lines: fused into the kernel that computes the values.

use image::RgbImage;
use jit::prelude::*;

use crate::Valuation;

/// The colour map Inferno of Matplotlib (S. van der Walt and N. Smith, 2015), at equal distances from black to yellow.
pub(crate) const INFERNO: [[f32; 3]; 10] = [
    [0.0, 0.0, 4.0],
    [27.0, 12.0, 65.0],
    [74.0, 12.0, 107.0],
    [120.0, 28.0, 109.0],
    [165.0, 44.0, 96.0],
    [207.0, 68.0, 70.0],
    [237.0, 105.0, 37.0],
    [251.0, 155.0, 6.0],
    [247.0, 209.0, 61.0],
    [252.0, 255.0, 164.0],
];

/// The meaning of the colours, and the distance from pixel to pixel.
pub(crate) struct Scale {
    /// The price of the last colour.
    pub(crate) highest: Float,
    /// The distance from contour line to contour line.
    pub(crate) contour_distance: Float,
    pub(crate) strike_of_pixel: Float,
    pub(crate) volatility_of_pixel: f32,
}

/// Red, green and blue of each pixel.
pub(crate) type Colours = (UInt8, UInt8, UInt8);

/// Returns the colour of each price. Contour lines are equally wide everywhere, whatever the slope: the distance to a
/// line is that of the values, divided by the change of the value from pixel to pixel.
#[jit]
pub(crate) fn paint(valuation: &Valuation, scale: &Scale) -> Colours {
    let slope_across = valuation.by_strike * scale.strike_of_pixel;
    let slope_down = valuation.by_volatility * scale.volatility_of_pixel;
    let slope = (slope_across * slope_across + slope_down * slope_down).sqrt() + 1e-6;
    let line = (valuation.price / scale.contour_distance).round().max(1.0) * scale.contour_distance;
    let pixels_from_line = (valuation.price - line).abs() / slope;
    let ink = 0.55 * (1.3 - pixels_from_line).clamp(0.0, 1.0);

    let place = (valuation.price / scale.highest).clamp(0.0, 1.0) * (INFERNO.len() - 1) as f32;
    let below = place.cast::<u32>().min(INFERNO.len() as u32 - 2);
    let fraction = place - below.cast::<f32>();
    let channel = |i: usize| {
        let table = Float::from(INFERNO.map(|colour| colour[i]));
        let (low, high) = (table.gather(&below), table.gather(&(below + 1)));
        let colour = low + fraction * (high - low);
        (colour + ink * (255.0 - colour) + 0.5).cast::<u8>()
    };
    (channel(0), channel(1), channel(2))
}

/// Returns a square picture of computed colours.
pub(crate) fn read((red, green, blue): &Colours, size: u32) -> Result<RgbImage, jit::Error> {
    let (red, green, blue) = (red.to_vec()?, green.to_vec()?, blue.to_vec()?);
    Ok(RgbImage::from_fn(size, size, |x, y| {
        let pixel = (y * size + x) as usize;
        image::Rgb([red[pixel], green[pixel], blue[pixel]])
    }))
}
