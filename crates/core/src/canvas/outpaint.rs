//! Extending a picture beyond its borders, in as many areas as its model needs to see enough of the
//! picture in each.

use super::area::plan_selection;
use super::{AreaPlan, AreaSettings, Borders, Mask, ModelSizes, PixelRect};
use crate::recipe::Rgb8;

/// Areas of one job; more than anyone waits for.
const MAX_AREAS: usize = 256;

/// A picture extended by borders, which repeat its nearest pixels. `None` where there are no
/// borders or the picture would be too large.
#[must_use]
pub fn extend_picture(picture: &Rgb8, borders: &Borders) -> Option<Rgb8> {
    let size = (picture.width(), picture.height());
    let (width, height) = borders.extended_size(size);
    if borders.is_empty() || size.0 == 0 || size.1 == 0 || width > Borders::MAX_SIDE || height > Borders::MAX_SIDE {
        return None;
    }
    let mut pixels = Vec::with_capacity(width as usize * height as usize * 3);
    for y in 0..height {
        let row = y.saturating_sub(borders.top).min(size.1 - 1) as usize * size.0 as usize * 3;
        let row = &picture.pixels()[row..][..size.0 as usize * 3];
        let (first, last) = (&row[..3], &row[row.len() - 3..]);
        pixels.extend(first.iter().cycle().take(borders.left as usize * 3));
        pixels.extend_from_slice(row);
        pixels.extend(last.iter().cycle().take(borders.right as usize * 3));
    }
    Rgb8::new(width, height, pixels)
}

/// The mask of the borders of a picture of this size: 255 there, 0 in the picture.
#[must_use]
pub fn border_mask(size: (u32, u32), borders: &Borders) -> Mask {
    let ((width, height), rect) = (borders.extended_size(size), borders.picture_rect(size));
    let mut mask = Mask::filled(width, height, 255);
    let rows = mask.pixels_mut().chunks_exact_mut(width.max(1) as usize).skip(borders.top as usize).take(rect.height as usize);
    for row in rows {
        row[borders.left as usize..][..rect.width as usize].fill(0);
    }
    mask
}

/// The place of a picture and its borders in a frame whose mask is 255 on all borders and 0 in all
/// of the picture; `None` for other masks.
#[must_use]
pub fn borders_of(mask: &Mask) -> Option<(PixelRect, Borders)> {
    let width = mask.width() as usize;
    let rows: Vec<&[u8]> = mask.pixels().chunks_exact(width.max(1)).collect();
    let top = rows.iter().position(|row| row.contains(&0))?;
    let bottom = rows.iter().rev().position(|row| row.contains(&0))?;
    let left = rows[top].iter().position(|value| *value == 0)?;
    let right = rows[top].iter().rev().position(|value| *value == 0)?;
    let side = |it: usize| u32::try_from(it).ok();
    let borders = Borders { left: side(left)?, top: side(top)?, right: side(right)?, bottom: side(bottom)? };
    let size = (side(width - left - right)?, side(rows.len() - top - bottom)?);
    (border_mask(size, &borders) == *mask).then(|| (borders.picture_rect(size), borders))
}

/// The areas that extend a picture of this size, one after the other, in pixels of the extended
/// picture. At least half of what the model sees of each is the picture or an area before it. Empty
/// where there are no borders.
#[must_use]
pub fn plan_outpaint(size: (u32, u32), borders: &Borders, sizes: &ModelSizes, strength: f32, settings: &AreaSettings) -> Vec<AreaPlan> {
    let frame = borders.extended_size(size);
    let mut known = borders.picture_rect(size);
    if known.is_empty() {
        return Vec::new();
    }
    let mut areas = Vec::new();
    for side in [Side::Left, Side::Right, Side::Top, Side::Bottom] {
        let mut missing = side.missing(&known, frame);
        while missing > 0 {
            let depth = missing.min((sizes.best / 2).max(1)).min(side.depth(&known)).max(1);
            let strip = side.strip(&known, depth);
            // What is made later is not seen.
            let limits = known.union(&strip);
            for block in blocks(&strip, side, sizes) {
                let crop = side.crop(&block, &known, sizes);
                let settings = AreaSettings { crop: Some(crop), ..*settings };
                let is_selected = |x: u32, y: u32| block.contains(x as i32, y as i32);
                areas.push(plan_selection(&limits, &block, is_selected, sizes, strength, &settings));
                if areas.len() == MAX_AREAS {
                    return areas;
                }
            }
            known = limits;
            missing -= depth;
        }
    }
    areas
}

