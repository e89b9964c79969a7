//! Graphs in the form of ggml's RPC: read from what a borrower sends, cut into small ones, changed,
//! and sent to a lender.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

const ALLOC_BUFFER: u8 = 0;
const BUFFER_GET_BASE: u8 = 3;
const BUFFER_CLEAR: u8 = 5;
const SET_TENSOR: u8 = 6;
const GET_TENSOR: u8 = 8;
pub(crate) const GRAPH_COMPUTE: u8 = 10;
const GRAPH_RECOMPUTE: u8 = 16;
const GET_DEVICE_MEMORY: u8 = 11;
const HELLO: u8 = 14;

/// Bytes of a tensor in a message.
const TENSOR_BYTES: usize = 360;
/// Operations of ggml, and a few more than there are.
pub(crate) const OPERATIONS: u32 = 100;
pub(crate) const TYPES: u32 = 42;

pub(crate) const ADD: u32 = 2;
pub(crate) const ADD_ID: u32 = 3;
pub(crate) const CONCAT: u32 = 22;
pub(crate) const GROUP_NORM: u32 = 27;
pub(crate) const MUL_MAT: u32 = 29;
pub(crate) const MUL_MAT_ID: u32 = 30;
pub(crate) const SCALE: u32 = 32;
pub(crate) const CPY: u32 = 34;
pub(crate) const VIEW: u32 = 37;
pub(crate) const GET_ROWS: u32 = 40;
pub(crate) const ROPE: u32 = 48;
pub(crate) const IM2COL: u32 = 52;
pub(crate) const CONV_2D: u32 = 55;
pub(crate) const CONV_2D_DW: u32 = 57;
pub(crate) const POOL_2D: u32 = 60;
pub(crate) const UPSCALE: u32 = 62;
pub(crate) const ARGSORT: u32 = 68;
pub(crate) const FLASH_ATTN_EXT: u32 = 73;
pub(crate) const UNARY: u32 = 86;
pub(crate) const MAP_CUSTOM1: u32 = 87;

pub(crate) const F32: u32 = 0;
pub(crate) const F16: u32 = 1;
pub(crate) const I32: u32 = 26;

/// Values and bytes of a block of a type.
fn block(kind: u32) -> (u64, u64) {
    match kind {
        0 | 26 => (1, 4),
        1 | 25 | 30 => (1, 2),
        2 => (32, 18),
        3 => (32, 20),
        6 => (32, 22),
        7 => (32, 24),
        8 => (32, 34),
        10 => (256, 84),
        11 => (256, 110),
        12 => (256, 144),
        13 => (256, 176),
        14 => (256, 210),
        24 => (1, 1),
        27 | 28 => (1, 8),
        other => panic!("the type {other} is not known here"),
    }
}

/// A tensor as it is sent.
#[derive(Clone, Debug)]
pub(crate) struct Tensor {
    pub(crate) id: u64,
    pub(crate) kind: u32,
    pub(crate) buffer: u64,
    pub(crate) ne: [u32; 4],
    pub(crate) nb: [u32; 4],
    pub(crate) op: u32,
    pub(crate) params: [i32; 16],
    pub(crate) flags: i32,
    pub(crate) src: [u64; 10],
    pub(crate) view_src: u64,
    pub(crate) view_offs: u64,
    pub(crate) data: u64,
}

impl Tensor {
    /// A contiguous tensor in a buffer of its own.
    pub(crate) fn new(id: u64, kind: u32, ne: &[u32]) -> Self {
        let mut tensor = Self {
            id,
            kind,
            buffer: id,
            ne: [1; 4],
            nb: [0; 4],
            op: 0,
            params: [0; 16],
            flags: 16,
            src: [0; 10],
            view_src: 0,
            view_offs: 0,
            data: 0x10_0000,
        };
        tensor.ne[..ne.len()].copy_from_slice(ne);
        tensor.pack();
        tensor
    }

    pub(crate) fn computed(mut self, op: u32, src: &[u64], params: &[i32]) -> Self {
        self.op = op;
        self.src[..src.len()].copy_from_slice(src);
        self.params[..params.len()].copy_from_slice(params);
        self
    }

