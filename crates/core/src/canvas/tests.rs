//! Properties of documents: whatever is done comes back byte by byte, and what is composed in parts
//! is what is composed at once.

use proptest::prelude::*;

use super::history::History;
use super::*;
use crate::recipe::Rgb8;

/// One thing that a person does.
#[derive(Clone, Debug)]
enum Step {
    Stroke { from: (i16, i16), to: (i16, i16), size: u8, hardness: u8, opacity: u8, erases: bool },
    Fill { shape: u8, from: (i16, i16), to: (i16, i16), erases: bool },
    Add(u8),
    Remove(u8),
    Copy(u8),
    Move(u8, u8),
    Rename(u8),
    Visible(u8, bool),
    Locked(u8, bool),
    Opacity(u8, u8),
    Blend(u8, u8),
    AlphaLocked(u8, bool),
    MergeDown(u8),
    Transform { by: (i16, i16), turn: i8 },
    Grow(u8, i8),
    Select(u8),
    Reframe { left: i8, top: i8, right: i8, bottom: i8 },
}

fn place() -> impl Strategy<Value = (i16, i16)> {
    (-40_i16..340, -40_i16..340)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (place(), place(), 1_u8..90, any::<u8>(), any::<u8>(), any::<bool>())
            .prop_map(|(from, to, size, hardness, opacity, erases)| Step::Stroke { from, to, size, hardness, opacity, erases }),
        3 => (0_u8..5, place(), place(), any::<bool>()).prop_map(|(shape, from, to, erases)| Step::Fill { shape, from, to, erases }),
        2 => (0_u8..5).prop_map(Step::Add),
        1 => any::<u8>().prop_map(Step::Remove),
        1 => any::<u8>().prop_map(Step::Copy),
        1 => (any::<u8>(), 0_u8..6).prop_map(|(layer, to)| Step::Move(layer, to)),
        1 => any::<u8>().prop_map(Step::Rename),
        1 => (any::<u8>(), any::<bool>()).prop_map(|(layer, on)| Step::Visible(layer, on)),
        1 => (any::<u8>(), any::<bool>()).prop_map(|(layer, on)| Step::Locked(layer, on)),
        1 => (any::<u8>(), any::<u8>()).prop_map(|(layer, opacity)| Step::Opacity(layer, opacity)),
        2 => (any::<u8>(), any::<u8>()).prop_map(|(layer, mode)| Step::Blend(layer, mode)),
        1 => (any::<u8>(), any::<bool>()).prop_map(|(layer, on)| Step::AlphaLocked(layer, on)),
        1 => any::<u8>().prop_map(Step::MergeDown),
        1 => (place(), -8_i8..8).prop_map(|(by, turn)| Step::Transform { by, turn }),
        1 => (any::<u8>(), -20_i8..20).prop_map(|(layer, by)| Step::Grow(layer, by)),
        1 => any::<u8>().prop_map(Step::Select),
        1 => (-30_i8..30, -30_i8..30, -30_i8..30, -30_i8..30)
            .prop_map(|(left, top, right, bottom)| Step::Reframe { left, top, right, bottom }),
    ]
}

fn float((x, y): (i16, i16)) -> (f32, f32) {
    (f32::from(x), f32::from(y))
}

fn nth_layer(document: &Document, n: u8) -> LayerId {
    let layers = document.content().layers();
    layers[n as usize % layers.len()].id
}

