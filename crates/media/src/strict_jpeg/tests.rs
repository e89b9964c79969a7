use std::fs;

use atelier_core::recipe::{ImageSource, PrintConversion};
use image::codecs::jpeg::JpegEncoder;
use image::{ExtendedColorType, ImageEncoder};
use proptest::prelude::*;

use super::*;
use crate::read_fine_image;

/// Bytes that each damage covers.
const STRETCH: usize = 40;
/// Least share of stretches whose damage is found; the rest are other numbers of the same length.
const MIN_FOUND: f64 = 0.9;

const BASELINE: &[u8] = include_bytes!("baseline.jpg");
const PROGRESSIVE: &[u8] = include_bytes!("progressive.jpg");
const RESTARTS: &[u8] = include_bytes!("restarts.jpg");
const PROGRESSIVE_RESTARTS: &[u8] = include_bytes!("progressive_restarts.jpg");
const GREY: &[u8] = include_bytes!("grey.jpg");
const CMYK: &[u8] = include_bytes!("cmyk.jpg");
/// Two inks with a profile of print in which cyan looks orange and magenta green.
const PROFILED: &[u8] = include_bytes!("inks.jpg");
const YCCK: &[u8] = include_bytes!("ycck.jpg");

/// Of each process, colours and restart intervals.
const FORMS: [(&str, &[u8]); 6] = [
    ("baseline", BASELINE),
    ("progressive", PROGRESSIVE),
    ("restarts", RESTARTS),
    ("progressive with restarts", PROGRESSIVE_RESTARTS),
    ("grey", GREY),
    ("inks", CMYK),
];

/// Where the compressed data begins and ends.
fn data(bytes: &[u8]) -> (usize, usize) {
    let scan = bytes.windows(2).position(|pair| pair == [0xff, 0xda]).unwrap();
    (scan + 2 + usize::from(bytes[scan + 3]), bytes.len() - 2)
}

/// The share of places at which this damage is found.
fn found(bytes: &[u8], damage: impl Fn(&mut Vec<u8>, usize)) -> f64 {
    let (from, to) = data(bytes);
    let places: Vec<Vec<u8>> = (from..to - STRETCH)
        .map(|at| {
            let mut damaged = bytes.to_vec();
            damage(&mut damaged, at);
            damaged
        })
        .filter(|damaged| damaged != bytes)
        .collect();
    let count = places.iter().filter(|damaged| decode_strictly(damaged).is_err()).count();
    count as f64 / places.len() as f64
}

