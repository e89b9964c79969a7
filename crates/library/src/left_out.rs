//! Tensors of a model's files that no module of the engine asks for: those that change no picture,
//! each with the reason. Whatever else the engine leaves out makes a picture other than was meant,
//! and is told.

use super::container::shown;
use super::family::Family;
use atelier_core::sentences;
use atelier_language::tr;

/// Where a name has the text that tells it.
#[derive(Clone, Copy)]
enum Place {
    Beginning,
    End,
    Anywhere,
}

use Place::{Anywhere, Beginning, End};

/// A kind of tensor, in the engine's names.
struct Harmless {
    /// The families that have it; all where there are none.
    families: &'static [Family],
    place: Place,
    text: &'static str,
}

const fn any(place: Place, text: &'static str) -> Harmless {
    Harmless { families: &[], place, text }
}

const fn of(families: &'static [Family], place: Place, text: &'static str) -> Harmless {
    Harmless { families, place, text }
}

const UNETS: &[Family] = &[Family::Sd1, Family::Sd2, Family::Sdxl, Family::Svd];
/// Those with CLIP-L of a fixed size beside another encoder.
const CLIPS: &[Family] = &[Family::Sd1, Family::Sd2, Family::Sdxl, Family::Svd, Family::Sd3, Family::Flux];
const T5S: &[Family] = &[Family::Sd3, Family::Flux, Family::Chroma, Family::ChromaRadiance, Family::Pid, Family::Wan];

const HARMLESS: [Harmless; 54] = [
    // Marks, whose name is what they say; the engine reads those that change something.
    any(End, "scaled_fp8"),
    any(Beginning, "v_pred"),
    any(Beginning, "ztsnr"),
    any(Beginning, "edm_vpred.sigma_"),
    any(Anywhere, "__x0__"),
    any(Anywhere, "__32x32__"),
    any(Anywhere, "__index_timestep_zero__"),
    // What multiplies a layer's input where a device computes with 8 bits; it does not here.
    any(End, ".scale_input"),
    any(End, ".input_scale"),
    // Numbers from 0 upwards, and rotations, which the engine computes.
    any(End, "position_ids"),
    any(Anywhere, "rotary_emb."),
    any(End, "rope_freqs.weight"),
    any(End, "rotary_pos_emb.inv_freq"),
    // Texts and words of a tokenizer, of which the engine has its own.
    any(End, "spiece_model"),
    any(End, "tokenizer_json"),
    any(End, "tekken_model"),
    // The loss's side of a training.
    any(Beginning, "first_stage_model.loss."),
    any(Anywhere, "model_ema."),
    any(Anywhere, "num_batches_tracked"),
    // The schedule, which follows from the prediction's type.
    of(UNETS, Beginning, "betas"),
    of(UNETS, Beginning, "alphas_cumprod"),
    of(UNETS, Beginning, "sqrt_"),
    of(UNETS, Beginning, "log_one_minus_alphas_cumprod"),
    of(UNETS, Beginning, "posterior_"),
    of(UNETS, Beginning, "lvlb_weights"),
    of(UNETS, Beginning, "logvar"),
    of(UNETS, Beginning, "denoiser."),
    // Comparison of a text with a picture: no picture is made from it.
    of(CLIPS, Anywhere, "logit_scale"),
    // ComfyUI keeps one with every encoder of a whole model.
    any(Beginning, "text_encoders.t5xxl.logit_scale"),
    any(Beginning, "text_encoders.llm.logit_scale"),
    of(CLIPS, Anywhere, "vision_model."),
    of(CLIPS, Anywhere, "visual_projection"),
    of(CLIPS, Anywhere, "model.visual."),
    of(CLIPS, End, "attn_mask"),
    // CLIP-L's summary of a text, which UNets do not read.
    of(UNETS, Beginning, "cond_stage_model.transformer.text_projection"),
    of(UNETS, Beginning, "cond_stage_model.transformer.text_model.text_projection"),
    of(&[Family::Sd2], Beginning, "cond_stage_model.model.text_projection"),
    // OpenCLIP's last layer, of which models take the one before.
    of(&[Family::Sd2], Beginning, "cond_stage_model.transformer.text_model.encoder.layers.23."),
    // Words of the other language of a translator, and its output.
    of(T5S, Anywhere, ".decoder."),
    of(T5S, Anywhere, "encoder.embed_tokens."),
    // A language model's next word.
    any(Anywhere, "lm_head."),
    any(Beginning, "text_encoders.llm.output."),
    // Eyes of a language model, where no picture is shown to it.
    any(Beginning, "text_encoders.llm.visual."),
    any(Beginning, "text_encoders.llm.model.visual."),
    any(Beginning, "text_encoders.llm.vision_"),
    any(Beginning, "text_encoders.llm.multi_modal_projector."),
    of(&[Family::OvisImage], Beginning, "text_encoders.llm.visual_tokenizer."),
    of(&[Family::OvisImage], Beginning, "text_encoders.llm.vte."),
    of(&[Family::HidreamO1], Beginning, "model.visual.deepstack_merger_list."),
    of(&[Family::Svd], Beginning, "conditioner.embedders.3"),
    // A tiny autoencoder that only decodes, for previews.
    any(Beginning, "encoder.layers."),
    any(Beginning, "tae.encoder."),
    // PhotoMaker's LoRA, which is used as one.
    of(&[Family::Sdxl], Beginning, "pmid.unet."),
    of(&[Family::Sdxl], Beginning, "pmid.lora_weights."),
];