    /// Gives it the strides of a contiguous one.
    pub(crate) fn pack(&mut self) {
        let (values, bytes) = block(self.kind);
        let mut stride = bytes;
        for axis in 0..4 {
            self.nb[axis] = u32::try_from(stride & u64::from(u32::MAX)).unwrap();
            stride = stride.wrapping_mul(if axis == 0 { u64::from(self.ne[0]) / values } else { u64::from(self.ne[axis]) });
        }
    }

    fn read(bytes: &[u8]) -> Self {
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        Self {
            id: u64_at(0),
            kind: u32_at(8),
            buffer: u64_at(12),
            ne: std::array::from_fn(|i| u32_at(20 + 4 * i)),
            nb: std::array::from_fn(|i| u32_at(36 + 4 * i)),
            op: u32_at(52),
            params: std::array::from_fn(|i| u32_at(56 + 4 * i).cast_signed()),
            flags: u32_at(120).cast_signed(),
            src: std::array::from_fn(|i| u64_at(124 + 8 * i)),
            view_src: u64_at(204),
            view_offs: u64_at(212),
            data: u64_at(220),
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend(self.id.to_le_bytes());
        out.extend(self.kind.to_le_bytes());
        out.extend(self.buffer.to_le_bytes());
        self.ne.iter().chain(&self.nb).for_each(|number| out.extend(number.to_le_bytes()));
        out.extend(self.op.to_le_bytes());
        self.params.iter().for_each(|number| out.extend(number.to_le_bytes()));
        out.extend(self.flags.to_le_bytes());
        self.src.iter().for_each(|number| out.extend(number.to_le_bytes()));
        for number in [self.view_src, self.view_offs, self.data] {
            out.extend(number.to_le_bytes());
        }
        out.extend(b"x");
        out.resize(begin + TENSOR_BYTES, 0);
    }

    fn bytes(&self) -> u64 {
        let (values, bytes) = block(self.kind);
        if self.ne.contains(&0) {
            return 0;
        }
        let steps = |axis: usize| if axis == 0 { u64::from(self.ne[0]) / values } else { u64::from(self.ne[axis]) } - 1;
        bytes + (0..4).map(|axis| steps(axis) * u64::from(self.nb[axis])).sum::<u64>()
    }

    fn values(&self) -> u64 {
        self.ne.iter().map(|size| u64::from(*size)).product()
    }
}

/// Operation, type, dimensions and parameters of each tensor.
pub(crate) type Shape = Vec<(u32, u32, [u32; 4], [i32; 16])>;

/// Tensors, and which of them are computed.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<u64>,
    pub(crate) tensors: Vec<Tensor>,
}

/// Memory of a graph that belongs together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    buffer: u64,
    begin: u64,
    end: u64,
}

impl Graph {
    /// A graph whose last tensor is computed.
    pub(crate) fn of(tensors: Vec<Tensor>) -> Self {
        Self { nodes: vec![tensors.last().unwrap().id], tensors }
    }

    /// Reads the body of a message.
    pub(crate) fn read(body: &[u8]) -> Self {
        let count = |at: usize| u32::from_le_bytes(body[at..at + 4].try_into().unwrap()) as usize;
        let nodes = count(4);
        let nodes_end = 8 + 8 * nodes;
        let nodes = body[8..nodes_end].chunks_exact(8).map(|id| u64::from_le_bytes(id.try_into().unwrap())).collect();
        let tensors = &body[nodes_end + 4..];
        assert_eq!(tensors.len(), count(nodes_end) * TENSOR_BYTES);
        Self { nodes, tensors: tensors.chunks_exact(TENSOR_BYTES).map(Tensor::read).collect() }
    }

    fn body(&self, device: u32) -> Vec<u8> {
        let mut body = [device.to_le_bytes(), u32::try_from(self.nodes.len()).unwrap().to_le_bytes()].concat();
        self.nodes.iter().for_each(|id| body.extend(id.to_le_bytes()));
        body.extend(u32::try_from(self.tensors.len()).unwrap().to_le_bytes());
        self.tensors.iter().for_each(|tensor| tensor.write(&mut body));
        body
    }

    pub(crate) fn tensor(&self, id: u64) -> Option<&Tensor> {
        self.tensors.iter().find(|tensor| tensor.id == id)
    }