#[test]
fn whole_files_are_read() {
    for (name, bytes) in FORMS {
        let jpeg = decode_strictly(bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        let size = match jpeg {
            Jpeg::Light(image) => (image.width(), image.height()),
            Jpeg::Inks { width, height, .. } => (width, height),
        };
        assert_eq!(size, (52, 37), "{name}");
    }
}

#[test]
fn what_stands_around_the_data_harms_nothing() {
    let whole = decode_strictly(BASELINE).unwrap();
    let mut after = BASELINE.to_vec();
    after.extend(b"what a phone appends \xff\xd8\xff\xe1");
    assert_eq!(decode_strictly(&after).unwrap(), whole);
    let mut two = BASELINE.to_vec();
    two.extend(PROGRESSIVE);
    assert_eq!(decode_strictly(&two).unwrap(), whole);
    let mut comment = BASELINE.to_vec();
    comment.splice(2..2, *b"\xff\xfe\x00\x08\xff\xd9\xff\xda\x00\x00");
    assert_eq!(decode_strictly(&comment).unwrap(), whole);
    let (_, end) = data(BASELINE);
    let mut filled = BASELINE.to_vec();
    filled.splice(end..end, [0xff, 0xff]);
    assert_eq!(decode_strictly(&filled).unwrap(), whole, "bytes that fill up to a marker");
}

#[test]
fn damage_in_the_middle_is_found() {
    for (name, bytes) in FORMS {
        let removed = found(bytes, |bytes, at| drop(bytes.drain(at..at + STRETCH)));
        let zeros = found(bytes, |bytes, at| bytes[at..at + STRETCH].fill(0));
        let ones = found(bytes, |bytes, at| bytes[at..at + STRETCH].fill(0xff));
        let other = found(bytes, |bytes, at| {
            let own = bytes[at..at + STRETCH].iter_mut().enumerate();
            own.for_each(|(index, byte)| *byte = byte.wrapping_mul(181).wrapping_add((index * 89) as u8));
        });
        let cut = found(bytes, Vec::truncate);
        let shares = [removed, zeros, ones, other, cut];
        assert!(shares.iter().all(|share| *share > MIN_FOUND), "{name}: {shares:?}");
        assert!(cut > 0.999, "{name}: {cut}");
    }
}

#[test]
fn intervals_that_are_exchanged_are_found() {
    let starts: Vec<usize> =
        RESTARTS.windows(2).enumerate().filter(|(_, pair)| matches!(pair, [0xff, 0xd0..=0xd7])).map(|(at, _)| at).collect();
    let [first, second, third, ..] = starts[..] else { panic!("{starts:?}") };
    let mut exchanged = RESTARTS[..first].to_vec();
    exchanged.extend(&RESTARTS[second..third]);
    exchanged.extend(&RESTARTS[first..second]);
    exchanged.extend(&RESTARTS[third..]);
    assert!(decode_strictly(&exchanged).is_err());
    let mut missing = RESTARTS.to_vec();
    missing.drain(first..second);
    assert!(decode_strictly(&missing).is_err());
}

#[test]
fn inks_are_those_of_the_file() {
    for (name, bytes, left, right) in
        [("inverted", PROFILED, [255, 0, 0, 0], [0, 200, 100, 60]), ("by brightness", YCCK, [0, 255, 255, 255], [255, 55, 154, 195])]
    {
        let Jpeg::Inks { width: 32, height: 16, inks } = decode_strictly(bytes).unwrap() else { panic!("{name} has no inks") };
        for (x, expected) in [(4, left), (20, right)] {
            let own = &inks[(4 * 32 + x) * 4..][..4];
            assert!(own.iter().zip(expected).all(|(one, two)| one.abs_diff(two) <= 4), "{name}: {own:?} in place of {expected:?}");
        }
    }
}

#[test]
fn inks_become_light_by_their_profile_or_else_by_a_formula_and_it_is_said() {
    let folder = tempfile::tempdir().unwrap();
    // By hand: linearly between the 16 colours of the profile, from its Lab to sRGB. Little CMS, which
    // divides the space between them otherwise, has [235, 102, 36] and [76, 129, 91].
    let by_profile = [[235, 102, 36], [61, 107, 79]];
    let by_formula = [[255, 0, 0], [0, 47, 24]];
    let damaged = {
        let mut bytes = PROFILED.to_vec();
        let at = bytes.windows(4).position(|own| own == b"mft1").unwrap();
        bytes[at..at + 4].copy_from_slice(b"none");
        bytes
    };
    let plain = [[0, 255, 255], [195, 42, 118]];
    let cases = [
        ("profile", PROFILED.to_vec(), by_profile, PrintConversion::Profile),
        ("no profile", YCCK.to_vec(), [[0, 0, 0], by_formula[1]], PrintConversion::Plain),
        ("damaged profile", damaged, plain, PrintConversion::Plain),
    ];
    for (name, bytes, expected, conversion) in cases {
        let path = folder.path().join("a.jpg");
        fs::write(&path, bytes).unwrap();
        let image = read_fine_image(&ImageSource::File(path)).unwrap();
        let fine = image.fine().unwrap();
        assert_eq!(fine.from_print, Some(conversion), "{name}");
        assert!(fine.colour_note().unwrap().contains("CMYK"), "{name}");
        for (x, expected) in [4, 20].into_iter().zip(expected) {
            let own = &image.pixels()[(4 * 32 + x) * 3..][..3];
            assert!(
                own.iter().zip(expected).all(|(one, two): (&u8, u8)| one.abs_diff(two) <= 6),
                "{name}: {own:?} in place of {expected:?}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_another_encoder_writes_is_whole(
        width in 1..60_u32, height in 1..60_u32, quality in 1..=100_u8, is_grey in any::<bool>(), seed in any::<u32>(),
    ) {
        let colour = if is_grey { ExtendedColorType::L8 } else { ExtendedColorType::Rgb8 };
        let count = width * height * if is_grey { 1 } else { 3 };
        // Noise, whose blocks hold every coefficient, and edges of full contrast.
        let pixels: Vec<u8> = (0..count).map(|at| match seed % 2 {
            0 => (at.wrapping_add(seed).wrapping_mul(2_654_435_761) >> 17) as u8,
            _ => if (at / 5 + seed / 7).is_multiple_of(3) { 255 } else { 0 },
        }).collect();
        let mut bytes = Vec::new();
        JpegEncoder::new_with_quality(&mut bytes, quality).write_image(&pixels, width, height, colour).unwrap();
        prop_assert!(decode_strictly(&bytes).is_ok(), "{:?}", decode_strictly(&bytes));
    }
}