/// Does a step, and returns the rectangle that is to be composed anew; steps that are not possible
/// do nothing.
fn carry_out(document: &mut Document, step: &Step) -> PixelRect {
    let ink = |erases: bool| if erases { Ink::Eraser } else { Ink::Colour([200, 30, 90]) };
    match step.clone() {
        Step::Stroke { from, to, size, hardness, opacity, erases } => {
            let part = |value: u8| f32::from(value) / 255.0;
            let brush = Brush { size: f32::from(size), hardness: part(hardness), opacity: part(opacity), ..Brush::default() };
            let at = |place: (i16, i16)| StrokePoint::new(f32::from(place.0), f32::from(place.1));
            let Ok((mut stroke, first)) = Stroke::begin(document, brush, ink(erases), at(from)) else { return PixelRect::default() };
            let moved = stroke.move_to(document, at(to));
            first.union(&moved).union(&stroke.finish(document))
        }
        Step::Fill { shape, from, to, erases } => {
            let corner = |(x, y): (i16, i16)| (i32::from(x), i32::from(y));
            let shape = match shape {
                0 => Shape::Polygon(vec![float(from), float(to), (150.0, 20.0), (10.0, 280.0)]),
                1 => Shape::Rectangle(PixelRect::between(corner(from), corner(to))),
                2 => Shape::Bucket { from: corner(from), tolerance: 20 },
                3 => Shape::Gradient { from: float(from), to: float(to) },
                _ => Shape::All,
            };
            let layer = document.content().current();
            document.apply(&DocumentEdit::Fill { layer, shape, ink: ink(erases), opacity: 200 }).unwrap_or_default()
        }
        Step::Add(kind) => {
            let kinds =
                [LayerKind::Paint, LayerKind::Mask, LayerKind::Region { words: "a".into() }, LayerKind::Control, LayerKind::Reference];
            let _ = document.add_layer(kinds[kind as usize].clone(), "more", None);
            PixelRect::default()
        }
        Step::Remove(n) => document.remove_layer(nth_layer(document, n)).unwrap_or_default(),
        Step::Copy(n) => document.duplicate_layer(nth_layer(document, n)).unwrap_or_default(),
        Step::Move(n, to) => document.move_layer(nth_layer(document, n), to as usize).unwrap(),
        Step::Rename(n) => document.rename_layer(nth_layer(document, n), &format!("layer {n}")).unwrap(),
        Step::Visible(n, on) => document.set_visible(nth_layer(document, n), on).unwrap(),
        Step::Locked(n, on) => document.set_locked(nth_layer(document, n), on).unwrap(),
        Step::Opacity(n, opacity) => document.set_opacity(nth_layer(document, n), opacity).unwrap(),
        Step::Blend(n, mode) => {
            let mode = BlendMode::ALL[mode as usize % BlendMode::ALL.len()];
            document.set_blend(nth_layer(document, n), mode).unwrap()
        }
        Step::AlphaLocked(n, on) => document.set_alpha_locked(nth_layer(document, n), on).unwrap(),
        Step::MergeDown(n) => document.apply(&DocumentEdit::MergeDown(nth_layer(document, n))).unwrap_or_default(),
        Step::Transform { by, turn } => {
            let layer = document.content().current_layer();
            let by = LayerTransform::moved(f32::from(by.0), f32::from(by.1)).then(&LayerTransform::turned((150.0, 140.0), f32::from(turn)));
            document.apply(&DocumentEdit::Transform { layer: layer.id, from: layer.pixels.clone(), by }).unwrap_or_default()
        }
        Step::Grow(n, by) => document.apply(&DocumentEdit::Grow(nth_layer(document, n), by.into())).unwrap_or_default(),
        Step::Select(n) => {
            document.select_layer(nth_layer(document, n));
            PixelRect::default()
        }
        Step::Reframe { left, top, right, bottom } => {
            let bounds = document.content().bounds();
            let least = (i32::from(left), i32::from(top));
            let most = (bounds.right() + i32::from(right), bounds.bottom() + i32::from(bottom));
            document.apply(&DocumentEdit::Reframe(PixelRect::between(least, most))).unwrap_or_default()
        }
    }
}

fn document() -> Document {
    let picture = Rgb8::new(300, 280, (0..300 * 280 * 3).map(|n| (n / 7) as u8).collect()).unwrap();
    Document::new(DocumentContent::new("Picture", TileImage::of_picture(&picture)).unwrap())
}

