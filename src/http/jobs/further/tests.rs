//! Settings of jobs, as clients write them.

use atelier_core::recipe::PartialRecipe;

use super::*;
use crate::http::error::Failure;
use crate::http::jobs::request;

fn read_text(body: &str) -> Result<Wish, Failure> {
    Ok(request::read(Fields::read(body.as_bytes()).unwrap())?.wish)
}

fn wish(body: &str) -> Wish {
    read_text(body).unwrap()
}

/// The names of the fields that are refused.
fn refused(body: &str) -> Vec<String> {
    let Err(Failure::Invalid(faults)) = read_text(body) else { panic!("{body}") };
    faults.iter().map(|it| it.field.join(".")).collect()
}

#[test]
fn what_sd_servers_own_page_sends_where_nobody_chose_changes_nothing() {
    let wish = wish(
        r#"{"prompt": "a lake", "auto_resize_ref_image": true, "increase_ref_index": false, "embed_image_metadata": true,
        "cache_mode": "disabled", "cache_option": "", "scm_mask": "", "scm_policy_dynamic": true,
        "sample_params": {"shifted_timestep": 0, "custom_sigmas": [], "extra_sample_args": "", "guidance": {"txt_cfg": 7.0, "img_cfg": 7.0,
        "slg": {"layers": [7, 8, 9], "layer_start": 0.01, "layer_end": 0.2, "scale": 0.0}}},
        "hires": {"enabled": false, "upscaler": "Latent", "target_width": 0, "custom_sigmas": [], "upscale_tile_size": 128},
        "vae_tiling_params": {"enabled": false, "tile_size_x": 0}, "lora": [{"path": "ink", "is_high_noise": false}]}"#,
    );
    assert_eq!((wish.further, wish.notes), (PartialRecipe::default(), Vec::<String>::new()));
    assert!(wish.hires.is_none() && wish.relative_vae_tiles.is_none());
}

#[test]
fn guidance_noise_levels_and_references_are_taken_and_what_is_not_followed_is_said() {
    let wish = wish(
        r#"{"prompt": "a lake", "auto_resize_ref_image": false, "increase_ref_index": true, "embed_image_metadata": false,
        "sample_params": {"shifted_timestep": 250, "custom_sigmas": [14.6, 3.0, 0], "guidance": {"txt_cfg": 7.0, "img_cfg": 1.5,
        "slg": {"layers": [7, 8], "layer_start": 0.25, "layer_end": 0.5, "scale": 2.5}}},
        "lora": [{"path": "ink", "is_high_noise": true}]}"#,
    );
    let expected = PartialRecipe {
        image_guidance: Some(Some(1.5)),
        skip_layers: Some(Some(SkipLayers { scale: 2.5, layers: vec![7, 8], start: 0.25, end: 0.5 })),
        timestep_shift: Some(Some(250)),
        sigmas: Some(vec![14.6, 3.0, 0.0]),
        resize_references: Some(false),
        number_references: Some(true),
        ..PartialRecipe::default()
    };
    assert_eq!(wish.further, expected);
    assert_eq!(wish.notes.len(), 2, "{:?}", wish.notes);
}