    /// These nodes alone; what they read is memory then.
    fn part(&self, nodes: &[u64]) -> Self {
        let mut wanted: BTreeSet<u64> = nodes.iter().copied().collect();
        for node in nodes.iter().filter_map(|id| self.tensor(*id)) {
            wanted.extend(node.src.iter().filter(|id| **id != 0));
        }
        let wholes: Vec<u64> =
            wanted.iter().filter_map(|id| self.tensor(*id)).map(|tensor| tensor.view_src).filter(|id| *id != 0).collect();
        wanted.extend(wholes);
        let mut tensors: Vec<Tensor> = self.tensors.iter().filter(|tensor| wanted.contains(&tensor.id)).cloned().collect();
        for tensor in tensors.iter_mut().filter(|tensor| !nodes.contains(&tensor.id)) {
            (tensor.op, tensor.src) = (0, [0; 10]);
        }
        Self { nodes: nodes.to_vec(), tensors }
    }

    /// Each node by itself, and neighbours together.
    pub(crate) fn parts(&self) -> Vec<Self> {
        let alone = self.nodes.chunks(1);
        let together = self.nodes.chunks(6);
        alone.chain(together).map(|nodes| self.part(nodes)).collect()
    }

    /// What makes it another case: operations, their parameters, types and shapes.
    pub(crate) fn shape(&self) -> Shape {
        self.tensors.iter().map(|it| (it.op, it.kind, it.ne, if self.nodes.contains(&it.id) { it.params } else { [0; 16] })).collect()
    }

    /// Multiplications, about.
    pub(crate) fn work(&self) -> u64 {
        let work = |node: &Tensor| {
            let first = self.tensor(node.src[0]).map_or([1; 4], |source| source.ne.map(u64::from));
            let depth = match node.op {
                MUL_MAT | MUL_MAT_ID => first[0],
                CONV_2D | CONV_2D_DW => first[0] * first[1] * first[2],
                FLASH_ATTN_EXT => self.tensor(node.src[1]).map_or(1, Tensor::values),
                _ => 1,
            };
            node.values().saturating_mul(depth.max(1))
        };
        self.nodes.iter().filter_map(|id| self.tensor(*id)).map(work).sum()
    }

    /// Memory that tensors share, each piece of it once.
    pub(crate) fn spans(&self) -> Vec<Span> {
        let mut pieces: Vec<Span> = self
            .tensors
            .iter()
            .filter(|tensor| tensor.buffer != 0)
            .map(|tensor| Span { buffer: tensor.buffer, begin: tensor.data, end: tensor.data + tensor.bytes() })
            .collect();
        pieces.sort_unstable_by_key(|span| (span.buffer, span.begin));
        let mut spans: Vec<Span> = Vec::new();
        for piece in pieces {
            match spans.last_mut() {
                Some(last) if last.buffer == piece.buffer && piece.begin < last.end => last.end = last.end.max(piece.end),
                _ => spans.push(piece),
            }
        }
        spans
    }

    pub(crate) fn memory(&self) -> u64 {
        self.spans().iter().map(|span| span.end - span.begin).sum()
    }
}

pub(crate) fn message(command: u8, body: &[u8]) -> Vec<u8> {
    [&[command][..], &(body.len() as u64).to_le_bytes(), body].concat()
}

/// What begins a connection to our server: our handshake, then ggml's.
pub(crate) fn hello(version: &str) -> Vec<u8> {
    let length = u8::try_from(version.len()).unwrap();
    [&b"atelier\n\x01"[..], &[length], version.as_bytes(), &message(HELLO, &[0; 24])].concat()
}

/// A borrower by hand.
pub(crate) struct Session {
    stream: TcpStream,
    /// Address and buffer of each span.
    places: Vec<(Span, u64, u64)>,
}

