//! Shapes of an adapter's tensors against those of the weight that they change. The engine believes
//! them.

use super::layers::Place;
use crate::adapter_endings::{Ending, INPUT_MAGNITUDE_PART, MAGNITUDE_PART};
use crate::container::{TensorInfo, shown};
use crate::problem::Problem;
use atelier_language::tr;

/// The tensors that change the place, each with what it is to the engine.
type Fitted<'a> = Vec<(Ending, &'a TensorInfo)>;

/// Checks the shapes of all tensors of a layer.
pub(super) fn fitted<'a>(
    name: &str,
    layer: &str,
    tensors: &[(Ending, &'a TensorInfo)],
    place: &Place<'_>,
    hint: &str,
) -> Result<Fitted<'a>, Problem> {
    let change = Change { name, layer, tensors, place, hint };
    let mut fitted = change.weight()?;
    if let Some(bias) = change.bias()? {
        fitted.push((Ending::Bias, bias));
    }
    Ok(fitted)
}

struct Change<'a, 'b> {
    name: &'b str,
    layer: &'b str,
    tensors: &'b [(Ending, &'a TensorInfo)],
    place: &'b Place<'b>,
    hint: &'b str,
}

/// Names of the parts of each kind of change.
const KINDS: [&[&str]; 4] = [
    &["diff"],
    &["lora_down", "lora_up", "lora_mid"],
    &["hada_w1_a", "hada_w1_b", "hada_w2_a", "hada_w2_b", "hada_t1", "hada_t2"],
    &["lokr_w1", "lokr_w1_a", "lokr_w1_b", "lokr_w2", "lokr_w2_a", "lokr_w2_b", "lokr_t2"],
];

