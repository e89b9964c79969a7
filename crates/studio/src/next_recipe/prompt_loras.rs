//! LoRAs that a prompt names, beside those of the settings.

use atelier_core::recipe::Lora;

/// Adds the LoRAs that a prompt names, in its order. One that is named twice counts with both
/// strengths, and one that is in the list already with the prompt's.
pub fn add_named_loras(loras: &mut Vec<Lora>, named: impl IntoIterator<Item = Lora>) {
    let mut found: Vec<Lora> = Vec::new();
    for lora in named {
        match found.iter_mut().find(|it| it.path == lora.path) {
            Some(it) => it.set_strengths(it.strengths() + lora.strengths()),
            None => found.push(lora),
        }
    }
    for lora in found {
        match loras.iter_mut().find(|it| it.path == lora.path) {
            Some(it) => it.set_strengths(lora.strengths()),
            None => loras.push(lora),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lora_is_in_the_list_once_with_the_strength_of_the_prompt() {
        let lora = |path: &str, strength| Lora::new(path.into(), strength);
        let mut loras = vec![lora("a", 1.0), lora("b", 0.25)];
        add_named_loras(&mut loras, [lora("c", 0.5), lora("b", 0.75), lora("c", 0.25)]);
        assert_eq!(loras, [lora("a", 1.0), lora("b", 0.75), lora("c", 0.75)]);
    }
}
