//! Picture files.

use std::path::Path;

use image::RgbImage;

/// Creates the folder for the results if it does not exist; to be called before the work is done.
pub(crate) fn make_folder(folder: &Path) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))
}

/// Writes a picture into a folder and prints its path.
#[allow(clippy::print_stdout, reason = "the user is told the path of the pictures")]
pub(crate) fn write(picture: &RgbImage, folder: &Path, name: &str) -> Result<(), String> {
    let path = folder.join(name);
    picture.save(&path).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}
