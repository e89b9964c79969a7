//! Blend modes: how the colours of a layer meet those below it. The formulas are those of the W3C's
//! "Compositing and Blending Level 1", on sRGB values.

use atelier_language::tr;
use serde::{Deserialize, Serialize};

/// How a layer's colours meet those below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlendMode {
    /// They cover them.
    #[default]
    Normal,
    /// Darker, as ink on paper.
    Multiply,
    /// Lighter, as light on a screen.
    Screen,
    /// Multiplied where it is dark below, screened where it is light.
    Overlay,
    /// The darker of both, in each channel.
    Darken,
    /// The lighter of both, in each channel.
    Lighten,
    /// Brightens what is below.
    ColourDodge,
    /// Darkens what is below.
    ColourBurn,
    /// Overlay with the two exchanged.
    HardLight,
    /// A milder hard light.
    SoftLight,
    /// The difference of both, in each channel.
    Difference,
    /// A milder difference.
    Exclusion,
    /// Their sum.
    Addition,
    /// The layer's hue.
    Hue,
    /// The layer's saturation.
    Saturation,
    /// The layer's hue and saturation.
    Colour,
    /// The layer's brightness.
    Luminosity,
}

impl BlendMode {
    /// All of them, in the order of menus.
    pub const ALL: [Self; 17] = [
        Self::Normal,
        Self::Multiply,
        Self::Screen,
        Self::Overlay,
        Self::Darken,
        Self::Lighten,
        Self::ColourDodge,
        Self::ColourBurn,
        Self::HardLight,
        Self::SoftLight,
        Self::Difference,
        Self::Exclusion,
        Self::Addition,
        Self::Hue,
        Self::Saturation,
        Self::Colour,
        Self::Luminosity,
    ];

    /// The word in the menu.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Normal => tr!("core-normal"),
            Self::Multiply => tr!("core-multiply"),
            Self::Screen => tr!("core-screen"),
            Self::Overlay => tr!("core-overlay"),
            Self::Darken => tr!("core-darken"),
            Self::Lighten => tr!("core-lighten"),
            Self::ColourDodge => tr!("core-colour-dodge"),
            Self::ColourBurn => tr!("core-colour-burn"),
            Self::HardLight => tr!("core-hard-light"),
            Self::SoftLight => tr!("core-soft-light"),
            Self::Difference => tr!("core-difference"),
            Self::Exclusion => tr!("core-exclusion"),
            Self::Addition => tr!("core-addition"),
            Self::Hue => tr!("core-hue"),
            Self::Saturation => tr!("core-saturation"),
            Self::Colour => tr!("core-colour"),
            Self::Luminosity => tr!("core-luminosity"),
        }
    }

    /// Its name in `OpenRaster` files; Krita's own where the format has none.
    #[must_use]
    pub const fn composite_op(self) -> &'static str {
        match self {
            Self::Normal => "svg:src-over",
            Self::Multiply => "svg:multiply",
            Self::Screen => "svg:screen",
            Self::Overlay => "svg:overlay",
            Self::Darken => "svg:darken",
            Self::Lighten => "svg:lighten",
            Self::ColourDodge => "svg:color-dodge",
            Self::ColourBurn => "svg:color-burn",
            Self::HardLight => "svg:hard-light",
            Self::SoftLight => "svg:soft-light",
            Self::Difference => "svg:difference",
            Self::Exclusion => "krita:exclusion",
            Self::Addition => "svg:plus",
            Self::Hue => "svg:hue",
            Self::Saturation => "svg:saturation",
            Self::Colour => "svg:color",
            Self::Luminosity => "svg:luminosity",
        }
    }

    /// The colour that is laid over an RGBA pixel in the place of the layer's: the less of the
    /// mode, the less opaque the pixel is.
    #[must_use]
    pub(super) fn mixed(self, pixel: &[u8], colour: [u8; 3]) -> [u8; 3] {
        if self == Self::Normal || pixel[3] == 0 {
            return colour;
        }
        let share = f32::from(pixel[3]) / 255.0;
        let over = colour.map(|value| f32::from(value) / 255.0);
        let below = [pixel[0], pixel[1], pixel[2]].map(|value| f32::from(value) / 255.0);
        let blended = self.blended(below, over);
        let value = |channel: usize| (over[channel] + (blended[channel] - over[channel]) * share) * 255.0 + 0.5;
        [value(0), value(1), value(2)].map(|value| value.clamp(0.0, 255.0) as u8)
    }

    /// The colours of both, as if both were opaque; 0 to 1.
    fn blended(self, below: [f32; 3], over: [f32; 3]) -> [f32; 3] {
        let each = |blend: fn(f32, f32) -> f32| [0, 1, 2].map(|channel| blend(below[channel], over[channel]));
        match self {
            Self::Normal => over,
            Self::Multiply => each(|below, over| below * over),
            Self::Screen => each(screen),
            Self::Overlay => each(|below, over| hard_light(over, below)),
            Self::Darken => each(f32::min),
            Self::Lighten => each(f32::max),
            Self::ColourDodge => each(|below, over| match (below, over) {
                (0.0, _) => 0.0,
                (_, 1.0) => 1.0,
                (below, over) => (below / (1.0 - over)).min(1.0),
            }),
            Self::ColourBurn => each(|below, over| match (below, over) {
                (1.0, _) => 1.0,
                (_, 0.0) => 0.0,
                (below, over) => 1.0 - ((1.0 - below) / over).min(1.0),
            }),
            Self::HardLight => each(hard_light),
            Self::SoftLight => each(soft_light),
            Self::Difference => each(|below, over| (below - over).abs()),
            Self::Exclusion => each(|below, over| below + over - 2.0 * below * over),
            Self::Addition => each(|below, over| (below + over).min(1.0)),
            Self::Hue => with_luminosity(with_saturation(over, saturation(below)), luminosity(below)),
            Self::Saturation => with_luminosity(with_saturation(below, saturation(over)), luminosity(below)),
            Self::Colour => with_luminosity(over, luminosity(below)),
            Self::Luminosity => with_luminosity(below, luminosity(over)),
        }
    }
}

