//! Tensors that lie beside a weight and say how its values are meant. The engine's loader passes
//! over those that it does not know, and makes another picture: what it does not apply is refused.

use std::collections::{HashMap, HashSet};

use atelier_language::{text, tr};

use super::adapter_endings::is_of_adapter;
use super::container::{Contents, Flaw, TensorInfo, shown};

/// What one of these beside a weight says of a file: the id of a text, or a name.
const FORMS: [(&str, &str); 19] = [
    (".weight.absmax", "library-bitsandbytes-4-bits"),
    (".weight.nested_absmax", "library-bitsandbytes-4-bits"),
    (".weight.quant_map", "library-bitsandbytes-4-bits"),
    (".weight.quant_state.bitsandbytes__nf4", "library-bitsandbytes-nf4"),
    (".weight.quant_state.bitsandbytes__fp4", "library-bitsandbytes-fp4"),
    (".SCB", "library-bitsandbytes-int8"),
    (".weight_format", "library-bitsandbytes-int8"),
    (".weight_scale_inv", "library-scaled-fp8-in-blocks"),
    (".weight_scale_2", "NVFP4"),
    (".weight_shape", "library-packed-by-compressed"),
    (".qweight", "library-quantised-for-one-kind"),
    (".qzeros", "library-quantised-for-one-kind"),
    (".wscales", "library-quantised-by-svdquant"),
    (".wtscale", "library-quantised-by-svdquant"),
    (".weight_packed", "library-packed-by-compressed"),
    (".weight_zero_point", "library-quantised-with-zero"),
    (".weight._data", "library-quantised-by-quanto"),
    (".W_q", "library-quantised-by-hqq"),
    ("._weight_qdata", "library-quantised-by-torchao"),
];

/// Scales of a weight's values, which the engine applies.
const SCALES: [&str; 2] = [".scale_weight", ".weight_scale"];

/// What makes no difference beside a weight of 8 bits: its bias, what multiplies inputs where a
/// device computes with 8 bits, and a text that says what the scales say too.
const HARMLESS: [&str; 4] = [".bias", ".scale_input", ".input_scale", ".comfy_quant"];

/// Refuses a file with companions that the engine would pass over.
pub(crate) fn check(contents: Contents) -> Result<Contents, Flaw> {
    let by_name: HashMap<&str, &TensorInfo> = contents.tensors.iter().map(|it| (it.name.as_str(), it)).collect();
    for tensor in &contents.tensors {
        check_tensor(tensor, &by_name)?;
    }
    Ok(contents)
}

/// Refuses a part of a model whose scales lie in another part than their weights.
pub(crate) fn check_alone(tensors: &[TensorInfo]) -> Result<(), Flaw> {
    let names: HashSet<&str> = tensors.iter().map(|it| it.name.as_str()).collect();
    let is_alone = |tensor: &&TensorInfo| {
        let layer = SCALES.iter().find_map(|end| tensor.name.strip_suffix(end));
        layer.is_some_and(|layer| !names.contains(format!("{layer}.weight").as_str()))
    };
    match tensors.iter().find(is_alone) {
        Some(tensor) => Err(Flaw::Unsupported(tr!("library-lies-in-another-file", shown = shown(&tensor.name)))),
        None => Ok(()),
    }
}

fn check_tensor(tensor: &TensorInfo, by_name: &HashMap<&str, &TensorInfo>) -> Result<(), Flaw> {
    let name = tensor.name.as_str();
    let refuse = |form: &str| Err(Flaw::Unsupported(tr!("library-it-is-which-the", form, shown = shown(name))));
    // gpt-oss, the text encoder of Lens, has such experts, which the engine reads.
    if name.contains(".mlp.experts.") {
        return Ok(());
    }
    if let Some(&(_, form)) = FORMS.iter().find(|(end, _)| name.ends_with(end)) {
        return refuse(text(form));
    }
    if let Some(layer) = SCALES.iter().find_map(|end| name.strip_suffix(end)) {
        let Some(weight) = by_name.get(format!("{layer}.weight").as_str()) else { return Ok(()) };
        if let Some(form) = form_of_whole_numbers(weight) {
            return refuse(form);
        }
        let rows = weight.shape.first().copied().unwrap_or(1);
        let is_of_rows = tensor.values() == rows && tensor.shape.first() == Some(&rows);
        let is_float = matches!(tensor.dtype.name(), "F32" | "F16" | "BF16" | "F64");
        if is_float && is_8_bit(weight) && (tensor.values() == 1 || is_of_rows) {
            return Ok(());
        }
        let form = match tensor.dtype.name() {
            "U8" => "MXFP8",
            _ if !is_8_bit(weight) => tr!("library-scaled-in-a-way"),
            _ => tr!("library-scaled-fp8-in-blocks"),
        };
        return refuse(form);
    }
    // Whatever else lies beside a weight that is stored with 8 bits tells how its values are meant.
    if let Some((layer, end)) = name.rsplit_once('.')
        && end != "weight"
        && !HARMLESS.iter().any(|harmless| name.ends_with(harmless))
        && let Some(weight) =
            by_name.get(format!("{layer}.weight").as_str()).or_else(|| by_name.get(layer).filter(|_| layer.ends_with(".weight")))
        && !is_of_adapter(name)
    {
        if let Some(form) = form_of_whole_numbers(weight) {
            return refuse(form);
        }
        if is_8_bit(weight) {
            return refuse(tr!("library-fp8-with-a-scale"));
        }
    }
    Ok(())
}

