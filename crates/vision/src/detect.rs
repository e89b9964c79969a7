//! Places of faces, hands and what else a detector was trained on.

use std::path::Path;

use image::{Rgb, RgbImage, imageops};
use rten::Value;
use rten_tensor::prelude::*;
use rten_tensor::{NdTensor, NdTensorView, Tensor};
use serde::{Deserialize, Serialize};

use atelier_core::canvas::PixelRect;
use atelier_core::recipe::Rgb8;
use atelier_language::tr;
use atelier_library::Anchored;

use super::VisionError;
use super::anchored;
use super::candidate::{Candidate, MAX_DETECTIONS, distinct};
use super::cutout::resized;
use super::network::{Network, shown};

const PURPOSE: &str = "detect";
/// Least sides in pixels of the input of a detector that takes any: those of YOLO.
const SIDE: u32 = 640;
/// First columns of a detector that has no two detections of one thing: the corners, the probability
/// and the class.
const FINISHED_COLUMNS: usize = 6;

/// Something that was found in a picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Detection {
    /// Place in pixels, within the picture.
    pub rect: PixelRect,
    /// Probability, 0 to 1.
    pub probability: f32,
    /// Name of the class, or its number where the file has no names.
    pub class: String,
}

/// A model that finds things: YOLO 5 to 11, or `MediaPipe`'s detectors of faces and palms, in their
/// ONNX form.
pub struct Detector {
    network: Network,
    colours: Colours,
}

/// Colours that a detector wants.
#[derive(Clone, Copy)]
struct Colours {
    /// What surrounds a picture of another shape.
    around: Rgb<u8>,
    /// Number of a black pixel; that of a white one is 1.
    black: f32,
}

impl Colours {
    const OF_YOLO: Self = Self { around: Rgb([114; 3]), black: 0.0 };
    const OF_FACES: Self = Self { around: Rgb([0; 3]), black: -1.0 };
    const OF_HANDS: Self = Self { around: Rgb([0; 3]), black: 0.0 };
}

impl Detector {
    /// Opens a model. `threads` is at least 1.
    pub fn open(path: &Path, threads: usize) -> Result<Self, VisionError> {
        let network = Network::open(path, PURPOSE, threads)?;
        // Seen before a large model has computed for a minute.
        if !matches!(network.result(), [] | [_, _, _]) {
            return Err(network.other_purpose(PURPOSE, tr!("vision-its-result-has-the", shape = shown(network.result()))));
        }
        let colours = match network.anchored() {
            None => Colours::OF_YOLO,
            Some(Anchored::Faces) => Colours::OF_FACES,
            Some(Anchored::Hands) => Colours::OF_HANDS,
        };
        Ok(Self { network, colours })
    }

