//! Graphs that a borrower changed: a lender in this process refuses or computes them, and reads and
//! writes nothing else. Run with `AddressSanitizer` (`cargo xtask sanitize`), which stops at the
//! first byte beyond a buffer; each tensor of a graph has a buffer of its own size.
//!
//! `ATELIER_FUZZ_MUTATIONS` sets how many are tried.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

#[path = "../../../../tests/support/engine.rs"]
#[allow(dead_code, reason = "each test binary uses a part")]
mod engine;
mod graphs;
#[path = "../../../../tests/support/handle.rs"]
mod handle;
mod mutations;
#[path = "../../../../tests/support/proxy.rs"]
#[allow(dead_code, reason = "each test binary uses a part")]
mod proxy;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use atelier_core::device::SimulatedDevices;
use atelier_core::recipe::{FileRole, ImageSource, ModelFiles, PlacementText, Recipe, Rgb8};
use atelier_engine::{ServeEvent, ServeOptions, Task, probe, serve, simulate_devices};
use engine::Engine;
use graphs::{
    ADD, ADD_ID, ARGSORT, CONCAT, CONV_2D, CPY, F16, F32, FLASH_ATTN_EXT, GET_ROWS, GROUP_NORM, Graph, I32, IM2COL, MAP_CUSTOM1, MUL_MAT,
    MUL_MAT_ID, POOL_2D, ROPE, SCALE, Session, Tensor, UNARY, UPSCALE, VIEW, graphs_in,
};
use proxy::Proxy;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use testkit::{families, tiny};

/// A folder of this name, the same in every run.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("hostile-graphs").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The lender of this process serves one at a time.
fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A lender of this process: the processor, and a simulated card.
struct Lender {
    address: String,
    version: String,
    ends: Arc<Ends>,
}

/// Borrowers that have left, and why those were cut off who were.
#[derive(Default)]
struct Ends {
    reasons: Mutex<BTreeMap<SocketAddr, Option<String>>>,
    more: Condvar,
}

fn lender() -> &'static Lender {
    static LENDER: OnceLock<Lender> = OnceLock::new();
    LENDER.get_or_init(|| {
        simulate_devices(&"GPU0:4".parse::<SimulatedDevices>().unwrap()).unwrap();
        let (listening, address) = channel();
        let ends = Arc::new(Ends::default());
        let told = Arc::clone(&ends);
        let options = ServeOptions {
            host: "127.0.0.1".into(),
            port: 0,
            devices: vec!["CPU".into(), "GPU0".into()],
            cache: None,
            cache_limit_bytes: 0,
            memory_bytes: None,
            threads: Some(2),
            allow_network: false,
            confines_process: false,
        };
        thread::spawn(move || {
            let tell = |event| match event {
                ServeEvent::Listening { address, .. } => listening.send(address).unwrap(),
                ServeEvent::Returned(peer, why) => {
                    told.reasons.lock().unwrap().insert(peer, why);
                    told.more.notify_all();
                }
                _ => {}
            };
            serve(&options, &tell).unwrap();
        });
        let address = address.recv().unwrap();
        let version = probe("127.0.0.1", address.port()).unwrap().wire_version;
        Lender { address: address.to_string(), version, ends }
    })
}

impl Lender {
    fn open(&self, graph: &Graph, device: u32, fill: u8) -> Session {
        let session = Session::open(&self.address, &self.version, &graph.spans(), device, fill).expect("it lends");
        // Of a borrower that nobody waited for, which had this port before.
        self.ends.reasons.lock().unwrap().remove(&session.address());
        session
    }

    /// Waits until a borrower has left; why, where it was cut off.
    fn end_of(&self, session: Session) -> Option<String> {
        let address = session.address();
        drop(session);
        let reasons = self.ends.reasons.lock().unwrap();
        let mut reasons = self.ends.more.wait_while(reasons, |reasons| !reasons.contains_key(&address)).unwrap();
        reasons.remove(&address).flatten()
    }

    /// Has a graph computed whose tensors of these numbers hold these bytes.
    fn computes(&self, graph: &Graph, device: u32, data: &[(u64, Vec<u8>)]) -> Result<(), String> {
        let mut session = self.open(graph, device, 0);
        let placed = session.placed(graph);
        for (id, bytes) in data {
            session.set(placed.tensor(*id).unwrap(), bytes);
        }
        let is_alive = session.compute(&placed, device, false);
        let reason = self.end_of(session);
        assert_eq!(is_alive, reason.is_none(), "{reason:?}");
        reason.map_or(Ok(()), Err)
    }
}

