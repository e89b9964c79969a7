//! The assembly of products of tiles on a processor without tile registers: each of its
//! instructions is trapped, decoded and emulated.
//!
//! Such a processor raises #UD, which Linux sends as SIGILL. The handler does to `TileRegisters`
//! what the instruction does to the processor's and steps over it. So loops, addresses, operands
//! and encodings are those that a processor with tile registers executes.

use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::sync::Once;

use super::emulation::TileRegisters;
use super::tile_product::Configuration;

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

/// Emulates the instruction that raised SIGILL. A panic here ends the process.
unsafe extern "C" fn emulate(_: c_int, _: *mut c_void, context: *mut c_void) {
    // SAFETY: Linux hands over a `ucontext_t` with 23 registers; the instruction pointer points to
    // an instruction.
    let (general, code) = unsafe {
        let general = &mut *context.cast::<u8>().add(BEFORE_GENERAL).cast::<[u64; 23]>();
        let code = general[INSTRUCTION_POINTER] as *const u8;
        (general, code)
    };
    // SAFETY: no instruction is shorter than what is read of it.
    let length = unsafe { execute(code, |register| general[GENERAL[register]] as usize) };
    general[INSTRUCTION_POINTER] += length as u64;
}

/// Executes one instruction of AMX (SDM volume 2, "Instruction format", and the instructions'
/// pages); returns its length in bytes.
///
/// # Safety
/// `code` is an instruction whose operands are valid.
unsafe fn execute(code: *const u8, general: impl Fn(usize) -> usize) -> usize {
    // SAFETY: as the caller promises.
    let byte = |at: usize| unsafe { code.add(at).read() };
    let (first, second, opcode, operands) = (byte(1), byte(2), byte(3), byte(4));
    assert_eq!((byte(0), first & 0x1F), (0xC4, 2), "neither VEX with three bytes nor the map 0F38");
    assert_eq!(second & 0x84, 0, "W1 or 256 bits");
    let prefix = second & 3;
    let [extends_index, extends_base] = [6, 5].map(|bit| if first >> bit & 1 == 0 { 8 } else { 0 });
    assert_eq!(first >> 7, 1, "tile register above 7");
    let (register, other, third) = (operands >> 3 & 7, operands & 7, !(second >> 3) & 15);
    let [register, other, third] = [register, other, third].map(usize::from);
    if operands >> 6 == 3 {
        REGISTERS.with_borrow_mut(|registers| match (opcode, prefix) {
            (0x49, 0) => registers.release(),
            (0x49, 3) => {
                assert_eq!((other, third), (0, 0), "unused operands");
                registers.zero(register);
            }
            (0x5C, 2) => registers.multiply(register, other, third),
            (0x5E, 3) => registers.multiply_int8(register, other, third),
            _ => panic!("opcode {opcode:#x}, prefix {prefix}"),
        });
        return 5;
    }
    assert_eq!(third, 0, "unused operand");
    let (mut length, mut base, mut stride) = (5, other | extends_base, 0);
    if other == 4 {
        let operands = byte(5);
        length += 1;
        base = usize::from(operands & 7) | extends_base;
        let index = usize::from(operands >> 3 & 7) | extends_index;
        stride = if index == 4 { 0 } else { general(index) << (operands >> 6) };
    }
    assert!(operands >> 6 != 0 || base & 7 != 5, "address without a base");
    let displacement = match operands >> 6 {
        0 => 0,
        1 => isize::from(byte(length) as i8),
        _ => i32::from_le_bytes([0, 1, 2, 3].map(|at| byte(length + at))) as isize,
    };
    length += [0, 1, 4][usize::from(operands >> 6)];
    let address = general(base).wrapping_add_signed(displacement) as *mut u8;
    // SAFETY: as the caller promises.
    REGISTERS.with_borrow_mut(|registers| unsafe {
        match (opcode, prefix) {
            (0x49, 0) => registers.configure(&*address.cast::<Configuration>()),
            (0x4B, 3) => registers.load(register, address, stride),
            (0x4B, 2) => registers.store(register, address, stride),
            _ => panic!("opcode {opcode:#x}, prefix {prefix}"),
        }
    });
    length
}
