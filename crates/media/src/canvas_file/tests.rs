//! Canvases come back as they were written, other programs read them, and archives of strangers do
//! no harm.

use std::fs;
use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use zip::write::{SimpleFileOptions, ZipWriter};
use zip::{CompressionMethod, ZipArchive};

use super::*;
use crate::PictureError;
use atelier_core::bounded_reader::BoundedReader;
use atelier_core::canvas::{
    Document, DocumentContent, DocumentEdit, Ink, Layer, LayerChoice, LayerId, LayerKind, MAX_LAYERS, PixelRect, Shape, TileImage,
};
use atelier_core::recipe::Rgb8;

fn canvas() -> DocumentContent {
    let picture = Rgb8::new(300, 200, (0..300 * 200 * 3).map(|n| (n * 7 / 5) as u8).collect()).unwrap();
    let mut document = Document::new(DocumentContent::new("A <lake> & \"trees\"", TileImage::of_picture(&picture)).unwrap());
    let layer = document.add_layer(LayerKind::Mask, "Mask", None).unwrap();
    let rect = PixelRect { left: 260, top: 10, width: 30, height: 90 };
    let fill = |layer, shape| DocumentEdit::Fill { layer, shape, ink: Ink::Colour([9, 8, 7]), opacity: 200 };
    document.apply(&fill(layer, Shape::Rectangle(rect))).unwrap();
    document.add_layer(LayerKind::Region { words: "a boat".into() }, "Boat", None).unwrap();
    let layer = document.add_layer(LayerKind::Paint, "Glaze", None).unwrap();
    document.apply(&fill(layer, Shape::Gradient { from: (0.0, 0.0), to: (300.0, 0.0) })).unwrap();
    document.set_opacity(layer, 90).unwrap();
    document.set_locked(layer, true).unwrap();
    document.set_visible(document.content().layers()[2].id, false).unwrap();
    document.select_layer(document.content().layers()[1].id);
    document.content().clone()
}

fn is_same(one: &DocumentContent, other: &DocumentContent) -> bool {
    // Numbers of layers belong to the program that is running.
    let layers = |content: &DocumentContent| -> Vec<_> {
        content.layers().iter().map(|it| (it.kind.clone(), it.name.clone(), it.visible, it.opacity, it.locked, it.pixels.clone())).collect()
    };
    let current = |content: &DocumentContent| content.layers().iter().position(|layer| layer.id == content.current());
    layers(one) == layers(other) && current(one) == current(other)
}

#[test]
fn a_canvas_comes_back_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.atelier");
    let content = canvas();
    write_canvas(&path, &content).unwrap();
    assert!(is_same(&read_canvas(&path).unwrap(), &content));
    let blank = DocumentContent::new("a", TileImage::new(7, 5)).unwrap();
    write_canvas(&path, &blank).unwrap();
    assert!(is_same(&read_canvas(&path).unwrap(), &blank), "the file was replaced");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let error = write_canvas(&path.join("below"), &blank).unwrap_err();
    assert!(matches!(error, PictureError::Write { .. }), "{error}");
}

#[test]
fn other_programs_find_the_layers_and_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ora");
    let content = canvas();
    write_open_raster(&path, &content).unwrap();
    let bytes = fs::read(&path).unwrap();
    assert_eq!(&bytes[30..54], b"mimetypeimage/openraster", "a plain entry, the first");
    let mut zip = ZipArchive::new(Cursor::new(bytes)).unwrap();
    let mut text = String::new();
    zip.by_name("stack.xml").unwrap().read_to_string(&mut text).unwrap();
    let xml = roxmltree::Document::parse(&text).unwrap();
    let names: Vec<_> = xml.descendants().filter_map(|node| node.attribute("name")).collect();
    assert_eq!(names, ["Glaze", "Boat", "Mask", "A <lake> & \"trees\""], "from the top");
    let hidden = xml.descendants().filter(|node| node.attribute("visibility") == Some("hidden")).count();
    assert_eq!(hidden, 2);
    let mut read = |name: &str| {
        let mut png = Vec::new();
        zip.by_name(name).unwrap().read_to_end(&mut png).unwrap();
        image::load_from_memory(&png).unwrap()
    };
    assert_eq!(read("data/layer0.png").into_rgba8().into_raw(), content.layers()[0].pixels.read(content.bounds()));
    let whole = content.compose(content.bounds(), LayerChoice::Picture);
    assert_eq!(read("mergedimage.png").into_rgba8().into_raw(), whole);
    assert_eq!(read("Thumbnails/thumbnail.png").width(), 256);

    let png = folder.path().join("a.png");
    write_composition(&png, &content).unwrap();
    assert_eq!(image::open(&png).unwrap().into_rgba8().into_raw(), whole);
    let out = folder.path().join("layers");
    let first = write_layers(&out, &content).unwrap();
    let again = write_layers(&out, &content).unwrap();
    assert!(first.iter().chain(&again).all(|path| path.is_file()) && fs::read_dir(&out).unwrap().count() == 8, "none replaced another");
    assert!(first[0].ends_with("01 A  lake     trees.png"), "{}", first[0].display());
}