/// Everything but the choice of the current layer, which has no history of its own.
fn same(one: &DocumentContent, other: &DocumentContent) -> bool {
    (one.width(), one.height(), one.layers()) == (other.width(), other.height(), other.layers())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn undo_and_redo_of_anything_give_the_same_bytes(steps in prop::collection::vec(step(), 1..12)) {
        let mut document = document();
        let mut states = vec![document.content().clone()];
        for step in &steps {
            let (version, undo) = (document.version(), document.next_undo());
            carry_out(&mut document, step);
            document.release();
            if same(document.content(), states.last().unwrap()) && document.version() == version {
                continue;
            }
            prop_assert!(document.version() > version && document.next_undo().is_some(), "{undo:?}");
            states.push(document.content().clone());
        }
        let last = document.content().clone();
        for state in states.iter().rev().skip(1) {
            prop_assert!(document.undo().is_some());
            prop_assert!(same(document.content(), state), "undo");
        }
        prop_assert!(document.undo().is_none());
        for state in states.iter().skip(1) {
            prop_assert!(document.redo().is_some());
            prop_assert!(same(document.content(), state), "redo");
        }
        prop_assert!(document.redo().is_none());
        prop_assert!(same(document.content(), &last));
    }

    #[test]
    fn what_is_composed_anew_in_parts_is_what_is_composed_at_once(steps in prop::collection::vec((step(), any::<bool>()), 1..10)) {
        let mut document = document();
        let all = |document: &Document| document.content().compose(document.content().bounds(), LayerChoice::Visible);
        let mut shown = all(&document);
        for (step, undoes) in &steps {
            let size = document.content().bounds();
            let mut dirty = carry_out(&mut document, step);
            if *undoes {
                dirty = dirty.union(&document.undo().unwrap_or_default());
            }
            let bounds = document.content().bounds();
            if bounds == size {
                let part = dirty.intersection(&bounds);
                let rows = document.content().compose(part, LayerChoice::Visible);
                for (y, row) in (part.top..part.bottom()).zip(rows.chunks_exact(part.width.max(1) as usize * 4)) {
                    let at = (y as usize * bounds.width as usize + part.left as usize) * 4;
                    shown[at..at + row.len()].copy_from_slice(row);
                }
            } else {
                shown = all(&document);
            }
            prop_assert!(shown == all(&document), "{step:?} and undo: {undoes}");
        }
    }

    #[test]
    fn a_stroke_that_is_taken_back_leaves_nothing(from in place(), to in place(), erases: bool) {
        let mut document = document();
        let before = document.content().clone();
        let ink = if erases { Ink::Eraser } else { Ink::Colour([1, 2, 3]) };
        let at = |place| { let (x, y) = float(place); StrokePoint::new(x, y) };
        let (mut stroke, _) = Stroke::begin(&mut document, Brush::default(), ink, at(from)).unwrap();
        stroke.move_to(&mut document, at(to));
        stroke.cancel(&mut document);
        prop_assert!(document.content() == &before && document.next_undo().is_none());
    }
}

#[test]
fn the_history_is_bounded_by_bytes_and_shares_what_has_not_changed() {
    let mut content = DocumentContent::new("a", TileImage::new(1024, 1024)).unwrap();
    let mut history = History::bounded(3 << 20);
    for n in 0..40 {
        let before = content.clone();
        let rect = PixelRect { left: n % 4 * 256, top: 0, width: 9, height: 9 };
        content.layers[0].pixels.change(rect, true, |_, _, run| run.fill(n as u8 + 1));
        history.push("Paint", before, &content);
        assert!(history.bytes() <= 3 << 20);
    }
    let undone = std::iter::from_fn(|| {
        content = history.undo(&content)?;
        Some(())
    });
    assert_eq!(undone.count(), 11, "a tile of 256 KiB each");
}

#[test]
fn locked_hidden_and_last_layers_stay_as_they_are() {
    let mut document = document();
    let id = document.content().current();
    let stroke = |document: &mut Document| Stroke::begin(document, Brush::default(), Ink::Eraser, StrokePoint::new(9.0, 9.0)).err();
    document.set_locked(id, true).unwrap();
    assert_eq!(stroke(&mut document), Some(LayerError::Locked));
    document.set_locked(id, false).unwrap();
    document.set_visible(id, false).unwrap();
    assert_eq!(stroke(&mut document), Some(LayerError::Hidden));
    assert_eq!(document.remove_layer(id), Err(LayerError::Last));
    assert_eq!(document.rename_layer(LayerId(77), "a"), Err(LayerError::Missing));
    assert_eq!(document.apply(&DocumentEdit::Reframe(PixelRect::default())), Err(LayerError::Size));
    let small = TileImage::new(3, 3);
    assert_eq!(document.add_layer(LayerKind::Paint, "a", Some(small)), Err(LayerError::Size));
    while document.content().layers().len() < MAX_LAYERS {
        document.add_layer(LayerKind::Mask, "a", None).unwrap();
    }
    assert_eq!(document.add_layer(LayerKind::Mask, "a", None), Err(LayerError::TooMany));
}

#[test]
fn a_slider_that_is_held_is_one_change() {
    let mut document = document();
    let id = document.content().current();
    for opacity in [200, 150, 100] {
        document.set_opacity(id, opacity).unwrap();
    }
    document.release();
    document.set_opacity(id, 50).unwrap();
    document.undo().unwrap();
    assert_eq!(document.content().current_layer().opacity, 100);
    document.undo().unwrap();
    assert_eq!((document.content().current_layer().opacity, document.next_undo()), (255, None));
}

