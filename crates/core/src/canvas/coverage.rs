//! Coverage: how much of each pixel a shape covers.

use super::compose::LayerChoice;
use super::content::DocumentContent;
use super::selection::Field;
use super::{Mask, PixelRect};

/// Pieces that a row is cut into where edges of a polygon cross it.
const SUB_ROWS: i32 = 4;

/// How much of each pixel of a rectangle is covered; 255 is all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// Left edge in the document.
    pub left: i32,
    /// Top edge in the document.
    pub top: i32,
    /// The values.
    pub mask: Mask,
}

/// A shape that is filled.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A polygon, closed by itself, of points in pixels; the lasso's.
    Polygon(Vec<(f32, f32)>),
    /// A rectangle.
    Rectangle(PixelRect),
    /// All pixels that are connected with this one and look like it.
    Bucket {
        /// The pixel.
        from: (i32, i32),
        /// Largest difference of a channel from that pixel's, 0 to 255.
        tolerance: u8,
    },
    /// All pixels that are connected with this one, up to the edges around it.
    EdgeBound {
        /// The pixel.
        from: (i32, i32),
        /// Largest change of a channel over two pixels that is no edge, 0 to 255.
        tolerance: u8,
    },
    /// The whole picture: all at `from` and beyond, less and less towards `to`.
    Gradient {
        /// Where it is all.
        from: (f32, f32),
        /// Where it is nothing.
        to: (f32, f32),
    },
    /// The whole picture.
    All,
    /// A shape of which what goes beyond a border comes back at the opposite one. A gradient falls
    /// to both sides then, so that its ends meet.
    Wrapped {
        /// The shape; a polygon or rectangle may lie beyond the borders.
        shape: Box<Self>,
        /// Whether left and right, top and bottom continue each other.
        wraps: [bool; 2],
    },
}

impl Shape {
    /// A polygon or rectangle so many pixels to the right and further down; others as they are.
    fn moved(&self, (dx, dy): (i32, i32)) -> Self {
        match self {
            Self::Polygon(points) => Self::Polygon(points.iter().map(|(x, y)| (x + dx as f32, y + dy as f32)).collect()),
            Self::Rectangle(rect) => {
                Self::Rectangle(PixelRect { left: rect.left.saturating_add(dx), top: rect.top.saturating_add(dy), ..*rect })
            }
            other => other.clone(),
        }
    }
}

impl Coverage {
    /// The rectangle that it speaks of.
    #[must_use]
    pub const fn bounds(&self) -> PixelRect {
        PixelRect { left: self.left, top: self.top, width: self.mask.width(), height: self.mask.height() }
    }

    /// The coverage of a shape in a document; `None` where it covers nothing.
    #[must_use]
    pub fn of_shape(shape: &Shape, content: &DocumentContent) -> Option<Self> {
        let bounds = content.bounds();
        match shape {
            Shape::Polygon(points) => polygon(points, bounds),
            Shape::Rectangle(rect) => {
                let rect = rect.intersection(&bounds);
                (!rect.is_empty()).then(|| Self::filled(rect))
            }
            Shape::Bucket { .. } | Shape::EdgeBound { .. } | Shape::Gradient { .. } => Self::of_field(shape, content, [false; 2]),
            Shape::All => Some(Self::filled(bounds)),
            Shape::Wrapped { shape, wraps } => wrapped(shape, *wraps, content),
        }
    }

    /// The coverage of a shape that depends on the whole picture.
    fn of_field(shape: &Shape, content: &DocumentContent, wraps: [bool; 2]) -> Option<Self> {
        match shape {
            Shape::Bucket { from, tolerance } => connected(content, *from, wraps, |field, first| field.alike(first, *tolerance)),
            Shape::EdgeBound { from, tolerance } => connected(content, *from, wraps, |field, first| field.within_edges(first, *tolerance)),
            Shape::Gradient { from, to } => gradient(content.bounds(), *from, *to, wraps),
            other => Self::of_shape(other, content),
        }
    }

