//! Picture files: written with the recipe that makes them again, read back, and decoded to start
//! from. Settings in pictures of other programs.
//!
//! Invariants: a picture file is never overwritten unless its exact name was given; no file holds a
//! path of the machine it was made on; nothing read from a file is trusted. Not here: the index of
//! all pictures, and anything of the interface.

#![forbid(unsafe_code)]

pub mod a1111;
pub mod canvas_file;
mod decode;
mod error;
mod export;
mod file_names;
mod fine;
mod folder;
mod inspect;
mod jpeg;
mod limits;
mod png;
mod png_text;
mod preprocess;
mod profile;
mod received;
mod stored_recipe;
mod strict_jpeg;
mod thumbnail;

pub use decode::{RgbaPixels, fit_image, fit_mask, image_size, read_fine_image, read_image, read_mask, read_rgba_image};
pub use error::PictureError;
pub use export::{
    CopyForm, ExportFormat, ExportLoss, ExportedBytes, ExportedPicture, export_bytes, export_picture, export_pixels, pixel_losses,
    plain_losses,
};
pub use fine::{keep_outside, keep_upscaled, own_colours, with_opacity};
pub use folder::{PICTURE_ENDINGS, is_picture_name, picture_files};
pub use inspect::{
    PictureControl, PictureHires, PictureLora, PictureModel, PictureSettings, PictureTiles, Tool, read_settings, read_stealth_settings,
    settings_of_texts,
};
pub use jpeg::{decode_jpeg, encode_jpeg};
pub use limits::MAX_SIDE;
pub use png::{Metadata, encode_picture, picture_file_names, read_metadata, save_picture, save_with_metadata, write_picture};
pub use preprocess::{depth_map, inverted, line_art, scribble, soft_edges, without_details};
pub use received::{MAX_RECEIVED_PIXELS, ReceivedError, ReceivedPicture};
pub use stored_recipe::{MissingFile, RestoredRecipe, StoredRecipe};
pub use thumbnail::thumbnail;
