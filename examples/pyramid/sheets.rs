//! Conversions between pictures and tensors, and sheets of several pictures.

use image::{Rgb, RgbImage, imageops};
use jit::prelude::*;

use crate::laplacian::{Image, Pyramid};

const PAPER: Rgb<u8> = Rgb([28, 26, 30]);
const GAP: u32 = 8;

/// Converts a picture to a tensor of rows, columns and channels.
pub(crate) fn to_image(picture: &RgbImage) -> Image {
    let bytes = UInt8::from(picture.as_raw().as_slice());
    let shape = [picture.height() as usize, picture.width() as usize, 3];
    Tensor::from_array(bytes.cast::<f32>() / 255.0, shape)
}

/// Converts a tensor to a picture; values darker than black or brighter than white are clipped.
pub(crate) fn to_picture(image: &Image) -> Result<RgbImage, jit::Error> {
    let bytes = (image.clamp(0.0, 1.0) * 255.0 + 0.5).cast::<u8>().to_vec()?;
    let (rows, columns) = (image.shape()[0] as u32, image.shape()[1] as u32);
    Ok(RgbImage::from_raw(columns, rows, bytes).expect("three bytes a pixel"))
}

/// Joins pictures side by side.
pub(crate) fn row(images: &[Image]) -> Result<RgbImage, jit::Error> {
    let pictures = images.iter().map(to_picture).collect::<Result<Vec<_>, _>>()?;
    let width = pictures.iter().map(|picture| picture.width() + GAP).sum::<u32>() - GAP;
    let height = pictures.iter().map(RgbImage::height).max().unwrap_or(1);
    let mut sheet = RgbImage::from_pixel(width, height, PAPER);
    let mut left = 0;
    for picture in &pictures {
        imageops::replace(&mut sheet, picture, i64::from(left), 0);
        left += picture.width() + GAP;
    }
    Ok(sheet)
}

/// Shows the pyramid: at the top, the picture at each size; at the bottom, the details that each size adds to the next
/// smaller one.
pub(crate) fn levels(photo: &Image, pyramid: &Pyramid) -> Result<RgbImage, jit::Error> {
    let mut sizes = vec![pyramid.rest.clone()];
    for count in 1..=pyramid.details.len() {
        let details = pyramid.details[pyramid.details.len() - count..].to_vec();
        sizes.push(Pyramid { details, rest: pyramid.rest.clone() }.flattened()?);
    }
    sizes.reverse();
    sizes[0] = photo.clone();
    // Grey means no change; small differences are amplified.
    let details = pyramid.details.iter().map(|details| details * 4.0 + 0.5);
    let (above, below) = (row(&sizes)?, row(&details.chain([pyramid.rest.clone()]).collect::<Vec<_>>())?);
    let mut sheet = RgbImage::from_pixel(above.width(), above.height() + GAP + below.height(), PAPER);
    imageops::replace(&mut sheet, &above, 0, 0);
    imageops::replace(&mut sheet, &below, 0, i64::from(above.height() + GAP));
    Ok(sheet)
}
