//! The engine's own list of options against those that are read here.

use super::*;

/// The list, whose head says of which version it is. `tests/sd_cli.rs` compares it with a program of
/// that version.
const OPTIONS: &str = include_str!("../options.txt");

/// The versions that are built.
const LOCK: &str = include_str!("../../../../../Cargo.lock");

/// A value of each option that is a setting, and what has to stand before it so that it counts.
const SETTINGS: [(&str, &str); 100] = [
    ("", "--model n.gguf"),
    ("", "--clip_l l.gguf"),
    ("", "--clip_g g.gguf"),
    ("", "--t5xxl t.gguf"),
    ("", "--llm q.gguf"),
    ("", "--llm_vision v.gguf"),
    ("", "--qwen2vl q.gguf"),
    ("", "--qwen2vl_vision v.gguf"),
    ("", "--diffusion-model d.gguf"),
    ("", "--uncond-diffusion-model u.gguf"),
    ("", "--vae v.gguf"),
    ("", "--vae-format flux"),
    ("", "--taesd t.gguf"),
    ("", "--tae t.gguf"),
    ("", "--control-net c.gguf"),
    ("", "--embd-dir e"),
    ("-p '<lora:ink.gguf:1>'", "--lora-model-dir l"),
    ("--hires --hires-upscaler x2.gguf", "--hires-upscalers-dir u"),
    ("", "--tensor-type-rules ^vae=f16"),
    ("", "--photo-maker p.gguf"),
    ("", "--upscale-model x4.gguf"),
    ("", "--backend cpu"),
    ("", "--params-backend disk"),
    ("", "--threads 4"),
    ("", "--chroma-t5-mask-pad 2"),
    ("", "--max-vram 6"),
    ("", "--stream-layers"),
    ("", "--force-sdxl-vae-conv-scale"),
    ("", "--offload-to-cpu"),
    ("", "--mmap"),
    ("", "--control-net-cpu"),
    ("", "--clip-on-cpu"),
    ("", "--vae-on-cpu"),
    ("", "--fa"),
    ("", "--diffusion-fa"),
    ("", "--circular"),
    ("", "--circularx"),
    ("", "--circulary"),
    ("", "--chroma-disable-dit-mask"),
    ("", "--qwen-image-zero-cond-t"),
    ("", "--chroma-enable-t5-mask"),
    ("", "--type q8_0"),
    ("", "--rng cpu"),
    ("", "--sampler-rng cpu"),
    ("", "--prediction v"),
    ("", "--lora-apply-mode immediately"),
    ("", "--prompt fog"),
    ("", "--negative-prompt fog"),
    ("", "--init-img i.png"),
    ("-i i.png", "--mask m.png"),
    ("--control-net c", "--control-image c.png"),
    ("--photo-maker p", "--pm-id-images-dir faces"),
    ("--photo-maker p --pm-id-images-dir f", "--pm-id-embed-path e.bin"),
    ("--hires", "--hires-upscaler Lanczos"),
    ("", "--extra-sample-args apg_eta=1"),
    ("", "--height 64"),
    ("", "--width 64"),
    ("", "--steps 4"),
    ("", "--clip-skip 2"),
    ("", "--batch-count 2"),
    ("", "--timestep-shift 250"),
    ("--upscale-model x", "--upscale-repeats 2"),
    ("--upscale-model x", "--upscale-tile-size 64"),
    ("--hires", "--hires-width 512"),
    ("--hires", "--hires-height 512"),
    ("--hires", "--hires-steps 4"),
    ("--hires", "--hires-upscale-tile-size 64"),
    ("", "--cfg-scale 2"),
    ("", "--img-cfg-scale 2"),
    ("", "--guidance 2"),
    ("", "--slg-scale 2"),
    ("--slg-scale 2", "--skip-layer-start 0.1"),
    ("--slg-scale 2", "--skip-layer-end 0.5"),
    ("", "--eta 0.5"),
    ("", "--flow-shift 3"),
    ("-i i.png", "--strength 0.5"),
    ("--photo-maker p --pm-id-images-dir f", "--pm-style-strength 30"),
    ("--control-net c --control-image c.png", "--control-strength 0.5"),
    ("", "--vae-tile-overlap 0.25"),
    ("--hires", "--hires-scale 1.5"),
    ("--hires", "--hires-denoising-strength 0.5"),
    ("", "--increase-ref-index"),
    ("", "--disable-auto-resize-ref-image"),
    ("", "--disable-image-metadata"),
    ("", "--vae-tiling"),
    ("", "--hires"),
    ("", "--seed 7"),
    ("", "--sampling-method euler"),
    ("", "--scheduler karras"),
    ("", "--sigmas 14,1,0"),
    ("--hires", "--hires-sigmas 3,1,0"),
    ("--slg-scale 2", "--skip-layers 7,8"),
    ("", "--ref-image r.png"),
    ("", "--cache-mode easycache"),
    ("--cache-mode easycache", "--cache-option threshold=0.2"),
    ("--cache-mode cache-dit", "--scm-mask 1,0"),
    ("--cache-mode cache-dit --scm-mask 1,0", "--scm-policy static"),
    ("", "--vae-tile-size 32x16"),
    ("", "--vae-relative-tile-size 0.5x0.5"),
    ("--control-net c --control-image c.png", "--canny"),
];

