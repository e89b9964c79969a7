//! Tiny models through the whole way: file, picture, result.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::PathBuf;

use atelier_core::canvas::PixelRect;
use atelier_core::recipe::Rgb8;
use atelier_vision::{CutoutFamily, Detector, Segmenter, VisionError};
use testkit::onnx;

/// A black picture with a red part.
fn picture(width: u32, height: u32, red: PixelRect) -> Rgb8 {
    let pixels = (0..height as i32).flat_map(|y| (0..width as i32).map(move |x| (x, y)));
    let is_red =
        |x: i32, y: i32| (red.left..red.left + red.width as i32).contains(&x) && (red.top..red.top + red.height as i32).contains(&y);
    Rgb8::new(width, height, pixels.flat_map(|(x, y)| [if is_red(x, y) { 255 } else { 0 }, 0, 0]).collect()).unwrap()
}

/// No pixel is red.
const NOWHERE: PixelRect = PixelRect { left: 0, top: 0, width: 0, height: 0 };

fn written(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("model.onnx");
    std::fs::write(&path, bytes).unwrap();
    (dir, path)
}

#[test]
fn what_is_in_front_is_opaque_in_the_size_of_the_picture() {
    let (_dir, path) = written(&onnx::red_segmenter(64));
    let segmenter = Segmenter::open(&path, Some(CutoutFamily::IsNet), 1).unwrap();
    let mask = segmenter.cut_out(&picture(200, 100, PixelRect { left: 40, top: 20, width: 80, height: 60 })).unwrap();
    assert_eq!((mask.width(), mask.height()), (200, 100));
    assert_eq!((mask.row(50)[80], mask.row(50)[10], mask.row(5)[80], mask.row(50)[190]), (255, 0, 0, 0));
    let opaque = mask.pixels().iter().filter(|opacity| **opacity > 127).count();
    assert!(opaque.abs_diff(80 * 60) < 500, "{opaque}");
}

#[test]
fn detections_have_their_place_in_a_picture_of_any_shape() {
    // One face in the upper left quarter of the input, twice; a hand; a face that is improbable.
    let found = [
        vec![16.0, 16.0, 16.0, 16.0, 0.9, 0.0],
        vec![17.0, 16.0, 16.0, 16.0, 0.8, 0.0],
        vec![48.0, 16.0, 8.0, 8.0, 0.1, 0.7],
        vec![32.0, 32.0, 8.0, 8.0, 0.2, 0.1],
    ];
    let (_dir, path) = written(&onnx::detector(64, &["face", "hand"], &found));
    let detector = Detector::open(&path, 1).unwrap();
    // Half as high as the input would have it: one pixel of the input is two of the picture.
    let detections = detector.detect(&picture(128, 64, PixelRect { left: 0, top: 0, width: 1, height: 1 }), 0.5).unwrap();
    let told: Vec<_> = detections.iter().map(|it| (it.class.as_str(), it.rect)).collect();
    let face = PixelRect { left: 16, top: 16, width: 32, height: 32 };
    assert_eq!(told, [("face", face), ("hand", PixelRect { left: 88, top: 24, width: 16, height: 16 })]);
}

#[test]
fn each_pixels_numbers_may_lie_together() {
    let (_dir, path) = written(&onnx::channels_last_segmenter(64));
    let segmenter = Segmenter::open(&path, Some(CutoutFamily::Selfie), 1).unwrap();
    let mask = segmenter.cut_out(&picture(200, 100, PixelRect { left: 40, top: 20, width: 80, height: 60 })).unwrap();
    assert_eq!((mask.row(50)[80], mask.row(50)[10], mask.row(5)[80], mask.row(50)[190]), (255, 0, 0, 0));
}