#[test]
fn further_arguments_of_the_sampling_are_taken_as_sd_cli_writes_them() {
    let further = |sample: &str| {
        let wish = wish(&format!(r#"{{"sample_params": {{{sample}}}}}"#));
        assert_eq!(wish.notes, Vec::<String>::new());
        wish.further
    };
    let plain = further(r#""extra_sample_args": " apg_eta=0.2,apg_momentum=-0.5 ""#);
    assert_eq!((plain.sampler_arguments.as_deref(), plain.skip_layers), (Some("apg_eta=0.2,apg_momentum=-0.5"), None));
    let skipping = further(
        r#""extra_sample_args": "slg_uncond=1", "guidance": {"slg": {"layers": [0], "layer_start": 0, "layer_end": 1, "scale": 0}}"#,
    );
    assert_eq!(skipping.skip_layers, Some(Some(SkipLayers { scale: 0.0, layers: vec![0], start: 0.0, end: 1.0 })));
    assert_eq!(refused(r#"{"sample_params": {"extra_sample_args": {"apg_eta": 1}}}"#), ["sample_params.extra_sample_args"]);
}

#[test]
fn noise_levels_are_numbers_and_no_more_than_steps_may_be() {
    for (part, before) in [("sample_params", ""), ("hires", r#""enabled": true, "#)] {
        let body = |sigmas: &str| format!(r#"{{"{part}": {{{before}"custom_sigmas": {sigmas}}}}}"#);
        for wrong in [r#"["x"]"#.to_owned(), format!("{:?}", vec![1; 152])] {
            assert_eq!(refused(&body(&wrong)), [format!("{part}.custom_sigmas")], "{wrong}");
        }
        assert!(read_text(&body(&format!("{:?}", vec![1; 151]))).is_ok());
    }
}

#[test]
fn a_step_cache_has_the_options_and_the_mask_of_sd_cli() {
    let cache = |fields: &str| {
        let wish = wish(&format!("{{{fields}}}"));
        (wish.further.step_cache.flatten(), wish.notes)
    };
    let (read, notes) =
        cache(r#""cache_mode": "cache-dit", "cache_option": "threshold=0.25,Fn=4", "scm_mask": "1,1,0", "scm_policy_dynamic": false"#);
    let expected = StepCache {
        options: StepCache::read_options("threshold=0.25,Fn=4").unwrap(),
        mask: vec![true, true, false],
        is_mask_static: true,
        ..StepCache::of(CacheMode::CacheDit)
    };
    assert_eq!((read, notes), (Some(expected), Vec::new()));
    let usual = r#""cache_mode": "Spectrum", "cache_option": "", "scm_mask": "", "scm_policy_dynamic": true"#;
    assert_eq!(cache(usual), (Some(StepCache::of(CacheMode::Spectrum)), Vec::new()));
    for (mode, unread) in [("easycache", "scm_mask, scm_policy_dynamic."), ("dbcache", "scm_policy_dynamic.")] {
        let mask = if mode == "easycache" { r#""scm_mask": "1,0", "# } else { "" };
        let (read, notes) = cache(&format!(r#"{mask}"cache_mode": "{mode}", "scm_policy_dynamic": false"#));
        assert_eq!(read.map(|it| (it.mode.key(), it.mask.len(), it.is_mask_static)), Some((mode, 0, false)));
        assert!(notes.len() == 1 && notes[0].ends_with(unread), "{notes:?}");
    }
    assert_eq!(cache(r#""cache_option": "threshold=0.25", "scm_mask": "1""#), (None, Vec::new()), "there is no cache");
    for (field, body) in [
        ("cache_mode", r#"{"cache_mode": "nobody's"}"#),
        ("cache_option", r#"{"cache_mode": "ucache", "cache_option": "speed=1"}"#),
        ("scm_mask", r#"{"cache_mode": "taylorseer", "scm_mask": "1,2"}"#),
    ] {
        assert_eq!(refused(body), [field]);
    }
}

#[test]
fn tiles_of_the_vae_have_two_sides_and_an_overlap_or_are_parts_of_the_picture() {
    let tiles = |fields: &str| {
        let wish = wish(&format!(r#"{{"vae_tiling_params": {{"enabled": true{fields}}}}}"#));
        assert_eq!(wish.further.vae_tiling, Some(true));
        (wish.further.vae_tile_size.flatten(), wish.further.vae_tile_overlap.flatten(), wish.relative_vae_tiles, wish.notes.len())
    };
    let usual = r#", "tile_size_x": 0, "tile_size_y": 0, "target_overlap": 0.5, "rel_size_x": 0.0, "rel_size_y": 0,
        "temporal_tiling": false, "extra_tiling_args": """#;
    assert_eq!(tiles(""), (None, None, None, 0));
    assert_eq!(tiles(usual), (None, None, None, 0));
    assert_eq!(
        tiles(r#", "tile_size_x": 24, "tile_size_y": 24, "target_overlap": 0.25"#),
        (Some(TileSize::square(24)), Some(0.25), None, 0)
    );
    let of = |width, height| (Some(TileSize { width, height }), None, None, 0);
    assert_eq!(tiles(r#", "tile_size_x": 24, "tile_size_y": 16"#), of(24, 16));
    assert_eq!(tiles(r#", "tile_size_x": 24"#), of(24, 32), "the other side is the usual one");
    assert_eq!(tiles(r#", "rel_size_x": 0.5, "rel_size_y": 2"#), (None, None, Some((0.5, 2.0)), 0));
    assert_eq!(tiles(r#", "rel_size_x": 0.5"#), (None, None, Some((0.5, 0.0)), 0));
    assert_eq!(tiles(r#", "temporal_tiling": true, "extra_tiling_args": "x=1""#), (None, None, None, 1), "both in one note");
    assert_eq!(refused(r#"{"vae_tiling_params": {"enabled": true, "tile_size_x": "x"}}"#), ["vae_tiling_params.tile_size_x"]);
}

#[test]
fn a_second_pass_has_noise_levels_a_size_and_tiles_of_its_own() {
    let hires = |fields: &str| {
        let wish = wish(&format!(r#"{{"hires": {{"enabled": true{fields}}}}}"#));
        (wish.hires.unwrap(), wish.notes)
    };
    let usual = r#", "upscaler": "Latent", "scale": 2.0, "target_width": 0, "target_height": 0, "steps": 0, "denoising_strength": 0.7,
        "custom_sigmas": [], "upscale_tile_size": 128"#;
    let (read, notes) = hires(usual);
    assert_eq!((read.target, read.steps, read.sigmas, read.tile_size, notes), (None, None, Vec::new(), None, Vec::new()));
    let (read, notes) = hires(r#", "upscaler": "x4", "target_height": 128, "custom_sigmas": [3.5, 0], "upscale_tile_size": 96"#);
    assert_eq!((read.target, read.sigmas, read.tile_size, notes), (Some((128, 128)), vec![3.5, 0.0], Some(96), Vec::new()));
    let (read, notes) = hires(r#", "upscaler": "Lanczos", "upscale_tile_size": 96"#);
    assert!(read.tile_size.is_none() && notes[0].contains("hires.upscale_tile_size"), "{notes:?}");
    assert_eq!(refused(r#"{"hires": {"enabled": true, "upscaler": "x4", "upscale_tile_size": 16}}"#), ["hires.upscale_tile_size"]);
}
