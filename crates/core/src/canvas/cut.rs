//! Parts of pictures and masks.

use super::{Mask, PixelRect};
use crate::recipe::Rgb8;

/// The part of a picture in a rectangle; `None` where that is empty or reaches out of it.
#[must_use]
pub fn crop_picture(picture: &Rgb8, rect: &PixelRect) -> Option<Rgb8> {
    let pixels = cut(picture.pixels(), (picture.width(), picture.height()), rect, 3)?;
    Rgb8::new(rect.width, rect.height, pixels)
}

/// The part of a mask in a rectangle; `None` where that is empty or reaches out of it.
#[must_use]
pub fn crop_mask(mask: &Mask, rect: &PixelRect) -> Option<Mask> {
    let pixels = cut(mask.pixels(), (mask.width(), mask.height()), rect, 1)?;
    Mask::new(rect.width, rect.height, pixels)
}

fn cut(pixels: &[u8], (width, height): (u32, u32), rect: &PixelRect, channels: usize) -> Option<Vec<u8>> {
    if rect.is_empty() || rect.intersection(&PixelRect::of_size(width, height)) != *rect {
        return None;
    }
    let (left, top) = (usize::try_from(rect.left).ok()?, usize::try_from(rect.top).ok()?);
    let rows = pixels.chunks_exact(width as usize * channels).skip(top).take(rect.height as usize);
    Some(rows.flat_map(|row| &row[left * channels..(left + rect.width as usize) * channels]).copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_the_pixels_of_its_place_and_none_is_outside() {
        let mask = Mask::new(3, 2, vec![1, 2, 3, 4, 5, 6]).unwrap();
        let rect = PixelRect { left: 1, top: 0, width: 2, height: 2 };
        assert_eq!(crop_mask(&mask, &rect).unwrap().pixels(), [2, 3, 5, 6]);
        for rect in [PixelRect { left: 2, ..rect }, PixelRect { left: -1, ..rect }, PixelRect { width: 0, ..rect }] {
            assert_eq!(crop_mask(&mask, &rect), None);
        }
        let picture = Rgb8::new(2, 1, vec![1, 2, 3, 4, 5, 6]).unwrap();
        assert_eq!(crop_picture(&picture, &PixelRect { left: 1, top: 0, width: 1, height: 1 }).unwrap().pixels(), [4, 5, 6]);
    }
}