/// A side of a picture.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
    Top,
    Bottom,
}

impl Side {
    const fn is_upright(self) -> bool {
        matches!(self, Self::Left | Self::Right)
    }

    /// Pixels that are missing at this side.
    fn missing(self, known: &PixelRect, frame: (u32, u32)) -> u32 {
        let beyond = |end: i32, most: u32| most.saturating_sub(end.unsigned_abs());
        match self {
            Self::Left => known.left.unsigned_abs(),
            Self::Top => known.top.unsigned_abs(),
            Self::Right => beyond(known.right(), frame.0),
            Self::Bottom => beyond(known.bottom(), frame.1),
        }
    }

    /// Pixels of the picture across this side.
    const fn depth(self, known: &PixelRect) -> u32 {
        if self.is_upright() { known.width } else { known.height }
    }

    /// The strip of this depth beyond this side.
    fn strip(self, known: &PixelRect, depth: u32) -> PixelRect {
        let by = depth as i32;
        match self {
            Self::Left => PixelRect { left: known.left - by, width: depth, ..*known },
            Self::Right => PixelRect { left: known.right(), width: depth, ..*known },
            Self::Top => PixelRect { top: known.top - by, height: depth, ..*known },
            Self::Bottom => PixelRect { top: known.bottom(), height: depth, ..*known },
        }
    }

    /// What the model sees of a block: as much of the picture as of the block at least, and along
    /// the side what lies around it.
    fn crop(self, block: &PixelRect, known: &PixelRect, sizes: &ModelSizes) -> PixelRect {
        let (across, along) = if self.is_upright() { (block.width, block.height) } else { (block.height, block.width) };
        let seen = across.max(sizes.best.saturating_sub(across)).min(self.depth(known));
        let around = (sizes.best.saturating_sub(along) / 2).max(along / 4);
        let wide = match self {
            Self::Left => PixelRect { width: block.width + seen, ..*block },
            Self::Right => PixelRect { left: block.left - seen as i32, width: block.width + seen, ..*block },
            Self::Top => PixelRect { height: block.height + seen, ..*block },
            Self::Bottom => PixelRect { top: block.top - seen as i32, height: block.height + seen, ..*block },
        };
        let grown = wide.expanded(around);
        // Along the side alone, and no further than the picture goes.
        let limits = if self.is_upright() {
            PixelRect { left: wide.left, width: wide.width, ..*known }
        } else {
            PixelRect { top: wide.top, height: wide.height, ..*known }
        };
        grown.intersection(&limits)
    }
}

