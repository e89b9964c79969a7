//! Changes of graphs, as a stranger would make them.

use rand::RngExt;
use rand::rngs::StdRng;

use super::graphs::{Graph, OPERATIONS, TYPES};

impl Graph {
    /// Changes it in one to four places.
    pub(crate) fn mutate(&mut self, random: &mut StdRng) {
        for _ in 0..random.random_range(1..5) {
            self.mutate_once(random);
        }
    }

    fn mutate_once(&mut self, random: &mut StdRng) {
        let ids: Vec<u64> = self.tensors.iter().map(|tensor| tensor.id).collect();
        let any_id = |random: &mut StdRng| {
            *[0, 1, ids[random.random_range(0..ids.len())], ids[random.random_range(0..ids.len())]].get(random.random_range(0..4)).unwrap()
        };
        let count = self.tensors.len();
        let other = self.tensors[random.random_range(0..count)].clone();
        // Nodes rather than what they read.
        let at = if random.random() {
            random.random_range(0..count)
        } else {
            self.tensors.iter().position(|it| self.nodes.contains(&it.id)).unwrap_or(0)
        };
        let axis = random.random_range(0..4);
        let factor = [2, 3, 16, 1000][random.random_range(0..4)];
        match random.random_range(0..17) {
            0 => self.tensors[at].op = random.random_range(0..OPERATIONS),
            1 => self.tensors[at].op = other.op,
            2 => self.tensors[at].kind = random.random_range(0..TYPES),
            3 => self.tensors[at].kind = other.kind,
            4 | 5 => self.tensors[at].ne[axis] = wrong_size(random, self.tensors[at].ne[axis], other.ne[axis]),
            6 => self.tensors[at].nb[axis] = wrong_size(random, self.tensors[at].nb[axis], other.nb[axis]),
            7 => self.tensors[at].ne.swap(axis, random.random_range(0..4)),
            8 => self.tensors[at].nb.swap(axis, random.random_range(0..4)),
            9 | 10 => {
                let place = random.random_range(0..16);
                let old = self.tensors[at].params[place];
                self.tensors[at].params[place] = wrong_number(random, old);
            }
            11 => self.tensors[at].src[random.random_range(0..5)] = any_id(random),
            12 => {
                self.tensors[at].view_src = any_id(random);
                self.tensors[at].view_offs =
                    [0, 4, 64, self.tensors[at].view_offs.wrapping_add(4), u64::MAX - 3][random.random_range(0..5)];
            }
            13 => {
                let moved: u64 = [1, 2, 4, 32, 4096, self.tensors[at].data][random.random_range(0..6)];
                self.tensors[at].data =
                    if random.random() { self.tensors[at].data.wrapping_add(moved) } else { self.tensors[at].data.wrapping_sub(moved) };
            }
            14 => {
                (self.tensors[at].buffer, self.tensors[at].data) =
                    if random.random() { (other.buffer, other.data) } else { (0, self.tensors[at].data) }
            }
            15 => {
                // The same change of all, so that shapes still fit each other.
                let shrinks: bool = random.random();
                for tensor in &mut self.tensors {
                    tensor.ne[axis] = if shrinks { tensor.ne[axis].div_ceil(factor) } else { tensor.ne[axis].saturating_mul(factor) };
                    if matches!(tensor.kind, 0..=3 | 6..=8 | 10..=14 | 24..=28 | 30) && random.random_range(0..8) != 0 {
                        tensor.pack();
                    }
                }
            }
            _ => match random.random_range(0..3) {
                0 => self.nodes.push(any_id(random)),
                1 => self.nodes.reverse(),
                _ => self.tensors[at].flags = random.random(),
            },
        }
    }
}

fn wrong_size(random: &mut StdRng, old: u32, other: u32) -> u32 {
    let sizes = [
        0,
        1,
        2,
        3,
        4,
        old / 2,
        old.wrapping_add(1),
        old.wrapping_sub(1),
        old.saturating_mul(2),
        other,
        1 << 16,
        i32::MAX.cast_unsigned(),
        u32::MAX,
        random.random(),
    ];
    sizes[random.random_range(0..sizes.len())]
}

fn wrong_number(random: &mut StdRng, old: i32) -> i32 {
    let float = [f32::NAN, f32::INFINITY, -1.0, 0.0, 1e30][random.random_range(0..5)].to_bits().cast_signed();
    let numbers = [
        0,
        1,
        2,
        3,
        8,
        24,
        40,
        -1,
        old.wrapping_add(1),
        old.wrapping_sub(1),
        -old.saturating_abs(),
        4096,
        i32::MAX,
        i32::MIN,
        float,
        random.random(),
    ];
    numbers[random.random_range(0..numbers.len())]
}