    /// The more of both.
    fn united(&self, other: &Self) -> Self {
        let bounds = self.bounds().union(&other.bounds());
        let mut mask = Mask::filled(bounds.width, bounds.height, 0);
        for part in [self, other] {
            let (left, own) = ((part.left - bounds.left) as usize, part.bounds());
            for y in 0..own.height {
                let row = ((own.top - bounds.top) as u32 + y) as usize * bounds.width as usize + left;
                let target = mask.pixels_mut().get_mut(row..).unwrap_or_default();
                target.iter_mut().zip(part.mask.row(y)).for_each(|(value, more)| *value = (*value).max(*more));
            }
        }
        Self { left: bounds.left, top: bounds.top, mask }
    }

    fn filled(rect: PixelRect) -> Self {
        Self { left: rect.left, top: rect.top, mask: Mask::filled(rect.width, rect.height, 255) }
    }
}

fn wrapped(shape: &Shape, [x_wraps, y_wraps]: [bool; 2], content: &DocumentContent) -> Option<Coverage> {
    if !matches!(shape, Shape::Polygon(_) | Shape::Rectangle(_)) {
        return Coverage::of_field(shape, content, [x_wraps, y_wraps]);
    }
    let bounds = content.bounds();
    let ways = |side: u32, wraps: bool| if wraps { vec![0, side as i32, -(side as i32)] } else { vec![0] };
    let mut whole: Option<Coverage> = None;
    for dy in ways(bounds.height, y_wraps) {
        for dx in ways(bounds.width, x_wraps) {
            let Some(part) = Coverage::of_shape(&shape.moved((dx, dy)), content) else { continue };
            whole = Some(whole.map_or_else(|| part.clone(), |whole| whole.united(&part)));
        }
    }
    whole
}

/// A polygon by the even-odd rule, with smooth edges.
fn polygon(points: &[(f32, f32)], bounds: PixelRect) -> Option<Coverage> {
    let within = |(x, y): &(f32, f32)| x.is_finite() && y.is_finite();
    if points.len() < 3 || !points.iter().all(within) {
        return None;
    }
    let least = points.iter().fold((f32::MAX, f32::MAX), |(x, y), point| (x.min(point.0), y.min(point.1)));
    let most = points.iter().fold((f32::MIN, f32::MIN), |(x, y), point| (x.max(point.0), y.max(point.1)));
    let corner = |point: (f32, f32)| (point.0 as i32, point.1 as i32);
    let rect = PixelRect::between(corner((least.0.floor(), least.1.floor())), corner((most.0.ceil(), most.1.ceil()))).intersection(&bounds);
    if rect.is_empty() {
        return None;
    }
    let mut mask = Mask::filled(rect.width, rect.height, 0);
    let mut sums = vec![0.0_f32; rect.width as usize];
    let mut crossings = Vec::new();
    for (y, row) in (rect.top..).zip(mask.pixels_mut().chunks_exact_mut(rect.width as usize)) {
        sums.fill(0.0);
        for sub in 0..SUB_ROWS {
            let at = y as f32 + (sub as f32 + 0.5) / SUB_ROWS as f32;
            crossings.clear();
            for (one, two) in points.iter().zip(points.iter().cycle().skip(1)) {
                if (one.1 <= at) != (two.1 <= at) {
                    crossings.push(one.0 + (at - one.1) / (two.1 - one.1) * (two.0 - one.0) - rect.left as f32);
                }
            }
            crossings.sort_by(f32::total_cmp);
            for pair in crossings.chunks_exact(2) {
                add_span(&mut sums, pair[0], pair[1]);
            }
        }
        for (value, sum) in row.iter_mut().zip(&sums) {
            *value = (sum * 255.0 / SUB_ROWS as f32 + 0.5).min(255.0) as u8;
        }
    }
    Some(Coverage { left: rect.left, top: rect.top, mask })
}

