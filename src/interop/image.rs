//! Conversions between tensors and the pictures of `image`: `[row, column, channel]`.

use std::ops::Deref;

use image::{DynamicImage, ImageBuffer, Pixel};

use crate::Site;
use crate::tensor::Tensor;
use crate::{Array, Element, Error, ErrorKind};

impl<P, C> From<&ImageBuffer<P, C>> for Tensor<P::Subpixel>
where
    P: Pixel<Subpixel: Element>,
    C: Deref<Target = [P::Subpixel]>,
{
    /// Copies the channels, in the shape `[row, column, channel]`.
    #[track_caller]
    fn from(picture: &ImageBuffer<P, C>) -> Self {
        let shape = [picture.height() as usize, picture.width() as usize, usize::from(P::CHANNEL_COUNT)];
        // A buffer may be longer than its picture.
        let channels = &picture.as_raw()[..shape.iter().product()];
        Tensor::from_array(Array::from(channels), shape)
    }
}

impl From<&DynamicImage> for Tensor<f32> {
    /// Returns the channels of the picture, as numbers from 0 to 1, in the shape `[row, column, channel]`.
    #[track_caller]
    fn from(picture: &DynamicImage) -> Self {
        match picture {
            DynamicImage::ImageLuma8(picture) => fractions::<u8>(picture.into()),
            DynamicImage::ImageLumaA8(picture) => fractions::<u8>(picture.into()),
            DynamicImage::ImageRgb8(picture) => fractions::<u8>(picture.into()),
            DynamicImage::ImageRgba8(picture) => fractions::<u8>(picture.into()),
            DynamicImage::ImageLuma16(picture) => fractions::<u16>(picture.into()),
            DynamicImage::ImageLumaA16(picture) => fractions::<u16>(picture.into()),
            DynamicImage::ImageRgb16(picture) => fractions::<u16>(picture.into()),
            DynamicImage::ImageRgba16(picture) => fractions::<u16>(picture.into()),
            DynamicImage::ImageRgb32F(picture) => picture.into(),
            DynamicImage::ImageRgba32F(picture) => picture.into(),
            // Kinds that later versions may add.
            other => (&other.to_rgba32f()).into(),
        }
    }
}

/// Converts channels to fractions of the largest number of their type.
#[track_caller]
fn fractions<T: crate::texture::Texel>(channels: Tensor<T>) -> Tensor<f32> {
    channels.cast::<f32>() / T::WHOLE as f32
}

impl<T: Element> Tensor<T> {
    /// Returns the tensor as a picture with pixels of some type. The shape is `[row, column, channel]`, or `[row,
    /// column]` for a single channel. Evaluates the tensor and waits for it. Needs the feature `image`.
    ///
    /// ```
    /// use image::Rgb;
    /// use jit::prelude::*;
    ///
    /// let ramp = Tensor::<f32>::from_fn([2, 256, 3], |at| at[1].cast::<f32>() / 255.0);
    /// let picture = (ramp * 255.0).round().cast::<u8>().to_image::<Rgb<u8>>()?;
    /// assert_eq!((picture.dimensions(), *picture.get_pixel(7, 1)), ((256, 2), Rgb([7, 7, 7])));
    /// assert_eq!(Tensor::from(&picture).shape(), [2, 256, 3]);
    /// # Ok::<(), jit::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the shape does not match such a picture, and as [`Array::to_vec`](crate::Array::to_vec).
    #[track_caller]
    pub fn to_image<P: Pixel<Subpixel = T>>(&self) -> crate::Result<ImageBuffer<P, Vec<T>>> {
        let site = Site::here();
        let count = usize::from(P::CHANNEL_COUNT);
        let size = match *self.shape() {
            [rows, columns] if count == 1 => Some((rows, columns)),
            [rows, columns, channels] if channels == count => Some((rows, columns)),
            _ => None,
        };
        let size = size.and_then(|(rows, columns)| Some((u32::try_from(columns).ok()?, u32::try_from(rows).ok()?)));
        let refused = || {
            let what = format!("a tensor of shape {:?} is not an image with pixels of {count} channels", self.shape());
            let hint = "the axes are rows, columns and channels; `move_axis` and `slice` bring them into this order";
            Error::new(ErrorKind::InvalidArgument, what).at(site).with_hint(hint)
        };
        let (columns, rows) = size.ok_or_else(refused)?;
        ImageBuffer::from_raw(columns, rows, self.to_vec()?).ok_or_else(refused)
    }
}