fn screen(below: f32, over: f32) -> f32 {
    below + over - below * over
}

fn hard_light(below: f32, over: f32) -> f32 {
    if over <= 0.5 { below * 2.0 * over } else { screen(below, 2.0 * over - 1.0) }
}

fn soft_light(below: f32, over: f32) -> f32 {
    if over <= 0.5 {
        return below - (1.0 - 2.0 * over) * below * (1.0 - below);
    }
    let rise = if below <= 0.25 { ((16.0 * below - 12.0) * below + 4.0) * below } else { below.sqrt() };
    below + (2.0 * over - 1.0) * (rise - below)
}

fn luminosity([red, green, blue]: [f32; 3]) -> f32 {
    0.3 * red + 0.59 * green + 0.11 * blue
}

fn saturation(colour: [f32; 3]) -> f32 {
    let (least, most) = range(colour);
    most - least
}

fn range(colour: [f32; 3]) -> (f32, f32) {
    colour.into_iter().fold((f32::MAX, f32::MIN), |(least, most), value| (least.min(value), most.max(value)))
}

fn with_saturation(colour: [f32; 3], saturation: f32) -> [f32; 3] {
    let (least, most) = range(colour);
    if most <= least {
        return [0.0; 3];
    }
    colour.map(|value| (value - least) * saturation / (most - least))
}

fn with_luminosity(colour: [f32; 3], wanted: f32) -> [f32; 3] {
    let by = wanted - luminosity(colour);
    let moved = colour.map(|value| value + by);
    let (middle, (least, most)) = (luminosity(moved), range(moved));
    moved.map(|value| {
        let value = if least < 0.0 { middle + (value - middle) * middle / (middle - least) } else { value };
        if most > 1.0 { middle + (value - middle) * (1.0 - middle) / (most - middle) } else { value }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_mode_has_the_values_of_its_formula() {
        let mixed = |mode: BlendMode, below: [u8; 3], over: [u8; 3]| mode.mixed(&[below[0], below[1], below[2], 255], over);
        for (mode, below, over, expected) in [
            (BlendMode::Normal, [10, 20, 30], [200, 100, 50], [200, 100, 50]),
            (BlendMode::Multiply, [255, 128, 0], [100, 100, 100], [100, 50, 0]),
            (BlendMode::Screen, [0, 128, 255], [100, 100, 100], [100, 178, 255]),
            (BlendMode::Overlay, [51, 204, 128], [102, 102, 255], [41, 194, 255]),
            (BlendMode::HardLight, [102, 102, 255], [51, 204, 128], [41, 194, 255]),
            (BlendMode::Darken, [10, 200, 90], [90, 90, 90], [10, 90, 90]),
            (BlendMode::Lighten, [10, 200, 90], [90, 90, 90], [90, 200, 90]),
            (BlendMode::ColourDodge, [0, 51, 51], [255, 255, 102], [0, 255, 85]),
            (BlendMode::ColourBurn, [255, 204, 204], [0, 0, 153], [255, 0, 170]),
            (BlendMode::SoftLight, [51, 51, 204], [127, 0, 255], [51, 10, 228]),
            (BlendMode::Difference, [10, 200, 90], [90, 90, 90], [80, 110, 0]),
            (BlendMode::Exclusion, [0, 255, 128], [90, 90, 255], [90, 165, 127]),
            (BlendMode::Addition, [10, 200, 90], [90, 90, 90], [100, 255, 180]),
            // A grey has neither hue nor saturation to give.
            (BlendMode::Saturation, [200, 100, 0], [90, 90, 90], [119, 119, 119]),
            (BlendMode::Hue, [80, 80, 80], [200, 10, 10], [80, 80, 80]),
            (BlendMode::Luminosity, [80, 80, 80], [255, 0, 0], [77, 77, 77]),
            (BlendMode::Colour, [77, 77, 77], [255, 0, 0], [255, 0, 0]),
        ] {
            let found = mixed(mode, below, over);
            assert!(found.iter().zip(expected).all(|(one, two)| one.abs_diff(two) <= 1), "{mode:?}: {found:?}, not {expected:?}");
        }
    }

    proptest! {
        #[test]
        fn nothing_below_is_the_layer_alone_and_less_below_is_nearer_to_it(below: [u8; 4], over: [u8; 3], at in 0..17_usize) {
            let mode = BlendMode::ALL[at];
            prop_assert_eq!(mode.mixed(&[below[0], below[1], below[2], 0], over), over);
            let whole = mode.mixed(&[below[0], below[1], below[2], 255], over);
            let some = mode.mixed(&below, over);
            for channel in 0..3 {
                let (least, most) = (whole[channel].min(over[channel]), whole[channel].max(over[channel]));
                prop_assert!((least.saturating_sub(1)..=most.saturating_add(1)).contains(&some[channel]));
            }
        }
    }
}
