//! From stars to pictures: light is added up pixel by pixel, then developed like a photograph.

use image::RgbImage;
use jit::prelude::*;

use crate::galaxy::Encounter;

/// Half of the visible width, in units of length.
const HALF_WIDTH: f32 = 4.0;
/// The elevation of the camera from looking straight down on the orbits, in radians.
const ELEVATION: f32 = 0.5;
/// Red, green and blue of each population: old yellow stars inside, young blue ones outside; the second galaxy is
/// rosier.
const COLOURS: [[f32; 3]; Encounter::POPULATIONS as usize] =
    [[1.0, 0.74, 0.45], [0.42, 0.62, 1.0], [1.0, 0.68, 0.5], [1.0, 0.42, 0.55]];

/// Returns the light of all stars: an image for each population, one after another.
#[jit]
pub(crate) fn expose(encounter: &Encounter, (width, height): (u32, u32)) -> Float {
    let mut light = Float::zeros((width * height * Encounter::POPULATIONS) as usize);
    let position = &encounter.stars.position;
    let scale = width as f32 / (2.0 * HALF_WIDTH);
    let across = position.x * scale + (0.5 * width as f32 - 0.5);
    let up = position.y * ELEVATION.cos() - position.z * ELEVATION.sin();
    let down = (0.5 * height as f32 - 0.5) - up * scale;
    // A star lights the four pixels around it, the nearer ones more, so that it moves smoothly.
    let (left, top) = (across.floor(), down.floor());
    for (right, below) in [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)] {
        let (x, y) = (left + right, top + below);
        if x >= 0.0 && x < width as f32 && y >= 0.0 && y < height as f32 {
            let share = (1.0 - (across - x).abs()) * (1.0 - (down - y).abs());
            let row = encounter.population * height + y.cast::<u32>();
            light.scatter_add(share, &(row * width + x.cast::<u32>()));
        }
    }
    light
}

/// Converts light to colours. Bright and faint parts keep their hue, because all channels are scaled by the same factor
/// (R. Lupton and others, “Preparing Red-Green-Blue Images from CCD Data”, 2004).
#[jit]
fn tone(light: &Float, pixels: u32, exposure: &Float) -> (UInt8, UInt8, UInt8) {
    let pixel = UInt::arange(pixels as usize);
    let mut colour = [0; 3].map(|_| Float::zeros(pixels as usize));
    for (population, share) in (0..).zip(COLOURS) {
        let amount = light.gather(&(pixel + population * pixels)) * exposure;
        for (channel, share) in colour.iter_mut().zip(share) {
            *channel = &*channel + &amount * share;
        }
    }
    let [red, green, blue] = &colour;
    let intensity = (red + green + blue) / 3.0;
    let factor = (8.0 * intensity).asinh() / (intensity.max(1e-6) * 5.5);
    let developed = |channel: &Float, sky: f32| ((channel * &factor + sky).clamp(0.0, 1.0) * 255.0 + 0.5).cast::<u8>();
    (developed(red, 0.012), developed(green, 0.014), developed(blue, 0.03))
}

/// Returns the picture of a frame. The exposure is that of a million stars, whatever their number.
pub(crate) fn develop(light: &Float, (width, height): (u32, u32), stars: usize) -> Result<RgbImage, jit::Error> {
    let pixels = width * height;
    let exposure = Float::opaque(0.6 * pixels as f32 / stars as f32);
    let (red, green, blue) = tone(light, pixels, &exposure);
    jit::eval(&(&red, &green, &blue))?;
    let (red, green, blue) = (red.to_vec()?, green.to_vec()?, blue.to_vec()?);
    Ok(RgbImage::from_fn(width, height, |x, y| {
        let pixel = (y * width + x) as usize;
        image::Rgb([red[pixel], green[pixel], blue[pixel]])
    }))
}