/// A strip in pieces that the model makes at its own scale.
fn blocks(strip: &PixelRect, side: Side, sizes: &ModelSizes) -> Vec<PixelRect> {
    let length = if side.is_upright() { strip.height } else { strip.width };
    if length <= sizes.most {
        return vec![*strip];
    }
    let count = length.div_ceil((sizes.best * 3 / 4).max(1));
    let start = |index: u32| (u64::from(length) * u64::from(index) / u64::from(count)) as u32;
    let block = |index: u32| {
        let (from, to) = (start(index), start(index + 1));
        if side.is_upright() {
            PixelRect { top: strip.top + from as i32, height: to - from, ..*strip }
        } else {
            PixelRect { left: strip.left + from as i32, width: to - from, ..*strip }
        }
    };
    (0..count).map(block).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SIZES: ModelSizes = ModelSizes { multiple: 16, least: 256, best: 512, most: 768 };

    #[test]
    fn a_picture_is_extended_by_its_own_edges() {
        let picture = Rgb8::new(4, 4, [[10, 20, 30], [10, 20, 30], [200, 100, 0], [200, 100, 0]].concat().repeat(4)).unwrap();
        let extended = extend_picture(&picture, &Borders { left: 6, right: 5, ..Borders::default() }).unwrap();
        assert_eq!((extended.width(), extended.height()), (15, 4));
        let pixel = |x: usize| extended.pixels()[x * 3];
        assert_eq!([0, 6, 9, 14].map(pixel), [10, 10, 200, 200]);
        let mask = border_mask((4, 4), &Borders { left: 6, right: 5, ..Borders::default() });
        assert_eq!([0, 5, 6, 9, 10, 14].map(|x| mask.row(3)[x]), [255, 255, 0, 0, 255, 255]);
        assert_eq!(extend_picture(&picture, &Borders::default()), None);
        assert_eq!(extend_picture(&picture, &Borders { left: u32::MAX, ..Borders::default() }), None);
    }

    proptest! {
        #[test]
        fn the_borders_of_a_frame_are_known_again_and_those_of_another_mask_are_none(
            (left, top, right, bottom) in (0..9_u32, 0..9_u32, 0..9_u32, 0..9_u32), size in (1..12_u32, 1..12_u32), spoilt in 0..800_usize,
        ) {
            let borders = Borders { left, top, right, bottom };
            let mut mask = border_mask(size, &borders);
            prop_assert_eq!(borders_of(&mask), Some((borders.picture_rect(size), borders)));
            if let Some(value) = mask.pixels_mut().get_mut(spoilt) {
                *value = 128;
                prop_assert_eq!(borders_of(&mask), None);
            }
        }
    }

    #[test]
    fn a_border_of_half_the_models_size_is_one_area_and_a_wide_one_several() {
        let plans = |right| plan_outpaint((512, 512), &Borders { right, ..Borders::default() }, &SIZES, 1.0, &AreaSettings::default());
        assert_eq!(
            plans(256).iter().map(|it| (it.crop, it.work)).collect::<Vec<_>>(),
            [(PixelRect { left: 256, top: 0, width: 512, height: 512 }, (512, 512))]
        );
        assert_eq!(plans(700).len(), 3);
        assert!(plans(0).is_empty());
        let tall = plan_outpaint((512, 2000), &Borders { left: 100, ..Borders::default() }, &SIZES, 1.0, &AreaSettings::default());
        assert_eq!(tall.len(), 6);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn all_that_is_missing_is_made_once_and_half_of_what_is_seen_is_known(
            (width, height) in (40_u32..400, 40_u32..400),
            (left, top, right, bottom) in (0_u32..200, 0_u32..200, 0_u32..200, 0_u32..200),
            best in 96_u32..260,
        ) {
            let sizes = ModelSizes { best, least: 64, most: best + 60, ..SIZES };
            let borders = Borders { left, top, right, bottom };
            let (wide, high) = borders.extended_size((width, height));
            let settings = AreaSettings { feather: Some(4), ..AreaSettings::default() };
            let own = borders.picture_rect((width, height));
            let mut made: Vec<bool> =
                (0..wide * high).map(|at| own.contains((at % wide) as i32, (at / wide) as i32)).collect();
            for plan in plan_outpaint((width, height), &borders, &sizes, 1.0, &settings) {
                prop_assert_eq!(plan.crop.intersection(&PixelRect::of_size(wide, high)), plan.crop);
                let at = |x: u32, y: u32| ((plan.crop.top as u32 + y) * wide + plan.crop.left as u32 + x) as usize;
                let pixels = || (0..plan.crop.height).flat_map(|y| (0..plan.crop.width).map(move |x| (x, y)));
                let known = pixels().filter(|(x, y)| made[at(*x, *y)]).count();
                prop_assert!(known as u64 * 2 >= plan.crop.area(), "{} of {:?}", known, plan.crop);
                for (x, y) in pixels() {
                    made[at(x, y)] |= plan.paste.row(y)[x as usize] == 255;
                }
            }
            prop_assert!(made.iter().all(|it| *it));
        }
    }
}