impl<'a> Change<'a, '_> {
    fn get(&self, part: &str) -> Option<&'a TensorInfo> {
        self.tensors.iter().find(|(ending, _)| matches!(ending, Ending::Weight(it) if *it == part)).map(|(_, tensor)| *tensor)
    }

    fn need(&self, part: &str) -> Result<&'a TensorInfo, Problem> {
        self.get(part).ok_or_else(|| damaged(self.name, &tr!("library-a-part-of-is", shown = shown(self.layer))))
    }

    fn mismatch(&self) -> Problem {
        damaged(self.name, &tr!("library-the-two-halves-of", shown = shown(self.layer)))
    }

    /// It has this shape, and its place another one.
    fn misfit(&self, rows: u64, columns: u64) -> Problem {
        let Place { rows: right_rows, .. } = self.place;
        let right_columns = self.place.columns();
        let sentence = tr!(
            "library-does-not-fit-this-model-is",
            name = self.name,
            shown = shown(self.layer),
            rows,
            columns,
            right_rows,
            right_columns
        );
        Problem::new(sentence, self.hint)
    }

    fn bias(&self) -> Result<Option<&'a TensorInfo>, Problem> {
        let Some((_, bias)) = self.tensors.iter().find(|(ending, _)| *ending == Ending::Bias) else { return Ok(None) };
        if !self.place.layer.has_bias {
            let sentence = tr!("library-does-not-fit-this", name = self.name, shown = shown(self.layer));
            return Err(Problem::new(sentence, self.hint));
        }
        if bias.values() == self.place.rows { Ok(Some(bias)) } else { Err(self.misfit(bias.values(), 1)) }
    }

    fn weight(&self) -> Result<Fitted<'a>, Problem> {
        let kinds = KINDS.iter().filter(|kind| kind.iter().any(|part| self.get(part).is_some()));
        let kinds: Vec<_> = kinds.collect();
        let (parts, rank) = match kinds.as_slice() {
            // A factor alone changes nothing.
            [] => return Ok(Vec::new()),
            [kind] => (**kind, self.rank(kind)?),
            _ => return Err(damaged(self.name, &tr!("library-it-changes-in-two", shown = shown(self.layer)))),
        };
        if rank == 0 {
            return Err(self.mismatch());
        }
        let mut fitted: Fitted<'a> = parts.iter().filter_map(|part| Some((Ending::Weight(part), self.get(part)?))).collect();
        for part in ["alpha", "scale"] {
            let Some(factor) = self.get(part) else { continue };
            if factor.values() != 1 {
                return Err(damaged(self.name, &tr!("library-the-of-is-not-a", part, shown = shown(self.layer))));
            }
            fitted.push((Ending::Weight(part), factor));
        }
        if let Some(magnitude) = self.get(MAGNITUDE_PART) {
            fitted.push((Ending::Weight(self.magnitude(magnitude)?), magnitude));
        }
        Ok(fitted)
    }

    /// Whose lengths these are. Both are written with as many dimensions as the weight has: `[rows,
    /// 1]` and `[1, columns]`.
    fn magnitude(&self, magnitude: &TensorInfo) -> Result<&'static str, Problem> {
        let values = magnitude.values();
        let is_first = magnitude.shape.first().copied() == Some(values);
        if is_first && values == self.place.rows {
            return Ok(MAGNITUDE_PART);
        }
        if !is_first && magnitude.shape.get(1).copied() == Some(values) && values == self.place.inputs() {
            return Ok(INPUT_MAGNITUDE_PART);
        }
        Err(self.misfit(values, 1))
    }

    /// Checks a change of this kind; its rank, 1 where it has none.
    fn rank(&self, kind: &[&str]) -> Result<u64, Problem> {
        let (rows, columns) = (self.place.rows, self.place.columns());
        match kind {
            ["diff"] => {
                let diff = self.need("diff")?;
                let own_rows = diff.shape.first().copied().unwrap_or(1);
                // A norm's is a list, whatever dimensions of one it is written with.
                let fits = diff.values() == rows.saturating_mul(columns) && (own_rows == rows || columns == 1);
                if fits { Ok(1) } else { Err(self.misfit(own_rows, diff.values() / own_rows.max(1))) }
            }
            ["lora_down", ..] => {
                let (down, up) = (self.need("lora_down")?, self.need("lora_up")?);
                let (Some(rank), Some(up_rows)) = (down.shape.first().copied(), up.shape.first().copied()) else {
                    return Err(self.mismatch());
                };
                let (own_columns, up_rank) = (down.values() / rank.max(1), up.values() / up_rows.max(1));
                if let Some(core) = self.get("lora_mid") {
                    let (inner, outer) = self.core(core)?;
                    if (inner, outer) != (rank, up_rank) {
                        return Err(self.mismatch());
                    }
                    let fits = (own_columns, up_rows) == (self.place.inputs(), rows);
                    return if fits { Ok(rank) } else { Err(self.misfit(up_rows, own_columns)) };
                }
                if rank != up_rank {
                    return Err(self.mismatch());
                }
                if (up_rows, own_columns) == (rows, columns) { Ok(rank) } else { Err(self.misfit(up_rows, own_columns)) }
            }
            ["hada_w1_a", ..] => {
                for (core, a, b) in [("hada_t1", "hada_w1_a", "hada_w1_b"), ("hada_t2", "hada_w2_a", "hada_w2_b")] {
                    self.factor(self.get(core), self.need(a)?, self.need(b)?, (rows, columns))?;
                }
                Ok(1)
            }
            _ => self.kronecker(),
        }
    }

    /// Inner and outer size of a core: `[outer, inner, height, width]`.
    fn core(&self, core: &TensorInfo) -> Result<(u64, u64), Problem> {
        match core.shape.as_slice() {
            [outer, inner, rest @ ..] if rest.iter().product::<u64>() == self.place.area() => Ok((*inner, *outer)),
            _ => Err(self.mismatch()),
        }
    }

    /// Checks that `a` and `b` make a matrix of this size: `[rows, rank]` and `[rank, columns]`, or
    /// with a core `[outer, rows]` and `[inner, inputs]`.
    fn factor(&self, core: Option<&TensorInfo>, a: &TensorInfo, b: &TensorInfo, size: (u64, u64)) -> Result<(), Problem> {
        let (rows, columns) = size;
        let (Some(&[a_first, a_second]), Some(&b_first)) = (a.shape.first_chunk(), b.shape.first()) else { return Err(self.mismatch()) };
        if b_first == 0 || a.values() != a_first.saturating_mul(a_second) {
            return Err(self.mismatch());
        }
        let b_rest = b.values() / b_first;
        let (own_rows, own_columns) = match core {
            Some(core) => {
                let (inner, outer) = self.core(core)?;
                if (outer, inner) != (a_first, b_first) {
                    return Err(self.mismatch());
                }
                (a_second, b_rest.saturating_mul(self.place.area()))
            }
            None if a_second == b_first => (a_first, b_rest),
            None => return Err(self.mismatch()),
        };
        if (own_rows, own_columns) == (rows, columns) { Ok(()) } else { Err(self.misfit(own_rows, own_columns)) }
    }

    fn kronecker(&self) -> Result<u64, Problem> {
        let (rows, inputs) = (self.place.rows, self.place.inputs());
        let matrix = |whole: &str, a: &str, b: &str| -> Result<(u64, u64), Problem> {
            if let Some(whole) = self.get(whole) {
                let first = whole.shape.first().copied().filter(|it| *it > 0).ok_or_else(|| self.mismatch())?;
                return Ok((first, whole.values() / first));
            }
            let (a, b) = (self.need(a)?, self.need(b)?);
            let core = if whole == "lokr_w2" { self.get("lokr_t2") } else { None };
            let (Some(&[a_first, a_second]), Some(&b_first)) = (a.shape.first_chunk(), b.shape.first()) else {
                return Err(self.mismatch());
            };
            let b_rest = b.values() / b_first.max(1);
            let size = if core.is_some() { (a_second, b_rest.saturating_mul(self.place.area())) } else { (a_first, b_rest) };
            self.factor(core, a, b, size)?;
            Ok(size)
        };
        let (first_rows, first_columns) = matrix("lokr_w1", "lokr_w1_a", "lokr_w1_b")?;
        let (second_rows, second_columns) = matrix("lokr_w2", "lokr_w2_a", "lokr_w2_b")?;
        let size = (first_rows.saturating_mul(second_rows), first_columns.saturating_mul(second_columns));
        if size == (rows, inputs.saturating_mul(self.place.area())) && second_columns % self.place.area() == 0 {
            Ok(1)
        } else {
            Err(self.misfit(size.0, size.1))
        }
    }
}

pub(super) fn damaged(name: &str, what: &str) -> Problem {
    Problem::new(tr!("library-is-damaged", name, what), tr!("library-download-the-file-again-or-remove"))
}
