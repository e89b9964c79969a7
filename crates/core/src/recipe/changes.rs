//! The settings in which two recipes differ, by the names that a person reads.

use super::Recipe;

/// Names of the settings in which the recipes differ, in the order in which a form has them.
#[must_use]
pub fn changed_settings(before: &Recipe, after: &Recipe) -> Vec<&'static str> {
    // A setting that is added must be named here too.
    let Recipe {
        files,
        prompt,
        negative_prompt,
        negative_in_prompt,
        width,
        height,
        steps,
        guidance,
        distilled_guidance,
        sampler,
        scheduler,
        eta,
        flow_shift,
        clip_skip,
        seed,
        seed_blend,
        rng,
        batch_count,
        vae_tiling,
        flash_attention,
        vae_conv_scale,
        init,
        mask,
        start_fit,
        area,
        outpaint,
        hires,
        earlier_steps,
        last_step,
        reference_images,
        control,
        person,
        loras,
        disabled_loras,
        embeddings,
        placement,
        threads,
    } = before;
    let changes = [
        ("prompt", *prompt != after.prompt),
        ("negative prompt", *negative_prompt != after.negative_prompt),
        ("model", *files != after.files || *negative_in_prompt != after.negative_in_prompt),
        ("size", (*width, *height) != (after.width, after.height)),
        ("steps", *steps != after.steps),
        ("guidance", guidance.to_bits() != after.guidance.to_bits()),
        ("sampler", *sampler != after.sampler),
        ("scheduler", *scheduler != after.scheduler),
        ("seed", *seed != after.seed),
        ("second seed", *seed_blend != after.seed_blend),
        ("number of pictures", *batch_count != after.batch_count),
        ("start picture", *init != after.init),
        ("mask", *mask != after.mask),
        ("fit", *start_fit != after.start_fit),
        ("masked part", *area != after.area),
        ("borders", *outpaint != after.outpaint),
        ("enlarging", *hires != after.hires),
        ("earlier steps", *earlier_steps != after.earlier_steps),
        ("last step", *last_step != after.last_step),
        ("reference pictures", *reference_images != after.reference_images),
        ("control picture", *control != after.control),
        ("person", *person != after.person),
        ("LoRAs", *loras != after.loras || *disabled_loras != after.disabled_loras),
        ("embeddings", *embeddings != after.embeddings),
        ("distilled guidance", distilled_guidance.to_bits() != after.distilled_guidance.to_bits()),
        ("flow shift", *flow_shift != after.flow_shift),
        ("eta", *eta != after.eta),
        ("CLIP skip", *clip_skip != after.clip_skip),
        ("noise", *rng != after.rng),
        ("threads", *threads != after.threads),
        ("VAE tiling", *vae_tiling != after.vae_tiling),
        ("flash attention", *flash_attention != after.flash_attention),
        ("VAE range", *vae_conv_scale != after.vae_conv_scale),
        ("placement", *placement != after.placement),
    ];
    changes.into_iter().filter(|(_, changed)| *changed).map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_named_and_equal_recipes_have_none() {
        let recipe = Recipe::default();
        assert_eq!(changed_settings(&recipe, &recipe), Vec::<&str>::new());
        let other = Recipe { height: 64, seed: 7, prompt: "a fox".into(), ..Recipe::default() };
        assert_eq!(changed_settings(&recipe, &other), ["prompt", "size", "seed"]);
    }
}
