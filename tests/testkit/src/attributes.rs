//! What the built-in model is asked for, as numbers of its pictures: how much of an attribute a phrase
//! brought.

/// An attribute of a colour of red, green and blue, 0 to 255; more of it is larger.
pub type Measure = fn([f64; 3]) -> f64;

/// Prompts in two parts, and what the second asks for, in a word and as a number.
pub const PROMPTS: [(&str, &str, &str, Measure); 24] = [
    ("a lake", "a red sunset", "redness", redness),
    ("mountains", "a red sky", "redness", redness),
    ("a calm sea", "an orange sky", "redness", redness),
    ("hills", "a golden sky", "redness", redness),
    ("a forest", "autumn", "redness", redness),
    ("a desert", "sunset", "redness", redness),
    ("a river", "at night", "darkness", darkness),
    ("mountains", "at night", "darkness", darkness),
    ("a lake", "a starry night", "darkness", darkness),
    ("a city", "at dusk", "darkness", darkness),
    ("a cliff", "at midnight", "darkness", darkness),
    ("a cabin", "a storm", "darkness", darkness),
    ("dunes", "at noon", "brightness", brightness),
    ("a meadow", "bright midday", "brightness", brightness),
    ("pine trees", "snow", "brightness", brightness),
    ("hills", "winter", "brightness", brightness),
    ("an island", "a blue sky", "blueness", blueness),
    ("cliffs", "a teal sky", "blueness", blueness),
    ("hills", "the sea", "blueness", blueness),
    ("a lake", "a green sky", "greenness", greenness),
    ("a coast", "a purple sky", "purpleness", purpleness),
    ("a lake", "a pink sky", "purpleness", purpleness),
    ("mountains", "fog", "greyness", greyness),
    ("a river", "black and white", "greyness", greyness),
];

/// The mean of an attribute over pixels of RGB.
#[must_use]
pub fn mean(pixels: &[u8], measure: Measure) -> f64 {
    let values = pixels.chunks_exact(3).map(|it| measure([it[0], it[1], it[2]].map(f64::from)));
    values.sum::<f64>() / (pixels.len() / 3) as f64
}

fn redness([red, _, blue]: [f64; 3]) -> f64 {
    red - blue
}

fn blueness([red, _, blue]: [f64; 3]) -> f64 {
    blue - red
}

fn greenness([red, green, blue]: [f64; 3]) -> f64 {
    green - f64::midpoint(red, blue)
}

fn purpleness([red, green, blue]: [f64; 3]) -> f64 {
    f64::midpoint(red, blue) - green
}

fn greyness(colour: [f64; 3]) -> f64 {
    colour.into_iter().fold(255.0, f64::min) - colour.into_iter().fold(0.0, f64::max)
}

fn brightness([red, green, blue]: [f64; 3]) -> f64 {
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

fn darkness(colour: [f64; 3]) -> f64 {
    -brightness(colour)
}