    /// What is found with at least this probability, the most probable first.
    pub fn detect(&self, picture: &Rgb8, min_probability: f32) -> Result<Vec<Detection>, VisionError> {
        let (width, height) = self.network.size().unwrap_or_else(|| {
            // One that was exported for less finds more in a larger input.
            let (width, height) = self.network.picture_size().unwrap_or((SIDE, SIDE));
            (width.max(SIDE), height.max(SIDE))
        });
        let (input, scale) = letterboxed(picture, width, height, self.colours);
        let names = self.network.class_names();
        let other = |reason: String| self.network.other_purpose(PURPOSE, reason);
        let numbers = |value: Value| Tensor::<f32>::try_from(value).map_err(|_| other(tr!("vision-its-result-is-not-a-table").into()));
        let unknown = |shape: &[usize]| other(tr!("vision-its-result-has-the", shape = format!("{shape:?}")));
        let found = if self.network.anchored().is_some() {
            let [boxes, scores] = self.network.run(&input)?;
            let (boxes, scores) = (numbers(boxes)?, numbers(scores)?);
            let tables = (boxes.ndim() == 3 && scores.ndim() == 3).then(|| (boxes.nd_view::<3>(), scores.nd_view::<3>()));
            let found = tables.and_then(|(boxes, scores)| anchored::candidates(boxes, scores, width as f32, min_probability));
            found.ok_or_else(|| unknown(boxes.shape()))?
        } else {
            let [output] = self.network.run(&input)?;
            let output = numbers(output)?;
            let table = (output.ndim() == 3).then(|| output.nd_view::<3>());
            let found = table.and_then(|table| candidates(table, names.len(), min_probability));
            found.ok_or_else(|| unknown(output.shape()))?
        };
        let place = |at: &Candidate| {
            let within = |value: f32, most: u32| (value / scale).round().clamp(0.0, most as f32) as u32;
            let (left, top) = (within(at.left, picture.width()), within(at.top, picture.height()));
            let (right, bottom) = (within(at.right, picture.width()), within(at.bottom, picture.height()));
            let (width, height) = (right.saturating_sub(left), bottom.saturating_sub(top));
            PixelRect { left: left as i32, top: top as i32, width, height }
        };
        let detections = distinct(found).into_iter().map(|at| Detection {
            rect: place(&at),
            probability: at.probability,
            class: names.get(at.class).cloned().unwrap_or_else(|| at.class.to_string()),
        });
        Ok(detections.filter(|detection| detection.rect.width > 0 && detection.rect.height > 0).collect())
    }
}

/// The picture in the size of the input, with a border where its shape is another, and how many
/// pixels of the input are one of the picture.
fn letterboxed(picture: &Rgb8, width: u32, height: u32, colours: Colours) -> (NdTensor<f32, 4>, f32) {
    let scale = (width as f32 / picture.width() as f32).min(height as f32 / picture.height() as f32);
    let fitted = |side: u32, most: u32| ((side as f32 * scale).round() as u32).clamp(1, most);
    let small = resized(picture, fitted(picture.width(), width), fitted(picture.height(), height));
    let mut whole = RgbImage::from_pixel(width, height, colours.around);
    imageops::replace(&mut whole, &small, 0, 0);
    let input = NdTensor::from_fn([1, 3, height as usize, width as usize], |[_, channel, y, x]| {
        let value = f32::from(whole.get_pixel(x as u32, y as u32)[channel]) / 255.0;
        colours.black + value * (1.0 - colours.black)
    });
    (input, scale)
}

