//! Options of sd-cli that are no settings of a recipe, and why.

use atelier_language::tr;

/// An option of sd-cli that no recipe has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSetting {
    /// Its names, each with its hyphens.
    pub names: &'static [&'static str],
    /// True where a value follows.
    pub takes_value: bool,
    /// True where what it asks for is left out of a command, and told; the others change what a
    /// program shows, where it writes and how it computes the same picture.
    pub is_video: bool,
    /// For [`Self::reason`]; empty for videos.
    reason: &'static str,
}

impl NoSetting {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        video(&["--clip_vision"], true),
        video(&["--high-noise-diffusion-model"], true),
        video(&["--embeddings-connectors"], true),
        video(&["--audio-vae"], true),
        video(&["--end-img"], true),
        video(&["--control-video"], true),
        video(&["--extra-tiling-args"], true),
        video(&["--high-noise-steps"], true),
        video(&["--video-frames"], true),
        video(&["--fps"], true),
        video(&["--high-noise-cfg-scale"], true),
        video(&["--high-noise-img-cfg-scale"], true),
        video(&["--high-noise-guidance"], true),
        video(&["--high-noise-slg-scale"], true),
        video(&["--high-noise-skip-layer-start"], true),
        video(&["--high-noise-skip-layer-end"], true),
        video(&["--high-noise-skip-layers"], true),
        video(&["--high-noise-eta"], true),
        video(&["--high-noise-sampling-method"], true),
        video(&["--moe-boundary"], true),
        video(&["--vace-strength"], true),
        video(&["--temporal-tiling"], false),
        switch(&["--diffusion-conv-direct"], "direct convolutions are chosen by device; the picture is the same"),
        switch(&["--vae-conv-direct"], "direct convolutions are chosen by device; the picture is the same"),
        switch(&["--taesd-preview-only"], "beside a VAE, a tiny autoencoder is used for previews alone"),
        switch(&["--preview-noisy"], "previews show the picture, not its noise"),
        value(&["--preview"], "write previews to a folder with --preview, and choose how with --preview-method"),
        value(&["--preview-path"], "name the folder of the previews with --preview"),
        value(&["--preview-interval"], "it changes previews alone"),
        value(&["-o", "--output"], "it names a file"),
        value(&["--output-begin-idx"], "further pictures of a batch become OUT_2.png, OUT_3.png"),
        switch(&["--convert-name"], "use atelier models convert"),
        value(&["--image"], "use atelier inspect"),
        value(&["--metadata-format"], "use atelier inspect, or atelier inspect --json"),
        switch(&["--metadata-raw"], "use atelier inspect"),
        switch(&["--metadata-brief"], "use atelier inspect"),
        switch(&["--metadata-all"], "use atelier inspect"),
        value(&["-M", "--mode"], "each mode is a command: generate, upscale, models convert, inspect"),
        switch(&["-v", "--verbose"], "it changes what is printed"),
        switch(&["--color"], "it changes what is printed"),
        switch(&["-h", "--help"], "it prints help"),
        switch(&["--version"], "it prints a version"),
    ];

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|option| option.names.contains(&name))
    }

    /// The reason, and what does it in its place, as a part of a sentence. Only what is told of
    /// commands that are pasted is in the chosen language: the rest is for the command line.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        if self.is_video { no_videos() } else { self.reason }
    }
}

/// The reason of those that are about videos.
pub(super) fn no_videos() -> &'static str {
    tr!("core-no-videos")
}

const fn video(names: &'static [&'static str], takes_value: bool) -> NoSetting {
    NoSetting { names, takes_value, is_video: true, reason: "" }
}

const fn value(names: &'static [&'static str], reason: &'static str) -> NoSetting {
    NoSetting { names, takes_value: true, is_video: false, reason }
}

const fn switch(names: &'static [&'static str], reason: &'static str) -> NoSetting {
    NoSetting { names, takes_value: false, is_video: false, reason }
}