#[test]
fn a_brush_covers_a_disc_whose_opacity_does_not_add_up() {
    let mut document = Document::new(DocumentContent::new("a", TileImage::new(200, 200)).unwrap());
    let brush = Brush { size: 40.0, hardness: 1.0, opacity: 0.5, smoothing: 0.0, ..Brush::default() };
    let (mut stroke, first) = Stroke::begin(&mut document, brush, Ink::Colour([9, 8, 7]), StrokePoint::new(50.0, 100.0)).unwrap();
    assert!(first.contains(50, 100) && !first.contains(75, 100));
    for x in [150.0, 50.0, 150.0] {
        stroke.move_to(&mut document, StrokePoint::new(x, 100.0));
    }
    stroke.finish(&mut document);
    let pixel = |x, y| document.content().current_layer().pixels.pixel(x, y);
    assert_eq!((pixel(100, 100), pixel(150, 100)), ([9, 8, 7, 128], [9, 8, 7, 128]));
    assert_eq!((pixel(100, 75), pixel(175, 100)), ([0; 4], [0; 4]));
    let light = StrokePoint { x: 100.0, y: 30.0, pressure: 0.25 };
    let (stroke, small) = Stroke::begin(&mut document, brush, Ink::Colour([1; 3]), light).unwrap();
    stroke.finish(&mut document);
    assert!(small.width <= 12, "a light touch is small: {}", small.width);
    let strange = StrokePoint::new(f32::NAN, f32::INFINITY);
    let wild = Brush { size: f32::NAN, spacing: -4.0, ..brush };
    let (mut stroke, _) = Stroke::begin(&mut document, wild, Ink::Eraser, StrokePoint::new(-1e9, 1e9)).unwrap();
    assert!(stroke.move_to(&mut document, strange).is_empty());
    stroke.finish(&mut document);
}

#[test]
fn what_is_painted_over_a_seamless_border_comes_back_at_the_opposite_one() {
    const SIZE: (i32, i32) = (200, 120);
    let brush = Brush { size: 30.0, hardness: 0.4, smoothing: 0.0, ..Brush::default() };
    let blank = || Document::new(DocumentContent::new("a", TileImage::new(200, 120)).unwrap());
    let painted = |wraps: [bool; 2], by: (i32, i32)| {
        let mut document = blank();
        let at = |x: i32, y: i32| StrokePoint::new((x + by.0) as f32, (y + by.1) as f32);
        let (mut stroke, _) = Stroke::begin_wrapped(&mut document, brush, Ink::Colour([9, 8, 7]), at(80, 50), wraps).unwrap();
        stroke.line(&mut document, at(120, 70));
        stroke.finish(&mut document);
        document
    };
    let alpha = |document: &Document, x: i32, y: i32| document.content().current_layer().pixels.pixel(x, y)[3];
    // Nothing of it is near a border.
    let middle = painted([false; 2], (0, 0));
    assert!(alpha(&middle, 100, 60) == 255 && alpha(&middle, 100, 5) == 0);
    for by in [(100, 60), (-100, -60), (90, 0), (300, 180)] {
        let moved = painted([true; 2], by);
        for (x, y) in (0..SIZE.1).flat_map(|y| (0..SIZE.0).map(move |x| (x, y))) {
            let (there, here) = (((x + by.0).rem_euclid(SIZE.0), (y + by.1).rem_euclid(SIZE.1)), alpha(&middle, x, y));
            // Places beyond a border are rounded otherwise.
            assert!(alpha(&moved, there.0, there.1).abs_diff(here) <= 1, "{by:?}: {x}, {y}");
        }
    }
    let across = painted([true, false], (100, 60));
    assert!(alpha(&across, 0, 118) > 0 && (0..SIZE.0).all(|x| alpha(&across, x, 5) == 0), "the lower border ends it");

    let rect = PixelRect { left: 190, top: 110, width: 20, height: 20 };
    let corner = |x: i32, y: i32| (x as f32, y as f32);
    let polygon = vec![corner(190, 110), corner(210, 110), corner(210, 130), corner(190, 130)];
    for shape in [Shape::Rectangle(rect), Shape::Polygon(polygon)] {
        let mut document = blank();
        let layer = document.content().current();
        let shape = Shape::Wrapped { shape: Box::new(shape), wraps: [true; 2] };
        document.apply(&DocumentEdit::Fill { layer, shape, ink: Ink::Colour([9, 8, 7]), opacity: 255 }).unwrap();
        let covered = (0..SIZE.1).flat_map(|y| (0..SIZE.0).map(move |x| (x, y))).filter(|(x, y)| alpha(&document, *x, *y) == 255);
        let is_corner = |x: i32, y: i32| !(10..190).contains(&x) && !(10..110).contains(&y);
        assert!(covered.clone().count() == 400 && covered.clone().all(|(x, y)| is_corner(x, y)));
    }
}