/// Rows of a result with at least this probability; `None` where it is no table of detections.
///
/// The forms: `[1, 4 + classes, places]` (YOLO 8 to 11), `[1, places, 5 + classes]` (YOLO 5 and 7,
/// with the probability that there is anything at all), and `[1, places, 6]` of at most
/// [`MAX_DETECTIONS`] places (finished, YOLO 10). Points of faces, joints of people and coefficients
/// of outlines follow in each; they are told from classes by the number of those, which is 0 where
/// the file names none.
fn candidates(table: NdTensorView<f32, 3>, classes: usize, min_probability: f32) -> Option<Vec<Candidate>> {
    let [batch, rows, columns] = table.shape();
    if batch != 1 || rows == 0 || columns == 0 {
        return None;
    }
    let mut found = Vec::new();
    let mut add = |candidate: Candidate| {
        let corners = [candidate.left, candidate.top, candidate.right, candidate.bottom, candidate.probability];
        if corners.iter().all(|value| value.is_finite()) && candidate.probability >= min_probability {
            found.push(candidate);
        }
    };
    let has_more = (FINISHED_COLUMNS..rows).contains(&columns) && classes > 0 && columns != 5 + classes;
    if rows <= MAX_DETECTIONS && (columns == FINISHED_COLUMNS || has_more) {
        for row in 0..rows {
            let at = |column: usize| table[[0, row, column]];
            let (left, top, right, bottom) = (at(0), at(1), at(2), at(3));
            add(Candidate { left, top, right, bottom, probability: at(4), class: at(5).max(0.0) as usize });
        }
        return Some(found);
    }
    let by_column = rows < columns;
    let (places, values, first_class) = if by_column { (columns, rows, 4) } else { (rows, columns, 5) };
    let after_classes = if classes == 0 { values } else { first_class + classes };
    if values <= first_class || values < after_classes {
        return None;
    }
    for place in 0..places {
        let at = |value: usize| if by_column { table[[0, value, place]] } else { table[[0, place, value]] };
        let anything = if by_column { 1.0 } else { at(4) };
        let best = (first_class..after_classes).map(|class| (at(class), class - first_class)).max_by(|a, b| a.0.total_cmp(&b.0))?;
        let (x, y, width, height) = (at(0), at(1), at(2), at(3));
        add(Candidate {
            left: x - width / 2.0,
            top: y - height / 2.0,
            right: x + width / 2.0,
            bottom: y + height / 2.0,
            probability: best.0 * anything,
            class: best.1,
        });
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_of_a_table_is_read() {
        // One face in the middle of 100 pixels, of 20 pixels a side.
        let of_yolo8 =
            NdTensor::from_fn([1, 5, 9], |[_, value, place]| if place == 3 { [50.0, 50.0, 20.0, 20.0, 0.9][value] } else { 0.0 });
        let of_yolo5 =
            NdTensor::from_fn([1, 400, 6], |[_, place, value]| if place == 3 { [50.0, 50.0, 20.0, 20.0, 0.9, 1.0][value] } else { 0.0 });
        let of_yolo10 =
            NdTensor::from_fn([1, 300, 6], |[_, place, value]| if place == 3 { [40.0, 40.0, 60.0, 60.0, 0.9, 0.0][value] } else { 0.0 });
        for table in [of_yolo8.view(), of_yolo5.view(), of_yolo10.view()] {
            let found = candidates(table, 0, 0.5).unwrap();
            let [at] = found.as_slice() else { panic!("{} detections", found.len()) };
            assert_eq!((at.left, at.top, at.right, at.bottom, at.class), (40.0, 40.0, 60.0, 60.0, 0));
            assert!((at.probability - 0.9).abs() < 1e-6);
        }
        assert!(candidates(NdTensor::<f32, 3>::zeros([1, 4, 9]).view(), 0, 0.5).is_none());
        assert!(candidates(NdTensor::<f32, 3>::zeros([2, 5, 9]).view(), 0, 0.5).is_none());
        assert!(candidates(NdTensor::<f32, 3>::zeros([1, 6, 9]).view(), 3, 0.5).is_none(), "it has fewer values than classes");
    }

    #[test]
    fn points_and_outlines_are_no_classes() {
        // One face; the mouth's corner at 55 pixels follows its probability.
        let face = [50.0, 50.0, 20.0, 20.0, 0.9, 55.0];
        let (yolo5, yolo10) = ([50.0, 50.0, 20.0, 20.0, 0.9, 1.0, 55.0], [40.0, 40.0, 60.0, 60.0, 0.9, 0.0]);
        let of_yolo8 = NdTensor::from_fn([1, 6, 9], |[_, value, place]| if place == 3 { face[value] } else { 0.0 });
        let of_yolo5 = NdTensor::from_fn([1, 400, 7], |[_, place, value]| if place == 3 { yolo5[value] } else { 0.0 });
        let coefficient = |value: usize| yolo10.get(value).copied().unwrap_or(-2.5);
        let finished = NdTensor::from_fn([1, 300, 38], |[_, place, value]| if place == 3 { coefficient(value) } else { 0.0 });
        for table in [of_yolo8.view(), of_yolo5.view(), finished.view()] {
            let found = candidates(table, 1, 0.5).unwrap();
            let [at] = found.as_slice() else { panic!("{} detections", found.len()) };
            assert_eq!((at.left, at.bottom, at.class), (40.0, 60.0, 0));
            assert!((at.probability - 0.9).abs() < 1e-6);
        }
    }
}