/// What a weight of whole numbers is that has something beside it; `None` for others.
fn form_of_whole_numbers(weight: &TensorInfo) -> Option<&'static str> {
    match weight.dtype.name() {
        "U8" => Some(tr!("library-quantised-to-4-bits")),
        "I8" => Some(tr!("library-scaled-int8")),
        _ => None,
    }
}

fn is_8_bit(tensor: &TensorInfo) -> bool {
    matches!(tensor.dtype.name(), "F8_E4M3" | "F8_E5M2")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::dtype::Dtype;
    use super::*;

    /// The refusal of a layer with a weight of this type and shape, and a companion.
    fn refusal(weight: (&str, &[u64]), companion: (&str, &str, &[u64])) -> Option<String> {
        let tensor = |name: &str, dtype: &str, shape: &[u64]| TensorInfo {
            name: name.into(),
            dtype: Dtype::from_safetensors(dtype).unwrap(),
            shape: shape.into(),
            offset: 0,
            bytes: 0,
        };
        let (end, dtype, shape) = companion;
        let tensors =
            vec![tensor("a.0.weight", weight.0, weight.1), tensor("a.0.bias", "F16", &[4]), tensor(&format!("a.0{end}"), dtype, shape)];
        match check(Contents { tensors, metadata: BTreeMap::new() }) {
            Ok(_) => None,
            Err(Flaw::Unsupported(what)) => Some(what),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn scales_of_whole_weights_and_of_rows_are_applied() {
        for (end, dtype, shape) in [
            (".scale_weight", "F32", &[][..]),
            (".scale_weight", "F32", &[1]),
            (".weight_scale", "BF16", &[]),
            (".weight_scale", "F32", &[4]),
            (".weight_scale", "F32", &[4, 1]),
            (".input_scale", "F32", &[]),
            (".scale_input", "F32", &[]),
            (".comfy_quant", "U8", &[29]),
        ] {
            assert_eq!(refusal(("F8_E4M3", &[4, 32]), (end, dtype, shape)), None, "{end} {shape:?}");
        }
        assert_eq!(refusal(("F16", &[4, 32]), (".extra", "F16", &[4])), None, "beside weights of 16 bits may lie anything");
    }

    #[test]
    fn what_the_engine_would_pass_over_is_refused_by_its_name() {
        for (weight, companion, form) in [
            (("F8_E4M3", &[4, 32][..]), (".weight_scale", "U8", &[4, 1][..]), "MXFP8"),
            (("F8_E4M3", &[4, 256]), (".weight_scale", "F32", &[4, 2]), "scaled fp8 in blocks"),
            (("F8_E4M3", &[4, 256]), (".weight_scale_inv", "F32", &[1, 2]), "scaled fp8 in blocks"),
            (("F8_E4M3", &[4, 32]), (".weight_scale", "F32", &[1, 32]), "scaled fp8 in blocks"),
            (("U8", &[4, 16]), (".weight_scale", "F8_E4M3", &[4, 2]), "quantised to 4 bits (NVFP4 or another form)"),
            (("U8", &[4, 16]), (".weight_scale_2", "F32", &[]), "NVFP4"),
            (("U8", &[64, 1]), (".weight.absmax", "F32", &[2]), "quantised by bitsandbytes (NF4 or FP4)"),
            (("U8", &[64, 1]), (".weight.quant_state.bitsandbytes__nf4", "U8", &[90]), "quantised by bitsandbytes (NF4)"),
            (("F16", &[4, 32]), (".SCB", "F32", &[4]), "quantised by bitsandbytes (INT8)"),
            (("F16", &[4, 32]), (".W_q", "U8", &[2, 32]), "quantised by HQQ"),
            (("F16", &[4, 32]), (".weight._data", "F8_E4M3", &[4, 32]), "quantised by Quanto"),
            (("F16", &[4, 32]), (".weight_scale", "F32", &[]), "scaled in a way of its own"),
            (("F8_E4M3", &[4, 32]), (".codebook", "F16", &[256]), "fp8 with a scale of its own kind"),
            (("F8_E4M3", &[4, 32]), (".weight.scale", "F32", &[]), "fp8 with a scale of its own kind"),
            (("U8", &[4, 16]), (".zero_point", "F32", &[4, 1]), "quantised to 4 bits (NVFP4 or another form)"),
            (("F16", &[4, 32]), ("._weight_qdata", "U8", &[4, 32]), "quantised by torchao"),
        ] {
            let said = refusal(weight, companion);
            assert_eq!(said, Some(format!("it is {form}, which the engine does not read (a.0{})", companion.0)), "{companion:?}");
        }
    }
}