#[test]
fn a_detector_of_any_size_is_given_the_one_it_was_exported_for_but_no_small_one() {
    for (size, face) in [
        ("[1280, 1280]", PixelRect { left: 16, top: 16, width: 32, height: 32 }),
        ("[320, 320]", PixelRect { left: 32, top: 32, width: 64, height: 64 }),
    ] {
        let (_dir, path) = written(&onnx::detector_of_any_size(size, "face", &[320.0, 320.0, 320.0, 320.0, 0.9]));
        let detections = Detector::open(&path, 1).unwrap().detect(&picture(128, 128, NOWHERE), 0.5).unwrap();
        assert_eq!(detections.iter().map(|it| it.rect).collect::<Vec<_>>(), [face], "{size}");
    }
}

#[test]
fn points_of_a_face_are_no_classes() {
    let (_dir, path) = written(&onnx::detector(64, &["face"], &[vec![16.0, 16.0, 16.0, 16.0, 0.9, 12.0, 55.0, 0.5]]));
    let detections = Detector::open(&path, 1).unwrap().detect(&picture(64, 64, NOWHERE), 0.5).unwrap();
    assert_eq!(detections.iter().map(|it| (it.class.as_str(), it.probability)).collect::<Vec<_>>(), [("face", 0.9)]);
}

#[test]
fn a_face_is_found_at_its_anchor() {
    // At the sixth place of the eighth row of sixteen: x 44, y 60.
    let (_dir, path) = written(&onnx::face_detector(2 * (7 * 16 + 5)));
    let detections = Detector::open(&path, 1).unwrap().detect(&picture(192, 256, NOWHERE), 0.5).unwrap();
    let face = PixelRect { left: 64, top: 88, width: 64, height: 48 };
    assert_eq!(detections.iter().map(|it| (it.class.as_str(), it.rect)).collect::<Vec<_>>(), [("face", face)]);
}

#[test]
fn files_that_are_no_such_model_are_refused_in_a_sentence() {
    let (_dir, path) = written(b"not a model");
    assert!(matches!(Segmenter::open(&path, None, 1), Err(VisionError::Header { .. })));
    let (whole, in_parts) = (onnx::red_segmenter(64), onnx::segmenter_in_parts(64));
    let others: [(&[u8], &str, &str); 4] = [
        (b"\x1c\0\0\0TFL3\x14\0\x20\0", "is a TensorFlow Lite model, not an ONNX model", "tf2onnx"),
        (b"PK\x03\x04............face_yolov8n/data.pkl", "is a PyTorch checkpoint (.ckpt, .pt or .pth), not an ONNX model", "yolo export"),
        (&whole[..whole.len() - 30], "is cut short", "Download the file again"),
        (&in_parts, "its weights lie in another file", "choose another file"),
    ];
    for (bytes, what, next) in others {
        let (_dir, path) = written(bytes);
        let error = Detector::open(&path, 1).err().unwrap().to_string();
        assert!(error.starts_with(&path.display().to_string()) && error.contains(what) && error.contains(next), "{error}");
    }
    let (_dir, path) = written(&onnx::quantised_segmenter(64));
    let error = Segmenter::open(&path, None, 1).err().unwrap();
    assert!(error.to_string().contains("quantised to 8 bits, and needs its 16- or 32-bit form"), "{error}");
    let (_dir, path) = written(&onnx::detector(64, &["face"], &[]));
    let segmenter = Segmenter::open(&path, None, 1).unwrap();
    let small = picture(8, 8, PixelRect { left: 0, top: 0, width: 4, height: 4 });
    let error = segmenter.cut_out(&small).unwrap_err();
    assert!(error.to_string().contains("does not cut out: its result has the shape [1, 5, 6]"), "{error}");
    let (_dir, path) = written(&onnx::red_segmenter(64));
    let error = Detector::open(&path, 1).err().unwrap();
    assert!(error.to_string().contains("does not detect: its result has the shape [1, 1, 64, 64]"), "{error}");
    assert!(matches!(Detector::open(&path.with_extension("none"), 1), Err(VisionError::Read { .. })));
}