/// Adds to each pixel of a row how much of it lies between two places.
fn add_span(sums: &mut [f32], from: f32, to: f32) {
    let (from, to) = (from.clamp(0.0, sums.len() as f32), to.clamp(0.0, sums.len() as f32));
    for (x, sum) in sums.iter_mut().enumerate().take(to.ceil() as usize).skip(from as usize) {
        *sum += (to.min(x as f32 + 1.0) - from.max(x as f32)).max(0.0);
    }
}

fn gradient(bounds: PixelRect, from: (f32, f32), to: (f32, f32), [x_wraps, y_wraps]: [bool; 2]) -> Option<Coverage> {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let square = dx * dx + dy * dy;
    if !(square.is_finite() && square >= 1.0) {
        return None;
    }
    // How far a pixel lies along the gradient by one axis alone. Where borders continue each other
    // that is the way to the nearest copy, on whichever side: both ends of a row meet.
    let along = |at: f32, from: f32, by: f32, side: u32, wraps: bool| {
        let away = at + 0.5 - from;
        let side = side as f32;
        if wraps { (away - (away / side).round() * side).abs() * by.abs() } else { away * by }
    };
    let across: Vec<f32> = (0..bounds.width).map(|x| along(x as f32, from.0, dx, bounds.width, x_wraps)).collect();
    let mut mask = Mask::filled(bounds.width, bounds.height, 0);
    for (y, row) in mask.pixels_mut().chunks_exact_mut(bounds.width as usize).enumerate() {
        let down = along(y as f32, from.1, dy, bounds.height, y_wraps);
        for (across, value) in across.iter().zip(row) {
            *value = ((1.0 - ((across + down) / square).clamp(0.0, 1.0)) * 255.0 + 0.5) as u8;
        }
    }
    Some(Coverage { left: 0, top: 0, mask })
}

