//! What is made of a control picture before a model sees it.

use crate::ffi;
use atelier_core::advice::Advice;
use atelier_core::canvas::StartFit;
use atelier_core::recipe::{ControlImage, Preprocessor, Rgb8};
use atelier_language::tr;
use atelier_media::{PictureError, depth_map, fit_image, inverted, line_art, read_image, scribble, soft_edges, thumbnail, without_details};

/// Largest picture whose pixels are all looked at: outlines take 40 bytes of memory for each. A
/// larger one is reduced first, and what is made of it enlarged.
const MAX_PIXELS: u64 = 16 << 20;

/// The picture that the model is given for a control picture, in this size in pixels. Blocks, and
/// needs no model.
///
/// # Errors
/// If the picture cannot be read, or there is no memory.
pub fn read_control(control: &ControlImage, (width, height): (u32, u32)) -> Result<Rgb8, Advice> {
    let unusable = |error: PictureError| Advice::new(error.to_string(), tr!("engine-choose-another-picture"));
    let image = fit_image(&read_image(&control.image).map_err(unusable)?, width, height, StartFit::Crop).map_err(unusable)?;
    let Some(preprocessor) = control.preprocessor else { return Ok(image) };
    let small = reduced(&image);
    let made = preprocessed(&small, preprocessor)?;
    fit_image(&made, width, height, StartFit::Stretch).map_err(unusable)
}

/// The picture, or a smaller one of as many pixels as are looked at.
fn reduced(image: &Rgb8) -> Rgb8 {
    let pixels = u64::from(image.width()) * u64::from(image.height());
    let scale = (MAX_PIXELS as f64 / pixels.max(1) as f64).sqrt().min(1.0);
    thumbnail(image, (f64::from(image.width().max(image.height())) * scale) as u32)
}

fn preprocessed(image: &Rgb8, preprocessor: Preprocessor) -> Result<Rgb8, Advice> {
    Ok(match preprocessor {
        Preprocessor::Canny => {
            let drawn = ffi::outlines(image);
            drawn.map_err(|error| Advice::new(tr!("engine-the-outlines-cannot-be", error), tr!("engine-choose-another-preprocessor")))?
        }
        Preprocessor::SoftEdge => soft_edges(image),
        Preprocessor::LineArt => line_art(image),
        Preprocessor::Scribble => scribble(image),
        Preprocessor::Tile => without_details(image),
        Preprocessor::Invert => inverted(image),
        Preprocessor::DepthMap => depth_map(image),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::recipe::ImageSource;

    fn picture(width: u32, height: u32) -> Rgb8 {
        let place = |n: u32| (n % width, n / width);
        let pixel = |(x, y): (u32, u32)| if x > width / 3 && y > height / 3 { [210, 190, 40] } else { [30, 40, 90] };
        Rgb8::new(width, height, (0..width * height).flat_map(|n| pixel(place(n))).collect()).unwrap()
    }

    fn control(image: Rgb8, preprocessor: Option<Preprocessor>) -> ControlImage {
        ControlImage { preprocessor, ..ControlImage::new(ImageSource::Pixels(image)) }
    }

    #[test]
    fn every_preprocessor_makes_a_picture_of_the_size_always_the_same_and_one_of_its_own() {
        let mut seen = vec![read_control(&control(picture(96, 64), None), (96, 64)).unwrap()];
        assert_eq!(seen[0], picture(96, 64));
        for preprocessor in Preprocessor::ALL {
            let control = control(picture(96, 64), Some(*preprocessor));
            let made = read_control(&control, (96, 64)).unwrap();
            assert_eq!(read_control(&control, (96, 64)).unwrap(), made, "{preprocessor}");
            assert!(!seen.contains(&made), "{preprocessor}");
            seen.push(made);
        }
    }

    #[test]
    fn the_engines_outlines_are_white_lines_on_black() {
        let made = read_control(&control(picture(90, 60), Some(Preprocessor::Canny)), (90, 60)).unwrap();
        assert!(made.pixels().chunks(3).all(|pixel| pixel == [0; 3] || pixel == [255; 3]));
        let at = |x: usize, y: usize| made.pixels()[(y * 90 + x) * 3];
        assert!((28..=34).any(|x| at(x, 45) == 255) && at(10, 10) == 0 && at(70, 45) == 0);
    }

    #[test]
    fn the_smallest_pictures_are_made_too() {
        for (width, height) in [(1, 1), (1, 9), (5, 1), (2, 3), (7, 7)] {
            for preprocessor in Preprocessor::ALL {
                let made = read_control(&control(picture(width, height), Some(*preprocessor)), (width, height)).unwrap();
                assert_eq!((made.width(), made.height()), (width, height), "{preprocessor}");
            }
        }
    }

    #[test]
    fn of_a_huge_picture_no_more_pixels_are_looked_at_than_memory_allows() {
        let long = Rgb8::new(1 << 14, 1 << 11, vec![7; 3 << 25]).unwrap();
        let small = reduced(&long);
        assert!(u64::from(small.width()) * u64::from(small.height()) <= MAX_PIXELS && small.width() > 1 << 13);
        let made = read_control(&control(long, Some(Preprocessor::Invert)), (1 << 14, 1 << 11)).unwrap();
        assert_eq!((made.width(), made.height(), made.pixels()[0]), (1 << 14, 1 << 11, 248));
    }
}