/// An archive with these entries.
fn archive(folder: &Path, entries: &[(&str, &[u8])]) -> PathBuf {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        zip.start_file(*name, SimpleFileOptions::default().compression_method(CompressionMethod::Deflated)).unwrap();
        zip.write_all(bytes).unwrap();
    }
    let path = folder.join("hostile.atelier");
    fs::write(&path, zip.finish().unwrap().into_inner()).unwrap();
    path
}

fn list(width: u32, height: u32, layers: usize, frame: &str) -> String {
    let layer = format!(r#"{{"kind":"paint","name":"a","visible":true,"opacity":255,"locked":false,"frame":{frame}}}"#);
    let layers = vec![layer; layers].join(",");
    format!(r#"{{"format":1,"width":{width},"height":{height},"current":9,"layers":[{layers}]}}"#)
}

fn png(width: u32, height: u32, color: png::ColorType) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(color);
    let samples = color.samples();
    encoder.write_header().unwrap().write_image_data(&vec![200; width as usize * height as usize * samples]).unwrap();
    bytes
}

#[test]
fn archives_of_strangers_are_refused_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = |entries: &[(&str, &[u8])]| {
        let path = archive(folder.path(), entries);
        let error = read_canvas(&path).unwrap_err();
        assert!(matches!(error, PictureError::NotACanvas { .. }), "{error}");
        error.to_string()
    };
    let frame = r#"{"left":0,"top":0,"width":8,"height":8}"#;
    let good = list(8, 8, 1, frame);
    let rgba = png(8, 8, png::ColorType::Rgba);
    let path = archive(folder.path(), &[("canvas.json", good.as_bytes()), ("layers/0.png", &rgba)]);
    assert_eq!(read_canvas(&path).unwrap().layers()[0].pixels.pixel(7, 7), [200; 4]);

    for (entries, words) in [
        (vec![], "missing"),
        (vec![("canvas.json", &b"{}"[..])], "cannot be read"),
        (vec![("canvas.json", good.as_bytes())], "layers/0.png is missing"),
        (vec![("canvas.json", list(0, 8, 1, frame).as_bytes())], "not a valid canvas size"),
        (vec![("canvas.json", list(u32::MAX, u32::MAX, 1, frame).as_bytes())], "not a valid canvas size"),
        (vec![("canvas.json", list(8, 8, 0, frame).as_bytes())], "0 layers"),
        (vec![("canvas.json", list(8, 8, 65, frame).as_bytes())], "65 layers"),
        (vec![("canvas.json", list(7, 8, 1, frame).as_bytes())], "outside"),
        (vec![("canvas.json", list(8, 8, 1, r#"{"left":-1,"top":0,"width":4,"height":4}"#).as_bytes())], "outside"),
        (
            vec![("canvas.json", list(8, 8, 1, r#"{"left":2147483647,"top":0,"width":4294967295,"height":4294967295}"#).as_bytes())],
            "outside",
        ),
        (vec![("canvas.json", list(16_384, 16_384, 5, r#"{"left":0,"top":0,"width":16384,"height":16384}"#).as_bytes())], "4 GiB"),
        (vec![("canvas.json", good.replace("\"format\":1", "\"format\":3").as_bytes())], "newer"),
        (vec![("canvas.json", good.as_bytes()), ("layers/0.png", b"GIF89a")], "not"),
        (vec![("canvas.json", good.as_bytes()), ("layers/0.png", &rgba[..rgba.len() / 2])], "not"),
        (vec![("canvas.json", good.as_bytes()), ("layers/0.png", &png(8, 8, png::ColorType::Rgb))], "RGBA"),
        (vec![("canvas.json", good.as_bytes()), ("layers/0.png", &png(9, 8, png::ColorType::Rgba))], "does not match"),
        // Zeros that pack a thousandfold.
        (vec![("canvas.json", good.as_bytes()), ("layers/0.png", &vec![0; 30 << 20])], "too large"),
        (vec![("canvas.json", &vec![b' '; 30 << 20])], "too large"),
    ] {
        let error = refusal(&entries);
        assert!(error.contains(words), "{words}: {error}");
    }
}

#[test]
fn damaged_files_of_ours_are_refused_or_read_and_never_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.atelier");
    write_canvas(&path, &canvas()).unwrap();
    let whole = fs::read(&path).unwrap();
    for cut in [0, 1, 21, whole.len() / 3, whole.len() - 1] {
        fs::write(&path, &whole[..cut]).unwrap();
        assert!(matches!(read_canvas(&path), Err(PictureError::NotACanvas { .. })), "{cut}");
    }
    for at in (0..whole.len()).step_by(whole.len() / 300) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        fs::write(&path, bytes).unwrap();
        match read_canvas(&path) {
            Ok(content) => assert!(content.bytes() <= 4 << 30),
            Err(error) => assert!(matches!(error, PictureError::NotACanvas { .. }), "{error}"),
        }
    }
    assert!(matches!(read_canvas(&folder.path().join("gone")), Err(PictureError::Read { .. })));
    assert!(matches!(read_canvas(folder.path()), Err(PictureError::NotACanvas { .. })));
}

/// Layers of a size, each with dots of four pixels a side at these places, which are shares of the
/// size in thousandths.
fn dotted(width: u32, height: u32, layers: &[Vec<(u32, u32)>]) -> DocumentContent {
    let layer = |(index, dots): (usize, &Vec<(u32, u32)>)| {
        let mut pixels = TileImage::new(width, height);
        for (x, y) in dots {
            let place = |share: &u32, side: u32| (u64::from(*share) * u64::from(side - 1) / 1000) as i32;
            let dot = PixelRect { left: place(x, width), top: place(y, height), width: 4, height: 4 };
            pixels.change(dot, true, |_, _, run| run.copy_from_slice(&[index as u8, 7, 200, 255].repeat(run.len() / 4)));
        }
        Layer::new(LayerId(0), LayerKind::Paint, format!("Layer {index}"), pixels)
    };
    DocumentContent::of_layers(layers.iter().enumerate().map(layer).collect(), 0).unwrap()
}

#[test]
fn layers_whose_pixels_lie_far_apart_stay_small_and_are_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.atelier");
    let corners = vec![(0, 0), (1000, 1000)];
    for (side, layers) in [(16_384, 5), (8_192, 17), (16_384, MAX_LAYERS)] {
        let content = dotted(side, side, &vec![corners.clone(); layers]);
        write_canvas(&path, &content).unwrap();
        let bytes = fs::metadata(&path).unwrap().len();
        assert!(bytes < 2 << 20, "{layers} layers of {side} pixels a side: {bytes} bytes");
        assert!(is_same(&read_canvas(&path).unwrap(), &content));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn what_is_written_is_read_back_however_thinly_it_is_painted(
        (width, height) in (1_u32..=16_384, 1_u32..=16_384),
        layers in prop::collection::vec(prop::collection::vec((0_u32..=1000, 0_u32..=1000), 0..5), 1..20),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.atelier");
        let content = dotted(width, height, &layers);
        write_backup(&path, &content, None).unwrap();
        prop_assert!(is_same(&read_canvas(&path).unwrap(), &content));
    }
}

#[test]
fn noise_and_colours_without_opacity_come_back_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.atelier");
    let mut pixels = TileImage::new(1500, 1200);
    let mut state = 88_172_645_463_325_252_u64;
    pixels.change(PixelRect::of_size(1500, 1200), true, |_, _, run| {
        for byte in run {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            *byte = state as u8;
        }
    });
    let mut erased = TileImage::new(1500, 1200);
    erased.change(PixelRect::of_size(9, 9), true, |_, _, run| run.copy_from_slice(&[9, 8, 7, 0].repeat(run.len() / 4)));
    let layer = |pixels| Layer::new(LayerId(0), LayerKind::Paint, "Layer", pixels);
    let content = DocumentContent::of_layers(vec![layer(pixels), layer(erased)], 0).unwrap();
    write_canvas(&path, &content).unwrap();
    assert!(is_same(&read_canvas(&path).unwrap(), &content));
}

#[test]
fn words_at_their_longest_fit_and_longer_ones_are_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.atelier");
    let words = |count: usize| "\u{1}".repeat(count);
    let content = |count: usize| {
        let kind = LayerKind::Region { words: words(count) };
        let layer = Layer::new(LayerId(0), kind, words(count), TileImage::new(4, 4));
        DocumentContent::of_layers(vec![layer; MAX_LAYERS], 0).unwrap()
    };
    write_canvas(&path, &content(LayerKind::MAX_WORDS)).unwrap();
    assert!(is_same(&read_canvas(&path).unwrap(), &content(LayerKind::MAX_WORDS)));
    let before = fs::read(&path).unwrap();
    let error = write_canvas(&path, &content(LayerKind::MAX_WORDS + 1)).unwrap_err();
    assert!(matches!(error, PictureError::CanvasTooLarge { .. }), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_canvas_that_is_too_large_is_refused_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let mut pixels = TileImage::new(4096, 4352);
    pixels.change(PixelRect::of_size(4096, 4352), true, |_, _, run| run[3] = 1);
    let layer = Layer::new(LayerId(0), LayerKind::Paint, "Layer", pixels);
    // All layers share the pixels, so the test itself takes 68 MiB.
    let content = DocumentContent::of_layers(vec![layer; MAX_LAYERS], 0).unwrap();
    let error = write_canvas(&folder.path().join("a.atelier"), &content).unwrap_err().to_string();
    assert!(error.contains("4 GiB") && error.contains("remove layers"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_backup_knows_the_persons_own_file_and_no_other_file_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.atelier");
    let home = CanvasHome { file: "/home/ann/Vögel & Bäume.atelier".into(), is_unchanged: true };
    write_backup(&path, &canvas(), Some(&home)).unwrap();
    let (content, read) = read_backup(&path).unwrap();
    assert!(is_same(&content, &canvas()) && read == Some(home));
    write_canvas(&path, &canvas()).unwrap();
    assert_eq!(read_backup(&path).unwrap().1, None);
    let bytes = fs::read(&path).unwrap();
    assert!(!bytes.windows(4).any(|part| part == b"home"));
}

#[cfg(unix)]
#[test]
fn a_backup_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.atelier");
    write_backup(&path, &canvas(), None).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn the_list_of_contents_of_the_most_pictures_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("many.zip");
    let mut zip = ZipWriter::new(fs::File::create(&path).unwrap());
    for picture in 0..=limits::MAX_PICTURES {
        zip.start_file(stored::picture_name(MAX_LAYERS, picture), write::options()).unwrap();
    }
    zip.finish().unwrap();
    let (file, _) = BoundedReader::new(fs::File::open(&path).unwrap(), limits::MAX_CONTENTS_BYTES);
    assert_eq!(ZipArchive::new(std::io::BufReader::new(file)).unwrap().len(), limits::MAX_PICTURES + 1);
}

#[test]
fn parts_of_strangers_are_bounded_as_frames_are() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = |parts: String| {
        let frame = r#"{"left":0,"top":0,"width":8,"height":8}"#;
        let text = list(16_384, 16_384, 1, frame).replace(&format!("\"frame\":{frame}"), &format!("\"frame\":{frame},\"parts\":[{parts}]"));
        let path = archive(folder.path(), &[("canvas.json", text.replace("\"format\":1", "\"format\":2").as_bytes())]);
        read_canvas(&path).unwrap_err().to_string()
    };
    let part = |side: u32| format!(r#"{{"left":0,"top":0,"width":{side},"height":{side}}}"#);
    for (parts, words) in [
        (part(16_385), "outside"),
        (part(0), "outside"),
        (vec![part(16_384); 5].join(","), "4 GiB"),
        (vec![part(1); 16_385].join(","), "too many parts"),
        (part(8), "is missing"),
    ] {
        let error = refusal(parts);
        assert!(error.contains(words), "{words}: {error}");
    }
}