fn ints(numbers: &[i32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn floats(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// The bytes of a product of weights of 16 bits with 40 columns, in tensors of these sizes.
fn product(of: &[u32], out: &[u32]) -> Vec<u8> {
    let graph =
        Graph::of(vec![Tensor::new(1, F16, &[64, 32]), Tensor::new(2, F32, of), Tensor::new(3, F32, out).computed(MUL_MAT, &[1, 2], &[])]);
    let lender = lender();
    let mut session = lender.open(&graph, 0, 0);
    let placed = session.placed(&graph);
    let weights = (0..64 * 32_u16).flat_map(|n| (0x3000 + n * 7 % 0x800).to_le_bytes()).collect::<Vec<u8>>();
    session.set(placed.tensor(1).unwrap(), &weights);
    session.set(placed.tensor(2).unwrap(), &floats(&(0..64 * 40_u16).map(|n| f32::from(n * 13 % 101) / 17.0).collect::<Vec<f32>>()));
    assert!(session.compute(&placed, 0, false));
    let bytes = session.get(placed.tensor(3).unwrap()).unwrap();
    assert_eq!(lender.end_of(session), None);
    bytes
}

/// ggml's own product rounds what it multiplies with such weights to 16 bits; ours does not, and is
/// worth its while from twelve columns on.
#[test]
fn columns_of_many_matrices_are_multiplied_as_those_of_one() {
    let _alone = alone();
    let one = product(&[64, 40], &[32, 40]);
    assert!(one.chunks(4).all(|value| value != [0; 4]));
    assert!(product(&[64, 1, 40], &[32, 1, 40]) == one);
}

/// Two tensors of one value, joined to one of many: it would hold what lies behind them.
fn leak() -> Graph {
    let one = |id| Tensor::new(id, F32, &[1]);
    Graph::of(vec![one(1), one(2), Tensor::new(3, F32, &[4096]).computed(CONCAT, &[1, 2], &[0])])
}

#[test]
fn what_does_not_fit_is_refused_with_the_name_of_its_operation() {
    let _alone = alone();
    let lender = lender();
    let f32s = |id, ne: &[u32]| Tensor::new(id, F32, ne);
    let ints = |id, ne: &[u32]| Tensor::new(id, I32, ne);
    let epsilon = 1e-6_f32.to_bits().cast_signed();
    let attention = |keys: &[u32], mask: &[u32]| {
        let tensors = vec![f32s(1, &[64, 16, 2]), Tensor::new(2, F16, keys), Tensor::new(3, F16, &[64, 32, 2]), Tensor::new(4, F16, mask)];
        let result = f32s(5, &[64, 2, 16]).computed(FLASH_ATTN_EXT, &[1, 2, 3, 4], &[1.0_f32.to_bits().cast_signed()]);
        Graph::of([tensors, vec![result]].concat())
    };
    let moved = |mut graph: Graph, change: fn(&mut Tensor)| {
        change(graph.tensors.last_mut().unwrap());
        graph
    };
    let view = || {
        let mut view = f32s(2, &[4]).computed(VIEW, &[1], &[]);
        (view.buffer, view.view_src) = (1, 1);
        Graph::of(vec![f32s(1, &[16]), view])
    };
    for (name, graph) in [
        ("CONCAT", leak()),
        ("GROUP_NORM", Graph::of(vec![f32s(1, &[1 << 20]), f32s(2, &[1]).computed(GROUP_NORM, &[1], &[1, epsilon])])),
        ("GROUP_NORM", Graph::of(vec![f32s(1, &[16, 1, 4]), f32s(2, &[16, 1, 4]).computed(GROUP_NORM, &[1], &[0, epsilon])])),
        (
            "IM2COL",
            Graph::of(vec![
                Tensor::new(1, F16, &[3, 3, 4, 4]),
                f32s(2, &[8, 8, 4]),
                Tensor::new(3, F16, &[36, 8, 8]).computed(IM2COL, &[1, 2], &[1, 1, 64, 64, 1, 1, 1]),
            ]),
        ),
        (
            "IM2COL",
            Graph::of(vec![
                Tensor::new(1, F16, &[3, 3, 4, 4]),
                f32s(2, &[8, 8, 4]),
                Tensor::new(3, F16, &[36, 8, 8]).computed(IM2COL, &[1, 2], &[0, 0, 1, 1, 1, 1, 1]),
            ]),
        ),
        ("MAP_CUSTOM1", Graph::of(vec![f32s(1, &[4]), f32s(2, &[4]).computed(MAP_CUSTOM1, &[1], &[0x4141_4141, 0, 1, 0])])),
        ("POOL_2D", Graph::of(vec![f32s(1, &[8, 8]), f32s(2, &[4, 4]).computed(POOL_2D, &[1], &[0, 2, 2, 2, 2, 0, 0])])),
        ("UNARY", Graph::of(vec![f32s(1, &[8]), f32s(2, &[8]).computed(UNARY, &[1], &[4096])])),
        // A kernel would divide by them.
        ("ADD", Graph::of(vec![f32s(1, &[8]), f32s(2, &[0]), f32s(3, &[8]).computed(ADD, &[1, 2], &[])])),
        ("ROPE", Graph::of(vec![f32s(1, &[8, 1, 2]), ints(2, &[8]), f32s(3, &[8, 1, 2]).computed(ROPE, &[1, 2], &[0, 8, 8])])),
        (
            "CONV_2D",
            Graph::of(vec![
                f32s(1, &[3, 3, 1 << 19]),
                f32s(2, &[3, 3, 1 << 19]),
                f32s(3, &[1]).computed(CONV_2D, &[1, 2], &[1, 1, 0, 0, 1, 1]),
            ]),
        ),
        ("FLASH_ATTN_EXT", attention(&[64, 32, 2, 2], &[32, 16])),
        ("FLASH_ATTN_EXT", attention(&[64, 32, 2], &[16, 16])),
        ("FLASH_ATTN_EXT", attention(&[64, 48, 2], &[48, 16])),
        ("UPSCALE", Graph::of(vec![f32s(1, &[8, 8]), f32s(2, &[16, 16]).computed(UPSCALE, &[1], &[77])])),
        ("VIEW", moved(view(), |view| (view.view_offs, view.data) = (60, view.data + 60))),
        ("VIEW", moved(view(), |view| view.view_offs = 8)),
        // Rows that lie one value apart where there is one of them.
        ("SCALE", moved(Graph::of(vec![f32s(1, &[4, 1, 100]), f32s(2, &[4, 1, 100]).computed(SCALE, &[1], &[])]), |it| it.nb[1] = 1000)),
        (
            "CPY",
            Graph::of(vec![f32s(1, &[8, 2]), f32s(2, &[4, 4]), {
                let mut copy = f32s(2, &[4, 4]).computed(CPY, &[1, 2], &[]);
                (copy.id, copy.view_src, copy.nb) = (3, 2, [4, 16, 64, 64]);
                copy.nb[1] = 20;
                copy
            }]),
        ),
        ("GET_ROWS", Graph::of(vec![f32s(1, &[8, 4]), ints(2, &[3]), f32s(3, &[8, 9]).computed(GET_ROWS, &[1, 2], &[])])),
        (
            "ADD_ID",
            Graph::of(vec![f32s(1, &[8, 2, 2]), f32s(2, &[8, 4]), f32s(4, &[2, 2]), f32s(3, &[8, 2, 2]).computed(ADD_ID, &[1, 2, 4], &[])]),
        ),
    ] {
        let refused = lender.computes(&graph, 0, &[]).expect_err(name);
        assert!(refused.contains("refused") && refused.contains(name), "{name}: {refused}");
    }
    assert!(lender.computes(&view(), 0, &[]).is_ok());
}

/// What no shape tells: numbers in memory that kernels take for places.
#[test]
fn indices_and_values_in_memory_lead_nowhere() {
    let _alone = alone();
    let lender = lender();
    let f32s = |id, ne: &[u32]| Tensor::new(id, F32, ne);
    let rows = Graph::of(vec![f32s(1, &[8, 4]), Tensor::new(2, I32, &[3]), f32s(3, &[8, 3]).computed(GET_ROWS, &[1, 2], &[])]);
    let chosen = [
        f32s(1, &[32, 16, 4]),
        f32s(2, &[32, 2, 3]),
        Tensor::new(4, I32, &[2, 3]),
        f32s(3, &[16, 2, 3]).computed(MUL_MAT_ID, &[1, 2, 4], &[]),
    ];
    let chosen = Graph::of(chosen.to_vec());
    for device in [0, 1] {
        for (graph, indices, count) in [(&rows, 2, 3), (&chosen, 4, 6)] {
            let with = |index: i32| lender.computes(graph, device, &[(indices, ints(&vec![index; count]))]);
            assert_eq!(with(3), Ok(()));
            for index in [4, -1, i32::MAX, i32::MIN] {
                assert!(with(index).is_err(), "device {device}: {index}");
            }
        }
        // Values that compare with nothing.
        let sort = Graph::of(vec![f32s(1, &[1000]), Tensor::new(2, I32, &[1000]).computed(ARGSORT, &[1], &[1])]);
        let values: Vec<f32> = (0..1000).map(|n| if n % 3 == 0 { f32::NAN } else { -(n as f32) }).collect();
        assert_eq!(lender.computes(&sort, device, &[(1, floats(&values))]), Ok(()));
    }
}

/// Graphs that the engine sends for models of several families, in pieces.
fn recorded() -> Vec<Graph> {
    let engine = Engine::start();
    let proxy = Proxy::to(&lender().address);
    let rpc = engine.add_server(&proxy.address).unwrap()[0].name.clone();
    let placed = |backend: String| PlacementText { backend, ..PlacementText::default() };
    let mut known = BTreeMap::new();
    proxy.record();
    for (name, elsewhere) in [("zimage", ""), ("zimage-gguf", ""), ("zimage-vae", ""), ("ovis", ""), ("sd15", ",te=cpu")] {
        let dir = folder(name);
        let parts = families::family(name, &dir).unwrap();
        let files: ModelFiles =
            parts.into_iter().map(|(role, part)| (FileRole::from_key(role).unwrap(), part.write(&dir, role).unwrap())).collect();
        let placement = placed(format!("all={rpc}{elsewhere}"));
        let recipe = Recipe {
            files,
            prompt: "a lake".into(),
            width: 64,
            height: 64,
            steps: 1,
            guidance: 2.0,
            threads: Some(1),
            placement,
            ..Recipe::default()
        };
        assert!(!engine.run(&recipe).pixels().is_empty(), "{name}");
        engine.handle().unload().unwrap();
        engine.residency(|residency| residency.models.is_empty());
    }
    let model = tiny::upscaler(&folder("upscaler"), 2, 1).unwrap();
    let image = Rgb8::new(32, 32, vec![90; 32 * 32 * 3]).unwrap();
    let upscale = Task::Upscale {
        image: ImageSource::Pixels(image),
        model,
        allow_pickle: false,
        placement: placed(format!("upscaler={rpc}")),
        threads: Some(1),
    };
    assert!(!engine.run_task(upscale).pixels().is_empty());
    engine.handle().unload().unwrap();
    drop(engine);
    proxy.cut();
    for sent in proxy.requests().iter().filter(|sent| sent.len() > 10) {
        graphs_in(sent, &mut known);
    }
    known.into_values().collect()
}

#[test]
fn changed_graphs_of_the_engine_are_refused_or_computed_within_their_buffers() {
    const SEED: u64 = 46;
    /// Of one piece, before the next one.
    const IN_A_ROW: usize = 25;
    /// What is left out: memory in bytes, and multiplications, of the largest pieces.
    const MAX_MEMORY: u64 = 16 << 20;
    const MAX_WORK: u64 = 40 << 20;
    let _alone = alone();
    let mutations = env::var("ATELIER_FUZZ_MUTATIONS").ok().and_then(|count| count.parse().ok()).unwrap_or(400);
    let graphs = recorded();
    let operations: BTreeSet<u32> = graphs.iter().flat_map(|graph| graph.tensors.iter().map(|tensor| tensor.op)).collect();
    let count = graphs.len();
    let graphs: Vec<Graph> = graphs.into_iter().filter(|graph| graph.memory() <= MAX_MEMORY && graph.work() <= MAX_WORK).collect();
    println!("{} of {count} pieces with operations {operations:?}", graphs.len());
    let lender = lender();
    let mut random = StdRng::seed_from_u64(SEED);
    let (mut refused, mut computed, mut reasons) = (0, 0, BTreeMap::<String, usize>::new());
    while refused + computed < mutations {
        let graph = &graphs[random.random_range(0..graphs.len())];
        let device = random.random_range(0..2);
        let fill = [0, 1, 0x3c, 0xff][random.random_range(0..4)];
        let mut session = lender.open(graph, device, 0);
        // As the engine sends it, with indices that are there.
        let honest = session.placed(graph);
        let is_computed = session.compute(&honest, device, true);
        assert!(is_computed, "{honest:?}: {:?}", lender.end_of(session));
        for _ in 0..IN_A_ROW {
            let mut changed = session.placed(graph);
            changed.mutate(&mut random);
            let again = random.random_range(0..4) == 0;
            if session.compute(&changed, device, again) {
                computed += 1;
                continue;
            }
            refused += 1;
            let reason = lender.end_of(session).unwrap_or_else(|| "the message is none".into());
            *reasons.entry(reason).or_default() += 1;
            session = lender.open(graph, device, fill);
        }
        assert_eq!(lender.end_of(session), None);
    }
    println!("seed {SEED}: {refused} refused, {computed} computed");
    for (reason, times) in reasons {
        println!("{times:6} {reason}");
    }
    assert!(computed > 0 && refused > computed / 10);
    assert!(lender.computes(&leak(), 0, &[]).is_err());
}
