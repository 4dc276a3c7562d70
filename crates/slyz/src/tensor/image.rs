//! Tensors of bytes from and to images: rows, columns and channels, or rows and columns of a gray one.

use super::{Tensor, TensorShape};
use crate::error::{Error, FileError};
use image::{DynamicImage, GrayAlphaImage, GrayImage, ImageError, RgbImage, RgbaImage};
use std::path::Path;

const WHAT: &str = "an image";

impl<S: TensorShape> Tensor<u8, S> {
    /// The image of a file (feature `image`): PNG or JPEG. It is converted to as many channels as the shape has: 1 is gray, 3 are red, green and
    /// blue, and one more is opacity. Where the shape leaves that open, the file says; a shape of two axes is gray.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(H, W, Channel);
    /// # let path = std::env::temp_dir().join(format!("slyz-image-{}.png", std::process::id()));
    /// let red = Tensor::<u8, (H, W, Channel)>::from_vec([1, 2, 3], vec![255, 0, 0, 200, 0, 0])?;
    /// red.write_image(&path)?;
    /// assert_eq!(Tensor::<u8, (H, W, Channel)>::read_image(&path)?, red);
    /// let gray = Tensor::<u8, (H, W)>::read_image(&path)?;
    /// assert_eq!(gray.dims(), [1, 2]);
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn read_image(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let file = || path.display().to_string();
        let system = |error: std::io::Error| FileError::System { file: file(), why: error.to_string() };
        let reader = image::ImageReader::open(path).map_err(system)?.with_guessed_format().map_err(system)?;
        let decoded = reader.decode().map_err(|error| match error {
            ImageError::IoError(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => system(error),
            other => FileError::Damaged { file: file(), what: WHAT, why: other.to_string() },
        });
        Tensor::try_from(decoded?)
    }
}

impl<S> Tensor<u8, S> {
    /// Writes an image of two axes, or of three with one to four channels (feature `image`); the name of the file says of which kind it is. JPEG has no opacity.
    pub fn write_image(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let unwritable = |why: String| FileError::Unwritable { file: path.display().to_string(), what: WHAT, why };
        Ok(self.to_image()?.save(path).map_err(|error| unwritable(format!("{error}; name it .png or .jpg")))?)
    }

    /// The same as an image of the crate `image`.
    pub fn to_image(&self) -> Result<DynamicImage, Error> {
        let refuse = |why: String| Error::from(FileError::Unwritable { file: String::new(), what: WHAT, why });
        let shape =
            || refuse(format!("its dimensions are {:?}; images have rows, columns and 1 to 4 channels", self.dims));
        let (height, width, channels) = match self.dims[..] {
            [height, width] => (height, width, 1),
            [height, width, channels] => (height, width, channels),
            _ => return Err(shape()),
        };
        let (Ok(width), Ok(height)) = (u32::try_from(width), u32::try_from(height)) else { return Err(shape()) };
        let data = self.to_vec()?;
        let made = match channels {
            1 => GrayImage::from_raw(width, height, data).map(DynamicImage::ImageLuma8),
            2 => GrayAlphaImage::from_raw(width, height, data).map(DynamicImage::ImageLumaA8),
            3 => RgbImage::from_raw(width, height, data).map(DynamicImage::ImageRgb8),
            4 => RgbaImage::from_raw(width, height, data).map(DynamicImage::ImageRgba8),
            _ => None,
        };
        made.ok_or_else(shape)
    }
}

impl<S: TensorShape> TryFrom<DynamicImage> for Tensor<u8, S> {
    type Error = Error;

    /// As [`Tensor::read_image`] does with what it has read.
    fn try_from(image: DynamicImage) -> Result<Self, Error> {
        let (height, width) = (image.height() as usize, image.width() as usize);
        if S::check(&[height, width]).is_ok() && S::check(&[height, width, 3]).is_err() {
            return Tensor::of(vec![height, width], image.into_luma8().into_raw());
        }
        let own = usize::from(image.color().channel_count());
        let channels = [own, 3, 4, 1, 2].into_iter().find(|&channels| S::check(&[height, width, channels]).is_ok());
        // Where none fits, its own are what is told.
        let channels = channels.unwrap_or(own);
        let data = match channels {
            1 => image.into_luma8().into_raw(),
            2 => image.into_luma_alpha8().into_raw(),
            3 => image.into_rgb8().into_raw(),
            _ => image.into_rgba8().into_raw(),
        };
        Tensor::of(vec![height, width, channels], data)
    }
}