#[test]
fn an_accepted_candidate_lies_above_the_picture_and_empties_the_mask() {
    let mut document = document();
    let base = document.content().picture();
    let layer = document.add_layer(LayerKind::Mask, "Mask", None).unwrap();
    let ink = Ink::Colour(MASK_COLOUR);
    let fill = DocumentEdit::Fill { layer, shape: Shape::Rectangle(PixelRect::of_size(9, 9)), ink, opacity: 255 };
    document.apply(&fill).unwrap();
    let masked = document.content().clone();
    let mut pixels = base.pixels().to_vec();
    pixels[0] ^= 0x80;
    let candidate = Rgb8::new(300, 280, pixels).unwrap();
    let patch = TileImage::of_difference(&candidate, &base).unwrap();
    document.accept_candidate("Generated", patch, None).unwrap();
    let kinds: Vec<_> = document.content().layers().iter().map(|layer| layer.kind.clone()).collect();
    assert_eq!(kinds, [LayerKind::Paint, LayerKind::Paint, LayerKind::Mask]);
    assert_eq!((document.content().picture(), document.content().mask()), (candidate, None));
    document.undo().unwrap();
    assert!(document.content() == &masked, "one change");
}

#[test]
fn masks_cover_what_is_generated_and_are_no_part_of_the_picture() {
    let mut document = document();
    let picture = document.content().picture();
    assert_eq!(document.content().mask(), None);
    let layer = document.add_layer(LayerKind::Mask, "Mask", None).unwrap();
    let rect = PixelRect { left: 10, top: 20, width: 30, height: 40 };
    let ink = Ink::Colour(MASK_COLOUR);
    document.apply(&DocumentEdit::Fill { layer, shape: Shape::Rectangle(rect), ink, opacity: 255 }).unwrap();
    assert_eq!(document.content().mask().unwrap().bounds(), Some(rect));
    assert_eq!(document.content().picture(), picture);
    assert!(document.content().compose(rect, LayerChoice::Visible) != document.content().compose(rect, LayerChoice::Picture));
    document.apply(&DocumentEdit::Invert(layer)).unwrap();
    let mask = document.content().mask().unwrap();
    assert_eq!((mask.row(0)[0], mask.row(30)[20]), (255, 0));
    document.remove_layer(layer).unwrap();
    document.apply(&DocumentEdit::Reframe(PixelRect { left: -50, top: 0, width: 350, height: 280 })).unwrap();
    let mask = document.content().mask().unwrap();
    assert_eq!(mask.bounds(), Some(PixelRect::of_size(50, 280)), "what has no pixels is generated");
    assert_eq!(document.content().colour_at(10, 10), None);
    assert_eq!(document.content().colour_at(50, 0).unwrap(), picture.pixels()[..3]);
}

#[test]
fn a_region_is_a_part_of_its_own_and_is_hidden_once_its_candidate_is_accepted() {
    let mut document = document();
    let picture = document.content().picture();
    let boat = document.add_layer(LayerKind::Region { words: String::new() }, "Boat", None).unwrap();
    assert_eq!(document.content().region_mask(boat), None, "nothing is on it");
    let rect = PixelRect { left: 10, top: 20, width: 30, height: 40 };
    let ink = Ink::Colour(document.content().current_layer().ink([0; 3]));
    document.apply(&DocumentEdit::Fill { layer: boat, shape: Shape::Rectangle(rect), ink, opacity: 255 }).unwrap();
    document.set_words(boat, "a small").unwrap();
    document.set_words(boat, "a small boat").unwrap();
    assert_eq!(document.content().region_mask(boat).unwrap().bounds(), Some(rect));
    assert_eq!((document.content().mask(), document.content().picture()), (None, picture.clone()), "neither mask nor paint");

    let mask = document.add_layer(LayerKind::Mask, "Mask", None).unwrap();
    let fill = DocumentEdit::Fill { layer: mask, shape: Shape::Rectangle(rect), ink: Ink::Colour(MASK_COLOUR), opacity: 255 };
    document.apply(&fill).unwrap();
    document.accept_candidate("Generated", TileImage::of_picture(&picture), Some(boat)).unwrap();
    assert_eq!((document.content().region_mask(boat), document.content().mask().is_some()), (None, true), "the mask is not of that part");

    document.set_kind(boat, LayerKind::Mask).unwrap();
    document.undo().unwrap();
    let LayerKind::Region { words } = &document.content().layer(boat).unwrap().kind else { panic!() };
    assert_eq!(words, "a small boat");
    document.set_kind(boat, LayerKind::Region { words: String::new() }).unwrap();
    assert_ne!(document.content().layer(boat).unwrap().kind, LayerKind::Region { words: String::new() }, "its words stay");
    document.set_locked(boat, true).unwrap();
    assert_eq!(document.set_kind(boat, LayerKind::Paint), Err(LayerError::Locked));
}

