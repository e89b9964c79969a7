//! Icons: glyphs of the font Lucide, and two shapes that no font has as they are wanted here.

use std::f32::consts::TAU;
use std::sync::Arc;

use eframe::egui::{Align2, Color32, FontData, FontDefinitions, FontFamily, FontId, Painter, Pos2, Rect, Shape, Stroke, Vec2, vec2};
use lucide_icons::{Icon as Glyph, LUCIDE_FONT_BYTES};

/// Name of the icons' font.
const FONT: &str = "Lucide";
/// Names of egui's own fonts of pictures.
const EMOJI: &str = "NotoEmoji-Regular";
const MORE_EMOJI: &str = "emoji-icon-font";
/// Size of an icon, in points.
const SIDE: f32 = 16.0;
/// Size of one that stands alone, in points.
const LARGE_SIDE: f32 = 40.0;

/// The icons, named after their shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Icon {
    Close,
    Plus,
    Minus,
    Dice,
    Locked,
    Unlocked,
    Swap,
    Reuse,
    Settings,
    Undo,
    Redo,
    Picture,
    Copy,
    Save,
    Folder,
    Fit,
    Sun,
    Moon,
    HalfMoon,
    Pencil,
    Dots,
    Pin,
    Pinned,
    Check,
    Warning,
    Info,
    Pause,
    Play,
    Search,
    History,
    Menu,
    List,
    Brush,
    Eraser,
    Mask,
    Lasso,
    Selection,
    Bucket,
    Gradient,
    Pipette,
    Crop,
    Layers,
    Tiled,
    Live,
    Eye,
    EyeClosed,
    Up,
    Down,
    Wand,
    Move,
    Text,
    Merge,
    Checks,
    Star,
    Variations,
    Compare,
    Trash,
    Upscale,
    Scissors,
    SidePanel,
}

impl Icon {
    const fn glyph(self) -> Glyph {
        match self {
            Self::Wand => Glyph::WandSparkles,
            Self::Move => Glyph::Move,
            Self::Text => Glyph::Type,
            Self::Merge => Glyph::ArrowDownToLine,
            Self::Checks => Glyph::Grid2x2Check,
            Self::Close => Glyph::X,
            Self::Plus => Glyph::Plus,
            Self::Minus => Glyph::Minus,
            Self::Dice => Glyph::Dice5,
            Self::Locked => Glyph::Lock,
            Self::Unlocked => Glyph::LockOpen,
            Self::Swap => Glyph::ArrowLeftRight,
            Self::Reuse => Glyph::RotateCcw,
            Self::Settings => Glyph::SlidersHorizontal,
            Self::Undo => Glyph::Undo2,
            Self::Redo => Glyph::Redo2,
            Self::Picture => Glyph::Image,
            Self::Copy => Glyph::Copy,
            Self::Save => Glyph::Download,
            Self::Folder => Glyph::Folder,
            Self::Fit => Glyph::Maximize,
            Self::Sun => Glyph::Sun,
            Self::Moon => Glyph::Moon,
            Self::HalfMoon => Glyph::Contrast,
            Self::Pencil => Glyph::Pencil,
            Self::Dots => Glyph::Ellipsis,
            Self::Pin => Glyph::Pin,
            Self::Pinned => Glyph::MapPinCheck,
            Self::Check => Glyph::Check,
            Self::Warning => Glyph::TriangleAlert,
            Self::Info => Glyph::Info,
            Self::Pause => Glyph::Pause,
            Self::Play => Glyph::Play,
            Self::Search => Glyph::Search,
            Self::History => Glyph::History,
            Self::Menu => Glyph::Menu,
            Self::List => Glyph::List,
            Self::Brush => Glyph::Brush,
            Self::Eraser => Glyph::Eraser,
            Self::Mask => Glyph::VenetianMask,
            Self::Lasso => Glyph::Lasso,
            Self::Selection => Glyph::SquareDashed,
            Self::Bucket => Glyph::PaintBucket,
            Self::Gradient => Glyph::Blend,
            Self::Pipette => Glyph::Pipette,
            Self::Crop => Glyph::Crop,
            Self::Layers => Glyph::Layers,
            Self::Tiled => Glyph::Grid3X3,
            Self::Live => Glyph::Zap,
            Self::Eye => Glyph::Eye,
            Self::EyeClosed => Glyph::EyeOff,
            Self::Up => Glyph::ChevronUp,
            Self::Down => Glyph::ChevronDown,
            Self::Star => Glyph::Star,
            Self::Variations => Glyph::Grid2X2Plus,
            Self::Compare => Glyph::Columns2,
            Self::Trash => Glyph::Trash2,
            Self::Upscale => Glyph::ImageUpscale,
            Self::Scissors => Glyph::Scissors,
            Self::SidePanel => Glyph::PanelLeft,
        }
    }
}

/// Adds the icons' font.
pub(crate) fn add_font(fonts: &mut FontDefinitions) {
    fonts.font_data.insert(FONT.into(), Arc::new(FontData::from_static(LUCIDE_FONT_BYTES)));
    // Hints are for letters: looking for these among pictures takes a part of the window's start.
    for name in [FONT, EMOJI, MORE_EMOJI] {
        if let Some(font) = fonts.font_data.get_mut(name) {
            Arc::make_mut(font).tweak.hinting = Some(false);
        }
    }
    fonts.families.insert(FontFamily::Name(FONT.into()), vec![FONT.into()]);
}

/// Draws a star, full or as an outline.
pub(crate) fn star(painter: &Painter, center: Pos2, radius: f32, color: Color32, is_full: bool) {
    let corner = |at: u8, radius: f32| center + radius * Vec2::angled(f32::from(at) * TAU / 10.0 - TAU / 4.0);
    let corners: Vec<Pos2> = (0..10).map(|at| corner(at, if at % 2 == 0 { radius } else { radius * 0.45 })).collect();
    if is_full {
        // A star is not convex, as egui wants its filled shapes: five kites are.
        for point in 0..5_usize {
            let kite = [corners[(2 * point + 9) % 10], corners[2 * point], corners[2 * point + 1], center];
            painter.add(Shape::convex_polygon(kite.to_vec(), color, Stroke::NONE));
        }
    } else {
        painter.add(Shape::closed_line(corners, Stroke::new(1.0, color)));
    }
}

/// Draws the icon in the middle of this rectangle.
pub(crate) fn paint(painter: &Painter, rect: Rect, icon: Icon, color: Color32) {
    paint_sized(painter, rect, icon, SIDE, color);
}

/// Draws the icon as large as a picture of its own, in the middle of this rectangle.
pub(crate) fn paint_large(painter: &Painter, rect: Rect, icon: Icon, color: Color32) {
    paint_sized(painter, rect, icon, LARGE_SIDE, color);
}

fn paint_sized(painter: &Painter, rect: Rect, icon: Icon, side: f32, color: Color32) {
    let font = FontId::new(side, FontFamily::Name(FONT.into()));
    painter.text(rect.center(), Align2::CENTER_CENTER, icon.glyph().unicode(), font, color);
}

/// A small angle that points so many parts of a turn away from the right.
pub(crate) fn chevron(painter: &Painter, center: Pos2, turn: f32, color: Color32) {
    let (sin, cos) = (turn * TAU).sin_cos();
    let at = |x: f32, y: f32| center + vec2(x * cos - y * sin, x * sin + y * cos);
    painter.add(Shape::line(vec![at(-2.0, -4.0), at(2.0, 0.0), at(-2.0, 4.0)], Stroke::new(1.4, color)));
}