/// What is connected with a pixel.
fn connected(
    content: &DocumentContent,
    from: (i32, i32),
    wraps: [bool; 2],
    select: impl FnOnce(&Field<'_>, usize) -> Mask,
) -> Option<Coverage> {
    let bounds = content.bounds();
    if !bounds.contains(from.0, from.1) {
        return None;
    }
    let pixels = content.compose(bounds, LayerChoice::Picture);
    let field = Field { width: bounds.width as usize, height: bounds.height as usize, pixels: &pixels, wraps };
    let first = from.1 as usize * field.width + from.0 as usize;
    Some(Coverage { left: 0, top: 0, mask: select(&field, first) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canvas::TileImage;

    fn blank(width: u32, height: u32) -> DocumentContent {
        DocumentContent::new("a", TileImage::new(width, height)).unwrap()
    }

    #[test]
    fn a_polygon_covers_its_area() {
        let square = [(1.5, 1.0), (5.0, 1.0), (5.0, 3.0), (1.5, 3.0)];
        let coverage = Coverage::of_shape(&Shape::Polygon(square.to_vec()), &blank(8, 8)).unwrap();
        assert_eq!(coverage.bounds(), PixelRect { left: 1, top: 1, width: 4, height: 2 });
        assert_eq!(coverage.mask.row(1), [128, 255, 255, 255]);
        let triangle: Vec<(f32, f32)> = vec![(0.0, 0.0), (100.0, 0.0), (0.0, 100.0)];
        let coverage = Coverage::of_shape(&Shape::Polygon(triangle), &blank(100, 100)).unwrap();
        let area: f64 = coverage.mask.pixels().iter().map(|value| f64::from(*value) / 255.0).sum();
        assert!((area - 5000.0).abs() < 10.0, "{area}");
        for hostile in [vec![], vec![(0.0, 0.0); 2], vec![(f32::NAN, 0.0); 4], vec![(-9.0, -9.0); 5]] {
            assert_eq!(Coverage::of_shape(&Shape::Polygon(hostile), &blank(8, 8)), None);
        }
    }

    #[test]
    fn a_bucket_fills_what_is_connected_and_alike() {
        let mut content = blank(9, 9);
        // A ring with a gap at a corner only, which sides do not pass.
        for (x, y) in [(3, 2), (4, 2), (5, 2), (2, 3), (2, 4), (2, 5), (6, 3), (6, 4), (6, 5), (3, 6), (4, 6), (5, 6)] {
            let rect = PixelRect { left: x, top: y, width: 1, height: 1 };
            content.layers[0].pixels.change(rect, true, |_, _, run| run.copy_from_slice(&[10, 10, 10, 255]));
        }
        let count = |from, tolerance| {
            let filled = Coverage::of_shape(&Shape::Bucket { from, tolerance }, &content).unwrap();
            filled.mask.pixels().iter().map(|value| usize::from(*value / 255)).sum::<usize>()
        };
        assert_eq!((count((4, 4), 0), count((0, 0), 0), count((3, 2), 0)), (9, 81 - 9 - 12, 3));
        assert_eq!(count((4, 4), 255), 81);
        assert_eq!(Coverage::of_shape(&Shape::Bucket { from: (9, 0), tolerance: 0 }, &content), None);
    }

    #[test]
    fn what_wraps_has_no_seam_at_the_borders() {
        let content = blank(40, 24);
        let wrapped = |shape, wraps| Coverage::of_shape(&Shape::Wrapped { shape: Box::new(shape), wraps }, &content).unwrap().mask;
        for (from, to, wraps) in [
            ((30.0, 12.0), (42.0, 12.0), [true, false]),
            ((8.0, 3.0), (8.0, -9.0), [false, true]),
            ((30.0, 20.0), (44.0, 31.0), [true, true]),
            ((20.0, 12.0), (1.0, 3.0), [true, true]),
        ] {
            let mask = wrapped(Shape::Gradient { from, to }, wraps);
            let at = |x: u32, y: u32| i32::from(mask.row(y % 24)[(x % 40) as usize]);
            // The greatest step from one pixel to the next, within and over the border.
            let steps = |range: std::ops::Range<u32>, step: &dyn Fn(u32) -> i32| range.map(step).max().unwrap();
            if wraps[0] {
                let step = |x: u32| steps(0..24, &|y| (at(x + 1, y) - at(x, y)).abs());
                assert!(step(39) <= steps(0..39, &step) && steps(0..39, &step) > 0, "{from:?} {to:?}");
            }
            if wraps[1] {
                let step = |y: u32| steps(0..40, &|x| (at(x, y + 1) - at(x, y)).abs());
                assert!(step(23) <= steps(0..23, &step) && steps(0..23, &step) > 0, "{from:?} {to:?}");
            }
        }
        // Without wrapping the same gradient ends at the border with a jump.
        let flat = Coverage::of_shape(&Shape::Gradient { from: (30.0, 12.0), to: (42.0, 12.0) }, &content).unwrap().mask;
        assert!(flat.row(0)[0].abs_diff(flat.row(0)[39]) > 100);
        let mut parted = blank(9, 3);
        for x in [2, 6] {
            let wall = PixelRect { left: x, top: 0, width: 1, height: 3 };
            parted.layers[0].pixels.change(wall, true, |_, _, run| run.copy_from_slice(&[10, 10, 10, 255]));
        }
        let bucket = Shape::Wrapped { shape: Box::new(Shape::Bucket { from: (0, 1), tolerance: 0 }), wraps: [true, false] };
        let filled = Coverage::of_shape(&bucket, &parted).unwrap().mask;
        assert_eq!(filled.row(0), [255, 255, 0, 0, 0, 0, 0, 255, 255]);
    }

    #[test]
    fn a_gradient_falls_from_all_to_nothing() {
        let coverage = Coverage::of_shape(&Shape::Gradient { from: (2.0, 0.0), to: (6.0, 0.0) }, &blank(8, 1)).unwrap();
        assert_eq!(coverage.mask.pixels(), [255, 255, 223, 159, 96, 32, 0, 0]);
        assert_eq!(Coverage::of_shape(&Shape::Gradient { from: (2.0, 0.0), to: (2.0, 0.0) }, &blank(8, 1)), None);
    }
}