#[test]
fn layers_of_control_and_reference_are_pictures_of_their_own() {
    let mut document = document();
    let picture = document.content().picture();
    assert!(document.content().control_picture().is_none() && document.content().reference_pictures().is_empty());
    let rect = PixelRect { left: 100, top: 20, width: 30, height: 40 };
    for kind in [LayerKind::Control, LayerKind::Reference] {
        let layer = document.add_layer(kind, "Guide", None).unwrap();
        let ink = Ink::Colour([200, 100, 50]);
        document.apply(&DocumentEdit::Fill { layer, shape: Shape::Rectangle(rect), ink, opacity: 255 }).unwrap();
    }
    assert_eq!(document.content().picture(), picture);
    let control = document.content().control_picture().unwrap();
    assert_eq!((control.width(), control.height()), (300, 280));
    let at = |x: usize, y: usize| &control.pixels()[(y * 300 + x) * 3..][..3];
    assert_eq!((at(110, 30), at(5, 5)), ([200, 100, 50].as_slice(), [0; 3].as_slice()), "fully, over black");
    let references = document.content().reference_pictures();
    assert_eq!(references.iter().map(|it| (it.width(), it.height())).collect::<Vec<_>>(), [(30, 40)], "no more than it holds");
    assert!(references[0].pixels().chunks_exact(3).all(|pixel| pixel == [200, 100, 50]));
    document.set_visible(document.content().current(), false).unwrap();
    assert!(document.content().reference_pictures().is_empty(), "what is hidden guides nothing");
}

/// A document of 300 x 40 pixels: grey, with a layer of red on its left half above.
fn two_layers() -> (Document, LayerId) {
    let pixels = Rgb8::new(300, 40, vec![100; 300 * 40 * 3]).unwrap();
    let mut document = Document::new(DocumentContent::new("Picture", TileImage::of_picture(&pixels)).unwrap());
    let layer = document.add_layer(LayerKind::Paint, "Red", None).unwrap();
    let shape = Shape::Rectangle(PixelRect { left: 0, top: 0, width: 150, height: 40 });
    document.apply(&DocumentEdit::Fill { layer, shape, ink: Ink::Colour([200, 0, 0]), opacity: 255 }).unwrap();
    (document, layer)
}

#[test]
fn a_blend_mode_is_seen_in_what_is_composed_and_one_change() {
    let (mut document, layer) = two_layers();
    let before = document.content().colour_at(10, 10);
    let dirty = document.set_blend(layer, BlendMode::Multiply).unwrap();
    assert!(dirty.contains(10, 10));
    assert_eq!(document.content().colour_at(10, 10), Some([78, 0, 0]));
    assert_eq!(document.content().picture().pixels()[0], 78, "alike in what is exported");
    document.undo();
    assert_eq!(document.content().colour_at(10, 10), before);
}

#[test]
fn locked_opacity_lets_colours_change_alone() {
    let (mut document, layer) = two_layers();
    document.set_alpha_locked(layer, true).unwrap();
    let fill = |ink| DocumentEdit::Fill { layer, shape: Shape::All, ink, opacity: 255 };
    document.apply(&fill(Ink::Colour([0, 0, 250]))).unwrap();
    let pixels = |document: &Document| [10, 200].map(|x| document.content().layer(layer).unwrap().pixels.pixel(x, 10));
    assert_eq!(pixels(&document), [[0, 0, 250, 255], [0; 4]]);
    document.apply(&fill(Ink::Eraser)).unwrap();
    assert_eq!(pixels(&document), [[0, 0, 250, 255], [0; 4]]);
    let brush = Brush { size: 30.0, hardness: 1.0, ..Brush::default() };
    let stroke = Stroke::begin(&mut document, brush, Ink::Colour([9, 9, 9]), StrokePoint { x: 150.0, y: 10.0, pressure: 1.0 }).unwrap();
    stroke.0.finish(&mut document);
    let layer = document.content().layer(layer).unwrap();
    assert_eq!((layer.pixels.pixel(145, 10), layer.pixels.pixel(155, 10)), ([9, 9, 9, 255], [0; 4]));
}

