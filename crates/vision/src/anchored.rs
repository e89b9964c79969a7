//! Tables of `MediaPipe`'s detectors: a box and points for each of a fixed set of places, the
//! anchors, and what speaks for each.

use rten_tensor::NdTensorView;
use rten_tensor::prelude::*;

use super::candidate::Candidate;

/// Values of a box: its middle from the anchor, and its size. Points follow, two values each.
const BOX_VALUES: usize = 4;
/// Points of a hand: the wrist, and the root of the middle finger.
const WRIST: usize = 0;
const MIDDLE_FINGER: usize = 2;
/// Values of each anchor of a detector of hands: the box of a palm and seven points.
const HAND_VALUES: usize = 18;
/// Sides of the square around a hand, in sides of the box of its palm; its middle lies this part of
/// one towards the fingers. Both are what `MediaPipe` uses.
const HAND_SIDES: f32 = 2.6;
const HAND_SHIFT: f32 = 0.5;

/// What is found in an input of `side` pixels with at least this probability; `None` where the
/// tables are others. `boxes` has the shape `[1, anchors, values]`, `scores` `[1, anchors, 1]`.
pub(crate) fn candidates(
    boxes: NdTensorView<f32, 3>,
    scores: NdTensorView<f32, 3>,
    side: f32,
    min_probability: f32,
) -> Option<Vec<Candidate>> {
    let [batch, anchors, values] = boxes.shape();
    if batch != 1 || scores.shape() != [1, anchors, 1] || values < BOX_VALUES {
        return None;
    }
    let found = middles(anchors)?.into_iter().enumerate().filter_map(|(anchor, middle)| {
        let at = |value: usize| boxes[[0, anchor, value]];
        let probability = 1.0 / (1.0 + (-scores[[0, anchor, 0]]).exp());
        let (mut x, mut y) = (middle.0 * side + at(0), middle.1 * side + at(1));
        let (mut width, mut height) = (at(2), at(3));
        if values == HAND_VALUES {
            let point = |number: usize| (at(BOX_VALUES + 2 * number), at(BOX_VALUES + 2 * number + 1));
            let (wrist, finger) = (point(WRIST), point(MIDDLE_FINGER));
            let (across, down) = (finger.0 - wrist.0, finger.1 - wrist.1);
            let length = across.hypot(down).max(f32::MIN_POSITIVE);
            x += HAND_SHIFT * height * across / length;
            y += HAND_SHIFT * height * down / length;
            width = HAND_SIDES * width.max(height);
            height = width;
        }
        let is_number = [x, y, width, height, probability].iter().all(|value| value.is_finite());
        (is_number && probability >= min_probability).then(|| Candidate {
            left: x - width / 2.0,
            top: y - height / 2.0,
            right: x + width / 2.0,
            bottom: y + height / 2.0,
            probability,
            class: 0,
        })
    });
    Some(found.collect())
}

/// Middles of so many anchors, in parts of the input's sides.
fn middles(anchors: usize) -> Option<Vec<(f32, f32)>> {
    // Places a side, and anchors at each.
    let grids: &[(usize, usize)] = match anchors {
        896 => &[(16, 2), (8, 6)],
        2016 => &[(24, 2), (12, 6)],
        2304 => &[(48, 1)],
        _ => return None,
    };
    let part = |place: usize, places: usize| (place as f32 + 0.5) / places as f32;
    let of_grid = |&(places, each): &(usize, usize)| {
        (0..places * places * each).map(move |anchor| (part(anchor / each % places, places), part(anchor / each / places, places)))
    };
    Some(grids.iter().flat_map(of_grid).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rten_tensor::NdTensor;

    #[test]
    fn each_number_of_anchors_has_its_places() {
        for anchors in [896, 2016, 2304] {
            assert_eq!(middles(anchors).unwrap().len(), anchors);
        }
        assert!(middles(8400).is_none());
        let of_face = middles(896).unwrap();
        assert_eq!(
            (of_face[0], of_face[3], of_face[511]),
            ((0.5 / 16.0, 0.5 / 16.0), (1.5 / 16.0, 0.5 / 16.0), (15.5 / 16.0, 15.5 / 16.0))
        );
        assert_eq!((of_face[512], of_face[512 + 6 * 8]), ((0.5 / 8.0, 0.5 / 8.0), (0.5 / 8.0, 1.5 / 8.0)));
    }

    #[test]
    fn a_hand_reaches_from_its_palm_towards_its_fingers() {
        // At the fifth place of the fourth row of twelve: x 72, y 56. The fingers point upwards.
        let anchor = 2 * 24 * 24 + 6 * (3 * 12 + 4);
        let palm = |value: usize| match value {
            2 | 3 => 20.0,
            5 => 10.0,
            9 => -10.0,
            _ => 0.0,
        };
        let boxes = NdTensor::from_fn([1, 2016, 18], |[_, at, value]| if at == anchor { palm(value) } else { f32::NAN });
        let scores = NdTensor::from_fn([1, 2016, 1], |[_, at, _]| if at == anchor { 3.0 } else { -9.0 });
        let found = candidates(boxes.view(), scores.view(), 192.0, 0.5).unwrap();
        let [hand] = found.as_slice() else { panic!("{} detections", found.len()) };
        let corners = [hand.left, hand.top, hand.right, hand.bottom];
        assert!(corners.iter().zip([46.0, 20.0, 98.0, 72.0]).all(|(is, wanted)| (is - wanted).abs() < 1e-3), "{corners:?}");
        assert!((hand.probability - 0.952_57).abs() < 1e-4);
        assert!(candidates(scores.view(), boxes.view(), 192.0, 0.5).is_none());
    }
}
