//! Conversions of colours.
//!
//! Linear colours are amounts of light in the primaries of sRGB (IEC 61966-2-1), with 1 for white. Functions of one
//! channel take arrays, or vectors through `map`:
//!
//! ```
//! use jit::color::{linear_to_srgb, luminance};
//! use jit::linalg::Vec3;
//!
//! let light = Vec3::from([[0.0f32, 0.5, 1.0], [0.25, 0.25, 0.25]]);
//! let pixels = (light.map(linear_to_srgb) * 255.0).cast::<f64>().round();
//! assert_eq!(pixels.to_vec()?, [[0.0, 188.0, 255.0], [137.0, 137.0, 137.0]]);
//! assert_eq!((luminance(&light) * 100.0).round().to_vec()?, [43.0, 25.0]);
//! # Ok::<(), jit::Error>(())
//! ```

use crate::linalg::{Mat3, Vec3};
use crate::{Array, FloatElement};

/// Encodes light as an sRGB value: linear below 0.0031308, also for negative values, and a power function above.
#[must_use]
#[track_caller]
pub fn linear_to_srgb<T: FloatElement>(light: &Array<T>) -> Array<T> {
    let edge = T::from_f64(0.003_130_8);
    // The power is not computed where it is unused: it has no finite slope at zero.
    let power = light.max(edge).powf(T::from_f64(1.0 / 2.4));
    let curve = power.mul_add(T::from_f64(1.055), T::from_f64(-0.055));
    light.le(edge).select(light * T::from_f64(12.92), curve)
}

/// Decodes an sRGB value to light.
#[must_use]
#[track_caller]
pub fn srgb_to_linear<T: FloatElement>(value: &Array<T>) -> Array<T> {
    let edge = T::from_f64(0.040_45);
    let base = value.max(edge).mul_add(T::from_f64(1.0 / 1.055), T::from_f64(0.055 / 1.055));
    value.le(edge).select(value / T::from_f64(12.92), base.powf(T::from_f64(2.4)))
}

/// Returns the luminance of a linear colour, with 1 for white (ITU-R BT.709-6, §3.2).
#[must_use]
#[track_caller]
pub fn luminance<T: FloatElement>(color: &Vec3<T>) -> Array<T> {
    color.dot(Vec3::from([0.2126, 0.7152, 0.0722].map(T::from_f64)))
}

/// Returns a constant matrix.
#[track_caller]
fn matrix<T: FloatElement>(rows: [[f64; 3]; 3]) -> Mat3<T> {
    Mat3::from(rows.map(|row| row.map(T::from_f64)))
}

/// Converts a linear colour to CIE XYZ tristimulus values, with `y` the luminance (IEC 61966-2-1).
#[must_use]
#[track_caller]
pub fn linear_to_xyz<T: FloatElement>(color: &Vec3<T>) -> Vec3<T> {
    matrix([
        [0.412_390_799_265_959_5, 0.357_584_339_383_878, 0.180_480_788_401_834_3],
        [0.212_639_005_871_510_36, 0.715_168_678_767_756, 0.072_192_315_360_733_71],
        [0.019_330_818_715_591_85, 0.119_194_779_794_625_99, 0.950_532_152_249_660_6],
    ]) * color
}

/// Converts CIE XYZ tristimulus values to a linear colour; negative or above 1 for colours that a screen cannot show.
#[must_use]
#[track_caller]
pub fn xyz_to_linear<T: FloatElement>(xyz: &Vec3<T>) -> Vec3<T> {
    matrix([
        [3.240_969_941_904_521_3, -1.537_383_177_570_093_5, -0.498_610_760_293_003_3],
        [-0.969_243_636_280_879_8, 1.875_967_501_507_720_7, 0.041_555_057_407_175_61],
        [0.055_630_079_696_993_61, -0.203_976_958_888_976_57, 1.056_971_514_242_878_6],
    ]) * xyz
}

/// Converts a linear colour to Oklab: lightness, and two colour coordinates. Distances are roughly perceptually uniform
/// (B. Ottosson, “A perceptual color space for image processing”, 2020).
#[must_use]
#[track_caller]
pub fn linear_to_oklab<T: FloatElement>(color: &Vec3<T>) -> Vec3<T> {
    let cones = matrix::<T>([
        [0.412_221_470_8, 0.536_332_536_3, 0.051_445_992_9],
        [0.211_903_498_2, 0.680_699_545_1, 0.107_396_956_6],
        [0.088_302_461_9, 0.281_718_837_6, 0.629_978_700_5],
    ]) * color;
    matrix([
        [0.210_454_255_3, 0.793_617_785_0, -0.004_072_046_8],
        [1.977_998_495_1, -2.428_592_205_0, 0.450_593_709_9],
        [0.025_904_037_1, 0.782_771_766_2, -0.808_675_766_0],
    ]) * cones.map(Array::cbrt)
}

/// Converts an Oklab colour to a linear one.
#[must_use]
#[track_caller]
pub fn oklab_to_linear<T: FloatElement>(lab: &Vec3<T>) -> Vec3<T> {
    let roots = matrix::<T>([
        [1.0, 0.396_337_777_4, 0.215_803_757_3],
        [1.0, -0.105_561_345_8, -0.063_854_172_8],
        [1.0, -0.089_484_177_5, -1.291_485_548_0],
    ]) * lab;
    matrix([
        [4.076_741_662_1, -3.307_711_591_3, 0.230_969_929_2],
        [-1.268_438_004_6, 2.609_757_401_1, -0.341_319_396_5],
        [-0.004_196_086_3, -0.703_418_614_7, 1.707_614_701_0],
    ]) * (&roots * &roots * roots)
}