#[test]
fn merged_layers_look_as_they_did() {
    for (blend, opacity) in [(BlendMode::Normal, 255), (BlendMode::Multiply, 120), (BlendMode::Difference, 255)] {
        let (mut document, layer) = two_layers();
        document.set_blend(layer, blend).unwrap();
        document.set_opacity(layer, opacity).unwrap();
        let before = document.content().picture();
        document.apply(&DocumentEdit::MergeDown(layer)).unwrap();
        assert_eq!((document.content().layers().len(), document.content().picture()), (1, before), "{blend:?}");
        assert_eq!(document.content().current_layer().name, "Picture");
        assert_eq!(document.apply(&DocumentEdit::MergeDown(document.content().current())), Err(LayerError::NothingBelow));
    }
    let (mut document, layer) = two_layers();
    let mask = document.add_layer(LayerKind::Mask, "Mask", None).unwrap();
    assert_eq!(document.apply(&DocumentEdit::MergeDown(mask)), Err(LayerError::NothingBelow), "a mask is no paint");
    document.set_locked(document.content().layers()[0].id, true).unwrap();
    assert_eq!(document.apply(&DocumentEdit::MergeDown(layer)), Err(LayerError::Locked));
}

#[test]
fn a_layer_is_moved_from_its_first_pixels_and_words_move_with_it() {
    let (mut document, layer) = two_layers();
    let from = document.content().layer(layer).unwrap().pixels.clone();
    let away = LayerTransform::moved(-200.0, 0.0);
    document.apply(&DocumentEdit::Transform { layer, from: from.clone(), by: away }).unwrap();
    assert_eq!(document.content().colour_at(10, 10), Some([100; 3]));
    let back = away.then(&LayerTransform::moved(210.0, 0.0));
    document.apply(&DocumentEdit::Transform { layer, from, by: back }).unwrap();
    assert_eq!([5, 12].map(|x| document.content().colour_at(x, 10)), [Some([100; 3]), Some([200, 0, 0])], "nothing was lost on the way");

    let text = LayerText { words: "A".into(), size: 20, colour: [1, 2, 3], left: 4, top: 5 };
    let words = document.add_text("Words", text.clone(), TileImage::new(300, 40)).unwrap();
    let place = |document: &Document| document.content().layer(words).unwrap().text.as_ref().map(|text| (text.left, text.top));
    document.apply(&DocumentEdit::Transform { layer: words, from: TileImage::new(300, 40), by: LayerTransform::moved(7.0, -2.0) }).unwrap();
    assert_eq!(place(&document), Some((11, 3)));
    document.apply(&DocumentEdit::Reframe(PixelRect { left: 10, top: 0, width: 290, height: 40 })).unwrap();
    assert_eq!(place(&document), Some((1, 3)));
    let turned = LayerTransform::turned((0.0, 0.0), 1.0);
    document.apply(&DocumentEdit::Transform { layer: words, from: TileImage::new(290, 40), by: turned }).unwrap();
    assert_eq!(place(&document), None, "turned words are pixels");
    document.undo();
    document.apply(&DocumentEdit::Fill { layer: words, shape: Shape::All, ink: Ink::Colour([0; 3]), opacity: 255 }).unwrap();
    assert_eq!(place(&document), None, "painted on, too");
    document.undo();
    assert_eq!(place(&document), Some((1, 3)));
}