/// The names of each option of the list, and whether a value follows.
fn listed() -> impl Iterator<Item = (Vec<&'static str>, bool)> {
    OPTIONS.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let mut words: Vec<&str> = line.split(' ').collect();
        let kind = words.pop().unwrap();
        assert!(["value", "switch"].contains(&kind), "{line}");
        (words, kind == "value")
    })
}

/// What a command says to which these words are added.
fn pasted_with(before: &str, words: &str) -> ParsedCommand {
    pasted(&format!("sd-cli -m m.gguf {before} {words}"))
}

#[test]
fn the_list_of_options_is_that_of_the_engine_that_is_built() {
    let listed = OPTIONS.lines().find_map(|line| line.strip_prefix("# Engine: diffusion-rs-sys ")).unwrap();
    let (_, locked) = LOCK.split_once("name = \"diffusion-rs-sys\"\nversion = \"").unwrap();
    let locked = locked.split('"').next().unwrap();
    assert_eq!(listed, locked, "compare crates/core/src/sd_cli/options.txt with the options of that engine (tests/sd_cli.rs)");
}

#[test]
fn each_option_of_the_engine_is_a_setting_or_has_a_reason() {
    for (names, takes_value) in listed() {
        let long = *names.last().unwrap();
        let example = SETTINGS.iter().find(|(_, option)| option.split(' ').next() == Some(long));
        match (example, NoSetting::named(long)) {
            (Some((before, option)), None) => {
                assert_eq!(option.contains(' '), takes_value, "{option}");
                for name in names {
                    let with = pasted_with(before, &option.replacen(long, name, 1));
                    assert_eq!((&with.left_out, &pasted_with(before, "").left_out), (&Vec::new(), &Vec::new()), "{before} {name}");
                    assert_ne!(with, pasted_with(before, ""), "{name} changes nothing");
                }
            }
            (None, Some(reason)) => assert_eq!((reason.names, reason.takes_value), (&names[..], takes_value)),
            (None, None) => panic!("{long} is neither a setting nor has it a reason in NoSetting::ALL"),
            (Some(_), Some(_)) => panic!("{long} is a setting, and has a reason to be none"),
        }
    }
    let is_listed = |name: &str| listed().any(|(names, _)| names.contains(&name));
    let named = SETTINGS.iter().filter_map(|(_, option)| option.split(' ').next());
    let unknown: Vec<_> = named.chain(NoSetting::ALL.iter().flat_map(|it| it.names).copied()).filter(|name| !is_listed(name)).collect();
    assert_eq!(unknown, [] as [&str; 0], "no options of the engine");
}

#[test]
fn of_what_is_no_setting_only_videos_are_told_and_its_value_is_no_option() {
    for option in NoSetting::ALL {
        for name in option.names {
            let value = match (*name, option.takes_value) {
                ("-M" | "--mode", _) => " img_gen",
                (_, true) => " 9",
                (_, false) => "",
            };
            let it = pasted_with("", &format!("{name}{value} --steps 3"));
            assert_eq!(it.recipe.steps, 3, "{name}");
            let words: Vec<_> = it.left_out.iter().map(ToString::to_string).collect();
            let is_told = words.len() == 1 && words[0].starts_with(&format!("{name}{value}: ")) && words[0].contains("video");
            assert!(if option.is_video { is_told } else { words.is_empty() }, "{name}: {words:?}");
        }
    }
    for mode in ["-M vid_gen", "--mode vid_gen"] {
        assert_eq!(left_out(&format!("sd-cli -m m.gguf {mode}")), [format!("{mode}: Atelier makes no videos")]);
    }
    for (mode, command) in [("convert", "models convert"), ("upscale", "upscale"), ("metadata", "inspect")] {
        assert_eq!(left_out(&format!("sd-cli -M {mode} -m m.gguf")), [format!("-M {mode}: use atelier {command}")]);
    }
}