impl Session {
    /// Connects, and asks for memory for these spans, filled with `fill`; `None` where it is turned
    /// away.
    pub(crate) fn open(address: &str, version: &str, spans: &[Span], device: u32, fill: u8) -> Option<Self> {
        let mut session = Self { stream: TcpStream::connect(address).ok()?, places: Vec::new() };
        session.stream.set_nodelay(true).ok()?;
        session.stream.write_all(&hello(version)).ok()?;
        let mut head = [0; 10];
        session.stream.read_exact(&mut head).ok()?;
        session.read_bytes(usize::from(head[9]))?;
        let devices: [u8; 4] = session.read_bytes(4)?.try_into().ok()?;
        session.read_bytes(u32::from_le_bytes(devices) as usize)?;
        session.answer()?;
        for span in spans {
            let size = span.end - span.begin;
            let given = session.ask(ALLOC_BUFFER, &[&device.to_le_bytes()[..], &size.to_le_bytes()].concat())?;
            let buffer = u64::from_le_bytes(given[..8].try_into().ok()?);
            assert_ne!(buffer, 0, "{size} bytes");
            let base = session.ask(BUFFER_GET_BASE, &buffer.to_le_bytes())?;
            session.ask(BUFFER_CLEAR, &[&buffer.to_le_bytes()[..], &[fill]].concat())?;
            session.places.push((*span, u64::from_le_bytes(base.try_into().ok()?), buffer));
        }
        Some(session)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.stream.local_addr().unwrap()
    }

    fn read_bytes(&mut self, count: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes).ok()?;
        Some(bytes)
    }

    fn answer(&mut self) -> Option<Vec<u8>> {
        let length: [u8; 8] = self.read_bytes(8)?.try_into().ok()?;
        self.read_bytes(usize::try_from(u64::from_le_bytes(length)).ok()?)
    }

    pub(crate) fn ask(&mut self, command: u8, body: &[u8]) -> Option<Vec<u8>> {
        self.stream.write_all(&message(command, body)).ok()?;
        self.answer()
    }

    /// The graph at the addresses of this session.
    pub(crate) fn placed(&self, graph: &Graph) -> Graph {
        let mut graph = graph.clone();
        for tensor in &mut graph.tensors {
            let holds =
                |span: &Span| span.buffer == tensor.buffer && (span.begin == tensor.data || (span.begin..span.end).contains(&tensor.data));
            let place = self.places.iter().find(|(span, ..)| holds(span));
            if let Some((span, base, buffer)) = place {
                (tensor.data, tensor.buffer) = (base + (tensor.data - span.begin), *buffer);
            }
        }
        graph
    }

    /// Sets the bytes of a tensor of a placed graph.
    pub(crate) fn set(&mut self, tensor: &Tensor, bytes: &[u8]) {
        let mut body = Vec::new();
        tensor.write(&mut body);
        body.extend(0_u64.to_le_bytes());
        body.extend(bytes);
        // Refused where the next question has no answer.
        let _ = self.stream.write_all(&message(SET_TENSOR, &body));
    }

    /// The bytes of a tensor of a placed graph; `None` where the lender hangs up.
    pub(crate) fn get(&mut self, tensor: &Tensor) -> Option<Vec<u8>> {
        let mut body = Vec::new();
        tensor.write(&mut body);
        body.extend(0_u64.to_le_bytes());
        body.extend(tensor.bytes().to_le_bytes());
        self.ask(GET_TENSOR, &body)
    }

    /// Has a graph computed, `again` too; false where the lender hangs up.
    pub(crate) fn compute(&mut self, graph: &Graph, device: u32, again: bool) -> bool {
        let mut messages = message(GRAPH_COMPUTE, &graph.body(device));
        if again {
            messages.extend(message(GRAPH_RECOMPUTE, &device.to_le_bytes()));
        }
        self.stream.write_all(&messages).is_ok() && self.ask(GET_DEVICE_MEMORY, &device.to_le_bytes()).is_some()
    }
}

/// Graphs in what a borrower sent, each kind once.
pub(crate) fn graphs_in(sent: &[u8], known: &mut BTreeMap<Shape, Graph>) {
    let mut at = 10 + usize::from(sent[9]);
    while let Some(length) = sent.get(at + 1..at + 9) {
        let end = at + 9 + usize::try_from(u64::from_le_bytes(length.try_into().unwrap())).unwrap();
        let Some(body) = sent.get(at + 9..end) else { break };
        if sent[at] == GRAPH_COMPUTE {
            for part in Graph::read(body).parts() {
                known.entry(part.shape()).or_insert(part);
            }
        }
        at = end;
    }
}
