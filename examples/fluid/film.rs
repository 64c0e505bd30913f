//! A sequence of pictures in one file: an animated PNG (W3C, “Portable Network Graphics Specification (Third Edition)”,
//! 2025).

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use image::RgbImage;
use png::{BitDepth, ColorType, Compression, Encoder, Filter, Writer};

/// A film that is being written.
pub(crate) struct Film {
    writer: Writer<BufWriter<File>>,
    path: PathBuf,
}

/// Pictures per second.
const RATE: u16 = 25;

impl Film {
    /// Creates a file for a number of square pictures.
    pub(crate) fn create(path: &Path, size: u32, pictures: u32) -> Result<Film, String> {
        let file = File::create(path).map_err(|error| format!("cannot make {}: {error}", path.display()))?;
        let mut encoder = Encoder::new(BufWriter::new(file), size, size);
        encoder.set_color(ColorType::Rgb);
        encoder.set_depth(BitDepth::Eight);
        encoder.set_compression(Compression::High);
        encoder.set_filter(Filter::Paeth);
        let begin = |mut encoder: Encoder<'static, BufWriter<File>>| {
            encoder.set_animated(pictures, 0)?;
            encoder.set_frame_delay(1, RATE)?;
            encoder.write_header()
        };
        let writer = begin(encoder).map_err(|error| cannot_write(path, &error))?;
        Ok(Film { writer, path: path.to_owned() })
    }

    /// Appends a picture of red, green and blue bytes.
    pub(crate) fn add(&mut self, picture: &[u8]) -> Result<(), String> {
        self.writer.write_image_data(picture).map_err(|error| cannot_write(&self.path, &error))
    }

    /// Ends the file and prints its path.
    #[allow(clippy::print_stdout, reason = "the user is told the path of the film")]
    pub(crate) fn finish(self) -> Result<(), String> {
        self.writer.finish().map_err(|error| cannot_write(&self.path, &error))?;
        println!("wrote {}", self.path.display());
        Ok(())
    }
}

fn cannot_write(path: &Path, error: &png::EncodingError) -> String {
    format!("cannot write {}: {error}", path.display())
}

/// Returns a single picture.
pub(crate) fn image(picture: &[u8], size: u32) -> Result<RgbImage, String> {
    RgbImage::from_raw(size, size, picture.to_vec()).ok_or_else(|| "the picture is not square".to_owned())
}