impl Harmless {
    fn has(&self, family: Family, name: &str) -> bool {
        let is_its = match self.place {
            Beginning => name.starts_with(self.text),
            End => name.ends_with(self.text),
            Anywhere => name.contains(self.text),
        };
        is_its && (self.families.is_empty() || self.families.contains(&family))
    }
}

/// Tensors that a note names.
const MAX_NAMED: usize = 3;

/// What a person should know of the tensors of a model of this family that the engine left out, by
/// its names for them; `None` where they change nothing.
#[must_use]
pub fn left_out_note(family: Family, left_out: &[String]) -> Option<String> {
    let missed = missed(family, left_out);
    let mut names: Vec<String> = missed.iter().take(MAX_NAMED).map(|name| shown(name)).collect();
    let more = missed.len().saturating_sub(MAX_NAMED);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    let tensors = match missed.len() {
        0 => return None,
        1 => tr!("library-1-tensor-of-this"),
        count => &tr!("library-tensors-of-this-model", count),
    };
    Some(tr!("library-the-engine-does-not", tensors, list = sentences::list(&names)))
}

fn missed(family: Family, left_out: &[String]) -> Vec<&str> {
    let is_missed = |name: &&str| !HARMLESS.iter().any(|kind| kind.has(family, name));
    left_out.iter().map(String::as_str).filter(is_missed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(family: Family, names: &[&str]) -> usize {
        missed(family, &names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>()).len()
    }

    #[test]
    fn what_changes_no_picture_is_not_missed() {
        let of_unets = ["betas", "cond_stage_model.logit_scale", "cond_stage_model.transformer.text_model.embeddings.position_ids"];
        assert_eq!([Family::Sd1, Family::Sdxl].map(|family| count(family, &of_unets)), [0, 0]);
        assert_eq!(count(Family::ZImage, &of_unets), 2, "it has no schedule of this kind, and no CLIP");
        assert_eq!(count(Family::QwenImage, &["text_encoders.llm.visual.blocks.0.attn.qkv.weight", "text_encoders.llm.lm_head.weight"]), 0);
        assert_eq!(count(Family::Flux, &["text_encoders.t5xxl.transformer.encoder.embed_tokens.weight", "scaled_fp8"]), 0);
        assert_eq!(count(Family::Chroma, &["text_encoders.t5xxl.logit_scale"]), 0);
        assert_eq!(count(Family::ZImage, &["text_encoders.llm.logit_scale", "text_encoders.llm.model.logit_scale"]), 1);
    }

    /// Weights of the parts that models are made of, in the engine's names, which no family may lose
    /// in silence.
    const WEIGHTS: [&str; 6] = [
        "model.diffusion_model.blocks.0.attention.gate.weight",
        "model.diffusion_model.time_embedding.cond_proj.weight",
        "first_stage_model.decoder.mid.block_3.conv1.weight",
        "text_encoders.llm.model.layers.0.self_attn.sinks",
        "control_model.input_hint_block.16.weight",
        "extra",
    ];

    #[test]
    fn every_family_is_silent_on_what_changes_nothing_in_it_and_on_nothing_else() {
        for family in Family::ALL {
            for row in &HARMLESS {
                let name = match row.place {
                    Beginning => format!("{}0.weight", row.text),
                    End => format!("model.layers.0.{}", row.text.trim_start_matches('.')),
                    Anywhere => format!("model.layers.0{}0", row.text),
                };
                let others = HARMLESS.iter().filter(|it| it.text != row.text).any(|it| it.has(family, &name));
                let is_silent = others || row.families.is_empty() || row.families.contains(&family);
                assert_eq!(left_out_note(family, std::slice::from_ref(&name)).is_none(), is_silent, "{family:?}: {name}");
            }
            for name in WEIGHTS {
                // T5 has a decoder that is no picture's.
                let is_known = name.contains(".decoder.") && T5S.contains(&family);
                assert_eq!(left_out_note(family, &[name.to_owned()]).is_none(), is_known, "{family:?}: {name}");
            }
        }
    }

    #[test]
    fn what_a_module_was_trained_with_is_missed() {
        for name in
            ["model.diffusion_model.layers.0.attention.gate.weight", "model.diffusion_model.time_embedding.cond_proj.weight", "extra"]
        {
            assert_eq!(count(Family::ZImage, &[name]), 1, "{name}");
        }
        let names: Vec<String> = ["a", "b", "logit_scale", "c", "d", "e"].map(str::to_owned).to_vec();
        assert_eq!(
            left_out_note(Family::Flux, &names).as_deref(),
            Some(
                "The engine does not know 5 tensors of this model, and left them out: a, b, c and 2 more. Pictures may be others than it was made for."
            ),
        );
        assert_eq!(left_out_note(Family::Flux, &["logit_scale".to_owned()]), None);
    }
}