#[test]
fn a_mask_grows_shrinks_and_softens_in_the_document() {
    let (mut document, _) = two_layers();
    let mask = document.add_layer(LayerKind::Mask, "Mask", None).unwrap();
    let shape = Shape::Rectangle(PixelRect { left: 240, top: 10, width: 20, height: 20 });
    document.apply(&DocumentEdit::Fill { layer: mask, shape, ink: Ink::Colour(MASK_COLOUR), opacity: 255 }).unwrap();
    let masked = |document: &Document| document.content().mask().and_then(|mask| mask.bounds());
    document.apply(&DocumentEdit::Grow(mask, 6)).unwrap();
    let wide = masked(&document).unwrap();
    assert!(wide.left <= 235 && wide.right() >= 265 && wide.left >= 233, "over the border of a tile: {wide:?}");
    document.apply(&DocumentEdit::Grow(mask, -12)).unwrap();
    let narrow = masked(&document).unwrap();
    assert!(narrow.left > 240 && narrow.right() < 260, "{narrow:?}");
    document.undo();
    document.undo();
    document.apply(&DocumentEdit::Feather(mask, 6)).unwrap();
    let row: Vec<u8> = document.content().mask().unwrap().row(20).to_vec();
    assert!(row[236] > 0 && row[236] < 128 && row[250] > 200, "{:?}", &row[230..262]);
    assert!(document.apply(&DocumentEdit::Grow(mask, i32::MAX)).is_ok() && document.apply(&DocumentEdit::Feather(mask, u32::MAX)).is_ok());
}

/// A document of one grey layer of this size.
fn grey(width: u32, height: u32) -> Document {
    let picture = Rgb8::new(width, height, vec![90; (width * height * 3) as usize]).unwrap();
    Document::new(DocumentContent::new("Picture", TileImage::of_picture(&picture)).unwrap())
}

#[test]
fn a_cut_out_layer_is_as_opaque_as_the_mask_says_and_comes_back() {
    let mut document = grey(300, 8);
    let layer = document.content().current();
    let before = document.content().clone();
    let mut opacities = Mask::filled(300, 8, 255);
    for (x, value) in [(0, 0), (1, 128), (299, 0)] {
        opacities.pixels_mut()[3 * 300 + x] = value;
    }
    document.apply(&DocumentEdit::CutOut(layer, opacities.clone())).unwrap();
    let pixel = |document: &Document, x: i32, y: i32| document.content().current_layer().pixels.pixel(x, y);
    assert_eq!([pixel(&document, 0, 3), pixel(&document, 299, 3)], [[0; 4]; 2]);
    assert_eq!([pixel(&document, 1, 3), pixel(&document, 2, 3)], [[90, 90, 90, 128], [90, 90, 90, 255]]);
    // Cut out twice, it is less opaque still.
    document.apply(&DocumentEdit::CutOut(layer, opacities.clone())).unwrap();
    assert_eq!(pixel(&document, 1, 3)[3], 64);
    document.undo().unwrap();
    document.undo().unwrap();
    assert_eq!(document.content(), &before);

    let small = Mask::filled(299, 8, 0);
    assert_eq!(document.apply(&DocumentEdit::CutOut(layer, small)), Err(LayerError::OtherSize));
    document.set_alpha_locked(layer, true).unwrap();
    assert_eq!(document.apply(&DocumentEdit::CutOut(layer, opacities)), Err(LayerError::AlphaLocked));
}

#[test]
fn regions_that_are_added_cover_their_place_in_one_change() {
    let mut document = grey(300, 40);
    let region = |left: i32, value: u8| {
        let rect = PixelRect { left, top: 5, width: 20, height: 10 };
        NewRegion { name: format!("face {left}"), rect, mask: Mask::filled(20, 10, value) }
    };
    // Over the border of two tiles.
    document.add_regions("Find faces and hands", &[region(10, 255), region(250, 100)]).unwrap();
    let layers = document.content().layers();
    let words = LayerKind::Region { words: String::new() };
    assert_eq!(
        layers.iter().map(|it| (it.name.as_str(), &it.kind)).skip(1).collect::<Vec<_>>(),
        [("face 10", &words), ("face 250", &words)]
    );
    assert_eq!(document.content().current(), layers[2].id);
    let covered: Vec<_> = layers[1..].iter().map(|it| document.content().region_mask(it.id).unwrap()).collect();
    assert_eq!(covered[0].bounds(), Some(PixelRect { left: 10, top: 5, width: 20, height: 10 }));
    assert_eq!((covered[1].row(5)[255], covered[1].row(14)[269], covered[1].row(15)[269]), (100, 100, 0));
    assert_eq!(document.next_undo(), Some("Find faces and hands"));
    document.undo().unwrap();
    assert_eq!(document.content().layers().len(), 1);
    assert_eq!(document.add_regions("Find faces and hands", &[region(290, 255)]), Err(LayerError::OtherSize));
    let many = vec![region(10, 255); MAX_LAYERS];
    assert_eq!(document.add_regions("Find faces and hands", &many), Err(LayerError::TooMany));
}
