//! The assembly of products of tiles, and dot products of AVX-VNNI, on a processor without them: each
//! of these instructions is trapped, decoded and emulated.
//!
//! Such a processor raises #UD, which Linux sends as SIGILL. The handler does to `TileRegisters`, or
//! to the thread's vector registers, what the instruction does to the processor's and steps over it.
//! So loops, addresses, operands and encodings are those that a processor with them executes.

use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::sync::Once;

use super::emulation::TileRegisters;
use super::tile_product::Configuration;
use crate::int8::emulation::{VECTOR_BYTES, VectorRegisters};

thread_local! {
    static REGISTERS: RefCell<TileRegisters> = const { RefCell::new(TileRegisters::new()) };
}

/// The beginning of `struct sigaction` of Linux's C libraries, 64 bits.
#[repr(C)]
struct Action {
    handler: usize,
    mask: [u64; 16],
    flags: c_int,
    restorer: usize,
}

const SIGILL: c_int = 4;
/// The handler gets the interrupted thread's state.
const SA_SIGINFO: c_int = 4;

unsafe extern "C" {
    fn sigaction(signal: c_int, action: *const Action, before: *mut Action) -> c_int;
}

/// Has instructions of tile registers trapped from now on.
///
/// # Panics
/// Where the system refuses it.
pub(super) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let handler = emulate as unsafe extern "C" fn(c_int, *mut c_void, *mut c_void);
        let action = Action { handler: handler as usize, mask: [0; 16], flags: SA_SIGINFO, restorer: 0 };
        // SAFETY: the action is as long as the system's.
        assert_eq!(unsafe { sigaction(SIGILL, &raw const action, std::ptr::null_mut()) }, 0);
    });
}

/// This thread's registers have no shapes.
pub(super) fn are_released() -> bool {
    REGISTERS.with_borrow(TileRegisters::are_released)
}

/// Indices of general registers, in the order of their numbers in instructions, in
/// `uc_mcontext.gregs` (`sys/ucontext.h`).
const GENERAL: [usize; 16] = [13, 14, 12, 11, 15, 10, 9, 8, 0, 1, 2, 3, 4, 5, 6, 7];
/// Index of the instruction pointer there.
const INSTRUCTION_POINTER: usize = 16;
/// Bytes before `gregs` in `ucontext_t`: flags, link, stack.
const BEFORE_GENERAL: usize = 8 + 8 + 24;
/// General registers there; the address of the vector registers follows.
const GENERAL_COUNT: usize = 23;

/// Emulates the instruction that raised SIGILL. A panic here ends the process.
unsafe extern "C" fn emulate(_: c_int, _: *mut c_void, context: *mut c_void) {
    // SAFETY: Linux hands over a `ucontext_t` with 23 registers and the address of the others; the
    // instruction pointer points to an instruction.
    let (general, vectors, code) = unsafe {
        let general = context.cast::<u8>().add(BEFORE_GENERAL).cast::<[u64; GENERAL_COUNT]>();
        let vectors = VectorRegisters::new(general.add(1).cast::<*mut u8>().read());
        let general = &mut *general;
        let code = general[INSTRUCTION_POINTER] as *const u8;
        (general, vectors, code)
    };
    // SAFETY: no instruction is shorter than what is read of it.
    let length = unsafe { execute(code, |register| general[GENERAL[register]] as usize, &vectors) };
    general[INSTRUCTION_POINTER] += length as u64;
}

/// Executes one instruction of AMX or AVX-VNNI (SDM volume 2, "Instruction format", and the
/// instructions' pages); returns its length in bytes.
///
/// # Safety
/// `code` is an instruction whose operands are valid.
unsafe fn execute(code: *const u8, general: impl Fn(usize) -> usize, vectors: &VectorRegisters) -> usize {
    // SAFETY: as the caller promises.
    let byte = |at: usize| unsafe { code.add(at).read() };
    let (first, second, opcode, operands) = (byte(1), byte(2), byte(3), byte(4));
    assert_eq!((byte(0), first & 0x1F), (0xC4, 2), "neither VEX with three bytes nor the map 0F38");
    let prefix = second & 3;
    let [extends_register, extends_index, extends_base] = [7, 6, 5].map(|bit| if first >> bit & 1 == 0 { 8 } else { 0 });
    let (register, other, third) = (operands >> 3 & 7, operands & 7, !(second >> 3) & 15);
    let [register, other, third] = [register, other, third].map(usize::from);
    let is_in_memory = operands >> 6 != 3;
    let (length, address, stride) = if is_in_memory {
        // SAFETY: as the caller promises.
        unsafe { memory(code, general, extends_index, extends_base) }
    } else {
        (5, std::ptr::null_mut(), 0)
    };
    // VPDPBUSD, 256 bits wide.
    if (opcode, prefix, second & 0x84) == (0x50, 1, 0x04) {
        // SAFETY: as the caller promises.
        unsafe {
            let signed = if is_in_memory {
                address.add(stride).cast::<[u8; VECTOR_BYTES]>().read_unaligned()
            } else {
                vectors.read(other | extends_base)
            };
            vectors.add_products(register | extends_register, third, &signed);
        }
        return length;
    }
    assert_eq!(second & 0x84, 0, "W1 or 256 bits");
    assert_eq!(extends_register, 0, "tile register above 7");
    if is_in_memory {
        assert_eq!(third, 0, "unused operand");
    }
    // SAFETY: as the caller promises.
    REGISTERS.with_borrow_mut(|registers| unsafe {
        match (opcode, prefix, is_in_memory) {
            (0x49, 0, false) => registers.release(),
            (0x49, 3, false) => {
                assert_eq!((other, third), (0, 0), "unused operands");
                registers.zero(register);
            }
            (0x5C, 2, false) => registers.multiply(register, other, third),
            (0x5E, 3, false) => registers.multiply_int8(register, other, third),
            (0x49, 0, true) => registers.configure(&*address.cast::<Configuration>()),
            (0x4B, 3, true) => registers.load(register, address, stride),
            (0x4B, 2, true) => registers.store(register, address, stride),
            _ => panic!("opcode {opcode:#x}, prefix {prefix}"),
        }
    });
    length
}

/// Length of an instruction with an operand in memory, the operand's address without its index, and
/// the index, scaled.
///
/// # Safety
/// As [`execute`].
unsafe fn memory(code: *const u8, general: impl Fn(usize) -> usize, extends_index: usize, extends_base: usize) -> (usize, *mut u8, usize) {
    // SAFETY: as the caller promises.
    let byte = |at: usize| unsafe { code.add(at).read() };
    let operands = byte(4);
    let other = usize::from(operands & 7);
    let (mut length, mut base, mut index) = (5, other | extends_base, 0);
    if other == 4 {
        let operands = byte(5);
        length += 1;
        base = usize::from(operands & 7) | extends_base;
        let register = usize::from(operands >> 3 & 7) | extends_index;
        index = if register == 4 { 0 } else { general(register) << (operands >> 6) };
    }
    assert!(operands >> 6 != 0 || base & 7 != 5, "address without a base");
    let displacement = match operands >> 6 {
        0 => 0,
        1 => isize::from(byte(length) as i8),
        _ => i32::from_le_bytes([0, 1, 2, 3].map(|at| byte(length + at))) as isize,
    };
    length += [0, 1, 4][usize::from(operands >> 6)];
    (length, general(base).wrapping_add_signed(displacement) as *mut u8, index)
}
