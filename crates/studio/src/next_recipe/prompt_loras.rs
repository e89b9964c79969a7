//! LoRAs that a prompt names, beside those of the settings.

use std::collections::BTreeSet;
use std::path::PathBuf;

use atelier_core::recipe::Lora;

/// Adds the LoRAs that a prompt names, in its order. One that is named twice for the same steps
/// counts with both strengths, and one that is in the list already as the prompt has it.
pub fn add_named_loras(loras: &mut Vec<Lora>, named: impl IntoIterator<Item = Lora>) {
    let mut found: Vec<Lora> = Vec::new();
    for lora in named {
        lora.add_to(&mut found);
    }
    // What the prompt says of a file stands where the first LoRA of that file stood.
    let named: BTreeSet<PathBuf> = found.iter().map(|lora| lora.path.clone()).collect();
    let listed = std::mem::take(loras);
    for lora in listed {
        if named.contains(&lora.path) {
            loras.extend(found.extract_if(.., |it| it.path == lora.path));
        } else {
            loras.push(lora);
        }
    }
    loras.append(&mut found);
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
        let part = |path: &str, start, end| Lora { start, end, ..lora(path, 0.5) };
        add_named_loras(&mut loras, [part("b", 0.0, 0.5), part("d", 0.0, 0.5), part("b", 0.5, 1.0), part("b", 0.0, 0.5)]);
        let both = Lora { strength: 1.0, ..part("b", 0.0, 0.5) };
        assert_eq!(loras, [lora("a", 1.0), both, part("b", 0.5, 1.0), lora("c", 0.75), part("d", 0.0, 0.5)]);
    }
}
