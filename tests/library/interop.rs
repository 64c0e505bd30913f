//! Conversions from and for other crates.

#[cfg(feature = "ndarray")]
mod arrays {
    use jit::prelude::*;
    use ndarray::{Array3, ArrayD, Axis, IxDyn, array, s as part};

    use crate::devices::on_each_device;

    #[test]
    fn arrays_of_every_layout_keep_their_elements() {
        on_each_device(|| {
            let host = Array3::from_shape_fn((2, 3, 4), |(i, j, k)| (i * 100 + j * 10 + k) as i32);
            let of = |tensor: Tensor<i32>| (tensor.shape().to_vec(), tensor.to_vec().unwrap());
            assert_eq!(of(Tensor::from(&host)), (vec![2, 3, 4], host.iter().copied().collect()));
            let turned = host.view().permuted_axes([2, 0, 1]);
            assert_eq!(of(Tensor::from(&turned)), (vec![4, 2, 3], turned.iter().copied().collect()));
            let some = host.slice(part![.., 1, ..;-2]);
            assert_eq!(of(Tensor::from(some)), (vec![2, 2], vec![13, 11, 113, 111]));
            assert_eq!(of(Tensor::from(array![[true, false]].map(|&x| i32::from(x)))), (vec![1, 2], vec![1, 0]));
            assert_eq!(of(Tensor::from(ndarray::arr0(7))), (vec![], vec![7]));
            assert_eq!(of(Tensor::from(ArrayD::<i32>::zeros(IxDyn(&[0, 3])))), (vec![0, 3], vec![]));
        });
    }

    #[test]
    fn results_are_arrays_of_the_same_shape() {
        on_each_device(|| {
            let host = Array3::from_shape_fn((2, 3, 4), |(i, j, k)| (i * 100 + j * 10 + k) as f32);
            let sums = (Tensor::from(&host) * 2.0).sum(1).to_ndarray().unwrap();
            assert_eq!(sums, (host * 2.0).sum_axis(Axis(1)).into_dyn());
            assert_eq!(Tensor::from([[true, false]]).to_ndarray().unwrap(), array![[true, false]].into_dyn());
            assert_eq!(Tensor::<u8>::zeros([2, 0]).to_ndarray().unwrap().shape(), [2, 0]);
            assert_eq!(Tensor::from(half::f16::ONE).to_ndarray().unwrap().ndim(), 0);
        });
    }
}

#[cfg(feature = "image")]
mod pictures {
    use image::{DynamicImage, GrayImage, ImageBuffer, Luma, LumaA, Rgb, Rgba};
    use jit::prelude::*;
    use jit::texture::{Filter, Texture2};

    use crate::devices::on_each_device;

    #[test]
    fn pictures_are_tensors_of_rows_columns_and_channels() {
        on_each_device(|| {
            let picture = ImageBuffer::from_fn(3, 2, |x, y| Rgb([x as u8, y as u8, 9]));
            let tensor = Tensor::from(&picture);
            assert_eq!((tensor.shape(), tensor.slice(s![1, 2]).to_vec().unwrap()), (&[2, 3, 3][..], vec![2, 1, 9]));
            assert_eq!(tensor.to_image::<Rgb<u8>>().unwrap(), picture);
            let gray = ImageBuffer::<Luma<u16>, _>::from_raw(2, 1, vec![5u16, 6, 7]).unwrap();
            assert_eq!(Tensor::from(&gray).to_vec().unwrap(), [5, 6]);
        });
    }

    #[test]
    fn pictures_of_any_kind_are_fractions() {
        on_each_device(|| {
            let gray = DynamicImage::from(GrayImage::from_raw(2, 1, vec![51, 255]).unwrap());
            let tensor = Tensor::from(&gray);
            assert_eq!((tensor.shape(), tensor.to_vec().unwrap()), (&[1, 2, 1][..], vec![0.2, 1.0]));
            let wide = DynamicImage::from(ImageBuffer::from_pixel(1, 1, LumaA([65_535u16, 13_107])));
            assert_eq!(Tensor::from(&wide).to_vec().unwrap(), [1.0, 0.2]);
            let float = DynamicImage::from(ImageBuffer::from_pixel(1, 1, Rgba([2.5f32, 0.0, -1.0, 1.0])));
            assert_eq!(Tensor::from(&float).to_vec().unwrap(), [2.5, 0.0, -1.0, 1.0]);
        });
    }

    #[test]
    fn one_channel_needs_no_axis() {
        let tensor = Tensor::from([[1u8, 2, 3], [4, 5, 6]]);
        let picture = tensor.to_image::<Luma<u8>>().unwrap();
        assert_eq!((picture.dimensions(), picture.get_pixel(2, 1).0), ((3, 2), [6]));
        assert_eq!(tensor.expand_dims(-1).to_image::<Luma<u8>>().unwrap(), picture);
    }

    #[test]
    fn tensors_that_are_not_images_are_refused() {
        let (line, error) = (line!(), Tensor::<u8>::zeros([3, 4, 5]).to_image::<Rgb<u8>>().unwrap_err().to_string());
        for part in ["[3, 4, 5]", "3 channels", &format!("interop.rs:{line}")] {
            assert!(error.contains(part), "`{part}` is not in: {error}");
        }
        assert!(Tensor::<u8>::zeros([3, 4]).to_image::<Rgb<u8>>().is_err());
    }

    #[test]
    fn pictures_are_textures() {
        on_each_device(|| {
            let picture = ImageBuffer::from_fn(2, 1, |x, _| Rgb([x as u8 * 255, 51, 0]));
            let texture = Texture2::new(Tensor::from(&picture)).with_filter(Filter::Linear);
            let values = texture.eval(&[Float::from([0.25, 0.5, 0.75]), Float::from(0.5)]);
            assert_eq!(values[0].to_vec().unwrap(), [0.0, 0.5, 1.0]);
            assert_eq!(values[1].to_vec().unwrap(), [0.2; 3]);
        });
    }
}
