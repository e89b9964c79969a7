//! A screen that nobody sees: an Xvfb of our own, and what it shows.
//!
//! The pixels are read from the file in which Xvfb keeps its frame buffer, so a screenshot is what
//! a person would have seen, window manager or not, and takes no further program.

#![allow(dead_code, reason = "a box of tools: no test needs all of them")]

use std::fs;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use image::{Rgb, RgbImage};

/// A running Xvfb.
pub(crate) struct Screen {
    server: Child,
    /// The name by which clients find it, such as `:99`.
    pub(crate) display: String,
    folder: tempfile::TempDir,
}

impl Screen {
    /// Starts one on a free display, `width` by `height` pixels.
    pub(crate) fn start(width: u32, height: u32) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut server = Command::new("Xvfb")
            .args(["-displayfd", "1", "-nolisten", "tcp", "-noreset", "-screen", "0", &format!("{width}x{height}x24"), "-fbdir"])
            .arg(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("Xvfb could not be started: install the package `xvfb`, or let `cargo xtask test` do it")?;
        let mut number = String::new();
        if let Some(mut pipe) = server.stdout.take() {
            // Xvfb writes its display's number and closes the pipe once it accepts clients.
            pipe.read_to_string(&mut number)?;
        }
        if number.trim().parse::<u32>().is_err() {
            let _ = server.kill();
            bail!("Xvfb ended before it had a display: {:?}", server.wait()?);
        }
        Ok(Self { server, display: format!(":{}", number.trim()), folder })
    }

    /// Picture of the screen.
    pub(crate) fn shot(&self) -> Result<RgbImage> {
        decode_xwd(&fs::read(self.file())?)
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("Xvfb_screen0")
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Reads an X window dump of 32 bits a pixel, the only kind that our Xvfb makes.
pub(crate) fn decode_xwd(bytes: &[u8]) -> Result<RgbImage> {
    let field = |index: usize| -> Result<usize> {
        let four = bytes.get(index * 4..index * 4 + 4).context("the dump is cut short")?;
        Ok(u32::from_be_bytes(four.try_into()?) as usize)
    };
    ensure!((field(1)?, field(2)?, field(11)?) == (7, 2, 32), "not a dump of version 7 with 32 bits a pixel");
    let (width, height, little_endian, stride) = (field(4)?, field(5)?, field(7)? == 0, field(12)?);
    let shifts = [field(14)?, field(15)?, field(16)?].map(usize::trailing_zeros);
    let pixels = bytes.get(field(0)? + field(19)? * 12..).context("the dump has no pixels")?;
    let mut image = RgbImage::new(width as u32, height as u32);
    for (y, row) in image.rows_mut().enumerate() {
        let line = pixels.get(y * stride..y * stride + width * 4).context("the dump is cut short")?;
        for (pixel, four) in row.zip(line.as_chunks::<4>().0) {
            let value = if little_endian { u32::from_le_bytes(*four) } else { u32::from_be_bytes(*four) };
            *pixel = Rgb(shifts.map(|shift| (value >> shift) as u8));
        }
    }
    Ok(image)
}

/// A part of the screen, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Area {
    /// Left edge.
    pub(crate) x: u32,
    /// Upper edge.
    pub(crate) y: u32,
    pub(crate) width: u32,
    pub(crate) height: u32,
}

impl Area {
    pub(crate) const fn centre(self) -> (u32, u32) {
        (self.x + self.width / 2, self.y + self.height / 2)
    }

    /// The square in its middle, `side` pixels wide.
    pub(crate) const fn middle(self, side: u32) -> Self {
        let (x, y) = self.centre();
        Self { x: x.saturating_sub(side / 2), y: y.saturating_sub(side / 2), width: side, height: side }
    }
}

/// Number of different colours in an area; 1 means that it is blank.
pub(crate) fn colours(image: &RgbImage, area: Area) -> usize {
    let mut seen: Vec<[u8; 3]> = pixels(image, area).map(|pixel| pixel.0).collect();
    seen.sort_unstable();
    seen.dedup();
    seen.len()
}

/// The share of an area's pixels, 0 to 1, that differ between two pictures of the screen.
pub(crate) fn changed(before: &RgbImage, after: &RgbImage, area: Area) -> f64 {
    let differing = pixels(before, area).zip(pixels(after, area)).filter(|(one, other)| one != other).count();
    differing as f64 / f64::from((area.width * area.height).max(1))
}

fn pixels(image: &RgbImage, area: Area) -> impl Iterator<Item = &Rgb<u8>> {
    let (right, lower) = ((area.x + area.width).min(image.width()), (area.y + area.height).min(image.height()));
    (area.y..lower).flat_map(move |y| (area.x..right).map(move |x| image.get_pixel(x, y)))
}

#[cfg(test)]
mod tests {
    /// A dump 2 by 1 pixels with one colour map entry and a row longer than its pixels.
    fn dump() -> Vec<u8> {
        let mut fields = [0_u32; 25];
        for (index, value) in
            [(0, 104), (1, 7), (2, 2), (4, 2), (5, 1), (11, 32), (12, 12), (14, 0xff_0000), (15, 0xff00), (16, 0xff), (19, 1)]
        {
            fields[index] = value;
        }
        let mut bytes: Vec<u8> = fields.iter().flat_map(|field| field.to_be_bytes()).collect();
        bytes.extend(*b"me\0\0");
        bytes.extend([0; 12]);
        bytes.extend([3, 2, 1, 0, 6, 5, 4, 0, 9, 9, 9, 9]);
        bytes
    }

    #[test]
    fn a_dump_is_read_past_its_name_and_its_colours() {
        // In each test, since a bench that includes this file has no tests.
        use super::decode_xwd;
        let image = decode_xwd(&dump()).unwrap();
        assert_eq!(image.dimensions(), (2, 1));
        assert_eq!(image.into_raw(), [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn a_dump_that_is_cut_short_is_refused() {
        use super::decode_xwd;
        let bytes = dump();
        for length in [0, 50, 104, bytes.len() - 8] {
            assert!(decode_xwd(&bytes[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn colours_and_changes_are_counted_inside_the_area_only() {
        use super::{Area, Rgb, RgbImage, changed, colours};
        let blank = RgbImage::new(4, 4);
        let mut drawn = blank.clone();
        drawn.put_pixel(3, 3, Rgb([9, 9, 9]));
        let area = |x, y, width, height| Area { x, y, width, height };
        assert_eq!((colours(&drawn, area(0, 0, 3, 3)), colours(&drawn, area(2, 2, 9, 9))), (1, 2));
        assert!(changed(&blank, &drawn, area(0, 0, 3, 3)) == 0.0);
        assert!((changed(&blank, &drawn, area(2, 2, 2, 2)) - 0.25).abs() < 1e-9);
    }
}
